//! What an agent's new pulse says that its last one did not.

use crate::wire::Time;
use crate::wire::pulse::{Availability, Intent, Pulse, RunFailure};

/// One difference between two pulses of one agent, in the order a person would tell them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change<'a> {
    /// The runner said that a run failed.
    Failed(&'a RunFailure),
    /// The failure was cleared.
    Cleared,
    /// It declares an intent.
    Intends {
        /// The new intent.
        intent: &'a Intent,
        /// The one that it replaces.
        before: Option<&'a Intent>,
    },
    /// Its intent was withdrawn.
    IntendsNothing,
    /// It says that it is there, at work, idle, …
    Availability {
        /// The first pulse has none before it.
        from: Option<&'a Availability>,
        /// What it says now.
        to: &'a Availability,
    },
    /// It does something else; empty: it no longer says what.
    Doing(&'a str),
    /// It is on another branch.
    Branch(Option<&'a str>),
    /// It is at another task.
    Task(Option<&'a str>),
    /// It works on other files.
    Files(&'a [String]),
    /// It decided something.
    Decided(&'a str),
}

/// Whether a report at `at` is one with which its failure begins: another than before, or the same once more. Only a
/// runner's call leaves `updated_at` alone; an agent's own report sets it to its time, and says nothing of failures.
pub fn fails(before: Option<&Pulse>, after: &Pulse, at: Time) -> bool {
    let another = before.is_some_and(|before| before.run_failure != after.run_failure);
    after.run_failure.is_some() && (another || after.updated_at != at)
}

/// The differences; none where a report repeats the last one. `before` is `None` for an agent's first pulse, and `at`,
/// when it was reported, where a picture shows it.
pub fn between<'a>(before: Option<&'a Pulse>, after: &'a Pulse, at: Option<Time>) -> Vec<Change<'a>> {
    let mut changes = Vec::new();
    match (before.and_then(|b| b.run_failure.as_ref()), after.run_failure.as_ref()) {
        (was, Some(now)) if was != Some(now) || at.is_some_and(|at| fails(before, after, at)) => {
            changes.push(Change::Failed(now));
        }
        (Some(_), None) => changes.push(Change::Cleared),
        _ => {}
    }
    // An intent that had run out by then was not withdrawn, and is declared anew by a report that repeats it.
    let was = before.and_then(|b| b.intent.as_ref()).filter(|was| was.holds(after.updated_at));
    let reported = before.is_none_or(|b| b.updated_at != after.updated_at);
    match (was, after.intent.as_ref()) {
        (was, Some(intent)) if !was.is_some_and(|was| same_intent(was, intent)) => {
            changes.push(Change::Intends { intent, before: was });
        }
        // A picture leaves out an intent that has run out since; the agent has said nothing.
        (Some(_), None) if reported => changes.push(Change::IntendsNothing),
        _ => {}
    }
    let from = before.map(|b| &b.availability);
    if from != Some(&after.availability) {
        changes.push(Change::Availability { from, to: &after.availability });
    }
    let doing = before.map_or("", |b| b.doing.as_str());
    if doing != after.doing {
        changes.push(Change::Doing(&after.doing));
    }
    let branch = before.and_then(|b| b.branch.as_deref());
    if branch != after.branch.as_deref() {
        changes.push(Change::Branch(after.branch.as_deref()));
    }
    let task = before.and_then(|b| b.task_id.as_deref());
    if task != after.task_id.as_deref() {
        changes.push(Change::Task(after.task_id.as_deref()));
    }
    let files = before.map_or(&[][..], |b| b.files.as_slice());
    if files != after.files {
        changes.push(Change::Files(&after.files));
    }
    let decision = before.and_then(|b| b.last_decision.as_deref());
    if let Some(now) = after.last_decision.as_deref().filter(|now| Some(*now) != decision) {
        changes.push(Change::Decided(now));
    }
    changes
}

/// Whether two intents say the same, whenever they end: repeating one only makes it hold longer.
fn same_intent(a: &Intent, b: &Intent) -> bool {
    a.kind == b.kind && a.paths == b.paths && a.areas == b.areas
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::{Value, json};

    fn pulse(updated: &str, intent: Option<&str>) -> Pulse {
        let mut pulse: Value = json!({"agent_id": "acme/a", "owner": "acme", "project": "website-v2",
            "availability": "working", "doing": "x", "task_id": null, "branch": null, "files": [],
            "last_decision": null, "updated_at": format!("2026-11-30T{updated}Z")});
        if let Some(until) = intent {
            let expires_at = format!("2026-11-30T{until}Z");
            pulse["intent"] =
                json!({"kind": "change", "paths": ["a"], "areas": [], "expires_at": expires_at});
        }
        serde_json::from_value(pulse).unwrap()
    }

    #[test]
    fn an_intent_that_ran_out_was_not_withdrawn() {
        let before = pulse("14:00:00", Some("14:30:00"));
        let withdrawn = pulse("14:10:00", None);
        assert_eq!(between(Some(&before), &withdrawn, None), [Change::IntendsNothing]);
        let ran_out = pulse("14:40:00", None);
        assert_eq!(between(Some(&before), &ran_out, None), []);
        let left_out_of_a_picture = pulse("14:00:00", None);
        assert_eq!(between(Some(&before), &left_out_of_a_picture, None), []);
        let again = pulse("14:40:00", Some("15:10:00"));
        assert!(matches!(between(Some(&before), &again, None)[..], [Change::Intends { before: None, .. }]));
        let longer = pulse("14:10:00", Some("14:40:00"));
        assert_eq!(between(Some(&before), &longer, None), []);
    }
}
