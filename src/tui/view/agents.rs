//! The list of agents: a row each under its heading, in an order that never jumps, and what of it is out of sight.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::paint::Canvas;
use super::{Parts, as_of, claim, filtered, lasts, mark, pad, text};
use crate::picture::Agent;
use crate::tui::keys::Action;
use crate::tui::list::{Grouping, Heading, Order, Row, Rows};
use crate::tui::model::{Layout, Model, Pane};
use crate::wire::id::AgentId;
use crate::{hint, shown, words};

/// Columns of a claim: `said working · 47m ?`. Fixed, so that a text does not move when a claim gets old.
const CLAIM: usize = 20;
/// Columns of the branch, where the screen is wide enough for it.
const BRANCH: usize = 17;
/// Screen width from which on the branch is shown.
const BRANCH_FROM: u16 = 130;

/// The rows. Groups are set apart by a blank row where all of them fit into `height`.
fn rows(model: &Model, height: u16) -> Rows<'_> {
    let apart = model.list.rows(true);
    let fits = model.layout() == Layout::Columns && apart.len() <= usize::from(height);
    if fits { apart } else { model.list.rows(false) }
}

/// The first row to draw.
pub fn top(model: &Model, area: Rect) -> usize {
    let rows = rows(model, area.height);
    let height = usize::from(area.height).max(1);
    let most = rows.len().saturating_sub(height);
    let place = model.selected.as_ref().and_then(|id| model.list.place(id));
    let Some(at) = place.map(|place| rows.of(place)) else { return model.list_top.min(most) };
    // The heading over the first of its agents comes along.
    let headed = at > 0 && matches!(rows.get(at - 1), Some(Row::Heading(_)));
    model.list_top.min(at - usize::from(headed)).max((at + 1).saturating_sub(height)).min(most)
}

/// Draws the list with its title.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model, parts: &Parts) {
    let theme = &model.look.theme;
    let rows = rows(model, parts.list.height);
    let top = model.list_top.min(rows.len().saturating_sub(usize::from(parts.list.height)));
    let title_style = if model.pane == Pane::List { theme.focus } else { theme.muted };
    let title = Line::from(vec![
        Span::styled(format!("Agents{}", as_of(model)), title_style),
        Span::styled(beyond(model, &rows, top, parts.list.height), theme.muted),
        Span::styled(asked_for(model), theme.muted),
    ]);
    canvas.rule(parts.list_title, 0, &title, &Line::from(Span::styled(hidden(model), theme.error)));
    if rows.is_empty() {
        return nobody(canvas, model, parts.list);
    }
    let names = name_width(model, parts.list.width);
    for (y, row) in (0..parts.list.height).zip(top..) {
        match rows.get(row) {
            None => break,
            Some(Row::Blank) => {}
            Some(Row::Heading(heading)) => draw_heading(canvas, model, parts.list, y, heading),
            Some(Row::Agent(id)) => {
                if let Some(agent) = model.picture.agent(id) {
                    agent_row(canvas, model, parts.list, y, (id, agent), names);
                }
            }
        }
    }
}

fn draw_heading(canvas: &mut Canvas<'_>, model: &Model, area: Rect, y: u16, heading: &Heading) {
    let theme = &model.look.theme;
    let name = heading.name.as_deref();
    let said = match (model.list.grouping(), name) {
        (Grouping::Branch, Some(branch)) => format!("branch {branch}"),
        (Grouping::Branch, None) => "no branch".into(),
        (Grouping::Task, Some(task)) => format!("task {task}"),
        (Grouping::Task, None) => "no task".into(),
        (_, name) => name.unwrap_or_default().to_owned(),
    };
    let you = model.list.grouping() == Grouping::Owner && name == model.owner.as_deref() && name.is_some();
    let room = usize::from(area.width).saturating_sub(if you { 6 } else { 2 });
    let said = text(model, &said);
    let said = shown::cut(&said, room, model.look.glyphs.end());
    canvas.line(area, y, &Line::from(Span::styled(format!(" {said}"), theme.muted)));
    if you {
        let pad = if model.layout() == Layout::Columns { " " } else { "" };
        canvas.right(area, y, &Line::from(Span::styled(format!("you{pad}"), theme.muted)));
    }
}

/// ` 5–16 of 40 · 1 above needs you · 2 below`: what is in sight, and what is not and needs the watcher. With a filter
/// ` 3 of 9`, those that it lets through.
fn beyond(model: &Model, rows: &Rows<'_>, top: usize, height: u16) -> String {
    let list = &model.list;
    let end = top + usize::from(height);
    let all_in_sight = top == 0 && end >= rows.len();
    let (above, seen) = (rows.agents_above(top), rows.agents_above(end.min(rows.len())));
    let mut said = match (list.filter().is_empty(), all_in_sight) {
        (false, _) => format!(" {} of {}", list.matched(), list.total()),
        (true, false) => format!(" {}–{seen} of {}", above + 1, list.len()),
        (true, true) => String::new(),
    };
    let mut told = false;
    for (count, side) in [(list.needing_at(0..above), "above"), (list.needing_at(seen..list.len()), "below")]
    {
        if count > 0 {
            let verb = if count == 1 { "needs" } else { "need" };
            let needs = if told { String::new() } else { format!(" {verb} you") };
            said.push_str(&format!(" · {count} {side}{needs}"));
            told = true;
        }
    }
    said
}

/// ` · s:working · by last report`: which agents, in which order, where it is not the usual one.
fn asked_for(model: &Model) -> String {
    let mut said = filtered(model);
    let (order, reversed) = model.list.order();
    if order != Order::default() || reversed {
        said.push_str(&format!(" · {}{}", order.words(), if reversed { ", reversed" } else { "" }));
    }
    said
}

/// `! 1 needs you, hidden`: what the filter keeps from the watcher.
pub fn hidden(model: &Model) -> String {
    match model.list.needing_hidden() {
        0 => String::new(),
        1 => "! 1 needs you, hidden".into(),
        hidden => format!("! {hidden} need you, hidden"),
    }
}

/// Says that the filter lets nobody through, and how to be rid of it.
pub fn nobody(canvas: &mut Canvas<'_>, model: &Model, area: Rect) {
    let esc = model.look.glyphs.tell(&model.keys.name_of(Action::Back)).into_owned();
    let wide = usize::from(area.width).saturating_sub(2);
    let filter = text(model, model.list.filter().text());
    let mut said = vec![String::new()];
    said.extend(shown::wrap(&format!("No agent matches {filter}"), wide));
    said.extend(shown::wrap(&format!("{esc} shows all {}.", model.list.total()), wide));
    let style = model.look.theme.text;
    let lines: Vec<Line<'_>> =
        said.iter().map(|part| Line::from(Span::styled(format!(" {part}"), style))).collect();
    canvas.lines(area, &lines, usize::from(area.height < 4));
}

/// Columns of the name: of all agents', so that rows stay where they are when others come into sight.
fn name_width(model: &Model, width: u16) -> usize {
    let part = if model.list.grouping() == Grouping::Owner { 4 } else { 3 };
    model.list.widest().clamp(8, (usize::from(width) / part).max(8))
}

/// Bar, mark, availability, name, claim and age, text.
fn agent_row(
    canvas: &mut Canvas<'_>,
    model: &Model,
    area: Rect,
    y: u16,
    of: (&AgentId, &Agent),
    names: usize,
) {
    let (id, agent) = of;
    lasts(canvas, model, agent);
    let theme = &model.look.theme;
    let end = model.look.glyphs.end();
    let selected = model.selected.as_ref() == Some(id);
    let now = model.picture.room_time(model.local());
    let state = model.picture.claim(agent, now);
    let availability = theme.availability(state.availability);
    let quiet = state.past || state.absent;
    let body = if quiet { theme.muted } else { theme.text };
    // Under its owner's name an agent has only its own.
    let owned = model.list.grouping() == Grouping::Owner;
    let name = text(model, if owned { id.name() } else { id.as_str() });
    let name = shown::cut_middle(&name, names, end);
    let failure = agent.pulse.run_failure.as_ref();
    let (said, said_style) = match failure {
        Some(failure) => (hint::title(failure), theme.error),
        None if agent.pulse.doing.is_empty() => {
            let intent = agent.pulse.intent.as_ref().filter(|i| i.holds(now));
            (intent.map_or(String::new(), |i| format!("about to {}", words::intent(i))), body)
        }
        None => (agent.pulse.doing.clone(), body),
    };
    let said = text(model, &said);
    let claim = claim(model, agent);
    let claim = shown::cut(&claim, CLAIM + 1, end);
    let wide = usize::from(area.width);
    let at = 5 + names + 3 + CLAIM + 2;
    let branch = canvas.area().width >= BRANCH_FROM;
    let room = wide.saturating_sub(
        at + usize::from(model.layout() == Layout::Columns) + if branch { BRANCH + 2 } else { 0 },
    );
    // Who announced silence is not here: the row steps back, its failure does not.
    let name_style = match (selected, state.absent) {
        (true, _) => theme.selected,
        (false, true) => theme.muted,
        (false, false) => theme.focus,
    };
    let mut spans = vec![
        if selected { Span::styled("▌", theme.bar) } else { Span::raw(" ") },
        mark(model, id, agent),
        Span::raw(" "),
        Span::styled(words::glyph(state.availability), if state.past { theme.muted } else { availability }),
        Span::raw(" "),
        Span::styled(pad(&name, names + 3), name_style),
        Span::styled(pad(&claim, CLAIM + 2), body),
        Span::styled(pad(&shown::cut(&said, room, end), room), said_style),
    ];
    if branch {
        let name = text(model, agent.pulse.branch.as_deref().unwrap_or_default());
        spans.push(Span::styled(format!("  {}", shown::cut(&name, BRANCH, end)), theme.muted));
    }
    canvas.line(area, y, &Line::from(spans));
}
