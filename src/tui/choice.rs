//! What is selected, and what the keys could do with it.

use std::sync::Arc;

use super::event;
use super::model::{Model, Pane, View};
use crate::conflict::{Conflict, Level};
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
                let command = agent.pulse.run_failure.as_ref().and_then(|failure| hint::of(failure).command);
                if let Some(command) = command.filter(|_| self.is_mine(agent)) {
                    return Some(command.to_owned());
                }
                self.picture.conflicts_of(id, self.now()).max_by_key(|conflict| conflict.level)
            }
        };
        clash.map(|clash| warning::message(clash, self.owner.as_deref()).text)
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
