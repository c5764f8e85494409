//! A run: one launch of an agent app by a runner, and the record that the room keeps of it.

use serde::{Deserialize, Serialize};

use super::id::{AgentId, RunId, Slug};
use super::{More, Time};

/// The arguments of `report_run` after [`super::schema::report_run`] has checked them.
/// A number that nobody knows is `None`, never 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunReport {
    /// The room.
    pub project: Slug,
    /// The launch.
    pub run_id: RunId,
    /// The task it was launched for.
    pub task_id: String,
    /// Tokens the model read.
    pub input_tokens: Option<i64>,
    /// Tokens the model wrote.
    pub output_tokens: Option<i64>,
    /// Turns the agent app counted.
    pub turns: Option<i64>,
    /// How long the run took, in milliseconds.
    pub duration_ms: Option<i64>,
    /// The app's exit code, 0 to 255.
    pub exit_code: Option<i64>,
}

/// What the room stored of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The launch, a UUID in lower case.
    pub run_id: String,
    /// The room.
    pub project: String,
    /// The task.
    pub task_id: String,
    /// Tokens the model read; null: not known.
    pub input_tokens: Option<i64>,
    /// Tokens the model wrote; null: not known.
    pub output_tokens: Option<i64>,
    /// Turns; null: not known.
    pub turns: Option<i64>,
    /// Milliseconds; null: not known.
    pub duration_ms: Option<i64>,
    /// 0 to 255; null: not known, so neither failed nor succeeded.
    pub exit_code: Option<i64>,
    /// Who measured it: `client_reported`.
    pub source: String,
    /// When the room first stored it.
    pub reported_at: Time,
    /// Members of a newer room.
    #[serde(flatten)]
    pub more: More,
}

/// A record as an owner reads it over HTTP: the run, and whose it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRun {
    /// Whose run.
    pub agent_id: AgentId,
    /// The record.
    #[serde(flatten)]
    pub run: Run,
}

/// One page of `GET /v1/runs`, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunPage {
    /// The records.
    pub runs: Vec<AgentRun>,
    /// Where the next page begins; null on the last.
    pub next_cursor: Option<String>,
}
