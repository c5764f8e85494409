//! Claims by the moment at which they were made: how many are older than a limit, without looking at each.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Included, Unbounded};

use crate::wire::Time;

/// How many claims were made when. To count those up to a moment costs as much as there are between it and the
/// mark, so the mark is moved along with the time.
#[derive(Debug, Clone, Default)]
pub(super) struct Ages {
    made: BTreeMap<Time, usize>,
    all: usize,
    mark: Time,
    /// How many were made up to the mark.
    before: usize,
}

impl Ages {
    /// A claim was made at this moment.
    pub(super) fn enter(&mut self, made: Time) {
        *self.made.entry(made).or_default() += 1;
        self.all += 1;
        self.before += usize::from(made <= self.mark);
    }

    /// A claim that was entered with this moment no longer stands.
    pub(super) fn leave(&mut self, made: Time) {
        let Some(count) = self.made.get_mut(&made) else { return };
        *count -= 1;
        if *count == 0 {
            self.made.remove(&made);
        }
        self.all -= 1;
        self.before -= usize::from(made <= self.mark);
    }

    /// How many there are.
    pub(super) fn all(&self) -> usize {
        self.all
    }

    /// How many were made at `moment` or before.
    pub(super) fn up_to(&self, moment: Time) -> usize {
        let between =
            |from, to| self.made.range((Excluded(from), Included(to))).map(|(_, n)| n).sum::<usize>();
        if moment >= self.mark {
            self.before + between(self.mark, moment)
        } else {
            self.before - between(moment, self.mark)
        }
    }

    /// When the first one after `moment` was made.
    pub(super) fn first_after(&self, moment: Time) -> Option<Time> {
        self.made.range((Excluded(moment), Unbounded)).next().map(|(made, _)| *made)
    }

    /// Moves the mark.
    pub(super) fn pass(&mut self, moment: Time) {
        self.before = self.up_to(moment);
        self.mark = moment;
    }
}
