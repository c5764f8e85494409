//! The side pane: a card an agent, read from the corner of the eye.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::paint::Canvas;
use super::{Parts, as_of, header, mark, text};
use crate::picture::{Agent, Connection};
use crate::tui::model::{Model, Pane};
use crate::wire::id::AgentId;
use crate::wire::pulse::Availability;
use crate::{hint, shown, words};

/// Width below which a fresh `working` is left to its sign.
const WORDS_FROM: u16 = 36;

/// One agent's card: two to four lines.
fn card(model: &Model, width: u16, id: &AgentId, agent: &Agent) -> Vec<Line<'static>> {
    let theme = &model.look.theme;
    let end = model.look.glyphs.end();
    let wide = usize::from(width);
    let now = model.picture.room_time(model.local());
    let state = model.picture.claim(agent, now);
    let failure = agent.pulse.run_failure.as_ref();
    let selected = model.touched && model.pane == Pane::List && model.selected.as_ref() == Some(id);
    let mark = mark(model, id, agent);
    let sign = theme.availability(state.availability);
    let sign = Span::styled(words::glyph(state.availability), if state.past { theme.muted } else { sign });
    // The age and `?` never go; a fresh `working` goes first, then the middle of the name.
    let bare = width < WORDS_FROM && *state.availability == Availability::Working;
    let word = match (bare, state.past) {
        (true, false) => String::new(),
        (true, true) => "said ".into(),
        (false, _) => format!("{} ", text(model, &words::claim(&state))),
    };
    let age = format!("{word}{}{}", words::age(state.age), if state.stale { " ?" } else { "" });
    let name = text(model, id.as_str());
    let name = shown::cut_middle(&name, wide.saturating_sub(4 + shown::width(&age) + 1), end).into_owned();
    let gap = wide.saturating_sub(4 + shown::width(&name) + shown::width(&age)).max(1);
    let bar = if selected { Span::styled("▌", theme.bar) } else { Span::raw(" ") };
    let claim_style = if state.past || state.absent { theme.muted } else { theme.text };
    let name_style = match (selected, state.absent) {
        (true, _) => theme.selected,
        (false, true) => theme.muted,
        (false, false) => theme.focus,
    };
    let mut lines = vec![Line::from(vec![
        mark,
        bar,
        sign,
        Span::raw(" "),
        Span::styled(name, name_style),
        Span::raw(" ".repeat(gap)),
        Span::styled(age, claim_style),
    ])];
    let mut put = |said: String, style| {
        let said = shown::cut(&said, wide.saturating_sub(4), end).into_owned();
        lines.push(Line::from(vec![Span::raw("    "), Span::styled(said, style)]));
    };
    let quiet = if state.past { theme.muted } else { theme.text };
    let doing = text(model, &agent.pulse.doing);
    let intent = agent.pulse.intent.as_ref().filter(|i| i.holds(now));
    if let Some(failure) = failure {
        let hint = hint::of(failure);
        if model.owner.as_ref().is_none_or(|me| *me == agent.pulse.owner) {
            put(text(model, &hint::title(failure)), theme.error);
            if let Some(command) = hint.command {
                put(text(model, &format!("› {command}")), theme.hint);
            }
        } else {
            put(text(model, &format!("{}{}", agent.pulse.owner, hint.teammate.told)), theme.error);
        }
    } else if let Some(intent) = intent {
        let ends = if model.is_old() {
            format!("until {}", model.look.zone.minute(intent.expires_at))
        } else {
            words::left(intent.expires_at - now)
        };
        let ends = text(model, &format!(" · {ends}"));
        let target = text(model, &words::intent(intent));
        let room = wide.saturating_sub(4 + shown::width(&ends));
        put(format!("{}{ends}", shown::cut(&target, room, end)), theme.text);
        if !doing.is_empty() {
            put(doing, quiet);
        }
    } else {
        if !doing.is_empty() {
            put(doing, quiet);
        }
        if let Some(branch) = agent.pulse.branch.as_ref().filter(|b| !b.is_empty()) {
            put(format!("on {}", text(model, branch)), theme.muted);
        }
    }
    lines
}

/// The agents in the list's order; while nobody moves about and not all fit, what failed comes first.
fn order(model: &Model, area: Rect) -> Vec<(&AgentId, &Agent)> {
    let mut agents: Vec<(&AgentId, &Agent)> = model.picture.agents().collect();
    let mut rows = 0;
    let mut fits = |(id, agent): &(&AgentId, &Agent)| {
        rows += card(model, area.width, id, agent).len();
        rows <= usize::from(area.height)
    };
    if !model.touched && !agents.iter().all(&mut fits) {
        // Failures first, then clashes.
        agents.sort_by_cached_key(|(id, agent)| match &agent.pulse.run_failure {
            Some(_) => 0,
            None if model.clashes(id) => 1,
            None => 2,
        });
    }
    agents
}

/// The first of the cards up to the one at `last` that still fit into the pane together with it.
fn first_beside(model: &Model, agents: &[(&AgentId, &Agent)], last: usize, area: Rect) -> usize {
    let mut first = last;
    let mut used = 0;
    // A card is made only where its height matters: most of ten thousand never are.
    for (place, (id, agent)) in agents.iter().enumerate().take(last + 1).rev() {
        used += card(model, area.width, id, agent).len();
        if used > usize::from(area.height) {
            break;
        }
        first = place;
    }
    first
}

/// The first card to draw.
pub fn top(model: &Model, area: Rect) -> usize {
    let agents = order(model, area);
    let Some(last) = agents.len().checked_sub(1) else { return 0 };
    let most = first_beside(model, &agents, last, area);
    let place = model.selected.as_ref().and_then(|id| agents.iter().position(|(i, _)| *i == id));
    let Some(at) = place.filter(|_| model.touched) else { return model.list_top.min(most) };
    model.list_top.min(at).max(first_beside(model, &agents, at, area)).min(most)
}

/// Why nothing is heard, below the cards where there are rows for it: the header has no room for it here.
fn reason(canvas: &mut Canvas<'_>, model: &Model, area: Rect, used: u16) {
    let Connection::Offline { why, .. } = &model.picture.connection else { return };
    let said = shown::wrap(&text(model, why), usize::from(area.width).saturating_sub(2));
    let Some(first) = area.height.checked_sub(u16::try_from(said.len()).unwrap_or(u16::MAX)) else { return };
    if first <= used {
        return;
    }
    for (row, part) in (first..).zip(said) {
        canvas.line(area, row, &Line::from(Span::styled(format!(" {part}"), model.look.theme.text)));
    }
}

/// Draws the cards under the rule that names the room.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model, parts: &Parts) {
    let theme = &model.look.theme;
    let agents = order(model, parts.list);
    let height = usize::from(parts.list.height);
    let top = model.list_top.min(agents.len().saturating_sub(1));
    let mut cards: Vec<Vec<Line<'static>>> = Vec::new();
    let mut used = 0;
    for (id, agent) in agents.iter().skip(top) {
        let card = card(model, parts.list.width, id, agent);
        // A card is never cut in two, unless it is the only one.
        if used > 0 && used + card.len() > height {
            break;
        }
        used += card.len();
        cards.push(card);
    }
    let shown_cards = cards.len();
    let gap = usize::from(shown_cards == agents.len() && used + agents.len().saturating_sub(1) <= height);
    let mut row = 0;
    for line in cards.iter().flat_map(|card| card.iter().map(Some).chain(std::iter::repeat_n(None, gap))) {
        if let Some(line) = line {
            canvas.line(parts.list, row, line);
        }
        row = row.saturating_add(1);
    }
    reason(canvas, model, parts.list, row);
    let below = agents.len() - top - shown_cards;
    let old = as_of(model);
    let mut hidden = agents[..top].iter().chain(&agents[top + shown_cards..]);
    let urgent = hidden.any(|(_, agent)| agent.pulse.run_failure.is_some());
    let mark = if urgent { "! " } else { "" };
    let right = if !old.is_empty() {
        old.trim_start().to_owned()
    } else if top > 0 {
        format!("{mark}{}–{} of {}", top + 1, top + shown_cards, agents.len())
    } else if below > 0 && parts.list.width < WORDS_FROM {
        format!("{mark}{below} more")
    } else if below > 0 {
        format!("{} · {mark}+{below}", header::working(model))
    } else {
        header::working(model)
    };
    let project = Line::from(Span::styled(text(model, &model.picture.project), theme.focus));
    canvas.rule(parts.list_title, 0, &project, &Line::from(Span::styled(right, theme.muted)));
}
