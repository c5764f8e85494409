//! The local room as a process: looked for by its lock, started, asked to end.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::cli::{Environment, room};
use crate::client::words::Trouble;
use crate::config::{Config, Server};
use crate::server::local::{self, Found, Notice};
use crate::shown;

/// How long a room may be about to open, or to close.
const OPENING: Duration = Duration::from_secs(15);

/// The local room, open.
pub(super) struct Opened {
    /// Where.
    pub(super) server: Server,
    /// What the lock says of it.
    pub(super) notice: Notice,
    /// By this command.
    pub(super) started: bool,
}

/// Waits for the local room, and starts it if nobody has.
pub(super) fn open(config: &Config) -> Result<Opened, Trouble> {
    let until = Instant::now() + OPENING;
    let mut started = false;
    loop {
        match look(config)? {
            Found::Room(notice) => {
                let server = address_of(&notice)?;
                return Ok(Opened { server, notice, started });
            }
            // One that opened and has gone again is not a reason to start one after another.
            Found::Nobody { .. } if started => {
                return Err(Trouble::Lost("the room closed as soon as it was open".into()));
            }
            Found::Nobody { .. } => {
                started = true;
                if let Err(trouble) = start(config) {
                    // Another command may have been first: then its room is ours too.
                    if matches!(look(config)?, Found::Nobody { .. }) {
                        return Err(trouble);
                    }
                    started = false;
                }
            }
            Found::Between if Instant::now() > until => {
                let log = shown::line(&config.folders.room_log().to_string_lossy());
                return Err(Trouble::Lost(format!("the room does not come up; its log is {log}")));
            }
            Found::Between => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}

pub(super) fn look(config: &Config) -> Result<Found, Trouble> {
    let database = config.folders.database();
    local::find(&database).map_err(|error| {
        let database = shown::line(&database.to_string_lossy());
        Trouble::Refused(format!("the lock of the room's database {database} can't be read ({error})"))
    })
}

pub(super) fn address_of(notice: &Notice) -> Result<Server, Trouble> {
    notice
        .address
        .parse()
        .map_err(|_| Trouble::Refused("the room's lock names no address; stop it and start it anew".into()))
}

/// Whoever waits for what this command writes must not wait for the room: through a shell, as nothing else closes the
/// descriptors that a caller has left open for its children.
const APART: &str = "exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; exec \"$0\" \"$@\"";

/// Starts the local room as a process of its own; returns once it listens, or with its own words for why not.
fn start(config: &Config) -> Result<(), Trouble> {
    let failed = |e: &std::io::Error| {
        Trouble::Refused(format!("the room can't be started ({e}); start it yourself with: prickle serve"))
    };
    let address = config.local_address().map_err(|fault| Trouble::Refused(fault.0))?;
    let mut command = Command::new("/bin/sh");
    command.args(["-c", APART]).arg(program());
    command.args(["serve", "--local", "--addr", &address]);
    // The room needs nobody's key.
    for name in ["PRICKLE_TOKEN", "PRICKLE_TOKEN_FILE", "PRICKLE_SERVER"] {
        command.env_remove(name);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|e| failed(&e))?;
    let first = first_line(&mut child);
    if first.as_deref().is_some_and(|line| line.starts_with("listening on ")) {
        // Nobody waits for it otherwise, and a dead one would stay in the system's table.
        std::thread::spawn(move || child.wait());
        return Ok(());
    }
    if first.is_none() {
        return Err(Trouble::Lost("the room is still opening; try again in a moment".into()));
    }
    let mut why = String::new();
    if let Some(err) = child.stderr.take() {
        let _ = err.take(4096).read_to_string(&mut why);
    }
    let _ = child.wait();
    let why = why.lines().last().unwrap_or("it ended without a word; start it yourself with: prickle serve");
    let why = shown::line(why.strip_prefix("prickle: ").unwrap_or(why));
    Err(Trouble::Refused(without_db(&why)))
}

/// What the room says of its database, for a command that has no `--db`.
pub(super) fn without_db(why: &str) -> String {
    why.replace("give another path with --db", "set PRICKLE_HOME to another folder")
}

/// What it says first, or an empty text where it ends; `None` if it takes too long.
fn first_line(child: &mut Child) -> Option<String> {
    let out = child.stdout.take()?;
    let (sender, first) = mpsc::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let _ = BufReader::new(out).read_line(&mut line);
        let _ = sender.send(line);
    });
    first.recv_timeout(OPENING).ok()
}

/// This program. After an update the file that it was started from is gone, and the new one is where it was.
fn program() -> std::path::PathBuf {
    let here = std::env::current_exe().unwrap_or_else(|_| "prickle".into());
    let gone = here.to_string_lossy().strip_suffix(" (deleted)").map(std::path::PathBuf::from);
    gone.filter(|_| !here.exists()).unwrap_or(here)
}

/// `prickle serve --stop`.
pub(in crate::cli) fn stop(database: &Path) -> anyhow::Result<()> {
    let Some(notice) = running(database)? else {
        anyhow::bail!("no room is running on {}", shown::line(&database.to_string_lossy()));
    };
    end(database, &notice)?;
    room::note(&format!("the room on {} is closed", notice.address));
    Ok(())
}

/// A room in the foreground takes the place of the one that commands have started: whoever watches that one
/// finds this one.
pub(in crate::cli) fn take_over(database: &Path) -> anyhow::Result<()> {
    if let Some(notice) = running(database)?.filter(|notice| notice.background) {
        end(database, &notice)?;
        room::note(&format!("this room takes the place of the one in the background on {}", notice.address));
    }
    Ok(())
}

/// The room on a database; one that is about to open or to close is waited for.
fn running(database: &Path) -> anyhow::Result<Option<Notice>> {
    let until = Instant::now() + OPENING;
    loop {
        match find(database)? {
            Found::Room(notice) => return Ok(Some(notice)),
            Found::Nobody { .. } => return Ok(None),
            Found::Between if Instant::now() > until => {
                let name = shown::line(&database.to_string_lossy());
                anyhow::bail!("the room on {name} is neither open nor closed; try again in a moment");
            }
            Found::Between => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}

fn find(database: &Path) -> anyhow::Result<Found> {
    local::find(database).map_err(|e| Environment(format!("the room's lock can't be read ({e})")).into())
}

/// Asks a room to end, and waits until it has.
fn end(database: &Path, notice: &Notice) -> anyhow::Result<()> {
    let Notice { address, pid, .. } = notice;
    let process = i32::try_from(*pid).ok().and_then(rustix::process::Pid::from_raw);
    let Some(process) = process else { anyhow::bail!("the lock of the room on {address} names no process") };
    rustix::process::kill_process(process, rustix::process::Signal::TERM)
        .map_err(|e| Environment(format!("the room on {address} can't be asked to end ({e})")))?;
    let until = Instant::now() + OPENING;
    while !matches!(find(database)?, Found::Nobody { .. }) {
        if Instant::now() > until {
            anyhow::bail!(
                "the room on {address} was asked to end and has not yet; \
                 kill -9 {pid} ends it, and what it has acknowledged is kept"
            );
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}
