//! How an agent stands: what its claim comes to, and whether it needs a person.

use crate::picture::Agent;
use crate::tui::model::Model;
use crate::wire::pulse::Availability;

/// What an agent's claim comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// At work, said not long ago.
    Working,
    /// Online or idle, said not long ago.
    Free,
    /// It said so too long ago, or a run has failed since.
    Past,
    /// Asleep, away or offline.
    Absent,
    /// Something that only a newer prickle knows.
    Other,
}

/// What an agent needs a person for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Call {
    /// Its run failed.
    Failed,
    /// It would undo another's work, or be undone.
    Clash,
}

/// How an agent stands, as far as more than its own row depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// What its claim comes to.
    pub presence: Presence,
    /// What it needs a person for, if that was not marked as seen.
    pub call: Option<Call>,
    /// Whether that person is the watcher.
    pub needs_you: bool,
}

impl Standing {
    pub(super) fn of(model: &Model, agent: &Agent) -> Self {
        let claim = model.picture.claim(agent, model.now());
        let presence = match claim.availability {
            _ if claim.absent => Presence::Absent,
            _ if claim.past => Presence::Past,
            Availability::Working => Presence::Working,
            Availability::Online | Availability::Idle => Presence::Free,
            _ => Presence::Other,
        };
        let clashes = || model.clashes(&agent.pulse.agent_id).then_some(Call::Clash);
        let call = if model.fails(agent) { Some(Call::Failed) } else { clashes() };
        Self { presence, call, needs_you: call.is_some() && model.is_mine(agent) }
    }

    /// The watcher's first, failures before clashes.
    pub fn urgency(self) -> usize {
        match (self.call, self.needs_you) {
            (Some(Call::Failed), true) => 0,
            (Some(Call::Clash), true) => 1,
            (Some(Call::Failed), false) => 2,
            (Some(Call::Clash), false) => 3,
            (None, _) => 4,
        }
    }
}
