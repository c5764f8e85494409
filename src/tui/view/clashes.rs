//! Who would undo whose work: each clash, risk and note as a sentence, and the selected one whole.

mod detail;
mod row;
mod side;

use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::paint::Canvas;
use super::pane;
use super::{Parts, as_of, filtered, nothing_matches, text};
use crate::conflict::{ENDED_FOR, FILES_COUNT_FOR, Level, files_count_until};
use crate::shown;
use crate::tui::clashes::Row;
use crate::tui::keys::Action;
use crate::tui::model::{Model, Pane};
use crate::warning::{self, Tense};
use crate::words;

pub use self::row::{height, top};

/// Draws the view.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model, parts: &Parts) {
    let alone = model.pane == Pane::Open;
    if model.clashes.chosen().is_none() {
        return nothing(canvas, model, parts);
    }
    if !alone {
        list(canvas, model, parts);
    }
    if parts.detail.height > 0 {
        whole(canvas, model, parts);
    }
}

/// Ages and countdowns of a row were drawn; what is over is told for an hour.
fn lasts(canvas: &mut Canvas<'_>, model: &Model, row: &Row) {
    let now = model.now();
    if let Some(over) = &row.over {
        return canvas.lasts(over.at + ENDED_FOR - now);
    }
    canvas.lasts(words::left_lasts(row.conflict.until() - now));
    for party in row.conflict.parties() {
        canvas.lasts(words::age_lasts(now - party.pulse.updated_at));
        if let Some(intent) = party.intent() {
            canvas.lasts(words::left_lasts(intent.expires_at - now));
        }
    }
}

/// Since when what is shown is not heard any more, as a tense.
fn tense(model: &Model, row: &Row) -> Tense {
    if model.is_old() || row.over.is_some() { Tense::Past } else { Tense::Present }
}

fn style(model: &Model, level: Level) -> Style {
    match level {
        Level::Clash => model.look.theme.clash,
        Level::Risk => model.look.theme.risk,
        Level::Note => model.look.theme.note,
    }
}

/// The style of a row's mark: what was seen, or is over, no longer calls.
fn mark_style(model: &Model, row: &Row) -> Style {
    if row.over.is_some() || model.row_is_seen(row) {
        model.look.theme.muted
    } else {
        style(model, row.conflict.level)
    }
}

/// So many of a level, in words: `1 clash`, `3 risks`.
fn counted(count: usize, level: Level) -> String {
    match (count, level) {
        (1, _) => format!("1 {}", warning::word(level)),
        (_, Level::Clash) => format!("{count} clashes"),
        _ => format!("{count} {}s", warning::word(level)),
    }
}

fn list(canvas: &mut Canvas<'_>, model: &Model, parts: &Parts) {
    let theme = &model.look.theme;
    let air = row::airy(model, parts.list);
    let mut y = 0;
    let mut end = model.clash_top;
    for place in model.clash_top..model.clashes.all().len() {
        let lines = row::block(model, place, air, parts.list.width);
        // Half a sentence would read as another one; only where there is no room for a whole one it is cut.
        let cut = usize::from(y) + lines.len() > usize::from(parts.list.height);
        if cut && place > model.clash_top {
            break;
        }
        for line in lines {
            canvas.line(parts.list, y, &line);
            y = y.saturating_add(1);
        }
        end = place + 1;
        lasts(canvas, model, &model.clashes.all()[place]);
    }
    let focus = if model.pane == Pane::List { theme.focus } else { theme.muted };
    let name = format!("Clashes{}", as_of(model));
    // Without the rule's ends and the blanks around both.
    let room = usize::from(parts.list_title.width).saturating_sub(shown::width(&name) + 5);
    let beyond =
        beyond(model, end).into_iter().find(|beyond| shown::width(beyond) <= room).unwrap_or_default();
    let room = room.saturating_sub(shown::width(&beyond) + 3);
    let counts = counts(model).into_iter().find(|counts| shown::width(counts) <= room).unwrap_or_default();
    let title = vec![Span::styled(name, focus), Span::styled(beyond + &filtered(model), theme.muted)];
    let title = Line::from(title);
    canvas.rule(parts.list_title, 0, &title, &Line::from(Span::styled(counts, theme.muted)));
}

/// How many there are of each level, in words and in signs alone: `1 clash · 1 risk`, `≠1 ~1`.
fn counts(model: &Model) -> [String; 2] {
    let least = if model.picture.crowded() { "≥ " } else { "" };
    let rows = || model.clashes.all().iter().filter(|row| row.over.is_none() && !row.member);
    let of = |level| rows().filter(|row| row.conflict.level == level).map(|row| row.conflicts().len()).sum();
    let counts: Vec<(usize, Level)> =
        [Level::Clash, Level::Risk, Level::Note].map(|level| (of(level), level)).into();
    let counts = || counts.iter().filter(|(count, _)| *count > 0);
    let told: Vec<String> =
        counts().map(|(count, level)| format!("{least}{}", counted(*count, *level))).collect();
    let signs: Vec<String> =
        counts().map(|(count, level)| format!("{}{least}{count}", warning::mark(*level))).collect();
    if told.is_empty() {
        return ["nothing now".to_owned(), String::new()];
    }
    [told.join(" · "), signs.join(" ")].map(|counts| model.look.glyphs.tell(&counts).into_owned())
}

/// What is out of sight, counted, in words and shorter: ` 2–5 of 14 · 1 above needs you · 9 below`, ` 2–5 of 14 ≠1`.
fn beyond(model: &Model, end: usize) -> [String; 2] {
    let rows = model.clashes.all();
    let top = model.clash_top.min(end);
    if end - top >= rows.len() {
        return [String::new(), String::new()];
    }
    let of = rows.len();
    let place =
        if end - top == 1 { format!(" {end} of {of}") } else { format!(" {}–{end} of {of}", top + 1) };
    let mut said = place.clone();
    let mut all = 0;
    for (rows, side) in [(&rows[..top], "above"), (&rows[end..], "below")] {
        let needs = rows.iter().filter(|row| !row.unfolded && model.row_needs_you(row)).count();
        all += needs;
        if needs > 0 {
            let verb = if needs == 1 { "needs" } else { "need" };
            said.push_str(&format!(" · {needs} {side} {verb} you"));
        } else if !rows.is_empty() {
            said.push_str(&format!(" · {} {side}", rows.len()));
        }
    }
    let needs = if all > 0 { format!(" {}{all}", warning::mark(Level::Clash)) } else { String::new() };
    [said, format!("{place}{needs}")].map(|beyond| model.look.glyphs.tell(&beyond).into_owned())
}

/// The selected one whole, beside or below the list, or alone.
fn whole(canvas: &mut Canvas<'_>, model: &Model, parts: &Parts) {
    let theme = &model.look.theme;
    let area = parts.detail;
    let Some(row) = model.clashes.chosen() else { return };
    lasts(canvas, model, row);
    let focus = if model.pane == Pane::List { theme.muted } else { theme.focus };
    let (one, other) = detail::names(model, row);
    let title = Line::from(vec![
        Span::styled(one, focus),
        Span::styled(format!(" {} ", warning::mark(row.conflict.level)), mark_style(model, row)),
        Span::styled(other, focus),
    ]);
    pane::frame(canvas, model, parts, &title, String::new());
    let on = match (model.pane, &row.around) {
        (Pane::List, None) => Action::Open,
        (Pane::List, Some(_)) => Action::OtherPane,
        (Pane::Detail | Pane::Open, _) => Action::Down,
    };
    pane::body(canvas, model, area, &detail(model, area), on);
}

/// The detail's lines in an area.
pub fn detail(model: &Model, area: Rect) -> Vec<Line<'static>> {
    model.clashes.chosen().map_or_else(Vec::new, |row| detail::lines(model, row, area))
}

/// What would stand here, where nothing does.
fn nothing(canvas: &mut Canvas<'_>, model: &Model, parts: &Parts) {
    let theme = &model.look.theme;
    let width = canvas.area().width;
    let name = Span::styled(format!("Clashes{}", as_of(model)), theme.focus);
    let title = Line::from(vec![name, Span::styled(filtered(model), theme.muted)]);
    let bottom = [parts.list, parts.detail].map(Rect::bottom).into_iter().max().unwrap_or(0);
    // Below the banner, where there is one.
    let rule = [parts.list_title, parts.detail_title].into_iter().find(|area| area.height > 0);
    let rule = Rect { x: 0, width, ..rule.unwrap_or_default() };
    canvas.rule(rule, 0, &title, &Line::default());
    let now = model.now();
    let intents = model
        .picture
        .agents()
        .filter(|(_, agent)| agent.pulse.intent.as_ref().is_some_and(|intent| intent.holds(now)));
    let intents = intents.count() as u64;
    let files = model
        .picture
        .agents()
        .filter(|(_, agent)| !agent.pulse.files.is_empty() && now < files_count_until(&agent.pulse));
    let files = files.count() as u64;
    let (is, looked) = if model.is_old() { ("was", "Looked at then") } else { ("is", "Looked at now") };
    let minutes = FILES_COUNT_FOR.num_minutes();
    let said = [
        (format!("Nobody {is} in anyone's way."), theme.focus),
        (
            format!(
                "Two agents stand here when their live intents meet, or when one is about to remove, rename or \
                 revert files that the other reported in the last {minutes} minutes."
            ),
            theme.text,
        ),
        (
            format!(
                "{looked}: {}, reported files of {}.",
                words::count(intents, "live intent"),
                words::count(files, "agent"),
            ),
            theme.muted,
        ),
    ];
    let said = if model.list.filter().is_empty() {
        said.map(|(said, style)| (text(model, &said), style)).to_vec()
    } else {
        vec![(nothing_matches(model, "clash, risk or note"), theme.text)]
    };
    let columns = usize::from(width).saturating_sub(2).min(72);
    let mut lines = vec![Line::default()];
    for (said, style) in said {
        for part in shown::wrap(&said, columns) {
            lines.push(Line::from(Span::styled(format!(" {part}"), style)));
        }
        lines.push(Line::default());
    }
    // With few rows no blank is spent above the sentence.
    let body = Rect { y: rule.bottom(), height: bottom.saturating_sub(rule.bottom()), ..rule };
    let top = usize::from(lines.len() > usize::from(body.height) + 1);
    canvas.lines(body, &lines, top);
}
