//! One agent whole: failure and what to do, what it says of itself, its intent, branch, task, files, decision.

use std::cmp::Reverse;
use std::sync::Arc;

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::failure::{self, Room};
use super::paint::Canvas;
use super::{Parts, activity, as_of, claim, field, text};
use crate::conflict::{Conflict, Level};
use crate::picture::{Agent, Happening};
use crate::tui::event;
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
    let theme = &model.look.theme;
    let focus = if model.pane == Pane::List { theme.muted } else { theme.focus };
    let name = Line::from(Span::styled(text(model, id.as_str()), focus));
    let old = as_of(model);
    let right = match (model.pane, model.layout()) {
        _ if !old.is_empty() => old.trim_start().to_owned(),
        (Pane::Open, _) => "Esc back".into(),
        (_, Layout::Stacked) => claim(model, agent),
        _ => String::new(),
    };
    if model.layout() == Layout::Columns && model.pane != Pane::Open {
        let (corner, rest) = split(parts.detail_title);
        canvas.line(corner, 0, &Line::from(Span::styled("┬", theme.border)));
        canvas.rule(rest, 0, &name, &Line::from(Span::styled(right, theme.muted)));
        for row in 0..area.height {
            let edge = Rect { x: area.x - 1, width: 1, ..area };
            canvas.line(edge, row, &Line::from(Span::styled("│", theme.border)));
        }
    } else {
        canvas.rule(parts.detail_title, 0, &name, &Line::from(Span::styled(right, theme.muted)));
    }
    let lines = lines(model, area);
    let top = model.detail_top.min(lines.len().saturating_sub(usize::from(area.height)));
    canvas.lines(area, &lines, top);
    let hidden = lines.len().saturating_sub(top + usize::from(area.height));
    if hidden > 0 && area.height > 1 {
        let last = Rect { y: area.bottom() - 1, height: 1, ..area };
        canvas.clear(last);
        let key = if model.pane == Pane::List { "Enter" } else { "j" };
        let more = format!(" … {} more · {key}", hidden + 1);
        canvas.line(last, 0, &Line::from(Span::styled(more, theme.muted)));
    }
}

fn split(area: Rect) -> (Rect, Rect) {
    (Rect { width: 1, ..area }, Rect { x: area.x + 1, width: area.width.saturating_sub(1), ..area })
}

/// What the key that copies takes: the command of one's own failed agent, else what to say about the worst that
/// stands in the agent's way.
pub fn copies(model: &Model) -> Option<String> {
    let (id, agent) = model.selection()?;
    if let Some(command) = failure::command(model, id, agent) {
        return Some(command.to_owned());
    }
    // What may be over needs no message.
    let worst = met(model, id).first().copied().filter(|_| !model.is_old())?;
    Some(warning::message(worst, model.owner.as_deref()).text)
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
    part(failure::lines(model, id, agent, Room { width, dense }));
    in_the_way(model, id, agent, width, dense).into_iter().for_each(&mut part);
    if !dense {
        part(claimed(model, agent, width));
    }
    part(fields(model, agent, width, dense));
    if !dense {
        part(failure::note(model, id, agent, Room { width, dense }));
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
    let told = event::listed(model).map(|entry| &entry.happening).filter(concerns);
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

/// What is in this agent's way, the worst first.
fn met<'m>(model: &'m Model, id: &AgentId) -> Vec<&'m Arc<Conflict>> {
    let now = model.picture.room_time(model.local());
    let of_agent = model.picture.conflicts_of(id, now).filter(|conflict| conflict.level > Level::Note);
    let mut found: Vec<&Arc<Conflict>> = of_agent.collect();
    found.sort_by_key(|conflict| (Reverse(conflict.level), Reverse(conflict.since)));
    found
}

/// Who is in this agent's way, a part each: the sentence, until when, and what to tell one's own agent.
fn in_the_way(
    model: &Model,
    id: &AgentId,
    agent: &Agent,
    width: usize,
    dense: bool,
) -> Vec<Vec<Line<'static>>> {
    /// More are counted: one agent that removes everything is in everybody's way.
    const MOST: usize = 3;
    let theme = &model.look.theme;
    let now = model.picture.room_time(model.local());
    let tense = if model.is_old() { Tense::Past } else { Tense::Present };
    let found = met(model, id);
    let mut parts = Vec::new();
    for (place, conflict) in found.iter().take(MOST).enumerate() {
        let mut out = Vec::new();
        let style = if conflict.level == Level::Clash { theme.clash } else { theme.risk };
        let sign = model.look.glyphs.tell(warning::mark(conflict.level)).into_owned();
        let say = |out: &mut Vec<Line<'static>>, said: &str, lead: Span<'static>| {
            for (i, part) in shown::wrap(&text(model, said), width.saturating_sub(4)).into_iter().enumerate()
            {
                let lead = if i == 0 { lead.clone() } else { Span::raw("   ") };
                out.push(Line::from(vec![lead, Span::styled(part, theme.text)]));
            }
        };
        let until = warning::until(conflict, tense, now, model.look.zone);
        if dense {
            // One text: a line that is half empty is dear here.
            let told = format!("{}. {until}", warning::told(conflict, tense));
            say(&mut out, &told, Span::styled(format!(" {sign} "), style));
            parts.push(out);
            continue;
        }
        say(
            &mut out,
            &format!("{}.", warning::told(conflict, tense)),
            Span::styled(format!(" {sign} "), style),
        );
        say(&mut out, &until, Span::raw("   "));
        // What to do is said once, of the worst; and not of what may be over.
        if place == 0 && tense == Tense::Present {
            if let Some(branches) = warning::branches(conflict) {
                say(&mut out, &branches, Span::raw("   "));
            }
            let message = warning::message(conflict, model.owner.as_deref());
            let copies = if failure::command(model, id, agent).is_none() { "y copies this" } else { "" };
            let to = text(model, &message.to);
            out.push(Line::default());
            let gap = width.saturating_sub(shown::width(&to) + copies.len() + 4);
            out.push(Line::from(vec![
                Span::styled(format!("   {to}"), theme.muted),
                Span::styled(
                    if gap > 2 { format!("{}{copies}", " ".repeat(gap)) } else { String::new() },
                    theme.muted,
                ),
            ]));
            say(&mut out, &message.text, Span::raw("   "));
        }
        parts.push(out);
    }
    if found.len() > MOST {
        let more = format!("   and {} more", found.len() - MOST);
        parts.push(vec![Line::from(Span::styled(more, theme.muted))]);
    }
    parts
}

/// What it said of itself, and when.
fn claimed(model: &Model, agent: &Agent, width: usize) -> Vec<Line<'static>> {
    let theme = &model.look.theme;
    let now = model.picture.room_time(model.local());
    let state = model.picture.claim(agent, now);
    let said = format!(" {}", claim(model, agent));
    let at = format!("last report {}", model.look.zone.near(agent.pulse.updated_at, now));
    let style = if state.past { theme.muted } else { theme.availability(state.availability) };
    let mut line = vec![Span::styled(said.clone(), style)];
    if shown::width(&said) + at.len() + 3 <= width {
        line.push(Span::raw(" ".repeat(width - shown::width(&said) - at.len() - 1)));
        line.push(Span::styled(at, theme.muted));
    }
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
    let now = model.picture.room_time(model.local());
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
