//! The side pane: a card an agent, read from the corner of the eye.

use std::ops::Range;

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::paint::Canvas;
use super::{Parts, agents, as_of, header, lasts, mark, text, zones};
use crate::picture::{Agent, Connection};
use crate::tui::model::{Model, Pane};
use crate::wire::id::AgentId;
use crate::wire::pulse::{Availability, Intent};
use crate::{hint, shown, words};

/// Width below which a fresh `working` is left to its sign.
const WORDS_FROM: u16 = 36;
/// Width from which on a claim and its age are set apart by a sign.
const SIGN_FROM: u16 = 60;

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
        (false, _) if width >= SIGN_FROM => format!("{} · ", words::claim(&state)),
        (false, _) => format!("{} ", words::claim(&state)),
    };
    let word = text(model, &word);
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
        put(intends(model, intent, wide.saturating_sub(4)), theme.text);
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

/// An intent with its countdown, which goes first where not both fit.
pub fn intends(model: &Model, intent: &Intent, room: usize) -> String {
    let ends = if model.is_old() {
        format!("until {}", model.look.zone.minute(intent.expires_at))
    } else {
        words::left(intent.expires_at - model.now())
    };
    let target = text(model, &words::intent(intent));
    let whole = format!("{target}{}", text(model, &format!(" · {ends}")));
    if shown::width(&whole) <= room { whole } else { target }
}

/// How much of each card is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// All of it.
    Whole,
    /// All of those that need a person, two lines of the others.
    Urgent,
    /// Two lines.
    Brief,
}

/// Lines of a card that is not shown whole.
const BRIEF: usize = 2;

fn card_at(model: &Model, width: u16, place: usize, extent: Extent) -> Vec<Line<'static>> {
    let Some((id, standing)) = model.list.at(place) else { return Vec::new() };
    let Some(agent) = model.picture.agent(id) else { return Vec::new() };
    let mut lines = card(model, width, id, agent);
    if extent == Extent::Brief || (extent == Extent::Urgent && standing.call.is_none()) {
        lines.truncate(BRIEF);
    }
    lines
}

/// The fullest cards that all fit, and the rows they take together; none: they never do.
fn fitting(model: &Model, area: Rect) -> Option<(Extent, usize)> {
    let height = usize::from(area.height);
    if model.list.len() > height {
        return None; // most of ten thousand cards are never made
    }
    [Extent::Whole, Extent::Urgent, Extent::Brief].into_iter().find_map(|extent| {
        let lines = |place| card_at(model, area.width, place, extent).len();
        let rows = (0..model.list.len()).map(lines).sum();
        (rows <= height).then_some((extent, rows))
    })
}

/// The first of the cards up to the one at `last` that still fit into the pane together with it.
fn first_beside(model: &Model, last: usize, area: Rect) -> usize {
    let mut first = last;
    let mut used = 0;
    for place in (0..=last).rev() {
        used += card_at(model, area.width, place, Extent::Whole).len();
        if used > usize::from(area.height) {
            break;
        }
        first = place;
    }
    first
}

/// The first card to draw: the first of all, unless somebody moves about among more than fit.
pub fn top(model: &Model, area: Rect) -> usize {
    let Some(last) = model.list.len().checked_sub(1).filter(|_| model.touched) else { return 0 };
    if fitting(model, area).is_some() {
        return 0;
    }
    let most = first_beside(model, last, area);
    let place = model.selected.as_ref().and_then(|id| model.list.place(id));
    let Some(at) = place else { return model.list_top.min(most) };
    model.list_top.min(at).max(first_beside(model, at, area)).min(most)
}

/// Why nothing is heard, below the cards where there are rows for it: the header has no room for it here.
pub fn reason(canvas: &mut Canvas<'_>, model: &Model, area: Rect, used: u16) {
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

/// Draws the cards under the rule that names the room; where nobody moves about and not all fit, zones instead.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model, parts: &Parts) {
    let (area, height) = (parts.list, usize::from(parts.list.height));
    if model.list.is_empty() {
        title(canvas, model, parts.list_title, 0..0);
        return agents::nobody(canvas, model, area);
    }
    let fitting = fitting(model, area);
    if fitting.is_none() && !model.touched {
        return zones::draw(canvas, model, parts);
    }
    let (extent, rows) = fitting.unwrap_or((Extent::Whole, height));
    // They stand apart only where all of them still fit, whole.
    let gap = usize::from(extent == Extent::Whole && rows + model.list.len() - 1 <= height);
    let top = model.list_top.min(model.list.len() - 1);
    let mut row = 0;
    let mut end = top;
    while end < model.list.len() {
        let card = card_at(model, area.width, end, extent);
        // A card is never cut in two, unless it is the only one.
        if row > 0 && row + card.len() > height {
            break;
        }
        if let Some(agent) = model.list.nth(end).and_then(|id| model.picture.agent(id)) {
            lasts(canvas, model, agent);
        }
        for (row, line) in (row..).zip(&card) {
            canvas.line(area, u16::try_from(row).unwrap_or(u16::MAX), line);
        }
        row += card.len() + gap;
        end += 1;
    }
    reason(canvas, model, area, u16::try_from(row).unwrap_or(u16::MAX));
    title(canvas, model, parts.list_title, top..end);
}

/// The rule with the room's name, and what of its agents is in sight at these places.
pub fn title(canvas: &mut Canvas<'_>, model: &Model, area: Rect, seen: Range<usize>) {
    let theme = &model.look.theme;
    let (list, old) = (&model.list, as_of(model));
    let (above, below) = (list.needing_at(0..seen.start), list.needing_at(seen.end..list.len()));
    let hidden = list.needing_hidden();
    let range = || format!("{}–{} of {}", seen.start + 1, seen.end, list.len());
    let mut said: Vec<String> = Vec::new(); // the fullest first
    if !old.is_empty() {
        said.push(old.trim_start().to_owned());
    } else if !list.filter().is_empty() {
        let found = format!("{} of {}", list.matched(), list.total());
        let filter = text(model, list.filter().text());
        let room = usize::from(area.width).saturating_sub(found.len() + 15).max(8);
        let filter = shown::cut(&filter, room, model.look.glyphs.end());
        if hidden > 0 {
            let short = format!("! {hidden} hidden · {found}");
            said.extend([
                format!("{} · {found} · {filter}", agents::hidden(model)),
                format!("{short} · {filter}"),
                short,
            ]);
        }
        said.extend([format!("{found} · {filter}"), found]);
    } else if seen.len() < list.len() && !seen.is_empty() {
        match (above, below) {
            (0, 0) => {}
            (above, 0) => said.push(format!("{} · ! {above} above", range())),
            (0, below) => said.push(format!("{} · ! {below} below", range())),
            (above, below) => said.push(format!("{} · ! {above} above · {below} below", range())),
        }
        if above + below > 0 {
            said.push(format!("{} · ! {}", range(), above + below));
        }
        said.push(range());
    } else {
        said.push(header::working(model));
    }
    let fits = |said: &&String| shown::width(said) + 10 <= usize::from(area.width);
    let said = said.iter().find(fits).or(said.last()).cloned().unwrap_or_default();
    let project = Line::from(Span::styled(text(model, &model.picture.project), theme.focus));
    canvas.rule(area, 0, &project, &Line::from(Span::styled(said, theme.muted)));
}
