//! Putting lines into the buffer: cut by column between letters, and wide letters kept whole.
//!
//! ratatui's own widgets let bidi and zero-width characters through, cut without a sign, and count some widths
//! differently from the terminal. Texts come here safe (`shown`); what still could move a cursor is left out.

use std::borrow::Cow;

use chrono::TimeDelta;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;

use crate::shown;
use crate::tui::model::Look;

/// The buffer, and how things look.
pub struct Canvas<'a> {
    buffer: &'a mut Buffer,
    /// Looks.
    pub look: &'a Look,
    lasts: Option<TimeDelta>,
}

impl<'a> Canvas<'a> {
    /// A canvas on all of `buffer`.
    pub fn new(buffer: &'a mut Buffer, look: &'a Look) -> Self {
        Self { buffer, look, lasts: None }
    }

    /// All of it.
    pub fn area(&self) -> Rect {
        self.buffer.area
    }

    /// Something that was drawn looks different after so long, though nothing is heard.
    pub fn lasts(&mut self, time: TimeDelta) {
        self.lasts = Some(self.lasts.map_or(time, |lasts| lasts.min(time)));
    }

    /// How long all that was drawn looks as it does; `None`: until something is heard.
    pub fn stays(&self) -> Option<TimeDelta> {
        self.lasts
    }

    /// Writes a line at the area's row `row`, cut with a sign where it is too long.
    pub fn line(&mut self, area: Rect, row: u16, line: &Line<'_>) {
        if row >= area.height || area.width == 0 {
            return;
        }
        let end = self.look.glyphs.end();
        let texts: Vec<(Cow<'_, str>, Style)> =
            line.spans.iter().map(|s| (self.look.glyphs.tell(&s.content), s.style)).collect();
        let total: usize = texts.iter().map(|(t, _)| shown::width(t)).sum();
        let room = usize::from(area.width);
        let mut left = room;
        for (text, style) in texts {
            let x = area.x + u16::try_from(room - left).unwrap_or(0);
            let wide = shown::width(&text);
            if wide > left || (total > room && wide == left) {
                let cut = if total > room { cut(&text, left, end) } else { text };
                self.put(x, area.y + row, left, &cut, style);
                return;
            }
            self.put(x, area.y + row, left, &text, style);
            left -= wide;
        }
    }

    /// Writes lines from `top` on, as many as fit.
    pub fn lines(&mut self, area: Rect, lines: &[Line<'_>], top: usize) {
        for (row, line) in (0..area.height).zip(lines.iter().skip(top)) {
            self.line(area, row, line);
        }
    }

    /// Writes a line at the right edge of the area's row.
    pub fn right(&mut self, area: Rect, row: u16, line: &Line<'_>) {
        let wide: usize = line.spans.iter().map(|s| shown::width(&self.look.glyphs.tell(&s.content))).sum();
        let wide = u16::try_from(wide).unwrap_or(u16::MAX).min(area.width);
        let area = Rect { x: area.x + area.width - wide, width: wide, ..area };
        self.line(area, row, line);
    }

    /// A rule over the whole width with a title near its left end and another text near its right end.
    pub fn rule(&mut self, area: Rect, row: u16, title: &Line<'_>, right: &Line<'_>) {
        let border = self.look.theme.border;
        let bar = "─".repeat(usize::from(area.width));
        self.line(area, row, &Line::from(Span::styled(bar, border)));
        let width = |line: &Line<'_>| -> usize {
            line.spans.iter().map(|s| shown::width(&self.look.glyphs.tell(&s.content))).sum()
        };
        let (wide, other) = (width(title), width(right));
        let room = usize::from(area.width);
        let shows_right = other > 0 && room > other + 4;
        if shows_right {
            self.framed(
                area,
                row,
                area.right().saturating_sub(u16::try_from(other + 3).unwrap_or(0)),
                other,
                right,
            );
        }
        let used = if shows_right { other + 4 } else { 1 };
        if wide > 0 && room > used + 4 {
            self.framed(area, row, area.x + 1, wide.min(room - used - 4), title);
        }
    }

    /// A line in so many columns, with a blank before and behind it.
    fn framed(&mut self, area: Rect, row: u16, x: u16, columns: usize, line: &Line<'_>) {
        let columns = u16::try_from(columns).unwrap_or(0);
        self.clear(Rect { x, y: area.y + row, width: columns + 2, height: 1 });
        self.line(Rect { x: x + 1, width: columns, ..area }, row, line);
    }

    /// Makes the area's style so, on top of what is there.
    pub fn tint(&mut self, area: Rect, style: Style) {
        self.buffer.set_style(area.intersection(self.buffer.area), style);
    }

    /// Gives all that has no colour yet the theme's own, where it paints a background: the last thing to do.
    pub fn ground(&mut self) {
        let Some(ground) = self.look.theme.ground() else { return };
        for cell in &mut self.buffer.content {
            if cell.fg == Color::Reset {
                cell.fg = ground.fg.unwrap_or_default();
            }
            if cell.bg == Color::Reset {
                cell.bg = ground.bg.unwrap_or_default();
            }
        }
    }

    /// Empties an area.
    pub fn clear(&mut self, area: Rect) {
        let area = area.intersection(self.buffer.area);
        for y in area.top()..area.bottom() {
            self.cut_off(area.left(), y);
            for x in area.left()..area.right() {
                self.buffer[(x, y)].reset();
            }
        }
    }

    /// Takes away the wide letter that reaches into this cell from the left: it would be drawn over what comes.
    fn cut_off(&mut self, x: u16, y: u16) {
        if let Some(before) = x.checked_sub(1)
            && shown::width(self.buffer[(before, y)].symbol()) > 1
        {
            self.buffer[(before, y)].set_symbol(" ");
        }
    }

    fn put(&mut self, mut x: u16, y: u16, room: usize, text: &str, style: Style) {
        let mut left = room;
        let edge = self.buffer.area.right();
        if y >= self.buffer.area.bottom() {
            return;
        }
        if x < edge {
            self.cut_off(x, y);
        }
        for letter in text.graphemes(true) {
            let wide = shown::width(letter);
            let columns = u16::try_from(wide).unwrap_or(u16::MAX);
            if letter.chars().any(char::is_control) || wide == 0 {
                continue;
            }
            if wide > left || x.saturating_add(columns) > edge {
                return;
            }
            // Styles add up in a cell: without this, a bold title over a dim rule would be both.
            self.buffer[(x, y)].reset();
            self.buffer[(x, y)].set_symbol(letter).set_style(style);
            for rest in 1..columns {
                self.buffer[(x + rest, y)].reset();
            }
            x += columns;
            left -= wide;
        }
    }
}

/// Cuts a text that has to end with the sign even if it would just fit, because more was to follow.
fn cut<'t>(text: &'t str, columns: usize, end: &str) -> Cow<'t, str> {
    if shown::width(text) > columns {
        shown::cut(text, columns, end)
    } else {
        Cow::Owned(format!("{}{end}", shown::cut(text, columns.saturating_sub(shown::width(end)), "")))
    }
}
