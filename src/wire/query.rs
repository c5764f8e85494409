//! Which run records somebody asks for, in which order: the query of `/v1/runs` and `/v1/runs/summary`.

use std::fmt;
use std::str::FromStr;

use super::Time;
use super::id::{AgentId, Slug};

/// Most records of one page.
pub const PAGE_MAX: u32 = 1000;
/// Most groups of one summary.
pub const GROUPS_MAX: u32 = 100_000;

/// What records are summed by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum By {
    /// By project and task.
    #[default]
    Task,
    /// By agent.
    Agent,
    /// By project.
    Project,
    /// By the day on which they were reported, in a zone.
    Day,
}

impl By {
    /// All of them, in the order that they are offered in.
    pub const ALL: [Self; 4] = [Self::Task, Self::Agent, Self::Project, Self::Day];

    /// The name as it stands in a query.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Agent => "agent",
            Self::Project => "project",
            Self::Day => "day",
        }
    }
}

/// By what rows are put in order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// When it was reported; of a group, when its last run was.
    #[default]
    Reported,
    /// Groups: by name; days by their date.
    Name,
    /// Groups: by how many runs.
    Runs,
    /// Groups: by how many failed.
    Failed,
    /// Tokens in.
    Input,
    /// Tokens out.
    Output,
    /// Tokens in and out; known where both are.
    Tokens,
    /// Turns.
    Turns,
    /// How long it took.
    Duration,
    /// Groups: tokens that went into failed runs.
    FailedTokens,
    /// Records: the exit code.
    Exit,
}

impl Order {
    /// The orders that records can have.
    pub const OF_RECORDS: [Self; 7] =
        [Self::Reported, Self::Input, Self::Output, Self::Tokens, Self::Turns, Self::Duration, Self::Exit];
    /// The orders that groups can have.
    pub const OF_GROUPS: [Self; 10] = [
        Self::Reported,
        Self::Name,
        Self::Runs,
        Self::Failed,
        Self::Input,
        Self::Output,
        Self::Tokens,
        Self::Turns,
        Self::Duration,
        Self::FailedTokens,
    ];

    /// The name as it stands in a query: the field's.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reported => "reported_at",
            Self::Name => "name",
            Self::Runs => "runs",
            Self::Failed => "failed",
            Self::Input => "input_tokens",
            Self::Output => "output_tokens",
            Self::Tokens => "tokens",
            Self::Turns => "turns",
            Self::Duration => "duration_ms",
            Self::FailedTokens => "failed_tokens",
            Self::Exit => "exit_code",
        }
    }
}

/// An order and its direction. What is not known comes last in either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sort {
    /// By what.
    pub order: Order,
    /// The newest, the largest, the last of names first.
    pub descending: bool,
}

impl Default for Sort {
    /// Newest first.
    fn default() -> Self {
        Self { order: Order::Reported, descending: true }
    }
}

/// As a query has it: `-tokens` for the largest first, `tokens` for the smallest.
impl fmt::Display for Sort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.descending { "-" } else { "" }, self.order.as_str())
    }
}

/// A name that means nothing in this place. `Display` lists those that do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be one of {0}")]
pub struct BadName(String);

fn named<T: Copy>(text: &str, all: &[T], name: fn(T) -> &'static str) -> Result<T, BadName> {
    let names = || all.iter().map(|one| name(*one)).collect::<Vec<_>>().join(", ");
    all.iter().copied().find(|one| name(*one) == text).ok_or_else(|| BadName(names()))
}

impl FromStr for By {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        named(text, &Self::ALL, Self::as_str)
    }
}

impl Sort {
    /// Reads a query's `sort`: one of these orders, with `-` before it for the largest first.
    pub fn parse(text: &str, of: &[Order]) -> Result<Self, BadName> {
        let order = named(text.strip_prefix('-').unwrap_or(text), of, Order::as_str)?;
        Ok(Self { order, descending: text.starts_with('-') })
    }
}

/// Which records are meant, in which order. What is `None` restricts nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunQuery {
    /// Of this project.
    pub project: Option<Slug>,
    /// Of this task.
    pub task: Option<String>,
    /// Of this agent.
    pub agent: Option<AgentId>,
    /// Reported then or later.
    pub since: Option<Time>,
    /// Reported before.
    pub until: Option<Time>,
    /// In this order.
    pub sort: Sort,
    /// At most so many rows: [`PAGE_MAX`] records, [`GROUPS_MAX`] groups.
    pub limit: Option<u32>,
    /// Records: from behind the page that this came with.
    pub cursor: Option<String>,
}

impl RunQuery {
    /// The query's names and values, as they stand in an address before they are encoded.
    pub fn pairs(&self) -> Vec<(&'static str, String)> {
        let mut pairs = Vec::new();
        let mut put = |name, value: Option<String>| pairs.extend(value.map(|value| (name, value)));
        put("project", self.project.as_ref().map(ToString::to_string));
        put("task", self.task.clone());
        put("agent", self.agent.as_ref().map(ToString::to_string));
        let moment = |time: Time| time.to_rfc3339_opts(chrono::SecondsFormat::AutoSi, true);
        put("since", self.since.map(moment));
        put("until", self.until.map(moment));
        put("sort", (self.sort != Sort::default()).then(|| self.sort.to_string()));
        put("limit", self.limit.map(|limit| limit.to_string()));
        put("cursor", self.cursor.clone());
        pairs
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_order_is_read_as_it_is_written() {
        for order in Order::OF_RECORDS.into_iter().chain(Order::OF_GROUPS) {
            for descending in [true, false] {
                let sort = Sort { order, descending };
                let of = if Order::OF_RECORDS.contains(&order) {
                    &Order::OF_RECORDS[..]
                } else {
                    &Order::OF_GROUPS
                };
                assert_eq!(Sort::parse(&sort.to_string(), of), Ok(sort));
            }
        }
        for wrong in ["", "-", "--tokens", "Tokens", "price", "name"] {
            let said = Sort::parse(wrong, &Order::OF_RECORDS).unwrap_err().to_string();
            assert!(said.starts_with("must be one of reported_at, input_tokens, "), "{wrong}: {said}");
        }
        assert_eq!("day".parse(), Ok(By::Day));
        assert_eq!("days".parse::<By>().unwrap_err().to_string(), "must be one of task, agent, project, day");
    }

    #[test]
    fn what_restricts_nothing_is_left_out() {
        assert_eq!(RunQuery::default().pairs(), []);
        let query = RunQuery {
            task: Some("nav review".into()),
            since: Some("2026-11-30T14:32:00Z".parse().unwrap()),
            sort: Sort { order: Order::Tokens, descending: true },
            limit: Some(7),
            ..RunQuery::default()
        };
        let pairs = query.pairs();
        let said: Vec<(&str, &str)> = pairs.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let since = ("since", "2026-11-30T14:32:00Z");
        assert_eq!(said, [("task", "nav review"), since, ("sort", "-tokens"), ("limit", "7")]);
    }
}
