//! What happened in a room, as far as it is remembered: reports that repeat the last one are only counted.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use chrono::TimeDelta;

use crate::change;
use crate::conflict::{Conflict, Ended};
use crate::wire::Time;
use crate::wire::id::AgentId;
use crate::wire::pulse::Pulse;

/// Happenings kept for the activity.
const LOG_MAX: usize = 500;

/// Something that happened, for the activity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happening {
    /// An agent, or its runner, reported.
    Reported {
        /// When, by the room's clock.
        at: Time,
        /// What was known of the agent before; `None`: nothing.
        before: Option<Arc<Pulse>>,
        /// What it is now.
        after: Arc<Pulse>,
    },
    /// An agent said again what it had said before.
    Alike {
        /// When it did so first, by the room's clock.
        at: Time,
        /// When it did so last.
        last: Time,
        /// How many times.
        reports: u64,
        /// What it said.
        pulse: Arc<Pulse>,
    },
    /// An agent was taken out of the room.
    Gone {
        /// When, by the room's clock.
        at: Time,
        /// Who.
        agent_id: AgentId,
    },
    /// An event of a newer room.
    Unknown {
        /// When it was heard, by the room's clock.
        at: Time,
        /// Its type, as it came.
        kind: String,
    },
    /// Nothing was heard between these two moments of the room's clock.
    Outage {
        /// From.
        from: Time,
        /// To.
        to: Time,
        /// How many events came afterwards to catch up; `None`: a new picture came instead.
        missed: Option<u64>,
    },
    /// Two agents have got into each other's way, as nobody sent: only clashes are told here.
    Clash {
        /// When, by the room's clock.
        at: Time,
        /// Who, and what of them.
        clash: Arc<Conflict>,
    },
    /// A clash is over.
    ClashOver(Arc<Ended>),
    /// The watcher's clock was found to be far from the room's, which ages are told by.
    Clock {
        /// When, by the room's clock.
        at: Time,
        /// The room's clock less the watcher's.
        ahead: TimeDelta,
    },
}

impl Happening {
    /// When it happened, by the room's clock; of an outage, when it ended.
    pub fn at(&self) -> Time {
        match self {
            Self::Reported { at, .. }
            | Self::Alike { at, .. }
            | Self::Gone { at, .. }
            | Self::Unknown { at, .. }
            | Self::Clash { at, .. }
            | Self::Clock { at, .. } => *at,
            Self::Outage { to, .. } => *to,
            Self::ClashOver(ended) => ended.at,
        }
    }
}

/// A happening and its number, which stays its own for as long as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Counted from 0 on without a gap.
    pub number: u64,
    /// The room remembered it from before the first look.
    pub earlier: bool,
    /// What happened.
    pub happening: Happening,
}

/// Happenings, oldest first.
#[derive(Debug, Clone, Default)]
pub(super) struct Log {
    kept: VecDeque<Entry>,
    ever: u64,
    differences: u64,
    /// What happened in the room is in it, not only how it was on the first look.
    begun: bool,
    opened: Option<Time>,
    /// The line that counts an agent's repetitions, until it says something else.
    alike: BTreeMap<AgentId, u64>,
}

impl Log {
    /// Takes in something from before the first look, or what [`Log::note`] does.
    pub(super) fn take_in(&mut self, happening: Happening, earlier: bool) {
        if earlier {
            self.remember(happening);
        } else {
            self.note(happening);
        }
    }

    /// Takes in something that happened while we looked, or that we missed while we could not.
    pub(super) fn note(&mut self, happening: Happening) {
        if let Happening::Outage { .. } = happening {
            self.alike.clear(); // what is told on both sides of a gap is counted on both sides
        }
        let clock = matches!(happening, Happening::Clock { .. });
        self.begun |= !clock;
        if !is_alike(&happening) {
            self.differences += u64::from(!clock && !matches!(happening, Happening::Outage { .. }));
        }
        self.add(happening, false);
    }

    /// Takes in something from before the first look.
    pub(super) fn remember(&mut self, happening: Happening) {
        self.begun |= !matches!(happening, Happening::Clash { .. });
        self.add(happening, true);
    }

    /// The room was seen whole for the first time at `at`, by its clock.
    pub(super) fn open(&mut self, at: Time) {
        self.opened = Some(at);
    }

    fn add(&mut self, happening: Happening, earlier: bool) {
        let alike = is_alike(&happening);
        let happening = match happening {
            Happening::Reported { at, after, .. } if alike => {
                let line = self.alike.get(&after.agent_id).and_then(|number| self.find(*number));
                match line.and_then(|place| self.kept.get_mut(place)) {
                    Some(Entry {
                        earlier: e,
                        happening: Happening::Alike { last, reports, pulse, .. },
                        ..
                    }) if *e == earlier => {
                        (*last, *pulse) = (at, after);
                        *reports += 1;
                        return;
                    }
                    _ => {
                        self.alike.insert(after.agent_id.clone(), self.ever);
                        Happening::Alike { at, last: at, reports: 1, pulse: after }
                    }
                }
            }
            other => {
                match &other {
                    Happening::Reported { after, .. } => self.alike.remove(&after.agent_id),
                    Happening::Gone { agent_id, .. } => self.alike.remove(agent_id),
                    _ => None,
                };
                other
            }
        };
        if self.kept.len() == LOG_MAX
            && let Some(Entry { number, happening: Happening::Alike { pulse, .. }, .. }) =
                self.kept.pop_front()
            && self.alike.get(&pulse.agent_id) == Some(&number)
        {
            self.alike.remove(&pulse.agent_id);
        }
        self.kept.push_back(Entry { number: self.ever, earlier, happening });
        self.ever += 1;
    }

    /// Where a number stands.
    fn find(&self, number: u64) -> Option<usize> {
        let first = self.kept.front()?.number;
        usize::try_from(number.checked_sub(first)?).ok()
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Happening> {
        self.kept.iter().map(|entry| &entry.happening)
    }

    pub(super) fn entries(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.kept.iter()
    }

    /// Whether the room's history is still to come.
    pub(super) fn is_fresh(&self) -> bool {
        !self.begun
    }

    /// How many there have ever been.
    pub(super) fn ever(&self) -> u64 {
        self.ever
    }

    pub(super) fn differences(&self) -> u64 {
        self.differences
    }

    pub(super) fn opened(&self) -> Option<Time> {
        self.opened
    }
}

/// Whether it is a report that repeats the agent's last one.
fn is_alike(happening: &Happening) -> bool {
    match happening {
        Happening::Reported { before: Some(before), after, at } => {
            change::between(Some(before), after, Some(*at)).is_empty()
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    fn time(second: u64) -> Time {
        format!("2026-11-30T14:{:02}:{:02}Z", second / 60, second % 60).parse().unwrap()
    }

    fn pulse(agent: &str, doing: &str, second: u64) -> Arc<Pulse> {
        let pulse = json!({"agent_id": agent, "owner": "acme", "project": "p", "availability": "working",
            "doing": doing, "task_id": null, "branch": null, "files": [], "last_decision": null,
            "updated_at": time(second)});
        Arc::new(serde_json::from_value(pulse).unwrap())
    }

    fn report(agent: &str, before: &str, doing: &str, second: u64) -> Happening {
        let (before, after) = (Some(pulse(agent, before, 0)), pulse(agent, doing, second));
        Happening::Reported { at: time(second), before, after }
    }

    /// `doing`, or how many reports were alike, of each line.
    fn lines(log: &Log) -> Vec<String> {
        let line = |happening: &Happening| match happening {
            Happening::Reported { after, .. } => after.doing.clone(),
            Happening::Alike { reports, at, last, .. } => {
                format!("{reports} in {}s", (*last - *at).num_seconds())
            }
            other => format!("{other:?}"),
        };
        log.iter().map(line).collect()
    }

    #[test]
    fn reports_alike_are_counted_agent_by_agent_until_one_differs() {
        let mut log = Log::default();
        for second in 0..6 {
            log.note(report("acme/a", "x", "x", second));
            log.note(report("acme/b", "x", if second == 3 { "y" } else { "x" }, second));
        }
        assert_eq!(lines(&log), ["6 in 5s", "3 in 2s", "y", "2 in 1s"]);
        assert_eq!((log.ever(), log.differences()), (4, 1));
    }

    #[test]
    fn repetitions_are_not_counted_across_the_first_look() {
        let mut log = Log::default();
        log.remember(report("acme/a", "x", "x", 1));
        log.remember(report("acme/a", "x", "x", 2));
        log.note(report("acme/a", "x", "x", 3));
        assert_eq!(lines(&log), ["2 in 1s", "1 in 0s"]);
        assert_eq!(log.differences(), 0, "what was remembered did not happen while we looked");
    }

    #[test]
    fn case_a33_a_million_reports_keep_a_bounded_log() {
        let mut log = Log::default();
        for n in 0..20_000 {
            let agent = format!("acme/a{}", n % 5000);
            log.note(report(&agent, "x", if n % 7 == 0 { "y" } else { "x" }, n % 3600));
        }
        assert_eq!(log.kept.len(), LOG_MAX);
        assert!(log.alike.len() <= LOG_MAX, "{}", log.alike.len());
        let numbers: Vec<u64> = log.entries().map(|entry| entry.number).collect();
        assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "no gap");
        assert_eq!(numbers.last().copied(), log.ever().checked_sub(1));
    }
}
