//! Where the room on a database is to be found: the lock file beside it says so, to its own user alone, and a
//! key goes only to the address in it. Whoever holds the lock is the room, whatever else listens on its port.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::store::lock_file;
use crate::wire::Time;

/// What the lock file says of the room that holds the lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// Its URL.
    pub address: String,
    /// Its process.
    pub pid: u32,
    /// Its database's epoch.
    pub epoch: String,
    /// When it opened.
    pub opened_at: Time,
    /// It ends so many seconds after its last use; `None`: it stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<u64>,
    /// A command started it, in the background.
    #[serde(default)]
    pub background: bool,
    /// It was asked to end, and should stay closed until somebody opens it again.
    #[serde(default)]
    pub stopped: bool,
}

/// What is found on a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// No room runs on it.
    Nobody {
        /// The last one was asked to end; it did not crash, and it was not merely left alone.
        stopped: bool,
    },
    /// One is about to open, or to close.
    Between,
    /// One runs there.
    Room(Notice),
}

/// Looks which room runs on the database at `path`.
pub fn find(path: &Path) -> io::Result<Found> {
    let lock = match lock_of(path).and_then(|lock| own(OpenOptions::new().read(true), &lock)) {
        Ok(lock) => lock,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Found::Nobody { stopped: false }),
        Err(error) => return Err(error),
    };
    // Whoever gets it lets go of it at once: a room that opens meanwhile tries again.
    let held = lock.try_lock_shared().is_err();
    if !held {
        let _ = lock.unlock();
    }
    let mut text = String::new();
    let _ = (&lock).take(4096).read_to_string(&mut text); // half a notice is none
    let notice: Option<Notice> = serde_json::from_str(&text).ok();
    Ok(match notice {
        notice if !held => Found::Nobody { stopped: notice.is_some_and(|n| n.stopped) },
        // Of a room that was killed the notice remains until the next one has begun.
        Some(notice) if !notice.stopped && is_alive(notice.pid) => Found::Room(notice),
        _ => Found::Between,
    })
}

/// Writes down where the room is. Only for the one that holds the lock.
pub fn announce(path: &Path, notice: &Notice) -> io::Result<()> {
    write(path, &serde_json::to_string(notice)?)
}

/// Takes down where the room is: it is about to end, and who comes now had better wait for the next. Only for the
/// one that holds the lock.
pub fn withdraw(path: &Path) -> io::Result<()> {
    write(path, "")
}

/// Writes down that a room was asked to end, though it is not open. Only for the one that holds the lock.
pub fn stay_closed(path: &Path) -> io::Result<()> {
    let nobody = Notice {
        address: String::new(),
        pid: 0,
        epoch: String::new(),
        opened_at: Time::default(),
        idle: None,
        background: false,
        stopped: true,
    };
    announce(path, &nobody)
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    own(OpenOptions::new().write(true).truncate(true), &lock_of(path)?)?.write_all(text.as_bytes())
}

/// Opens a lock, which must be this user's own and no link: what another user puts there leads no key astray.
fn own(options: &mut OpenOptions, lock: &Path) -> io::Result<File> {
    let no_link = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or(0);
    let file = options.custom_flags(no_link).open(lock)?;
    if file.metadata()?.uid() == rustix::process::geteuid().as_raw() {
        return Ok(file);
    }
    Err(io::Error::new(ErrorKind::PermissionDenied, format!("{} is another user's", lock.display())))
}

/// One database has one lock, however many links lead to it.
fn lock_of(path: &Path) -> io::Result<PathBuf> {
    Ok(lock_file(&path.canonicalize()?))
}

fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
}
