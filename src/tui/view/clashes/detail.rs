//! One conflict whole: what it comes to and where, what each side said, what to tell whom.

use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::side::{beside, side};
use super::{counted, mark_style, tense};
use crate::conflict::Level;
use crate::shown;
use crate::tui::clashes::Row;
use crate::tui::keys::Action;
use crate::tui::model::{Layout, Model, Pane};
use crate::tui::view::{copies, key, text};
use crate::warning::{self, Tense};
use crate::words;

/// Columns from which on both sides stand beside each other.
const BESIDE_FROM: usize = 76;
/// So many of many are listed; the rest is counted.
const MEMBERS: usize = 50;

/// Who stands in the title, on each side of the mark.
pub fn names(model: &Model, row: &Row) -> (String, String) {
    let conflict = &row.conflict;
    match &row.around {
        Some(around) => {
            let others = words::count(row.conflicts().len() as u64, "other");
            (text(model, around.as_str()), others)
        }
        None => (text(model, conflict.first.id().as_str()), text(model, conflict.second.id().as_str())),
    }
}

/// The lines in an area. Where not all of them fit, what a person can do comes before what each side said: it is
/// cut last; and below the list, where every row is dear, nothing is set apart.
pub fn lines(model: &Model, row: &Row, area: Rect) -> Vec<Line<'static>> {
    let width = usize::from(area.width);
    let all = written(model, row, width, false, false);
    if all.len() <= usize::from(area.height) {
        return all;
    }
    let dense = model.layout() == Layout::Stacked && model.pane != Pane::Open;
    written(model, row, width, true, dense)
}

fn written(model: &Model, row: &Row, width: usize, advice_first: bool, dense: bool) -> Vec<Line<'static>> {
    let mut out = Paper { model, width, dense, out: Vec::new() };
    out.blank();
    effect(&mut out, row);
    if advice_first {
        message(&mut out, row);
    }
    out.blank();
    if row.around.is_some() {
        members(&mut out, row);
    } else {
        sides(&mut out, row);
    }
    if !advice_first {
        message(&mut out, row);
    }
    out.out
}

/// Lines that are being written.
struct Paper<'a> {
    model: &'a Model,
    width: usize,
    /// Nothing is set apart.
    dense: bool,
    out: Vec<Line<'static>>,
}

impl Paper<'_> {
    /// Sets apart what comes.
    fn blank(&mut self) {
        if !self.dense {
            self.out.push(Line::default());
        }
    }

    /// A text over as many lines as it takes.
    fn say(&mut self, indent: usize, said: &str, style: Style) {
        let room = self.width.saturating_sub(indent + 1);
        for part in shown::wrap(&text(self.model, said), room) {
            self.out.push(Line::from(vec![Span::raw(" ".repeat(indent)), Span::styled(part, style)]));
        }
    }

    /// A title and another text at its right end, where both have room; else below it.
    fn title(&mut self, said: &str, style: Style, right: &str) {
        let (said, right) = (text(self.model, said), text(self.model, right));
        let muted = self.model.look.theme.muted;
        let used = shown::width(&said) + shown::width(&right) + 2;
        if used + 2 <= self.width {
            let gap = " ".repeat(self.width - used);
            let said = Span::styled(format!(" {said}"), style);
            self.out.push(Line::from(vec![said, Span::raw(gap), Span::styled(right, muted)]));
        } else {
            self.say(1, &said, style);
            self.say(1, &right, muted);
        }
    }
}

/// What it comes to, since when, and where: as narrow as it is.
fn effect(out: &mut Paper<'_>, row: &Row) {
    let model = out.model;
    let theme = &model.look.theme;
    let (zone, now) = (model.look.zone, model.now());
    let conflict = &row.conflict;
    let tense = tense(model, row);
    // One accent: what it marks is coloured with it.
    let style = mark_style(model, row);
    let many = row.around.as_ref().map(|around| {
        let many = counted(row.conflicts().len(), conflict.level);
        if tense == Tense::Past {
            format!("{many} with {around} there were")
        } else {
            format!("{many} with {around}")
        }
    });
    let since = row.conflicts().map(|conflict| conflict.since).min().unwrap_or(conflict.since);
    let since = format!("since {}", zone.near(since, now));
    match &many {
        Some(many) => out.title(many, style, &since),
        None => out.title(warning::effect(conflict.level, tense), style, &since),
    }
    if many.is_none() {
        out.blank();
        for place in warning::ground(conflict) {
            out.say(3, &place, if row.over.is_some() { theme.muted } else { theme.text });
        }
        if let Some(doubt) = warning::doubt(conflict) {
            out.say(3, &format!("({doubt})"), theme.muted);
        }
    }
    let mut rest = Vec::new();
    if let Some(over) = &row.over {
        let was = match conflict.level {
            Level::Clash => "It was a clash",
            Level::Risk => "It was a risk",
            Level::Note => "It was a note",
        };
        rest.push(format!("{was} until {}: {}.", zone.near(over.at, now), warning::over(over)));
    } else if model.row_is_seen(row) {
        rest.push("Seen: it counts again when it changes.".into());
    }
    for said in rest {
        out.blank();
        out.say(1, &said, theme.muted);
    }
}

/// Both sides, beside each other where there is room, and what their branches mean.
fn sides(out: &mut Paper<'_>, row: &Row) {
    let (model, width) = (out.model, out.width);
    let theme = &model.look.theme;
    let wide = width >= BESIDE_FROM;
    let each = if wide { (width - 1) / 2 } else { width };
    let [one, other] = [false, true].map(|second| side(model, row, second, each));
    if wide {
        out.out.extend(beside(one, other, each + 1));
    } else {
        out.out.extend(one);
        out.blank();
        out.out.extend(other);
    }
    if row.over.is_none()
        && let Some(branches) = warning::branches(&row.conflict)
    {
        out.blank();
        out.say(1, &branches, theme.text);
    }
}

/// Who the others of many are, and where each is met.
fn members(out: &mut Paper<'_>, row: &Row) {
    let model = out.model;
    let theme = &model.look.theme;
    let Some(around) = &row.around else { return };
    let second = row.conflict.second.id() == around;
    out.out.extend(side(model, row, second, out.width));
    out.blank();
    let names = row.conflicts().take(MEMBERS).filter_map(|conflict| {
        let second = conflict.first.id() == around;
        let other = if second { &conflict.second } else { &conflict.first };
        let did =
            other.intent().map_or_else(|| "reported".to_owned(), |intent| intent.kind.as_str().to_owned());
        let named = warning::named(conflict, second);
        let more = if named.len() > 1 { format!(" and {} more", named.len() - 1) } else { String::new() };
        Some((text(model, other.id().as_str()), text(model, &format!("{did} {}{more}", named.first()?))))
    });
    let names: Vec<(String, String)> = names.collect();
    let column = names.iter().map(|(name, _)| shown::width(name)).max().unwrap_or(0).min(out.width / 2);
    for (name, did) in &names {
        let name = shown::cut_middle(name, column, model.look.glyphs.end());
        let room = out.width.saturating_sub(column + 4);
        let did = shown::cut(did, room, model.look.glyphs.end()).into_owned();
        let gap = " ".repeat(column + 2 - shown::width(&name));
        out.out.push(Line::from(vec![
            Span::styled(format!(" {name}"), theme.focus),
            Span::raw(gap),
            Span::styled(did, theme.text),
        ]));
    }
    let rest = row.conflicts().len() - names.len();
    if rest > 0 {
        out.say(1, &format!("and {rest} more"), theme.muted);
    }
    out.blank();
    if let Some(key) = key(out.model, Action::Open) {
        let folds = if row.unfolded { "folds them up again" } else { "lists them one by one" };
        out.say(1, &format!("{key} {folds}."), theme.muted);
    }
}

/// The only thing that a person can do about it.
fn message(out: &mut Paper<'_>, row: &Row) {
    let model = out.model;
    let theme = &model.look.theme;
    let Some(message) = model.clash_message().filter(|_| row.over.is_none()) else { return };
    out.blank();
    out.title(&message.to, theme.focus, &copies(model, "this"));
    out.say(3, &message.text, theme.text);
}
