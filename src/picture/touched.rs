//! Of which agents something was heard, for who keeps what was made of them.

use std::collections::VecDeque;

use super::Picture;
use crate::wire::id::AgentId;

/// More at once than anyone looks at one by one.
const MOST: usize = 1024;

/// The agents that were heard of last, oldest first.
#[derive(Debug, Clone, Default)]
pub(super) struct Touched {
    last: VecDeque<AgentId>,
    ever: u64,
}

impl Touched {
    pub(super) fn add(&mut self, id: &AgentId) {
        if self.last.len() == MOST {
            self.last.pop_front();
        }
        self.last.push_back(id.clone());
        self.ever += 1;
    }

    /// Everything is new.
    pub(super) fn all(&mut self) {
        self.last.clear();
        self.ever += 1;
    }
}

impl Picture {
    /// How often an agent, or a clash that it is in, has ever changed.
    pub fn touches(&self) -> u64 {
        self.touched.ever
    }

    /// Whose pulse or clash has changed since [`Picture::touches`] was `since`, oldest first; `None`: too many to
    /// tell, or all of them.
    pub fn touched(&self, since: u64) -> Option<impl Iterator<Item = &AgentId>> {
        let new = usize::try_from(self.touched.ever.saturating_sub(since)).ok()?;
        let known = self.touched.last.len().checked_sub(new)?;
        Some(self.touched.last.iter().skip(known))
    }
}
