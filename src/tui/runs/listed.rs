//! The rows of the Runs: the groups or the records that the filter lets through, and what they come to.

use std::borrow::Cow;

use super::GroupKey;
use super::ask::{Slot, is_told};
use super::chain::Chain;
use crate::columns;
use crate::ledger::Tally;
use crate::tui::model::Model;
use crate::wire::query::By;
use crate::wire::run::AgentRun;
use crate::wire::sums::{Group, RunSummary, Totals};

/// What stands in the rows.
#[derive(Debug)]
pub enum Listed<'a> {
    /// Groups.
    Groups(Vec<&'a Group>),
    /// Records.
    Records(Vec<&'a AgentRun>),
}

impl Listed<'_> {
    /// How many rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Groups(groups) => groups.len(),
            Self::Records(records) => records.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The groups' answer, where it is one for what the groups are summed by.
pub fn summary(model: &Model) -> Option<&RunSummary> {
    let held = model.runs.sums.as_ref()?;
    (held.summary.by == model.runs.by.as_str()).then_some(&held.summary)
}

/// The opened group's records, where they are that group's.
fn chain(model: &Model) -> Option<&Chain> {
    model.runs.opened.as_ref()?;
    model.runs.chain.as_ref()
}

/// The rows; `None`: the room has not answered yet.
pub fn listed(model: &Model) -> Option<Listed<'_>> {
    let filter = &model.runs.filter;
    if model.runs.opened.is_some() {
        let runs = chain(model)?.runs().filter(|run| filter.is_empty() || filter.matches_run(run));
        return Some(Listed::Records(runs.collect()));
    }
    let groups = summary(model)?.rows.iter();
    let lets = |group: &&Group| filter.is_empty() || filter.matches_group(group, &name(model, group));
    Some(Listed::Groups(groups.filter(lets).collect()))
}

/// What a group is called here.
pub fn name(model: &Model, group: &Group) -> String {
    columns::name(by_of(model), group, Some(&model.picture.project), model.look.zone.of_days(), model.now())
}

fn by_of(model: &Model) -> By {
    model.runs.by
}

/// The row of the selection among these, where it is there.
pub fn row(model: &Model, rows: &Listed<'_>) -> Option<usize> {
    match rows {
        Listed::Groups(groups) => {
            let id = model.runs.groups.id.as_ref()?;
            groups.iter().position(|group| GroupKey::from(*group) == *id)
        }
        Listed::Records(records) => {
            let id = model.runs.records.id.as_ref()?;
            records.iter().position(|run| run.run.run_id == *id)
        }
    }
}

/// The selected group, where groups are listed.
pub fn group(model: &Model) -> Option<&Group> {
    let rows = listed(model)?;
    let row = row(model, &rows)?;
    match rows {
        Listed::Groups(groups) => groups.get(row).copied(),
        Listed::Records(_) => None,
    }
}

/// The selected record, where records are listed.
pub fn record(model: &Model) -> Option<&AgentRun> {
    let rows = listed(model)?;
    let row = row(model, &rows)?;
    match rows {
        Listed::Records(records) => records.get(row).copied(),
        Listed::Groups(_) => None,
    }
}

/// What the rows come to, and of how many rows in all they are some; the room's own sums, where nothing is left out.
#[derive(Debug, Clone)]
pub struct Sum<'a> {
    /// The sums.
    pub totals: Cow<'a, Totals>,
    /// Rows that are summed up.
    pub rows: usize,
    /// Rows that there are, those left out among them, as far as a filter has looked; `None`: nobody knows.
    pub of: Option<u64>,
}

/// What the rows come to.
pub fn sum<'a>(model: &'a Model, rows: &Listed<'a>) -> Option<Sum<'a>> {
    let whole = model.runs.filter.is_empty();
    match rows {
        Listed::Groups(groups) => {
            let summary = summary(model)?;
            // Where not all groups are held, the room's sums are still those of all.
            let totals = if whole {
                Cow::Borrowed(&summary.total)
            } else {
                Cow::Owned(joined(groups.iter().map(|group| Tally::from(&group.totals))))
            };
            let rows =
                if whole { usize::try_from(summary.groups).unwrap_or(usize::MAX) } else { groups.len() };
            let seen = looked_through(model).filter(|_| !whole).map(|seen| seen as u64);
            Some(Sum { totals, rows, of: seen.or(Some(summary.groups)) })
        }
        Listed::Records(records) => {
            let total = model.runs.total.as_ref().filter(|_| is_told(model, Slot::Total));
            let total = total.map(|held| &held.summary.total);
            let of = total.and_then(|total| u64::try_from(total.runs).ok());
            let all = chain(model).is_some_and(Chain::is_all);
            match total {
                // All that is there was counted here: two answers of the room may be of two moments.
                Some(total) if whole && !all => Some(Sum {
                    totals: Cow::Borrowed(total),
                    rows: usize::try_from(total.runs).unwrap_or(0),
                    of,
                }),
                _ => {
                    let totals = joined(records.iter().map(|run| Tally::of(&run.run)));
                    let of = if all || !whole { chain(model).map(|chain| chain.len() as u64) } else { of };
                    Some(Sum { totals: Cow::Owned(totals), rows: records.len(), of })
                }
            }
        }
    }
}

/// How many rows the filter has looked through, where that is not all that there are.
pub fn looked_through(model: &Model) -> Option<usize> {
    if model.runs.opened.is_some() {
        return chain(model).filter(|chain| !chain.is_all()).map(Chain::len);
    }
    summary(model)
        .map(|summary| (summary.rows.len(), summary.groups))
        .and_then(|(held, all)| ((held as u64) < all).then_some(held))
}

fn joined(parts: impl Iterator<Item = Tally>) -> Totals {
    let mut all = Tally::default();
    parts.for_each(|part| all.join(&part));
    all.totals()
}
