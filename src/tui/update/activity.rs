//! The Activity's list: how far it is scrolled.

use crate::tui::model::Model;
use crate::tui::view;

/// Scrolls.
pub fn step(model: &mut Model, by: isize) {
    model.activity_top = model.activity_top.saturating_add_signed(by);
}

/// Never past the end.
pub fn keep_in_sight(model: &mut Model) {
    model.activity_top = model.activity_top.min(view::activity_end(model));
}
