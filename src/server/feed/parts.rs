//! A room's picture as frames: `snapshot` in parts and `recent`, made of texts that all watchers share.

use std::ops::Range;
use std::sync::Arc;

use super::voice::{Frame, List};
use crate::server::store::Picture;

/// A picture as frames of at most `size` bytes each, but never less than one pulse; at least one part, also for
/// an empty room. A part is made when it is its turn.
pub(super) fn frames(picture: Arc<Picture>, size: usize) -> impl Iterator<Item = Frame> {
    let recent = Arc::clone(&picture.recent);
    let events = List {
        head: r#"{"type":"recent","events":["#.to_owned(),
        part: 0..recent.len(),
        texts: recent,
        tail: "]}".to_owned(),
    };
    let parts = Parts { picture, part: 0, next: 0, size, over: false };
    parts.chain(std::iter::once(events)).map(|list| Frame::List(Box::new(list)))
}

struct Parts {
    picture: Arc<Picture>,
    part: u32,
    /// The first pulse of the next part.
    next: usize,
    size: usize,
    over: bool,
}

impl Iterator for Parts {
    type Item = List;

    fn next(&mut self) -> Option<List> {
        // Longest end of a frame: `],"part":4294967295,"last":false}`.
        const END: usize = 40;
        if self.over {
            return None;
        }
        let head = format!(r#"{{"type":"snapshot","seq":{},"pulses":["#, self.picture.seq);
        let part = fill(&self.picture.pulses, self.next, self.size.saturating_sub(head.len() + END));
        self.over = part.end == self.picture.pulses.len();
        let (number, last) = (self.part, self.over);
        self.part += 1;
        self.next = part.end;
        let tail = format!(r#"],"part":{number},"last":{last}}}"#);
        Some(List { head, texts: Arc::clone(&self.picture.pulses), part, tail })
    }
}

/// As many texts from `first` on as `room` bytes take with a comma each, but not less than one, if there is one.
fn fill(texts: &[Arc<str>], first: usize, mut room: usize) -> Range<usize> {
    let fits = |text: &&Arc<str>| match room.checked_sub(text.len() + 1) {
        Some(rest) => {
            room = rest;
            true
        }
        None => false,
    };
    let rest = texts.get(first..).unwrap_or_default();
    let count = rest.iter().take_while(fits).count().max(1).min(rest.len());
    first..first + count
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use futures_util::FutureExt;

    use super::*;
    use crate::server::feed::voice::Voice;

    fn picture(count: usize) -> Arc<Picture> {
        let one =
            |n: usize| Arc::from(format!(r#"{{"agent_id":"acme/a{n}","files":["{}"]}}"#, "x".repeat(300)));
        let recent = (0..count.min(9)).map(|n| Arc::from(format!(r#"{{"seq":{n}}}"#))).collect();
        Arc::new(Picture { seq: 7, pulses: (0..count).map(one).collect(), recent })
    }

    /// The texts of the frames, as a watcher reads them.
    fn said(picture: Arc<Picture>, size: usize) -> Vec<String> {
        let mut wire = Vec::new();
        let mut voice = Voice::new(&mut wire);
        frames(picture, size).for_each(|frame| voice.say(frame));
        voice.flush().now_or_never().unwrap().unwrap();
        let stream = std::io::Cursor::new(wire);
        let mut client =
            tungstenite::WebSocket::from_raw_socket(stream, tungstenite::protocol::Role::Client, None);
        std::iter::from_fn(|| client.read().ok())
            .map(|message| message.to_text().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn parts_hold_every_pulse_once_within_their_size() {
        for (count, size) in [(0, 1000), (1, 1000), (100, 1000), (100, 100_000), (3, 10)] {
            let mut parts = said(picture(count), size);
            let recent: serde_json::Value = serde_json::from_str(&parts.pop().unwrap()).unwrap();
            assert_eq!(recent["type"], "recent");
            assert_eq!(recent["events"].as_array().unwrap().len(), count.min(9));
            let mut names = Vec::new();
            for (n, text) in parts.iter().enumerate() {
                let part: serde_json::Value = serde_json::from_str(text).unwrap();
                assert_eq!((part["type"].as_str(), part["seq"].as_u64()), (Some("snapshot"), Some(7)));
                assert_eq!(part["part"], n);
                assert_eq!(part["last"], n + 1 == parts.len());
                let pulses = part["pulses"].as_array().unwrap();
                assert!(text.len() <= size || pulses.len() == 1 || count == 0, "{} of {size}", text.len());
                names.extend(pulses.iter().map(|p| p["agent_id"].as_str().unwrap().to_owned()));
            }
            assert_eq!(names, (0..count).map(|n| format!("acme/a{n}")).collect::<Vec<_>>());
            let fewest = names.len() * 330 / size.max(330);
            assert!(parts.len() <= 2 * fewest + 2, "{} parts of {count} pulses in {size} bytes", parts.len());
        }
    }
}
