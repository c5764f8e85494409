//! `prickle key`: the keys of a room whose database this machine holds, also while the room runs.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use unicode_width::UnicodeWidthStr;

use super::local::failed;
use super::{Environment, KeyCommand, KeyCreateArgs, KeyListArgs, KeyRevokeArgs, Reach, room};
use crate::client::CallError;
use crate::client::http::Http;
use crate::config::{Access, Config, Folders, Surroundings, Token};
use crate::rules::{Kind, Scope};
use crate::server::clock::Clock;
use crate::server::store::keys::{Holder, KeyRow, KeyStore, NewKey};
use crate::shown;
use crate::wire::Time;
use crate::wire::id::{BadId, is_task};

pub(super) fn run(command: KeyCommand, reach: &Reach) -> anyhow::Result<()> {
    match command {
        KeyCommand::Create(args) => create(args, reach),
        KeyCommand::List(args) => list(&args),
        KeyCommand::Revoke(args) => revoke(&args),
    }
}

fn create(args: KeyCreateArgs, reach: &Reach) -> anyhow::Result<()> {
    let path = database(args.db.as_deref())?;
    let save = args.save.then(|| Config::load(reach).map(super::local::found)).transpose()?;
    let key = asked(args)?;
    let mut keys = open(&path)?;
    let token = keys.create(&key, Clock::default().now()).map_err(|e| failed(&keys, e))?;
    let mut stderr = std::io::stderr();
    if let Some(config) = save {
        let kept = token.as_str().parse().map_err(anyhow::Error::from);
        let before = config.access().is_ok();
        let kept = kept.and_then(|kept| {
            if !is_strange(&config, &kept) {
                return Ok(kept);
            }
            // The key of before may be that room's, and would be gone.
            Err(usage(format!(
                "the room that answers at {} does not know this key: it uses another database than {}; name its \
                 database with --db, or another room with --server",
                config.server,
                shown::line(&path.to_string_lossy())
            )))
        });
        match kept.and_then(|token| Ok(config.save(&token)?)) {
            Ok(file) => {
                let (key, server) = (token.key(), &config.server);
                let place = if before { ", in place of the one before" } else { "" };
                let file = shown::line(&file.to_string_lossy());
                writeln!(stderr, "Key {key} for {server} is kept in {file}{place}.")?;
                return Ok(());
            }
            Err(error) => {
                take_back(&mut keys, token.key())?;
                return Err(error.context("the token could not be kept, so its key was revoked"));
            }
        }
    }
    let mut stdout = std::io::stdout();
    if stdout.is_terminal() {
        // Before the token, so that nobody finds out too late. On stderr: stdout is the token alone.
        writeln!(stderr, "This token is shown once; the room keeps only its hash. Put it away now:")?;
    }
    if let Err(error) = writeln!(stdout, "{}", token.as_str()).and_then(|()| stdout.flush()) {
        take_back(&mut keys, token.key())?;
        let text = format!("the token could not be written ({}), so its key was revoked", error.kind());
        // Not as the cause: a closed pipe is no fault elsewhere, but here somebody goes without a key.
        return Err(anyhow::anyhow!("{text}; write it to a file that can take it"));
    }
    Ok(())
}

/// Whether a room answers where the key is to be saved for, and does not know it.
fn is_strange(config: &Config, token: &Token) -> bool {
    let access = match config.access() {
        Ok(access) => Access { token: token.clone(), ..access },
        Err(_) => Access::new(config.server.clone(), token.clone()),
    };
    let Ok(runtime) = room::runtime() else { return false };
    let asked = runtime.block_on(async { Http::new(&access, room::COURTESY)?.me().await });
    matches!(asked, Err(CallError::Unauthorized(_)))
}

/// Revokes a key whose token nobody has.
fn take_back(keys: &mut KeyStore, id: i64) -> anyhow::Result<()> {
    let revoked = keys.revoke(id, Clock::default().now());
    revoked
        .map_err(|e| failed(keys, e))
        .with_context(|| format!("key {id}, whose token nobody has, is still good"))
}

/// What was asked for, or everything that does not fit together in it.
fn asked(args: KeyCreateArgs) -> anyhow::Result<NewKey> {
    let kind: Kind = args.kind.parse().map_err(|e| usage(format!("--kind {}: {e}", args.kind)))?;
    let mut faults = Vec::new();
    let holder = match (args.owner, args.agent) {
        (Some(owner), None) => {
            if kind.is_agent() {
                faults.push(format!(
                    "a {kind} key speaks for an agent: type --agent {owner}/NAME instead of --owner {owner}"
                ));
            }
            Some(Holder::Owner(owner))
        }
        (None, Some(agent)) => {
            if !kind.is_agent() {
                let owner = agent.owner();
                faults.push(format!("a person is no agent: type --owner {owner} instead of --agent {agent}"));
            }
            Some(Holder::Agent(agent))
        }
        _ => {
            let whose = if kind.is_agent() { "--agent OWNER/NAME" } else { "--owner OWNER" };
            faults.push(format!("say whose key it is: type {whose}"));
            None
        }
    };
    let projects: std::collections::BTreeSet<_> = args.projects.into_iter().collect();
    if kind.has_one_project() && (args.all || projects.len() != 1) {
        let given = if args.all { "--all".to_owned() } else { format!("{} of them", projects.len()) };
        faults.push(format!(
            "a key of kind {kind} is for exactly one project: type --project P once instead of {given}"
        ));
    } else if !args.all && projects.is_empty() {
        faults.push("say where it may go: type --project P, once or more, or --all".to_owned());
    }
    match (&args.task, kind) {
        (None, Kind::Execution) => {
            faults.push("a woken run's key is for one task: type --task T too".to_owned());
        }
        (Some(task), Kind::Execution) if !is_task(task) => {
            faults.push(format!("--task {task} {}", BadId::Task));
        }
        (Some(_), kind) if kind != Kind::Execution => {
            faults.push(format!("only a key of kind execution has a task: leave --task out for {kind}"));
        }
        _ => {}
    }
    match holder {
        Some(holder) if faults.is_empty() => {
            let scope = if args.all { Scope::All } else { Scope::Some(projects) };
            Ok(NewKey { kind, holder, scope, task: args.task, label: args.label })
        }
        _ => Err(usage(faults.join("; "))),
    }
}

fn list(args: &KeyListArgs) -> anyhow::Result<()> {
    let store = open(&existing(args.db.as_deref())?)?;
    let keys = store.list().map_err(|e| failed(&store, e))?;
    let mut stdout = std::io::stdout().lock();
    if args.json {
        serde_json::to_writer_pretty(&mut stdout, &keys)?;
        writeln!(stdout)?;
    } else if keys.is_empty() {
        writeln!(
            std::io::stderr(),
            "No keys yet. A first one: prickle key create --kind person --owner YOU --all"
        )?;
    } else {
        write!(stdout, "{}", table(&keys))?;
    }
    Ok(stdout.flush()?)
}

/// The keys as columns, a line each. Labels are free text and are made safe first.
fn table(keys: &[KeyRow]) -> String {
    let head = ["ID", "KIND", "WHO", "PROJECTS", "LABEL", "CREATED (UTC)", "LAST USED", "REVOKED"];
    let mut rows = vec![head.map(str::to_owned)];
    let moment = |at: Option<Time>, none: &str| {
        at.map_or_else(|| none.to_owned(), |at| at.format("%Y-%m-%d %H:%M").to_string())
    };
    rows.extend(keys.iter().map(|key| {
        let who = key.agent_id.as_ref().unwrap_or(&key.owner);
        [
            key.id.to_string(),
            key.kind.clone(),
            key.task_id.as_ref().map_or_else(|| who.clone(), |task| format!("{who} on {task}")),
            key.projects.as_ref().map_or_else(|| "all".to_owned(), |projects| projects.join(" ")),
            key.label.as_deref().map(shown::line).unwrap_or_default(),
            moment(Some(key.created_at), ""),
            moment(key.last_used_at, "never"),
            moment(key.revoked_at, "no"),
        ]
    }));
    let widths = std::array::from_fn::<_, 8, _>(|i| rows.iter().map(|row| row[i].width()).max().unwrap_or(0));
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            line.push_str(cell);
            line.push_str(&" ".repeat(width - cell.width() + 2));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn revoke(args: &KeyRevokeArgs) -> anyhow::Result<()> {
    let path = existing(args.db.as_deref())?;
    let mut keys = open(&path)?;
    keys.revoke(args.id, Clock::default().now()).map_err(|e| failed(&keys, e))?;
    let rows = keys.list().map_err(|e| failed(&keys, e))?;
    // Ids are small numbers in every database: say whose it was.
    let whose = rows.iter().find(|key| key.id == args.id).map_or_else(String::new, |key| {
        format!(" ({} {})", key.kind, key.agent_id.as_deref().unwrap_or(&key.owner))
    });
    writeln!(
        std::io::stderr(),
        "Key {}{whose} of {} is revoked; a running room closes its streams within seconds.",
        args.id,
        shown::line(&path.to_string_lossy())
    )?;
    Ok(())
}

fn usage(text: impl Into<String>) -> anyhow::Error {
    Environment(text.into()).into()
}

fn database(path: Option<&Path>) -> anyhow::Result<PathBuf> {
    match path {
        Some(path) => Ok(path.to_owned()),
        None => Ok(Folders::find(&Surroundings::real())?.database()),
    }
}

/// Looking for keys must not make a database where there is none.
fn existing(path: Option<&Path>) -> anyhow::Result<PathBuf> {
    let path = database(path)?;
    if path.exists() {
        return Ok(path);
    }
    let path = path.display();
    Err(usage(format!("there is no database {path}; give the one of your room with --db PATH")))
}

fn open(path: &Path) -> anyhow::Result<KeyStore> {
    KeyStore::open(path).map_err(|e| usage(e.to_string()))
}
