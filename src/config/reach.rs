//! The flags that every command has, and the error for a machine or a setting that can't serve.

use std::path::PathBuf;

use clap::Args;

/// Something about the machine, the settings or the arguments is wrong, not what was asked for:
/// the program ends with 2 instead of 1.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Environment(pub String);

/// Which room, and with whose key. The token itself is never an argument: other users could read it.
#[derive(Debug, Clone, Default, Args)]
#[allow(clippy::doc_markdown)] // back-ticks would stand in the help
pub struct Reach {
    /// The room's address, like <http://127.0.0.1:7766> [env: PRICKLE_SERVER]
    #[arg(long, global = true, value_name = "URL")]
    pub server: Option<String>,
    /// A file that holds the token [env: PRICKLE_TOKEN_FILE; or the token itself in PRICKLE_TOKEN]
    #[arg(long, global = true, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// A file of certificates (PEM) to trust beside this machine's, for a room with one of its own [env: PRICKLE_CA]
    #[arg(long, global = true, value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// Let a token go over plain HTTP to another machine
    #[arg(long, global = true)]
    pub insecure: bool,
}
