//! The side pane: a card an agent, read from the corner of the eye.

use std::ops::Range;

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::paint::Canvas;
use super::{Parts, agents, as_of, header, lasts, mark, text, zones};
use crate::conflict::Level;
use crate::picture::{Agent, Connection};
use crate::tui::model::{Model, Pane};
use crate::wire::id::AgentId;
use crate::wire::pulse::{Availability, Intent};
use crate::{hint, shown, warning, words};

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
    // The bar comes first, as in a row; without one the mark stands at the edge.
    let [edge, next] = if selected { [Span::styled("▌", theme.bar), mark] } else { [mark, Span::raw(" ")] };
    let claim_style = if state.past || state.absent { theme.muted } else { theme.text };
    let name_style = match (selected, state.absent) {
        (true, _) => theme.selected,
        (false, true) => theme.muted,
        (false, false) => theme.focus,
    };
    let mut lines = vec![Line::from(vec![
        edge,
        next,
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
        // What was marked as seen no longer calls.
        let style = if model.fails(agent) { theme.error } else { theme.muted };
        if model.is_mine(agent) {
            put(text(model, &hint::title(failure)), style);
            let command = model.command(id, agent).map(|command| text(model, &format!("› {command}")));
            // Half a command is none.
            if let Some(command) = command.filter(|said| shown::width(said) <= wide.saturating_sub(4)) {
                put(command, theme.hint);
            }
        } else {
            let told = hint::of(failure).teammate.told;
            put(text(model, &format!("{}{told}", agent.pulse.owner)), style);
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

/// Lines that every card has where all are in sight.
const BRIEF: usize = 2;

fn card_at(model: &Model, width: u16, place: usize) -> Vec<Line<'static>> {
    let id = model.list.nth(place);
    let agent = id.and_then(|id| model.picture.agent(id));
    id.zip(agent).map_or_else(Vec::new, |(id, agent)| card(model, width, id, agent))
}

/// How many lines of each card there are rows for, and whether there are more rows to set them apart: what needs
/// somebody gets its third line first. `None`: not all cards fit.
fn fitting(model: &Model, area: Rect) -> Option<(Vec<usize>, bool)> {
    let (list, height) = (&model.list, usize::from(area.height));
    if list.len() > height {
        return None; // most of ten thousand cards are never made
    }
    let whole: Vec<usize> = (0..list.len()).map(|place| card_at(model, area.width, place).len()).collect();
    let mut lines: Vec<usize> = whole.iter().map(|lines| BRIEF.min(*lines)).collect();
    let mut left = height.checked_sub(lines.iter().sum())?;
    let mut places: Vec<usize> = (0..list.len()).collect();
    places.sort_by_key(|place| list.at(*place).map(|(_, standing)| standing.urgency()));
    for place in places {
        let more = (whole[place] - lines[place]).min(left);
        lines[place] += more;
        left -= more;
    }
    let apart = lines == whole && left + 1 >= list.len();
    Some((lines, apart))
}

/// The first of the cards up to the one at `last` that still fit into the pane together with it.
fn first_beside(model: &Model, last: usize, area: Rect) -> usize {
    let mut first = last;
    let mut used = 0;
    for place in (0..=last).rev() {
        used += card_at(model, area.width, place).len();
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
    let (lines, gap) = fitting.map_or((None, 0), |(lines, apart)| (Some(lines), usize::from(apart)));
    let top = model.list_top.min(model.list.len() - 1);
    let mut row = 0;
    let mut end = top;
    while end < model.list.len() {
        let mut card = card_at(model, area.width, end);
        if let Some(lines) = &lines {
            card.truncate(lines[end]);
        }
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

/// `! 2 ≠ 1`: how many failed, and how many clash.
pub fn marked(failed: usize, clash: usize) -> String {
    let counts = [(failed, "!"), (clash, warning::mark(Level::Clash))];
    let said =
        counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, mark)| format!("{mark} {count}"));
    said.collect::<Vec<_>>().join(" ")
}

/// The rule with the room's name, and what of its agents is in sight at these places.
pub fn title(canvas: &mut Canvas<'_>, model: &Model, area: Rect, seen: Range<usize>) {
    let theme = &model.look.theme;
    let (list, old) = (&model.list, as_of(model));
    let mut said: Vec<String> = Vec::new(); // the fullest first
    if !list.filter().is_empty() {
        let found = format!("{} of {}", list.matched(), list.total());
        let filter = text(model, list.filter().text());
        let room = usize::from(area.width).saturating_sub(found.len() + 15).max(8);
        let filter = shown::cut(&filter, room, model.look.glyphs.end());
        let [failed, clash] = list.calls_hidden();
        if failed + clash > 0 {
            let short = format!("{} hidden · {found}", marked(failed, clash));
            said.extend([
                format!("{} · {found} · {filter}", agents::hidden(model)),
                format!("{short} · {filter}"),
                short,
                format!("{} hidden · {found}", failed + clash),
            ]);
        }
        said.extend([format!("{found} · {filter}"), found]);
    } else if seen.len() < list.len() && !seen.is_empty() {
        let range = format!("{}–{} of {}", seen.start + 1, seen.end, list.len());
        let edge = |yours| {
            [(0..seen.start, "above"), (seen.end..list.len(), "below")].map(|(places, side)| {
                let [failed, clash] = list.calls_at(places, yours);
                (failed, clash, side)
            })
        };
        let yours: String = edge(true)
            .into_iter()
            .filter(|(failed, clash, _)| failed + clash > 0)
            .map(|(failed, clash, side)| format!(" · {} {side}", marked(failed, clash)))
            .collect();
        said.push(format!("{range}{yours}{}", agents::of_others(model, seen.clone())));
        said.push(format!("{range}{yours}"));
        let [(failed, clash, _), (failed_too, clash_too, _)] = edge(true);
        if !yours.is_empty() {
            said.push(format!("{range} · {}", marked(failed + failed_too, clash + clash_too)));
        }
        said.push(range);
    } else if old.is_empty() {
        said.push(header::working(model));
    }
    if let Some(at) = old.strip_prefix(" as of ") {
        // The time goes without its words before what it is the time of goes.
        let dated = said.iter().flat_map(|said| [format!("{said} · as of {at}"), format!("{said} · {at}")]);
        let dated: Vec<String> = dated.collect();
        said = if dated.is_empty() { vec![format!("as of {at}")] } else { [dated, said].concat() };
    }
    let fits = |said: &&String| shown::width(said) + 10 <= usize::from(area.width);
    let said = said.iter().find(fits).or(said.last()).cloned().unwrap_or_default();
    let project = Line::from(Span::styled(text(model, &model.picture.project), theme.focus));
    canvas.rule(area, 0, &project, &Line::from(Span::styled(said, theme.muted)));
}
