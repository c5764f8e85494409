//! The records of one's agents' runs: what each task, agent, project or day used, and each run of it.

mod days;
mod one;
mod page;
mod table;
mod told;

pub use self::page::key_needed;

use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::paint::Canvas;
use super::{DETAIL_MIN, Parts, pane, text};
use crate::columns::{self, Cell, Column};
use crate::ledger::Amount;
use crate::shown;
use crate::tui::keys::Action;
use crate::tui::model::{Layout, Model, Pane};
use crate::tui::runs::ask::{self, Ask, GROUPS, Held, Slot, task_in_front};
use crate::tui::runs::chain::Chain;
use crate::tui::runs::listed::{self, Listed};
use crate::tui::runs::{Reader, order};
use crate::wire::id::Slug;

/// Rows of the table beside its own: what stands over the columns, a blank, and what all comes to.
const AROUND: u16 = 3;

/// Divides what is below the header into the table and the pane of what is selected.
pub fn divide(model: &Model, title: Rect, body: Rect, parts: &mut Parts) {
    parts.list_title = title;
    parts.list = body;
    let Some(rows) = listed::listed(model).filter(|rows| !rows.is_empty()) else { return };
    // With few rows the table has them all, and what is below waits behind Enter.
    if !model.detail || body.height < 2 * DETAIL_MIN {
        return;
    }
    let need = u16::try_from(rows.len()).unwrap_or(u16::MAX).saturating_add(AROUND);
    let spare = body.height.saturating_sub(need.saturating_add(1)).max(DETAIL_MIN);
    let wanted = match (&rows, model.layout()) {
        (Listed::Groups(_), Layout::Columns) => days::rows(model).max(8) + 1,
        (Listed::Records(_), Layout::Columns) => 9,
        (Listed::Groups(_), Layout::Stacked) => 8,
        _ => 13,
    };
    let high = wanted.min(spare).min(body.height / 2);
    parts.list.height = body.height - high - 1;
    parts.detail_title = Rect { y: parts.list.bottom(), ..title };
    parts.detail = Rect { y: parts.list.bottom() + 1, height: high, ..body };
}

/// Draws the view.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model, parts: &Parts) {
    // At midnight the days are others, and times are told with their day.
    let zone = model.look.zone.of_days();
    if let Some(tomorrow) = zone.date(model.now()).succ_opt() {
        canvas.lasts(zone.begin(tomorrow) - model.now());
    }
    let rows = listed::listed(model).filter(|_| model.runs.reader == Reader::Person);
    match rows.filter(|rows| !rows.is_empty()) {
        Some(_) if model.pane == Pane::Open => one::draw(canvas, model, parts),
        Some(rows) => {
            let end = table::draw(canvas, model, parts.list, &rows);
            title(canvas, model, parts.list_title, Some((&rows, end)));
            match &rows {
                Listed::Groups(_) => below(canvas, model, parts),
                Listed::Records(_) => one::draw(canvas, model, parts),
            }
        }
        None => {
            title(canvas, model, parts.list_title, None);
            page::draw(canvas, model, parts);
        }
    }
    if model.runs.trouble.is_some() && !model.is_old() {
        let body = Rect { y: parts.list_title.y + 1, height: canvas.area().height, ..canvas.area() };
        let body = Rect { height: body.height.saturating_sub(body.y + 1), ..body };
        canvas.tint(body, Style::new().add_modifier(Modifier::DIM).remove_modifier(Modifier::BOLD));
    }
}

/// The rule over the table: what is listed, and of which days in which order, in as many words as there is room for.
fn title(canvas: &mut Canvas<'_>, model: &Model, area: Rect, rows: Option<(&Listed<'_>, usize)>) {
    let theme = &model.look.theme;
    let room = usize::from(area.width).saturating_sub(8);
    let fits = |said: &str, room: usize| shown::width(&model.look.glyphs.tell(said)) <= room;
    let right = match rows {
        Some(_) => aside(model),
        None => vec![String::new()],
    };
    let (mut long, short) = names(model);
    let beyond = rows.map(|(rows, end)| beyond(model, rows, end)).unwrap_or_default();
    if !beyond.is_empty() {
        long.clear(); // where rows are out of sight, that matters more
    }
    let filter = match model.runs.filter.text() {
        "" => String::new(),
        filter => format!(" · {}", text(model, filter)),
    };
    let rest = format!("{beyond}{filter}");
    let least = right.last().map_or(0, |said| shown::width(said));
    let name = long.into_iter().find(|said| fits(&format!("{said}{rest}"), room.saturating_sub(least)));
    let name = name.or_else(|| {
        let lead = right.first().map_or(0, |said| shown::width(said));
        short.iter().find(|said| fits(&format!("{said}{rest}"), room.saturating_sub(lead))).cloned()
    });
    let name = name.unwrap_or_else(|| short.last().cloned().unwrap_or_default());
    let left = shown::width(&model.look.glyphs.tell(&format!("{name}{rest}")));
    let right = right.iter().find(|said| fits(said, room.saturating_sub(left))).cloned().unwrap_or_default();
    let focus = if model.pane == Pane::List { theme.focus } else { theme.muted };
    let style = if model.runs.trouble.is_some() { theme.error } else { theme.muted };
    let title = Line::from(vec![Span::styled(name, focus), Span::styled(rest, theme.muted)]);
    canvas.rule(area, 0, &title, &Line::from(Span::styled(right, style)));
}

/// What is listed: with who reads it, and without.
fn names(model: &Model) -> (Vec<String>, Vec<String>) {
    let owner = text(model, model.owner.as_deref().unwrap_or("you"));
    let only = format!(" · only {owner} {} these", if model.owner.is_some() { "reads" } else { "read" });
    let what = match &model.runs.opened {
        Some(_) => format!(" › {}", opened(model)),
        None => format!(" by {}", model.runs.by.as_str()),
    };
    let short = vec![format!("Runs of {owner}{what}"), format!("Runs{what}")];
    if model.runs.reader == Reader::Person {
        (vec![format!("{}{only}", short[0])], short)
    } else {
        (Vec::new(), vec!["Runs".to_owned()])
    }
}

/// What the opened group is called.
fn opened(model: &Model) -> String {
    let Some(key) = &model.runs.opened else { return String::new() };
    let group = crate::wire::sums::Group {
        project: key.project.clone(),
        task_id: key.task.clone(),
        agent_id: key.agent.clone(),
        day: key.day.clone(),
        agents: Vec::new(),
        totals: crate::wire::sums::Totals::default(),
    };
    text(model, &listed::name(model, &group))
}

/// Of which days in which order, or why that is not what stands here, from the longest on.
fn aside(model: &Model) -> Vec<String> {
    let runs = &model.runs;
    let held = if runs.opened.is_some() { runs.total.as_ref() } else { runs.sums.as_ref() };
    let at = held.map(|Held { at, .. }| model.look.zone.moment(*at, model.now()));
    let is_told = ask::is_told(model, if runs.opened.is_some() { Slot::Page } else { Slot::Sums });
    if model.is_old() {
        let old = at.map(|at| format!("as of {at}"));
        // The table is still of other days, or in another order.
        let not_yet = match (&old, is_told) {
            (Some(old), false) => {
                let days = runs.period.words();
                vec![
                    format!("{old}, not yet {days} · {}", order(runs.sort())),
                    format!("{old}, not yet {days}"),
                ]
            }
            _ => Vec::new(),
        };
        return not_yet.into_iter().chain(old).collect();
    }
    if let Some(why) = &runs.trouble {
        let at = at.map_or_else(String::new, |at| format!("as of {at}: "));
        return vec![format!("{at}{}", text(model, why)), text(model, why), "no answer".to_owned()];
    }
    // What stands here is of other days, or in another order, until the room has answered.
    if !is_told {
        return vec!["asking the room …".to_owned(), "asking …".to_owned()];
    }
    let (days, order) = (runs.period.words(), order(runs.sort()));
    let brief = days.trim_start_matches("last ").to_owned();
    vec![format!("{days} · {order}"), days.to_owned(), brief]
}

/// ` 5–16 of 40`, where not all rows are in sight; and of how many, where not all were asked for.
fn beyond(model: &Model, rows: &Listed<'_>, end: usize) -> String {
    let runs = &model.runs;
    let (top, before, all) = match rows {
        Listed::Groups(rows) => {
            let all = listed::summary(model).map_or(0, |summary| summary.groups);
            let all = if all > u64::from(GROUPS) { all } else { rows.len() as u64 };
            (runs.groups.top, 0, all)
        }
        Listed::Records(rows) => {
            let before = runs.chain.as_ref().map_or(0, Chain::before);
            let total = runs.total.as_ref().map(|held| held.summary.total.runs);
            let all = runs.chain.as_ref().is_some_and(Chain::is_all);
            let total = total.and_then(|total| u64::try_from(total).ok()).filter(|_| !all);
            (runs.records.top, before, total.unwrap_or(0).max((before + rows.len()) as u64))
        }
    };
    if end - top.min(end) >= rows.len() && all == rows.len() as u64 {
        return String::new();
    }
    // With a filter only what is held here was looked through.
    if !runs.filter.is_empty() {
        return if end - top.min(end) >= rows.len() {
            String::new()
        } else {
            format!(" {}–{end}", top + 1)
        };
    }
    format!(" {}–{} of {all}", before + top + 1, before + end)
}

/// Below the groups: the selected one in sentences, and beside it the days.
fn below(canvas: &mut Canvas<'_>, model: &Model, parts: &Parts) {
    let area = parts.detail;
    let Some(group) = listed::group(model).filter(|_| area.height > 0) else { return };
    let theme = &model.look.theme;
    let focus = if model.pane == Pane::Detail { theme.focus } else { theme.muted };
    let name = Line::from(Span::styled(text(model, &listed::name(model, group)), focus));
    let wide = model.layout() == Layout::Columns;
    let left = left(model, area);
    canvas.rule(Rect { width: left, ..parts.detail_title }, 0, &name, &Line::default());
    let lines = detail(model, area);
    pane::body(canvas, model, Rect { width: left, ..area }, &lines, Action::OtherPane);
    if wide {
        let rule = parts.detail_title;
        days::draw(canvas, model, Rect { x: left, width: area.width - left, ..rule }, area);
    }
}

/// Columns of the sentences beside the days.
fn left(model: &Model, area: Rect) -> u16 {
    if model.layout() == Layout::Columns { area.width * 13 / 25 } else { area.width }
}

/// Where the edge between the sentences and the days stands.
pub fn edge(model: &Model, parts: &Parts) -> Option<u16> {
    let both = parts.detail.height > 0 && model.pane != Pane::Open && model.runs.opened.is_none();
    both.then(|| left(model, parts.detail)).filter(|_| model.layout() == Layout::Columns)
}

/// The lines of what is selected, in the pane's area.
pub fn detail(model: &Model, area: Rect) -> Vec<Line<'static>> {
    if model.runs.opened.is_some() {
        return one::lines(model, area);
    }
    listed::group(model).map_or_else(Vec::new, |group| told::lines(model, group, left(model, area).into()))
}

/// Where the rows have to begin so that this one of so many is in sight, moved as little as possible.
pub fn top(model: &Model, area: Rect, row: usize, rows: usize) -> usize {
    let high = usize::from(table::shape(area).rows).max(1);
    let top = if model.runs.opened.is_some() { model.runs.records.top } else { model.runs.groups.top };
    top.min(row).max((row + 1).saturating_sub(high)).min(rows.saturating_sub(high))
}

/// `3, 1 failed, ≥ 430.5k tokens`: what the task of the opened agent came to, where that is the watcher's own.
pub fn in_short(model: &Model) -> Option<String> {
    let key = task_in_front(model).filter(|_| model.pane == Pane::Open)?;
    let Ask::Sums { query, .. } = &model.runs.task.as_ref()?.ask else { return None };
    let same = query.task == key.task && query.project.as_ref().map(Slug::as_str) == key.project.as_deref();
    let totals = &model.runs.task.as_ref().filter(|_| same)?.summary.total;
    let failed = columns::of_group(Column::Failed, "", totals, model.look.zone, model.now());
    let failed = match failed.amount {
        Some(Amount::Exactly(0)) => String::new(),
        Some(Amount::Unknown) => ", exit codes not known".to_owned(),
        _ => format!(", {} failed", failed.text),
    };
    let tokens = match (totals.runs, table::tokens(totals)) {
        (0, _) => return Some("none".to_owned()),
        (_, Amount::Unknown) => "tokens not known".to_owned(),
        (_, amount) => format!("{} tokens", Cell::amount(amount, columns::short).text),
    };
    Some(model.look.glyphs.tell(&format!("{}{failed}, {tokens}", columns::whole(totals.runs))).into_owned())
}

/// Rows that a page has.
pub fn page_rows(area: Rect) -> usize {
    usize::from(table::shape(area).rows).max(1)
}

/// A number's words where its amount is not known in whole, in one text.
fn said(model: &Model, cell: &Cell) -> String {
    model.look.glyphs.tell(&cell.text).into_owned()
}
