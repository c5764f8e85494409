//! The database file: private from creation, one room at a time, and what is not ours is refused and left alone.
#![allow(clippy::unwrap_used)]

#[path = "common/database.rs"]
mod database;

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use database::{Database, pulse, say, until, website};
use prickle::rules::Kind;
use prickle::server::store::{Claim, Store};
use serde_json::json;
use tempfile::TempDir;

const PRICKLE: &str = env!("CARGO_BIN_EXE_prickle");

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// That a room can't be opened on `path`, with the path, this cause and this remedy, and that the file stays
/// byte for byte what it was.
fn refused(database: &Database, path: &Path, cause: &str, remedy: &str) {
    let before = fs::read(path).ok();
    let text = Store::open(path, database.options()).unwrap_err().to_string();
    assert!(text.contains(&path.display().to_string()), "{text}");
    assert!(text.contains(cause) && text.contains(remedy), "{text}");
    assert!(!text.contains('\n'), "{text}");
    assert_eq!(fs::read(path).ok(), before, "{cause}: the file was changed");
}

/// A closed database with enough in it to have pages of every table.
async fn full() -> Database {
    let database = Database::new();
    let store = database.open();
    let agent = database.agent(&store);
    for i in 0..50 {
        let report = json!({"doing": format!("step {i}"), "files": vec!["x".repeat(300); 10]});
        pulse(&store, &agent, report).await.unwrap();
    }
    store.close().await;
    database
}

#[test]
fn who_only_looks_whether_a_room_runs_does_not_keep_one_from_opening() {
    let database = Database::new();
    drop(Claim::take(&database.path).unwrap());
    let lock = File::open(format!("{}.lock", database.path.display())).unwrap();
    lock.lock_shared().unwrap();
    let looking = std::thread::spawn(move || {
        // As long as a look may take on a machine that is busy.
        std::thread::sleep(std::time::Duration::from_millis(50));
        lock.unlock().unwrap();
    });
    assert!(Claim::take(&database.path).is_ok());
    looking.join().unwrap();
}

#[test]
fn case_f09_files_are_private_from_creation_whatever_the_umask() {
    for umask in ["000", "022"] {
        let folder = TempDir::new().unwrap();
        let made = folder.path().join("new/deep");
        let path = made.join("room.db");
        let create = || {
            let script = format!(
                "umask {umask}; exec '{PRICKLE}' key create --kind person --owner acme --all --db '{}'",
                path.display()
            );
            assert!(Command::new("sh").args(["-c", &script]).output().unwrap().status.success());
        };
        create();
        assert_eq!(
            (mode(made.parent().unwrap()), mode(&made), mode(&path)),
            (0o700, 0o700, 0o600),
            "{umask}"
        );
        // While it is open its log is beside it; while a room runs, its lock too.
        let database =
            Database { folder, path: path.clone(), clock: prickle::server::clock::Clock::default() };
        let store = database.open();
        create();
        for name in ["room.db", "room.db-wal", "room.db-shm", "room.db.lock"] {
            assert_eq!(mode(&made.join(name)), 0o600, "{name} with umask {umask}");
        }
        drop(store);
    }
}

#[test]
fn case_f05_an_empty_file_is_a_new_database_and_becomes_private() {
    let database = Database::new();
    File::create(&database.path).unwrap();
    fs::set_permissions(&database.path, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(database.open().snapshot(&website()).seq, 0);
    assert_eq!(mode(&database.path), 0o600);
}

#[tokio::test]
async fn a_second_room_is_refused_and_the_lock_goes_with_the_first() {
    let database = Database::new();
    let store = database.open();
    let link = database.folder.path().join("link.db");
    std::os::unix::fs::symlink(&database.path, &link).unwrap();
    for path in [&database.path, &link] {
        let text = Store::open(path, database.options()).unwrap_err().to_string();
        assert!(text.contains("another room is running on it") && text.contains("--db"), "{text}");
    }
    let agent = database.agent(&store);
    say(&store, &agent, "the first goes on").await;
    store.close().await;
    assert_eq!(database.open().snapshot(&website()).seq, 1);
}

#[test]
fn case_f05_what_is_no_database_file_is_refused() {
    let database = Database::new();
    let folder = database.folder.path();
    refused(&database, folder, "it is a folder", "room.db");
    assert_eq!(fs::read_dir(folder).unwrap().count(), 0, "and nothing was put into it");
    refused(&database, Path::new("/dev/null"), "it is no regular file", "--db");
    let text = folder.join("notes.txt");
    fs::write(&text, "milk, eggs").unwrap();
    refused(&database, &text, "it is no SQLite database", "--db");
    refused(&database, &text.join("room.db"), "Not a directory", "--db");
    let short = folder.join("short.db");
    fs::write(&short, b"SQLite format 3\0 and then no more").unwrap();
    refused(&database, &short, "it is damaged", "backup");
    assert!(!folder.join("notes.txt.lock").exists());
}

#[test]
fn case_f05_another_programs_database_is_refused() {
    let database = Database::new();
    let other = rusqlite::Connection::open(&database.path).unwrap();
    other.execute_batch("CREATE TABLE songs (title TEXT)").unwrap();
    refused(&database, &database.path, "the SQLite database of another program", "--db");
}

#[tokio::test]
async fn a_newer_database_is_refused_also_where_only_its_log_says_so() {
    let database = full().await;
    let sql = database.sql();
    sql.execute_batch("PRAGMA user_version = 99").unwrap();
    let cause = "a newer prickle wrote it (its version is 99, this program knows 3)";
    // As a crash would leave it: the newest header is in the log, not in the file.
    let copy = database.folder.path().join("copy.db");
    fs::copy(&database.path, &copy).unwrap();
    fs::copy(database.path.with_extension("db-wal"), copy.with_extension("db-wal")).unwrap();
    refused(&database, &copy, cause, "update prickle");
    drop(sql);
    refused(&database, &database.path, cause, "update prickle");
}

#[tokio::test]
async fn case_f05_a_damaged_database_is_refused() {
    let database = full().await;
    let length = fs::metadata(&database.path).unwrap().len();
    let whole = fs::read(&database.path).unwrap();
    for page in [1, 4, length / 4096 / 2, length / 4096 - 1] {
        let mut file = File::options().write(true).open(&database.path).unwrap();
        file.seek(SeekFrom::Start(page * 4096)).unwrap();
        file.write_all(&[0xa5; 4096]).unwrap();
        refused(&database, &database.path, "it is damaged", "put a backup in its place");
        fs::write(&database.path, &whole).unwrap();
    }
    fs::write(&database.path, &whole[..whole.len() / 2]).unwrap();
    refused(&database, &database.path, "it is damaged", "put a backup in its place");
    fs::write(&database.path, &whole).unwrap();
    assert_eq!(database.open().snapshot(&website()).seq, 50);
}

/// A database of the first version, with a key that was used and one that was not, and a room's event.
fn first_version(database: &Database) {
    let sql = database.sql();
    sql.execute_batch(include_str!("../src/server/store/schema.sql")).unwrap();
    sql.execute_batch(
        "PRAGMA application_id = 0x70726b6c;
        PRAGMA user_version = 1;
        PRAGMA journal_mode = wal;
        INSERT INTO room VALUES (1, 'AAAAAAAAAAAAAAAA');
        INSERT INTO owners VALUES (1, 'acme', 1000);
        INSERT INTO agents VALUES (1, 1, 'builder', 1000);
        INSERT INTO projects VALUES (1, 'website-v2', 1000);
        INSERT INTO credentials VALUES (1, zeroblob(32), 'client', 1, 1, NULL, 0, 'old', 1000, 2000, NULL);
        INSERT INTO credentials VALUES (2, randomblob(32), 'client', 1, 1, NULL, 1, NULL, 1500, NULL, NULL);
        INSERT INTO credential_projects VALUES (1, 1);
        INSERT INTO sequences VALUES (1, 7);",
    )
    .unwrap();
}

/// What the database says of its keys: made, first used, last used, tools listed.
fn uses(database: &Database) -> Vec<[Option<i64>; 4]> {
    let sql = database.sql();
    let mut select = sql
        .prepare("SELECT made_at, first_used_at, last_used_at, tools_listed_at FROM credentials ORDER BY id")
        .unwrap();
    let rows = select.query_map([], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?])).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

#[tokio::test]
async fn a_database_of_the_first_version_is_brought_to_this_one_with_all_it_holds() {
    for by_key_command in [false, true] {
        let database = Database::new();
        first_version(&database);
        if by_key_command {
            database.key(Kind::Client, "acme/writer", &["website-v2"]);
        }
        let store = database.open();
        assert_eq!((store.snapshot(&website()).seq, &**store.epoch()), (7, "AAAAAAAAAAAAAAAA"));
        store.close().await;
        let version: i64 = database.sql().query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
        assert_eq!(version, 3);
        // Used is used, if only the last time is known.
        let uses = uses(&database);
        assert_eq!(uses[..2], [[Some(1000), Some(2000), Some(2000), None], [Some(1500), None, None, None]]);
        // Its rooms were a key's own from the beginning.
        let sql = "SELECT made_at FROM credential_projects WHERE credential = 1";
        let let_in: i64 = database.sql().query_row(sql, [], |row| row.get(0)).unwrap();
        assert_eq!(let_in, 1000);
    }
}

#[test]
fn many_that_find_an_older_database_bring_it_to_this_version_together() {
    let database = Database::new();
    first_version(&database);
    let children: Vec<_> = (0..8)
        .map(|i| {
            let agent = format!("acme/agent-{i}");
            let mut command = Command::new(PRICKLE);
            command.args(["key", "create", "--kind", "client", "--agent", &agent, "--project", "website-v2"]);
            command.arg("--db").arg(&database.path).stdout(std::process::Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(uses(&database).len(), 10);
}

#[test]
fn an_older_database_is_not_changed_under_an_older_room() {
    let database = Database::new();
    first_version(&database);
    let locked = File::create(database.folder.path().join("room.db.lock")).unwrap();
    locked.try_lock().unwrap();
    let text = prickle::server::store::keys::KeyStore::open(&database.path).unwrap_err().to_string();
    let db = fs::canonicalize(&database.path).unwrap();
    let remedy = format!("stop it with prickle serve --stop --db {}", db.display());
    assert!(text.contains("an older prickle's room is running on it") && text.contains(&remedy), "{text}");
    // A room says what it says of any other.
    let text = Store::open(&database.path, database.options()).unwrap_err().to_string();
    assert!(text.contains("another room is running on it"), "{text}");
    let version: i64 = database.sql().query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    assert_eq!(version, 1);
}

#[tokio::test]
async fn how_a_key_was_used_is_kept_once_for_the_first_and_always_for_the_last() {
    let database = Database::new();
    let options =
        prickle::server::store::Options { use_noted: std::time::Duration::ZERO, ..database.options() };
    let store = Store::open(&database.path, options).unwrap();
    let token = database.key(Kind::Client, "acme/builder", &["website-v2"]);
    assert_eq!(uses(&database)[0][1..], [None, None, None]);
    let caller = store.authenticate(token.as_str()).unwrap();
    until("the first use is kept", || uses(&database)[0][1].is_some()).await;
    let [_, first, last, listed] = uses(&database)[0];
    assert_eq!((first, listed), (last, None));
    store.tools_listed(&caller);
    until("the first list of tools is kept", || uses(&database)[0][3].is_some()).await;
    let listed = uses(&database)[0][3];
    until("a later use and a later list are kept", || {
        store.authenticate(token.as_str());
        store.tools_listed(&caller);
        uses(&database)[0][2] > last && uses(&database)[0][3] > listed
    })
    .await;
    store.close().await;
    assert_eq!(uses(&database)[0][1], first);
}

/// Runs the program as someone whom file modes bind: root is bound by none.
fn unprivileged(folder: &TempDir, arguments: &[&str]) -> Output {
    const NOBODY: u32 = 65534;
    let program: PathBuf = folder.path().join("prickle");
    if !program.exists() {
        fs::copy(PRICKLE, &program).unwrap(); // the build may lie where only root can read
    }
    let mut command = Command::new(&program);
    if fs::metadata(folder.path()).unwrap().uid() == 0 {
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        command.uid(NOBODY).gid(NOBODY);
        for entry in fs::read_dir(folder.path()).unwrap() {
            chown(entry.unwrap().path(), Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }
    command.args(arguments).env("PRICKLE_HOME", folder.path()).output().unwrap()
}

#[tokio::test]
async fn case_f05_a_read_only_database_is_refused() {
    let database = full().await;
    fs::remove_file(database.folder.path().join("room.db.lock")).unwrap();
    let before = fs::read(&database.path).unwrap();
    fs::set_permissions(&database.path, fs::Permissions::from_mode(0o400)).unwrap();
    let path = database.path.to_str().unwrap();
    for arguments in [
        vec!["serve", "--addr", "127.0.0.1:0", "--db", path],
        vec!["key", "create", "--kind", "person", "--owner", "acme", "--all", "--db", path],
    ] {
        let done = unprivileged(&database.folder, &arguments);
        let text = String::from_utf8(done.stderr).unwrap();
        assert_eq!((done.status.code(), done.stdout.len()), (Some(2), 0), "{text}");
        for part in [path, "it may not be written", "chmod u+rw"] {
            assert!(text.contains(part), "{text}");
        }
        assert_eq!(text.lines().count(), 1, "{text}");
    }
    assert_eq!(fs::read(&database.path).unwrap(), before);
    assert!(!database.folder.path().join("room.db.lock").exists());
}

#[tokio::test]
async fn many_first_starts_at_once_make_one_database() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("data/room.db");
    let children: Vec<_> = (0..8)
        .map(|i| {
            let agent = format!("acme/agent-{i}");
            let mut command = Command::new(PRICKLE);
            command.args(["key", "create", "--kind", "client", "--agent", &agent, "--project", "website-v2"]);
            command.arg("--db").arg(&path).stdout(std::process::Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let database = Database { folder, path, clock: prickle::server::clock::Clock::default() };
    let tokens = children.into_iter().map(|child| {
        let done = child.wait_with_output().unwrap();
        assert!(done.status.success());
        String::from_utf8(done.stdout).unwrap()
    });
    let tokens: Vec<String> = tokens.collect();
    let store = database.open();
    for token in tokens {
        let caller = store.authenticate(token.trim_end()).unwrap();
        assert_eq!(caller.kind, Kind::Client);
        say(&store, &caller, "here").await;
    }
    assert_eq!(store.snapshot(&website()).pulses.len(), 8);
}
