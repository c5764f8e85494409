//! Sums that know what they don't know: adding runs up so that an unknown number makes a sum a lower bound, never a
//! zero.

use crate::wire::Time;
use crate::wire::run::Run;
use crate::wire::sums::{Sum, Totals};

/// A sum while it is being made: what is known, added up, and of how many runs it is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Part {
    /// The sum of the known ones; 0 while there are none.
    pub sum: i64,
    /// How many are known.
    pub known: i64,
}

impl Part {
    /// Adds a number, if it is known.
    pub fn add(&mut self, number: Option<i64>) {
        if let Some(number) = number {
            self.join(Self { sum: number, known: 1 });
        }
    }

    /// Adds what others come to. A sum that no longer fits stays at the largest number.
    pub fn join(&mut self, other: Self) {
        self.sum = self.sum.saturating_add(other.sum);
        self.known = self.known.saturating_add(other.known);
    }

    fn told(self) -> Sum {
        Sum { sum: (self.known > 0).then_some(self.sum), known: self.known }
    }
}

impl From<Sum> for Part {
    fn from(sum: Sum) -> Self {
        Self { sum: sum.sum.unwrap_or(0), known: sum.known }
    }
}

/// One run's numbers, those that are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbers {
    /// Tokens in.
    pub input: Option<i64>,
    /// Tokens out.
    pub output: Option<i64>,
    /// Turns.
    pub turns: Option<i64>,
    /// Milliseconds.
    pub duration: Option<i64>,
    /// The exit code.
    pub exit: Option<i64>,
    /// When it was reported.
    pub reported_at: Time,
}

/// What runs come to while they are being added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many runs.
    pub runs: i64,
    /// Failed runs, of those whose exit code is known.
    pub failed: Part,
    /// Tokens in.
    pub input: Part,
    /// Tokens out.
    pub output: Part,
    /// Turns.
    pub turns: Part,
    /// Milliseconds.
    pub duration: Part,
    /// Tokens in and out of failed runs of which both are known.
    pub failed_tokens: Part,
    /// Tokens in and out of runs of which both are known.
    pub tokens: Part,
    /// The first report's time, and the last one's.
    pub reported: Option<(Time, Time)>,
}

impl Tally {
    /// What one run comes to.
    pub fn of(run: &Run) -> Self {
        Self::from(Numbers {
            input: run.input_tokens,
            output: run.output_tokens,
            turns: run.turns,
            duration: run.duration_ms,
            exit: run.exit_code,
            reported_at: run.reported_at,
        })
    }

    /// Adds what others come to.
    pub fn join(&mut self, other: &Self) {
        self.runs = self.runs.saturating_add(other.runs);
        self.failed.join(other.failed);
        self.input.join(other.input);
        self.output.join(other.output);
        self.turns.join(other.turns);
        self.duration.join(other.duration);
        self.failed_tokens.join(other.failed_tokens);
        self.tokens.join(other.tokens);
        self.reported = match (self.reported, other.reported) {
            (Some((first, last)), Some((earlier, later))) => Some((first.min(earlier), last.max(later))),
            (one, other) => one.or(other),
        };
    }

    /// The sums as they are told.
    pub fn totals(&self) -> Totals {
        let mut failed_tokens = self.failed_tokens.told();
        if failed_tokens.known == 0 && self.failed.known == self.runs && self.failed.sum == 0 {
            failed_tokens.sum = Some(0); // where surely nothing failed, nothing went into it
        }
        Totals {
            runs: self.runs,
            failed: self.failed.told(),
            input_tokens: self.input.told(),
            output_tokens: self.output.told(),
            turns: self.turns.told(),
            duration_ms: self.duration.told(),
            failed_tokens,
            tokens: self.tokens.told(),
            first_reported_at: self.reported.map(|(first, _)| first),
            last_reported_at: self.reported.map(|(_, last)| last),
        }
    }
}

impl From<Numbers> for Tally {
    fn from(run: Numbers) -> Self {
        let one = |number: Option<i64>| {
            let mut part = Part::default();
            part.add(number);
            part
        };
        let failed = run.exit.map(|code| i64::from(code != 0));
        let tokens = both(run.input, run.output);
        Self {
            runs: 1,
            failed: one(failed),
            input: one(run.input),
            output: one(run.output),
            turns: one(run.turns),
            duration: one(run.duration),
            failed_tokens: one(tokens.filter(|_| failed == Some(1))),
            tokens: one(tokens),
            reported: Some((run.reported_at, run.reported_at)),
        }
    }
}

impl From<&Totals> for Tally {
    fn from(totals: &Totals) -> Self {
        Self {
            runs: totals.runs,
            failed: totals.failed.into(),
            input: totals.input_tokens.into(),
            output: totals.output_tokens.into(),
            turns: totals.turns.into(),
            duration: totals.duration_ms.into(),
            failed_tokens: totals.failed_tokens.into(),
            tokens: totals.tokens.into(),
            reported: totals.first_reported_at.zip(totals.last_reported_at),
        }
    }
}

/// A run's tokens in and out together; not known where one of them is not.
pub fn tokens(run: &Run) -> Option<i64> {
    both(run.input_tokens, run.output_tokens)
}

fn both(input: Option<i64>, output: Option<i64>) -> Option<i64> {
    input.zip(output).map(|(read, wrote)| read.saturating_add(wrote))
}

/// How far a number is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// Counted: all of it is known.
    Exactly(i64),
    /// A lower bound: some of it is not known.
    AtLeast(i64),
    /// Nothing is known.
    Unknown,
}

impl Amount {
    /// A sum over so many runs.
    pub fn of(sum: Sum, runs: i64) -> Self {
        match sum {
            Sum { sum, known } if known >= runs => Self::Exactly(sum.unwrap_or(0)),
            Sum { sum: Some(sum), known: 1.. } => Self::AtLeast(sum),
            Sum { .. } => Self::Unknown,
        }
    }

    /// One run's number.
    pub fn one(number: Option<i64>) -> Self {
        number.map_or(Self::Unknown, Self::Exactly)
    }

    /// The tokens that went into failed runs: a lower bound also where it is not known which runs failed.
    pub fn in_failed(totals: &Totals) -> Self {
        let Totals { runs, failed, failed_tokens, .. } = totals;
        let all = failed.known == *runs && failed_tokens.known == failed.sum.unwrap_or(0);
        match failed_tokens.sum {
            Some(sum) if all => Self::Exactly(sum),
            Some(sum) => Self::AtLeast(sum),
            None => Self::Unknown,
        }
    }

    /// The known part; `None` where nothing is.
    pub fn number(self) -> Option<i64> {
        match self {
            Self::Exactly(number) | Self::AtLeast(number) => Some(number),
            Self::Unknown => None,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn run(input: Option<i64>, output: Option<i64>, exit: Option<i64>) -> Run {
        serde_json::from_value(json!({
            "run_id": "4f7c2a9e-3b1d-4c8e-9a6f-0d2e5b7c1a3f", "project": "site", "task_id": "t",
            "input_tokens": input, "output_tokens": output, "turns": input, "duration_ms": output,
            "exit_code": exit, "source": "client_reported", "reported_at": "2026-11-30T14:32:00Z",
        }))
        .unwrap()
    }

    fn sum(runs: &[Run]) -> Totals {
        let mut tally = Tally::default();
        runs.iter().for_each(|run| tally.join(&Tally::of(run)));
        tally.totals()
    }

    #[test]
    fn case_d10_sums_over_runs_with_unknown_members_are_lower_bounds() {
        let totals = sum(&[
            run(Some(1200), Some(340), Some(0)),
            run(None, None, Some(143)),
            run(Some(500), None, Some(0)),
        ]);
        assert_eq!(totals.input_tokens, Sum { sum: Some(1700), known: 2 });
        assert_eq!(totals.output_tokens, Sum { sum: Some(340), known: 1 });
        assert_eq!(Amount::of(totals.input_tokens, totals.runs), Amount::AtLeast(1700));
        assert_eq!(totals.tokens, Sum { sum: Some(1540), known: 1 });
        assert_eq!(totals.failed, Sum { sum: Some(1), known: 3 });
        assert_eq!(Amount::in_failed(&totals), Amount::Unknown, "the failed run's tokens are not known");
    }

    #[test]
    fn case_d14_the_largest_numbers_add_up() {
        let largest = || run(Some(2_147_483_647), Some(2_147_483_647), Some(1));
        let totals = sum(&[largest(), largest(), largest()]);
        assert_eq!(totals.input_tokens.sum, Some(6_442_450_941));
        assert_eq!(totals.failed_tokens, Sum { sum: Some(12_884_901_882), known: 3 });
        let mut full = Part { sum: i64::MAX, known: 1 };
        full.add(Some(1));
        assert_eq!(full, Part { sum: i64::MAX, known: 2 });
    }

    #[test]
    fn nothing_known_is_no_zero_and_a_zero_is_known() {
        let unknown = sum(&[run(None, None, None)]);
        assert_eq!(unknown.input_tokens, Sum { sum: None, known: 0 });
        assert_eq!(unknown.failed, Sum { sum: None, known: 0 });
        assert_eq!(unknown.failed_tokens, Sum { sum: None, known: 0 });
        assert_eq!(Amount::of(unknown.failed, 1), Amount::Unknown);
        let zero = sum(&[run(Some(0), Some(0), Some(0))]);
        assert_eq!(Amount::of(zero.input_tokens, 1), Amount::Exactly(0));
        assert_eq!(zero.failed_tokens, Sum { sum: Some(0), known: 0 });
        assert_eq!(Amount::in_failed(&zero), Amount::Exactly(0));
        let none = sum(&[]);
        assert_eq!((none.runs, none.last_reported_at), (0, None));
        assert_eq!(Amount::of(none.input_tokens, 0), Amount::Exactly(0));
        assert_eq!(Amount::in_failed(&none), Amount::Exactly(0));
    }

    #[test]
    fn tokens_of_failed_runs_are_a_lower_bound_while_an_exit_code_is_unknown() {
        let surely = [run(Some(10), Some(1), Some(1)), run(Some(5), Some(5), Some(0))];
        assert_eq!(Amount::in_failed(&sum(&surely)), Amount::Exactly(11));
        let perhaps = [run(Some(10), Some(1), Some(1)), run(Some(5), Some(5), None)];
        assert_eq!(Amount::in_failed(&sum(&perhaps)), Amount::AtLeast(11));
        let one_unknown = [run(Some(10), Some(1), Some(1)), run(None, Some(5), Some(2))];
        assert_eq!(Amount::in_failed(&sum(&one_unknown)), Amount::AtLeast(11));
        let none_known = [run(Some(5), Some(5), None)];
        assert_eq!(Amount::in_failed(&sum(&none_known)), Amount::Unknown);
    }

    proptest! {
        /// However runs are split up, told and added up again, they come to the same.
        #[test]
        fn sums_of_sums_are_sums(
            runs in proptest::collection::vec(
                (proptest::option::of(0..i64::from(i32::MAX)), proptest::option::of(0..9i64), proptest::option::of(0..3i64)),
                0..12,
            ),
            at in 0..12usize,
        ) {
            let runs: Vec<Run> = runs.into_iter().map(|(input, output, exit)| run(input, output, exit)).collect();
            let (left, right) = runs.split_at(at.min(runs.len()));
            let mut both = Tally::from(&sum(left));
            both.join(&Tally::from(&sum(right)));
            prop_assert_eq!(both.totals(), sum(&runs));
            let known: Vec<i64> = runs.iter().filter_map(|run| run.input_tokens).collect();
            let told = Sum { sum: (!known.is_empty()).then(|| known.iter().sum()), known: known.len().try_into().unwrap() };
            prop_assert_eq!(sum(&runs).input_tokens, told);
        }
    }
}
