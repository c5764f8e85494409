//! A room's client, for any room: ours or a hosted one. It agrees with a room only through [`crate::wire`].
//!
//! - [`access`]: where a room is, and the key to it. A key goes to the one address that it belongs to.
//! - [`feed`]: one task that owns the connection to a room and tells what it hears as [`crate::picture::News`].
//! - [`http`]: the questions that are asked once.
//! - [`mcp`]: one tool call, as an agent makes it.
//! - [`tls`]: whose word counts on who a server is.
//! - [`recording`]: what was heard, kept in a file.
//! - [`words`]: what went wrong, as a person reads it.

pub mod access;
pub mod feed;
pub mod http;
pub mod mcp;
pub mod recording;
pub mod tls;
pub mod words;

use std::time::Duration;

pub use access::{Access, BadServer, BadToken, Server, Token};
pub use tls::{BadCa, Trust};

/// Why a room gave no answer. `Display` is one line for a person, safe to show, and never holds a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The room understood and said no; these are its own words, made safe.
    #[error("{0}")]
    Refused(String),
    /// The room does not take the key.
    #[error("{0}")]
    Unauthorized(String),
    /// What answers can't show that it is the room: a sentence on its certificate that says what to do.
    #[error("{0}")]
    Untrusted(String),
    /// The room is there and can't do it now: a whole sentence. Trying again may help, after `wait` if the room said
    /// how long.
    #[error("{why}")]
    Busy {
        /// What it said.
        why: String,
        /// How long it asks to wait.
        wait: Option<Duration>,
    },
    /// Why no room answered, or none that makes sense: a few words to stand behind the address. Trying again
    /// later may help.
    #[error("{0}")]
    Unreachable(String),
}
