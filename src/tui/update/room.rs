//! The Room's list: which agent is selected, and where the eye should fall first.

use crate::picture::Agent;
use crate::tui::model::{Layout, Model};
use crate::wire::id::AgentId;

/// Where the selected agent stands in the list.
pub fn place(model: &Model) -> Option<usize> {
    let id = model.selected.as_ref()?;
    model.picture.agents().position(|(i, _)| i == id)
}

/// Who takes the selection of an agent that stood at `place` and left.
pub fn neighbour(model: &Model, place: usize) -> Option<AgentId> {
    let last = model.picture.agents().len().saturating_sub(1);
    model.picture.agents().nth(place.min(last)).map(|(id, _)| id.clone())
}

/// What the eye should fall on first: a failure of one's own, else a clash, else the first agent.
pub fn first_choice(model: &Model) -> Option<AgentId> {
    let failed = |agent: &Agent| agent.pulse.run_failure.is_some();
    let needs = || model.picture.agents().filter(|(_, agent)| model.needs_you(agent));
    let first = needs().find(|(_, agent)| failed(agent)).or_else(|| needs().next());
    first.or_else(|| model.picture.agents().next()).map(|(id, _)| id.clone())
}

/// Moves the selection.
pub fn step(model: &mut Model, by: isize, first: bool) {
    // In a side pane the first key only brings the selection to light.
    if first && model.layout() == Layout::Cards {
        return;
    }
    let last = model.picture.agents().len().saturating_sub(1);
    let there = place(model).map_or(0, |at| at.saturating_add_signed(by)).min(last);
    select(model, there);
}

fn select(model: &mut Model, place: usize) {
    let id = model.picture.agents().nth(place).map(|(id, _)| id.clone());
    if id != model.selected {
        model.selected = id;
        model.detail_top = 0;
    }
}

/// Selects the next agent, or the one before, whose failure is the watcher's to mend.
pub fn needs_you(model: &mut Model, by: isize) {
    let agents = model.picture.agents().enumerate();
    let places: Vec<usize> = agents.filter(|(_, (_, a))| model.needs_you(a)).map(|(i, _)| i).collect();
    let here = place(model).unwrap_or(0);
    let next = if by > 0 {
        places.iter().find(|p| **p > here).or(places.first())
    } else {
        places.iter().rev().find(|p| **p < here).or(places.last())
    };
    if let Some(place) = next.copied() {
        select(model, place);
    }
}
