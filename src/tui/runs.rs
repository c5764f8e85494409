//! The run records on the screen: which of them are meant, what the room has answered about them, what is selected.
//!
//! [`ask`] says what the screen needs to know and takes in what came, [`chain`] holds a bounded window of records,
//! [`listed`] is what stands in the rows, [`filter`] what restricts them.

pub mod ask;
pub mod chain;
pub mod filter;
pub mod listed;

use chrono::{Days, NaiveDate};

use self::ask::Held;
use self::chain::Chain;
use self::filter::RunFilter;
use crate::wire::Time;
use crate::wire::id::AgentId;
use crate::wire::query::{By, Order, RunQuery, Sort};
use crate::wire::sums::Group;
use crate::words::Zone;

/// Who looks at the records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Reader {
    /// The room has not told yet.
    #[default]
    Unknown,
    /// A person, who may read those of their own agents.
    Person,
    /// A key that is no person's: this agent's, where it speaks for one.
    Other(Option<AgentId>),
    /// Nobody: a recording plays, and no room can be asked.
    Recording,
}

/// The days that are looked at, up to now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Period {
    /// Since midnight.
    Today,
    /// Seven days, today among them.
    #[default]
    Week,
    /// Thirty days, today among them.
    Month,
    /// All there is.
    All,
}

impl Period {
    /// The next one.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::Today => Self::Week,
            Self::Week => Self::Month,
            Self::Month => Self::All,
            Self::All => Self::Today,
        }
    }

    /// What it is called.
    pub fn words(self) -> &'static str {
        match self {
            Self::Today => "today",
            Self::Week => "last 7 days",
            Self::Month => "last 30 days",
            Self::All => "all days",
        }
    }

    /// Its first day; `None`: it has none.
    pub fn first(self, zone: Zone, now: Time) -> Option<NaiveDate> {
        let back = match self {
            Self::Today => 0,
            Self::Week => 6,
            Self::Month => 29,
            Self::All => return None,
        };
        zone.date(now).checked_sub_days(Days::new(back))
    }
}

/// What a group is known by, whatever its numbers are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupKey {
    /// Its project.
    pub project: Option<String>,
    /// Its task.
    pub task: Option<String>,
    /// Its agent.
    pub agent: Option<AgentId>,
    /// Its day.
    pub day: Option<String>,
}

impl From<&Group> for GroupKey {
    fn from(group: &Group) -> Self {
        let Group { project, task_id, agent_id, day, .. } = group;
        Self { project: project.clone(), task: task_id.clone(), agent: agent_id.clone(), day: day.clone() }
    }
}

/// The selected row of a list, and the list's order.
#[derive(Debug, Clone)]
pub struct Choice<Id> {
    /// What is selected, which its row follows.
    pub id: Option<Id>,
    /// The row on which it was seen last.
    pub place: usize,
    /// The first row on the screen.
    pub top: usize,
    /// The list's order.
    pub sort: Sort,
}

impl<Id> Default for Choice<Id> {
    fn default() -> Self {
        Self { id: None, place: 0, top: 0, sort: Sort::default() }
    }
}

/// All about the run records.
#[derive(Debug, Clone, Default)]
pub struct Runs {
    /// Who looks at them.
    pub reader: Reader,
    /// What they are summed by.
    pub by: By,
    /// Of which days they are.
    pub period: Period,
    /// What restricts the rows.
    pub filter: RunFilter,
    /// The selected group.
    pub groups: Choice<GroupKey>,
    /// The group whose records are listed; `None`: the groups are.
    pub opened: Option<GroupKey>,
    /// The selected record, by its run's id.
    pub records: Choice<String>,
    /// Counts what may have changed the records; what was answered before is old.
    pub version: u64,
    /// The groups.
    pub sums: Option<Held>,
    /// What each day comes to.
    pub days: Option<Held>,
    /// What the opened group comes to.
    pub total: Option<Held>,
    /// What the task of the agent in front comes to.
    pub task: Option<Held>,
    /// The records of the opened group.
    pub chain: Option<Chain>,
    /// The same records, asked for again; shown once as many have come as were there.
    pub coming: Option<Chain>,
    /// Why the last question was not answered, in words, not made safe.
    pub trouble: Option<String>,
}

impl Runs {
    /// Something may have changed the records.
    pub fn stir(&mut self) {
        self.version += 1;
    }

    /// Leaves the opened group's records, and forgets them.
    pub fn close(&mut self) {
        self.opened = None;
        self.records.id = None;
        (self.records.place, self.records.top) = (0, 0);
        (self.chain, self.coming, self.total) = (None, None, None);
        self.trouble = None; // it may have been these records'; what is still wanted is asked again
    }

    /// The orders that the list in front can have, in turn.
    pub fn orders(&self) -> &'static [Order] {
        if self.opened.is_some() {
            &[
                Order::Reported,
                Order::Tokens,
                Order::Exit,
                Order::Duration,
                Order::Turns,
                Order::Input,
                Order::Output,
            ]
        } else {
            &[
                Order::Reported,
                Order::Tokens,
                Order::Failed,
                Order::FailedTokens,
                Order::Runs,
                Order::Duration,
                Order::Turns,
                Order::Name,
            ]
        }
    }

    /// The order of the list in front.
    pub fn sort(&self) -> Sort {
        if self.opened.is_some() { self.records.sort } else { self.groups.sort }
    }

    /// The same, to be changed.
    pub fn sort_mut(&mut self) -> &mut Sort {
        if self.opened.is_some() { &mut self.records.sort } else { &mut self.groups.sort }
    }
}

/// An order in words: `newest first`.
pub fn order(sort: Sort) -> &'static str {
    let Sort { order, descending } = sort;
    let (down, up) = match order {
        Order::Reported => ("newest first", "oldest first"),
        Order::Name => ("by name, reversed", "by name"),
        Order::Runs => ("most runs first", "fewest runs first"),
        Order::Failed => ("most failed first", "fewest failed first"),
        Order::Input => ("most tokens in first", "fewest tokens in first"),
        Order::Output => ("most tokens out first", "fewest tokens out first"),
        Order::Tokens => ("most tokens first", "fewest tokens first"),
        Order::Turns => ("most turns first", "fewest turns first"),
        Order::Duration => ("longest first", "shortest first"),
        Order::FailedTokens => ("most tokens in failed first", "fewest tokens in failed first"),
        Order::Exit => ("highest exit code first", "lowest exit code first"),
    };
    if descending { down } else { up }
}

/// The records of a group, of the same days: the query that finds them, without order and pages.
fn within(key: &GroupKey, since: Option<Time>, zone: Zone) -> RunQuery {
    let mut query = RunQuery {
        project: key.project.as_deref().and_then(|project| project.parse().ok()),
        task: key.task.clone(),
        agent: key.agent.clone(),
        since,
        ..RunQuery::default()
    };
    if let Some(day) = key.day.as_deref().and_then(|day| day.parse::<NaiveDate>().ok()) {
        let zone = zone.of_days();
        query.since = query.since.max(Some(zone.begin(day)));
        query.until = day.succ_opt().map(|next| zone.begin(next));
    }
    query
}
