//! Credentials in the database, also from another process while a room runs on it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use chrono::DateTime;
use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};
use sha2::{Digest, Sha256};

use super::OpenError;
use super::file::{Database, random, words};
use crate::rules::{Caller, Kind, Scope};
use crate::wire::Time;
use crate::wire::id::{AgentId, Slug, TOKEN_MARK};

/// 256 bits in base64url.
const RANDOM_TEXT: usize = 43;

/// SHA-256 of a token: all that is stored of it. A token is random enough to need no salt.
pub(super) type Hash = [u8; 32];

/// The hash of a text that may be a token; `None` for what can't be one, which needs no look-up.
pub(super) fn hash(token: &str) -> Option<Hash> {
    let random = token.strip_prefix(TOKEN_MARK)?;
    (random.len() == RANDOM_TEXT).then(|| Sha256::digest(token.as_bytes()).into())
}

/// A token in the clear, shown once. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    key: i64,
    text: String,
}

impl Token {
    /// The id of its key.
    pub fn key(&self) -> i64 {
        self.key
    }

    /// The text that its holder sends as a bearer token.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
    /// The note: as it was typed, so make it safe before showing it.
    pub label: Option<String>,
    /// When it was made.
    pub created_at: Time,
    /// When it was last used; at most a minute behind.
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
    #[error("key {id} was already revoked, on {at}", at = at.format("%Y-%m-%d at %H:%M:%S UTC"))]
    Revoked {
        /// The key.
        id: i64,
        /// When.
        at: Time,
    },
    /// The operating system gave no random bytes.
    #[error("the operating system gave no random bytes for a token ({0}); nothing was made")]
    Random(#[from] getrandom::Error),
    /// The database did not do it.
    #[error("{}", words(.0))]
    Storage(#[from] rusqlite::Error),
}

/// The keys of a database. Takes no lock: a room may run on it.
#[derive(Debug)]
pub struct KeyStore {
    database: Database,
    pub(super) connection: Connection,
}

impl KeyStore {
    /// Opens the database at `path`, or makes it.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let database = Database::prepare(path)?;
        let connection = database.open_to_share()?;
        Ok(Self { database, connection })
    }

    /// What the database says to an error of it: path, cause and remedy. `None`: the keys are at fault.
    pub fn explained(&self, error: &KeyError) -> Option<OpenError> {
        match error {
            KeyError::Storage(error) => Some(self.database.explained(error)),
            _ => None,
        }
    }

    /// Makes a key, and the owner, agent and projects that are missing.
    pub fn create(&mut self, key: &NewKey, now: Time) -> Result<Token, KeyError> {
        let text = format!("{TOKEN_MARK}{}", BASE64_URL_SAFE_NO_PAD.encode(random::<32>()?));
        let now = now.timestamp_millis();
        let step = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let (owner, name) = match &key.holder {
            Holder::Owner(owner) => (owner.as_str(), None),
            Holder::Agent(agent) => (agent.owner(), Some(agent.name())),
        };
        step.execute("INSERT OR IGNORE INTO owners (slug, made_at) VALUES (?1, ?2)", params![owner, now])?;
        let owner: i64 = step.query_row("SELECT id FROM owners WHERE slug = ?1", [owner], |r| r.get(0))?;
        let agent: Option<i64> = match name {
            None => None,
            Some(name) => {
                let sql = "INSERT OR IGNORE INTO agents (owner, name, made_at) VALUES (?1, ?2, ?3)";
                step.execute(sql, params![owner, name, now])?;
                let sql = "SELECT id FROM agents WHERE owner = ?1 AND name = ?2";
                Some(step.query_row(sql, params![owner, name], |r| r.get(0))?)
            }
        };
        step.execute(
            "INSERT INTO credentials (hash, kind, owner, agent, task, all_projects, label, made_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                hash(&text),
                key.kind.as_str(),
                owner,
                agent,
                key.task,
                key.scope == Scope::All,
                key.label,
                now
            ],
        )?;
        let credential = step.last_insert_rowid();
        if let Scope::Some(projects) = &key.scope {
            for project in projects {
                let sql = "INSERT OR IGNORE INTO projects (slug, made_at) VALUES (?1, ?2)";
                step.execute(sql, params![project.as_str(), now])?;
                step.execute(
                    "INSERT INTO credential_projects (credential, project, made_at)
                     SELECT ?1, id, ?3 FROM projects WHERE slug = ?2",
                    params![credential, project.as_str(), now],
                )?;
            }
        }
        step.commit()?;
        Ok(Token { key: credential, text })
    }

    /// Every key, oldest first, the revoked ones too.
    pub fn list(&self) -> Result<Vec<KeyRow>, KeyError> {
        let mut select = self.connection.prepare(&format!(
            "SELECT {COLUMNS}, c.label, c.made_at, c.last_used_at, c.revoked_at {TABLES} ORDER BY c.id"
        ))?;
        let rows = select.query_map([], |row| {
            let name: Option<String> = row.get("name")?;
            let owner: String = row.get("owner")?;
            let projects: Option<String> = row.get("projects")?;
            let all: bool = row.get("all_projects")?;
            let split = |text: &str| text.split(' ').map(str::to_owned).collect();
            Ok(KeyRow {
                id: row.get("id")?,
                kind: row.get("kind")?,
                agent_id: name.map(|name| format!("{owner}/{name}")),
                owner,
                task_id: row.get("task")?,
                projects: (!all).then(|| projects.as_deref().map_or_else(Vec::new, split)),
                label: row.get("label")?,
                created_at: moment(row, "made_at")?.unwrap_or_default(),
                last_used_at: moment(row, "last_used_at")?,
                revoked_at: moment(row, "revoked_at")?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Revokes a key; a running room notices within its interval, a second.
    pub fn revoke(&mut self, id: i64, now: Time) -> Result<(), KeyError> {
        let step = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let found = step
            .query_row("SELECT revoked_at FROM credentials WHERE id = ?1", [id], |row| {
                moment(row, "revoked_at")
            })
            .optional()?;
        match found {
            None => Err(KeyError::Unknown(id)),
            Some(Some(at)) => Err(KeyError::Revoked { id, at }),
            Some(None) => {
                let sql = "UPDATE credentials SET revoked_at = ?2 WHERE id = ?1";
                step.execute(sql, params![id, now.timestamp_millis()])?;
                Ok(step.commit()?)
            }
        }
    }
}

/// What every reader of keys wants of one. Slugs hold no spaces, so a space parts them.
const COLUMNS: &str = "c.id, c.kind, o.slug AS owner, a.name, c.task, c.all_projects,
    (SELECT group_concat(slug, ' ') FROM (SELECT p.slug FROM credential_projects cp
        JOIN projects p ON p.id = cp.project WHERE cp.credential = c.id ORDER BY p.slug)) AS projects";
const TABLES: &str =
    "FROM credentials c JOIN owners o ON o.id = c.owner LEFT JOIN agents a ON a.id = c.agent";

fn moment(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<Time>> {
    let ms: Option<i64> = row.get(column)?;
    Ok(ms.and_then(DateTime::from_timestamp_millis))
}

/// A key that has not been revoked, as the room holds it.
pub(super) struct Live {
    pub(super) hash: Hash,
    pub(super) caller: Caller,
    pub(super) made_at: i64,
    /// When it was let into each of its projects; empty where it may go everywhere.
    pub(super) let_in: BTreeMap<Slug, i64>,
    pub(super) noted: Noted,
}

/// What the room notes of a key's use: the first and the last one, and the last time that it asked for the tools.
/// Milliseconds; 0: never.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Noted {
    pub(super) first_used: i64,
    pub(super) last_used: i64,
    pub(super) tools_listed: i64,
}

/// All live keys, or the one with this hash.
pub(super) fn live(connection: &Connection, hash: Option<&Hash>) -> rusqlite::Result<Vec<Live>> {
    let mut select = connection.prepare_cached(&format!(
        "SELECT {COLUMNS}, c.hash, c.made_at, coalesce(c.first_used_at, 0) AS first_used,
            coalesce(c.last_used_at, 0) AS last_used, coalesce(c.tools_listed_at, 0) AS tools_listed,
            (SELECT group_concat(at, ' ') FROM (SELECT coalesce(cp.made_at, c.made_at) AS at
                FROM credential_projects cp JOIN projects p ON p.id = cp.project
                WHERE cp.credential = c.id ORDER BY p.slug)) AS let_in {TABLES}
         WHERE c.revoked_at IS NULL AND (?1 IS NULL OR c.hash = ?1)"
    ))?;
    let mut rows = select.query([hash])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let noted = Noted {
            first_used: row.get("first_used")?,
            last_used: row.get("last_used")?,
            tools_listed: row.get("tools_listed")?,
        };
        let (hash, caller, made_at) = (row.get("hash")?, caller(row)?, row.get("made_at")?);
        let let_in = let_in(&caller, row)?;
        found.push(Live { hash, caller, made_at, let_in, noted });
    }
    Ok(found)
}

/// The moments stand in the order of the caller's projects.
fn let_in(caller: &Caller, row: &Row<'_>) -> rusqlite::Result<BTreeMap<Slug, i64>> {
    let Scope::Some(projects) = &caller.scope else { return Ok(BTreeMap::new()) };
    let moments: Option<String> = row.get("let_in")?;
    let moments = moments.iter().flat_map(|all| all.split(' ')).map(|ms| ms.parse().unwrap_or_default());
    Ok(projects.iter().cloned().zip(moments).collect())
}

fn caller(row: &Row<'_>) -> rusqlite::Result<Caller> {
    /// A value that only another program can have written there.
    fn odd<T>(value: Result<T, impl std::error::Error + Send + Sync + 'static>) -> rusqlite::Result<T> {
        let kind = rusqlite::types::Type::Text;
        value.map_err(|e| rusqlite::Error::FromSqlConversionFailure(0, kind, Box::new(e)))
    }
    let text = |column: &str| row.get::<_, String>(column);
    let owner: Slug = odd(text("owner")?.parse())?;
    let name: Option<String> = row.get("name")?;
    let agent = odd(name.map(|name| name.parse::<Slug>()).transpose())?;
    let scope = if row.get("all_projects")? {
        Scope::All
    } else {
        let projects: Option<String> = row.get("projects")?;
        let slugs = projects.iter().flat_map(|slugs| slugs.split(' ')).map(str::parse);
        Scope::Some(odd(slugs.collect())?)
    };
    Ok(Caller {
        key: row.get("id")?,
        kind: odd(text("kind")?.parse())?,
        agent: agent.map(|name| AgentId::new(&owner, &name)),
        owner,
        task: row.get("task")?,
        scope,
    })
}

/// Every project's slug.
pub(super) fn projects(connection: &Connection) -> rusqlite::Result<Vec<Slug>> {
    let mut select = connection.prepare_cached("SELECT slug FROM projects")?;
    let slugs = select.query_map([], |row| row.get::<_, String>(0))?;
    let slugs: Vec<String> = slugs.collect::<Result<_, _>>()?;
    Ok(slugs.iter().filter_map(|slug| slug.parse().ok()).collect())
}

/// Whether this live key has been let into the project.
pub(super) fn is_let_in(connection: &Connection, key: i64, project: &Slug) -> rusqlite::Result<bool> {
    connection
        .prepare_cached(
            "SELECT 1 FROM credential_projects cp JOIN projects p ON p.id = cp.project
             JOIN credentials c ON c.id = cp.credential
             WHERE c.id = ?1 AND p.slug = ?2 AND c.revoked_at IS NULL",
        )?
        .exists(params![key, project.as_str()])
}

/// Whether there is such a project.
pub(super) fn is_project(connection: &Connection, project: &Slug) -> rusqlite::Result<bool> {
    connection.prepare_cached("SELECT 1 FROM projects WHERE slug = ?1")?.exists([project.as_str()])
}

/// Notes how keys were used: what was first stays, what was last never goes back in time.
pub(super) fn note_uses(connection: &mut Connection, uses: &[(i64, Noted)]) -> rusqlite::Result<()> {
    let step = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for (key, noted) in uses {
        step.prepare_cached(
            "UPDATE credentials SET last_used_at = nullif(max(coalesce(last_used_at, 0), ?2), 0),
                first_used_at = coalesce(first_used_at, nullif(?3, 0)),
                tools_listed_at = nullif(max(coalesce(tools_listed_at, 0), ?4), 0)
             WHERE id = ?1",
        )?
        .execute(params![key, noted.last_used, noted.first_used, noted.tools_listed])?;
    }
    step.commit()
}
