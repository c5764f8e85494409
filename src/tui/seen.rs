//! What the watcher has marked as seen: it counts again once it is another failure, or a changed clash.

use std::collections::{BTreeMap, BTreeSet};

use crate::conflict::{Conflict, Which};
use crate::picture::{Agent, Picture, Since};
use crate::wire::Time;
use crate::wire::id::AgentId;
use crate::wire::pulse::RunFailure;

/// Failures and clashes that no longer count as needing somebody, on this screen only.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    failures: BTreeMap<AgentId, (RunFailure, Option<Since>)>,
    clashes: BTreeSet<Which>,
    /// How many of both stand in a picture of this state.
    counted: Option<((u64, u64), (usize, usize))>,
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
        !self.clashes.is_empty() && self.clashes.contains(&clash.which())
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
        let which = clash.which();
        if !self.clashes.remove(&which) {
            self.clashes.insert(which);
        }
    }

    /// How many marked failures and clashes there are in the picture.
    pub fn standing(&self, picture: &Picture, now: Time) -> (usize, usize) {
        match &self.counted {
            Some((of, counts)) if *of == state(picture) => *counts,
            _ => self.count(picture, now),
        }
    }

    /// Counts what stands, for as long as the picture stays as it is: the screen asks with each frame.
    pub fn settle(&mut self, picture: &Picture, now: Time) {
        let of = state(picture);
        if self.counted.as_ref().is_none_or(|(counted, _)| *counted != of) {
            self.counted = Some((of, self.count(picture, now)));
        }
    }

    fn count(&self, picture: &Picture, now: Time) -> (usize, usize) {
        let failures = self.failures.keys().filter_map(|id| picture.agent(id));
        (failures.filter(|agent| self.failure(agent)).count(), self.present(picture, now).len())
    }

    /// The marked clashes that the picture still has. Each agent's conflicts are gone through once: one that is in
    /// everybody's way has thousands.
    fn present(&self, picture: &Picture, now: Time) -> BTreeSet<Which> {
        let mut first: Vec<&AgentId> = self.clashes.iter().map(|seen| &seen.0).collect();
        first.dedup();
        let of = first.into_iter().flat_map(|id| {
            picture
                .conflicts_of(id, now)
                .filter(move |conflict| conflict.first.id() == id)
                .map(|conflict| conflict.which())
        });
        of.filter(|which| self.clashes.contains(which)).collect()
    }

    /// Forgets what no longer stands.
    pub fn tidy(&mut self, picture: &Picture, now: Time) {
        self.clashes = self.present(picture, now);
        let stands = |id: &AgentId| picture.agent(id).is_some_and(|agent| self.failure(agent));
        let gone: Vec<AgentId> = self.failures.keys().filter(|id| !stands(id)).cloned().collect();
        gone.iter().for_each(|id| drop(self.failures.remove(id)));
        self.counted = None;
        self.settle(picture, now);
    }
}

/// Another value whenever what stands may be another.
fn state(picture: &Picture) -> (u64, u64) {
    (picture.conflicts_version(), picture.touches())
}
