//! A side pane that is too small for all cards: who needs a person, who works, and the rest in one line. Nobody is
//! left out, and nobody moves for having sent a report.

use std::collections::HashSet;

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::paint::Canvas;
use super::{Parts, cards, lasts, mark, pad, text};
use crate::picture::Agent;
use crate::tui::list::{Presence, Standing};
use crate::tui::model::Model;
use crate::wire::id::AgentId;
use crate::wire::pulse::Availability;
use crate::{hint, shown, words};

/// Columns in which an age stands at the right.
const AGE: usize = 6;
/// The same in a pane below 40 columns.
const AGE_NARROW: usize = 5;

/// Draws the zones over the rule's row and the list's.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model, parts: &Parts) {
    let theme = &model.look.theme;
    let area = Rect { y: parts.list_title.y, height: parts.list.height + 1, ..parts.list };
    let rows = usize::from(area.height);
    let told = parts.banner.height > 0;
    let zones = Zones::of(model, rows, usize::from(model.size.1 / 3).max(1), told);
    let names = names(model, &zones, area);
    let all = zones.pinned.iter().chain(&zones.working).chain(&zones.others);
    for agent in all.filter_map(|id| model.picture.agent(id)) {
        lasts(canvas, model, agent);
    }
    let mut y = 0;
    for id in &zones.pinned {
        canvas.line(area, y, &pinned(model, id, names, area));
        y += 1;
    }
    if zones.more > 0 {
        let yours = match zones.more_yours {
            0 => String::new(),
            1 => " · 1 needs you".into(),
            yours => format!(" · {yours} need you"),
        };
        canvas.line(area, y, &Line::from(Span::styled(format!("! {} more{yours}", zones.more), theme.error)));
        y += 1;
    }
    cards::title(canvas, model, Rect { y: area.y + y, height: 1, ..area }, 0..model.list.len());
    y += 1;
    for id in zones.working.iter().chain(&zones.others) {
        canvas.line(area, y, &one(model, id, names, area));
        y += 1;
    }
    if let Some(said) = zones.rest(usize::from(area.width)) {
        canvas.line(area, y, &Line::from(Span::styled(said, theme.muted)));
        y += 1;
    }
    cards::reason(canvas, model, area, y);
}

/// Who is in which zone.
struct Zones<'a> {
    /// In sight because a person is needed.
    pinned: Vec<&'a AgentId>,
    /// Those who need a person too, and have no row.
    more: usize,
    /// The watcher's among them.
    more_yours: usize,
    /// In sight because they work.
    working: Vec<&'a AgentId>,
    /// Everybody else, where there is a row for each.
    others: Vec<&'a AgentId>,
    /// Everybody else where there is not: at work, free, said something too long ago, not here, something else.
    rest: [usize; 5],
}

impl<'a> Zones<'a> {
    /// The zones in so many rows, of which so many at most are for those who need a person: the watcher first. Where
    /// a banner has `told` of a trouble, others who have it need no row for that.
    fn of(model: &'a Model, rows: usize, most: usize, told: bool) -> Self {
        let troubles = model.picture.troubles().iter().filter(|_| told);
        let told: HashSet<&AgentId> = troubles.flat_map(|t| t.agents.iter().map(|(id, _)| id)).collect();
        let calls = |(id, standing): &(&AgentId, Standing)| {
            let told = !standing.needs_you && told.contains(id) && !model.clashes(id);
            standing.call.is_some() && !told
        };
        let mut calling: Vec<(&AgentId, Standing)> = model.list.iter().filter(calls).collect();
        calling.sort_by_key(|(id, standing)| (!standing.needs_you, told.contains(id), standing.call));
        // The rule and the line of the rest stand in any case.
        let most = most.min(rows.saturating_sub(2));
        let pins = if calling.len() > most { most.saturating_sub(1) } else { calling.len() };
        let (pinned, more) = if most == 0 { (&[][..], &[][..]) } else { calling.split_at(pins) };
        let without_row = most == 0;
        let left = rows.saturating_sub(pinned.len() + usize::from(!more.is_empty()) + 1);
        let counted = |agent: &(&AgentId, Standing)| without_row || !calls(agent);
        let works = |standing: &Standing| standing.presence == Presence::Working;
        let at_work = || model.list.iter().filter(|(_, standing)| works(standing));
        let idle = || model.list.iter().filter(|agent| !works(&agent.1) && counted(agent));
        let (mut working, mut others) = (ids(at_work().take(left + 1)), ids(idle().take(left + 1)));
        let mut rest = [0; 5];
        // One line sums the rest, unless there is a row for each.
        if working.len() + others.len() > left {
            others.clear();
            working.truncate(left.saturating_sub(1));
            for (_, standing) in at_work().skip(working.len()).filter(counted).chain(idle()) {
                rest[standing.presence as usize] += 1;
            }
        }
        Self {
            pinned: ids(pinned.iter().copied()),
            more: more.len(),
            more_yours: more.iter().filter(|(_, standing)| standing.needs_you).count(),
            working,
            others,
            rest,
        }
    }

    /// ` + 3 working · 5 idle or online · 6 not here`, in fewer words where that is too wide.
    fn rest(&self, columns: usize) -> Option<String> {
        let all: usize = self.rest.iter().sum();
        if all == 0 {
            return None;
        }
        let told = |names: [&str; 5]| -> String {
            let parts: Vec<String> = (self.rest.iter().zip(names))
                .filter(|(count, _)| **count > 0)
                .map(|(count, name)| format!("{count} {name}"))
                .collect();
            format!(" + {}", parts.join(" · "))
        };
        let mut said = vec![
            told(["working", "idle or online", "stale", "not here", "otherwise"]),
            told(["working", "free", "stale", "not here", "other"]),
        ];
        match self.rest[0] {
            0 => {}
            working if working == all => {}
            working => said.push(format!(" + {working} working · {} others", all - working)),
        }
        said.push(format!(" + {all} more"));
        said.into_iter().find(|said| shown::width(said) <= columns).or(Some(format!(" + {all}")))
    }
}

fn ids<'a>(of: impl Iterator<Item = (&'a AgentId, Standing)>) -> Vec<&'a AgentId> {
    of.map(|(id, _)| id).collect()
}

/// Columns of the names in all zones.
fn names(model: &Model, zones: &Zones<'_>, area: Rect) -> usize {
    let all = zones.pinned.iter().chain(&zones.working).chain(&zones.others);
    let widest = all.map(|id| shown::width(&text(model, id.as_str()))).max().unwrap_or(0);
    widest.min((usize::from(area.width) / 2).max(8))
}

/// Who needs a person, and for what.
fn pinned(model: &Model, id: &AgentId, names: usize, area: Rect) -> Line<'static> {
    let theme = &model.look.theme;
    let end = model.look.glyphs.end();
    let Some(agent) = model.picture.agent(id) else { return Line::default() };
    let gap = if area.width < 40 { 2 } else { 3 };
    let room = usize::from(area.width).saturating_sub(2 + names + gap);
    let (said, style) = match &agent.pulse.run_failure {
        Some(failure) if model.fails(agent) => (text(model, &hint::title(failure)), theme.error),
        _ => (at(model, agent, room), theme.text),
    };
    Line::from(vec![
        mark(model, id, agent),
        Span::raw(" "),
        Span::styled(
            pad(&shown::cut_middle(&text(model, id.as_str()), names, end), names + gap),
            theme.focus,
        ),
        Span::styled(shown::cut(&said, room, end).into_owned(), style),
    ])
}

/// What one agent does, and since when; what it says of itself, unless that is what its zone is about.
fn one(model: &Model, id: &AgentId, names: usize, area: Rect) -> Line<'static> {
    let theme = &model.look.theme;
    let end = model.look.glyphs.end();
    let Some(agent) = model.picture.agent(id) else { return Line::default() };
    let claim = model.picture.claim(agent, model.now());
    let wide = if area.width < 40 { AGE_NARROW } else { AGE };
    let room = usize::from(area.width).saturating_sub(2 + names + wide + 1);
    let works = *claim.availability == Availability::Working && !claim.past;
    let quiet = claim.past || claim.absent;
    let body = if quiet { theme.muted } else { theme.text };
    let mut said = text(model, &agent.pulse.doing);
    if let Some(failure) = agent.pulse.run_failure.as_ref().filter(|_| !works) {
        said = text(model, &hint::title(failure)); // what it did before is old news
    } else if said.is_empty() {
        said = at(model, agent, room);
    }
    if !works {
        let doubt = if claim.stale { " ?" } else { "" };
        let gap = if said.is_empty() { "" } else { " · " };
        said = format!("{}{said}", text(model, &format!("{}{doubt}{gap}", words::claim(&claim))));
    }
    let sign = if claim.past { theme.muted } else { theme.availability(claim.availability) };
    let name = if claim.absent { theme.muted } else { theme.focus };
    Line::from(vec![
        Span::styled(words::glyph(claim.availability), sign),
        Span::raw(" "),
        Span::styled(pad(&shown::cut_middle(&text(model, id.as_str()), names, end), names), name),
        Span::styled(format!("{:>wide$} ", words::age(claim.age)), theme.muted),
        Span::styled(shown::cut(&said, room, end).into_owned(), body),
    ])
}

/// What an agent is about to do, else what it does.
fn at(model: &Model, agent: &Agent, room: usize) -> String {
    let intent = agent.pulse.intent.as_ref().filter(|intent| intent.holds(model.now()));
    intent.map_or_else(|| text(model, &agent.pulse.doing), |intent| cards::intends(model, intent, room))
}
