//! What the commands that ask a room have in common.

use std::io::Write;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use super::{Environment, Stopped};
use crate::client::CallError;
use crate::client::feed::Source;
use crate::client::http::Http;
use crate::config::{self, Access, Config, Surroundings};
use crate::wire::LOCAL_ROOM;
use crate::wire::id::Slug;
use crate::words::Zone;

/// How long a command waits for a room's answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(15);

/// How long it waits for what would only make a message better.
pub(super) const COURTESY: Duration = Duration::from_secs(2);

/// One thread is enough for one connection.
pub(super) fn runtime() -> anyhow::Result<Runtime> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}

/// The zone that this user's clock times and days are told in.
pub(super) fn zone() -> Zone {
    config::zone(&Surroundings::real())
}

/// Says on stderr what is odd about the settings.
pub(super) fn warn(config: &Config) {
    for warning in &config.warnings {
        note(warning);
    }
}

/// A line on stderr, which must be safe to show.
pub(super) fn note(text: &str) {
    // With nobody to read it there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "prickle: {text}");
}

/// The room that was named on the command line or in the settings, else the folder's if the key sees it, else the only
/// one that it sees. Where it sees several or none, the error says how to name one, and which ones there are; where it
/// can't be asked, why not.
pub(super) async fn project(config: &Config) -> anyhow::Result<Slug> {
    if let Some(project) = config.project() {
        return Ok(project);
    }
    let access = config.access().map_err(Environment)?;
    let asked = match Http::new(&access, COURTESY) {
        Ok(http) => http.projects().await,
        Err(error) => Err(error),
    };
    let seen = asked.map_err(|error| no_answer(config, error))?;
    let folder = config.folder_project();
    match seen.as_slice() {
        seen if seen.iter().any(|slug| slug == folder.as_str()) => Ok(folder.clone()),
        [only] => only.parse().map_err(|_| config.no_project(&seen).into()),
        _ => Err(config.no_project(&seen).into()),
    }
}

/// Asks a room again and again, wherever it is by then.
pub(super) struct Asker {
    source: Source,
    last: Option<(Access, Http)>,
}

impl Asker {
    pub(super) fn new(source: Source) -> Self {
        Self { source, last: None }
    }

    /// The room's address and what asks it there.
    pub(super) async fn room(&mut self) -> Result<(Access, Http), CallError> {
        let source = std::sync::Arc::clone(&self.source);
        let gone = |_| CallError::Unreachable("this program is ending".into());
        let access = tokio::task::spawn_blocking(move || source()).await.map_err(gone)??;
        match &self.last {
            Some((known, http)) if *known == access => Ok((access, http.clone())),
            _ => {
                let http = Http::new(&access, PATIENCE)?;
                self.last = Some((access.clone(), http.clone()));
                Ok((access, http))
            }
        }
    }
}

/// Why a room did not answer, with the next step.
pub(super) fn no_answer(config: &Config, error: CallError) -> Environment {
    let server = &config.server;
    Environment(match error {
        CallError::Unauthorized(_) if config.names_a_key() => format!(
            "the room at {} does not know the key in {}; put one there that it knows, or leave it out",
            server.host(),
            config.key_place()
        ),
        CallError::Refused(text) | CallError::Unauthorized(text) | CallError::Untrusted(text) => text,
        CallError::Busy { why, .. } => why,
        CallError::Unreachable(why) if config.is_local() => {
            format!(
                "the room on {} does not answer ({why}); try again, which opens it if need be",
                server.host()
            )
        }
        CallError::Unreachable(why) if server.is_loopback() => {
            let elsewhere = server.to_string() != LOCAL_ROOM;
            let mut at = if elsewhere { format!(" --addr {}", server.host()) } else { String::new() };
            if server.is_encrypted() {
                at.push_str(" --tls-cert FILE --tls-key FILE");
            }
            format!("no room to be reached at {server} ({why}); start one with: prickle serve{at}")
        }
        CallError::Unreachable(why) => {
            format!("no room to be reached at {server} ({why}); is that its address? --server names another")
        }
    })
}

/// Runs `work` until it is done or a signal asks to stop.
pub(super) fn run(work: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
    let runtime = runtime()?;
    let result = runtime.block_on(async {
        tokio::select! {
            result = work => result,
            signal = stop() => Err(Stopped(signal?).into()),
        }
    });
    // A write that nobody takes must not keep the program from ending.
    runtime.shutdown_background();
    result
}

#[cfg(unix)]
async fn stop() -> std::io::Result<i32> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    Ok(tokio::select! {
        _ = interrupt.recv() => 2,
        _ = terminate.recv() => 15,
    })
}

#[cfg(not(unix))]
async fn stop() -> std::io::Result<i32> {
    tokio::signal::ctrl_c().await?;
    Ok(2)
}
