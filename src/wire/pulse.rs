//! A pulse: what one agent last said of itself in one project, its intent, and its runner's last failure.

use serde::{Deserialize, Serialize};

use super::id::{AgentId, Slug};
use super::{More, Time, open_enum};

open_enum! {
    /// What an agent said of its own presence. A claim, not a measurement.
    Availability {
        /// There, and free.
        Online = "online",
        /// At work.
        Working = "working",
        /// Waiting.
        Idle = "idle",
        /// Stopped until woken.
        Asleep = "asleep",
        /// Elsewhere.
        Away = "away",
        /// Gone.
        Offline = "offline",
    }
}

open_enum! {
    /// What an agent is about to do to the paths and areas of its intent.
    IntentKind {
        /// Make something new.
        Add = "add",
        /// Edit what is there.
        Change = "change",
        /// Take away.
        Remove = "remove",
        /// Give another name or place.
        Rename = "rename",
        /// Go back to an earlier state.
        Revert = "revert",
        /// Move data or callers from one form to another.
        Migrate = "migrate",
    }
}

open_enum! {
    /// Which kind of trouble ended a run.
    FailureClass {
        /// A sign-in or key.
        Auth = "auth",
        /// An allowance that is used up.
        RateLimit = "rate_limit",
        /// A time limit.
        Timeout = "timeout",
        /// The model's provider.
        Provider = "provider",
        /// The runner's machine.
        Runtime = "runtime",
        /// The agent itself.
        Agent = "agent",
        /// None of these: the runner declined, or could not tell.
        Unclear = "other",
    }
}

open_enum! {
    /// Where exactly a run failed. `hint` has a sentence for each.
    FailureStep {
        /// auth
        ClaudeCodeSignIn = "claude_code_sign_in",
        /// auth
        CodexSignIn = "codex_sign_in",
        /// auth
        GrokSignIn = "grok_sign_in",
        /// allowance
        ClaudeCodeUsageLimit = "claude_code_usage_limit",
        /// allowance
        CodexUsageLimit = "codex_usage_limit",
        /// time
        TaskTimeLimit = "task_time_limit",
        /// time
        ReplyTimeLimit = "reply_time_limit",
        /// provider
        ClaudeCodeService = "claude_code_service",
        /// provider
        CodexService = "codex_service",
        /// provider
        GrokService = "grok_service",
        /// machine
        ClaudeCodeNotFound = "claude_code_not_found",
        /// machine
        CodexNotFound = "codex_not_found",
        /// machine
        CliNotFound = "cli_not_found",
        /// machine
        CliDidNotStart = "cli_did_not_start",
        /// machine
        CliCrashed = "cli_crashed",
        /// machine
        WorktreeFailed = "worktree_failed",
        /// declined
        CrossOwnerOff = "cross_owner_off",
        /// declined
        RoomNotLinked = "room_not_linked",
        /// declined
        CliRepliesOnly = "cli_replies_only",
        /// declined
        CliTasksUnverified = "cli_tasks_unverified",
        /// declined
        EntryChanged = "entry_changed",
        /// machine
        GitTooOld = "git_too_old",
        /// declined
        AppBuildUnchecked = "app_build_unchecked",
        /// agent
        ClaudeCodeMaxTurns = "claude_code_max_turns",
        /// agent
        StoppedExtraTools = "stopped_extra_tools",
        /// agent
        AgentError = "agent_error",
        /// unclear
        SeeRunnerLog = "see_runner_log",
    }
}

/// Why the last run that a runner launched for this agent failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFailure {
    /// The kind of trouble.
    pub class: FailureClass,
    /// The exact step.
    pub step: FailureStep,
    /// Members of a newer room.
    #[serde(flatten)]
    pub more: More,
}

/// What an agent is about to do, until `expires_at`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// The act.
    pub kind: IntentKind,
    /// Repository-relative paths or path patterns, at most 20.
    #[serde(default)]
    pub paths: Vec<String>,
    /// Named areas, at most 10.
    #[serde(default)]
    pub areas: Vec<String>,
    /// The room's stamp: from this moment on the intent no longer holds.
    pub expires_at: Time,
    /// Members of a newer room.
    #[serde(flatten)]
    pub more: More,
}

impl Intent {
    /// Whether the intent still holds at `now` (the room's clock).
    pub fn holds(&self, now: Time) -> bool {
        now < self.expires_at
    }
}

/// One agent's pulse in one project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pulse {
    /// Whose.
    pub agent_id: AgentId,
    /// The agent's owner.
    pub owner: String,
    /// The room.
    pub project: String,
    /// What it said of its presence.
    pub availability: Availability,
    /// What it said it is doing, at most 200 characters; may be empty.
    #[serde(default)]
    pub doing: String,
    /// Its task.
    pub task_id: Option<String>,
    /// Its branch, at most 200 characters.
    pub branch: Option<String>,
    /// Files it works on, at most 50 of at most 300 characters.
    #[serde(default)]
    pub files: Vec<String>,
    /// Its last decision, at most 500 characters.
    pub last_decision: Option<String>,
    /// When it last reported, by the room's clock. A runner's word on a failure does not move it.
    pub updated_at: Time,
    /// Absent, never null, where no failure stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_failure: Option<RunFailure>,
    /// Absent, never null, where none is declared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intent: Option<Intent>,
    /// Members of a newer room.
    #[serde(flatten)]
    pub more: More,
}

/// The arguments of `update_pulse` after [`super::schema::update_pulse`] has checked them.
///
/// `None` says that the member was left out, which is not the same as empty: rules depend on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PulseReport {
    /// The room it is meant for.
    pub project: Slug,
    /// Left out: working.
    pub availability: Option<Availability>,
    /// What the agent is doing.
    pub doing: Option<String>,
    /// Its task; with `run_failure` alone, the failed task.
    pub task_id: Option<String>,
    /// Its branch.
    pub branch: Option<String>,
    /// Its files.
    pub files: Option<Vec<String>>,
    /// Its last decision.
    pub last_decision: Option<String>,
    /// Only a runner sends it.
    pub run_failure: Option<RunFailure>,
    /// Only a runner sends it; `false` where it was left out.
    pub clear_run_failure: bool,
    /// What it is about to do.
    pub intent: Option<IntentReport>,
}

/// An intent as an agent declares it; the room adds when it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntentReport {
    /// The act.
    pub kind: IntentKind,
    /// Paths or path patterns.
    pub paths: Vec<String>,
    /// Named areas.
    pub areas: Vec<String>,
}
