//! What is selected, and what the keys could do with it.

use std::cmp::Reverse;
use std::sync::Arc;

use super::event;
use super::model::{Model, Pane, View};
use super::runs::{Reader, listed};
use super::view;
use crate::conflict::{Conflict, Level};
use crate::picture::Agent;
use crate::trouble::Trouble;
use crate::warning::Message;
use crate::wire::id::AgentId;
use crate::{hint, warning};

impl Model {
    /// The message about the selected row of the Clashes; `None` of what is over, or may be by now.
    pub fn clash_message(&self) -> Option<Message> {
        let row = self.clashes.chosen().filter(|row| row.over.is_none() && !self.is_old())?;
        let me = self.owner.as_deref();
        let of_many = row.around.as_ref().and_then(|_| warning::message_of_many(&row.group(), me));
        Some(of_many.unwrap_or_else(|| warning::message(&row.conflict, me)))
    }

    /// What is to be copied, safe to show: the command for a failure of one's own, else the message about a clash;
    /// where nobody is, what the page of the empty room says to do next.
    pub fn copies(&self) -> Option<String> {
        if self.view == View::Runs {
            return view::key_needed(self);
        }
        if self.picture.agents().len() == 0 {
            return view::next_step(self);
        }
        if let Some(command) = self.chosen_command() {
            return Some(command.to_owned());
        }
        match self.view {
            View::Activity if self.pane != Pane::Open => None,
            View::Runs => None,
            View::Clashes => self.clash_message().map(|message| message.text),
            View::Room | View::Activity => {
                let (id, _) = self.selection()?;
                // What may be over needs no message.
                let clash = self.in_the_way(id).first().copied().filter(|_| !self.is_old())?;
                Some(warning::message(clash, self.owner.as_deref()).text)
            }
        }
    }

    /// Whether what is to be copied is said to an agent or a person, and no shell's command.
    pub fn copies_message(&self) -> bool {
        if self.view == View::Runs {
            return false;
        }
        if self.picture.agents().len() == 0 {
            return view::next_step(self).as_deref() == Some(view::SAY);
        }
        self.chosen_command().is_none()
    }

    /// The command for the failure of the agent whose turn it is.
    fn chosen_command(&self) -> Option<&'static str> {
        let shown = self.view == View::Room || (self.view == View::Activity && self.pane == Pane::Open);
        let (id, agent) = self.selection().filter(|_| shown)?;
        self.command(id, agent)
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

    /// Whether there is a list whose order and filter mean something, also while it is empty.
    pub fn has_list(&self) -> bool {
        self.view != View::Runs || matches!(self.runs.reader, Reader::Person)
    }

    /// Whether there is a selected row to open and to copy.
    pub fn has_row(&self) -> bool {
        match self.view {
            View::Activity => event::chosen(self).is_some(),
            View::Clashes => self.clashes.chosen().is_some(),
            View::Runs => listed::group(self).is_some() || listed::record(self).is_some(),
            View::Room => self.selection().is_some(),
        }
    }

    /// The selected row as JSON, as it came: an agent's pulse, a conflict or a list of them, an event.
    pub fn row(&self) -> Option<String> {
        if self.view == View::Clashes {
            let row = self.clashes.chosen()?;
            let told = match &row.around {
                Some(_) => {
                    row.conflicts().map(|conflict| warning::json(conflict, row.over.as_deref())).collect()
                }
                None => warning::json(&row.conflict, row.over.as_deref()),
            };
            return Some(told.to_string());
        }
        if self.view == View::Runs {
            let group = listed::group(self).map(serde_json::to_string);
            return group.or_else(|| listed::record(self).map(serde_json::to_string))?.ok();
        }
        if self.view == View::Activity && self.pane != Pane::Open {
            return Some(event::json(&event::chosen(self)?.happening).to_string());
        }
        let (_, agent) = self.selection()?;
        serde_json::to_string(&agent.pulse).ok()
    }

    /// Whether what is selected needs somebody, or did until it was marked as seen.
    pub fn can_be_seen(&self) -> bool {
        match self.view {
            View::Activity if self.pane != Pane::Open => false,
            View::Runs => false,
            View::Room | View::Activity => self.selection().is_some_and(|(id, agent)| {
                let level = self.picture.in_the_way(id, self.now());
                agent.pulse.run_failure.is_some() || level == Some(Level::Clash)
            }),
            View::Clashes => self
                .clashes
                .chosen()
                .is_some_and(|row| row.conflict.level == Level::Clash && row.over.is_none()),
        }
    }
}
