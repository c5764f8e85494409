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

/// One agent. The moments are those of its newest live key that may enter the room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// Who.
    pub agent_id: AgentId,
    /// When its key was made.
    pub key_made_at: Time,
    /// When the key was first used for anything; null: not yet.
    pub key_first_used_at: Option<Time>,
    /// When its app first asked which tools there are; null: not yet.
    pub tools_listed_at: Option<Time>,
    /// What it last said in this room; null: nothing yet.
    pub pulse: Option<Pulse>,
    /// Other rooms of this server that the owner may see and it has reported to, in the order of their names.
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
