//! The last line: the keys that make sense here, from the table of keys.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::Parts;
use super::paint::Canvas;
use crate::shown;
use crate::tui::keys::{Action, Binding, Key};
use crate::tui::model::{Layout, Model};

/// Draws the footer. Whole hints go when it gets narrow, `? help` last.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model, parts: &Parts) {
    let theme = &model.look.theme;
    let told = model.notice.as_ref().map(|notice| (notice, theme.error));
    if let Some((told, style)) = told.or(model.did.as_ref().map(|did| (did, theme.hint))) {
        canvas.line(parts.footer, 0, &Line::from(Span::styled(format!(" {}", shown::line(told)), style)));
        return;
    }
    let short = model.layout() != Layout::Columns;
    let hint = |(binding, keys): (&Binding, &[Key])| -> Option<Vec<Span<'static>>> {
        let (long, brief) = binding.foot?;
        let key = model.look.glyphs.tell(&keys.first()?.name()).into_owned();
        let words = if short { brief } else { long };
        Some(vec![Span::styled(key, theme.hint), Span::styled(format!(" {words}"), theme.muted)])
    };
    let wide = |spans: &[Span<'_>]| -> usize { spans.iter().map(|s| shown::width(&s.content)).sum() };
    let here = || model.keys.rows().filter(|(binding, _)| model.holds(binding));
    let help = here().find(|(binding, _)| binding.action == Action::Help).and_then(hint).unwrap_or_default();
    let room = usize::from(parts.footer.width).saturating_sub(wide(&help) + 3);
    let mut spans = vec![Span::raw(" ")];
    let gap = if usize::from(parts.footer.width) < 60 { 2 } else { 3 };
    for row in here() {
        if row.0.action == Action::Help {
            continue;
        }
        let Some(hint) = hint(row) else { continue };
        if wide(&spans) + wide(&hint) > room {
            break;
        }
        spans.extend(hint);
        spans.push(Span::raw(" ".repeat(gap)));
    }
    canvas.line(parts.footer, 0, &Line::from(spans));
    let edge = Rect { width: parts.footer.width.saturating_sub(1), ..parts.footer };
    canvas.right(edge, 0, &Line::from(help));
}
