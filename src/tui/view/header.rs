//! The first line: what needs a person, how many work, and the connection in words.

use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::paint::Canvas;
use super::{Parts, caught_up, key, text};
use crate::picture::Connection;
use crate::summary::Summary;
use crate::tui::keys::Action;
use crate::tui::model::{Layout, Model};
use crate::{shown, words};

/// Draws the header: of what is on its left and on its right the longest that fits.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model, parts: &Parts) {
    let area = parts.header;
    let width = |side: &Side| -> usize {
        side.spans.iter().map(|span| shown::width(&model.look.glyphs.tell(&span.content))).sum()
    };
    let (left, right) = (left(model), right(model));
    let room = |left: &Side, right: &Side| width(left) + width(right) + 4 <= usize::from(area.width);
    let pairs = right.iter().flat_map(|right| left.iter().map(move |left| (left, right)));
    // Words on the right are worth less than what needs a person in words, and more than the rest.
    let fitting = |worded: bool| pairs.clone().find(|(l, r)| (!worded || l.worded && r.worded) && room(l, r));
    let last = || left.last().zip(right.last());
    let Some((left, right)) = fitting(true).or_else(|| fitting(false)).or_else(last) else { return };
    let taken = u16::try_from(width(right)).unwrap_or(u16::MAX);
    let edge = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    canvas.right(edge, 0, &Line::from(right.spans.clone()));
    let rest = Rect { width: edge.width.saturating_sub(taken.saturating_add(1)), ..edge };
    canvas.line(rest, 0, &Line::from(left.spans.clone()));
}

/// One way of saying what stands on a side, from the longest on.
#[derive(Default)]
struct Side {
    spans: Vec<Span<'static>>,
    /// Nothing is left out that should be said in words if it can be.
    worded: bool,
}

impl Side {
    fn of(text: impl Into<String>, style: Style) -> Self {
        Self { spans: vec![Span::styled(text.into(), style)], worded: true }
    }

    fn and(mut self, text: impl Into<String>, style: Style) -> Self {
        self.spans.push(Span::styled(text.into(), style));
        self
    }
}

/// The room, and what needs a person; or that nothing is heard, and why.
fn left(model: &Model) -> Vec<Side> {
    let theme = &model.look.theme;
    let bare: Vec<Side> = match &model.picture.connection {
        Connection::Live => counts(model),
        Connection::Connecting => vec![Side::default()],
        Connection::Offline { .. } => {
            offline(model).into_iter().map(|said| Side::of(said, theme.focus)).collect()
        }
        // Why stands in the body, whole; here there would be no room for what to do.
        Connection::Refused { .. } => vec![Side::of("refused", theme.error)],
    };
    if model.layout() == Layout::Cards {
        return bare; // there the room's name stands in the rule below
    }
    let named = |side: &Side| {
        let name = Side::of(shown::line(&model.picture.project), theme.focus).and("   ", theme.text);
        Side { spans: [name.spans, side.spans.clone()].concat(), worded: side.worded }
    };
    let named: Vec<Side> = bare.iter().map(named).collect();
    named.into_iter().chain(bare).collect()
}

/// How the room is heard.
fn right(model: &Model) -> Vec<Side> {
    let theme = &model.look.theme;
    // What stands still says so before anything else.
    if let Some(waiting) = model.waiting() {
        let sides = frozen(model, waiting).into_iter().map(|said| Side::of(said, theme.hint));
        let last = Side { worded: false, ..Side::of(format!("FROZEN +{waiting}"), theme.hint) };
        return sides.chain([last]).collect();
    }
    // A recording has its outages too; only nothing in it is live, and no key brings it back sooner.
    if model.replay {
        let at = model.look.zone.second(model.now());
        let short = at.get(..5).unwrap_or_default().to_owned();
        let said = [format!("recording · {at}"), format!("recording {short}"), format!("rec {short}")];
        return said.into_iter().map(|said| Side::of(said, theme.hint)).collect();
    }
    match &model.picture.connection {
        Connection::Live => match (&model.picture.refusing, caught_up(model)) {
            // Live, but there is nothing new to come.
            (Some(why), _) => {
                let why = text(model, &words::brief(why, 60));
                vec![Side::of(why, theme.error), Side::of("no reports", theme.error)]
            }
            (None, Some(missed)) => {
                let long = format!("live · caught up with {}", words::count(missed, "change"));
                let said = [long, format!("live · {missed} caught up"), "live".into()];
                said.into_iter().map(|said| Side::of(said, theme.live)).collect()
            }
            (None, None) => vec![Side::of("live", theme.live)],
        },
        Connection::Connecting => vec![Side::of("connecting", theme.muted)],
        Connection::Offline { .. } | Connection::Refused { .. } => {
            let retry = key(model, Action::Retry);
            vec![retry.map_or_else(Side::default, |key| Side::of(format!("{key} now"), theme.hint))]
        }
    }
}

/// `FROZEN · 7 changes waiting`, and whether the connection is another than the one that stands still.
fn frozen(model: &Model, waiting: u64) -> Vec<String> {
    let (then, now) = (&model.picture.connection, &model.present().connection);
    let (long, short) = match (then, now) {
        (_, Connection::Refused { .. }) => (" · refused", " ref"),
        (Connection::Live, Connection::Live) => ("", ""),
        (_, Connection::Live) => (" · live again", " live"),
        (Connection::Live, _) => (" · offline", " off"),
        _ => ("", ""),
    };
    let told = match waiting {
        0 => "nothing new".to_owned(),
        _ => format!("{} waiting", words::count(waiting, "change")),
    };
    vec![
        format!("FROZEN · {told}{long}"),
        format!("FROZEN +{waiting}{long}"),
        format!("FROZEN +{waiting}{short}"),
    ]
}

/// `offline 12s · retry in 3s (connection refused)`, then shorter; a recording tries nothing again.
fn offline(model: &Model) -> Vec<String> {
    let Connection::Offline { since, why, retry_at } = &model.picture.connection else {
        return Vec::new();
    };
    let why = text(model, why);
    if model.behind.is_some() {
        return vec![format!("offline ({why})"), "offline".into()]; // a clock that stands still tells no times
    }
    let now = model.local();
    let away = (now - *since).num_seconds().max(0);
    let away = if away < 60 { format!("{away}s") } else { words::age(now - *since) };
    let retry = match retry_at {
        _ if model.replay => String::new(),
        Some(at) if *at > now => format!(" · retry in {}s", ((*at - now).num_milliseconds() + 999) / 1000),
        _ => " · trying now".into(),
    };
    vec![
        format!("offline {away}{retry} ({why})"),
        format!("offline {away}{retry}"),
        format!("offline {away}"),
    ]
}

/// What needs a person first, then who works.
fn counts(model: &Model) -> Vec<Side> {
    let theme = &model.look.theme;
    let cards = model.layout() == Layout::Cards;
    let told = model.summary(&model.picture, model.local());
    if told.agents == 0 {
        let said = if model.picture.is_whole() && !cards { "no agents yet" } else { "" };
        return vec![Side::of(said, theme.muted), Side::default()];
    }
    let (failed, clashes) = (told.failed, told.clashes);
    let seen = model.seen.standing(&model.picture, model.now());
    let seen = match seen.0 + seen.1 {
        0 => String::new(),
        seen => format!("{seen} seen"),
    };
    // Of very many not all are looked at.
    let least = if told.crowded { "≥ " } else { "" };
    let noun = if clashes == 1 { "clash" } else { "clashes" };
    let needs = |failed_word: &str, between: &str, noun: &str| {
        let mut side = Side { worded: !noun.is_empty(), ..Side::default() };
        if failed > 0 {
            side = side.and(format!("! {failed}{failed_word}"), theme.error);
        }
        if failed > 0 && clashes > 0 {
            side = side.and(between.to_owned(), theme.muted);
        }
        if clashes > 0 {
            side = side.and(format!("≠ {least}{clashes}{noun}"), theme.clash);
        }
        side
    };
    let whole = || needs(" failed", " · ", &format!(" {noun}"));
    let stands = failed > 0 || clashes > 0;
    let gap = || if stands { "   " } else { "" };
    let demo = if model.panel.is_some() { " · demo" } else { "" };
    // What was marked as seen still stands: nobody is to take it for mended.
    let also = if seen.is_empty() { String::new() } else { format!(" · {seen}") };
    let mut sides = Vec::new();
    if !cards {
        let all = working(model);
        let bare = told.at_work();
        for (working, more) in [
            (&all, format!("{also}{demo}")),
            (&bare, format!("{also}{demo}")),
            (&bare, also),
            (&bare, String::new()),
        ] {
            sides.push(whole().and(gap(), theme.text).and(working, theme.text).and(more, theme.muted));
        }
    } else if !stands {
        let said =
            if seen.is_empty() { "nothing needs you".to_owned() } else { format!("{seen}, nothing else") };
        sides.push(Side::of(said.clone(), theme.muted).and(demo, theme.muted));
        sides.push(Side::of(said, theme.muted));
    } else {
        sides.extend([format!("{also}{demo}"), also].map(|more| whole().and(more, theme.muted)));
    }
    sides.extend([whole(), needs(" failed", " ", ""), needs("", " ", "")]);
    sides
}

/// `3 of 9 working · 1 stale`.
pub fn working(model: &Model) -> String {
    let told = Summary::of(&model.picture, model.now());
    let stale = if told.stale > 0 && model.layout() != Layout::Cards {
        format!(" · {} stale", told.stale)
    } else {
        String::new()
    };
    format!("{}{stale}", told.at_work())
}
