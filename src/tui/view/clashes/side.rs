//! One side of a conflict: what it said, how long that holds, and what else it says of itself.

use ratatui::text::{Line, Span};

use super::tense;
use crate::conflict::Act;
use crate::tui::clashes::Row;
use crate::tui::model::{Model, Pane};
use crate::tui::view::{claim, pad, text};
use crate::warning::{self, Tense};
use crate::{hint, shown, words};

/// Columns of a field's name with the blanks behind it.
const LABEL: usize = 10;

/// The lines of one side of a row's conflict in so many columns: of one of two what meets the other, of the one
/// that many have in common all that it named; alone on the screen all that its agent says.
pub fn side(model: &Model, row: &Row, second: bool, width: usize) -> Vec<Line<'static>> {
    let theme = &model.look.theme;
    let conflict = &row.conflict;
    let party = if second { &conflict.second } else { &conflict.first };
    let pulse = &party.pulse;
    let whole = model.pane == Pane::Open;
    let body = if row.over.is_some() { theme.muted } else { theme.text };
    let mut out = Vec::new();
    let name = text(model, party.id().as_str());
    let yours = if model.owner.as_ref() == Some(&pulse.owner) { "yours" } else { "" };
    let name = shown::cut_middle(&name, width.saturating_sub(yours.len() + 4), model.look.glyphs.end());
    let gap = " ".repeat(width.saturating_sub(shown::width(&name) + yours.len() + 2));
    out.push(Line::from(vec![
        Span::styled(format!(" {name}"), theme.focus),
        Span::raw(gap),
        Span::styled(yours, theme.muted),
    ]));
    let mut put = |name: &str, value: &str| {
        let room = width.saturating_sub(LABEL + 4);
        let name = shown::cut(name, LABEL - 1, model.look.glyphs.end());
        for (i, part) in shown::wrap(value, room).into_iter().enumerate() {
            let name = pad(if i == 0 { &name } else { "" }, LABEL);
            out.push(Line::from(vec![
                Span::styled(format!("   {name}"), theme.muted),
                Span::styled(part, body),
            ]));
        }
    };
    let now = model.picture.agent(party.id());
    if whole && let Some(failure) = now.and_then(|agent| agent.pulse.run_failure.as_ref()) {
        put("failed", &text(model, &hint::title(failure)));
    }
    let kind = match party.intent() {
        Some(intent) => text(model, intent.kind.as_str()),
        None => "reported".to_owned(),
    };
    let mut met = warning::named(conflict, second);
    let mut besides: Vec<String> = party.intent().map_or_else(Vec::new, |intent| {
        let areas = intent.areas.iter().map(|area| format!("area {}", shown::line(area)));
        let all = intent.paths.iter().map(|path| shown::line(path)).chain(areas);
        all.filter(|named| !met.contains(named)).collect()
    });
    if row.around.is_some() {
        met.append(&mut besides);
    }
    for (i, named) in met.iter().enumerate() {
        put(if i == 0 { &kind } else { "" }, &text(model, named));
    }
    if conflict.more > 0 && row.around.is_none() {
        put("", &format!("and {} more there", conflict.more));
    }
    for (i, named) in besides.iter().filter(|_| whole).enumerate() {
        put(if i == 0 { "besides" } else { "" }, &text(model, named));
    }
    for (i, said) in said(model, row, second, width.saturating_sub(LABEL + 4)).iter().enumerate() {
        put(if i == 0 { "said" } else { "" }, said);
    }
    if whole && let Some(agent) = now.filter(|_| row.over.is_none()) {
        put("state", &claim(model, agent));
    }
    let mut field = |name: &str, value: Option<&str>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            put(name, &text(model, value));
        }
    };
    field("branch", pulse.branch.as_deref());
    field("doing", Some(&pulse.doing));
    field("task", pulse.task_id.as_deref());
    if whole {
        for (i, file) in pulse.files.iter().enumerate() {
            field(if i == 0 { "files" } else { "" }, Some(file));
        }
        field("decided", pulse.last_decision.as_deref());
    }
    out
}

/// `2m ago, holds until 15:00 · 28m left`, broken only between its parts.
fn said(model: &Model, row: &Row, second: bool, room: usize) -> Vec<String> {
    let conflict = &row.conflict;
    let party = if second { &conflict.second } else { &conflict.first };
    let (now, zone) = (model.now(), model.look.zone);
    let at = party.pulse.updated_at;
    let age = words::age(now - at);
    let mut parts = vec![if age == "now" { "just now".to_owned() } else { format!("{age} ago") }];
    let until = party.until();
    if row.over.is_none() {
        let holds = if party.act == Act::Intends { "holds" } else { "counts" };
        parts.push(format!("{holds} until {}", zone.near(until, now)));
    }
    if tense(model, row) == Tense::Present {
        parts.push(format!("{} left", words::left(until - now)));
    }
    let mut lines: Vec<String> = Vec::new();
    for (i, part) in parts.iter().enumerate() {
        let between = if i == 1 { ", " } else { " · " };
        match lines.last_mut() {
            Some(last) if shown::width(last) + shown::width(between) + shown::width(part) <= room => {
                last.push_str(between);
                last.push_str(part);
            }
            _ => lines.push(part.clone()),
        }
    }
    lines.iter().map(|line| text(model, line)).collect()
}

/// Lines beside lines, the right ones from a column on.
pub fn beside(left: Vec<Line<'static>>, right: Vec<Line<'static>>, column: usize) -> Vec<Line<'static>> {
    let rows = left.len().max(right.len());
    let (mut left, mut right) = (left.into_iter(), right.into_iter());
    let both = |_| {
        let mut line = left.next().unwrap_or_default();
        let used: usize = line.spans.iter().map(|span| shown::width(&span.content)).sum();
        line.spans.push(Span::raw(" ".repeat(column.saturating_sub(used))));
        line.spans.extend(right.next().unwrap_or_default().spans);
        line
    };
    (0..rows).map(both).collect()
}
