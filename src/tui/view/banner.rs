//! One line over the list while a service fails for several owners, in place of a hint for each.

use ratatui::text::{Line, Span};

use super::Parts;
use super::paint::Canvas;
use crate::trouble::Trouble;
use crate::tui::model::Model;

/// Rows that the line takes.
pub fn rows(model: &Model) -> u16 {
    /// With fewer rows the agents need them all.
    const FROM: u16 = 8;
    u16::from(model.size.1 >= FROM && !model.picture.troubles().is_empty())
}

/// Draws it: how many first, in as many words as there is room for.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model, parts: &Parts) {
    if parts.banner.height == 0 {
        return;
    }
    let room = usize::from(parts.banner.width).saturating_sub(2);
    let mut line = Line::default();
    for much in [Much::All, Much::Since, Much::Who, Much::Count] {
        line = told(model, much);
        if line.width() <= room {
            break;
        }
    }
    line.spans.insert(0, Span::raw(" "));
    canvas.line(parts.banner, 0, &line);
}

/// How much of it there is room for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Much {
    Count,
    Who,
    Since,
    All,
}

fn told(model: &Model, much: Much) -> Line<'static> {
    let theme = &model.look.theme;
    let now = model.now();
    let mut line = Line::default();
    for trouble in model.picture.troubles() {
        if !line.spans.is_empty() {
            line.push_span(Span::styled(" · ", theme.muted));
        }
        let owners = trouble.owners();
        let noun = if owners == 1 { "owner" } else { "owners" };
        let s = if owners == 1 { "'s" } else { "'" };
        let have = match (model.is_old(), owners) {
            (true, _) => "had",
            (false, 1) => "still have",
            (false, _) => "have",
        };
        let service = trouble.service;
        let title = if much == Much::Count {
            format!("{owners} {noun}: {service} service trouble")
        } else {
            format!("{owners} {noun}{s} agents {have} {service} service trouble")
        };
        line.push_span(Span::styled(title, theme.error));
        let mut rest = String::new();
        if let Some(since) = trouble.since().filter(|_| much >= Much::Since) {
            rest.push_str(&format!(" since {}", model.look.zone.near(since, now)));
        }
        // Of a picture that is old nobody knows whether to wait.
        if much == Much::All && !model.is_old() {
            rest.push_str(": wait, then retry");
        }
        line.push_span(Span::styled(rest, theme.text));
    }
    line
}

/// What the detail of such an agent says instead of its hint.
pub fn reference(trouble: &Trouble) -> String {
    let whose = if trouble.owners() == 2 { "another owner" } else { "other owners" };
    format!("Agents of {whose} have it too, as told at the top.")
}
