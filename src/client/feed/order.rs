//! What a frame means after those before it: a picture is told when it is whole, each event once and in order.

use crate::picture::News;
use crate::wire::feed::Frame;
use crate::wire::pulse::Pulse;

/// What is known of the room's sequence, across connections.
#[derive(Debug)]
pub(super) struct Order {
    /// Bytes of a picture that is still coming in, and of what comes with it, that are kept.
    most: usize,
    /// The event up to which everything was told, and the database that it belongs to.
    told: Option<(String, u64)>,
    /// This connection's database; `None` before its hello.
    epoch: Option<String>,
    /// Whether events follow on `told`: the room resumes there, or a whole picture has come.
    follows: bool,
    parts: Option<Parts>,
}

/// A picture that is still coming in.
#[derive(Debug)]
struct Parts {
    seq: u64,
    next: u32,
    pulses: Vec<Pulse>,
    /// Events after the picture that came before it was whole.
    held: Vec<Frame>,
    /// Bytes of all its frames.
    size: usize,
}

/// The room broke its own rules.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// The first frame was no hello.
    NoHello,
    /// Something is missing: only a new picture helps.
    Gap,
    /// A picture without an end: it must not fill our memory.
    TooLarge,
}

impl Order {
    /// `most`: bytes of a picture that is still coming in.
    pub(super) fn new(most: usize) -> Self {
        Self { most, told: None, epoch: None, follows: false, parts: None }
    }

    /// What to ask the room to resume after: `EPOCH.SEQ`.
    pub(super) fn after(&self) -> Option<String> {
        self.told.as_ref().map(|(epoch, seq)| format!("{epoch}.{seq}"))
    }

    /// Asks for a new picture next time.
    pub(super) fn forget(&mut self) {
        self.told = None;
    }

    /// A new connection begins.
    pub(super) fn begin(&mut self) {
        self.epoch = None;
        self.follows = false;
        self.parts = None;
    }

    /// Takes the next frame, which came as `size` bytes; what it tells is added to `news`.
    pub(super) fn hear(&mut self, frame: Frame, size: usize, news: &mut Vec<News>) -> Result<(), Broken> {
        let Some(epoch) = &self.epoch else {
            return self.greet(frame, news);
        };
        if let Some(parts) = &mut self.parts {
            parts.size += size;
            if parts.size > self.most {
                return Err(Broken::TooLarge);
            }
        }
        if frame.seq().is_some() {
            return self.event(frame, news);
        }
        match frame {
            Frame::Snapshot { seq, pulses, part, last } => {
                let parts = match self.parts.take() {
                    Some(parts) if part > 0 && parts.next == part && parts.seq == seq => parts,
                    _ if part == 0 => Parts { seq, next: 0, pulses: Vec::new(), held: Vec::new(), size },
                    _ => return Err(Broken::Gap),
                };
                let parts =
                    Parts { next: part.saturating_add(1), pulses: joined(parts.pulses, pulses), ..parts };
                if !last {
                    self.parts = Some(parts);
                    return Ok(());
                }
                self.told = Some((epoch.clone(), seq));
                self.follows = true;
                news.push(News::Snapshot { seq, pulses: parts.pulses });
                parts.held.into_iter().try_for_each(|frame| self.event(frame, news))
            }
            Frame::Recent { events } => {
                news.push(News::Recent { events });
                Ok(())
            }
            Frame::Room { refusing } => {
                news.push(News::Room { refusing });
                Ok(())
            }
            Frame::Run { agent_id, run } => {
                news.push(News::Run { agent_id, run });
                Ok(())
            }
            Frame::Hello { .. } => Err(Broken::Gap),
            // A newer room's frame outside of the sequence says nothing to us.
            Frame::Pulse { .. } | Frame::Gone { .. } | Frame::Other(_) => Ok(()),
        }
    }

    fn greet(&mut self, frame: Frame, news: &mut Vec<News>) -> Result<(), Broken> {
        let Frame::Hello { epoch, seq, server_time, resumed } = frame else {
            return Err(Broken::NoHello);
        };
        if resumed && !self.told.as_ref().is_some_and(|(known, told)| *known == epoch && *told <= seq) {
            return Err(Broken::Gap); // it resumes where we never were
        }
        self.follows = resumed;
        self.epoch = Some(epoch.clone());
        news.push(News::Live { epoch, seq, server_time, resumed });
        Ok(())
    }

    fn event(&mut self, frame: Frame, news: &mut Vec<News>) -> Result<(), Broken> {
        let seq = frame.seq().unwrap_or_default();
        if let Some(parts) = &mut self.parts {
            if seq > parts.seq {
                parts.held.push(frame);
            }
            return Ok(());
        }
        let Some((_, told)) = self.told.as_mut().filter(|_| self.follows) else {
            return Err(Broken::Gap); // an event before any picture
        };
        if seq <= *told {
            return Ok(()); // told already
        }
        if Some(seq) != told.checked_add(1) {
            return Err(Broken::Gap);
        }
        *told = seq;
        news.push(News::Event { frame });
        Ok(())
    }
}

fn joined(mut all: Vec<Pulse>, more: Vec<Pulse>) -> Vec<Pulse> {
    all.extend(more);
    all
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::needless_pass_by_value)]
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const EPOCH: &str = "e1";

    fn frame(value: serde_json::Value) -> Frame {
        Frame::parse(&value.to_string()).unwrap()
    }

    fn hello(epoch: &str, seq: u64, resumed: bool) -> Frame {
        let time = "2026-11-30T14:32:00Z";
        frame(json!({"type": "hello", "epoch": epoch, "seq": seq, "server_time": time, "resumed": resumed}))
    }

    fn pulse(agent: usize, doing: u64) -> serde_json::Value {
        json!({"agent_id": format!("acme/a{agent}"), "owner": "acme", "project": "p", "availability": "working",
               "doing": doing.to_string(), "task_id": null, "branch": null, "files": [], "last_decision": null,
               "updated_at": "2026-11-30T14:32:00Z"})
    }

    fn event(seq: u64) -> Frame {
        let agent = usize::try_from(seq % 3).unwrap();
        frame(json!({"type": "pulse", "seq": seq, "at": "2026-11-30T14:32:00Z", "pulse": pulse(agent, seq)}))
    }

    fn part(seq: u64, pulses: &[serde_json::Value], part: u32, last: bool) -> Frame {
        frame(json!({"type": "snapshot", "seq": seq, "pulses": pulses, "part": part, "last": last}))
    }

    fn hear(order: &mut Order, frames: impl IntoIterator<Item = Frame>) -> Result<Vec<String>, Broken> {
        let mut news = Vec::new();
        frames.into_iter().try_for_each(|frame| order.hear(frame, 0, &mut news))?;
        Ok(news.iter().map(name).collect())
    }

    fn name(news: &News) -> String {
        match news {
            News::Live { resumed, .. } => if *resumed { "resumed" } else { "live" }.into(),
            News::Snapshot { seq, pulses } => format!("snapshot {seq} of {}", pulses.len()),
            News::Event { frame } => format!("event {}", frame.seq().unwrap()),
            other => format!("{other:?}"),
        }
    }

    /// An order that has been told all up to `seq`.
    fn told(seq: u64) -> Order {
        let mut order = Order::new(usize::MAX);
        order.begin();
        hear(&mut order, [hello(EPOCH, seq, false), part(seq, &[], 0, true)]).unwrap();
        order
    }

    #[test]
    fn a_picture_is_told_when_it_is_whole() {
        let mut order = Order::new(usize::MAX);
        order.begin();
        assert_eq!(hear(&mut order, [hello(EPOCH, 7, false)]).unwrap(), ["live"]);
        assert_eq!(hear(&mut order, [part(7, &[pulse(0, 1)], 0, false)]).unwrap(), [""; 0]);
        assert_eq!(order.after(), None, "half a picture is nothing to resume after");
        assert_eq!(hear(&mut order, [part(7, &[pulse(1, 2)], 1, true)]).unwrap(), ["snapshot 7 of 2"]);
        assert_eq!(order.after().unwrap(), "e1.7");
    }

    #[test]
    fn events_amid_the_parts_of_a_picture_follow_it() {
        let mut order = Order::new(usize::MAX);
        order.begin();
        let frames = [
            hello(EPOCH, 7, false),
            part(7, &[], 0, false),
            event(7),
            event(8),
            part(7, &[], 1, false),
            event(9),
            part(7, &[], 2, true),
        ];
        assert_eq!(hear(&mut order, frames).unwrap(), ["live", "snapshot 7 of 0", "event 8", "event 9"]);
    }

    #[test]
    fn a_picture_without_an_end_fills_no_memory() {
        let mut order = Order::new(1000);
        order.begin();
        let mut news = Vec::new();
        order.hear(hello(EPOCH, 7, false), 200, &mut news).unwrap();
        // A picture of just so much is taken, and the next one counts anew.
        for _ in 0..2 {
            order.hear(part(7, &[], 0, false), 400, &mut news).unwrap();
            order.hear(event(8), 400, &mut news).unwrap();
            order.hear(part(7, &[], 1, true), 200, &mut news).unwrap();
        }
        for endless in [part(7, &[], 1, false), event(9), event(7), frame(json!({"type": "weather"}))] {
            order.begin();
            order.hear(hello(EPOCH, 7, false), 200, &mut news).unwrap();
            order.hear(part(7, &[], 0, false), 600, &mut news).unwrap();
            assert_eq!(order.hear(endless, 401, &mut news), Err(Broken::TooLarge));
        }
    }

    #[test]
    fn a_part_that_is_missing_or_of_another_picture_is_a_gap() {
        for wrong in [part(7, &[], 2, true), part(8, &[], 1, true)] {
            let mut order = Order::new(usize::MAX);
            order.begin();
            assert_eq!(
                hear(&mut order, [hello(EPOCH, 7, false), part(7, &[], 0, false), wrong]),
                Err(Broken::Gap)
            );
            assert_eq!(order.after(), None);
        }
    }

    #[test]
    fn a_picture_that_begins_anew_replaces_the_half_one() {
        let mut order = told(3);
        let frames = [part(5, &[pulse(0, 1)], 0, false), part(6, &[], 0, true), event(7)];
        assert_eq!(hear(&mut order, frames).unwrap(), ["snapshot 6 of 0", "event 7"]);
    }

    #[test]
    fn an_event_is_told_once() {
        let mut order = told(3);
        assert_eq!(
            hear(&mut order, [event(2), event(3), event(4), event(4), event(5)]).unwrap(),
            ["event 4", "event 5"]
        );
    }

    #[test]
    fn a_number_that_is_left_out_is_a_gap() {
        let mut order = told(3);
        assert_eq!(hear(&mut order, [event(5)]), Err(Broken::Gap));
        assert_eq!(order.after().unwrap(), "e1.3", "nothing after the gap was told");
        order.forget();
        assert_eq!(order.after(), None);
    }

    #[test]
    fn a_half_picture_does_not_lose_where_we_were() {
        let mut order = told(3);
        order.begin();
        hear(&mut order, [hello(EPOCH, 9, false), part(9, &[], 0, false)]).unwrap();
        assert_eq!(order.after().unwrap(), "e1.3");
    }

    #[test]
    fn a_room_resumes_only_where_we_were() {
        for (epoch, seq, result) in [
            (EPOCH, 3, Ok(vec!["resumed".to_owned()])),
            (EPOCH, 2, Err(Broken::Gap)),
            ("e2", 3, Err(Broken::Gap)),
        ] {
            let mut order = told(3);
            order.begin();
            assert_eq!(hear(&mut order, [hello(epoch, seq, true)]), result, "{epoch}.{seq}");
        }
        let mut fresh = Order::new(usize::MAX);
        fresh.begin();
        assert_eq!(hear(&mut fresh, [hello(EPOCH, 0, true)]), Err(Broken::Gap));
    }

    #[test]
    fn the_first_frame_is_hello_and_no_later_one() {
        for first in [event(1), part(1, &[], 0, true), frame(json!({"type": "weather"}))] {
            let mut order = Order::new(usize::MAX);
            order.begin();
            assert_eq!(hear(&mut order, [first]), Err(Broken::NoHello));
        }
        assert_eq!(hear(&mut told(3), [hello(EPOCH, 3, false)]), Err(Broken::Gap));
    }

    #[test]
    fn an_event_before_any_picture_is_a_gap() {
        let mut order = told(3);
        order.begin();
        assert_eq!(hear(&mut order, [hello(EPOCH, 4, false), event(4)]), Err(Broken::Gap));
    }

    #[test]
    fn a_newer_rooms_events_keep_their_place_and_its_other_frames_are_passed_over() {
        let mut order = told(3);
        let frames = [
            frame(json!({"type": "weather", "sky": "clear"})),
            frame(json!({"type": "weather", "seq": 4, "sky": "clear"})),
            event(5),
        ];
        assert_eq!(hear(&mut order, frames).unwrap(), ["event 4", "event 5"]);
    }

    /// What a room of `seq` events holds: agent to what it said last.
    fn truth(seq: u64) -> BTreeMap<String, String> {
        (1..=seq).map(|n| (format!("acme/a{}", n % 3), n.to_string())).collect()
    }

    /// One connection of a random room: whether it would resume, how far behind a picture may be, in how many
    /// parts it comes, after how many events the connection breaks, and which events come twice.
    type Visit = (bool, u64, usize, u64, Vec<u64>);

    fn apply(picture: &mut BTreeMap<String, String>, last: &mut u64, news: News) {
        match news {
            News::Snapshot { seq, pulses } => {
                *picture = pulses.into_iter().map(|p| (p.agent_id.to_string(), p.doing)).collect();
                *last = seq;
            }
            News::Event { frame } => {
                let seq = frame.seq().unwrap();
                assert_eq!(seq, *last + 1, "each event once, in order");
                let Frame::Pulse { pulse, .. } = frame else { panic!("only pulses are sent") };
                picture.insert(pulse.agent_id.to_string(), pulse.doing);
                *last = seq;
            }
            _ => {}
        }
    }

    proptest! {
        #[test]
        fn whatever_breaks_the_picture_is_the_room(
            visits in prop::collection::vec((any::<bool>(), 0..4_u64, 1..4_usize, 0..9_u64, prop::collection::vec(0..30_u64, 0..4)), 1..12)
        ) {
            let visits: Vec<Visit> = visits;
            let (mut order, mut picture, mut last, mut room) = (Order::new(usize::MAX), BTreeMap::new(), 0, 3);
            for (resumes, ahead, parts, events, twice) in visits {
                order.begin();
                room += ahead;
                let mut frames = Vec::new();
                let mut sent = if let Some(after) = order.after().filter(|_| resumes) {
                    frames.push(hello(EPOCH, room, true));
                    after.strip_prefix("e1.").unwrap().parse::<u64>().unwrap()
                } else {
                    frames.push(hello(EPOCH, room, false));
                    let all: Vec<_> =
                        truth(room).into_iter().map(|(id, doing)| pulse(id[6..].parse().unwrap(), doing.parse().unwrap())).collect();
                    for n in 0..parts {
                        let some = &all[all.len() * n / parts..all.len() * (n + 1) / parts];
                        frames.push(part(room, some, u32::try_from(n).unwrap(), n + 1 == parts));
                    }
                    room
                };
                for _ in 0..events {
                    sent += 1;
                    room = room.max(sent);
                    frames.push(event(sent));
                    frames.extend(twice.iter().filter(|n| **n > 0 && **n <= sent).map(|n| event(*n)));
                }
                for frame in frames {
                    let mut news = Vec::new();
                    order.hear(frame, 0, &mut news).unwrap();
                    for news in news {
                        apply(&mut picture, &mut last, news);
                    }
                }
                prop_assert_eq!(&picture, &truth(last));
                prop_assert_eq!(last, sent);
            }
        }
    }
}
