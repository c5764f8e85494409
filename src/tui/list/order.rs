//! In which order agents may stand, and under which headings.

use crate::wire::id::AgentId;
use crate::wire::pulse::{Availability, Pulse};

/// In which order agents stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// By owner, then by name.
    #[default]
    Owner,
    /// What needs the watcher first, then what needs others.
    NeedsYou,
    /// The newest report first.
    Report,
    /// By what they say of themselves, those at work first.
    State,
    /// By name, whoever the owner.
    Name,
}

impl Order {
    const ALL: [Self; 5] = [Self::Owner, Self::NeedsYou, Self::Report, Self::State, Self::Name];

    /// The one after it, round.
    #[must_use]
    pub fn next(self) -> Self {
        after(&Self::ALL, self)
    }

    /// In words: `by last report`.
    pub fn words(self) -> &'static str {
        match self {
            Self::Owner => "by owner",
            Self::NeedsYou => "by what needs you",
            Self::Report => "by last report",
            Self::State => "by state",
            Self::Name => "by name",
        }
    }
}

/// What agents stand under one heading for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Grouping {
    /// Their owner.
    #[default]
    Owner,
    /// What they say of themselves.
    Availability,
    /// Their branch.
    Branch,
    /// Their task.
    Task,
    /// Nothing: there are no headings.
    None,
}

impl Grouping {
    const ALL: [Self; 5] = [Self::Owner, Self::Availability, Self::Branch, Self::Task, Self::None];

    /// The one after it, round.
    #[must_use]
    pub fn next(self) -> Self {
        after(&Self::ALL, self)
    }

    /// In words: `grouped by branch`.
    pub fn words(self) -> &'static str {
        match self {
            Self::Owner => "grouped by owner",
            Self::Availability => "grouped by state",
            Self::Branch => "grouped by branch",
            Self::Task => "grouped by task",
            Self::None => "without groups",
        }
    }

    /// An agent's heading, after its rank among the headings; those without one stand last.
    pub(super) fn heading<'a>(self, id: &'a AgentId, pulse: &'a Pulse) -> (usize, &'a str) {
        let named = |name: &'a Option<String>| match name.as_deref() {
            Some(name) if !name.is_empty() => (0, name),
            _ => (1, ""),
        };
        match self {
            Self::Owner => (0, id.owner()),
            Self::Availability => (rank(&pulse.availability), pulse.availability.as_str()),
            Self::Branch => named(&pulse.branch),
            Self::Task => named(&pulse.task_id),
            Self::None => (0, ""),
        }
    }
}

fn after<T: Copy + PartialEq>(all: &[T], one: T) -> T {
    let place = all.iter().position(|other| *other == one).unwrap_or(0);
    all[(place + 1) % all.len()]
}

/// Those at work first, those who are gone last.
pub(super) fn rank(availability: &Availability) -> usize {
    match availability {
        Availability::Working => 0,
        Availability::Online => 1,
        Availability::Idle => 2,
        Availability::Away => 3,
        Availability::Asleep => 4,
        Availability::Offline => 5,
        Availability::Other(_) => 6,
    }
}
