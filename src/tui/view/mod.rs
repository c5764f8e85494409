//! The screen as a pure function of the model: where the parts stand, and the parts in files of their own.

mod activity;
mod agent;
mod agents;
mod banner;
mod cards;
mod clashes;
mod empty;
mod failure;
mod footer;
mod header;
mod help;
mod paint;
mod pane;
mod runs;
mod strip;
mod typing;
mod zones;

use chrono::TimeDelta;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

pub use self::empty::SAY;
use self::paint::Canvas;
use super::keys::Action;
use super::model::{Layout, Model, Pane, View};
use crate::conflict::Level;
use crate::picture::{Agent, Connection, Entry, Happening};
use crate::warning;
use crate::wire::id::AgentId;
use crate::{shown, words};

/// Smallest screen that the views are drawn on.
const MIN: (u16, u16) = (20, 4);
/// Rows that the detail has at least below the list.
const DETAIL_MIN: u16 = 7;
/// Columns of the detail beside the list where there is room: sentences are not read better when longer.
const DETAIL_MAX: u16 = 50;
/// Rows from which on there is room for the activity.
const ACTIVITY_FROM: u16 = 30;

/// Where the parts of the Room stand. Parts without a place are empty.
#[derive(Debug, Clone, Copy, Default)]
pub struct Parts {
    /// The first row.
    pub header: Rect,
    /// The line of what fails for several owners.
    pub banner: Rect,
    /// The rule over the list.
    pub list_title: Rect,
    /// The list.
    pub list: Rect,
    /// The rule over the detail.
    pub detail_title: Rect,
    /// The detail.
    pub detail: Rect,
    /// The activity with its rule, or the demo's panel.
    pub strip: Rect,
    /// The last row.
    pub footer: Rect,
}

/// Divides the screen.
pub fn parts(model: &Model) -> Parts {
    let (width, height) = model.size;
    let row = |y: u16, height: u16| Rect { x: 0, y, width, height };
    let mut parts = Parts { header: row(0, 1), footer: row(height.saturating_sub(1), 1), ..Parts::default() };
    parts.banner = row(1, banner::rows(model));
    let title = row(parts.banner.bottom(), 1);
    let body = row(title.bottom(), height.saturating_sub(title.bottom() + 1));
    if model.pane == Pane::Open {
        return Parts { detail_title: title, detail: body, ..parts };
    }
    let told = model.panel.as_ref().map(|panel| strip::story(model, panel, width).len());
    let strip = match (told, model.layout()) {
        // Where rows are dear the agents get them, and the panel keeps what comes next.
        (Some(lines), layout) => {
            let most = if layout == Layout::Columns { body.height / 3 } else { 4 };
            u16::try_from(lines + 1).unwrap_or(0).min(most).min(body.height / 3)
        }
        (None, Layout::Columns) if height >= ACTIVITY_FROM && model.view == View::Room => 7,
        _ => 0,
    };
    let body = Rect { height: body.height - strip, ..body };
    parts.strip = row(body.bottom(), strip);
    match model.layout() {
        _ if model.view == View::Runs => runs::divide(model, title, body, &mut parts),
        _ if !model.detail || model.view == View::Activity => {
            parts.list_title = title;
            parts.list = body;
        }
        Layout::Columns => {
            let wide = DETAIL_MAX.min(u16::try_from(u32::from(width) * 43 / 100).unwrap_or(DETAIL_MAX));
            let left = width.saturating_sub(wide + 1);
            parts.list_title = Rect { width: left, ..title };
            parts.list = Rect { width: left, ..body };
            parts.detail_title = Rect { x: left, width: width - left, ..title };
            parts.detail = Rect { x: left + 1, width: wide, ..body };
        }
        Layout::Stacked => {
            parts.list_title = title;
            // With few rows the list keeps them all and the detail waits behind Enter.
            let list = if body.height < 2 * DETAIL_MIN {
                body.height
            } else {
                let most = match model.view {
                    View::Clashes => body.height / 2,
                    View::Room | View::Runs | View::Activity => body.height - DETAIL_MIN - 1,
                };
                let count = match model.view {
                    View::Clashes => clashes::height(model, width, most.into()),
                    // Nobody takes two lines to say.
                    View::Room | View::Runs | View::Activity if model.list.is_empty() => 3,
                    View::Room | View::Runs | View::Activity => model.list.rows(false).len(),
                };
                u16::try_from(count).unwrap_or(most).min(most)
            };
            parts.list = Rect { height: list, ..body };
            if list < body.height {
                parts.detail_title = row(body.y + list, 1);
                parts.detail = row(body.y + list + 1, body.height - list - 1);
            }
        }
        Layout::Cards => {
            parts.list_title = title;
            parts.list = body;
        }
    }
    parts
}

/// Draws the whole screen. Returns how long the views' ages and countdowns stay as they are.
pub fn draw(model: &Model, buffer: &mut Buffer) -> Option<TimeDelta> {
    let area = buffer.area;
    let mut canvas = Canvas::new(buffer, &model.look);
    if area.width < MIN.0 || area.height < MIN.1 {
        let text = if area.width < 9 { "small" } else { "too small" };
        canvas.line(area, 0, &Line::from(text));
        canvas.ground();
        return None;
    }
    let parts = parts(model);
    header::draw(&mut canvas, model, &parts);
    // There are records of agents that have left.
    let any = model.view == View::Runs || model.picture.agents().next().is_some();
    if any {
        match (model.view, model.pane, model.layout()) {
            (View::Clashes, ..) => clashes::draw(&mut canvas, model, &parts),
            (View::Runs, ..) => runs::draw(&mut canvas, model, &parts),
            (_, Pane::Open, _) => agent::draw(&mut canvas, model, &parts),
            (View::Activity, ..) => activity::draw(&mut canvas, model, &parts),
            (View::Room, _, Layout::Cards) => cards::draw(&mut canvas, model, &parts),
            (View::Room, ..) => {
                agents::draw(&mut canvas, model, &parts);
                agent::draw(&mut canvas, model, &parts);
            }
        }
        strip::draw(&mut canvas, model, &parts);
        banner::draw(&mut canvas, model, &parts);
    } else {
        empty::draw(&mut canvas, model, &parts);
    }
    if any && model.is_old() {
        let body = Rect { y: 1, height: area.height.saturating_sub(2), ..area };
        canvas.tint(body, Style::new().add_modifier(Modifier::DIM).remove_modifier(Modifier::BOLD));
    }
    if any && let Connection::Refused { why, .. } = &model.picture.connection {
        // The picture is old anyway.
        over_the_last_rows(&mut canvas, model, why, area.height - 1, model.look.theme.error);
    }
    if model.help.is_some() {
        let body = Rect { y: 1, height: area.height.saturating_sub(2), ..area };
        canvas.tint(body, Style::new().add_modifier(Modifier::DIM).remove_modifier(Modifier::BOLD));
        help::draw(&mut canvas, model);
    }
    if let Some(typing) = &model.typing {
        typing::draw(&mut canvas, model, typing, &parts);
    } else if let Some(notice) = &model.notice {
        over_the_last_rows(&mut canvas, model, notice, area.height, model.look.theme.error);
    } else {
        footer::draw(&mut canvas, model, &parts);
    }
    canvas.ground();
    canvas.stays()
}

/// An agent's age and countdown were drawn.
fn lasts(canvas: &mut Canvas<'_>, model: &Model, agent: &Agent) {
    let now = model.now();
    canvas.lasts(words::age_lasts(now - agent.pulse.updated_at));
    if let Some(intent) = agent.pulse.intent.as_ref().filter(|intent| intent.holds(now)) {
        canvas.lasts(words::left_lasts(intent.expires_at - now));
    }
}

/// A text of some length, whole, over the last rows down to `bottom`.
fn over_the_last_rows(canvas: &mut Canvas<'_>, model: &Model, said: &str, bottom: u16, style: Style) {
    let area = canvas.area();
    let said = shown::wrap(&text(model, said), usize::from(area.width.saturating_sub(2)));
    let rows = u16::try_from(said.len()).unwrap_or(u16::MAX).min(bottom.saturating_sub(2));
    let place = Rect { y: bottom - rows, height: rows, ..area };
    canvas.clear(place);
    let lines: Vec<Line<'_>> =
        said.iter().map(|l| Line::from(Span::styled(format!(" {l}"), style))).collect();
    canvas.lines(place, &lines, 0);
}

/// Rows that a page of the moving part has.
pub fn page(model: &Model) -> usize {
    let parts = parts(model);
    if model.help.is_some() {
        return usize::from(help::area(model).height.saturating_sub(2));
    }
    match (model.pane, model.layout()) {
        (Pane::List, _) if model.view == View::Runs => runs::page_rows(parts.list),
        (Pane::List, _) if model.view == View::Clashes => usize::from(parts.list.height / 3).max(1),
        (Pane::List, Layout::Cards) => usize::from(parts.list.height / 3).max(1),
        (Pane::List, _) => usize::from(parts.list.height),
        _ => usize::from(parts.detail.height),
    }
}

/// Where the list has to begin so that the selection is in sight, moved as little as possible.
pub fn list_top(model: &Model) -> usize {
    let parts = parts(model);
    match model.layout() {
        Layout::Cards => cards::top(model, parts.list),
        _ => agents::top(model, parts.list),
    }
}

/// Where the Clashes have to begin so that the selected one is in sight.
pub fn clash_top(model: &Model) -> usize {
    clashes::top(model, parts(model).list)
}

/// Where the Runs have to begin so that the row `row` of so many is in sight.
pub fn runs_top(model: &Model, row: usize, rows: usize) -> usize {
    runs::top(model, parts(model).list, row, rows)
}

/// Where the Activity has to begin so that the selected event is in sight: an event and how many of its rows are
/// passed; `None`: at the newest.
pub fn activity_top(model: &Model) -> Option<(u64, usize)> {
    let list = parts(model).list;
    activity::top(model, list.width, list.height)
}

/// Rows that an event takes in the Activity.
pub fn event_rows(model: &Model, entry: &Entry) -> usize {
    activity::rows(model, entry, parts(model).list.width)
}

/// The command for the key that is needed to read the run records; `None`: this one is it, or no key would help.
pub fn key_needed(model: &Model) -> Option<String> {
    runs::key_needed(model)
}

/// What the page of an empty room says to do next, as it is to be pasted.
pub fn next_step(model: &Model) -> Option<String> {
    empty::next_step(model)
}

/// Whether the detail stands beside or below the list.
pub fn shows_detail(model: &Model) -> bool {
    model.pane != Pane::Open && parts(model).detail.height > 0
}

/// The last first line of the detail.
pub fn detail_end(model: &Model) -> usize {
    let parts = parts(model);
    let lines = match model.view {
        View::Clashes => clashes::detail(model, parts.detail).len(),
        View::Runs => runs::detail(model, parts.detail).len(),
        View::Room | View::Activity => agent::lines(model, parts.detail).len(),
    };
    lines.saturating_sub(usize::from(parts.detail.height))
}

/// The last first line of the help.
pub fn help_end(model: &Model) -> usize {
    let area = help::area(model);
    help::lines(model, area).len().saturating_sub(usize::from(area.height.saturating_sub(2)))
}

/// How many changes the last outage missed, for ten seconds after it ended.
pub fn caught_up(model: &Model) -> Option<u64> {
    let now = model.now();
    if model.picture.connection != Connection::Live {
        return None;
    }
    model.picture.log().rev().find_map(|h| match h {
        Happening::Outage { to, missed, .. } => {
            Some(missed.filter(|missed| *missed > 0 && now - *to < TimeDelta::seconds(10)))
        }
        _ => None,
    })?
}

/// ` as of 14:32:07` where the picture is old.
fn as_of(model: &Model) -> String {
    let now = model.now();
    let heard = model.picture.heard_until();
    heard.map_or(String::new(), |at| format!(" as of {}", model.look.zone.moment(at, now)))
}

/// The key in use for an action, as the footer names it.
fn key(model: &Model, action: Action) -> Option<String> {
    let (_, keys) = model.keys.rows().find(|(binding, _)| binding.action == action)?;
    keys.first().map(|key| model.look.glyphs.tell(&key.name()).into_owned())
}

/// `y copies it`; empty where no key does.
fn copies(model: &Model, what: &str) -> String {
    key(model, Action::Copy).map_or_else(String::new, |key| format!("{key} copies {what}"))
}

/// ` · s:working` where a filter restricts what is listed.
fn filtered(model: &Model) -> String {
    match model.list.filter() {
        filter if filter.is_empty() => String::new(),
        filter => text(model, &format!(" · {}", filter.text())),
    }
}

/// That the filter lets nothing through, and how to be rid of it.
fn nothing_matches(model: &Model, what: &str) -> String {
    let filter = text(model, model.list.filter().text());
    let key = model.look.glyphs.tell(&model.keys.name_of(Action::Back)).into_owned();
    format!("No {what} matches {filter}. {key} shows all.")
}

/// A text in a role, made safe and put into the terminal's characters.
fn text(model: &Model, other: &str) -> String {
    model.look.glyphs.tell(&shown::line(other)).into_owned()
}

/// What others know of an agent, worst first: that its run failed, that it would undo another's work or be undone,
/// that it may.
fn mark(model: &Model, id: &AgentId, agent: &Agent) -> Span<'static> {
    let theme = &model.look.theme;
    // What was marked as seen keeps its mark, and no longer calls.
    if agent.pulse.run_failure.is_some() {
        return Span::styled("!", if model.fails(agent) { theme.error } else { theme.muted });
    }
    match model.picture.in_the_way(id, model.now()) {
        Some(level @ Level::Clash) => {
            Span::styled(warning::mark(level), if model.clashes(id) { theme.clash } else { theme.muted })
        }
        Some(level @ Level::Risk) => Span::styled(warning::mark(level), theme.risk),
        Some(Level::Note) | None => Span::raw(" "),
    }
}

/// A field of the detail: its name, then its text over as many lines as it takes.
fn field(model: &Model, out: &mut Vec<Line<'static>>, width: usize, name: &str, value: &str, label: usize) {
    let theme = &model.look.theme;
    let room = width.saturating_sub(label + 2);
    for (i, part) in shown::wrap(value, room).into_iter().enumerate() {
        let name = if i == 0 { name } else { "" };
        out.push(Line::from(vec![
            Span::styled(format!(" {}", pad(name, label)), theme.muted),
            Span::styled(part, theme.text),
        ]));
    }
}

/// Puts something at the right edge of a line, with a column of air behind it; `false` where it does not fit.
fn at_edge(line: &mut Vec<Span<'static>>, width: usize, said: Span<'static>) -> bool {
    let used: usize = line.iter().chain([&said]).map(|span| shown::width(&span.content)).sum();
    let Some(gap) = width.checked_sub(used + 1).filter(|gap| *gap > 1) else { return false };
    line.extend([Span::raw(" ".repeat(gap)), said]);
    true
}

/// A safe text filled up to so many columns.
fn pad(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(shown::width(text))))
}

/// What a claim says, with its sign of age.
fn claim(model: &Model, agent: &crate::picture::Agent) -> String {
    let claim = model.picture.claim(agent, model.now());
    model.look.glyphs.tell(&words::claim_and_age(&claim)).into_owned()
}

/// The whole screen as text, at the model's size.
pub fn as_text(model: &Model) -> String {
    let mut picture = Buffer::empty(Rect::new(0, 0, model.size.0, model.size.1));
    draw(model, &mut picture);
    plain(&picture)
}

/// A picture as text: a line each row, without blanks at its end.
pub fn plain(picture: &Buffer) -> String {
    let mut out = String::new();
    for y in picture.area.top()..picture.area.bottom() {
        let mut row = String::new();
        let mut skip = 0;
        for x in picture.area.left()..picture.area.right() {
            if skip > 0 {
                skip -= 1;
                continue;
            }
            let symbol = picture[(x, y)].symbol();
            skip = shown::width(symbol).saturating_sub(1);
            row.push_str(symbol);
        }
        out.push_str(row.trim_end());
        out.push('\n');
    }
    out
}
