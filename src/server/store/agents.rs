//! How far each agent of an owner has come in a room: from its key to its first pulse.

use chrono::DateTime;

use super::Store;
use super::pulses::current;
use crate::rules::Caller;
use crate::wire::Time;
use crate::wire::agent::{Agents, Elsewhere, Standing};
use crate::wire::id::{AgentId, Slug};

/// An agent's newest live key that may enter a room. Moments in milliseconds; 0: never.
pub(super) struct Keyed {
    pub(super) key: i64,
    pub(super) agent: AgentId,
    pub(super) made_at: i64,
    pub(super) first_used: i64,
    pub(super) tools_listed: i64,
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
                Some(Elsewhere { project: room.project.to_string(), updated_at })
            });
            Standing {
                key_made_at: moment(keyed.made_at).unwrap_or_default(),
                key_first_used_at: moment(keyed.first_used),
                tools_listed_at: moment(keyed.tools_listed),
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

fn moment(ms: i64) -> Option<Time> {
    if ms == 0 { None } else { DateTime::from_timestamp_millis(ms) }
}
