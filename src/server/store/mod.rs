//! All that the room keeps: one type with a method per question, and the only place with SQL.

pub mod keys;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{broadcast, watch};

use super::clock::Clock;
use crate::rules::{Caller, Refusal};
use crate::wire::Time;
use crate::wire::feed::Snapshot;
use crate::wire::id::Slug;
use crate::wire::pulse::{Pulse, PulseReport};
use crate::wire::run::{Run, RunPage, RunReport};

/// What can be set on a store. Tests shrink the times.
#[derive(Debug, Clone)]
pub struct Options {
    /// What the time is.
    pub clock: Clock,
    /// How long an intent holds after its report.
    pub intent_holds: Duration,
    /// Events kept per project, for history and for watchers that come back.
    pub events_kept: u64,
    /// How often the room looks whether another process has changed the keys.
    pub keys_reread: Duration,
    /// A key's `last_used_at` is written at most this often.
    pub use_noted: Duration,
    /// Frames that a watcher may be behind before it needs a new picture.
    pub frames_held: usize,
    /// Largest database in bytes; calls beyond it are refused as on a full disk. `None`: the disk decides.
    pub largest: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            clock: Clock::default(),
            intent_holds: Duration::from_mins(30),
            events_kept: 1000,
            keys_reread: Duration::from_secs(1),
            use_noted: Duration::from_mins(1),
            frames_held: 1024,
            largest: None,
        }
    }
}

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
pub struct OpenError(String);

/// One event of a room, as it goes to its watchers.
#[derive(Debug, Clone)]
pub struct Sent {
    /// Its number in the project.
    pub seq: u64,
    /// A whole pulse frame as JSON, serialized once.
    pub text: Arc<str>,
}

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
    /// The events that it missed, oldest first, whole frames as JSON; empty if none.
    Missed(Vec<Arc<str>>),
    /// The room as it is.
    Snapshot {
        /// The last event that the picture contains.
        seq: u64,
        /// Every agent's pulse in the order of their ids, without intents that have run out.
        pulses: Vec<Arc<Pulse>>,
        /// The newest events, oldest first, whole frames as JSON: as many as fit into one `recent` frame.
        recent: Vec<Arc<str>>,
    },
}

/// A watcher's place in a room: made under the lock that the publisher takes, so nothing is between
/// `start` and the first of `frames`.
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
    /// Everything after `seq`.
    pub frames: broadcast::Receiver<Sent>,
    /// Records of runs from now on, of all owners: send on only the watcher's own, and only to a person.
    pub runs: broadcast::Receiver<RunSent>,
}

/// The room's memory and its database. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Store {}

impl Store {
    /// Opens the database at `path`, or makes it, and locks it against a second room.
    pub fn open(path: &Path, options: Options) -> Result<Self, OpenError> {
        unimplemented!()
    }
    /// Which database this is: random, made with it.
    pub fn epoch(&self) -> &Arc<str> {
        unimplemented!()
    }
    /// The room's clock.
    pub fn clock(&self) -> &Clock {
        unimplemented!()
    }
    /// Whose token this is; `None` for an unknown or revoked one. An unknown one is looked up in the
    /// database first, so that a new key works at once.
    pub fn authenticate(&self, token: &str) -> Option<Arc<Caller>> {
        unimplemented!()
    }
    /// Whether the key is still good.
    pub fn alive(&self, key: i64) -> bool {
        unimplemented!()
    }
    /// Changes whenever keys were read anew: time to ask [`Store::alive`] again.
    pub fn revoked(&self) -> watch::Receiver<u64> {
        unimplemented!()
    }
    /// The projects that exist and that the caller may enter, in order.
    pub fn projects(&self, caller: &Caller) -> Vec<Slug> {
        unimplemented!()
    }
    /// Whether the project exists and the caller may enter it.
    pub fn sees(&self, caller: &Caller, project: &Slug) -> bool {
        unimplemented!()
    }
    /// What to answer where [`Store::sees`] says no, or where the text is no slug at all.
    pub fn no_such_project(&self, caller: &Caller, project: &str) -> Refusal {
        unimplemented!()
    }
    /// Takes an agent's report; returns its pulse, or `None` where it has none. Checks everything but the
    /// schema. Answers after the event is durable.
    pub async fn update_pulse(
        &self,
        caller: Arc<Caller>,
        report: PulseReport,
    ) -> Result<Option<Arc<Pulse>>, CallError> {
        unimplemented!()
    }
    /// Takes a runner's report of a run. Answers after the record is durable.
    pub async fn report_run(&self, caller: Arc<Caller>, report: RunReport) -> Result<Run, CallError> {
        unimplemented!()
    }
    /// The records that the caller may read, newest first: none unless it is a person. `limit` 1 to 1000.
    pub async fn runs(
        &self,
        caller: &Caller,
        cursor: Option<&str>,
        limit: u32,
    ) -> Result<RunPage, CallError> {
        unimplemented!()
    }
    /// The room as it is.
    pub fn snapshot(&self, project: &Slug) -> Snapshot {
        unimplemented!()
    }
    /// A watcher's place in the room: what it missed after `after` (epoch and seq), or else the whole picture.
    pub async fn subscribe(&self, project: &Slug, after: Option<(&str, u64)>) -> Subscription {
        unimplemented!()
    }
    /// Answers what is under way, writes the log into the database file and releases the lock.
    pub async fn close(&self) {
        unimplemented!()
    }
}
