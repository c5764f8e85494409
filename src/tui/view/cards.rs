//! The side pane: a card an agent, read from the corner of the eye.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::paint::Canvas;
use super::{Parts, as_of, header, text};
use crate::picture::Agent;
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
    let mark = if failure.is_some() { Span::styled("!", theme.error) } else { Span::raw(" ") };
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
    let name = shown::cut_middle(&name, wide.saturating_sub(4 + age.len() + 1), end).into_owned();
    let gap = wide.saturating_sub(4 + shown::width(&name) + shown::width(&age)).max(1);
    let bar = if selected { Span::styled("▌", theme.bar) } else { Span::raw(" ") };
    let absent = theme.availability(state.availability) == theme.muted;
    let claim_style = if state.past || absent { theme.muted } else { theme.text };
    let name_style = match (selected, absent) {
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
            put(text(model, &format!("{}{}", agent.pulse.owner, hint.teammate)), theme.error);
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

/// Every agent's card in the list's order; while nobody moves about and not all fit, what failed comes first.
fn cards(model: &Model, area: Rect) -> Vec<(&Agent, Vec<Line<'static>>)> {
    let card = |(id, agent)| (agent, card(model, area.width, id, agent));
    let mut cards: Vec<_> = model.picture.agents().map(card).collect();
    let rows: usize = cards.iter().map(|(_, lines)| lines.len()).sum();
    if !model.touched && rows > usize::from(area.height) {
        cards.sort_by_key(|(agent, _)| agent.pulse.run_failure.is_none());
    }
    cards
}

/// The first card to draw.
pub fn top(model: &Model, area: Rect) -> usize {
    let heights: Vec<usize> = cards(model, area).iter().map(|(_, lines)| lines.len()).collect();
    let height = usize::from(area.height);
    // The last first card that still fills the pane.
    let mut most = heights.len();
    let mut used = 0;
    while most > 0 && used + heights[most - 1] <= height {
        most -= 1;
        used += heights[most];
    }
    let place = model.selected.as_ref().and_then(|id| model.picture.agents().position(|(i, _)| i == id));
    let Some(at) = place.filter(|_| model.touched) else { return model.list_top.min(most) };
    let mut top = model.list_top.min(at);
    while top < at && heights[top..=at].iter().sum::<usize>() > height {
        top += 1;
    }
    top.min(most)
}

/// Draws the cards under the rule that names the room.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model, parts: &Parts) {
    let theme = &model.look.theme;
    let cards = cards(model, parts.list);
    let height = usize::from(parts.list.height);
    let total: usize = cards.iter().map(|(_, lines)| lines.len()).sum();
    let gap = usize::from(total + cards.len().saturating_sub(1) <= height);
    let top = model.list_top.min(cards.len().saturating_sub(1));
    let mut row = 0;
    let mut shown_cards = 0;
    for (_, lines) in &cards[top..] {
        // A card is never cut in two, unless it is the only one.
        if row > 0 && row + lines.len() > height {
            break;
        }
        for line in lines {
            canvas.line(parts.list, u16::try_from(row).unwrap_or(u16::MAX), line);
            row += 1;
        }
        row += gap;
        shown_cards += 1;
    }
    let below = cards.len() - top - shown_cards;
    let old = as_of(model);
    let hidden = cards.iter().enumerate().filter(|(i, _)| *i < top || *i >= top + shown_cards);
    let urgent = hidden.into_iter().any(|(_, (agent, _))| agent.pulse.run_failure.is_some());
    let mark = if urgent { "! " } else { "" };
    let right = if !old.is_empty() {
        old.trim_start().to_owned()
    } else if top > 0 {
        format!("{mark}{}–{} of {}", top + 1, top + shown_cards, cards.len())
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
