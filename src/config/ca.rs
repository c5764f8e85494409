//! The certificates that a user trusts beside the machine's: which file holds them, and what is wrong with it.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::file::Settings;
use super::{Folders, Reach, Surroundings};
use crate::client::Trust;
use crate::shown;

/// The file that was named, read when a connection first needs it.
#[derive(Debug, Clone)]
pub(super) struct Ca {
    path: PathBuf,
    /// How the user named it.
    named: &'static str,
    read: Arc<OnceLock<Trust>>,
}

impl Ca {
    /// A flag, a variable, or `config.toml`'s file if its server is meant: its roots are for that server, as
    /// its key is.
    pub(super) fn find(
        reach: &Reach,
        around: &Surroundings,
        settings: &Settings,
        folders: &Folders,
        configured: bool,
    ) -> Option<Self> {
        let (path, named) = match (&reach.ca, around.os("PRICKLE_CA"), &settings.ca) {
            (Some(path), _, _) => (around.folder.join(path), "--ca"),
            (None, Some(path), _) => (around.folder.join(path), "PRICKLE_CA"),
            (None, None, Some(path)) if configured => (folders.beside(path, around), "ca in config.toml"),
            _ => return None,
        };
        Some(Self { path, named, read: Arc::default() })
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Its certificates beside the machine's. The error is a sentence with file, cause and remedy; a file that
    /// was mended meanwhile is read then.
    pub(super) fn trust(&self) -> Result<Trust, String> {
        if let Some(trust) = self.read.get() {
            return Ok(trust.clone());
        }
        let (named, file) = (self.named, shown::line(&self.path.display().to_string()));
        let text = contents(&self.path).map_err(|kind| match kind {
            ErrorKind::NotFound => {
                format!("{named}: there is no file {file}; name the PEM file of the room's CA by its path")
            }
            ErrorKind::PermissionDenied => {
                format!(
                    "{named}: this user may not read {file}; a certificate is no secret: chmod a+r {file}"
                )
            }
            kind => format!("{named}: {file} can't be read ({kind}); name the PEM file of the room's CA"),
        })?;
        let trust = Trust::and(&text).map_err(|error| format!("{named}: {file} {error}"))?;
        Ok(self.read.get_or_init(|| trust).clone())
    }
}

fn contents(path: &Path) -> Result<Vec<u8>, ErrorKind> {
    // A machine's whole list of roots takes a quarter of it.
    const LARGEST: u64 = 1024 * 1024;
    let mut text = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LARGEST).read_to_end(&mut text));
    read.map(|_| text).map_err(|error| error.kind())
}
