//! One agent whole: failure and what to do, what it says of itself, its intent, branch, task, files, decision.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::failure::{self, Room};
use super::paint::Canvas;
use super::{Parts, activity, at_edge, claim, copies, field, lasts, pane, runs, text};
use crate::conflict::{Conflict, Level};
use crate::picture::{Agent, Happening};
use crate::tui::event;
use crate::tui::keys::Action;
use crate::tui::model::{Layout, Model, Pane};
use crate::warning::{self, Tense};
use crate::wire::id::AgentId;
use crate::{shown, words};

/// Columns of a field's name with the blank behind it.
const LABEL: usize = 10;
/// Columns of the detail's text where it stands alone.
const WIDTH_MAX: usize = 100;

/// Draws the selected agent beside or below the list, or alone.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model, parts: &Parts) {
    let area = parts.detail;
    let Some((id, agent)) = model.selection().filter(|_| area.height > 0) else {
        return canvas.rule(parts.detail_title, 0, &Line::from(""), &Line::from(""));
    };
    lasts(canvas, model, agent);
    let theme = &model.look.theme;
    let focus = if model.pane == Pane::List { theme.muted } else { theme.focus };
    let name = Line::from(Span::styled(text(model, id.as_str()), focus));
    let aside = if model.layout() == Layout::Stacked { claim(model, agent) } else { String::new() };
    pane::frame(canvas, model, parts, &name, aside);
    let on = if model.pane == Pane::List { Action::Open } else { Action::Down };
    pane::body(canvas, model, area, &lines(model, area), on);
}

/// The detail's lines at a width.
pub fn lines(model: &Model, area: Rect) -> Vec<Line<'static>> {
    let Some((id, agent)) = model.selection() else { return Vec::new() };
    let open = model.pane == Pane::Open;
    // Sentences are not read better when they are longer.
    let width = usize::from(area.width).min(WIDTH_MAX);
    // Below the list every row is dear, and the claim stands in the title.
    let dense = model.layout() == Layout::Stacked && !open;
    let mut out = Vec::new();
    let mut part = |lines: Vec<Line<'static>>| {
        if lines.is_empty() {
            return;
        }
        // In a side pane there is no row for air at the top.
        if !dense && (!out.is_empty() || model.layout() != Layout::Cards) {
            out.push(Line::default());
        }
        out.extend(lines);
    };
    let room = Room { width, dense };
    part(failure::lines(model, id, agent, room));
    in_the_way(model, id, agent, room).into_iter().for_each(&mut part);
    if !dense {
        part(claimed(model, agent, width));
    }
    part(fields(model, agent, width, dense));
    if !dense {
        part(failure::note(model, id, agent, room));
    }
    if open && model.layout() == Layout::Columns {
        part(own_activity(model, id, usize::from(area.width)));
    }
    out
}

/// What happened with this agent, the newest first, below a rule.
fn own_activity(model: &Model, id: &AgentId, width: usize) -> Vec<Line<'static>> {
    let theme = &model.look.theme;
    let concerns = |happening: &&Happening| match happening {
        Happening::Reported { after, .. } => after.agent_id == *id,
        Happening::Gone { agent_id, .. } => agent_id == id,
        Happening::Clash { clash, .. } => clash.parties().iter().any(|party| party.id() == id),
        Happening::ClashOver(ended) => ended.conflict.parties().iter().any(|party| party.id() == id),
        _ => false,
    };
    let told = event::all(model).map(|entry| &entry.happening).filter(concerns);
    let mut lines: Vec<Line<'static>> = told.filter_map(|one| activity::line(model, one)).collect();
    if !lines.is_empty() {
        let title = "─ Activity ";
        let rule = "─".repeat(width.saturating_sub(shown::width(title)));
        let rule = [
            Span::styled("─", theme.border),
            Span::styled(" Activity ", theme.muted),
            Span::styled(rule, theme.border),
        ];
        lines.insert(0, Line::from(rule.to_vec()));
    }
    lines
}

/// Who is in this agent's way, a part each.
fn in_the_way(model: &Model, id: &AgentId, agent: &Agent, room: Room) -> Vec<Vec<Line<'static>>> {
    /// More are counted: one agent that removes everything is in everybody's way.
    const MOST: usize = 3;
    let found = model.in_the_way(id);
    let mut parts: Vec<_> = found.iter().take(MOST).map(|conflict| met(model, conflict, room)).collect();
    // What to do is said once, of the worst; and not of what may be over.
    if let (Some(worst), Some(part)) = (found.first(), parts.first_mut())
        && !room.dense
        && !model.is_old()
    {
        let key = if model.command(id, agent).is_none() { copies(model, "this") } else { String::new() };
        part.extend(what_to_do(model, worst, &key, room.width));
    }
    if found.len() > MOST {
        let more = format!("   and {} more", found.len() - MOST);
        parts.push(vec![Line::from(Span::styled(more, model.look.theme.muted))]);
    }
    parts
}

/// A clash or risk: the sentence, and until when.
fn met(model: &Model, conflict: &Conflict, room: Room) -> Vec<Line<'static>> {
    let theme = &model.look.theme;
    let tense = if model.is_old() { Tense::Past } else { Tense::Present };
    let style = match conflict.level {
        // What was marked as seen no longer calls.
        _ if model.seen.clash(conflict) => theme.muted,
        Level::Clash => theme.clash,
        Level::Risk | Level::Note => theme.risk,
    };
    let told = format!("{}.", warning::told(conflict, tense));
    let until = warning::until(conflict, tense, model.now(), model.look.zone);
    // A line that is half empty is dear below the list.
    let said = if room.dense { vec![format!("{told} {until}")] } else { vec![told, until] };
    let mut out: Vec<_> = said.iter().flat_map(|said| sentences(model, said, room.width)).collect();
    if let Some(lead) = out.first_mut().and_then(|line| line.spans.first_mut()) {
        *lead = Span::styled(format!(" {} ", model.look.glyphs.tell(warning::mark(conflict.level))), style);
    }
    out
}

/// Where it would show, and what to tell whom.
fn what_to_do(model: &Model, conflict: &Conflict, key: &str, width: usize) -> Vec<Line<'static>> {
    let muted = model.look.theme.muted;
    let message = warning::message(conflict, model.owner.as_deref());
    let mut out = Vec::new();
    if let Some(branches) = warning::branches(conflict) {
        out.extend(sentences(model, &branches, width));
    }
    let mut to = vec![Span::styled(format!("   {}", text(model, &message.to)), muted)];
    at_edge(&mut to, width, Span::styled(key.to_owned(), muted));
    out.extend([Line::default(), Line::from(to)]);
    out.extend(sentences(model, &message.text, width));
    out
}

/// A text in lines that stand behind a mark.
fn sentences(model: &Model, said: &str, width: usize) -> Vec<Line<'static>> {
    let parts = shown::wrap(&text(model, said), width.saturating_sub(4)).into_iter();
    let style = model.look.theme.text;
    parts.map(|part| Line::from(vec![Span::raw("   "), Span::styled(part, style)])).collect()
}

/// What it said of itself, and when.
fn claimed(model: &Model, agent: &Agent, width: usize) -> Vec<Line<'static>> {
    let theme = &model.look.theme;
    let now = model.now();
    let state = model.picture.claim(agent, now);
    let at = format!("last report {}", model.look.zone.near(agent.pulse.updated_at, now));
    let style = if state.past { theme.muted } else { theme.availability(state.availability) };
    let mut line = vec![Span::styled(format!(" {}", claim(model, agent)), style)];
    at_edge(&mut line, width, Span::styled(at, theme.muted));
    let mut out = vec![Line::from(line)];
    if !agent.pulse.doing.is_empty() {
        let style = if state.past { theme.muted } else { theme.text };
        for part in shown::wrap(&text(model, &agent.pulse.doing), width.saturating_sub(2)) {
            out.push(Line::from(Span::styled(format!(" {part}"), style)));
        }
    }
    out
}

fn fields(model: &Model, agent: &Agent, width: usize, dense: bool) -> Vec<Line<'static>> {
    let mut out = Vec::new();
    let pulse = &agent.pulse;
    let now = model.now();
    let mut put = |name: &str, value: &str| field(model, &mut out, width, name, value, LABEL);
    if dense && !pulse.doing.is_empty() {
        put("doing", &text(model, &pulse.doing));
    }
    match &pulse.intent {
        Some(intent) if intent.holds(now) => {
            // Offline a countdown would count against a room that nobody hears: a time stays true.
            let end = if model.is_old() {
                format!("until {}", model.look.zone.minute(intent.expires_at))
            } else {
                format!("{} left", words::left(intent.expires_at - now))
            };
            let paths = intent.paths.iter().map(|p| text(model, p));
            let areas = intent.areas.iter().map(|a| format!("area {}", text(model, a)));
            let named: Vec<String> = paths.chain(areas).collect();
            let kind = text(model, intent.kind.as_str());
            let more: String = intent.more.iter().map(|(k, v)| format!(" · {k}: {}", plain(v))).collect();
            match named.as_slice() {
                [one] => {
                    let said = format!("{kind} {one} · {end}{}", text(model, &more));
                    // A countdown is not torn apart: it goes below as a whole.
                    if shown::width(&said) + LABEL + 2 > width {
                        put("intent", &format!("{kind} {one}"));
                        put("", &format!("{end}{}", text(model, &more)));
                    } else {
                        put("intent", &said);
                    }
                }
                all => {
                    put("intent", &format!("{kind} · {end}{}", text(model, &more)));
                    all.iter().for_each(|one| put("", one));
                }
            }
        }
        _ if dense => {}
        _ => put("intent", "none"),
    }
    for (name, value) in [("branch", &pulse.branch), ("task", &pulse.task_id)] {
        if let Some(value) = value.as_ref().filter(|v| !v.is_empty()) {
            put(name, &text(model, value));
        }
    }
    if let Some(runs) = runs::in_short(model) {
        put("runs", &runs);
    }
    let files: Vec<String> = pulse.files.iter().map(|f| text(model, f)).collect();
    if dense && !files.is_empty() {
        put("files", &files.join("  "));
    } else {
        files.iter().enumerate().for_each(|(i, file)| put(if i == 0 { "files" } else { "" }, file));
    }
    if let Some(decision) = pulse.last_decision.as_ref().filter(|d| !d.is_empty()) {
        put("decided", &text(model, decision));
    }
    for (name, value) in &pulse.more {
        let name = text(model, name);
        put(&shown::cut(&name, LABEL - 1, model.look.glyphs.end()), &text(model, &plain(value)));
    }
    out
}

/// A member of a newer room as a person reads it.
pub(super) fn plain(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
