//! What happened, the newest first: each line tells one difference.

use ratatui::text::{Line, Span};

use super::paint::Canvas;
use super::{Parts, as_of, pad, text};
use crate::change::{self, Change};
use crate::picture::Happening;
use crate::shown;
use crate::tui::model::Model;
use crate::warning::{self, Tense};
use crate::words;

/// Draws the view.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model, parts: &Parts) {
    let theme = &model.look.theme;
    let title = Line::from(Span::styled(format!("Activity{}", as_of(model)), theme.focus));
    canvas.rule(parts.list_title, 0, &title, &Line::from(Span::styled("newest first", theme.muted)));
    canvas.lines(parts.list, &lines(model), model.activity_top);
}

/// All of its lines.
pub fn lines(model: &Model) -> Vec<Line<'static>> {
    model.picture.log().rev().filter_map(|happening| line(model, happening)).collect()
}

/// One happening as a line: time, mark, who, what. Nothing for a report that repeats the last one.
pub fn line(model: &Model, happening: &Happening) -> Option<Line<'static>> {
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
