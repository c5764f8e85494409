//! The strip below the room: what happened last, or the demo's story.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::paint::Canvas;
use super::{Parts, pad, text};
use crate::change::{self, Change};
use crate::picture::Happening;
use crate::shown;
use crate::tui::model::{Layout, Model, Panel};
use crate::warning::{self, Tense};
use crate::words;

/// Draws the strip where there is one.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model, parts: &Parts) {
    if parts.strip.height < 2 {
        return;
    }
    let body = Rect { y: parts.strip.y + 1, height: parts.strip.height - 1, ..parts.strip };
    if let Some(panel) = &model.panel {
        rule(canvas, model, parts, &panel.title);
        return canvas.lines(body, &story(model, panel, body.width), 0);
    }
    rule(canvas, model, parts, "Activity");
    let mut said = model.picture.log().rev().filter_map(|happening| line(model, happening));
    for row in 0..body.height {
        let Some(line) = said.next() else { break };
        canvas.line(body, row, &line);
    }
}

fn rule(canvas: &mut Canvas<'_>, model: &Model, parts: &Parts, title: &str) {
    let theme = &model.look.theme;
    canvas.rule(parts.strip, 0, &Line::from(Span::styled(title.to_owned(), theme.muted)), &Line::from(""));
    if model.layout() == Layout::Columns && parts.detail.width > 0 {
        let corner = Rect { x: parts.detail.x - 1, width: 1, ..parts.strip };
        canvas.line(corner, 0, &Line::from(Span::styled("┴", theme.border)));
    }
}

/// One happening as a line: time, mark, who, what. Nothing for a report that repeats the last one.
pub(super) fn line(model: &Model, happening: &Happening) -> Option<Line<'static>> {
    let theme = &model.look.theme;
    let zone = model.look.zone;
    let now = model.picture.room_time(model.local());
    let (at, mark, who, what) = match happening {
        Happening::Reported { at, before, after } => {
            let changes = change::between(before.as_deref(), after);
            let mark = match changes.first()? {
                Change::Failed(_) => "!",
                Change::Cleared => "✓",
                _ => " ",
            };
            // What weighs most stands alone; the rest is in the detail.
            let alone = matches!(changes[0], Change::Failed(_) | Change::Cleared | Change::Intends { .. });
            let told = if alone { &changes[..1] } else { &changes[..] };
            (Some(at), mark, after.agent_id.to_string(), words::changes(told))
        }
        Happening::Gone { at, agent_id } => (Some(at), " ", agent_id.to_string(), "left the room".to_owned()),
        Happening::Unknown { kind } => (
            None,
            " ",
            "the room".into(),
            format!("sent something new that this prickle does not know: {kind}"),
        ),
        Happening::Outage { from, to, missed } => {
            let caught = match missed {
                Some(0) => "nothing missed".into(),
                Some(missed) => format!("{} caught up with", words::count(*missed, "change")),
                None => "then a new picture".to_owned(),
            };
            let what = format!("for {} · {caught}", words::span(*to - *from));
            (Some(to), " ", "not connected".into(), what)
        }
        Happening::Clash { at, clash } => {
            (Some(at), warning::mark(clash.level), "clash".into(), warning::told(clash, Tense::Present))
        }
        Happening::ClashOver(ended) => {
            let what = format!("{} · {}", warning::told(&ended.conflict, Tense::Past), warning::over(ended));
            (Some(&ended.at), " ", "clash over".into(), what)
        }
        Happening::Clock { at, ahead } => {
            let what = format!("is {}, which ages are told by", words::clocks(*ahead));
            (Some(at), " ", "this clock".into(), what)
        }
    };
    let at = at.map_or_else(String::new, |at| zone.near(*at, now));
    let what = text(model, &what);
    Some(Line::from(vec![
        Span::styled(format!(" {at:<5}"), theme.muted),
        Span::styled(format!(" {mark} "), theme.error),
        Span::styled(pad(&shown::cut(&text(model, &who), 22, model.look.glyphs.end()), 16), theme.text),
        Span::raw(" "),
        Span::styled(what, if mark == "!" { theme.error } else { theme.text }),
    ]))
}

/// The story's lines at a width: what comes next, which is cut last, then what this is and what to try.
pub fn story(model: &Model, panel: &Panel, width: u16) -> Vec<Line<'static>> {
    let theme = &model.look.theme;
    let room = usize::from(width.saturating_sub(2));
    let mut lines = Vec::new();
    if let Some((wait, next)) = panel.next(model.local()) {
        // Two digits, so that a line doesn't break elsewhere when there is one less.
        let told = format!("In {:>2}s: {next}", wait.num_seconds() + 1);
        let parts = shown::wrap(&model.look.glyphs.tell(&told), room);
        lines.extend(parts.into_iter().map(|part| Line::from(Span::styled(format!(" {part}"), theme.hint))));
    }
    for said in &panel.lines {
        let parts = shown::wrap(&model.look.glyphs.tell(said), room);
        lines.extend(parts.into_iter().map(|part| Line::from(Span::styled(format!(" {part}"), theme.text))));
    }
    lines
}
