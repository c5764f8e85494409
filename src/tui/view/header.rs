//! The first line: what needs a person, how many work, and the connection in words.

use ratatui::text::{Line, Span};

use super::paint::Canvas;
use super::{Parts, caught_up, text};
use crate::conflict::Level;
use crate::picture::Connection;
use crate::tui::model::{Layout, Model};
use crate::{shown, words};

/// Draws the header.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model, parts: &Parts) {
    let theme = &model.look.theme;
    let cards = model.layout() == Layout::Cards;
    let mut spans = vec![Span::raw(" ")];
    if !cards {
        spans.push(Span::styled(shown::line(&model.picture.project), theme.focus));
        spans.push(Span::raw("   "));
    }
    let edge = Span::raw(" ");
    let mut area = parts.header;
    let right = match &model.picture.connection {
        Connection::Live => {
            spans.extend(counts(model, !cards));
            match caught_up(model) {
                // Live, but there is nothing new to come.
                _ if model.picture.refusing.is_some() => {
                    let why = model.picture.refusing.as_deref().unwrap_or_default();
                    let why = if cards {
                        "no reports".to_owned()
                    } else {
                        text(model, &words::brief(why, usize::from(model.size.0 / 2)))
                    };
                    Line::from(vec![Span::styled(why, theme.error), edge])
                }
                Some(missed) if !cards => {
                    let text = format!("live · caught up with {}", words::count(missed, "change"));
                    Line::from(vec![Span::styled(text, theme.live), edge])
                }
                _ => Line::from(vec![Span::styled("live", theme.live), edge]),
            }
        }
        Connection::Connecting => Line::from(vec![Span::styled("connecting", theme.muted), edge]),
        Connection::Offline { .. } => {
            spans.push(Span::styled(offline(model, !cards), theme.focus));
            Line::from(vec![Span::styled("r now", theme.hint), edge])
        }
        // Why stands in the body, whole; here there would be no room for what to do.
        Connection::Refused { .. } => {
            spans.push(Span::styled("refused", theme.error));
            Line::from(vec![Span::styled("r now", theme.hint), edge])
        }
    };
    // What stands still says so before anything else.
    let right = match model.waiting() {
        Some(waiting) if cards => {
            Line::from(vec![Span::styled(format!("FROZEN +{waiting}"), theme.hint), Span::raw(" ")])
        }
        Some(waiting) => {
            let text = format!("FROZEN · {} waiting", words::count(waiting, "change"));
            Line::from(vec![Span::styled(text, theme.hint), Span::raw(" ")])
        }
        None => right,
    };
    // A recording has its outages too; only nothing in it is live, and no key brings it back sooner.
    let right = if model.replay {
        let at = model.look.zone.second(model.picture.room_time(model.local()));
        Line::from(vec![Span::styled(format!("recording · {at}"), theme.hint), Span::raw(" ")])
    } else {
        right
    };
    canvas.right(area, 0, &right);
    let taken: usize = right.spans.iter().map(|s| shown::width(&s.content)).sum();
    area.width = area.width.saturating_sub(u16::try_from(taken).unwrap_or(0) + 1);
    canvas.line(area, 0, &Line::from(spans));
}

/// `offline 12s · retry in 3s (connection refused)`; a recording tries nothing again.
pub fn offline(model: &Model, reason: bool) -> String {
    let Connection::Offline { since, why, retry_at } = &model.picture.connection else {
        return String::new();
    };
    let now = model.local();
    let away = (now - *since).num_seconds().max(0);
    let away = if away < 60 { format!("{away}s") } else { words::age(now - *since) };
    let retry = match retry_at {
        Some(at) if *at > now => format!("retry in {}s", ((*at - now).num_milliseconds() + 999) / 1000),
        _ => "trying now".into(),
    };
    let mut text = format!("offline {away}");
    if !model.replay {
        text.push_str(&format!(" · {retry}"));
    }
    if reason {
        text.push_str(&format!(" ({})", shown::line(why)));
    }
    text
}

/// What needs a person first, then who works.
fn counts(model: &Model, all: bool) -> Vec<Span<'static>> {
    let theme = &model.look.theme;
    let counts = model.picture.counts(model.picture.room_time(model.local()));
    let mut spans = Vec::new();
    if counts.agents == 0 {
        if model.picture.is_whole() && all {
            spans.push(Span::styled("no agents yet", theme.muted));
        }
        return spans;
    }
    // What was marked as seen counts no longer.
    let (seen, seen_clashes) = model.seen.standing(&model.picture, model.now());
    let failed = counts.failed.saturating_sub(seen);
    let clashes = model.picture.count_of(Level::Clash).saturating_sub(seen_clashes);
    if failed > 0 {
        spans.push(Span::styled(format!("! {failed} failed"), theme.error));
    }
    if clashes > 0 {
        if failed > 0 {
            spans.push(Span::styled(" · ", theme.muted));
        }
        // Of very many not all are looked at.
        let least = if model.picture.crowded() { "≥ " } else { "" };
        let noun = if clashes == 1 { "clash" } else { "clashes" };
        spans.push(Span::styled(format!("≠ {least}{clashes} {noun}"), theme.clash));
    }
    if failed > 0 || clashes > 0 {
        spans.push(Span::raw(if all { "   " } else { "" }));
    } else if !all {
        spans.push(Span::styled("nothing needs you", theme.muted));
    }
    if all {
        spans.push(Span::styled(working(model), theme.text));
    }
    if model.panel.is_some() {
        spans.push(Span::styled(" · demo", theme.muted));
    }
    spans
}

/// `3 of 9 working · 1 stale`.
pub fn working(model: &Model) -> String {
    let counts = model.picture.counts(model.picture.room_time(model.local()));
    let stale = if counts.stale > 0 && model.layout() != Layout::Cards {
        format!(" · {} stale", counts.stale)
    } else {
        String::new()
    };
    format!("{} of {} working{stale}", counts.working, counts.agents)
}
