//! The events of the Activity: which are listed in which order, whose each is, and each as JSON.

use serde_json::{Value, json};

use super::model::Model;
use crate::conflict::{Conflict, Party};
use crate::picture::{Agent, Entry, Happening, Since};
use crate::warning;
use crate::wire::id::AgentId;

/// What the Activity lists, the newest first: all that the filter lets through.
pub fn listed(model: &Model) -> impl Iterator<Item = &Entry> {
    all(model).filter(|entry| matches(model, &entry.happening))
}

/// Whether the filter lets an event through. The times in which nothing was heard always count.
fn matches(model: &Model, happening: &Happening) -> bool {
    let filter = model.list.filter();
    match happening {
        _ if filter.is_empty() => true,
        Happening::Reported { after: pulse, .. } | Happening::Alike { pulse, .. } => {
            filter.matches_pulse(model, pulse)
        }
        Happening::Clash { clash, .. } => filter.matches_conflict(model, clash),
        Happening::ClashOver(ended) => filter.matches_conflict(model, &ended.conflict),
        Happening::Gone { agent_id, .. } => filter.matches_gone(agent_id),
        Happening::Outage { .. } => true,
        Happening::Unknown { .. } | Happening::Clock { .. } => false,
    }
}

/// Everything that happened, the newest first. What was caught up with after an outage stands below its rule, and a
/// clash that stood already on the first look among what the room remembers of its time.
pub fn all(model: &Model) -> impl Iterator<Item = &Entry> {
    let mut entries: Vec<&Entry> = model.picture.entries().collect();
    for from in (0..entries.len()).rev() {
        let entry = entries[from];
        let early = entry.earlier && matches!(entry.happening, Happening::Clash { .. });
        if !early && !matches!(entry.happening, Happening::Outage { .. }) {
            continue;
        }
        let later = &entries[from + 1..];
        let before =
            later.iter().take_while(|e| e.earlier == early && e.happening.at() <= entry.happening.at());
        let to = from + before.count();
        entries[from..=to].rotate_left(1);
    }
    entries.into_iter().rev()
}

/// Whether the keys can select it: a time in which nothing was heard is a rule between the others.
pub fn is_selectable(entry: &Entry) -> bool {
    !matches!(entry.happening, Happening::Outage { .. })
}

/// Whether an event began a failure or a clash that is still the watcher's to mend.
pub fn stands(model: &Model, happening: &Happening) -> bool {
    match happening {
        Happening::Reported { at, after, .. } => model.picture.agent(&after.agent_id).is_some_and(|agent| {
            let began = agent.pulse.run_failure == after.run_failure && agent.failed == Some(Since::At(*at));
            began && model.fails(agent) && model.is_mine(agent)
        }),
        Happening::Clash { clash, .. } => {
            let mine = model.owner.as_deref().is_none_or(|me| clash.concerns(me));
            let mut now = model.picture.conflicts_of(clash.first.id(), model.now());
            mine && now.any(|now| now.which() == clash.which() && !model.seen.clash(now))
        }
        _ => false,
    }
}

/// The selected event: the newest, unless another was chosen.
pub fn chosen(model: &Model) -> Option<&Entry> {
    let mut listed = listed(model).filter(|entry| is_selectable(entry));
    match model.event {
        Some(number) => listed.find(|entry| entry.number == number),
        None => listed.next(),
    }
}

/// The agents that an event is about: the watcher's own first.
pub fn agents<'a>(model: &'a Model, happening: &'a Happening) -> Vec<&'a AgentId> {
    let both = |clash: &'a Conflict| {
        let mut ids: Vec<&AgentId> = clash.parties().map(Party::id).to_vec();
        ids.sort_by_key(|id| model.owner.as_deref() != Some(id.owner()));
        ids
    };
    match happening {
        Happening::Reported { after: pulse, .. } | Happening::Alike { pulse, .. } => vec![&pulse.agent_id],
        Happening::Gone { agent_id, .. } => vec![agent_id],
        Happening::Clash { clash, .. } => both(clash),
        Happening::ClashOver(ended) => both(&ended.conflict),
        Happening::Unknown { .. } | Happening::Outage { .. } | Happening::Clock { .. } => Vec::new(),
    }
}

/// Who is opened with the selected event: the first of its agents that is still in the room.
pub fn agent(model: &Model) -> Option<(&AgentId, &Agent)> {
    let ids = agents(model, &chosen(model)?.happening);
    ids.into_iter().find_map(|id| Some((id, model.picture.agent(id)?)))
}

/// An event as JSON, other people's text as it came.
pub fn json(happening: &Happening) -> Value {
    match happening {
        Happening::Reported { at, after, .. } => json!({"type": "pulse", "at": at, "pulse": **after}),
        Happening::Alike { at, last, reports, pulse } => {
            json!({"type": "alike", "at": at, "last": last, "reports": reports, "pulse": **pulse})
        }
        Happening::Gone { at, agent_id } => json!({"type": "gone", "at": at, "agent_id": agent_id}),
        Happening::Unknown { at, kind } => json!({"type": kind, "at": at}),
        Happening::Outage { from, to, missed } => {
            json!({"type": "outage", "from": from, "to": to, "missed": missed})
        }
        Happening::Clash { at, clash } => {
            json!({"type": "clash", "at": at, "clash": warning::json(clash, None)})
        }
        Happening::ClashOver(ended) => {
            let clash = warning::json(&ended.conflict, Some(ended));
            json!({"type": "clash_over", "at": ended.at, "clash": clash})
        }
        Happening::Clock { at, ahead } => {
            json!({"type": "clock", "at": at, "ahead_ms": ahead.num_milliseconds()})
        }
    }
}
