//! What happened in a room, as far as it is remembered.

use std::collections::VecDeque;
use std::sync::Arc;

use chrono::TimeDelta;

use crate::conflict::{Conflict, Ended};
use crate::wire::Time;
use crate::wire::id::AgentId;
use crate::wire::pulse::Pulse;

/// Happenings kept for the activity.
const LOG_MAX: usize = 500;

/// Something that happened, for the activity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happening {
    /// An agent, or its runner, reported.
    Reported {
        /// When, by the room's clock.
        at: Time,
        /// What was known of the agent before; `None`: nothing.
        before: Option<Arc<Pulse>>,
        /// What it is now.
        after: Arc<Pulse>,
    },
    /// An agent was taken out of the room.
    Gone {
        /// When, by the room's clock.
        at: Time,
        /// Who.
        agent_id: AgentId,
    },
    /// An event of a newer room.
    Unknown {
        /// Its type, as it came.
        kind: String,
    },
    /// Nothing was heard between these two moments of the room's clock.
    Outage {
        /// From.
        from: Time,
        /// To.
        to: Time,
        /// How many events came afterwards to catch up; `None`: a new picture came instead.
        missed: Option<u64>,
    },
    /// Two agents have got into each other's way, as nobody sent: only clashes are told here.
    Clash {
        /// When, by the room's clock.
        at: Time,
        /// Who, and what of them.
        clash: Arc<Conflict>,
    },
    /// A clash is over.
    ClashOver(Arc<Ended>),
    /// The watcher's clock was found to be far from the room's, which ages are told by.
    Clock {
        /// When, by the room's clock.
        at: Time,
        /// The room's clock less the watcher's.
        ahead: TimeDelta,
    },
}

/// Happenings, oldest first.
#[derive(Debug, Clone, Default)]
pub(super) struct Log {
    kept: VecDeque<Happening>,
    ever: u64,
}

impl Log {
    pub(super) fn note(&mut self, happening: Happening) {
        if self.kept.len() == LOG_MAX {
            self.kept.pop_front();
        }
        self.kept.push_back(happening);
        self.ever += 1;
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Happening> {
        self.kept.iter()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// How many there have ever been.
    pub(super) fn ever(&self) -> u64 {
        self.ever
    }
}
