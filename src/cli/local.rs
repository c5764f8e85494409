//! The room of this machine, for when no setting names another: found by its lock, started where nobody has it,
//! and entered with a key of one's own.

mod process;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(super) use self::process::{stop, take_over};
use super::{Environment, room};
use crate::client::CallError;
use crate::client::feed::Source;
use crate::client::words::Trouble;
use crate::config::{Access, Config, Place, Token};
use crate::rules::{Kind, Scope};
use crate::server::clock::Clock;
use crate::server::local::{Found, Notice};
use crate::server::store::keys::{Holder, KeyRow, KeyStore, NewKey};
use crate::wire::id::{AgentId, Slug};

/// The name of whoever reports from a shell, as an agent of the user's.
const SHELL: &str = "shell";

/// What becomes of a room that was named and is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unknown {
    /// It is refused, unless it is the first: a slip of the pen must not make one.
    Refuse,
    /// It is made.
    Make,
    /// Nothing: what is asked is not about one room.
    Never,
}

/// A room that can be asked.
#[derive(Debug)]
pub(super) struct Ready {
    /// Settings that reach it, with a key to it and its name.
    pub(super) config: Config,
    /// What its lock says, if it is this machine's own.
    pub(super) notice: Option<Notice>,
}

/// A room that is open. Where a server is named, the settings are as they were; otherwise the local room is started
/// if need be, and what is missing is made.
///
/// `owner` is who the user wants to be, where they are nobody yet.
pub(super) fn ready(config: Config, owner: Option<&Slug>, unknown: Unknown) -> anyhow::Result<Ready> {
    if let Some(owner) = owner.filter(|_| !config.is_local() || config.names_a_key()) {
        let named = if config.is_local() { "a key".to_owned() } else { config.server.to_string() };
        let text = format!(
            "--owner {owner} is for the first start of this machine's own room, but {named} was named; \
             there the key says who you are"
        );
        return Err(Environment(text).into());
    }
    if !config.is_local() {
        return Ok(Ready { config, notice: None });
    }
    let opened = process::open(&config).map_err(|trouble| Environment(words(trouble)))?;
    let config = config.at(opened.server);
    if opened.started {
        let host = config.server.host();
        room::note(&format!("opened this machine's own room on {host}, until an hour after its last use"));
    }
    let notice = Some(opened.notice);
    if config.names_a_key() {
        return Ok(Ready { config, notice });
    }
    let mut keys = keys(&config)?;
    enter(&config, &mut keys, owner)?;
    if unknown == Unknown::Never {
        return Ok(Ready { config, notice });
    }
    let project = match config.project() {
        Some(project) if unknown == Unknown::Refuse => named(&keys, project)?,
        Some(project) => project,
        None => {
            let project = config.folder_project().clone();
            if project == Slug::fallback() {
                room::note(
                    "this folder is in no repository, so its room is called default; another can be named",
                );
            }
            project
        }
    };
    keys.add_project(&project, now()).map_err(|e| failed(&keys, e))?;
    Ok(Ready { config: config.with_project(Some(project)), notice })
}

/// As [`ready`], for a command that speaks as an agent: in the local room, as the user's shell unless a key was
/// named.
pub(super) fn ready_to_speak(config: Config) -> anyhow::Result<Config> {
    let config = ready(config, None, Unknown::Refuse)?.config;
    let Some(project) = config.project().filter(|_| config.is_local() && !config.names_a_key()) else {
        return Ok(config);
    };
    let mut keys = keys(&config)?;
    let owner = whose(&config, &keys)?;
    let shell = AgentId::new(&owner, &slug(SHELL)?);
    let path = agent_key(&config, &mut keys, &shell, &project, "prickle pulse")?;
    Ok(config.with_key_in(path))
}

/// Where the local room is found again: the lock is looked at anew each time, and a room that crashed or that
/// nobody used is started again; one that was asked to end is not, until somebody opens it.
pub(super) fn source(config: &Config) -> Source {
    if !config.is_local() {
        return config.source();
    }
    let config = config.clone();
    Arc::new(move || {
        let server = match process::look(&config)? {
            Found::Nobody { stopped: true } => {
                return Err(Trouble::Lost("stopped; prickle serve opens it".into()));
            }
            Found::Room(notice) => process::address_of(&notice)?,
            Found::Nobody { stopped: false } | Found::Between => match process::open(&config) {
                Ok(opened) => opened.server,
                // What keeps it from opening may pass: a port that is busy, a program that is being replaced.
                Err(trouble) => return Err(Trouble::Lost(words(trouble))),
            },
        };
        // A room that came back elsewhere has the same keys; ours is saved under the address of before.
        let access = config.access().map_err(Trouble::Refused)?;
        Ok(Access { server, ..access })
    })
}

/// The settings with the local room's address, if it is open.
pub(super) fn found(config: Config) -> Config {
    let at = match process::look(&config) {
        Ok(Found::Room(notice)) if config.is_local() => process::address_of(&notice).ok(),
        _ => None,
    };
    match at {
        Some(server) => config.at(server),
        None => config,
    }
}

/// Asks a room; the local one may have ended since it was found, and is then asked once more where it is by now.
pub(super) async fn ask<T>(
    config: &Config,
    access: &Access,
    question: impl AsyncFn(&Access) -> Result<T, CallError>,
) -> Result<T, CallError> {
    /// A room that is gone refuses at once; one that hangs would hang again.
    const AT_ONCE: Duration = Duration::from_secs(2);
    let began = Instant::now();
    match question(access).await {
        Err(CallError::Unreachable(_)) if config.is_local() && began.elapsed() < AT_ONCE => {
            question(&source(config)()?).await
        }
        answer => answer,
    }
}

/// The key of an agent of the user's, in a file of its own: made, or let into the room, if need be.
pub(super) fn agent_key(
    config: &Config,
    keys: &mut KeyStore,
    agent: &AgentId,
    project: &Slug,
    label: &str,
) -> anyhow::Result<PathBuf> {
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
    KeyStore::open(&config.folders.database())
        .map_err(|e| Environment(process::without_db(&e.to_string())).into())
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
    let good = |token: &Token, place: Place| {
        let keys = keys.borrow();
        let Some(key) = keys.find(token.secret()).map_err(|e| failed(&keys, e))? else { return Ok(false) };
        // A key that is saved for another address is of this room if this room knows it: then the room has moved.
        let live = key.revoked_at.is_none() && key.kind == Kind::Person.as_str() && key.projects.is_none();
        if place == Place::Elsewhere && !live {
            return Ok(false);
        }
        match owner {
            Some(owner) if key.owner != owner.as_str() => {
                let text = format!(
                    "you are {} in this room already; --owner {owner} would need a key of its own: \
                     prickle key create --kind person --owner {owner} --all --save",
                    key.owner
                );
                Err(Environment(text).into())
            }
            _ => Ok(true),
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
