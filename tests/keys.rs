//! Keys: made, listed and revoked by a process of its own while a room holds the same database.
#![allow(clippy::unwrap_used)]

#[path = "common/database.rs"]
mod database;

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};
use std::time::Duration;

use chrono::TimeDelta;
use database::{Database, say, slug, until, website};
use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use prickle::rules::{Kind, Scope};
use prickle::server::store::keys::{KeyRow, KeyStore};
use serde_json::Value;

const PRICKLE: &str = env!("CARGO_BIN_EXE_prickle");

/// `prickle key …` on the database, in a home of its own.
fn key(database: &Database, arguments: &[&str]) -> Output {
    let mut command = Command::new(PRICKLE);
    command.arg("key").args(arguments).arg("--db").arg(&database.path);
    command.env("PRICKLE_HOME", database.folder.path().join("home")).output().unwrap()
}

/// The stdout of a `prickle key …` that must succeed.
fn done(database: &Database, arguments: &[&str]) -> String {
    let output = key(database, arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The exit code and the sentence of one that must fail, with nothing on stdout.
fn failed(database: &Database, arguments: &[&str]) -> (i32, String) {
    let output = key(database, arguments);
    assert!(!output.status.success() && output.stdout.is_empty());
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

fn rows(database: &Database) -> Vec<KeyRow> {
    KeyStore::open(&database.path).unwrap().list().unwrap()
}

const CLIENT: &[&str] = &["create", "--kind", "client", "--agent", "acme/builder", "--project", "website-v2"];

#[test]
fn stdout_is_the_token_and_nothing_else() {
    let database = Database::new();
    let output = key(&database, CLIENT);
    assert_eq!(output.stderr, b"");
    let token = String::from_utf8(output.stdout).unwrap();
    let random = token.strip_prefix("prk_").unwrap().strip_suffix('\n').unwrap();
    let base64url = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    assert!(random.len() == 43 && random.chars().all(base64url), "{random}");
    assert_ne!(done(&database, CLIENT), token);
}

#[test]
fn on_a_terminal_it_first_says_that_the_token_is_shown_once() {
    let database = Database::new();
    let size = PtySize { rows: 24, cols: 200, ..PtySize::default() };
    let terminal = native_pty_system().openpty(size).unwrap();
    let mut command = CommandBuilder::new(PRICKLE);
    command.arg("key");
    command.args(CLIENT);
    command.arg("--db");
    command.arg(&database.path);
    let mut child = terminal.slave.spawn_command(command).unwrap();
    drop(terminal.slave);
    let mut text = String::new();
    // A terminal whose other side has gone is an error on Linux; what was read before counts.
    let _ = terminal.master.try_clone_reader().unwrap().read_to_string(&mut text);
    assert!(child.wait().unwrap().success());
    let (before, token) = text.split_once("prk_").unwrap();
    assert!(before.contains("shown once"), "{text:?}");
    assert_eq!(token.trim_end().len(), 43, "{text:?}");
}

#[test]
fn a_token_is_stored_only_as_its_hash() {
    let database = Database::new();
    let token = done(&database, CLIENT);
    let _open = KeyStore::open(&database.path).unwrap(); // the log stays beside the file
    for entry in std::fs::read_dir(database.folder.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            let random = token.trim_end().strip_prefix("prk_").unwrap().as_bytes();
            assert!(!bytes.windows(random.len()).any(|part| part == random), "{}", path.display());
        }
    }
}

#[test]
fn what_is_missing_is_made() {
    let database = Database::new();
    done(&database, CLIENT);
    done(&database, &["create", "--kind", "person", "--owner", "globex", "--all", "--label", "my laptop"]);
    let woken = ["--agent", "acme/woken", "--project", "api", "--task", "task-1"];
    done(&database, &[&["create", "--kind", "execution"], &woken[..]].concat());
    let two = ["--agent", "acme/builder", "--project", "api", "--project", "website-v2", "--project", "api"];
    done(&database, &[&["create", "--kind", "runner-device"], &two[..]].concat());
    let found: Vec<_> = rows(&database)
        .into_iter()
        .map(|row| {
            (row.id, row.kind, row.agent_id.unwrap_or(row.owner), row.task_id, row.projects, row.label)
        })
        .collect();
    let projects = |names: &[&str]| Some(names.iter().map(ToString::to_string).collect::<Vec<_>>());
    let text = |text: &str| text.to_owned();
    assert_eq!(
        found,
        [
            (1, text("client"), text("acme/builder"), None, projects(&["website-v2"]), None),
            (2, text("person"), text("globex"), None, None, Some(text("my laptop"))),
            (3, text("execution"), text("acme/woken"), Some(text("task-1")), projects(&["api"]), None),
            (4, text("runner-device"), text("acme/builder"), None, projects(&["api", "website-v2"]), None),
        ]
    );
}

#[test]
fn each_fault_says_what_to_type() {
    let database = Database::new();
    let table: &[(&str, &[&str])] = &[
        ("--kind robot --agent acme/a --all", &["no such kind", "person, oauth, client, project"]),
        ("--kind person --agent acme/a --all", &["type --owner acme instead of --agent acme/a"]),
        ("--kind client --owner acme --all", &["type --agent acme/NAME instead of --owner acme"]),
        ("--kind client --all", &["type --agent OWNER/NAME"]),
        ("--kind person --all", &["type --owner OWNER"]),
        ("--kind client --agent acme/a", &["type --project P"]),
        ("--kind client --agent acme/a --all --project p", &["--all", "--project"]),
        ("--kind client --agent acme/a --owner acme --all", &["--agent", "--owner"]),
        ("--kind client --agent acme --all", &["must be OWNER/NAME"]),
        ("--kind client --agent acme/a --project Web", &["lower-case letters"]),
        ("--kind project --agent acme/a --all", &["exactly one project", "instead of --all"]),
        ("--kind project --agent acme/a --project p --project q", &["exactly one project", "2 of them"]),
        ("--kind execution --agent acme/a --project p", &["type --task T"]),
        ("--kind execution --agent acme/a --project p --task a/b", &["--task a/b must be 1 to 64"]),
        ("--kind execution --owner acme --all", &["--agent acme/NAME", "exactly one", "--task T"]),
        ("--kind oauth --agent acme/a --all --task t", &["leave --task out for oauth"]),
    ];
    for (typed, parts) in table {
        let arguments: Vec<&str> = std::iter::once("create").chain(typed.split(' ')).collect();
        let (code, text) = failed(&database, &arguments);
        assert_eq!(code, 2, "{typed}: {text}");
        for part in *parts {
            assert!(text.contains(part), "{typed} should say {part}: {text}");
        }
    }
    assert!(!database.path.exists(), "a command with a fault makes nothing");
}

#[test]
fn keys_are_listed_as_a_table_and_as_json() {
    let database = Database::new();
    let (code, text) = failed(&database, &["list"]);
    assert!(code == 2 && text.contains("there is no database"), "{text}");
    assert!(!database.path.exists(), "looking makes nothing");
    done(&database, CLIENT);
    done(
        &database,
        &["create", "--kind", "person", "--owner", "acme", "--all", "--label", "red\u{1b}[31m\nnote"],
    );
    done(&database, &["revoke", "1"]);
    let table = done(&database, &["list"]);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 3, "a newline in a label makes no row: {table}");
    assert!(lines[0].starts_with("ID  KIND    WHO"), "{table}");
    assert!(lines[1].contains("acme/builder  website-v2") && !lines[1].ends_with("no"), "{table}");
    assert!(lines[2].contains("all") && lines[2].ends_with("never      no"), "{table}");
    assert!(!table.contains('\u{1b}'));
    let json: Value = serde_json::from_str(&done(&database, &["list", "--json"])).unwrap();
    assert_eq!(json.as_array().unwrap().len(), 2);
    assert!(json[0]["revoked_at"].is_string() && json[1]["projects"].is_null());
    assert_eq!(json[1]["label"], "red\u{1b}[31m\nnote");
    assert!(!table.contains("prk_") && !json.to_string().contains("prk_"));
}

#[test]
fn a_key_is_revoked_once_and_by_its_id() {
    let database = Database::new();
    done(&database, CLIENT);
    let (code, text) = failed(&database, &["revoke", "7"]);
    assert!(code == 1 && text.contains("there is no key 7") && text.contains("prickle key list"), "{text}");
    done(&database, &["revoke", "1"]);
    let (code, text) = failed(&database, &["revoke", "1"]);
    assert!(code == 1 && text.contains("key 1 was already revoked, on 20"), "{text}");
}

#[test]
fn a_token_can_be_kept_in_the_users_credentials_instead() {
    let database = Database::new();
    let output = key(&database, &[CLIENT, &["--save", "--server", "http://127.0.0.1:7799"]].concat());
    assert!(output.status.success() && output.stdout.is_empty());
    let text = String::from_utf8(output.stderr).unwrap();
    let file = database.folder.path().join("home/credentials.toml");
    assert!(text.contains("Key 1 for http://127.0.0.1:7799") && !text.contains("prk_"), "{text}");
    let kept = std::fs::read_to_string(&file).unwrap();
    let token = kept.split('"').find(|part| part.starts_with("prk_")).unwrap();
    assert!(database_caller(&database, token).is_some());
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
}

#[test]
fn a_key_whose_token_could_not_be_kept_is_revoked() {
    let database = Database::new();
    let home = database.folder.path().join("home");
    std::fs::create_dir_all(home.join("credentials.toml")).unwrap(); // a folder where the file should be
    let (_, text) = failed(&database, &[CLIENT, &["--save"]].concat());
    assert!(text.contains("its key was revoked"), "{text}");
    assert!(rows(&database).iter().all(|row| row.revoked_at.is_some()));
}

#[test]
fn a_key_whose_token_nobody_read_is_revoked() {
    let database = Database::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = Command::new(PRICKLE);
    command.arg("key").args(CLIENT).arg("--db").arg(&database.path).stdout(writer);
    let output = command.env("PRICKLE_HOME", database.folder.path().join("home")).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "no success as for other readers that have enough: {text}");
    assert!(text.contains("so its key was revoked"), "{text}");
    let rows = rows(&database);
    assert!(rows.len() == 1 && rows[0].revoked_at.is_some(), "{rows:?}");
}

/// What the token is good for, in a room that starts now.
fn database_caller(database: &Database, token: &str) -> Option<Kind> {
    database.open().authenticate(token).map(|caller| caller.kind)
}

#[tokio::test]
async fn a_key_that_another_process_made_works_at_once() {
    let database = Database::new();
    // So long an interval that only looking it up can find the key.
    let mut options = database.options();
    options.keys_reread = Duration::from_hours(1);
    let store = prickle::server::store::Store::open(&database.path, options).unwrap();
    let everywhere = database.caller(&store, Kind::Person, "acme", &[]);
    assert!(!store.sees(&everywhere, &website()));
    let token = done(&database, CLIENT);
    let caller = store.authenticate(token.trim_end()).unwrap();
    assert_eq!(caller.scope, Scope::Some([website()].into()));
    say(&store, &caller, "at once").await;
    done(&database, &["create", "--kind", "person", "--owner", "acme", "--project", "later"]);
    assert!(store.sees(&everywhere, &slug("later")), "and so does a project");
    assert!(store.projects(&everywhere).contains(&slug("later")));
}

#[tokio::test]
async fn a_key_that_another_process_revoked_stops_within_the_interval() {
    let database = Database::new();
    let store = database.open();
    let tokens = [done(&database, CLIENT), done(&database, CLIENT)];
    let callers = tokens.each_ref().map(|token| store.authenticate(token.trim_end()).unwrap());
    let mut reread = store.revoked();
    reread.mark_unchanged();
    done(&database, &["revoke", "1"]);
    tokio::time::timeout(database::DEADLINE, reread.changed()).await.unwrap().unwrap();
    until("the key stops", || !store.alive(callers[0].key)).await;
    assert!(store.authenticate(tokens[0].trim_end()).is_none());
    assert!(store.alive(callers[1].key) && store.authenticate(tokens[1].trim_end()).is_some());
}

#[tokio::test]
async fn the_rooms_own_writes_are_no_reason_to_read_the_keys_again() {
    let database = Database::new();
    let tokens = [done(&database, CLIENT), done(&database, CLIENT)];
    let store = database.open();
    let agent = store.authenticate(tokens[0].trim_end()).unwrap();
    for i in 0..20 {
        say(&store, &agent, &i.to_string()).await;
    }
    // Noting a first use comes after the look for changes, so one was looked for after the writes.
    store.authenticate(tokens[1].trim_end()).unwrap();
    until("the second key's use is noted", || rows(&database)[1].last_used_at.is_some()).await;
    assert_eq!(*store.revoked().borrow(), 0);
}

#[tokio::test]
async fn what_is_no_token_or_not_known_is_nobodys() {
    let database = Database::new();
    let store = database.open();
    let token = database.key(Kind::Client, "acme/builder", &["website-v2"]);
    let good = token.as_str();
    let wrong = format!("prk_{}", "A".repeat(43));
    for text in ["", "prk_", &good[4..], &good[..46], &good.to_uppercase(), &format!("{good} "), &wrong] {
        assert!(store.authenticate(text).is_none(), "{text}");
    }
    assert!(store.authenticate(good).is_some());
    assert!(!format!("{token:?}").contains(&good[4..]));
}

#[tokio::test]
async fn the_last_use_is_noted_at_most_once_a_minute() {
    let database = Database::new();
    let store = database.open();
    let token = done(&database, CLIENT);
    let noted = || rows(&database)[0].last_used_at;
    assert_eq!(noted(), None);
    let first = database.clock.now();
    store.authenticate(token.trim_end()).unwrap();
    until("the first use is noted", || noted().is_some_and(|at| at >= first)).await;
    let at = noted();
    // A key made elsewhere is noticed in the same look that notes uses: when the second one is, the look at
    // the first is over.
    let mut reread = store.revoked();
    for (seconds, moves) in [(50, false), (61, true)] {
        database.clock.set_offset(TimeDelta::seconds(seconds));
        store.authenticate(token.trim_end()).unwrap();
        for _ in 0..2 {
            reread.mark_unchanged();
            done(&database, CLIENT);
            tokio::time::timeout(database::DEADLINE, reread.changed()).await.unwrap().unwrap();
        }
        assert_eq!(noted() != at, moves, "{seconds} s later");
    }
    assert!(noted().unwrap() - at.unwrap() >= TimeDelta::seconds(60));
}
