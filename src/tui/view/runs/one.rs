//! One run whole: its numbers as they came, below the table or alone.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::columns;
use crate::shown;
use crate::tui::keys::Action;
use crate::tui::model::{Model, Pane};
use crate::tui::runs::listed;
use crate::tui::view::agent::plain;
use crate::tui::view::paint::Canvas;
use crate::tui::view::pane;
use crate::tui::view::{Parts, key, pad, text};
use crate::wire::run::AgentRun;

/// Columns of a field's name with the blank behind it.
const LABEL: usize = 12;
/// Columns of the widest text.
const WIDTH_MAX: usize = 120;
/// Columns that a field needs at least beside another.
const FIELD_MIN: usize = 32;

/// Draws the selected run.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model, parts: &Parts) {
    let area = parts.detail;
    let Some(run) = listed::record(model).filter(|_| area.height > 0) else { return };
    let theme = &model.look.theme;
    let focus = if model.pane == Pane::List { theme.muted } else { theme.focus };
    let id = columns::of_record(columns::Column::Run, run, model.look.zone, model.now()).text;
    let title = Line::from(Span::styled(format!("run {}", text(model, &id)), focus));
    let back = key(model, Action::Back).filter(|_| model.pane == Pane::Open);
    let back = back.map_or_else(String::new, |key| format!("{key} back"));
    canvas.rule(parts.detail_title, 0, &title, &Line::from(Span::styled(back, theme.muted)));
    let on = if model.pane == Pane::List { Action::Open } else { Action::Down };
    pane::body(canvas, model, area, &lines(model, area), on);
}

/// The lines of the selected run in an area.
pub fn lines(model: &Model, area: Rect) -> Vec<Line<'static>> {
    let Some(run) = listed::record(model) else { return Vec::new() };
    let width = usize::from(area.width).min(WIDTH_MAX);
    let fields = fields(model, run);
    let mut out = Vec::new();
    if model.pane == Pane::Open || area.height > 7 {
        out.push(Line::default());
    }
    // Side by side only what is whole there.
    let longest = fields.iter().map(|(_, value)| shown::width(value)).max().unwrap_or(0) + LABEL + 2;
    let beside = (1..=3).rev().find(|count| width / count >= longest.max(FIELD_MIN)).unwrap_or(1);
    for row in fields.chunks(beside) {
        if let [(name, value)] = row {
            field(model, &mut out, width, name, value);
            continue;
        }
        let mut line = Vec::new();
        for (name, value) in row {
            line.push(Span::styled(format!(" {}", pad(name, LABEL)), model.look.theme.muted));
            line.push(Span::styled(pad(value, width / beside - LABEL - 1), style(model, value)));
        }
        out.push(Line::from(line));
    }
    field(model, &mut out, width, "run id", &text(model, &run.run.run_id));
    let mut more = |name: &str, value: &str| field(model, &mut out, width, name, value);
    for (name, value) in &run.run.more {
        let name = text(model, name);
        more(&shown::cut(&name, LABEL - 1, model.look.glyphs.end()), &text(model, &plain(value)));
    }
    let source = match run.run.source.as_str() {
        "client_reported" => "as the agent app reported it".to_owned(),
        other => text(model, other),
    };
    more("source", &source);
    if run.run.exit_code.is_some_and(|code| code != 0) {
        out.push(Line::default());
        let said = "The record has no reason: why a run failed stands with the agent, in the room, until a later \
                    run of that task ends well.";
        let parts = shown::wrap(&model.look.glyphs.tell(said), width.saturating_sub(2));
        let style = model.look.theme.muted;
        out.extend(parts.into_iter().map(|part| Line::from(Span::styled(format!(" {part}"), style))));
    }
    out
}

/// A field over as many lines as it takes.
fn field(model: &Model, out: &mut Vec<Line<'static>>, width: usize, name: &str, value: &str) {
    for (row, part) in shown::wrap(value, width.saturating_sub(LABEL + 2).max(4)).into_iter().enumerate() {
        let name = if row == 0 { name } else { "" };
        let style = style(model, value);
        let label = Span::styled(format!(" {}", pad(name, LABEL)), model.look.theme.muted);
        out.push(Line::from(vec![label, Span::styled(part, style)]));
    }
}

fn style(model: &Model, value: &str) -> ratatui::style::Style {
    if value == NOT_KNOWN { model.look.theme.muted } else { model.look.theme.text }
}

const NOT_KNOWN: &str = "not known";

/// The run's fields, three that belong together after each other.
fn fields(model: &Model, run: &AgentRun) -> Vec<(&'static str, String)> {
    let AgentRun { agent_id, run } = run;
    let whole = |number: Option<i64>| number.map_or_else(|| NOT_KNOWN.to_owned(), columns::whole);
    let zone = model.look.zone;
    let reported = format!("{} {}", zone.day(run.reported_at), zone.second(run.reported_at));
    let time = match run.duration_ms {
        Some(ms) if ms < 1000 => columns::exact(ms),
        Some(ms) => format!("{} ({} ms)", columns::exact(ms), columns::whole(ms)),
        None => NOT_KNOWN.to_owned(),
    };
    let exit = match run.exit_code {
        Some(code) => columns::exit(Some(code)),
        None => NOT_KNOWN.to_owned(),
    };
    vec![
        ("reported", reported),
        ("agent", text(model, agent_id.as_str())),
        ("project", text(model, &run.project)),
        ("exit code", exit),
        ("time", time),
        ("task", text(model, &run.task_id)),
        ("tokens in", whole(run.input_tokens)),
        ("tokens out", whole(run.output_tokens)),
        ("turns", whole(run.turns)),
    ]
}
