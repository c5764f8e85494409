//! What the watcher has marked as seen: it counts again once it is another failure, or a changed clash.

use std::collections::{BTreeMap, BTreeSet};

use crate::conflict::{Act, Conflict, Level};
use crate::picture::{Agent, Picture, Since};
use crate::wire::Time;
use crate::wire::id::AgentId;
use crate::wire::pulse::RunFailure;

/// What makes a clash this one: another level, word or time is another.
type Clash = (AgentId, Act, AgentId, Act, Level, Time);

/// Failures and clashes that no longer count as needing somebody, on this screen only.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    failures: BTreeMap<AgentId, (RunFailure, Option<Since>)>,
    clashes: BTreeSet<Clash>,
}

fn key(clash: &Conflict) -> Clash {
    let (first, second) = (&clash.first, &clash.second);
    (first.id().clone(), first.act, second.id().clone(), second.act, clash.level, clash.since)
}

impl Seen {
    /// Whether the agent's failure was marked.
    pub fn failure(&self, agent: &Agent) -> bool {
        let failure = agent.pulse.run_failure.as_ref();
        let seen = self.failures.get(&agent.pulse.agent_id);
        seen.is_some_and(|(seen, since)| Some(seen) == failure && *since == agent.failed)
    }

    /// Whether the clash was marked.
    pub fn clash(&self, clash: &Conflict) -> bool {
        !self.clashes.is_empty() && self.clashes.contains(&key(clash))
    }

    /// Marks an agent's failure, or takes the mark away.
    pub fn turn_failure(&mut self, agent: &Agent) {
        let id = &agent.pulse.agent_id;
        if self.failure(agent) {
            self.failures.remove(id);
        } else if let Some(failure) = &agent.pulse.run_failure {
            self.failures.insert(id.clone(), (failure.clone(), agent.failed));
        }
    }

    /// Marks a clash, or takes the mark away.
    pub fn turn_clash(&mut self, clash: &Conflict) {
        let key = key(clash);
        if !self.clashes.remove(&key) {
            self.clashes.insert(key);
        }
    }

    /// How many marked failures and clashes there are in the picture at `now`, the room's time.
    pub fn standing(&self, picture: &Picture, now: Time) -> (usize, usize) {
        let failures = self.failures.keys().filter_map(|id| picture.agent(id));
        let clashes = self.clashes.iter();
        let stands =
            |seen: &&Clash| picture.conflicts_of(&seen.0, now).any(|conflict| key(conflict) == **seen);
        (failures.filter(|agent| self.failure(agent)).count(), clashes.filter(stands).count())
    }

    /// Forgets what no longer stands.
    pub fn tidy(&mut self, picture: &Picture, now: Time) {
        let failures = std::mem::take(&mut self.failures);
        let (old, clashes) = (Self { failures, clashes: BTreeSet::new() }, std::mem::take(&mut self.clashes));
        self.failures = old
            .failures
            .iter()
            .filter(|(id, _)| picture.agent(id).is_some_and(|agent| old.failure(agent)))
            .map(|(id, seen)| (id.clone(), seen.clone()))
            .collect();
        let stands = |seen: &Clash| picture.conflicts_of(&seen.0, now).any(|conflict| key(conflict) == *seen);
        self.clashes = clashes.into_iter().filter(stands).collect();
    }
}
