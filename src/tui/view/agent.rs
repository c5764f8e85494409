//! One agent whole: failure and what to do, what it says of itself, its intent, branch, task, files, decision.

use std::cmp::Reverse;
use std::sync::Arc;

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::paint::Canvas;
use super::{Parts, as_of, claim, field, text};
use crate::conflict::{Conflict, Level};
use crate::picture::{Agent, Since};
use crate::tui::model::{Layout, Model, Pane};
use crate::warning::{self, Tense};
use crate::wire::id::AgentId;
use crate::wire::pulse::RunFailure;
use crate::{hint, shown, words};

/// Columns of a field's name with the blank behind it.
const LABEL: usize = 10;

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
        let key = if model.pane == Pane::Open { "j" } else { "Enter" };
        let more = format!(" … {} more · {key}", hidden + 1);
        canvas.line(last, 0, &Line::from(Span::styled(more, theme.muted)));
    }
}

fn split(area: Rect) -> (Rect, Rect) {
    (Rect { width: 1, ..area }, Rect { x: area.x + 1, width: area.width.saturating_sub(1), ..area })
}

/// The detail's lines at a width.
pub fn lines(model: &Model, area: Rect) -> Vec<Line<'static>> {
    let Some((id, agent)) = model.selection() else { return Vec::new() };
    let width = usize::from(area.width);
    // Below the list every row is dear, and the claim stands in the title.
    let dense = model.layout() == Layout::Stacked && model.pane != Pane::Open;
    let mut out = Vec::new();
    if let Some(failure) = &agent.pulse.run_failure {
        if !dense {
            out.push(Line::default());
        }
        failed(model, agent, failure, width, dense, &mut out);
    }
    in_the_way(model, id, width, dense, &mut out);
    if !dense {
        out.push(Line::default());
        claimed(model, agent, width, &mut out);
        out.push(Line::default());
    } else if !agent.pulse.doing.is_empty() {
        field(model, &mut out, width, "doing", &text(model, &agent.pulse.doing), LABEL);
    }
    fields(model, agent, width, dense, &mut out);
    out
}

/// Who is in this agent's way, the worst first: the sentence, until when, and what to tell one's own agent.
fn in_the_way(model: &Model, id: &AgentId, width: usize, dense: bool, out: &mut Vec<Line<'static>>) {
    /// More are counted: one agent that removes everything is in everybody's way.
    const MOST: usize = 3;
    let theme = &model.look.theme;
    let now = model.picture.room_time(model.local());
    let of_agent = model.picture.conflicts_of(id, now).filter(|conflict| conflict.level > Level::Note);
    let mut found: Vec<&Arc<Conflict>> = of_agent.collect();
    found.sort_by_key(|conflict| (Reverse(conflict.level), Reverse(conflict.since)));
    let tense = if model.is_old() { Tense::Past } else { Tense::Present };
    for (place, conflict) in found.iter().take(MOST).enumerate() {
        if !dense {
            out.push(Line::default());
        }
        let style = if conflict.level == Level::Clash { theme.clash } else { theme.risk };
        let sign = model.look.glyphs.tell(warning::mark(conflict.level)).into_owned();
        let told = format!("{}.", text(model, &warning::told(conflict, tense)));
        for (i, part) in shown::wrap(&told, width.saturating_sub(4)).into_iter().enumerate() {
            let lead = if i == 0 { Span::styled(format!(" {sign} "), style) } else { Span::raw("   ") };
            out.push(Line::from(vec![lead, Span::styled(part, theme.text)]));
        }
        let mut rest = vec![warning::until(conflict, tense, now, model.look.zone)];
        // What to do is said once, of the worst; and not of what may be over.
        if !dense && place == 0 && tense == Tense::Present {
            rest.extend(warning::branches(conflict));
            let message = warning::message(conflict, model.owner.as_deref());
            rest.push(format!("{}: {}", message.to, message.text));
        }
        for said in rest.iter().filter(|said| !said.is_empty()) {
            for part in shown::wrap(&text(model, said), width.saturating_sub(4)) {
                out.push(Line::from(Span::styled(format!("   {part}"), theme.text)));
            }
        }
    }
    if found.len() > MOST {
        let more = format!("   and {} more", found.len() - MOST);
        out.push(Line::from(Span::styled(more, theme.muted)));
    }
}

/// The failure: its title and since when, and in the watcher's voice what to do.
fn failed(
    model: &Model,
    agent: &Agent,
    failure: &RunFailure,
    width: usize,
    dense: bool,
    out: &mut Vec<Line<'static>>,
) {
    let theme = &model.look.theme;
    let now = model.picture.room_time(model.local());
    let hint = hint::of(failure);
    let since = words::since(agent.failed.unwrap_or(Since::Before(now)), now, model.look.zone);
    let title = format!(" ! {}", text(model, &hint::title(failure)));
    if shown::width(&title) + since.len() + 3 <= width {
        let gap = " ".repeat(width - shown::width(&title) - since.len() - 1);
        out.push(Line::from(vec![
            Span::styled(title, theme.error),
            Span::raw(gap),
            Span::styled(since, theme.muted),
        ]));
    } else {
        out.push(Line::from(Span::styled(title, theme.error)));
        out.push(Line::from(Span::styled(format!("   {since}"), theme.muted)));
    }
    let sentences = |out: &mut Vec<Line<'static>>, said: &str| {
        for part in shown::wrap(&model.look.glyphs.tell(said), width.saturating_sub(4)) {
            out.push(Line::from(Span::styled(format!("   {part}"), theme.text)));
        }
    };
    if model.owner.as_ref().is_none_or(|me| *me == agent.pulse.owner) {
        sentences(out, &format!("{} {}", hint.meaning, hint.advice));
        commands(model, &hint, width, dense, out);
    } else {
        sentences(out, &format!("{}{}.", text(model, &agent.pulse.owner), hint.teammate));
        if hint::is_the_owners_alone(failure) {
            sentences(out, "Nothing for you to do.");
        }
    }
    for (name, value) in &failure.more {
        sentences(out, &text(model, &format!("{name}: {}", plain(value))));
    }
}

/// The commands, each alone on its line, so that a double or triple click takes it.
fn commands(model: &Model, hint: &hint::Hint, width: usize, dense: bool, out: &mut Vec<Line<'static>>) {
    let Some(command) = hint.command else { return others(model, hint, width, out) };
    if !dense {
        out.push(Line::default());
    }
    alone(model, command, width, out);
    if !dense {
        out.push(Line::default());
        others(model, hint, width, out);
    }
}

/// A command on lines of its own. It is never cut and never broken inside a word: too long, it wraps from the
/// first column on.
fn alone(model: &Model, command: &str, width: usize, out: &mut Vec<Line<'static>>) {
    let indent = if shown::width(command) + 6 <= width { "     " } else { "" };
    for part in shown::wrap(command, width.saturating_sub(indent.len())) {
        out.push(Line::from(Span::styled(format!("{indent}{part}"), model.look.theme.hint)));
    }
}

fn others(model: &Model, hint: &hint::Hint, width: usize, out: &mut Vec<Line<'static>>) {
    let theme = &model.look.theme;
    let label = hint.others.iter().map(|(when, _)| when.len()).max().unwrap_or(0) + 3;
    for (when, command) in hint.others {
        let name = Span::styled(format!("   {when:<label$}"), theme.muted);
        if 3 + label + command.len() <= width {
            out.push(Line::from(vec![name, Span::styled(*command, theme.hint)]));
        } else {
            out.push(Line::from(name));
            alone(model, command, width, out);
        }
    }
}

/// What it said of itself, and when.
fn claimed(model: &Model, agent: &Agent, width: usize, out: &mut Vec<Line<'static>>) {
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
    out.push(Line::from(line));
    if !agent.pulse.doing.is_empty() {
        let style = if state.past { theme.muted } else { theme.text };
        for part in shown::wrap(&text(model, &agent.pulse.doing), width.saturating_sub(2)) {
            out.push(Line::from(Span::styled(format!(" {part}"), style)));
        }
    }
}

fn fields(model: &Model, agent: &Agent, width: usize, dense: bool, out: &mut Vec<Line<'static>>) {
    let pulse = &agent.pulse;
    let now = model.picture.room_time(model.local());
    let mut put = |name: &str, value: &str| field(model, out, width, name, value, LABEL);
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
}

/// A member of a newer room as a person reads it.
fn plain(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
