//! The table of groups or records: its columns, its rows, and what all of them come to.

use std::ops::Range;

use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::days::{self, Scale};
use crate::columns::{self, Cell, Column};
use crate::ledger::Amount;
use crate::shown;
use crate::tui::model::{Layout, Model};
use crate::tui::runs::listed::{self, Listed};
use crate::tui::view::paint::Canvas;
use crate::wire::run::AgentRun;
use crate::wire::sums::{Group, Totals};

/// Blanks between two columns, and where columns are dear.
const GAPS: [usize; 2] = [2, 1];
/// Least columns of a name before another column falls off, and where columns are dear.
const NAMES: [usize; 2] = [12, 9];
/// Columns of the longest bar.
const BAR_MAX: usize = 24;
/// Columns of the shortest one that is worth its place.
const BAR_MIN: usize = 9;
/// Columns before the bars.
const BAR_GAP: usize = 3;
/// Columns that a name keeps where bars want its place.
const NAME_MAX: usize = 20;

/// How the table's rows are spent.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Whether the columns have titles.
    pub head: bool,
    /// Rows for rows.
    pub rows: u16,
    /// Whether what all comes to stands below them.
    pub total: bool,
}

/// How many rows there are for what.
pub fn shape(area: Rect) -> Shape {
    let (head, total) = (area.height >= 3, area.height >= 6);
    Shape { head, rows: area.height - u16::from(head) - 2 * u16::from(total), total }
}

/// A column with the cells in sight.
struct Drawn {
    column: Column,
    title: String,
    cells: Vec<Cell>,
    total: Cell,
    width: usize,
}

impl Drawn {
    /// Leaves each cell's last word out: of an exit code only the code remains.
    fn without_words(&mut self) {
        for cell in self.cells.iter_mut().chain([&mut self.total]) {
            if let Some((rest, _)) = cell.text.rsplit_once(' ') {
                cell.text = rest.to_owned();
            }
        }
        let widest = self.cells.iter().chain([&self.total]).map(|cell| shown::width(&cell.text)).max();
        self.width = widest.unwrap_or(0).max(shown::width(&self.title));
    }
}

/// Draws the table. Returns the row behind the last one in sight.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model, area: Rect, rows: &Listed<'_>) -> usize {
    let shape = shape(area);
    let theme = &model.look.theme;
    let runs = &model.runs;
    let top = if runs.opened.is_some() { runs.records.top } else { runs.groups.top };
    let end = rows.len().min(top + usize::from(shape.rows));
    let top = top.min(end);
    let dear = model.layout() == Layout::Cards;
    let gap = GAPS[usize::from(dear)];
    let room = usize::from(area.width).saturating_sub(if dear { 1 } else { 2 });
    let (mut columns, mut left) = fitted(model, rows, top..end, room, gap);
    // One long name does not take all the bars' place.
    let lacking = (BAR_MIN + BAR_GAP).saturating_sub(left);
    let wide = model.layout() == Layout::Columns;
    if let Some(name) = columns.first_mut().filter(|name| wide && name.width >= NAME_MAX + lacking) {
        name.width -= lacking;
        left += lacking;
    }
    let bars = bars(model, rows, left);
    let chosen = listed::row(model, rows);
    let lead = |place: usize| if place > 0 { gap } else { 0 };
    let mut y = 0;
    let mut put = |line: Vec<Span<'static>>| {
        canvas.line(area, y, &Line::from(line));
        y += 1;
    };
    if shape.head {
        let mut line = vec![Span::raw(" ")];
        for (place, column) in columns.iter().enumerate() {
            line.extend(fill(column, lead(place), &Cell::text(&column.title), theme.muted, theme.muted));
        }
        if bars.is_some() {
            line.push(Span::styled("   tokens", theme.muted));
        }
        put(line);
    }
    for row in top..end {
        let selected = chosen == Some(row);
        let bar = if selected { Span::styled("▌", theme.bar) } else { Span::raw(" ") };
        let style = if selected { theme.selected } else { theme.text };
        let mut line = vec![bar];
        for (place, column) in columns.iter().enumerate() {
            line.extend(fill(column, lead(place), &column.cells[row - top], style, theme.muted));
        }
        if let (Some(scale), Listed::Groups(groups)) = (&bars, rows) {
            line.push(Span::raw("   "));
            line.extend(scale.bar(model, tokens(&groups[row].totals)));
        }
        put(line);
    }
    if shape.total {
        put(Vec::new());
        let bold = theme.text.add_modifier(Modifier::BOLD);
        let mut line = vec![Span::raw(" ")];
        for (place, column) in columns.iter().enumerate() {
            line.extend(fill(column, lead(place), &column.total, bold, theme.muted));
        }
        put(line);
    }
    end
}

/// A cell in its column, behind a gap: what is not known, and that it is only a lower bound, in another style.
fn fill(drawn: &Drawn, gap: usize, cell: &Cell, style: Style, unknown: Style) -> Vec<Span<'static>> {
    let end = if cell.text.contains("..") { ".." } else { "…" };
    let text = shown::cut(&cell.text, drawn.width, end).into_owned();
    let blanks = " ".repeat(drawn.width.saturating_sub(shown::width(&text)));
    let mut out = vec![Span::raw(" ".repeat(gap))];
    let said = match cell.amount {
        Some(Amount::Unknown) => vec![Span::styled(text, unknown)],
        Some(Amount::AtLeast(_)) => match text.split_once(' ') {
            Some((least, number)) => {
                vec![Span::styled(format!("{least} "), unknown), Span::styled(number.to_owned(), style)]
            }
            None => vec![Span::styled(text, style)],
        },
        Some(Amount::Exactly(_)) | None => vec![Span::styled(text, style)],
    };
    if drawn.column.is_number() {
        out.push(Span::raw(blanks));
        out.extend(said);
    } else {
        out.extend(said);
        out.push(Span::raw(blanks));
    }
    out
}

/// The columns that there is room for, with the cells of the rows in sight, and the room that they leave.
fn fitted(
    model: &Model,
    rows: &Listed<'_>,
    sight: Range<usize>,
    room: usize,
    gap: usize,
) -> (Vec<Drawn>, usize) {
    let all = match rows {
        Listed::Groups(_) => Column::OF_GROUPS.to_vec(),
        Listed::Records(_) => {
            let opened = model.runs.opened.as_ref();
            let same = |column: &Column| match column {
                Column::Task => opened.is_some_and(|key| key.task.is_some()),
                Column::Agent => opened.is_some_and(|key| key.agent.is_some()),
                _ => false, // what all of them have stands in the title
            };
            Column::OF_RECORDS.into_iter().filter(|column| !same(column)).collect()
        }
    };
    let mut drawn: Vec<Drawn> = all.into_iter().map(|column| one(model, rows, &sight, column)).collect();
    let least = NAMES[usize::from(gap < GAPS[0])];
    let fit = |drawn: &[Drawn]| {
        let widths: Vec<(Column, usize)> = drawn.iter().map(|drawn| (drawn.column, drawn.width)).collect();
        columns::fit_records(&widths, gap, NAMES[0], least, room)
    };
    let used = |fitted: &[(Column, usize)]| fitted.iter().map(|(_, width)| width + gap).sum::<usize>();
    let mut fitted = fit(&drawn);
    if used(&fitted) > room + gap {
        // Half of it says nothing, and the sums themselves say where something is not known.
        drawn.retain(|drawn| drawn.column != Column::Known);
        drawn.iter_mut().filter(|drawn| drawn.column == Column::Exit).for_each(Drawn::without_words);
        fitted = fit(&drawn);
    }
    drawn.retain_mut(|drawn| match fitted.iter().find(|(column, _)| *column == drawn.column) {
        Some((_, width)) => {
            drawn.width = *width;
            true
        }
        None => false,
    });
    (drawn, (room + gap).saturating_sub(used(&fitted)))
}

/// A column. Of the rows out of sight only names are looked at, for how wide they are: with a thousand rows the rest would
/// take longer than all else of a picture, and numbers are hardly ever wider than what all of them come to.
fn one(model: &Model, rows: &Listed<'_>, sight: &Range<usize>, column: Column) -> Drawn {
    let (zone, now) = (model.look.zone, model.now());
    let tell = |mut cell: Cell| {
        cell.text = model.look.glyphs.tell(&cell.text).into_owned();
        cell
    };
    let of_group = |group: &Group| {
        let name = if column == Column::Name { listed::name(model, group) } else { String::new() };
        tell(columns::of_group(column, &name, &group.totals, zone, now))
    };
    let of_record = |run: &AgentRun| tell(record(model, column, run));
    let cells: Vec<Cell> = match rows {
        Listed::Groups(groups) => groups[sight.clone()].iter().map(|group| of_group(group)).collect(),
        Listed::Records(records) => records[sight.clone()].iter().map(|run| of_record(run)).collect(),
    };
    let total = tell(total(model, rows, column));
    let title = column.title(model.runs.by).to_owned();
    let wide = |cell: &Cell| shown::width(&cell.text);
    let names = match (rows, column) {
        (Listed::Groups(groups), Column::Name) => groups.iter().map(|group| wide(&of_group(group))).max(),
        (Listed::Records(records), Column::Agent | Column::Task | Column::Exit) => {
            records.iter().map(|run| wide(&of_record(run))).max()
        }
        (_, Column::Last | Column::Reported) if !rows.is_empty() => Some("Sun 21:40".len()),
        _ => None,
    };
    let widest = cells.iter().chain([&total]).map(wide).chain(names).max().unwrap_or(0);
    let width = widest.max(shown::width(&title));
    Drawn { column, title, cells, total, width }
}

fn record(model: &Model, column: Column, run: &AgentRun) -> Cell {
    let here = run.run.project == model.picture.project;
    let mut cell = columns::of_record(column, run, model.look.zone, model.now());
    if column == Column::Task && !here {
        cell.text = format!("{}/{}", shown::line(&run.run.project), cell.text);
    }
    cell
}

/// What stands below a column.
fn total(model: &Model, rows: &Listed<'_>, column: Column) -> Cell {
    let Some(sum) = listed::sum(model, rows) else { return Cell::text("") };
    let count = |noun: &str| {
        let all = sum.of.unwrap_or(sum.rows as u64);
        let s = if all == 1 { "" } else { "s" };
        let whole = |number: u64| columns::whole(i64::try_from(number).unwrap_or(i64::MAX));
        match all {
            all if all == sum.rows as u64 => Cell::text(format!("{} {noun}{s}", whole(all))),
            all => Cell::text(format!("{} of {} {noun}{s}", whole(sum.rows as u64), whole(all))),
        }
    };
    let of = |column| columns::of_group(column, "", &sum.totals, model.look.zone, model.now());
    match (rows, column) {
        (Listed::Groups(_), Column::Name) => count(model.runs.by.as_str()),
        (Listed::Records(_), Column::Reported) => count("run"),
        (Listed::Records(_), Column::Exit) => {
            let failed = of(Column::Failed);
            Cell { text: format!("{} failed", failed.text), ..failed }
        }
        (Listed::Records(_), Column::Run) => Cell::text(format!("known {}", columns::known(&sum.totals))),
        (Listed::Groups(_), Column::Last) | (Listed::Records(_), Column::Agent | Column::Task) => {
            Cell::text("")
        }
        (_, column) => of(column),
    }
}

/// The scale of the groups' bars, where there is room for them.
fn bars(model: &Model, rows: &Listed<'_>, left: usize) -> Option<Scale> {
    let Listed::Groups(groups) = rows else { return None };
    let room = left.checked_sub(BAR_GAP).filter(|room| *room >= BAR_MIN)?;
    let wide = model.layout() == Layout::Columns;
    wide.then(|| days::Scale::of(groups.iter().map(|group| tokens(&group.totals)), room.min(BAR_MAX)))
}

/// Tokens in and out together, as they are sorted by: of the runs of which both are known.
pub fn tokens(totals: &Totals) -> Amount {
    Amount::of(totals.tokens, totals.runs)
}
