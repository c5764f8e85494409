//! The filter's line in place of the footer: what is typed, and what it comes to.

use ratatui::text::{Line, Span};

use super::paint::Canvas;
use super::{Parts, text};
use crate::tui::event;
use crate::tui::model::{Model, Typed, Typing, View};
use crate::tui::runs::listed;
use crate::{shown, words};

/// What the filter understands, as long as nothing is typed.
const LANGUAGE: &str = "text, s:working a:name o:owner b:branch f:path t:task, -s:idle";

/// What the filter of run records understands.
const OF_RECORDS: &str = "text, a:agent t:task p:project, -a:name";

/// Draws the line: `/ s:working f:src/▏   3 of 9`.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model, typing: &Typing, parts: &Parts) {
    let theme = &model.look.theme;
    let wide = usize::from(parts.footer.width);
    let end = model.look.glyphs.end();
    let fault = match typing.what {
        Typed::Filter { .. } => model.list.filter().fault(),
        Typed::Records => model.runs.filter.fault(),
        Typed::Keys => None,
    };
    let (told, told_style) = match fault {
        Some(fault) => (text(model, fault), theme.error),
        None if typing.what == Typed::Keys => ("a key, or what it does".to_owned(), theme.muted),
        None if typing.entry.text().is_empty() => {
            let language = if typing.what == Typed::Records { OF_RECORDS } else { LANGUAGE };
            (model.look.glyphs.tell(language).into_owned(), theme.muted)
        }
        None => (found(model), theme.muted),
    };
    let (before, after) = typing.entry.halves();
    let (before, after) = (text(model, before), text(model, after));
    let cursor = model.look.glyphs.tell("▏").into_owned();
    // What it comes to stays in sight, and so does the place where letters go.
    let typed = shown::width(&before) + shown::width(&after);
    let least = typed.min(wide.saturating_sub(7) / 2);
    let told = shown::cut(&told, wide.saturating_sub(least + 7), end).into_owned();
    let room = wide.saturating_sub(shown::width(&told) + 7);
    let (before, after) = if typed <= room {
        (before, after)
    } else {
        let tail = last(&before, room.saturating_sub(shown::width(end)));
        let head = if tail.len() < before.len() { format!("{end}{tail}") } else { before };
        let left = room.saturating_sub(shown::width(&head));
        (head, shown::cut(&after, left, "").into_owned())
    };
    let line = Line::from(vec![
        Span::styled(" / ", theme.hint),
        Span::styled(before, theme.text),
        Span::styled(cursor, theme.hint),
        Span::styled(after, theme.text),
        Span::raw("   "),
        Span::styled(told, told_style),
    ]);
    canvas.line(parts.footer, 0, &line);
}

/// What it comes to, in the view on the screen.
fn found(model: &Model) -> String {
    match model.view {
        View::Room => format!("{} of {}", model.list.matched(), model.list.total()),
        View::Clashes => words::count(model.clashes.all().len() as u64, "row"),
        View::Runs => {
            let rows = listed::listed(model);
            let sum = rows.as_ref().and_then(|rows| Some((rows.len(), listed::sum(model, rows)?.of?)));
            sum.map_or_else(String::new, |(rows, of)| format!("{rows} of {of}"))
        }
        View::Activity => {
            let events = event::listed(model).filter(|entry| event::is_selectable(entry));
            words::count(events.count() as u64, "event")
        }
    }
}

/// The end of a safe text, in at most so many columns.
fn last(text: &str, columns: usize) -> &str {
    use unicode_segmentation::UnicodeSegmentation;
    let mut used = 0;
    let mut from = text.len();
    for (at, letter) in text.grapheme_indices(true).rev() {
        used += shown::width(letter);
        if used > columns {
            break;
        }
        from = at;
    }
    &text[from..]
}
