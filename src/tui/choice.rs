//! What is selected, and what the keys could do with it.

use std::cmp::Reverse;
use std::sync::Arc;

use super::model::{Model, View};
use crate::conflict::{Conflict, Level};
use crate::picture::Agent;
use crate::trouble::Trouble;
use crate::wire::id::AgentId;
use crate::{hint, warning};

impl Model {
    /// The selected clash, risk or note.
    pub fn chosen_clash(&self) -> Option<&Arc<Conflict>> {
        self.picture.conflicts(self.now()).into_iter().nth(self.clash)
    }

    /// What is to be copied, safe to show: the command for a failure of one's own, else the message about a clash.
    pub fn copies(&self) -> Option<String> {
        let clash = match self.view {
            View::Activity => None,
            View::Clashes => self.chosen_clash(),
            View::Room => {
                let (id, agent) = self.selection()?;
                if let Some(command) = self.command(id, agent) {
                    return Some(command.to_owned());
                }
                // What may be over needs no message.
                self.in_the_way(id).first().copied().filter(|_| !self.is_old())
            }
        };
        clash.map(|clash| warning::message(clash, self.owner.as_deref()).text)
    }

    /// The command for an agent's failure, where it is the watcher's to mend and not a trouble of many.
    pub fn command(&self, id: &AgentId, agent: &Agent) -> Option<&'static str> {
        let failure = agent.pulse.run_failure.as_ref().filter(|_| self.is_mine(agent))?;
        hint::of(failure).command.filter(|_| self.shared_trouble(id).is_none())
    }

    /// The trouble that an agent shares with other owners' agents.
    pub fn shared_trouble(&self, id: &AgentId) -> Option<&Trouble> {
        self.picture.troubles().iter().find(|trouble| trouble.owners() > 1 && trouble.has(id))
    }

    /// The clashes and risks that an agent is in, the worst first, then the newest.
    pub fn in_the_way(&self, id: &AgentId) -> Vec<&Arc<Conflict>> {
        let all = self.picture.conflicts_of(id, self.now());
        let mut found: Vec<_> = all.filter(|conflict| conflict.level > Level::Note).collect();
        // The last two only so that the order never changes by itself.
        let place =
            |c: &Conflict| (Reverse(c.level), Reverse(c.since), c.first.id().clone(), c.second.id().clone());
        found.sort_by_cached_key(|conflict| place(conflict));
        found
    }

    /// The selected row as JSON, as it came.
    pub fn row(&self) -> Option<String> {
        let (_, agent) = self.selection()?;
        serde_json::to_string(&agent.pulse).ok()
    }

    /// Whether what is selected needs somebody, or did until it was marked as seen.
    pub fn can_be_seen(&self) -> bool {
        match self.view {
            View::Room => self.selection().is_some_and(|(id, agent)| {
                let level = self.picture.in_the_way(id, self.now());
                agent.pulse.run_failure.is_some() || level == Some(Level::Clash)
            }),
            View::Clashes => self.chosen_clash().is_some_and(|clash| clash.level == Level::Clash),
            View::Activity => false,
        }
    }
}
