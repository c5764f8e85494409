//! Run records as a table: cut to a terminal's width there, whole and bare in a pipe.

use crate::columns::{self, Cell, Column};
use crate::ledger::{Amount, Tally};
use crate::shown;
use crate::wire::Time;
use crate::wire::query::By;
use crate::wire::run::AgentRun;
use crate::wire::sums::{RunSummary, Totals};
use crate::words::Zone;

/// Blanks between columns.
const GAP: usize = 2;
/// A name is narrowed down to this before a column falls off.
const LEAST: usize = 12;
/// And down to this where no column is left that may fall off.
const LEAST_OF_ALL: usize = 5;

/// Where a table is written to, and when.
#[derive(Debug, Clone, Copy)]
pub struct Frame {
    /// In which days and clock times are told.
    pub zone: Zone,
    /// Now.
    pub now: Time,
    /// The terminal's columns; `None`: it is no terminal, and header and rows are all there is.
    pub width: Option<usize>,
    /// Says a text in characters that the terminal knows.
    pub tell: fn(&str) -> String,
}

/// A row: each cell with its column and how wide that is.
type Row = Vec<(Column, usize, String)>;

/// What the groups of a summary come to. On a terminal also what all come to, and what the signs mean.
pub fn groups(summary: &RunSummary, by: By, frame: Frame) -> String {
    let Frame { zone, now, width, tell } = frame;
    let here = only_project(summary);
    let mut rows = vec![Column::OF_GROUPS.map(|column| column.title(by).to_uppercase())];
    rows.extend(summary.rows.iter().map(|group| {
        let name = columns::name(by, group, here, zone, now);
        Column::OF_GROUPS.map(|column| columns::of_group(column, &name, &group.totals, zone, now).text)
    }));
    if width.is_some() {
        let all = count(summary.groups, by.as_str());
        let name = match summary.rows.len() {
            shown if (shown as u64) < summary.groups => format!("all {all}"),
            _ => all,
        };
        rows.push(Column::OF_GROUPS.map(|column| match column {
            Column::Last => String::new(),
            _ => columns::of_group(column, &name, &summary.total, zone, now).text,
        }));
    }
    let told: Vec<_> = rows.iter().map(|row| row.each_ref().map(|cell| tell(cell))).collect();
    let widths = widths(&Column::OF_GROUPS, told.iter().map(|row| &row[..]));
    let fitted = width.map_or_else(
        || widths.clone(),
        |room| {
            let fitted = columns::fit(&widths, GAP, LEAST, room);
            // A name that is cut short is still better than rows that break.
            if whole(&fitted) > room { columns::fit(&widths, GAP, LEAST_OF_ALL, room) } else { fitted }
        },
    );
    let mut text: String =
        told.iter().map(|row| line(&fit(&Column::OF_GROUPS, row, &fitted), frame)).collect();
    if let Some(room) = width {
        // By what stands there before it is told: a hyphen is no sign.
        let signs: String = rows
            .iter()
            .flat_map(|row| fit(&Column::OF_GROUPS, row, &fitted))
            .map(|(_, _, cell)| cell)
            .collect();
        text.push_str(&legend(&signs, true, room, tell));
    }
    text
}

/// The project that all groups are of, which then need not be named in each.
fn only_project(summary: &RunSummary) -> Option<&str> {
    let first = summary.rows.first()?.project.as_deref();
    first.filter(|_| summary.rows.iter().all(|group| group.project.as_deref() == first))
}

/// Records while they are being written. How wide the columns are is decided by the first page.
#[derive(Debug)]
pub struct Records {
    frame: Frame,
    columns: Vec<(Column, usize)>,
    tally: Tally,
}

impl Records {
    /// None written yet.
    pub fn new(frame: Frame) -> Self {
        Self { frame, columns: Vec::new(), tally: Tally::default() }
    }

    /// The next records as lines; the first time also the header.
    pub fn page(&mut self, runs: &[AgentRun]) -> String {
        let Frame { zone, now, width, tell } = self.frame;
        let mut rows: Vec<[String; Column::OF_RECORDS.len()]> = Vec::new();
        let first = self.columns.is_empty();
        if first {
            rows.push(Column::OF_RECORDS.map(|column| column.title(By::Task).to_uppercase()));
        }
        for run in runs {
            self.tally.join(&Tally::of(&run.run));
            rows.push(
                Column::OF_RECORDS.map(|column| tell(&columns::of_record(column, run, zone, now).text)),
            );
        }
        if first {
            let widths = widths(&Column::OF_RECORDS, rows.iter().map(|row| &row[..]));
            self.columns = match width {
                None => widths,
                Some(room) => {
                    let roomy = widths.iter().map(|(column, wide)| (*column, (*wide).max(likely(*column))));
                    let roomy = records_in(&roomy.collect::<Vec<_>>(), room);
                    let tight = records_in(&widths, room);
                    let good = whole(&roomy) <= room && roomy.len() == tight.len();
                    if good { roomy } else { tight }
                }
            };
        }
        rows.iter().map(|row| line(&fit(&Column::OF_RECORDS, row, &self.columns), self.frame)).collect()
    }

    /// What stands behind the last record: on a terminal what they come to, and what the signs mean.
    pub fn end(&self) -> String {
        let Frame { zone, now, width: Some(room), tell } = self.frame else { return String::new() };
        let totals = self.tally.totals();
        let mut cells = Column::OF_RECORDS.map(|column| tell(&total_of_records(column, &totals, zone, now)));
        let total = |cells: &[String]| line(&fit(&Column::OF_RECORDS, cells, &self.columns), self.frame);
        let mut text = total(&cells);
        if shown::width(text.trim_end()) > room {
            cells[3].clear(); // how many failed
            text = total(&cells);
        }
        text.push_str(&legend("≥—", false, room, tell));
        text
    }
}

/// The columns of records that fit. Long names give way before a number falls off.
fn records_in(widths: &[(Column, usize)], room: usize) -> Vec<(Column, usize)> {
    columns::fit(&columns::narrowed(widths, GAP, LEAST, room), GAP, usize::MAX, room)
}

/// How wide a row of these columns is.
fn whole(widths: &[(Column, usize)]) -> usize {
    widths.iter().map(|(_, wide)| wide + GAP).sum::<usize>().saturating_sub(GAP)
}

/// How wide a column had better be: for records of later pages, and for the sums that stand below it.
fn likely(column: Column) -> usize {
    match column {
        Column::Reported => "Sun 21:40".len(),
        Column::In | Column::Out | Column::Time => "> 154.6k".len(),
        _ => 0,
    }
}

/// What stands below a column of records.
fn total_of_records(column: Column, totals: &Totals, zone: Zone, now: Time) -> String {
    match column {
        Column::Reported => count(u64::try_from(totals.runs).unwrap_or(0), "run"),
        Column::Exit => {
            let failed = Cell::amount(Amount::of(totals.failed, totals.runs), columns::whole).text;
            format!("{failed} failed")
        }
        Column::In | Column::Out | Column::Turns | Column::Time => {
            columns::of_group(column, "", totals, zone, now).text
        }
        _ => String::new(),
    }
}

/// A number and its noun: `1 run`, `12,000 runs`.
pub fn count(n: u64, noun: &str) -> String {
    let whole = columns::whole(i64::try_from(n).unwrap_or(i64::MAX));
    format!("{whole} {noun}{}", if n == 1 { "" } else { "s" })
}

/// How wide each column has to be for all of these rows.
fn widths<'a>(of: &[Column], rows: impl Iterator<Item = &'a [String]>) -> Vec<(Column, usize)> {
    let mut widths: Vec<(Column, usize)> = of.iter().map(|column| (*column, 0)).collect();
    for row in rows {
        for ((_, wide), cell) in widths.iter_mut().zip(row) {
            *wide = (*wide).max(shown::width(cell));
        }
    }
    widths
}

/// The cells of the columns that are left.
fn fit(of: &[Column], cells: &[String], left: &[(Column, usize)]) -> Row {
    let cell = |column: &Column| of.iter().position(|other| other == column).and_then(|at| cells.get(at));
    left.iter().map(|(column, wide)| (*column, *wide, cell(column).cloned().unwrap_or_default())).collect()
}

/// A row as a line. On a terminal a name that is too long for its column is cut. What else is too long moves on what
/// stands behind it, as far as it must.
fn line(row: &Row, frame: Frame) -> String {
    let end_of_cut = (frame.tell)("…");
    let (mut line, mut end, mut begin) = (String::new(), 0, 0);
    for (column, wide, text) in row {
        let name = matches!(column, Column::Name | Column::Agent | Column::Task);
        let cut = name && frame.width.is_some() && text.len() > *wide;
        let text = if cut { shown::cut(text, *wide, &end_of_cut) } else { text.into() };
        let length = shown::width(&text);
        let at = if column.is_number() { (begin + wide).saturating_sub(length) } else { begin };
        let at = if end == 0 { at } else { at.max(end + GAP) };
        begin += wide + GAP;
        if length > 0 {
            line.push_str(&" ".repeat(at - end));
            line.push_str(&text);
            end = at + length;
        }
    }
    line.push('\n');
    line
}

/// What the signs mean that stand in `text`, after an empty line.
fn legend(text: &str, groups: bool, room: usize, tell: fn(&str) -> String) -> String {
    let parts = [
        (text.contains('≥'), "≥ some of it is not known"),
        (text.contains('—'), "— nothing is known"),
        (groups, "KNOWN: runs whose input and output tokens are both known"),
    ];
    let mut lines = vec![String::new()];
    for (_, part) in parts.iter().filter(|(there, _)| *there) {
        for part in shown::wrap(&tell(part), room) {
            match lines.last_mut() {
                Some(last) if shown::width(last) + 3 + shown::width(&part) <= room && !last.is_empty() => {
                    last.push_str("   ");
                    last.push_str(&part);
                }
                _ => lines.push(part),
            }
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}
