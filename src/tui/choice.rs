//! What is selected, and what the keys could do with it.

use super::model::{Model, View};
use crate::conflict::Level;
use crate::warning::Message;
use crate::{hint, warning};

impl Model {
    /// The message about the selected row of the Clashes; `None` of what is over, or may be by now.
    pub fn clash_message(&self) -> Option<Message> {
        let row = self.clashes.chosen().filter(|row| row.over.is_none() && !self.is_old())?;
        let me = self.owner.as_deref();
        let of_many = row.around.as_ref().and_then(|_| warning::message_of_many(&row.group(), me));
        Some(of_many.unwrap_or_else(|| warning::message(&row.conflict, me)))
    }

    /// What is to be copied, safe to show: the command for a failure of one's own, else the message about a clash.
    pub fn copies(&self) -> Option<String> {
        match self.view {
            View::Activity => None,
            View::Clashes => self.clash_message().map(|message| message.text),
            View::Room => {
                let (id, agent) = self.selection()?;
                let command = agent.pulse.run_failure.as_ref().and_then(|failure| hint::of(failure).command);
                if let Some(command) = command.filter(|_| self.is_mine(agent)) {
                    return Some(command.to_owned());
                }
                let clash =
                    self.picture.conflicts_of(id, self.now()).max_by_key(|conflict| conflict.level)?;
                Some(warning::message(clash, self.owner.as_deref()).text)
            }
        }
    }

    /// The selected row as JSON, as it came: an agent's pulse, a conflict, or a list of them.
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
            View::Clashes => self
                .clashes
                .chosen()
                .is_some_and(|row| row.conflict.level == Level::Clash && row.over.is_none()),
            View::Activity => false,
        }
    }
}
