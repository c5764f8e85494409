//! What the records of runs come to: sums that say of how many runs they are.

use serde::{Deserialize, Serialize};

use super::Time;
use super::id::AgentId;

/// A sum over runs, and of how many of them the number is known. Null is not known; it is never 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sum {
    /// The sum of the known ones; null where none is.
    pub sum: Option<i64>,
    /// How many are known.
    pub known: i64,
}

/// What some runs come to. A run whose exit code is unknown neither failed nor succeeded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// How many runs.
    pub runs: i64,
    /// How many of them failed (exit code other than 0), and of how many the exit code is known.
    pub failed: Sum,
    /// Tokens the models read.
    pub input_tokens: Sum,
    /// Tokens the models wrote.
    pub output_tokens: Sum,
    /// Turns.
    pub turns: Sum,
    /// Milliseconds.
    pub duration_ms: Sum,
    /// Tokens, in and out, of those failed runs of which both are known. The sum is 0 where every exit code is known
    /// and none failed.
    pub failed_tokens: Sum,
    /// Tokens, in and out, of those runs of which both are known.
    pub tokens: Sum,
    /// When the first of them was reported; null: there are none.
    pub first_reported_at: Option<Time>,
    /// When the last was.
    pub last_reported_at: Option<Time>,
}

/// The runs of one task, agent, project or day. Of the keys those are there that it is grouped by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// By project, and by task: tasks of two projects are two tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// By task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// By agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    /// By day: `2026-11-30`, in the zone that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub day: Option<String>,
    /// By task: whose runs they are, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentId>,
    /// What they come to.
    #[serde(flatten)]
    pub totals: Totals,
}

/// `GET /v1/runs/summary`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSummary {
    /// `task`, `agent`, `project` or `day`.
    pub by: String,
    /// By day: the zone that cut the days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tz: Option<String>,
    /// The groups in the order that was asked for, as many as were asked for.
    pub rows: Vec<Group>,
    /// How many groups there are.
    pub groups: u64,
    /// What all groups come to, also those that are not among the rows.
    pub total: Totals,
}
