//! The pane of what is selected, beside the list, below it or alone: its rule, its edge, and what fits of its lines.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::paint::Canvas;
use super::{Parts, as_of, key};
use crate::tui::keys::Action;
use crate::tui::model::{Layout, Model, Pane};

/// Draws the rule with its title; at its right how old the picture is, the way back, or else what is said `aside`.
/// Beside the list the pane has an edge, too.
pub fn frame(canvas: &mut Canvas<'_>, model: &Model, parts: &Parts, title: &Line<'_>, aside: String) {
    let theme = &model.look.theme;
    let area = parts.detail;
    let old = as_of(model);
    let right = match model.pane {
        _ if !old.is_empty() => old.trim_start().to_owned(),
        Pane::Open => key(model, Action::Back).map_or_else(String::new, |key| format!("{key} back")),
        Pane::List | Pane::Detail => aside,
    };
    let right = Line::from(Span::styled(right, theme.muted));
    let rule = parts.detail_title;
    if model.layout() != Layout::Columns || model.pane == Pane::Open {
        return canvas.rule(rule, 0, title, &right);
    }
    canvas.line(Rect { width: rule.width.min(1), ..rule }, 0, &Line::from(Span::styled("┬", theme.border)));
    let rest = Rect { x: rule.x + 1, width: rule.width.saturating_sub(1), ..rule };
    canvas.rule(rest, 0, title, &right);
    let edge = Rect { x: area.x - 1, width: 1, ..area };
    for row in 0..area.height {
        canvas.line(edge, row, &Line::from(Span::styled("│", theme.border)));
    }
}

/// Draws the lines from where they were scrolled to; of more than fit, how many, and the key that leads `on` to them.
pub fn body(canvas: &mut Canvas<'_>, model: &Model, area: Rect, lines: &[Line<'_>], on: Action) {
    let top = model.detail_top.min(lines.len().saturating_sub(usize::from(area.height)));
    canvas.lines(area, lines, top);
    let hidden = lines.len().saturating_sub(top + usize::from(area.height));
    if hidden > 0 && area.height > 1 {
        let last = Rect { y: area.bottom() - 1, height: 1, ..area };
        canvas.clear(last);
        let key = key(model, on).map_or_else(String::new, |key| format!(" · {key}"));
        let more = format!(" … {} more{key}", hidden + 1);
        canvas.line(last, 0, &Line::from(Span::styled(more, model.look.theme.muted)));
    }
}
