//! A row of the Clashes: the sentence over as many lines as it takes, and how long it still holds.

use std::ops::Range;

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{counted, mark_style, tense};
use crate::conflict::Act;
use crate::shown;
use crate::tui::clashes::{Row, Section};
use crate::tui::model::Model;
use crate::tui::view::text;
use crate::warning;
use crate::words;

/// Columns of the sentence from which on it is divided in two, and each half has its time.
const HALVES_FROM: usize = 42;

/// A row's lines as they stand in the list: the name of its part over the first of it, and with `air` a blank
/// between two.
pub fn block(model: &Model, place: usize, air: bool, width: u16) -> Vec<Line<'static>> {
    let rows = model.clashes.all();
    let Some(row) = rows.get(place) else { return Vec::new() };
    let theme = &model.look.theme;
    let mut out = Vec::new();
    if air && !row.member {
        out.push(Line::default());
    }
    let before = place.checked_sub(1).map(|place| rows[place].section());
    let heading = match row.section() {
        Section::Now => None,
        Section::Notes => Some("notes"),
        Section::Ended => Some("ended in the last hour"),
    };
    if let Some(heading) = heading.filter(|_| before != Some(row.section())) {
        out.push(Line::from(Span::styled(format!(" {heading}"), theme.muted)));
    }
    let bar = place == model.clashes.place();
    out.extend(lines(model, row, bar, usize::from(width)));
    out
}

fn lines(model: &Model, row: &Row, selected: bool, width: usize) -> Vec<Line<'static>> {
    let theme = &model.look.theme;
    let indent = if row.member { 2 } else { 0 };
    let room = width.saturating_sub(4 + indent);
    let body = match (selected, row.over.is_some() || model.row_is_seen(row)) {
        (true, _) => theme.selected,
        (false, true) => theme.muted,
        (false, false) => theme.text,
    };
    let mark = if row.over.is_some() { " " } else { warning::mark(row.conflict.level) };
    let (halves, times) = told(model, row);
    let bar = || if selected { Span::styled("▌", theme.bar) } else { Span::raw(" ") };
    set(&halves, &times, room, &model.look.glyphs.tell(" · "))
        .into_iter()
        .enumerate()
        .map(|(i, (said, time))| {
            let gap = room.saturating_sub(shown::width(&said) + shown::width(&time));
            Line::from(vec![
                bar(),
                Span::raw(" ".repeat(indent)),
                Span::styled(format!("{} ", if i == 0 { mark } else { " " }), mark_style(model, row)),
                Span::styled(said, body),
                Span::raw(" ".repeat(gap)),
                Span::styled(time, theme.muted),
            ])
        })
        .collect()
}

/// The sentence in one part or two, what else is to be said behind it, and a time for each part; in the terminal's
/// characters.
fn told(model: &Model, row: &Row) -> (Vec<String>, Vec<String>) {
    let (zone, now) = (model.look.zone, model.now());
    let conflict = &row.conflict;
    let tense = tense(model, row);
    let many = row.around.as_ref().and_then(|_| warning::halves_together(&row.group(), tense));
    let mut halves = match &many {
        Some(many) => many.clone(),
        None => warning::halves(conflict, tense),
    };
    let until = |at| {
        if model.is_old() {
            format!("until {}", zone.near(at, now))
        } else {
            format!("{} left", words::left(at - now))
        }
    };
    let mut times = match (&row.over, &many) {
        (Some(over), _) => vec![format!("until {}", zone.near(over.at, now))],
        (None, Some(_)) => vec![counted(row.conflicts().len(), conflict.level)],
        (None, None) => vec![until(conflict.until())],
    };
    if many.is_none() && row.over.is_none() && conflict.second.act == Act::Reports {
        let age = words::age(now - conflict.second.pulse.updated_at);
        times = vec![until(conflict.first.until()), if age == "now" { age } else { format!("{age} ago") }];
    }
    let mut more = Vec::new();
    if many.is_none() {
        more.extend(warning::owners(conflict, model.owner.as_deref()));
    }
    more.extend(row.over.as_ref().map(|over| warning::over(over)));
    if model.row_is_seen(row) {
        more.push("seen".into());
    }
    if let Some(last) = halves.last_mut() {
        more.iter().for_each(|more| last.push_str(&format!(" · {more}")));
    }
    let tell = |texts: Vec<String>| texts.iter().map(|said| text(model, said)).collect();
    (tell(halves), tell(times))
}

/// Lines of a text and of a time at their right end, in so many columns.
fn set(halves: &[String], times: &[String], room: usize, between: &str) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    if room >= HALVES_FROM {
        for (i, half) in halves.iter().enumerate() {
            let time = times.get(i).cloned().unwrap_or_default();
            // Beside a time the text ends two columns before it, or one where that saves a line.
            let beside = room.saturating_sub(shown::width(&time) + 1);
            let first = if time.is_empty() {
                room
            } else if shown::width(half) == beside {
                beside
            } else {
                beside.saturating_sub(1)
            };
            let head = shown::wrap(half, first).into_iter().next().unwrap_or_default();
            let rest = half.strip_prefix(&head).unwrap_or_default().trim_start().to_owned();
            out.push((head, time));
            if !rest.is_empty() {
                out.extend(shown::wrap(&rest, room).into_iter().map(|line| (line, String::new())));
            }
        }
        return out;
    }
    let said = shown::wrap(&halves.join(" "), room);
    out.extend(said.into_iter().map(|line| (line, String::new())));
    let time = times.join(between);
    match out.last_mut().filter(|(last, _)| shown::width(last) + shown::width(&time) + 2 <= room) {
        Some((_, right)) => *right = time,
        None => out.extend(shown::wrap(&time, room).into_iter().map(|line| (String::new(), line))),
    }
    out
}

/// How many lines there are, as far as it matters: counting ends beyond `most`. With a blank between two where
/// all of them have room so.
pub fn height(model: &Model, width: u16, most: usize) -> usize {
    let airy = count(model, width, most, true);
    if airy > most { count(model, width, most, false) } else { airy }
}

fn count(model: &Model, width: u16, most: usize, air: bool) -> usize {
    let mut count = 0;
    for place in 0..model.clashes.all().len() {
        count += block(model, place, air, width).len();
        if count > most {
            break;
        }
    }
    count
}

/// Whether all have room with a blank between two.
pub fn airy(model: &Model, area: Rect) -> bool {
    let height = usize::from(area.height);
    // Each has a line at least.
    model.clashes.all().len() <= height && count(model, area.width, height, true) <= height
}

/// The first row to draw, so that the selected one is in sight, moved as little as possible.
pub fn top(model: &Model, area: Rect) -> usize {
    let rows = model.clashes.all().len();
    let height = usize::from(area.height);
    if rows == 0 || height == 0 {
        return 0;
    }
    let air = airy(model, area);
    // The first of these, counted from the end, from which on all of them fit.
    let fits = |places: Range<usize>| {
        let end = places.end;
        let mut used = 0;
        let fit = |place: &usize| {
            used += block(model, *place, air, area.width).len();
            used <= height
        };
        places.rev().take_while(fit).last().unwrap_or(end.saturating_sub(1))
    };
    let selected = model.clashes.place();
    let top = model.clash_top.min(selected).max(fits(0..selected + 1));
    // Far from the end there is enough to fill the list.
    if rows - top > height { top } else { top.min(fits(0..rows)) }
}
