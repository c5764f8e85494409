//! The Clashes' list: which row is selected, what it unfolds, what was seen.

use std::sync::Arc;

use crate::conflict::Conflict;
use crate::tui::clashes::Row;
use crate::tui::model::{Model, Pane};
use crate::tui::view;

/// Moves the selection.
pub fn step(model: &mut Model, by: isize) {
    select(model, model.clashes.place().saturating_add_signed(by));
}

fn select(model: &mut Model, place: usize) {
    let was = model.clashes.place();
    model.clashes.hold(place);
    if model.clashes.place() != was {
        model.detail_top = 0;
    }
}

/// Selects the next clash, or the one before, that is the watcher's to settle. Whether there is one.
pub fn needs_you(model: &mut Model, by: isize) -> bool {
    let rows = model.clashes.all();
    // Who of many needs you is found on the row of all of them, or below it.
    let needs_you = |place: &usize| !rows[*place].unfolded && model.row_needs_you(&rows[*place]);
    let place = super::next_round(rows.len(), model.clashes.place(), by, needs_you);
    let Some(place) = place else { return false };
    select(model, place);
    true
}

/// Unfolds a row of many, or folds it; `false` where the selected one is none.
pub fn fold(model: &mut Model) -> bool {
    model.clashes.fold()
}

/// Folds what the selection is in; `false` where that is nothing.
pub fn fold_up(model: &mut Model) -> bool {
    model.clashes.fold_up()
}

/// The rows are as the picture is, the selection on what it was on, and in sight.
pub fn keep_in_sight(model: &mut Model) {
    let was = model.clashes.chosen().map(Row::id);
    let mut rows = std::mem::take(&mut model.clashes);
    model.clash_top = rows.keep(model, model.clash_top);
    model.clashes = rows;
    // The eye falls on what needs its owner, unless somebody looks at something.
    let free = !model.clashes.is_held() && model.clashes.chosen().is_some_and(|row| row.over.is_some());
    if (was.is_none() || free)
        && let Some(place) = model.clashes.all().iter().position(|row| model.row_needs_you(row))
    {
        model.clashes.choose(place);
    }
    if model.clashes.chosen().map(Row::id) != was {
        model.detail_top = 0;
    }
    if model.clashes.chosen().is_none() {
        model.pane = Pane::List; // there is nothing left to be read alone
    }
    model.clash_top = view::clash_top(model);
}

/// Marks the selected clash as seen, or no longer; of many all, as long as one was not.
pub fn mark_as_seen(model: &mut Model) {
    let Some(row) = model.clashes.chosen() else { return };
    let clashes: Vec<Arc<Conflict>> = row.conflicts().cloned().collect();
    let seen = model.row_is_seen(row);
    for clash in clashes {
        if model.seen.clash(&clash) == seen {
            model.seen.turn_clash(&clash);
        }
    }
}
