//! How far each agent of an owner has come in a room: `GET /v1/agents?project=P`, for a person's key only.
//!
//! It answers what the first ten minutes ask: the agent was connected, so why is nothing to be seen?

use serde::{Deserialize, Serialize};

use super::Time;
use super::id::AgentId;
use super::pulse::Pulse;

/// The owner's agents that have a live key for one room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agents {
    /// The room.
    pub project: String,
    /// In the order of their ids.
    pub agents: Vec<Standing>,
}

/// One agent, by the live key of it that was let into the room last. What that key did before, in other rooms, does
/// not count here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// Who.
    pub agent_id: AgentId,
    /// When its key was let into this room: when it was made, unless it was for other rooms first.
    pub key_made_at: Time,
    /// When the key was first used since then, for anything; null: not yet. Where only its last use is known to be
    /// since then, it is that.
    pub key_first_used_at: Option<Time>,
    /// When its app last asked which tools there are; null: not since then.
    pub tools_listed_at: Option<Time>,
    /// What it last said in this room; null: nothing yet.
    pub pulse: Option<Pulse>,
    /// Other rooms of this server that the owner may see and it has reported to since then, in the order of their
    /// names.
    pub elsewhere: Vec<Elsewhere>,
}

/// A room that an agent reported to instead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Elsewhere {
    /// The room.
    pub project: String,
    /// When it last did.
    pub updated_at: Time,
}
