//! The Activity's list: which event is selected. It stays on its row of the screen while news come in above it.

use crate::picture::Entry;
use crate::tui::event;
use crate::tui::model::{Model, Pane};
use crate::tui::view;

/// Moves the selection by one event, or by the events of so many rows.
pub fn step(model: &mut Model, by: isize) {
    let there = {
        let events: Vec<&Entry> = event::listed(model).filter(|e| event::is_selectable(e)).collect();
        let here = events.iter().position(|e| Some(e.number) == model.event).unwrap_or(0);
        let ahead: Box<dyn Iterator<Item = &&Entry>> = if by > 0 {
            Box::new(events.iter().skip(here + 1))
        } else {
            Box::new(events.iter().take(here).rev())
        };
        let mut there = events.get(here).copied();
        let mut rows = by.unsigned_abs();
        for entry in ahead {
            if rows == 0 {
                break;
            }
            there = Some(*entry);
            rows -= if by.unsigned_abs() == 1 { 1 } else { rows.min(view::event_rows(model, entry)) };
        }
        // On the newest it goes with the news.
        there.filter(|e| events.first().is_some_and(|first| first.number != e.number)).map(|e| e.number)
    };
    model.event = there;
}

/// The next event, or the one before, with which a trouble began that the watcher still has to mend; round at the
/// ends. Whether there is one.
pub fn needs_you(model: &mut Model, by: isize) -> bool {
    let events: Vec<&Entry> = event::listed(model).filter(|e| event::is_selectable(e)).collect();
    let chosen = event::chosen(model).map(|entry| entry.number);
    let here = events.iter().position(|e| Some(e.number) == chosen).unwrap_or(0);
    let stands = |place: &usize| event::stands(model, &events[*place].happening);
    let Some(place) = super::next_round(events.len(), here, by, stands) else { return false };
    model.event = Some(events[place].number);
    true
}

/// Opens the agent of the selected event.
pub fn open(model: &mut Model) {
    match event::agent(model).map(|(id, _)| id.clone()) {
        Some(id) => {
            model.selected = Some(id);
            model.pane = Pane::Open;
            model.detail_top = 0;
        }
        None => model.did = Some("nobody to open: it is about no agent in the room".into()),
    }
}

/// An event that is no longer listed gives its selection to the one before it in time, else to the oldest; then
/// as little is scrolled as is needed.
pub fn keep_in_sight(model: &mut Model) {
    if let Some(number) = model.event.filter(|_| event::chosen(model).is_none()) {
        let events = || event::listed(model).filter(|e| event::is_selectable(e));
        let there = events().find(|e| e.number < number).or_else(|| events().last()).map(|e| e.number);
        model.event = there;
    }
    model.activity_top = view::activity_top(model);
}
