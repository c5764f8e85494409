//! The last line: the keys that make sense here, from the table of keys.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::Parts;
use super::paint::Canvas;
use crate::shown;
use crate::tui::keys::{Action, Binding, Key};
use crate::tui::model::{Layout, Model, Pane, View};
use crate::wire::query::By;

/// Draws the footer. Whole hints go when it gets narrow, `? help` last.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model, parts: &Parts) {
    let theme = &model.look.theme;
    if let Some(did) = &model.did {
        let did = format!(" {}", shown::line(did));
        return canvas.line(parts.footer, 0, &Line::from(Span::styled(did, theme.hint)));
    }
    let hint = |(binding, keys): (&'static Binding, &[Key])| -> Option<Vec<Span<'static>>> {
        let words = words(model, binding)?;
        let keys = if binding.action == Action::Down { both(model, keys)? } else { keys.first()?.name() };
        let keys = model.look.glyphs.tell(&keys).into_owned();
        Some(vec![Span::styled(keys, theme.hint), Span::styled(format!(" {words}"), theme.muted)])
    };
    let wide = |spans: &[Span<'_>]| -> usize { spans.iter().map(|s| shown::width(&s.content)).sum() };
    let mut here: Vec<_> = model.keys.rows().filter(|(binding, _)| model.holds(binding)).collect();
    here.sort_by_key(|(binding, _)| rank(model, binding.action));
    let help = here.iter().find(|(b, _)| b.action == Action::Help).and_then(|row| hint(*row));
    let help = help.unwrap_or_default();
    let room = usize::from(parts.footer.width).saturating_sub(wide(&help) + 3);
    let mut spans = vec![Span::raw(" ")];
    let gap = if usize::from(parts.footer.width) < 60 { 2 } else { 3 };
    for row in here {
        if row.0.action == Action::Help {
            continue;
        }
        let Some(hint) = hint(row) else { continue };
        // One that is shorter may still fit.
        if wide(&spans) + wide(&hint) > room {
            continue;
        }
        spans.extend(hint);
        spans.push(Span::raw(" ".repeat(gap)));
    }
    canvas.line(parts.footer, 0, &Line::from(spans));
    let edge = Rect { width: parts.footer.width.saturating_sub(1), ..parts.footer };
    canvas.right(edge, 0, &Line::from(help));
}

/// What a key's hint says here; `None`: it has none.
fn words(model: &Model, binding: &Binding) -> Option<&'static str> {
    let (open, listed) = (model.pane == Pane::Open, model.pane == Pane::List);
    let agents = matches!(model.view, View::Room | View::Activity);
    let short = model.layout() != Layout::Columns;
    let (long, brief) = match binding.action {
        Action::Back | Action::Help if model.help.is_some() => ("close", "close"),
        // In the Clashes something that was unfolded may come first.
        Action::Back if listed && agents && !model.list.filter().is_empty() => ("show all", "show all"),
        Action::Back if listed && model.view == View::Runs && !model.runs.filter.is_empty() => {
            ("show all", "show all")
        }
        Action::Back if listed && model.view == View::Runs && model.runs.opened.is_some() => {
            groups(model.runs.by)
        }
        Action::Open if model.view == View::Runs && model.runs.opened.is_some() => ("run", "run"),
        Action::Open if model.view == View::Runs => runs_of(model.runs.by),
        Action::CopyRow if model.view == View::Runs && model.runs.opened.is_some() => {
            ("copy row as JSON", "copy row")
        }
        // The key of the Room stands there, which says where it leads.
        Action::Back if model.view != View::Room && listed => return None,
        Action::Down if model.help.is_some() => {
            (super::help_end(model) > 0).then_some(("scroll", "scroll"))?
        }
        Action::Down if open || model.pane == Pane::Detail => {
            (super::detail_end(model) > 0).then_some(("scroll", "scroll"))?
        }
        Action::Down if model.view != View::Room && listed => ("move", "move"),
        Action::Down => return None,
        Action::Freeze if model.behind.is_some() => ("go on", "go on"),
        Action::Copy if model.copies_message() => ("copy message", "copy"),
        _ => binding.foot?,
    };
    Some(if short { brief } else { long })
}

/// What the list of groups is called that leads out of one's records.
fn groups(by: By) -> (&'static str, &'static str) {
    match by {
        By::Task => ("tasks", "tasks"),
        By::Agent => ("agents", "agents"),
        By::Project => ("projects", "projects"),
        By::Day => ("days", "days"),
    }
}

/// What is in a group.
fn runs_of(by: By) -> (&'static str, &'static str) {
    match by {
        By::Task => ("runs of this task", "runs"),
        By::Agent => ("runs of this agent", "runs"),
        By::Project => ("runs in this project", "runs"),
        By::Day => ("runs of this day", "runs"),
    }
}

/// The keys of one line down and up together.
fn both(model: &Model, down: &[Key]) -> Option<String> {
    let up = model.keys.rows().find(|(binding, _)| binding.action == Action::Up);
    let up = up.and_then(|(_, keys)| keys.first()).map(|key| key.name()).unwrap_or_default();
    Some(format!("{} {up}", down.first()?.name()).trim_end().to_owned())
}

/// Which hints come first: what the pane in front is for. The others stand as in the table of keys.
fn rank(model: &Model, action: Action) -> u8 {
    let of_runs = [Action::Group, Action::Sort, Action::Period, Action::Filter, Action::Export];
    let first = [Action::NextNeedsYou, Action::Open, Action::Filter, Action::Back];
    match (model.pane, model.view, action) {
        (_, _, Action::Retry) => 0,
        (_, _, Action::Freeze) if model.behind.is_some() => 0,
        (_, _, Action::Back) if model.help.is_some() => 0,
        (Pane::Open, _, Action::Copy)
        | (Pane::List, View::Clashes | View::Activity, Action::Down)
        | (Pane::List, View::Runs, Action::Back | Action::Copy) => 1,
        (Pane::Open | Pane::Detail, _, Action::Down)
        | (Pane::List, View::Clashes | View::Runs | View::Activity, Action::Open) => 2,
        (Pane::List, View::Clashes, Action::Seen | Action::Copy) => 3,
        // In the Room what mends something goes before the other views.
        (Pane::List, View::Runs, Action::Down) | (Pane::List, View::Room, Action::Copy) => 5,
        (Pane::List, View::Runs, Action::CopyRow) if model.runs.opened.is_some() => 3,
        (Pane::List, View::Runs, action) if of_runs.contains(&action) => 3,
        // A list without selection, where nothing is hidden, is hardly a level to go back to.
        (Pane::List, View::Room, Action::Back) if model.list.filter().is_empty() => 5,
        (Pane::List, View::Room, action) if !first.contains(&action) => 6,
        _ => 4,
    }
}
