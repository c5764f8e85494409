//! The columns of run records, as text: what each is called, what stands in a cell, which fall off first. The same on
//! the screen and on paper.

use crate::ledger::{self, Amount};
use crate::shown;
use crate::wire::Time;
use crate::wire::query::By;
use crate::wire::run::AgentRun;
use crate::wire::sums::{Group, Totals};
use crate::words::Zone;

/// A column. Numbers stand at its right edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Column {
    /// What a group is: its task, agent, project or day.
    Name,
    /// When a run was reported.
    Reported,
    /// Whose run.
    Agent,
    /// A run's task.
    Task,
    /// A run's exit code.
    Exit,
    /// How many runs.
    Runs,
    /// How many failed.
    Failed,
    /// Tokens in.
    In,
    /// Tokens out.
    Out,
    /// Turns.
    Turns,
    /// How long.
    Time,
    /// Tokens that went into failed runs.
    InFailed,
    /// When the last run was reported.
    Last,
    /// Of how many runs the tokens are known.
    Known,
    /// The beginning of a run's id.
    Run,
}

impl Column {
    /// The columns of groups, in their order.
    pub const OF_GROUPS: [Self; 10] = [
        Self::Name,
        Self::Runs,
        Self::Failed,
        Self::In,
        Self::Out,
        Self::Turns,
        Self::Time,
        Self::InFailed,
        Self::Last,
        Self::Known,
    ];
    /// The columns of records, in their order.
    pub const OF_RECORDS: [Self; 9] = [
        Self::Reported,
        Self::Agent,
        Self::Task,
        Self::Exit,
        Self::In,
        Self::Out,
        Self::Turns,
        Self::Time,
        Self::Run,
    ];
    /// Which fall off where there is not enough room, the first first. Tokens in and out and of how many runs they are
    /// known never do, nor what the row is.
    const FALL_OFF: [Self; 9] = [
        Self::Turns,
        Self::InFailed,
        Self::Run,
        Self::Time,
        Self::Last,
        Self::Task,
        Self::Runs,
        Self::Failed,
        Self::Agent,
    ];

    /// What stands over it.
    pub fn title(self, by: By) -> &'static str {
        match self {
            Self::Name => by.as_str(),
            Self::Reported => "reported",
            Self::Agent => "agent",
            Self::Task => "task",
            Self::Exit => "exit",
            Self::Runs => "runs",
            Self::Failed => "failed",
            Self::In => "in",
            Self::Out => "out",
            Self::Turns => "turns",
            Self::Time => "time",
            Self::InFailed => "in failed",
            Self::Last => "last",
            Self::Known => "known",
            Self::Run => "run",
        }
    }

    /// Whether it holds numbers, which stand at its right edge.
    pub fn is_number(self) -> bool {
        use Column::{Failed, In, InFailed, Out, Runs, Time, Turns};
        matches!(self, Failed | In | InFailed | Out | Runs | Time | Turns)
    }
}

/// A cell: what stands in it, safe to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// The text; `≥ ` before what is a lower bound, `—` where nothing is known.
    pub text: String,
    /// How far it is known; only the unknown is shown apart.
    pub amount: Option<Amount>,
}

impl Cell {
    /// A text that is no number.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), amount: None }
    }

    /// An amount, its number in these words.
    pub fn amount(amount: Amount, words: fn(i64) -> String) -> Self {
        let text = match amount {
            Amount::Exactly(number) => words(number),
            Amount::AtLeast(number) => format!("≥ {}", words(number)),
            Amount::Unknown => "—".to_owned(),
        };
        Self { text, amount: Some(amount) }
    }
}

/// A group's name, safe to show: its task, agent, project or day. A task's project is named where it is not `here`.
pub fn name(by: By, group: &Group, here: Option<&str>, zone: Zone, now: Time) -> String {
    match by {
        By::Task => {
            let task = group.task_id.as_deref().map(shown::line).unwrap_or_default();
            match &group.project {
                Some(project) if here != Some(project) => format!("{}/{task}", shown::line(project)),
                _ => task,
            }
        }
        By::Agent => group.agent_id.as_ref().map(|agent| shown::line(agent.as_str())).unwrap_or_default(),
        By::Project => group.project.as_deref().map(shown::line).unwrap_or_default(),
        By::Day => match group.day.as_deref().map(str::parse::<chrono::NaiveDate>) {
            Some(Ok(day)) if day.format("%Y").to_string() == zone.date(now).format("%Y").to_string() => {
                day.format("%a %-d %b").to_string()
            }
            Some(Ok(day)) => day.format("%-d %b %Y").to_string(),
            _ => group.day.as_deref().map(shown::line).unwrap_or_default(),
        },
    }
}

/// What stands in a group's column; its name is the caller's to give.
pub fn of_group(column: Column, name: &str, totals: &Totals, zone: Zone, now: Time) -> Cell {
    let of = |sum, words| Cell::amount(Amount::of(sum, totals.runs), words);
    match column {
        Column::Runs => Cell::amount(Amount::Exactly(totals.runs), whole),
        Column::Failed => of(totals.failed, whole),
        Column::In => of(totals.input_tokens, short),
        Column::Out => of(totals.output_tokens, short),
        Column::Turns => of(totals.turns, whole),
        Column::Time => of(totals.duration_ms, about),
        Column::InFailed => Cell::amount(Amount::in_failed(totals), short),
        Column::Last => {
            Cell::text(totals.last_reported_at.map_or_else(String::new, |at| when(at, zone, now)))
        }
        Column::Known => Cell::text(known(totals)),
        Column::Name | Column::Reported | Column::Agent | Column::Task | Column::Exit | Column::Run => {
            Cell::text(name)
        }
    }
}

/// What stands in a record's column.
pub fn of_record(column: Column, run: &AgentRun, zone: Zone, now: Time) -> Cell {
    let one = |number, words| Cell::amount(Amount::one(number), words);
    match column {
        Column::Reported | Column::Last => Cell::text(when(run.run.reported_at, zone, now)),
        Column::Agent => Cell::text(shown::line(run.agent_id.as_str())),
        Column::Task | Column::Name => Cell::text(shown::line(&run.run.task_id)),
        Column::Exit => Cell { text: exit(run.run.exit_code), amount: Some(Amount::one(run.run.exit_code)) },
        Column::Failed => one(run.run.exit_code.map(|code| i64::from(code != 0)), whole),
        Column::In => one(run.run.input_tokens, short),
        Column::Out => one(run.run.output_tokens, short),
        Column::Turns => one(run.run.turns, whole),
        Column::Time => one(run.run.duration_ms, exact),
        Column::InFailed => {
            one(ledger::tokens(&run.run).filter(|_| run.run.exit_code.is_some_and(|code| code != 0)), short)
        }
        Column::Runs => one(Some(1), whole),
        Column::Known => Cell::text(if ledger::tokens(&run.run).is_some() { "all" } else { "none" }),
        Column::Run => Cell::text(shown::line(run.run.run_id.get(..8).unwrap_or(&run.run.run_id))),
    }
}

/// Which of these columns, with their widths, fit into so much room with `gap` blanks between them. The first may be
/// narrowed down to `least` before one falls off.
pub fn fit(columns: &[(Column, usize)], gap: usize, least: usize, room: usize) -> Vec<(Column, usize)> {
    let mut left = columns.to_vec();
    let wide = |left: &[(Column, usize)]| -> usize {
        let first = left.first().map_or(0, |(_, width)| (*width).min(least));
        first + left.iter().skip(1).map(|(_, width)| width + gap).sum::<usize>()
    };
    for column in Column::FALL_OFF {
        if wide(&left) <= room {
            break;
        }
        let first = left.first().map(|(column, _)| *column);
        left.retain(|(other, _)| *other != column || Some(*other) == first);
    }
    let rest = wide(&left) - left.first().map_or(0, |(_, width)| (*width).min(least));
    if let Some((_, width)) = left.first_mut() {
        *width = (*width).min(room.saturating_sub(rest)).max((*width).min(least));
    }
    left
}

/// The same of records, whose tasks and agents may be narrowed down to `least` as well: a long name gives way before a
/// number falls off, and only as far as that helps.
pub fn fit_records(
    columns: &[(Column, usize)],
    gap: usize,
    least: usize,
    first: usize,
    room: usize,
) -> Vec<(Column, usize)> {
    let kept = fit(&narrowed(columns, gap, least, room), gap, first, room);
    let full = columns.iter().filter(|(column, _)| kept.iter().any(|(other, _)| other == column));
    fit(&narrowed(&full.copied().collect::<Vec<_>>(), gap, least, room), gap, first, room)
}

/// The same columns with the names of tasks and agents narrowed, down to `least`, as far as all of them don't fit.
pub fn narrowed(columns: &[(Column, usize)], gap: usize, least: usize, room: usize) -> Vec<(Column, usize)> {
    let mut left = columns.to_vec();
    for name in [Column::Task, Column::Agent] {
        let wide = left.iter().map(|(_, width)| width + gap).sum::<usize>().saturating_sub(gap);
        let over = wide.saturating_sub(room);
        for (_, width) in left.iter_mut().filter(|(column, _)| *column == name) {
            *width = width.saturating_sub(over).max(least.min(*width));
        }
    }
    left
}

/// `all`, `5 of 7`, `none`: of how many runs the tokens, in and out, are both known.
pub fn known(totals: &Totals) -> String {
    match (totals.tokens.known, totals.runs) {
        (known, runs) if known >= runs => "all".to_owned(),
        (0, _) => "none".to_owned(),
        (known, runs) => format!("{} of {}", whole(known), whole(runs)),
    }
}

/// An exit code and its word: `0 ok`, `1 failed`, `137 killed`, `— unknown`.
pub fn exit(code: Option<i64>) -> String {
    match code {
        None => "— unknown".to_owned(),
        Some(0) => "0 ok".to_owned(),
        Some(code @ (130 | 143)) => format!("{code} stopped"), // SIGINT, SIGTERM
        Some(137) => "137 killed".to_owned(),                  // SIGKILL
        Some(code) => format!("{code} failed"),
    }
}

/// A count, whole: `1,234`.
pub fn whole(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if number < 0 { format!("-{out}") } else { out }
}

/// A number cut for reading, never rounded up: `340`, `61.8k`, `1.24M`, `6.44G`.
pub fn short(number: i64) -> String {
    let (unit, sign, places) = match number {
        1_000_000_000_000.. => (1_000_000_000_000, "T", 2),
        1_000_000_000.. => (1_000_000_000, "G", 2),
        1_000_000.. => (1_000_000, "M", 2),
        1_000.. => (1_000, "k", 1),
        _ => return number.to_string(),
    };
    let rest = number % unit;
    match places {
        1 => format!("{}.{}{sign}", number / unit, rest / (unit / 10)),
        _ => format!("{}.{:02}{sign}", number / unit, rest / (unit / 100)),
    }
}

/// The span of several runs: `4s`, `22m`, `1h 12m`, `74d 13h`.
pub fn about(ms: i64) -> String {
    span(ms, false)
}

/// One run's span: `812ms`, `4s`, `4m 10s`, `1h 12m`.
pub fn exact(ms: i64) -> String {
    span(ms, true)
}

fn span(ms: i64, exact: bool) -> String {
    let seconds = ms / 1000;
    match seconds {
        0 if ms == 0 => "0s".to_owned(),
        0 => format!("{ms}ms"),
        1..60 => format!("{seconds}s"),
        60..3600 if exact => format!("{}m {:02}s", seconds / 60, seconds % 60),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h {:02}m", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{}d {:02}h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

/// When something was reported: `14:21` today, `Sun 21:40` within a week, `12 Nov` this year, `12 Nov 2025`.
pub fn when(time: Time, zone: Zone, now: Time) -> String {
    let year = |time| zone.date(time).format("%Y").to_string();
    if year(time) == year(now) || now - time < chrono::TimeDelta::days(6) {
        zone.near(time, now)
    } else {
        zone.date(time).format("%-d %b %Y").to_string()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::wire::sums::Sum;

    #[test]
    fn numbers_are_cut_for_reading_and_never_rounded_up() {
        let shorts =
            [0, 999, 1000, 1_099, 61_899, 999_999, 1_249_999, 999_999_999, 6_442_450_941, 2_000_000_000_000];
        assert_eq!(
            shorts.map(short),
            ["0", "999", "1.0k", "1.0k", "61.8k", "999.9k", "1.24M", "999.99M", "6.44G", "2.00T"]
        );
        assert_eq!([0, 999, 1000, 1_234_567].map(whole), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [0, 1, 999, 1000, 62_410, 250_999, 3_599_999, 4_320_000, 6_442_450_941].map(exact),
            ["0s", "1ms", "999ms", "1s", "1m 02s", "4m 10s", "59m 59s", "1h 12m", "74d 13h"]
        );
        assert_eq!([62_410, 3_599_999, 4_320_000].map(about), ["1m", "59m", "1h 12m"]);
    }

    #[test]
    fn an_exit_code_has_its_word() {
        let codes = [Some(0), Some(1), Some(130), Some(137), Some(143), Some(255), None];
        let said = codes.map(exit);
        assert_eq!(
            said,
            ["0 ok", "1 failed", "130 stopped", "137 killed", "143 stopped", "255 failed", "— unknown"]
        );
    }

    #[test]
    fn what_is_not_known_is_told_from_nothing() {
        let now = "2026-11-30T14:32:00Z".parse().unwrap();
        let some = Totals {
            runs: 3,
            failed: Sum { sum: Some(1), known: 2 },
            input_tokens: Sum { sum: Some(412_345), known: 2 },
            turns: Sum { sum: Some(0), known: 3 },
            tokens: Sum { sum: Some(0), known: 2 },
            ..Totals::default()
        };
        let of = |column| of_group(column, "nav", &some, Zone::Local, now).text;
        let cells = [Column::Name, Column::Runs, Column::Failed, Column::In, Column::Out, Column::Turns];
        assert_eq!(cells.map(of), ["nav", "3", "≥ 1", "≥ 412.3k", "—", "0"]);
        assert_eq!([of(Column::Known), of(Column::InFailed), of(Column::Last)], ["2 of 3", "—", ""]);
    }

    #[test]
    fn columns_fall_off_in_their_order_and_what_matters_never_does() {
        let widths = [10, 4, 6, 8, 8, 5, 8, 9, 9, 6];
        let all: Vec<(Column, usize)> = Column::OF_GROUPS.into_iter().zip(widths).collect();
        let names = |room| -> Vec<&str> {
            fit(&all, 2, 8, room).iter().map(|(column, _)| column.title(By::Task)).collect()
        };
        assert_eq!(names(200).len(), 10);
        assert_eq!(names(84), ["task", "runs", "failed", "in", "out", "time", "in failed", "last", "known"]);
        assert_eq!(names(62), ["task", "runs", "failed", "in", "out", "last", "known"]);
        assert_eq!(names(38), ["task", "in", "out", "known"]);
        assert_eq!(names(0), ["task", "in", "out", "known"]);
        for room in 0..120 {
            let fitted = fit(&all, 2, 8, room);
            let wide: usize = fitted.iter().map(|(_, width)| width + 2).sum::<usize>() - 2;
            assert!(wide <= room.max(8 + 8 + 8 + 6 + 6), "{room}: {fitted:?}");
            assert!(fitted[0].1 >= 8);
        }
    }
}
