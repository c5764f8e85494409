//! Who is in the room, what each of them claims, and how many are in which state: counted as pulses come and time
//! passes, since a room of ten thousand cannot be gone through for every picture.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chrono::TimeDelta;

use super::ages::Ages;
use crate::wire::id::AgentId;
use crate::wire::pulse::{Availability, Pulse};
use crate::wire::{self, Time};

/// `working` and `online` older than this are no longer taken at their word, unless a setting says otherwise.
pub const STALE_AFTER: TimeDelta = TimeDelta::minutes(15);
/// The same for `idle`. Asleep, away and offline announce silence, so they never get old.
pub const IDLE_STALE_AFTER: TimeDelta = TimeDelta::hours(2);

/// Since when something is so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// From this moment on.
    At(Time),
    /// It was so already when we first looked, at this moment.
    Before(Time),
}

/// What an agent claims of itself, judged by its age.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim<'a> {
    /// What it said.
    pub availability: &'a Availability,
    /// How long ago, never negative.
    pub age: TimeDelta,
    /// Said too long ago to be taken for the present.
    pub stale: bool,
    /// To be told in the past tense: stale, or a run has failed since.
    pub past: bool,
    /// It said that it is not here, so silence is no news.
    pub absent: bool,
}

/// One agent in the picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// Its last pulse.
    pub pulse: Arc<Pulse>,
    /// Since when its failure stands; only where one does.
    pub failed: Option<Since>,
}

impl Agent {
    /// The claim at `now`, the room's time, doubted after `stale_after`.
    pub(super) fn claim(&self, now: Time, stale_after: TimeDelta) -> Claim<'_> {
        let availability = &self.pulse.availability;
        let age = (now - self.pulse.updated_at).max(TimeDelta::zero());
        let stale = self.limit(stale_after).is_some_and(|limit| age >= limit);
        let absent =
            matches!(availability, Availability::Asleep | Availability::Away | Availability::Offline);
        let past = stale || (!absent && self.has_failed_since());
        Claim { availability, age, stale, past, absent }
    }

    /// When the claim gets old; `None`: never.
    pub(super) fn gets_old(&self, stale_after: TimeDelta) -> Option<Time> {
        self.limit(stale_after).map(|limit| wire::later(self.pulse.updated_at, limit))
    }

    /// The age from which on the claim is old.
    fn limit(&self, stale_after: TimeDelta) -> Option<TimeDelta> {
        let [limit, idle_limit] = limits(stale_after);
        match self.pulse.availability {
            Availability::Working | Availability::Online => Some(limit),
            Availability::Idle => Some(idle_limit),
            _ => None,
        }
    }

    /// Whether it is known that it failed after it made its claim.
    fn has_failed_since(&self) -> bool {
        matches!(self.failed, Some(Since::At(at)) if at > self.pulse.updated_at)
    }
}

/// How many agents are in which state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// All.
    pub agents: usize,
    /// Whose claim to be working is fresh.
    pub working: usize,
    /// Whose claim is too old.
    pub stale: usize,
    /// With a failure standing.
    pub failed: usize,
}

/// The agents by owner and name, and what is counted of them.
#[derive(Debug, Clone, Default)]
pub(super) struct Agents {
    of: BTreeMap<AgentId, Agent>,
    failed: BTreeSet<AgentId>,
    claims: Claims,
}

impl Agents {
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = (&AgentId, &Agent)> {
        self.of.iter()
    }

    pub(super) fn get(&self, id: &AgentId) -> Option<&Agent> {
        self.of.get(id)
    }

    /// Those with a failure standing, by owner and name.
    pub(super) fn failed(&self) -> impl ExactSizeIterator<Item = &AgentId> {
        self.failed.iter()
    }

    /// Takes an agent in, in place of what was known of it.
    pub(super) fn insert(&mut self, agent: Agent) {
        let id = agent.pulse.agent_id.clone();
        let fails = agent.pulse.run_failure.is_some();
        self.claims.turn(&agent, Ages::enter);
        let old = self.of.insert(id.clone(), agent);
        if fails {
            self.failed.insert(id);
        } else if old.as_ref().is_some_and(|old| old.pulse.run_failure.is_some()) {
            self.failed.remove(&id);
        }
        if let Some(old) = old {
            self.claims.turn(&old, Ages::leave);
        }
    }

    pub(super) fn remove(&mut self, id: &AgentId) {
        if let Some(old) = self.of.remove(id) {
            self.claims.turn(&old, Ages::leave);
            self.failed.remove(id);
        }
    }

    /// How many agents are in which state at `now`.
    pub(super) fn counts(&self, now: Time, stale_after: TimeDelta) -> Counts {
        let Claims { working, present, idle } = &self.claims;
        let [limit, idle_limit] = limits(stale_after).map(|limit| made_by(now, limit));
        Counts {
            agents: self.of.len(),
            working: working.all() - working.up_to(limit),
            stale: present.up_to(limit) + idle.up_to(idle_limit),
            failed: self.failed.len(),
        }
    }

    /// When a claim gets stale next if nobody says anything.
    pub(super) fn next_stale(&self, now: Time, stale_after: TimeDelta) -> Option<Time> {
        let next = |ages: &Ages, limit| ages.first_after(made_by(now, limit))?.checked_add_signed(limit);
        let [limit, idle_limit] = limits(stale_after);
        let both = [next(&self.claims.present, limit), next(&self.claims.idle, idle_limit)];
        both.into_iter().flatten().min()
    }

    /// Time has passed: what is counted at about `now` costs nothing from here on.
    pub(super) fn pass(&mut self, now: Time, stale_after: TimeDelta) {
        let [limit, idle_limit] = limits(stale_after).map(|limit| made_by(now, limit));
        self.claims.working.pass(limit);
        self.claims.present.pass(limit);
        self.claims.idle.pass(idle_limit);
    }
}

/// The claims that are counted.
#[derive(Debug, Clone, Default)]
struct Claims {
    /// `working` that no failure has made past.
    working: Ages,
    /// `working` and `online`, which get stale together.
    present: Ages,
    idle: Ages,
}

impl Claims {
    /// Enters an agent's claim wherever it counts, or takes it out.
    fn turn(&mut self, agent: &Agent, turn: impl Fn(&mut Ages, Time)) {
        let made = agent.pulse.updated_at;
        match agent.pulse.availability {
            Availability::Working => {
                turn(&mut self.present, made);
                if !agent.has_failed_since() {
                    turn(&mut self.working, made);
                }
            }
            Availability::Online => turn(&mut self.present, made),
            Availability::Idle => turn(&mut self.idle, made),
            _ => {}
        }
    }
}

/// The ages from which on claims are stale: of `working` and `online`, and of `idle`.
fn limits(stale_after: TimeDelta) -> [TimeDelta; 2] {
    [stale_after, IDLE_STALE_AFTER.max(stale_after)]
}

/// Claims that were made by then are as old as the limit at `now`.
fn made_by(now: Time, limit: TimeDelta) -> Time {
    if limit <= TimeDelta::zero() {
        return Time::MAX_UTC; // even those of a clock that is ahead: no age is negative
    }
    now.checked_sub_signed(limit).unwrap_or(Time::MIN_UTC)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const WORDS: [&str; 7] = ["working", "online", "idle", "asleep", "away", "offline", "dreaming"];
    const LIMITS: [i64; 8] = [0, 1, 15, 119, 120, 121, 300, i64::MAX / 60_000];

    /// Something that becomes of one of five agents, by seconds of one day.
    #[derive(Debug, Clone)]
    enum Turn {
        Says { who: u8, availability: &'static str, at: i64, failed: Option<i64> },
        Leaves { who: u8 },
        Pass { at: i64 },
    }

    fn turns() -> impl Strategy<Value = Turn> {
        // Few moments, so that many fall together.
        let at = || (0..40_i64).prop_map(|n| n * 450);
        prop_oneof![
            6 => (0..5_u8, prop::sample::select(&WORDS[..]), at(), prop::option::of(at()))
                .prop_map(|(who, availability, at, failed)| Turn::Says { who, availability, at, failed }),
            1 => (0..5_u8).prop_map(|who| Turn::Leaves { who }),
            2 => at().prop_map(|at| Turn::Pass { at }),
        ]
    }

    fn day(seconds: i64) -> Time {
        "2026-11-30T00:00:00Z".parse::<Time>().unwrap() + TimeDelta::seconds(seconds)
    }

    fn agent(who: u8, availability: &str, at: i64, failed: Option<i64>) -> Agent {
        let mut pulse = json!({"agent_id": format!("acme/a{who}"), "owner": "acme", "project": "p",
            "availability": availability, "task_id": null, "branch": null, "last_decision": null,
            "updated_at": day(at)});
        if failed.is_some() {
            pulse["run_failure"] = json!({"class": "auth", "step": "codex_sign_in"});
        }
        // A failure that stood already when one first looked makes no claim past.
        let since = |at| if at % 900 == 0 { Since::Before(day(at)) } else { Since::At(day(at)) };
        Agent { pulse: serde_json::from_value(pulse).unwrap(), failed: failed.map(since) }
    }

    fn counted_one_by_one(agents: &Agents, now: Time, stale_after: TimeDelta) -> Counts {
        let mut counts = Counts { agents: agents.iter().len(), ..Counts::default() };
        for (_, agent) in agents.iter() {
            let claim = agent.claim(now, stale_after);
            counts.stale += usize::from(claim.stale);
            counts.working += usize::from(*claim.availability == Availability::Working && !claim.past);
            counts.failed += usize::from(agent.pulse.run_failure.is_some());
        }
        counts
    }

    proptest! {
            #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
            #[test]
            fn counts_are_what_counting_one_by_one_comes_to(
                turns in prop::collection::vec(turns(), 0..40),
                looks in prop::collection::vec(0..40_i64, 1..6),
                stale_after in prop::sample::select(&LIMITS[..]),
            ) {
                let stale_after = TimeDelta::minutes(stale_after);
                let mut agents = Agents::default();
                for turn in turns {
                    match turn {
                        Turn::Says { who, availability, at, failed } => {
                            agents.insert(agent(who, availability, at, failed));
                        }
                        Turn::Leaves { who } => agents.remove(&format!("acme/a{who}").parse().unwrap()),
                        Turn::Pass { at } => agents.pass(day(at), stale_after),
                    }
                }
                for now in looks.into_iter().map(|n| day(n * 450)) {
                    prop_assert_eq!(agents.counts(now, stale_after), counted_one_by_one(&agents, now, stale_after));
                    // Between now and the next change nothing gets stale, and at that moment something does.
                    let stale = |at| counted_one_by_one(&agents, at, stale_after).stale;
                    if let Some(next) = agents.next_stale(now, stale_after) {
                            prop_assert!(next > now && stale(next) > stale(now));
                            prop_assert_eq!(stale(next - TimeDelta::nanoseconds(1)), stale(now));
    } else {
    prop_assert_eq!(stale(now + TimeDelta::days(400)), stale(now));
    }
                }
            }
        }
}
