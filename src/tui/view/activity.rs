//! What happened, the newest first: each event tells one difference, over as many rows as its words take.

use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::paint::Canvas;
use super::{Parts, as_of, filtered, nothing_matches, pad, text};
use crate::change::{self, Change};
use crate::picture::{Entry, Happening};
use crate::shown;
use crate::tui::event;
use crate::tui::model::Model;
use crate::warning::{self, Tense};
use crate::words;

/// Columns before the name: bar, time, mark.
const NAME_AT: usize = 9;
/// Width from which on the names have a column of their own.
const COLUMNS_FROM: u16 = 60;
/// Width below which what is wrapped begins under the time: under the name too little would be left.
const HANG_FROM: u16 = 36;

/// Draws the view.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model, parts: &Parts) {
    let theme = &model.look.theme;
    let (all, width) = (blocks(model), parts.list.width);
    let (first, offset) = place(&all, model.activity_top);
    let mut title = vec![Span::styled(format!("Activity{}", as_of(model)), theme.focus)];
    if let Some(at) = model.picture.opened().filter(|_| !model.is_old()) {
        let at = model.look.zone.near(at, model.now());
        let since = if width < COLUMNS_FROM { "since" } else { "since you opened it" };
        title.push(Span::styled(format!(" · {since} {at}"), theme.muted));
    }
    title.push(Span::styled(filtered(model), theme.muted));
    let newer = all[..first].iter().filter(|block| event::is_selectable(block.entry)).count();
    let right = if newer > 0 { format!("{newer} newer above") } else { "newest first".into() };
    let right = Line::from(Span::styled(right, theme.muted));
    let wide: usize = title.iter().map(|span| shown::width(&span.content)).sum();
    // Where one of the two has to go, it is what goes without saying.
    let both = wide + right.width() + 9 <= usize::from(width);
    let right = if both || newer > 0 { right } else { Line::default() };
    if !both && newer > 0 {
        title.truncate(1);
    }
    canvas.rule(parts.list_title, 0, &Line::from(title), &right);
    if all.is_empty() {
        let since = model.picture.opened().map_or_else(String::new, |at| {
            format!(" since you opened it at {}", model.look.zone.near(at, model.now()))
        });
        let said = if model.list.filter().is_empty() {
            format!("Nothing has changed{since}. What changes is told here as it happens.")
        } else {
            nothing_matches(model, "event")
        };
        let said = shown::wrap(&said, usize::from(width.saturating_sub(2)));
        let lines = said.into_iter().map(|part| Line::from(Span::styled(format!(" {part}"), theme.muted)));
        return canvas.lines(parts.list, &lines.collect::<Vec<_>>(), 0);
    }
    let shape = Shape::new(&all, width);
    let chosen = event::chosen(model).map(|entry| entry.number);
    let mut lines: Vec<Line<'static>> = Vec::new();
    for block in &all[first..] {
        if lines.len() >= usize::from(parts.list.height) + offset {
            break;
        }
        lines.extend(block.lines(model, &shape, chosen == Some(block.entry.number)));
    }
    canvas.lines(parts.list, &lines, offset);
}

/// An event and the rules above it.
struct Block<'a> {
    entry: &'a Entry,
    /// It is the newest of those from before the first look.
    border: bool,
    /// It is the newest of another day than what stands above it.
    day: bool,
}

/// The columns that all events share.
struct Shape {
    width: usize,
    /// Of the names; `None`: they stand at the beginning of the text.
    names: Option<usize>,
    /// Where wrapped text begins.
    hang: usize,
}

impl Shape {
    fn new(all: &[Block<'_>], width: u16) -> Self {
        let most = if width >= 100 { 24 } else { 18 };
        let names = (width >= COLUMNS_FROM).then(|| {
            let who = all.iter().filter_map(|block| by(&block.entry.happening));
            who.map(shown::width).max().unwrap_or(0).clamp(10, most)
        });
        let hang = match names {
            Some(names) => NAME_AT + names + 2,
            None if width >= HANG_FROM => NAME_AT,
            None => 3,
        };
        Self { width: width.into(), names, hang }
    }
}

/// The agent whose report an event is.
fn by(happening: &Happening) -> Option<&str> {
    match happening {
        Happening::Reported { after: pulse, .. } | Happening::Alike { pulse, .. } => {
            Some(pulse.agent_id.as_str())
        }
        Happening::Gone { agent_id, .. } => Some(agent_id.as_str()),
        _ => None,
    }
}

fn blocks(model: &Model) -> Vec<Block<'_>> {
    let day = |entry: &Entry| model.look.zone.date(entry.happening.at());
    let mut above = (false, model.look.zone.date(model.now()));
    event::listed(model)
        .map(|entry| {
            let this = (entry.earlier, day(entry));
            let block = Block { entry, border: this.0 && !above.0, day: this.1 != above.1 };
            above = this;
            block
        })
        .collect()
}

impl Block<'_> {
    fn lines(&self, model: &Model, shape: &Shape, selected: bool) -> Vec<Line<'static>> {
        let mut out = Vec::new();
        if self.border {
            let said = ["earlier, from the room, before this window was opened", "earlier, from the room"];
            out.push(rule(model, shape, &said));
        }
        if self.day {
            out.push(rule(model, shape, &[&model.look.zone.day(self.entry.happening.at())]));
        }
        if let Happening::Outage { from, to, missed } = &self.entry.happening {
            let zone = model.look.zone;
            let (began, ended) = (zone.near(*from, *to), zone.minute(*to));
            // Within a minute the two say less than how long it took.
            let when = if began == ended {
                format!("{ended} for {}", words::span(*to - *from))
            } else {
                format!("{began} to {ended}")
            };
            let span = format!("{when} not connected");
            let caught = match missed {
                Some(0) => format!("{span} · nothing missed"),
                Some(missed) => format!("{span} · {} caught up with", words::count(*missed, "change")),
                None => format!("{span} · then a new picture"),
            };
            let brief = format!("{when} offline");
            out.push(rule(model, shape, &[&caught, &span, &brief]));
            return out;
        }
        out.extend(event_lines(model, &self.entry.happening, shape, selected));
        out
    }

    fn rows(&self, model: &Model, shape: &Shape) -> usize {
        self.lines(model, shape, false).len()
    }
}

/// The longest of the texts that fits into a rule over the whole width.
fn rule(model: &Model, shape: &Shape, said: &[&str]) -> Line<'static> {
    let theme = &model.look.theme;
    let told: Vec<String> = said.iter().map(|said| text(model, said)).collect();
    let fits = |said: &&String| shown::width(said) + 4 <= shape.width;
    let said = told.iter().find(fits).or(told.last()).cloned().unwrap_or_default();
    let said = shown::cut(&said, shape.width.saturating_sub(4), model.look.glyphs.end()).into_owned();
    let rest = "─".repeat(shape.width.saturating_sub(shown::width(&said) + 3));
    Line::from(vec![
        Span::styled("─ ", theme.border),
        Span::styled(said, theme.muted),
        Span::styled(format!(" {rest}"), theme.border),
    ])
}

/// An event in words, made safe.
struct Told {
    mark: &'static str,
    /// Of the mark and what it marks.
    accent: Style,
    who: String,
    /// How much of `what` the mark marks, in bytes; of a clash it is `who`.
    title: usize,
    what: String,
    style: Style,
}

fn tell(model: &Model, happening: &Happening) -> Told {
    let theme = &model.look.theme;
    let plain = |who: &str, what: &str| Told {
        mark: " ",
        accent: theme.text,
        who: text(model, who),
        title: 0,
        what: text(model, what),
        style: theme.text,
    };
    match happening {
        Happening::Reported { before, after, at } => {
            let changes = change::between(before.as_deref(), after, Some(*at));
            let told = plain(after.agent_id.as_str(), &words::changes(&changes));
            let (mark, accent) = match changes.first() {
                Some(Change::Failed(_)) => ("!", theme.error),
                Some(Change::Cleared) => ("✓", theme.live),
                _ => return told,
            };
            let title = if mark == "!" { text(model, &words::changes(&changes[..1])).len() } else { 0 };
            Told { mark, accent, title, ..told }
        }
        Happening::Alike { last, reports, pulse, at } => {
            let claim = shown::line(pulse.availability.as_str());
            let until = model.look.zone.minute(*last);
            let last = if *last - *at < chrono::TimeDelta::minutes(1) {
                String::new()
            } else {
                format!(", the last {until}")
            };
            let reports = words::count(*reports, "report");
            let what = format!("{claim} · {reports} alike{last}");
            Told { style: theme.muted, ..plain(pulse.agent_id.as_str(), &what) }
        }
        Happening::Gone { agent_id, .. } => plain(agent_id.as_str(), "left the room"),
        Happening::Unknown { kind, .. } => {
            plain("the room", &format!("sent something new that this prickle does not know: {kind}"))
        }
        Happening::Outage { missed, .. } => {
            let what = missed.map_or_else(
                || "then a new picture".into(),
                |missed| format!("{} caught up with", words::count(missed, "change")),
            );
            plain("not connected", &what)
        }
        Happening::Clash { clash, .. } => Told {
            mark: warning::mark(clash.level),
            accent: theme.clash,
            ..plain("clash", &warning::told(clash, Tense::Present))
        },
        Happening::ClashOver(ended) => {
            let what = format!("{} · {}", warning::told(&ended.conflict, Tense::Past), warning::over(ended));
            plain("clash over", &what)
        }
        Happening::Clock { ahead, .. } => {
            plain("this clock", &format!("is {}, which ages are told by", words::clocks(*ahead)))
        }
    }
}

impl Told {
    fn who_style(&self, model: &Model, shape: &Shape, selected: bool) -> Style {
        let theme = &model.look.theme;
        match (selected, self.title == 0 && self.mark != " " && self.mark != "✓") {
            (_, true) => self.accent,
            (true, false) => theme.selected,
            // Before its text a name has to stand out; in a column of names it does.
            (false, false) if shape.names.is_none() => theme.text.add_modifier(Modifier::BOLD),
            (false, false) => theme.text,
        }
    }
}

/// Time, mark, who, and what over as many rows as it takes.
fn event_lines(model: &Model, happening: &Happening, shape: &Shape, selected: bool) -> Vec<Line<'static>> {
    let theme = &model.look.theme;
    let told = tell(model, happening);
    let bar = || if selected { Span::styled("▌", theme.bar) } else { Span::raw(" ") };
    let end = model.look.glyphs.end();
    let longest = shape.names.unwrap_or(shape.width.saturating_sub(NAME_AT + 1));
    let who = shown::cut(&told.who, longest, end).into_owned();
    let who = shape.names.map_or_else(|| who.clone(), |names| pad(&who, names + 1));
    // The first row has less room where the name stands before the text.
    let lead = if shape.names.is_some() { 0 } else { NAME_AT + shown::width(&who) + 1 - shape.hang };
    let room = shape.width.saturating_sub(shape.hang + 1).max(1);
    let parts = wrap(&told.what, lead, room);
    let mut left = told.title;
    let mut lines = Vec::new();
    for (row, part) in parts.iter().enumerate() {
        let mut spans = vec![bar()];
        if row == 0 {
            let time = model.look.zone.minute(happening.at());
            spans.push(Span::styled(pad(&time, 6), theme.muted));
            spans.push(Span::styled(told.mark, told.accent));
            spans.push(Span::raw(" "));
            spans.push(Span::styled(who.clone(), told.who_style(model, shape, selected)));
            spans.push(Span::raw(" "));
        } else {
            spans.push(Span::raw(" ".repeat(shape.hang - 1)));
        }
        let (title, rest) = part.split_at(part.floor_char_boundary(left.min(part.len())));
        // What was wrapped away between two rows is a blank.
        left = left.saturating_sub(part.len() + 1);
        spans.push(Span::styled(title.to_owned(), told.accent));
        spans.push(Span::styled(rest.to_owned(), told.style));
        lines.push(Line::from(spans));
    }
    lines
}

/// A text over rows of `room` columns, of which the first has `lead` fewer.
fn wrap(text: &str, lead: usize, room: usize) -> Vec<String> {
    if lead == 0 {
        return shown::wrap(text, room);
    }
    // A word of that many columns keeps the place; too long for the first row, it has it alone.
    let first = room.saturating_sub(lead);
    let mut begun = String::new();
    let mut rest = text;
    for word in text.split_inclusive(' ') {
        if shown::width(&begun) + shown::width(word.trim_end()) > first {
            break;
        }
        begun.push_str(word);
        rest = &text[begun.len()..];
    }
    let mut rows = vec![begun.trim_end().to_owned()];
    if !rest.is_empty() {
        rows.extend(shown::wrap(rest, room));
    }
    rows
}

/// One event as one row, for the strip. Nothing for a report that repeats the last one.
pub fn line(model: &Model, happening: &Happening) -> Option<Line<'static>> {
    let theme = &model.look.theme;
    // As many columns as the names that the strip may show have.
    let who = model.picture.log().rev().take(12).filter_map(by);
    let names = who.map(shown::width).max().unwrap_or(0).clamp(14, 24);
    if matches!(happening, Happening::Alike { .. }) {
        return None;
    }
    let told = tell(model, happening);
    let shape = Shape { width: usize::MAX, names: Some(names), hang: 0 };
    let time = model.look.zone.near(happening.at(), model.now());
    let (title, rest) = told.what.split_at(told.title);
    Some(Line::from(vec![
        Span::styled(format!(" {}", pad(&time, 6)), theme.muted),
        Span::styled(told.mark, told.accent),
        Span::raw(" "),
        Span::styled(
            pad(&shown::cut(&told.who, names, model.look.glyphs.end()), names + 2),
            told.who_style(model, &shape, false),
        ),
        Span::styled(title.to_owned(), told.accent),
        Span::styled(rest.to_owned(), told.style),
    ]))
}

/// Rows that an event takes in the view.
pub fn rows(model: &Model, entry: &Entry, width: u16) -> usize {
    let all = blocks(model);
    let shape = Shape::new(&all, width);
    all.iter().find(|block| block.entry.number == entry.number).map_or(1, |block| block.rows(model, &shape))
}

/// Where the view begins: a block and how many of its rows are above the screen.
fn place(all: &[Block<'_>], top: Option<(u64, usize)>) -> (usize, usize) {
    let Some((number, offset)) = top else { return (0, 0) };
    match all.iter().position(|block| block.entry.number == number) {
        Some(place) => (place, offset),
        None => (0, 0),
    }
}

/// The first row that keeps the selected event in sight, moved as little as possible; `None`: the newest, whichever
/// that is.
pub fn top(model: &Model, width: u16, height: u16) -> Option<(u64, usize)> {
    let chosen = model.event?;
    let (all, height) = (blocks(model), usize::from(height));
    let shape = Shape::new(&all, width);
    let chosen = all.iter().position(|block| block.entry.number == chosen)?;
    let (first, offset) = place(&all, model.activity_top);
    let rows = |place: usize| all[place].rows(model, &shape);
    // The latest beginning with which everything down to the end of a block is on the screen.
    let ending = |last: usize| {
        let mut seen = 0;
        for place in (0..=last).rev() {
            let high = rows(place);
            if seen + high >= height {
                return (place, seen + high - height);
            }
            seen += high;
        }
        (0, 0)
    };
    let least = ending(chosen).min((chosen, 0));
    let most = (chosen, 0);
    let top = (first, offset).clamp(least, most).min(ending(all.len() - 1));
    Some((all[top.0].entry.number, top.1))
}
