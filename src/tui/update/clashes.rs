//! The Clashes' list: which one is selected.

use crate::tui::model::Model;
use crate::tui::view;

/// Moves the selection.
pub fn step(model: &mut Model, by: isize) {
    model.clash = model.clash.saturating_add_signed(by);
    model.detail_top = 0;
}

/// The selection stays on what there is, and in sight.
pub fn keep_in_sight(model: &mut Model) {
    let last = model.picture.conflicts(model.now()).len().saturating_sub(1);
    model.clash = model.clash.min(last);
    model.clash_top = view::clash_top(model);
}

/// Marks the selected clash as seen, or no longer.
pub fn mark_as_seen(model: &mut Model) {
    if let Some(clash) = model.chosen_clash().cloned() {
        model.seen.turn_clash(&clash);
    }
}
