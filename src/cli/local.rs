//! The room of this machine, for when no setting names another: found by its lock, started where nobody has it,
//! and entered with a key of one's own.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Environment, room};
use crate::client::feed::Source;
use crate::client::words::Trouble;
use crate::config::{Config, Server, Token};
use crate::rules::{Kind, Scope};
use crate::server::clock::Clock;
use crate::server::local::{self, Found};
use crate::server::store::keys::{Holder, KeyRow, KeyStore, NewKey};
use crate::shown;
use crate::wire::id::{AgentId, Slug};

/// How long a room may be about to open.
const OPENING: Duration = Duration::from_secs(15);

/// The name of whoever reports from a shell, as an agent of the user's.
const SHELL: &str = "shell";

/// What becomes of a room that was named and is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unknown {
    /// It is refused, unless it is the first: a slip of the pen must not make one.
    Refuse,
    /// It is made.
    Make,
}

/// Settings that reach a room which is open, with a key to it and the room's name. Where a server is named, they
/// are as they were; otherwise the local room is started if need be, and what is missing is made.
///
/// `owner` is who the user wants to be, where they are nobody yet.
pub(super) fn ready(config: Config, owner: Option<&Slug>) -> anyhow::Result<Config> {
    ready_in(config, owner, Unknown::Refuse)
}

/// [`ready`], in a room that may be new.
pub(super) fn ready_in(config: Config, owner: Option<&Slug>, unknown: Unknown) -> anyhow::Result<Config> {
    if !config.is_local() {
        if let Some(owner) = owner {
            let text = format!(
                "--owner {owner} is for the first start of this machine's own room, but {} was named; \
                 there the key says who you are",
                config.server
            );
            return Err(Environment(text).into());
        }
        return Ok(config);
    }
    let opened = open(&config).map_err(|trouble| Environment(words(trouble)))?;
    let config = config.at(opened.server);
    if opened.started {
        let host = config.server.host();
        room::note(&format!("opened this machine's own room on {host}, until an hour after its last use"));
    }
    if config.names_a_key() {
        return Ok(config);
    }
    let mut keys = keys(&config)?;
    enter(&config, &mut keys, owner)?;
    let project = match config.project() {
        Some(project) if unknown == Unknown::Refuse => named(&keys, project)?,
        Some(project) => project,
        None => config.folder_project().clone(),
    };
    keys.add_project(&project, now()).map_err(|e| failed(&keys, e))?;
    Ok(config.with_project(Some(project)))
}

/// As [`ready`], for a command that speaks as an agent: in the local room, as the user's shell unless a key was
/// named.
pub(super) fn ready_to_speak(config: Config) -> anyhow::Result<Config> {
    let config = ready(config, None)?;
    let Some(project) = config.project().filter(|_| config.is_local() && !config.names_a_key()) else {
        return Ok(config);
    };
    let mut keys = keys(&config)?;
    let owner = whose(&config, &keys)?;
    let shell = AgentId::new(&owner, &slug(SHELL)?);
    let path = agent_key(&config, &mut keys, &shell, &project, "prickle pulse")?;
    Ok(config.with_key_in(path))
}

/// Where a watch of the local room finds it again: the lock is tried anew each time, and a room that crashed or
/// that nobody used is started again; one that was asked to end is not, until somebody opens it.
pub(super) fn source(config: &Config) -> Source {
    if !config.is_local() {
        return config.source();
    }
    let config = config.clone();
    let address = config.server.clone();
    Arc::new(move || {
        let server = match look(&config)? {
            Found::Nobody { stopped: true } => {
                return Err(Trouble::Lost("the room was stopped; prickle serve opens it".into()));
            }
            Found::Room(notice) => address_of(&notice.address)?,
            Found::Nobody { stopped: false } | Found::Between => open(&config)?.server,
        };
        // A room that came back elsewhere has the same keys; ours is saved under the address of before.
        let access =
            if config.names_a_key() { config.access() } else { config.clone().at(address.clone()).access() };
        access.map(|access| crate::config::Access { server, ..access }).map_err(Trouble::Refused)
    })
}

/// The key of an agent of the user's, in a file of its own: made, or let into the room, if need be.
pub(super) fn agent_key(
    config: &Config,
    keys: &mut KeyStore,
    agent: &AgentId,
    project: &Slug,
    label: &str,
) -> anyhow::Result<std::path::PathBuf> {
    let keys = std::cell::RefCell::new(keys);
    let good = |token: &Token| {
        let mut keys = keys.borrow_mut();
        let key = keys.find(token.secret()).map_err(|e| failed(&keys, e))?;
        let Some(key) = key.filter(|key| speaks_for(key, agent)) else { return Ok(false) };
        if key.projects.as_ref().is_some_and(|projects| !projects.iter().any(|p| p == project.as_str())) {
            keys.allow(key.id, project, now()).map_err(|e| failed(&keys, e))?;
        }
        Ok(true)
    };
    let make = || {
        let key = NewKey {
            kind: Kind::Client,
            holder: Holder::Agent(agent.clone()),
            scope: Scope::Some([project.clone()].into()),
            task: None,
            label: Some(label.to_owned()),
        };
        let mut keys = keys.borrow_mut();
        let token = keys.create(&key, now()).map_err(|e| failed(&keys, e))?;
        Ok(token.as_str().parse::<Token>()?)
    };
    config.agent_key(agent, good, make)
}

fn speaks_for(key: &KeyRow, agent: &AgentId) -> bool {
    key.revoked_at.is_none()
        && key.kind == Kind::Client.as_str()
        && key.agent_id.as_deref() == Some(agent.as_str())
}

/// The keys of the local room.
pub(super) fn keys(config: &Config) -> anyhow::Result<KeyStore> {
    KeyStore::open(&config.folders.database()).map_err(|e| Environment(e.to_string()).into())
}

/// Who the user is in the local room: the owner of the key that is saved for it.
pub(super) fn whose(config: &Config, keys: &KeyStore) -> anyhow::Result<Slug> {
    let access = config.access().map_err(Environment)?;
    let key = keys.find(access.token.secret()).map_err(|e| failed(keys, e))?;
    match key.map(|key| key.owner.parse()) {
        Some(Ok(owner)) => Ok(owner),
        _ => Err(Environment(format!("the key for {} is not of this room any more", config.server)).into()),
    }
}

/// Makes sure that a person's key is saved. One that was revoked stays so: somebody meant it.
fn enter(config: &Config, keys: &mut KeyStore, owner: Option<&Slug>) -> anyhow::Result<()> {
    let keys = std::cell::RefCell::new(keys);
    let good = |token: &Token| {
        let keys = keys.borrow();
        let key = keys.find(token.secret()).map_err(|e| failed(&keys, e))?;
        match (&key, owner) {
            (Some(key), Some(owner)) if key.owner != owner.as_str() => {
                let text = format!(
                    "you are {} in this room already; --owner {owner} would need a key of its own: \
                     prickle key create --kind person --owner {owner} --all --save",
                    key.owner
                );
                Err(Environment(text).into())
            }
            _ => Ok(key.is_some()),
        }
    };
    let make = || {
        let owner = match owner.or(config.user()) {
            Some(owner) => owner.clone(),
            None => slug("me")?,
        };
        let key = NewKey {
            kind: Kind::Person,
            holder: Holder::Owner(owner),
            scope: Scope::All,
            task: None,
            label: Some("first start".into()),
        };
        let mut keys = keys.borrow_mut();
        let token = keys.create(&key, now()).map_err(|e| failed(&keys, e))?;
        Ok(token.as_str().parse::<Token>()?)
    };
    config.save_unless(good, make)
}

/// A room that was named must exist, unless it is the first.
fn named(keys: &KeyStore, project: Slug) -> anyhow::Result<Slug> {
    let there = keys.projects().map_err(|e| failed(keys, e))?;
    if there.is_empty() || there.contains(&project) {
        return Ok(project);
    }
    let names: Vec<&str> = there.iter().map(Slug::as_str).collect();
    let text = format!(
        "there is no room {project} here, only {}; to open it, let an agent in: \
         prickle connect claude-code --project {project}",
        names.join(", ")
    );
    Err(Environment(text).into())
}

/// The local room, open.
struct Opened {
    server: Server,
    /// By this command.
    started: bool,
}

/// Waits for the local room, and starts it if nobody has.
fn open(config: &Config) -> Result<Opened, Trouble> {
    let until = Instant::now() + OPENING;
    let mut started = false;
    loop {
        match look(config)? {
            Found::Room(notice) => return Ok(Opened { server: address_of(&notice.address)?, started }),
            // One that opened and has gone again is not a reason to start one after another.
            Found::Nobody { .. } if started => {
                return Err(Trouble::Lost("the room closed as soon as it was open".into()));
            }
            Found::Nobody { .. } => {
                started = true;
                if let Err(why) = start(config) {
                    // Another command may have been first: then its room is ours too.
                    if matches!(look(config)?, Found::Nobody { .. }) {
                        return Err(Trouble::Refused(why));
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

fn look(config: &Config) -> Result<Found, Trouble> {
    let database = config.folders.database();
    local::find(&database).map_err(|error| {
        let database = shown::line(&database.to_string_lossy());
        Trouble::Refused(format!("the lock of the room's database {database} can't be read ({error})"))
    })
}

fn address_of(text: &str) -> Result<Server, Trouble> {
    text.parse()
        .map_err(|_| Trouble::Refused("the room's lock names no address; stop it and start it anew".into()))
}

/// Starts the local room as a process of its own; returns once it listens, or with its own words for why not.
fn start(config: &Config) -> Result<(), String> {
    let mut command = Command::new(program());
    command.args(["serve", "--local", "--addr", &config.local_address()]);
    // The room needs nobody's key, and must not hold the folder that it happened to be started in.
    for name in ["PRICKLE_TOKEN", "PRICKLE_TOKEN_FILE", "PRICKLE_SERVER"] {
        command.env_remove(name);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|e| format!("the room can't be started: {e}"))?;
    let mut said = String::new();
    if let Some(out) = child.stdout.take() {
        let _ = BufReader::new(out).read_line(&mut said); // at the latest its end closes the pipe
    }
    if said.starts_with("listening on ") {
        return Ok(());
    }
    let mut why = String::new();
    if let Some(err) = child.stderr.take() {
        let _ = err.take(4096).read_to_string(&mut why);
    }
    let _ = child.wait();
    let why = why.lines().last().unwrap_or("it ended without a word");
    Err(shown::line(why.strip_prefix("prickle: ").unwrap_or(why)))
}

/// This program. After an update the file that it was started from is gone, and the new one is where it was.
fn program() -> std::path::PathBuf {
    let here = std::env::current_exe().unwrap_or_else(|_| "prickle".into());
    let gone = here.to_string_lossy().strip_suffix(" (deleted)").map(std::path::PathBuf::from);
    gone.filter(|_| !here.exists()).unwrap_or(here)
}

/// `prickle serve --stop`.
pub(super) fn stop(database: &Path) -> anyhow::Result<()> {
    let gone = |error: std::io::Error| Environment(format!("the room's lock can't be read ({error})"));
    let name = shown::line(&database.to_string_lossy());
    let Found::Room(notice) = local::find(database).map_err(gone)? else {
        anyhow::bail!("no room is running on {name}");
    };
    let process = i32::try_from(notice.pid).ok().and_then(rustix::process::Pid::from_raw);
    let Some(process) = process else { anyhow::bail!("the lock of {name} names no process") };
    rustix::process::kill_process(process, rustix::process::Signal::TERM)
        .map_err(|e| Environment(format!("the room on {} can't be asked to end ({e})", notice.address)))?;
    let until = Instant::now() + OPENING;
    while !matches!(local::find(database).map_err(gone)?, Found::Nobody { .. }) {
        if Instant::now() > until {
            anyhow::bail!(
                "the room on {} (process {}) was asked to end and has not yet",
                notice.address,
                notice.pid
            );
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    room::note(&format!("the room on {} is closed", notice.address));
    Ok(())
}

fn words(trouble: Trouble) -> String {
    match trouble {
        Trouble::Lost(why) | Trouble::Key(why) | Trouble::Refused(why) => why,
    }
}

fn slug(text: &str) -> anyhow::Result<Slug> {
    Ok(text.parse()?)
}

fn now() -> crate::wire::Time {
    Clock::default().now()
}

/// A fault of the database names it and is the machine's; one of the keys is a plain no.
pub(super) fn failed(keys: &KeyStore, error: crate::server::store::keys::KeyError) -> anyhow::Error {
    match keys.explained(&error) {
        Some(database) => Environment(database.to_string()).into(),
        None => error.into(),
    }
}
