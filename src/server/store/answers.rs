//! What the store answers: refusals, pictures, and a watcher's place in a room.

use std::sync::Arc;

use tokio::sync::broadcast;

use super::events::Events;
use crate::rules::Refusal;
use crate::wire::Time;
use crate::wire::id::Slug;

/// Why a call to the store was not done. `Display` is for whoever called.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The call is at fault; the text names all its faults.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// The room is at fault; nothing was stored, and the same call may succeed later.
    #[error("{0}")]
    Storage(String),
}

/// Why a database can't be used. `Display`: path, cause and remedy, in one sentence.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct OpenError(pub(super) String);

/// A run's record, as it goes to the watchers of its owner alone.
#[derive(Debug, Clone)]
pub struct RunSent {
    /// Whose eyes it is for.
    pub owner: Slug,
    /// A whole run frame as JSON.
    pub text: Arc<str>,
}

/// Where a watcher begins.
#[derive(Debug)]
pub enum Start {
    /// Where it left off: what it missed are the first of [`Subscription::events`].
    Resumed,
    /// The room as it is.
    Snapshot(Arc<Picture>),
}

/// The room at one moment, for all watchers that come before the next.
#[derive(Debug)]
pub struct Picture {
    /// The last event that the picture contains.
    pub seq: u64,
    /// Every agent's pulse as JSON, in the order of their ids, without intents that have run out.
    pub pulses: Arc<[Arc<str>]>,
    /// The newest events, oldest first, whole frames as JSON: as many as fit into one `recent` frame.
    pub recent: Arc<[Arc<str>]>,
}

/// A watcher's place in a room: made under the lock that the publisher takes, so nothing is between
/// `start` and the first of `events`.
#[derive(Debug)]
pub struct Subscription {
    /// Which database the numbers belong to.
    pub epoch: Arc<str>,
    /// The room's newest event.
    pub seq: u64,
    /// The room's clock.
    pub server_time: Time,
    /// What to send first.
    pub start: Start,
    /// Everything after the picture, or after where the watcher left off.
    pub events: Events,
    /// Records of runs from now on, of all owners: send on only the watcher's own, and only to a person.
    pub runs: broadcast::Receiver<RunSent>,
}
