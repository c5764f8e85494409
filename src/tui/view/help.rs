//! The help: one popup with this view's keys and the legend, from the table of keys.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::paint::Canvas;
use super::{key, text};
use crate::shown;
use crate::tui::keys::{Action, Group, Key};
use crate::tui::model::{Model, View};

/// Columns of the popup's inside where there is room for them.
const INSIDE: u16 = 74;
/// Width of the screen from which on the groups stand in two columns.
const TWO_FROM: u16 = 70;

/// Actions that belong together: one line for their keys, in these words.
const TOGETHER: &[(&[&str], &str)] = &[
    (&["down", "up"], "one line"),
    (&["half-down", "half-up"], "half a page"),
    (&["page-down", "page-up"], "a page"),
    (&["top", "end"], "top, end"),
    (&["next", "previous"], "what needs you"),
    (&["sort", "reverse"], "sort, reverse"),
    (&["room", "clashes", "runs", "activity"], "room, clashes, runs, activity"),
    (&["quit", "quit-always"], "quit"),
];

/// The groups in their order, with their titles.
const GROUPS: [(Group, &str); 5] = [
    (Group::Move, "move"),
    (Group::Look, "look"),
    (Group::List, "list"),
    (Group::Take, "take"),
    (Group::Leave, "program"),
];

/// Where the popup stands.
pub fn area(model: &Model) -> Rect {
    let (width, height) = model.size;
    // A single column of the picture beside it would say nothing.
    let wide = if width < INSIDE + 8 { width } else { INSIDE + 4 };
    let probe = Rect { width: wide, height, ..Rect::default() };
    let lines = u16::try_from(lines(model, probe).len()).unwrap_or(u16::MAX);
    let high = lines.saturating_add(2).min(height.saturating_sub(2));
    Rect { x: (width - wide) / 2, y: 1 + height.saturating_sub(2 + high) / 2, width: wide, height: high }
}

/// One line of the help before it is wrapped: keys and what they do.
struct Entry {
    keys: String,
    does: &'static str,
}

/// What this view's keys of a group do, those that belong together on one line.
fn entries(model: &Model, group: Group) -> Vec<Entry> {
    let rows: Vec<_> = model.keys.rows().collect();
    let mut told: Vec<&str> = Vec::new();
    let mut out = Vec::new();
    for (binding, keys) in &rows {
        let here = binding.group == group && binding.at.contains(&model.view);
        // How to leave the help stands in its frame.
        if !here || binding.action == Action::Help || told.contains(&binding.name) {
            continue;
        }
        told.push(binding.name);
        let together = TOGETHER.iter().find(|(names, _)| names.contains(&binding.name));
        let (keys, does) = match together {
            Some((names, does)) => {
                told.extend(*names);
                let of = |name: &&str| rows.iter().find(|(other, _)| other.name == *name).map(|row| row.1);
                (names.iter().filter_map(of).collect(), *does)
            }
            None => (vec![*keys], binding.help),
        };
        let all = spelled(model, &keys, usize::MAX);
        let keys = spelled(model, &keys, if group == Group::Move { 13 } else { 9 });
        if !keys.is_empty() && is_looked_for(model, &[&all, does, binding.help]) {
            out.push(Entry { keys, does });
        }
    }
    out
}

/// Whether a line is what the help is looked through for: in any case of letters.
fn is_looked_for(model: &Model, texts: &[&str]) -> bool {
    let words = model.searched.trim().to_lowercase();
    texts.iter().any(|text| text.to_lowercase().contains(&words))
}

/// The first key of each action, then the second ones, as far as there is room for them.
fn spelled(model: &Model, of: &[&[Key]], room: usize) -> String {
    let most = of.iter().map(|keys| keys.len()).max().unwrap_or(0);
    let mut out = String::new();
    for place in 0..most {
        let names: Vec<String> = of.iter().filter_map(|keys| keys.get(place)).map(|key| key.name()).collect();
        let more = model.look.glyphs.tell(&names.join(" ")).into_owned();
        if place > 0 && shown::width(&out) + 1 + shown::width(&more) > room {
            break;
        }
        out = if out.is_empty() { more } else { format!("{out} {more}") };
    }
    out
}

/// A group's lines at a width: its title, then each entry over as many rows as it takes.
fn group(model: &Model, group: Group, title: &str, width: usize) -> Vec<Vec<Span<'static>>> {
    let theme = &model.look.theme;
    let entries = entries(model, group);
    if entries.is_empty() {
        return Vec::new();
    }
    let column = entries.iter().map(|entry| shown::width(&entry.keys)).max().unwrap_or(0).min(width / 2);
    let mut out = vec![vec![Span::styled(title.to_owned(), theme.focus)]];
    for entry in entries {
        let parts = shown::wrap(&model.look.glyphs.tell(entry.does), width.saturating_sub(column + 3).max(8));
        for (row, part) in parts.into_iter().enumerate() {
            let keys = if row == 0 { entry.keys.as_str() } else { "" };
            out.push(vec![
                Span::styled(format!(" {}", super::pad(keys, column + 2)), theme.hint),
                Span::styled(part, theme.text),
            ]);
        }
    }
    out
}

/// What is asked of the run records, and not in them.
const OF_RUNS: &str = "known: runs whose tokens in and out are both known; a sum with an unknown part is at least \
                       so much. No price: records carry no model. Bars share one scale; + ? is what nobody knows.";

/// What the signs mean.
fn legend(model: &Model, inside: usize) -> Vec<Line<'static>> {
    let stale = model.picture.stale_after.num_minutes();
    let signs = [
        "● working   ○ idle   ◌ online   z asleep   - away   × offline".to_owned(),
        format!("! failed   ≠ clash   ~ risk   = note   ? said so more than {stale} minutes ago"),
        "— not known   ≥ at least, some is not known".to_owned(),
    ];
    let mut out = Vec::new();
    for signs in signs {
        // Broken between two signs, never within one's meaning.
        let mut row = String::new();
        for sign in signs.split("   ") {
            let sign = model.look.glyphs.tell(sign).into_owned();
            if !row.is_empty() && shown::width(&row) + 3 + shown::width(&sign) > inside {
                out.push(std::mem::take(&mut row));
            }
            row = if row.is_empty() { sign } else { format!("{row}   {sign}") };
        }
        out.push(row);
    }
    if model.view == View::Runs {
        out.push(model.look.glyphs.tell(OF_RUNS).into_owned());
    }
    let rows = out.iter().flat_map(|row| shown::wrap(row, inside.max(8)));
    rows.map(|row| Line::from(Span::styled(row, model.look.theme.text))).collect()
}

/// The popup's lines at its width.
pub fn lines(model: &Model, area: Rect) -> Vec<Line<'static>> {
    let inside = usize::from(area.width.saturating_sub(4));
    let mut lines = Vec::new();
    if GROUPS.iter().all(|(group, _)| entries(model, *group).is_empty()) {
        let said = format!("No key here is or does {}.", text(model, model.searched.trim()));
        let parts = shown::wrap(&said, inside.max(8));
        lines.extend(parts.into_iter().map(|part| Line::from(Span::styled(part, model.look.theme.text))));
        lines.push(Line::default());
        lines.extend(legend(model, inside));
        return lines;
    }
    if area.width + 2 < TWO_FROM {
        // The signs are what people open help for, and here not everything fits.
        lines.extend(legend(model, inside));
        for (which, title) in GROUPS {
            let group = group(model, which, title, inside);
            if !group.is_empty() {
                lines.push(Line::default());
                lines.extend(group.into_iter().map(Line::from));
            }
        }
        return lines;
    }
    let (left, right) = columns(model, inside);
    let half = inside - inside / 2;
    for row in 0..left.len().max(right.len()) {
        let mut line = left.get(row).cloned().unwrap_or_default();
        let wide: usize = line.iter().map(|s| shown::width(&s.content)).sum();
        line.push(Span::raw(" ".repeat(half.saturating_sub(wide))));
        line.extend(right.get(row).cloned().unwrap_or_default());
        lines.push(Line::from(line));
    }
    lines.push(Line::default());
    lines.extend(legend(model, inside));
    lines
}

type Rows = Vec<Vec<Span<'static>>>;

/// The groups in two columns of about the same height, each in the groups' order; moving about is at the left.
fn columns(model: &Model, inside: usize) -> (Rows, Rows) {
    let groups: Vec<Rows> =
        GROUPS.iter().map(|(which, title)| group(model, *which, title, inside / 2)).collect();
    let column = |places: u32, side: u32| -> Rows {
        let mut out: Rows = Vec::new();
        for (place, rows) in groups.iter().enumerate().filter(|(_, rows)| !rows.is_empty()) {
            if places >> place & 1 == side {
                if !out.is_empty() {
                    out.push(Vec::new());
                }
                out.extend(rows.iter().cloned());
            }
        }
        out
    };
    let high = |places: &u32| column(*places, 0).len().max(column(*places, 1).len());
    let best = (0..1_u32 << groups.len()).filter(|places| places & 1 == 0).min_by_key(high).unwrap_or(0);
    (column(best, 0), column(best, 1))
}

/// Draws the popup over the dimmed view.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model) {
    let theme = &model.look.theme;
    let area = area(model);
    if area.height < 3 || area.width < 8 {
        return;
    }
    canvas.clear(area);
    let bar = "─".repeat(usize::from(area.width) - 2);
    let edge = |l: &str, r: &str| Line::from(Span::styled(format!("{l}{bar}{r}"), theme.border));
    canvas.line(area, 0, &edge("┌", "┐"));
    canvas.line(area, area.height - 1, &edge("└", "┘"));
    let side = Line::from(Span::styled("│", theme.border));
    for row in 1..area.height - 1 {
        canvas.line(area, row, &side);
        canvas.right(area, row, &side);
    }
    let view = match model.view {
        View::Room => "Room",
        View::Clashes => "Clashes",
        View::Runs => "Runs",
        View::Activity => "Activity",
    };
    let frame = Rect { x: area.x + 2, width: area.width - 4, ..area };
    canvas.line(frame, 0, &Line::from(Span::styled(format!(" Keys in the {view} "), theme.focus)));
    let all = lines(model, area);
    let scrolls = all.len() > usize::from(area.height - 2);
    let close = closing(model, scrolls, usize::from(frame.width));
    canvas.right(frame, area.height - 1, &Line::from(Span::styled(close, theme.muted)));
    let inside = Rect { x: area.x + 2, y: area.y + 1, width: area.width - 4, height: area.height - 2 };
    canvas.lines(inside, &all, model.help.unwrap_or(0));
}

/// How to get about in the help and out of it, in as many words as there is room for.
fn closing(model: &Model, scrolls: bool, room: usize) -> String {
    let keys = |actions: &[Action], between: &str| {
        let keys: Vec<String> = actions.iter().filter_map(|action| key(model, *action)).collect();
        keys.join(between)
    };
    let one = keys(&[Action::Back], "");
    let (both, moving) =
        (keys(&[Action::Back, Action::Help], " or "), keys(&[Action::Down, Action::Up], " "));
    let scroll = if scrolls && !moving.is_empty() { format!("{moving} scroll · ") } else { String::new() };
    let said = [
        format!(" {scroll}{both} closes · all keys: prickle watch --help "),
        format!(" {scroll}{both} closes "),
        format!(" {scroll}{one} closes "),
        format!(" {one} closes "),
    ];
    let mut said = said.iter().map(|said| model.look.glyphs.tell(said).into_owned());
    said.find(|said| shown::width(said) <= room).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::keys::TABLE;

    #[test]
    fn what_belongs_together_is_in_the_table_and_in_one_group() {
        for (names, _) in TOGETHER {
            let groups = names.iter().map(|name| TABLE.iter().find(|b| b.name == *name).map(|b| b.group));
            let groups: Vec<Option<Group>> = groups.collect();
            assert!(groups.iter().all(|group| group.is_some() && *group == groups[0]), "{names:?}");
        }
    }
}
