//! The list of agents: one row each under their owner's name, in an order that never jumps.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::paint::Canvas;
use super::{Parts, as_of, claim, mark, pad, text};
use crate::picture::Agent;
use crate::tui::model::{Layout, Model, Pane};
use crate::wire::id::{AgentId, is_slug};
use crate::{hint, shown, words};

/// Columns of a claim: `said working · 47m ?`. Fixed, so that a text does not move when a claim gets old.
const CLAIM: usize = 20;
/// Columns of the branch, where the screen is wide enough for it.
const BRANCH: usize = 17;
/// Screen width from which on the branch is shown.
const BRANCH_FROM: u16 = 130;

/// A row of the list.
#[derive(Debug, Clone, Copy)]
pub enum Row<'a> {
    /// Between two owners, where there is room.
    Blank,
    /// An owner's name.
    Owner(&'a str),
    /// An agent.
    Agent(&'a AgentId, &'a Agent),
}

/// The rows. Owners are set apart by a blank row where all of them fit into `height`.
pub fn rows(model: &Model, height: u16) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    let mut owners = 0;
    let mut owner = None;
    for (id, agent) in model.picture.agents() {
        if owner != Some(id.owner()) {
            owner = Some(id.owner());
            owners += 1;
            rows.push(Row::Owner(id.owner()));
        }
        rows.push(Row::Agent(id, agent));
    }
    let apart = model.layout() == Layout::Columns
        && rows.len() + owners - usize::from(owners > 0) <= usize::from(height);
    if apart {
        let mut spaced = Vec::with_capacity(rows.len() + owners);
        for row in rows {
            if matches!(row, Row::Owner(_)) && !spaced.is_empty() {
                spaced.push(Row::Blank);
            }
            spaced.push(row);
        }
        return spaced;
    }
    rows
}

/// How many rows there are without blank ones, as far as it matters: counting ends beyond `most`.
pub fn count(model: &Model, most: usize) -> usize {
    let mut count = 0;
    let mut owner = None;
    for (id, _) in model.picture.agents() {
        count += 1 + usize::from(owner.replace(id.owner()) != Some(id.owner()));
        if count > most {
            break;
        }
    }
    count
}

/// The first row to draw.
pub fn top(model: &Model, area: Rect) -> usize {
    let rows = rows(model, area.height);
    let height = usize::from(area.height).max(1);
    let most = rows.len().saturating_sub(height);
    let at =
        rows.iter().position(|row| matches!(row, Row::Agent(id, _) if Some(*id) == model.selected.as_ref()));
    let Some(at) = at else { return model.list_top.min(most) };
    // The owner's name over the first of its agents comes along.
    let from = if at > 0 && matches!(rows[at - 1], Row::Owner(_)) { at - 1 } else { at };
    model.list_top.min(from).max((at + 1).saturating_sub(height)).min(most)
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
    ]);
    canvas.rule(parts.list_title, 0, &title, &Line::from(""));
    let names = name_width(model, parts.list.width);
    for (y, row) in (0..parts.list.height).zip(rows.iter().skip(top)) {
        match row {
            Row::Blank => {}
            Row::Owner(owner) => {
                let line = Line::from(Span::styled(format!(" {}", text(model, owner)), theme.muted));
                canvas.line(parts.list, y, &line);
                if model.owner.as_deref() == Some(*owner) {
                    let pad = if model.layout() == Layout::Columns { " " } else { "" };
                    canvas.right(parts.list, y, &Line::from(Span::styled(format!("you{pad}"), theme.muted)));
                }
            }
            Row::Agent(id, agent) => agent_row(canvas, model, parts.list, y, (id, agent), names),
        }
    }
}

/// ` 5–16 of 40 · 1 above needs you · 2 below`: what is out of sight, counted.
fn beyond(model: &Model, rows: &[Row<'_>], top: usize, height: u16) -> String {
    let height = usize::from(height);
    if rows.len() <= height {
        return String::new();
    }
    let agents = |rows: &[Row<'_>]| rows.iter().filter(|r| matches!(r, Row::Agent(..))).count();
    let needs = |rows: &[Row<'_>]| {
        rows.iter().filter(|r| matches!(r, Row::Agent(_, agent) if model.needs_you(agent))).count()
    };
    let end = (top + height).min(rows.len());
    let (above, seen, below) = (&rows[..top], &rows[top..end], &rows[end..]);
    let first = agents(above) + 1;
    let mut said = format!(" {first}–{} of {}", first + agents(seen) - 1, agents(rows));
    if let Some(Row::Agent(id, _)) = seen.first() {
        said.push_str(&format!(" · {}", text(model, id.owner())));
    }
    for (count, needs, side) in
        [(agents(above), needs(above), "above"), (agents(below), needs(below), "below")]
    {
        if needs > 0 {
            let verb = if needs == 1 { "needs" } else { "need" };
            said.push_str(&format!(" · {needs} {side} {verb} you"));
        } else if count > 0 {
            said.push_str(&format!(" · {count} {side}"));
        }
    }
    said
}

fn name_width(model: &Model, width: u16) -> usize {
    let most = (usize::from(width) / 4).max(8);
    let mut longest = 8;
    for (id, _) in model.picture.agents() {
        let name = id.name();
        // A room's names are slugs, as wide as they are long; making ten thousand of them safe takes a while.
        longest = longest.max(if is_slug(name) { name.len() } else { shown::width(&text(model, name)) });
        if longest >= most {
            return most;
        }
    }
    longest
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
    let theme = &model.look.theme;
    let end = model.look.glyphs.end();
    let selected = model.selected.as_ref() == Some(id);
    let now = model.picture.room_time(model.local());
    let state = model.picture.claim(agent, now);
    let availability = theme.availability(state.availability);
    let quiet = state.past || state.absent;
    let body = if quiet { theme.muted } else { theme.text };
    let name = text(model, id.name());
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
