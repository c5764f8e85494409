//! What is selected, and what the keys could do with it.

use std::sync::Arc;

use super::event;
use super::model::{Model, Pane, View};
use super::view;
use crate::conflict::{Conflict, Level};
use crate::{hint, warning};

impl Model {
    /// The selected clash, risk or note.
    pub fn chosen_clash(&self) -> Option<&Arc<Conflict>> {
        self.picture.conflicts(self.now()).into_iter().nth(self.clash)
    }

    /// What is to be copied, safe to show: the command for a failure of one's own, else the message about a clash;
    /// where nobody is, what the page of the empty room says to do next.
    pub fn copies(&self) -> Option<String> {
        if self.picture.agents().len() == 0 {
            return view::next_step(self);
        }
        if let Some(command) = self.command() {
            return Some(command.to_owned());
        }
        let clash = match self.view {
            View::Activity if self.pane != Pane::Open => None,
            View::Clashes => self.chosen_clash(),
            View::Room | View::Activity => {
                let (id, _) = self.selection()?;
                self.picture.conflicts_of(id, self.now()).max_by_key(|conflict| conflict.level)
            }
        };
        clash.map(|clash| warning::message(clash, self.owner.as_deref()).text)
    }

    /// The command for the failure of the agent whose turn it is, if that is the watcher's to mend.
    fn command(&self) -> Option<&'static str> {
        let shown = self.view == View::Room || (self.view == View::Activity && self.pane == Pane::Open);
        let (_, agent) = self.selection().filter(|_| shown)?;
        let failure = agent.pulse.run_failure.as_ref().filter(|_| self.is_mine(agent))?;
        hint::of(failure).command
    }

    /// Whether what is to be copied is for an agent or a person, and no shell's command.
    pub fn copies_message(&self) -> bool {
        if self.picture.agents().len() == 0 {
            return view::next_step(self).as_deref() == Some(view::SAY);
        }
        self.command().is_none()
    }

    /// Whether there is a selected row to open and to copy.
    pub fn has_row(&self) -> bool {
        match self.view {
            View::Activity => event::chosen(self).is_some(),
            View::Room | View::Clashes => self.selection().is_some(),
        }
    }

    /// The selected row as JSON, as it came.
    pub fn row(&self) -> Option<String> {
        if self.view == View::Activity && self.pane != Pane::Open {
            return Some(event::json(&event::chosen(self)?.happening).to_string());
        }
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
