//! The help: one popup with this view's keys and the legend, from the table of keys.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::paint::Canvas;
use crate::shown;
use crate::tui::keys::{Binding, Group};
use crate::tui::model::Model;

/// Columns of the popup's inside where there is room for them.
const INSIDE: u16 = 66;
/// Width from which on two groups stand side by side.
const TWO_FROM: u16 = 62;

/// Where the popup stands.
pub fn area(model: &Model) -> Rect {
    let (width, height) = model.size;
    let wide = (INSIDE + 4).min(width.saturating_sub(2));
    let probe = Rect { width: wide, height, ..Rect::default() };
    let lines = u16::try_from(lines(model, probe).len()).unwrap_or(u16::MAX);
    let high = lines.saturating_add(2).min(height.saturating_sub(2));
    Rect { x: (width - wide) / 2, y: 1 + height.saturating_sub(2 + high) / 2, width: wide, height: high }
}

/// The popup's lines at its width.
pub fn lines(model: &Model, area: Rect) -> Vec<Line<'static>> {
    let theme = &model.look.theme;
    let inside = usize::from(area.width.saturating_sub(4));
    let (most, column) = if area.width >= TWO_FROM { (2, 14) } else { (1, 8) };
    let group = |which: Group, title: &str| -> Vec<Vec<Span<'static>>> {
        let mut out = vec![vec![Span::styled(title.to_owned(), theme.focus)]];
        let here = |binding: &Binding| binding.group == which && binding.at.contains(&model.view);
        for (binding, keys) in model.keys.rows().filter(|(binding, _)| here(binding)) {
            let keys: Vec<String> = keys.iter().take(most).map(|k| k.name()).collect();
            let keys = model.look.glyphs.tell(&keys.join(" ")).into_owned();
            out.push(vec![
                Span::styled(format!(" {keys:<column$}"), theme.hint),
                Span::styled(binding.help, theme.text),
            ]);
        }
        out
    };
    let mut lines = vec![Line::default()];
    let stale = model.picture.stale_after.num_minutes();
    let signs = [
        "● working   ○ idle   ◌ online   z asleep   - away   × offline".to_owned(),
        format!("! its last run failed   ? said so more than {stale} minutes ago"),
    ];
    let glyphs = model.look.glyphs;
    let signs = signs.iter().flat_map(|text| shown::wrap(&glyphs.tell(text), inside));
    let legend: Vec<Line<'_>> = signs.map(|part| Line::from(Span::styled(part, theme.text))).collect();
    let (moving, mut others) = (group(Group::Move, "move"), group(Group::Look, "look"));
    others.push(Vec::new());
    others.extend(group(Group::List, "list"));
    others.push(Vec::new());
    others.extend(group(Group::Take, "take"));
    others.push(Vec::new());
    others.extend(group(Group::Leave, "program"));
    if area.width >= TWO_FROM {
        let half = inside - inside * 31 / 66;
        for row in 0..moving.len().max(others.len()) {
            let mut left = moving.get(row).cloned().unwrap_or_default();
            let wide: usize = left.iter().map(|s| shown::width(&s.content)).sum();
            left.push(Span::raw(" ".repeat(half.saturating_sub(wide))));
            left.extend(others.get(row).cloned().unwrap_or_default());
            lines.push(Line::from(left));
        }
        lines.push(Line::default());
        lines.extend(legend);
    } else {
        // The signs are what people open help for, and here not everything fits.
        lines.extend(legend);
        lines.push(Line::default());
        lines.extend(moving.into_iter().map(Line::from));
        lines.push(Line::default());
        lines.extend(others.into_iter().map(Line::from));
    }
    lines.push(Line::default());
    lines
}

/// Draws the popup over the dimmed view.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model) {
    let theme = &model.look.theme;
    let area = area(model);
    if area.height < 3 || area.width < 8 {
        return;
    }
    canvas.clear(area);
    let bar = "─".repeat(usize::from(area.width) - 2);
    let edge = |l: &str, r: &str| Line::from(Span::styled(format!("{l}{bar}{r}"), theme.border));
    canvas.line(area, 0, &edge("┌", "┐"));
    canvas.line(area, area.height - 1, &edge("└", "┘"));
    let side = Line::from(Span::styled("│", theme.border));
    for row in 1..area.height - 1 {
        canvas.line(area, row, &side);
        canvas.right(area, row, &side);
    }
    let title = Rect { x: area.x + 2, width: area.width - 4, ..area };
    canvas.line(title, 0, &Line::from(Span::styled(" Keys in the Room ", theme.focus)));
    let all = lines(model, area);
    let scrolls = all.len() > usize::from(area.height - 2);
    let close = if scrolls { " j k scroll · Esc closes " } else { " Esc or ? closes " };
    let close = Line::from(Span::styled(close, theme.muted));
    canvas.right(title, area.height - 1, &close);
    let inside = Rect { x: area.x + 2, y: area.y + 1, width: area.width - 4, height: area.height - 2 };
    canvas.lines(inside, &all, model.help.unwrap_or(0));
}
