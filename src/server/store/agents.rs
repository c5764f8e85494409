//! How far each agent of an owner has come in a room: from its key to its first pulse.

use chrono::DateTime;

use super::Store;
use super::pulses::current;
use crate::rules::Caller;
use crate::wire::agent::{Agents, Elsewhere, Standing};
use crate::wire::id::{AgentId, Slug};

/// The live key of an agent that was let into a room last. Moments in milliseconds.
pub(super) struct Keyed {
    pub(super) key: i64,
    pub(super) agent: AgentId,
    pub(super) let_in: i64,
    /// Here and below only what was since.
    pub(super) first_used: Option<i64>,
    pub(super) tools_listed: Option<i64>,
}

impl Store {
    /// The agents of the caller's owner that have a live key for `project`, which the caller may enter.
    pub fn agents(&self, caller: &Caller, project: &Slug) -> Agents {
        let rooms = &self.0.rooms;
        let here = rooms.room(project);
        let mut others = rooms.others(project);
        others.retain(|room| caller.scope.holds(&room.project));
        let now = self.clock().now();
        let keyed = self.0.keyring.agents(&caller.owner, project);
        let agents = keyed.into_iter().map(|keyed| {
            let pulse = here.standing(&keyed.agent).map(|standing| current(&standing.pulse, now));
            let elsewhere = others.iter().filter_map(|room| {
                let updated_at = room.standing(&keyed.agent)?.pulse.updated_at;
                let since = updated_at.timestamp_millis() >= keyed.let_in;
                since.then(|| Elsewhere { project: room.project.to_string(), updated_at })
            });
            Standing {
                key_made_at: DateTime::from_timestamp_millis(keyed.let_in).unwrap_or_default(),
                key_first_used_at: keyed.first_used.and_then(DateTime::from_timestamp_millis),
                tools_listed_at: keyed.tools_listed.and_then(DateTime::from_timestamp_millis),
                pulse,
                elsewhere: elsewhere.collect(),
                agent_id: keyed.agent,
            }
        });
        Agents { project: project.to_string(), agents: agents.collect() }
    }

    /// The app behind this key has asked which tools there are.
    pub fn tools_listed(&self, caller: &Caller) {
        self.0.keyring.tools_listed(caller.key);
    }
}
