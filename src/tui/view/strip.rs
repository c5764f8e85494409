//! The strip below the room: what happened last, or the demo's story.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::paint::Canvas;
use super::{Parts, activity, runs};
use crate::shown;
use crate::tui::event;
use crate::tui::model::{Layout, Model, Panel, View};

/// Draws the strip where there is one.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model, parts: &Parts) {
    if parts.strip.height < 2 {
        return;
    }
    let body = Rect { y: parts.strip.y + 1, height: parts.strip.height - 1, ..parts.strip };
    if let Some(panel) = &model.panel {
        rule(canvas, model, parts, &panel.title);
        let mut shown: Vec<Line<'static>> = Vec::new();
        // A line of it is there whole or not at all; what comes next, in any case.
        for said in told(model, panel, body.width) {
            if shown.is_empty() || shown.len() + said.len() <= usize::from(body.height) {
                shown.extend(said);
            }
        }
        return canvas.lines(body, &shown, 0);
    }
    rule(canvas, model, parts, "Activity");
    let mut said = event::listed(model).filter_map(|entry| activity::line(model, &entry.happening));
    for row in 0..body.height {
        let Some(line) = said.next() else { break };
        canvas.line(body, row, &line);
    }
}

fn rule(canvas: &mut Canvas<'_>, model: &Model, parts: &Parts, title: &str) {
    let theme = &model.look.theme;
    canvas.rule(parts.strip, 0, &Line::from(Span::styled(title.to_owned(), theme.muted)), &Line::from(""));
    // Where an edge between two panes ends.
    let edge = match model.view {
        View::Runs => runs::edge(model, parts),
        View::Room | View::Clashes | View::Activity => {
            parts.detail.x.checked_sub(1).filter(|_| parts.detail.width > 0)
        }
    };
    if let Some(x) = edge.filter(|_| model.layout() == Layout::Columns) {
        let corner = Rect { x, width: 1, ..parts.strip };
        canvas.line(corner, 0, &Line::from(Span::styled("┴", theme.border)));
    }
}

/// The story's lines at a width: what comes next, which is cut last, then what this is and what to try.
pub fn story(model: &Model, panel: &Panel, width: u16) -> Vec<Line<'static>> {
    told(model, panel, width).into_iter().flatten().collect()
}

/// The same, the rows of each line together.
fn told(model: &Model, panel: &Panel, width: u16) -> Vec<Vec<Line<'static>>> {
    let theme = &model.look.theme;
    let room = usize::from(width.saturating_sub(2));
    let mut lines = Vec::new();
    if let Some((wait, next)) = panel.next(model.local()) {
        // Two digits, so that a line doesn't break elsewhere when there is one less.
        let told = format!("In {:>2}s: {next}", wait.num_seconds() + 1);
        let parts = shown::wrap(&model.look.glyphs.tell(&told), room);
        let rows = parts.into_iter().map(|part| Line::from(Span::styled(format!(" {part}"), theme.hint)));
        lines.push(rows.collect());
    }
    for said in &panel.lines {
        let parts = shown::wrap(&model.look.glyphs.tell(said), room);
        let rows = parts.into_iter().map(|part| Line::from(Span::styled(format!(" {part}"), theme.text)));
        lines.push(rows.collect());
    }
    lines
}
