//! Who would undo whose work: each clash, risk and note as a sentence, and the selected one whole.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::paint::Canvas;
use super::{Parts, as_of, text};
use crate::conflict::{Conflict, Level};
use crate::shown;
use crate::tui::model::Model;
use crate::warning::{self, Tense};

/// Draws the view.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model, parts: &Parts) {
    let theme = &model.look.theme;
    let title = Line::from(Span::styled(format!("Clashes{}", as_of(model)), theme.focus));
    canvas.rule(parts.list_title, 0, &title, &Line::default());
    let mut row = 0;
    for (place, conflict) in
        model.picture.conflicts(model.now()).into_iter().enumerate().skip(model.clash_top)
    {
        for line in entry(model, conflict, place == model.clash, parts.list.width) {
            canvas.line(parts.list, row, &line);
            row += 1;
        }
        row += 1;
    }
}

fn entry(model: &Model, conflict: &Conflict, selected: bool, width: u16) -> Vec<Line<'static>> {
    let theme = &model.look.theme;
    let tense = if model.is_old() { Tense::Past } else { Tense::Present };
    let style = match conflict.level {
        Level::Clash => theme.clash,
        Level::Risk => theme.risk,
        Level::Note => theme.note,
    };
    let bar = if selected { Span::styled("▌", theme.bar) } else { Span::raw(" ") };
    let told =
        shown::wrap(&text(model, &warning::told(conflict, tense)), usize::from(width).saturating_sub(4));
    let mark = |i| if i == 0 { warning::mark(conflict.level) } else { " " };
    let line = |(i, part)| {
        Line::from(vec![
            bar.clone(),
            Span::styled(format!("{} ", mark(i)), style),
            Span::styled(part, theme.text),
        ])
    };
    told.into_iter().enumerate().map(line).collect()
}

/// The first conflict to draw so that the selected one is in sight.
pub fn top(model: &Model, area: Rect) -> usize {
    let conflicts = model.picture.conflicts(model.now());
    let mut first = model.clash.min(conflicts.len().saturating_sub(1));
    let mut used = 0;
    for (place, conflict) in conflicts.iter().enumerate().take(model.clash + 1).rev() {
        used += entry(model, conflict, false, area.width).len() + 1;
        if used > usize::from(area.height) + 1 {
            break;
        }
        first = place;
    }
    model.clash_top.min(model.clash).max(first)
}
