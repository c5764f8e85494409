//! The Room's list: it follows the picture, and the selection follows its agent.

use crate::shown;
use crate::tui::keys::Action;
use crate::tui::list::Call;
use crate::tui::model::{Layout, Model, Pane, Typed, Typing, View};
use crate::wire::id::AgentId;

/// Lets the list follow the picture, and gives the selection to somebody who is in it. Whether anything was to be
/// done.
pub fn follow(model: &mut Model) -> bool {
    let mut list = std::mem::take(&mut model.list);
    let place = model.selected.as_ref().and_then(|id| list.place(id));
    let left = model.selected.clone().filter(|_| model.selection().is_none());
    let heir = place.filter(|_| left.is_some()).and_then(|place| list.heir(model, place));
    let changed = list.follow(model);
    model.list = list;
    // What is open may have come from elsewhere, whatever the filter says.
    let open = model.pane == Pane::Open && model.selection().is_some();
    if open || place_of(model).is_some() {
        return changed;
    }
    let next = heir.filter(|id| model.list.place(id).is_some()).or_else(|| first_choice(model));
    if next == model.selected {
        return changed;
    }
    if let Some(Typing { what: Typed::Filter { before }, .. }) = &mut model.typing
        && *before == left
    {
        before.clone_from(&next);
    }
    model.selected = next;
    model.detail_top = 0;
    if let Some(left) = left
        && model.view != View::Clashes
    {
        if model.pane == Pane::Open || model.selected.is_none() {
            model.pane = Pane::List; // what was opened is no more
        }
        // In a side pane that nobody has touched nothing was selected for all that anyone knows.
        if model.touched {
            model.did = Some(format!("{} has left the room", shown::line(left.as_str())));
        }
    }
    true
}

/// Where the selected agent stands in the list.
fn place_of(model: &Model) -> Option<usize> {
    model.selected.as_ref().and_then(|id| model.list.place(id))
}

/// What the eye should fall on first: a failure of one's own, else a clash, else the first agent.
pub fn first_choice(model: &Model) -> Option<AgentId> {
    let needs = || model.list.iter().filter(|(_, standing)| standing.needs_you);
    let first = needs().find(|(_, standing)| standing.call == Some(Call::Failed));
    let first = first.or_else(|| needs().next()).map(|(id, _)| id);
    first.or_else(|| model.list.nth(0)).cloned()
}

/// Moves the selection.
pub fn step(model: &mut Model, by: isize, first: bool) {
    // In a side pane the first key only brings the selection to light.
    if first && model.layout() == Layout::Cards {
        return;
    }
    let last = model.list.len().saturating_sub(1);
    let there = place_of(model).map_or(0, |at| at.saturating_add_signed(by)).min(last);
    select(model, there);
}

fn select(model: &mut Model, place: usize) {
    let id = model.list.nth(place).cloned();
    if id != model.selected {
        model.selected = id;
        model.detail_top = 0;
    }
}

/// Selects the next agent, or the one before, that needs the watcher.
pub fn needs_you(model: &mut Model, by: isize) {
    let here = place_of(model).unwrap_or(0);
    let needs_you = |place: &usize| model.list.at(*place).is_some_and(|(_, standing)| standing.needs_you);
    if let Some(place) = super::next_round(model.list.len(), here, by, needs_you) {
        select(model, place);
    } else if let hidden @ 1.. = model.list.needing_hidden() {
        // A filter is not left behind somebody's back.
        let verb = if hidden == 1 { "needs" } else { "need" };
        let esc = model.keys.name_of(Action::Back);
        model.did = Some(format!("{hidden} {verb} you, hidden by the filter · {esc} shows all"));
    }
}

/// The next order.
pub fn sort(model: &mut Model) {
    let (order, _) = model.list.order();
    model.list.sort_by(order.next(), false);
    model.did = Some(sorted(model));
}

/// The other way round.
pub fn reverse(model: &mut Model) {
    let (order, reversed) = model.list.order();
    model.list.sort_by(order, !reversed);
    model.did = Some(sorted(model));
}

fn sorted(model: &Model) -> String {
    let (order, reversed) = model.list.order();
    format!("sorted {}{}", order.words(), if reversed { ", reversed" } else { "" })
}

/// The next headings.
pub fn group(model: &mut Model) {
    let grouping = model.list.grouping().next();
    model.list.group_by(grouping);
    model.did = Some(grouping.words().into());
}
