//! What a watcher knows of a room: the picture, and the news that change it.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::TimeDelta;

use self::agents::Agents;
use self::log::Log;
use self::touched::Touched;
use crate::change;
use crate::conflict::Radar;
use crate::trouble::Trouble;
use crate::wire::feed::Frame;
use crate::wire::id::AgentId;
use crate::wire::pulse::Pulse;
use crate::wire::{self, Time};

mod agents;
mod ages;
mod clashes;
mod log;
mod news;
mod touched;
mod troubles;

pub use self::agents::{Agent, Claim, Counts, IDLE_STALE_AFTER, STALE_AFTER, Since};
pub use self::log::{Entry, Happening};
pub use self::news::{Heard, News};

/// How far a watcher's clock may be from the room's before it is told.
const CLOCKS_APART: TimeDelta = TimeDelta::minutes(5);

/// How the picture is fed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Connection {
    /// For the first time.
    Connecting,
    /// As it happens.
    Live,
    /// Not now; the picture is old.
    Offline {
        /// Since when, by the watcher's clock.
        since: Time,
        /// Why, in words.
        why: String,
        /// When it will be tried again, by the watcher's clock; `None`: it is being tried.
        retry_at: Option<Time>,
    },
    /// Not until something is changed.
    Refused {
        /// Since when, by the watcher's clock.
        since: Time,
        /// Why and what to do, in words.
        why: String,
    },
}

/// A room as a watcher knows it.
#[derive(Debug, Clone)]
pub struct Picture {
    /// The room's name.
    pub project: String,
    /// How it is fed.
    pub connection: Connection,
    /// Why the room takes no reports now, in a few words of its own; not made safe yet.
    pub refusing: Option<String>,
    /// How old `working` and `online` may be to be taken at their word.
    pub stale_after: TimeDelta,
    agents: Agents,
    touched: Touched,
    radar: Radar,
    troubles: Vec<Trouble>,
    log: Log,
    position: Option<(String, u64)>,
    /// The room's clock less the watcher's.
    ahead: TimeDelta,
    /// The same as it was when it was last told.
    told_ahead: TimeDelta,
    whole: bool,
    outage: Option<Outage>,
    /// The last event of this database that the log has seen or passed over.
    logged: u64,
    /// The event up to which the room has promised to tell what was missed.
    promised: u64,
}

#[derive(Debug, Clone)]
struct Outage {
    /// The room's time at which the connection was lost.
    from: Time,
    /// The last event known then.
    seq: u64,
}

impl Picture {
    /// Nothing known yet of `project`.
    pub fn new(project: impl Into<String>) -> Self {
        Self {
            project: project.into(),
            connection: Connection::Connecting,
            refusing: None,
            stale_after: STALE_AFTER,
            agents: Agents::default(),
            touched: Touched::default(),
            radar: Radar::default(),
            troubles: Vec::new(),
            log: Log::default(),
            position: None,
            ahead: TimeDelta::zero(),
            told_ahead: TimeDelta::zero(),
            whole: false,
            outage: None,
            logged: 0,
            promised: 0,
        }
    }

    /// The room's time at the watcher's `local` time.
    pub fn room_time(&self, local: Time) -> Time {
        wire::later(local, self.ahead)
    }

    /// Whether the room has been seen whole at least once.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// Until when the picture was fed, by the room's clock; `None` while it is, and before it ever was.
    pub fn heard_until(&self) -> Option<Time> {
        self.outage.as_ref().filter(|_| self.connection != Connection::Live).map(|outage| outage.from)
    }

    /// Every agent, by owner and name.
    pub fn agents(&self) -> impl ExactSizeIterator<Item = (&AgentId, &Agent)> {
        self.agents.iter()
    }

    /// What an agent claims at `now`, the room's time.
    pub fn claim<'a>(&self, agent: &'a Agent, now: Time) -> Claim<'a> {
        agent.claim(now, self.stale_after)
    }

    /// When an agent's claim gets old, by the room's clock; `None`: never.
    pub fn gets_old(&self, agent: &Agent) -> Option<Time> {
        agent.gets_old(self.stale_after)
    }

    /// One agent.
    pub fn agent(&self, id: &AgentId) -> Option<&Agent> {
        self.agents.get(id)
    }

    /// The agents with a failure standing, by owner and name.
    pub fn failed(&self) -> impl ExactSizeIterator<Item = &AgentId> {
        self.agents.failed()
    }

    /// What happened, oldest first, as far as it is remembered.
    pub fn log(&self) -> impl DoubleEndedIterator<Item = &Happening> {
        self.log.iter()
    }

    /// How many happenings there have ever been: of two looks, the difference is new at the log's end.
    pub fn happened(&self) -> u64 {
        self.log.ever()
    }

    /// The same with their numbers, and whether the room remembered them from before we looked.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.log.entries()
    }

    /// How many differences have been heard of since the first look: what repeats the last report is none.
    pub fn differences(&self) -> u64 {
        self.log.differences()
    }

    /// When the room was first seen whole, by its own clock.
    pub fn opened(&self) -> Option<Time> {
        self.log.opened()
    }

    /// The database and the last event that the picture contains.
    pub fn position(&self) -> Option<(&str, u64)> {
        self.position.as_ref().map(|(epoch, seq)| (epoch.as_str(), *seq))
    }

    /// How many agents are in which state at `now`, the room's time.
    pub fn counts(&self, now: Time) -> Counts {
        self.agents.counts(now, self.stale_after)
    }

    /// When one of the counts changes next if nothing is heard: a claim gets old, or somebody is no longer in
    /// another's way. By the room's clock; the times at which single agents look different are not among these.
    pub fn next_change(&self, now: Time) -> Option<Time> {
        let stale = self.agents.next_stale(now, self.stale_after);
        stale.into_iter().chain(self.next_end()).min()
    }

    /// Takes in what was heard.
    pub fn apply(&mut self, heard: Heard) {
        let at = heard.at;
        match heard.news {
            News::Connecting => {
                if let Connection::Offline { retry_at, .. } = &mut self.connection {
                    *retry_at = None;
                } else {
                    self.connection = Connection::Connecting;
                }
            }
            News::Live { epoch, seq, server_time, resumed } => {
                self.ahead = server_time - at;
                self.compare_clocks(server_time);
                self.connection = Connection::Live;
                self.promised = if resumed { seq } else { 0 };
                self.refusing = None; // a room that is not well says so at once
                if resumed {
                    self.end_outage(server_time, Some(seq));
                } else {
                    // Of another database nothing is known, and its numbers say nothing about ours.
                    let known = self.position.take().filter(|(ours, _)| *ours == epoch);
                    self.logged = known.map_or(seq, |(_, seq)| seq);
                    self.position = Some((epoch, 0));
                }
            }
            News::Snapshot { seq, pulses } => self.replace(seq, pulses, at),
            News::Recent { events } => self.remember(events),
            News::Event { frame } => self.event(frame, self.room_time(at)),
            News::Run { .. } => {}
            News::Room { refusing } => self.refusing = refusing,
            News::Lost { why, retry_in } => {
                let retry_at = TimeDelta::from_std(retry_in).ok().map(|wait| wire::later(at, wait));
                let since = match &self.connection {
                    Connection::Offline { since, .. } | Connection::Refused { since, .. } => *since,
                    _ => at,
                };
                self.begin_outage(at);
                self.connection = Connection::Offline { since, why, retry_at };
            }
            News::Refused { why } => {
                let since = match &self.connection {
                    Connection::Offline { since, .. } | Connection::Refused { since, .. } => *since,
                    _ => at,
                };
                self.begin_outage(at);
                self.connection = Connection::Refused { since, why };
            }
        }
    }

    /// Tells of a clock that is far off once, not with every connection.
    fn compare_clocks(&mut self, at: Time) {
        let told = std::mem::replace(&mut self.told_ahead, self.ahead);
        if self.ahead.abs() <= CLOCKS_APART {
            return; // seconds are lost on the way, and minutes change no age's meaning
        }
        if (self.ahead - told).abs() <= CLOCKS_APART {
            self.told_ahead = told;
        } else {
            self.log.note(Happening::Clock { at, ahead: self.ahead });
        }
    }

    fn begin_outage(&mut self, local: Time) {
        if self.outage.is_none() && self.whole {
            let seq = self.position.as_ref().map_or(0, |p| p.1);
            self.outage = Some(Outage { from: self.room_time(local), seq });
        }
    }

    fn end_outage(&mut self, to: Time, newest: Option<u64>) {
        if let Some(outage) = self.outage.take() {
            let missed = newest.map(|newest| newest.saturating_sub(outage.seq));
            self.log.note(Happening::Outage { from: outage.from, to, missed });
        }
    }

    fn replace(&mut self, seq: u64, pulses: Vec<Pulse>, local: Time) {
        let now = self.room_time(local);
        self.end_outage(now, None);
        let old = std::mem::take(&mut self.agents);
        for pulse in pulses {
            let failed = pulse.run_failure.as_ref().map(|failure| {
                old.get(&pulse.agent_id)
                    .filter(|agent| agent.pulse.run_failure.as_ref() == Some(failure))
                    .and_then(|agent| agent.failed)
                    .unwrap_or(Since::Before(now))
            });
            self.agents.insert(Agent { pulse: Arc::new(pulse), failed });
        }
        self.touched.all();
        self.agents.pass(now, self.stale_after);
        if let Some(position) = &mut self.position {
            // A picture may also come amid a connection, in place of events that we were too slow for: of the
            // history that follows it we know what we were told.
            self.logged = self.logged.max(position.1);
            position.1 = seq;
        }
        let pulses = self.agents.iter().map(|(_, agent)| &agent.pulse);
        let turns = self.radar.replace(pulses, now);
        self.settle_troubles();
        if std::mem::replace(&mut self.whole, true) {
            self.tell(turns, Some(now));
        } else {
            self.open_log(now);
        }
    }

    /// History before the snapshot: it fills the log, and tells since when a failure stands.
    fn remember(&mut self, events: Vec<Frame>) {
        let mut last: BTreeMap<AgentId, Arc<Pulse>> = BTreeMap::new();
        let mut history = Vec::new();
        // Only a first look has no log of its own yet; of a later snapshot's history some is known already.
        let first = self.log.is_fresh();
        let logged = if first { 0 } else { self.logged };
        for event in events {
            let new = event.seq().is_some_and(|seq| seq > logged);
            let (at, pulse) = match event {
                Frame::Pulse { at, pulse, .. } => (at, pulse),
                Frame::Gone { at, agent_id, .. } => {
                    last.remove(&agent_id);
                    history.extend(new.then_some(Happening::Gone { at, agent_id }));
                    continue;
                }
                _ => continue,
            };
            let after = Arc::<Pulse>::from(pulse);
            let before = last.insert(after.agent_id.clone(), Arc::clone(&after));
            if let Some(agent) = self.agents.get(&after.agent_id)
                && after.run_failure == agent.pulse.run_failure
                && change::fails(before.as_deref(), &after, at)
            {
                let pulse = Arc::clone(&agent.pulse);
                self.touched.add(&after.agent_id);
                self.agents.insert(Agent { pulse, failed: Some(Since::At(at)) });
            }
            history.extend(new.then_some(Happening::Reported { at, before, after }));
        }
        self.settle_troubles();
        history.into_iter().for_each(|happening| self.log.take_in(happening, first));
    }

    fn event(&mut self, frame: Frame, now: Time) {
        let seq = frame.seq();
        match frame {
            Frame::Pulse { at, pulse, .. } => {
                let after = Arc::<Pulse>::from(pulse);
                let old = self.agents.get(&after.agent_id);
                let before = old.map(|agent| Arc::clone(&agent.pulse));
                let failed = after.run_failure.as_ref().map(|failure| {
                    old.filter(|a| a.pulse.run_failure.as_ref() == Some(failure) && after.updated_at == at)
                        .and_then(|a| a.failed)
                        .unwrap_or(Since::At(at))
                });
                let was = old.and_then(|agent| agent.pulse.run_failure.as_ref().zip(agent.failed));
                let turned = was != after.run_failure.as_ref().zip(failed);
                self.touched.add(&after.agent_id);
                self.agents.insert(Agent { pulse: Arc::clone(&after), failed });
                if turned {
                    self.settle_troubles();
                }
                // Before what was said, what had run out by then.
                let turns = self.radar.pass(at);
                self.tell(turns, None);
                let turns = self.radar.pulse(&after, at);
                self.log.note(Happening::Reported { at, before, after });
                self.tell(turns, Some(at));
            }
            Frame::Gone { at, agent_id, .. } => {
                self.touched.add(&agent_id);
                self.agents.remove(&agent_id);
                self.settle_troubles();
                let turns = self.radar.pass(at);
                self.tell(turns, None);
                let turns = self.radar.gone(&agent_id, at);
                self.log.note(Happening::Gone { at, agent_id });
                self.tell(turns, Some(at));
            }
            Frame::Other(other) => self.log.note(Happening::Unknown { at: now, kind: other.kind }),
            Frame::Hello { .. }
            | Frame::Snapshot { .. }
            | Frame::Recent { .. }
            | Frame::Run { .. }
            | Frame::Room { .. } => {}
        }
        if let (Some(position), Some(seq)) = (&mut self.position, seq) {
            position.1 = seq;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    fn time(text: &str) -> Time {
        format!("2026-11-30T{text}Z").parse().unwrap()
    }

    fn pulse(name: &str, availability: &str, updated: &str, failed: bool) -> serde_json::Value {
        let mut value = json!({"agent_id": format!("acme/{name}"), "owner": "acme", "project": "website-v2",
            "availability": availability, "doing": "x", "task_id": null, "branch": null, "files": [],
            "last_decision": null, "updated_at": time(updated)});
        if failed {
            value["run_failure"] = json!({"class": "auth", "step": "codex_sign_in"});
        }
        value
    }

    fn heard(at: &str, news: serde_json::Value) -> Heard {
        let mut value = news;
        value["at"] = json!(time(at));
        serde_json::from_value(value).unwrap()
    }

    fn live(picture: &mut Picture, at: &str, server: &str, seq: u64, resumed: bool) {
        let news = json!({"news": "live", "epoch": "e", "seq": seq, "server_time": time(server), "resumed": resumed});
        picture.apply(heard(at, news));
    }

    fn event(picture: &mut Picture, seq: u64, at: &str, pulse: &serde_json::Value) {
        let frame = json!({"type": "pulse", "seq": seq, "at": time(at), "pulse": pulse});
        picture.apply(heard(at, json!({"news": "event", "frame": frame})));
    }

    #[test]
    fn a_claim_changes_its_tense_with_age_and_with_a_newer_failure() {
        let mut p = Picture::new("website-v2");
        live(&mut p, "14:00:00", "14:00:00", 0, false);
        p.apply(heard(
            "14:00:00",
            json!({"news": "snapshot", "seq": 0, "pulses": [
            pulse("a", "working", "13:45:01", false), pulse("b", "working", "13:45:00", false),
            pulse("c", "asleep", "02:00:00", false), pulse("d", "idle", "12:30:00", false)]}),
        ));
        let claims: Vec<_> =
            p.agents().map(|(_, a)| p.claim(a, time("14:00:00"))).map(|c| (c.stale, c.past)).collect();
        assert_eq!(claims, [(false, false), (true, true), (false, false), (false, false)]);
        assert_eq!(p.counts(time("14:00:00")), Counts { agents: 4, working: 1, stale: 1, failed: 0 });

        event(&mut p, 1, "14:00:05", &pulse("a", "working", "13:45:01", true));
        let a = p.agent(&"acme/a".parse().unwrap()).unwrap();
        assert_eq!(a.failed, Some(Since::At(time("14:00:05"))));
        assert!(p.claim(a, time("13:50:00")).past, "the failure is newer than the claim");
        event(&mut p, 2, "14:00:09", &pulse("a", "working", "14:00:09", true));
        let a = p.agent(&"acme/a".parse().unwrap()).unwrap();
        assert_eq!(a.failed, Some(Since::At(time("14:00:05"))), "reporting does not restart the failure");
        assert!(!p.claim(a, time("14:00:10")).past);
    }

    #[test]
    fn ages_use_the_rooms_clock_and_are_never_negative() {
        let mut p = Picture::new("website-v2");
        live(&mut p, "14:00:00", "14:01:30", 0, false); // our clock is 90 s behind
        p.apply(heard(
            "14:00:00",
            json!({"news": "snapshot", "seq": 0, "pulses": [pulse("a", "working", "14:01:30", false)]}),
        ));
        let a = p.agent(&"acme/a".parse().unwrap()).unwrap();
        assert_eq!(p.claim(a, p.room_time(time("14:00:10"))).age, TimeDelta::seconds(10));
        assert_eq!(p.claim(a, time("13:00:00")).age, TimeDelta::zero());
    }

    #[test]
    fn the_history_tells_since_when_a_failure_stands() {
        let mut p = Picture::new("website-v2");
        live(&mut p, "14:00:00", "14:00:00", 9, false);
        p.apply(heard(
            "14:00:00",
            json!({"news": "snapshot", "seq": 9, "pulses": [pulse("a", "working", "13:00:00", true)]}),
        ));
        let since = |p: &Picture| p.agent(&"acme/a".parse().unwrap()).unwrap().failed;
        assert_eq!(since(&p), Some(Since::Before(time("14:00:00"))));
        let failed = json!({"type": "pulse", "seq": 9, "at": time("13:20:00"), "pulse": pulse("a", "working", "13:00:00", true)});
        p.apply(heard("14:00:00", json!({"news": "recent", "events": [failed]})));
        assert_eq!(since(&p), Some(Since::At(time("13:20:00"))));
        // A new picture with the same failure keeps what is known.
        p.apply(heard(
            "14:10:00",
            json!({"news": "snapshot", "seq": 9, "pulses": [pulse("a", "working", "13:00:00", true)]}),
        ));
        assert_eq!(since(&p), Some(Since::At(time("13:20:00"))));
    }

    #[test]
    fn an_outage_keeps_the_picture_and_counts_what_was_missed() {
        let mut p = Picture::new("website-v2");
        live(&mut p, "14:00:00", "14:00:00", 3, false);
        p.apply(heard(
            "14:00:00",
            json!({"news": "snapshot", "seq": 3, "pulses": [pulse("a", "working", "13:59:00", false)]}),
        ));
        p.apply(heard(
            "14:01:00",
            json!({"news": "lost", "why": "connection refused", "retry_ms": 1, "retry_in": 3000}),
        ));
        p.apply(heard("14:01:03", json!({"news": "connecting"})));
        assert!(
            matches!(&p.connection, Connection::Offline { retry_at: None, since, .. } if *since == time("14:01:00"))
        );
        p.apply(heard("14:01:03", json!({"news": "lost", "why": "connection refused", "retry_in": 6000})));
        assert!(matches!(&p.connection, Connection::Offline { since, retry_at: Some(at), .. }
            if *since == time("14:01:00") && *at == time("14:01:09")));
        assert_eq!(p.agents().count(), 1);
        live(&mut p, "14:01:10", "14:01:10", 5, true);
        assert_eq!(p.connection, Connection::Live);
        event(&mut p, 4, "14:01:10", &pulse("b", "idle", "14:00:30", false));
        assert!(p.log().any(|h| matches!(h, Happening::Outage { missed: Some(2), .. })));
        assert_eq!(p.position(), Some(("e", 4)));
    }

    #[test]
    fn a_new_picture_after_an_outage_brings_what_happened_meanwhile_once() {
        let mut p = Picture::new("website-v2");
        let snapshot = |seq: u64| json!({"news": "snapshot", "seq": seq, "pulses": [pulse("a", "idle", "13:59:00", false)]});
        let frame = |seq: u64, at: &str, name: &str| json!({"type": "pulse", "seq": seq, "at": time(at), "pulse": pulse(name, "idle", at, false)});
        let gone = json!({"type": "gone", "seq": 5, "at": time("14:02:30"), "agent_id": "acme/b"});
        live(&mut p, "14:00:00", "14:00:00", 3, false);
        p.apply(heard("14:00:00", snapshot(3)));
        p.apply(heard("14:00:00", json!({"news": "recent", "events": [frame(3, "13:59:00", "a")]})));
        p.apply(heard("14:01:00", json!({"news": "lost", "why": "reset", "retry_in": 1})));
        assert_eq!(p.heard_until(), Some(time("14:01:00")));
        live(&mut p, "14:03:00", "14:03:00", 5, false);
        p.apply(heard("14:03:00", snapshot(5)));
        let recent = [frame(3, "13:59:00", "a"), frame(4, "14:02:00", "b"), gone];
        p.apply(heard("14:03:00", json!({"news": "recent", "events": recent})));
        assert_eq!(p.heard_until(), None);
        let told: Vec<&str> = p
            .log()
            .map(|h| match h {
                Happening::Reported { after, .. } => after.agent_id.name(),
                Happening::Alike { .. } => "alike",
                Happening::Gone { .. } => "gone",
                Happening::Outage { .. } => "outage",
                Happening::Unknown { .. } => "unknown",
                Happening::Clock { .. } => "clock",
                Happening::Clash { .. } | Happening::ClashOver(_) => "clash",
            })
            .collect();
        assert_eq!(told, ["a", "outage", "b", "gone"]);
    }

    #[test]
    fn a_new_picture_amid_a_connection_brings_what_was_left_out_once() {
        let mut p = Picture::new("website-v2");
        let snapshot = |seq: u64| json!({"news": "snapshot", "seq": seq, "pulses": [pulse("a", "idle", "13:59:00", false)]});
        let at = |seq: u64| format!("14:00:0{seq}");
        let frame = |seq: u64| json!({"type": "pulse", "seq": seq, "at": time(&at(seq)), "pulse": pulse("a", ["idle", "online", "working"][usize::try_from(seq % 3).unwrap()], &at(seq), false)});
        live(&mut p, "14:00:00", "14:00:00", 1, false);
        p.apply(heard("14:00:00", snapshot(1)));
        p.apply(heard("14:00:00", json!({"news": "recent", "events": [frame(1)]})));
        for seq in [2, 3] {
            p.apply(heard(&at(seq), json!({"news": "event", "frame": frame(seq)})));
        }
        p.apply(heard("14:00:06", snapshot(6)));
        p.apply(heard(
            "14:00:06",
            json!({"news": "recent", "events": [frame(1), frame(2), frame(3), frame(5), frame(6)]}),
        ));
        p.apply(heard("14:00:07", json!({"news": "event", "frame": frame(7)})));
        let told: Vec<Time> = p
            .log()
            .map(|h| match h {
                Happening::Reported { at, .. } => *at,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(told, [1, 2, 3, 5, 6, 7].map(|seq| time(&at(seq))));
    }

    #[test]
    fn a_refused_key_leaves_the_picture_dated_while_it_is_tried_again() {
        let mut p = Picture::new("website-v2");
        live(&mut p, "14:00:00", "14:00:00", 0, false);
        p.apply(heard("14:00:00", json!({"news": "snapshot", "seq": 0, "pulses": []})));
        p.apply(heard("14:05:00", json!({"news": "refused", "why": "revoked"})));
        assert_eq!(p.heard_until(), Some(time("14:05:00")));
        p.apply(heard("14:06:00", json!({"news": "connecting"})));
        assert_eq!(p.heard_until(), Some(time("14:05:00")));
    }
}
