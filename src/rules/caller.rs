//! Who calls, and what each kind of key may do.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use crate::wire::id::{AgentId, Slug};

/// What a token is, which decides what it may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// An owner, signed in: sees rooms and reads the records of its agents' runs, but is no agent.
    Person,
    /// An agent app's OAuth token.
    OAuth,
    /// An agent's client key.
    Client,
    /// An app's key for one project.
    Project,
    /// A runner device's key, for an agent.
    RunnerDevice,
    /// The runner's tasks key, for an agent: reports runs and nothing else.
    RunnerTasks,
    /// What a woken run gets: one agent, one project, one task.
    Execution,
}

/// Not the name of a kind of key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no such kind of key; there are person, oauth, client, project, runner-device, runner-tasks and execution"
)]
pub struct BadKind;

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::Person,
        Self::OAuth,
        Self::Client,
        Self::Project,
        Self::RunnerDevice,
        Self::RunnerTasks,
        Self::Execution,
    ];

    /// The kind's name, as it is typed and stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::OAuth => "oauth",
            Self::Client => "client",
            Self::Project => "project",
            Self::RunnerDevice => "runner-device",
            Self::RunnerTasks => "runner-tasks",
            Self::Execution => "execution",
        }
    }

    /// Whether it speaks for an agent. Only a person does not.
    pub fn is_agent(self) -> bool {
        self != Self::Person
    }

    /// Whether it is bound to exactly one project.
    pub fn has_one_project(self) -> bool {
        matches!(self, Self::Project | Self::Execution)
    }

    /// Whether it may call `update_pulse` at all.
    pub fn sends_pulses(self) -> bool {
        !matches!(self, Self::Person | Self::RunnerTasks)
    }

    /// Whether it may send `run_failure` and `clear_run_failure`.
    pub fn sends_failures(self) -> bool {
        matches!(self, Self::Client | Self::RunnerDevice)
    }

    /// Whether it may call `report_run`.
    pub fn reports_runs(self) -> bool {
        matches!(self, Self::Client | Self::RunnerDevice | Self::RunnerTasks)
    }

    /// Whether it may read run records, those of its owner's agents.
    pub fn reads_runs(self) -> bool {
        self == Self::Person
    }

    /// The kind in a sentence: "this token is …".
    pub(super) fn described(self) -> &'static str {
        match self {
            Self::Person => "a person's",
            Self::OAuth => "an OAuth token",
            Self::Client => "a client key",
            Self::Project => "an app's project key",
            Self::RunnerDevice => "a runner device's key",
            Self::RunnerTasks => "the runner's tasks key",
            Self::Execution => "a woken run's",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Kind {
    type Err = BadKind;
    fn from_str(name: &str) -> Result<Self, BadKind> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name).ok_or(BadKind)
    }
}

/// The projects that a token may enter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Every project of the room's database.
    All,
    /// These.
    Some(BTreeSet<Slug>),
}

impl Scope {
    /// Whether `project` is among them. Says nothing on whether it exists.
    pub fn holds(&self, project: &Slug) -> bool {
        match self {
            Self::All => true,
            Self::Some(projects) => projects.contains(project),
        }
    }
}

/// Who calls: all that the room takes from a token, never from an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The key's id in the database, as `prickle key list` shows it.
    pub key: i64,
    /// What the token is.
    pub kind: Kind,
    /// The person or team.
    pub owner: Slug,
    /// The agent; `None` only for [`Kind::Person`].
    pub agent: Option<AgentId>,
    /// The task of a woken run; only for [`Kind::Execution`].
    pub task: Option<String>,
    /// Where it may go.
    pub scope: Scope,
}
