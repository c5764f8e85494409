//! Credentials in the database, also from another process while a room runs on it.

use std::path::Path;

use super::OpenError;
use crate::rules::{Kind, Scope};
use crate::wire::Time;
use crate::wire::id::{AgentId, Slug};

/// A token in the clear, shown once. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// The text that its holder sends as a bearer token.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Whom a key speaks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// An owner; only with [`Kind::Person`].
    Owner(Slug),
    /// An agent; with every other kind.
    Agent(AgentId),
}

/// A key to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewKey {
    /// What it is.
    pub kind: Kind,
    /// Whom it speaks for.
    pub holder: Holder,
    /// Where it may go.
    pub scope: Scope,
    /// The task of a woken run; only with [`Kind::Execution`].
    pub task: Option<String>,
    /// A note for its owner.
    pub label: Option<String>,
}

/// A key as it is listed.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct KeyRow {
    /// Its id.
    pub id: i64,
    /// What it is.
    pub kind: String,
    /// Whose.
    pub owner: String,
    /// The agent; null for a person.
    pub agent_id: Option<String>,
    /// A woken run's task.
    pub task_id: Option<String>,
    /// Where it may go; null: everywhere.
    pub projects: Option<Vec<String>>,
    /// The note.
    pub label: Option<String>,
    /// When it was made.
    pub created_at: Time,
    /// When it was last used; at most a minute old.
    pub last_used_at: Option<Time>,
    /// When it was revoked.
    pub revoked_at: Option<Time>,
}

/// Why keys could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// No key has this id.
    #[error("there is no key {0}; `prickle key list` shows those there are")]
    Unknown(i64),
    /// It was revoked before.
    #[error("key {id} was already revoked at {at}", at = at.format("%Y-%m-%d %H:%M:%S UTC"))]
    Revoked {
        /// The key.
        id: i64,
        /// When.
        at: Time,
    },
    /// The database did not do it.
    #[error("the room's database did not do it: {0}")]
    Storage(String),
}

/// The keys of a database. Takes no lock: a room may run on it.
#[derive(Debug)]
pub struct KeyStore {}

impl KeyStore {
    /// Opens the database at `path`, or makes it.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        unimplemented!()
    }
    /// Makes a key, and the owner, agent and projects that are missing.
    pub fn create(&mut self, key: &NewKey, now: Time) -> Result<Token, KeyError> {
        unimplemented!()
    }
    /// Every key, oldest first, the revoked ones too.
    pub fn list(&self) -> Result<Vec<KeyRow>, KeyError> {
        unimplemented!()
    }
    /// Revokes a key; a running room notices within a second.
    pub fn revoke(&mut self, id: i64, now: Time) -> Result<(), KeyError> {
        unimplemented!()
    }
}
