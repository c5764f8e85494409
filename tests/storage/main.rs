//! Bad days of a room's storage, as its callers meet them: a full disk, a damaged file, a busy database, a log
//! that must not grow.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

#[path = "../common/mod.rs"]
mod common;
mod taken;
mod wal;

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::process::Command;

use common::caller::{Answer, Caller, run_report, with};
use common::child::{How, Served};
use common::room::{Room, Shape, make_key};
use common::until;
use common::watcher::Watcher;
use serde_json::{Value, json};

/// A pulse of about 15 KB.
fn big(n: usize) -> Value {
    json!({"project": "website-v2", "doing": format!("big {n}"), "files": vec!["x".repeat(290); 50]})
}

/// What a caller hears while the room's storage takes nothing: a result, for its model to read.
fn told(answer: Answer, cause: &str) -> String {
    let Answer::Refused(text) = answer else { panic!("a refusal was expected, not {answer:?}") };
    assert!(text.starts_with(cause) && text.contains("nothing was stored"), "{text}");
    for inside in ["SQL", "sql", "INSERT", "events", "disk I/O", "room.db", "xxx", "big "] {
        assert!(!text.contains(inside), "{inside} in {text}");
    }
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}

/// Pulses until the storage is full, then holds what callers and watchers are told against what is right;
/// `free` makes space.
async fn fill_and_recover(room: &Caller, key: &str, free: impl FnOnce()) {
    let mut watcher = Watcher::open(room, key, "website-v2", None).await.unwrap();
    watcher.picture().await;
    let mut stored = 0;
    let refusal = loop {
        match room.call(key, "update_pulse", big(stored)).await {
            Answer::Done(_) => stored += 1,
            other => break other,
        }
        assert!(stored < 500, "the storage never gets full");
    };
    assert!(stored > 0);
    told(refusal, "the room's storage is full");
    for n in 0..20 {
        told(room.call(key, "update_pulse", big(1000 + n)).await, "the room's storage is full");
    }
    // What was not taken is seen by nobody, and those who watch are told why nothing moves, whoever comes now too.
    let full = json!({"type": "room", "refusing": "the room's storage is full"});
    let (events, states) = heard(&mut watcher, stored, 1).await;
    assert_eq!(events, (1..=stored as u64).collect::<Vec<_>>());
    assert_eq!(states, std::slice::from_ref(&full));
    let mut late = Watcher::open(room, key, "website-v2", None).await.unwrap();
    late.picture().await;
    assert_eq!(late.frame().await, full);
    let now = room.get(key, "/v1/projects/website-v2/pulse").await.1;
    assert_eq!(now["seq"], stored);
    assert_eq!(now["pulses"][0]["doing"], format!("big {}", stored - 1));
    // By itself, once there is space.
    free();
    let pulse = room.pulse(key, json!({"project": "website-v2", "doing": "room again"})).await;
    assert_eq!(pulse["doing"], "room again");
    for watcher in [&mut watcher, &mut late] {
        let (events, states) = heard(watcher, 1, 1).await;
        assert_eq!(
            (events, states),
            (vec![stored as u64 + 1], vec![json!({"type": "room", "refusing": null})])
        );
    }
}

/// So many events, by their numbers, and so many words on how the room is; in which order both come is left open.
async fn heard(watcher: &mut Watcher, events: usize, states: usize) -> (Vec<u64>, Vec<Value>) {
    let (mut seqs, mut told) = (Vec::new(), Vec::new());
    while seqs.len() < events || told.len() < states {
        let frame = watcher.frame().await;
        match frame["seq"].as_u64() {
            Some(seq) => seqs.push(seq),
            None => told.push(frame),
        }
    }
    (seqs, told)
}

#[tokio::test]
async fn case_f06_a_database_that_may_not_grow_is_full_in_words_and_recovers() {
    let mut shape = Shape::default();
    shape.store.largest = Some(400 * 1024);
    let room = Room::with(shape).await;
    let key = room.key("client", "acme/builder", &["website-v2"]);
    let free = || {
        let sql = rusqlite::Connection::open(&room.db).unwrap();
        sql.execute("DELETE FROM events WHERE seq < 10", []).unwrap();
    };
    fill_and_recover(&room, &key, free).await;
}

/// The same on a disk that is really full: a small tmpfs that only the room's process sees, and that goes with it.
#[cfg(target_os = "linux")]
#[tokio::test]
#[expect(clippy::print_stderr, reason = "where it can't be shown, that is said")]
async fn case_f06_a_full_disk_is_told_as_such_and_recovers() {
    let folder = tempfile::tempdir().unwrap();
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).unwrap();
    let mounted = format!("mount -t tmpfs -o size=1m,mode=700 tmpfs '{}'", disk.display());
    let probe = Command::new("unshare").args(["-rm", "/bin/sh", "-c", &mounted]).output();
    if !probe.is_ok_and(|done| done.status.success()) {
        eprintln!("this machine mounts nothing for us: only the test with a small database speaks for F06");
        return;
    }
    // What takes up the space at first stands for everything else on a disk.
    let script = format!(
        "{mounted} && head -c 400000 /dev/zero > '{disk}/ballast' && \
         \"$0\" key create --kind client --agent acme/builder --project website-v2 --db '{disk}/room.db' \
         > '{folder}/token' && exec \"$0\" \"$@\"",
        disk = disk.display(),
        folder = folder.path().display(),
    );
    let db = Some(disk.join("room.db"));
    let by = vec!["unshare", "-rm", "/bin/sh", "-c", &script];
    let served = Served::start_how(folder.path(), How { by, db, ..How::default() });
    let key = fs::read_to_string(folder.path().join("token")).unwrap();
    let inside = format!("/proc/{}/root{}", served.id(), disk.display());
    fill_and_recover(&served.caller(), key.trim(), || {
        fs::remove_file(Path::new(&inside).join("ballast")).unwrap();
    })
    .await;
    said_once(&served, "the database did not take").await;
}

/// The log tells of trouble once within the minute that a test takes, and once that it is over.
async fn said_once(served: &Served, what: &str) {
    let mut log = String::new();
    until("the log says that it is over", async || {
        log = fs::read_to_string(&served.log).unwrap();
        log.contains("the database takes calls again")
    })
    .await;
    let said = |text: &str| log.lines().filter(|line| line.contains(text)).count();
    assert_eq!((said(what), said("takes calls again")), (1, 1), "{log}");
    assert_eq!(said("ERROR"), 1, "{log}");
}

#[tokio::test]
async fn case_f05_damage_while_the_room_runs_is_told_to_callers_and_once_to_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("room.db");
    let key = make_key(&db, "client", "acme/builder", &["website-v2"]);
    let person = make_key(&db, "person", "acme", &["website-v2"]);
    {
        let mut filled = Served::start(folder.path(), 0);
        for n in 0..20 {
            filled.caller().pulse(&key, big(n)).await;
        }
        assert_eq!(filled.stop(rustix::process::Signal::TERM), Some(0));
    }
    let served = Served::start(folder.path(), 0);
    let room = served.caller();
    assert_eq!(room.get(&key, "/v1/projects/website-v2/pulse").await.1["seq"], 20);
    // Another process writes, so that the room forgets the pages it holds; then most of the file is lost.
    make_key(&db, "client", "acme/other", &["website-v2"]);
    let length = fs::metadata(&db).unwrap().len();
    let mut file = File::options().write(true).open(&db).unwrap();
    file.seek(SeekFrom::Start(4096)).unwrap();
    file.write_all(&vec![0xa5; usize::try_from(length).unwrap() - 4096]).unwrap();
    drop(file);
    for n in 0..20 {
        told(room.call(&key, "update_pulse", big(n)).await, "the room's database is damaged");
        told(room.call(&key, "report_run", run_report(&run_id(n))).await, "the room's database is damaged");
        let (status, problem) = room.get(&person, "/v1/runs").await;
        assert_eq!(status, 503, "{problem}");
        let unknown = format!("prk_{}", "A".repeat(43));
        assert_eq!(room.get(&unknown, "/v1/me").await.0, 401);
    }
    // What is in memory is still shown.
    assert_eq!(room.get(&key, "/v1/projects/website-v2/pulse").await.1["seq"], 20);
    let log = fs::read_to_string(&served.log).unwrap();
    assert_eq!(log.lines().filter(|line| line.contains("ERROR")).count(), 1, "{log}");
    assert!(log.contains("malformed"), "the cause: {log}");
    assert_eq!(room.get("", "/healthz").await.0, 200, "it still watches");
}

#[tokio::test]
async fn a_key_or_room_that_can_t_be_looked_up_is_not_called_unknown() {
    let mut shape = Shape::default();
    shape.store.keys_reread = std::time::Duration::from_hours(1);
    let room = Room::with(shape).await;
    let everywhere = room.key("person", "acme", &[]);
    let agent = room.key("client", "acme/builder", &[]);
    assert_eq!(room.get(&everywhere, "/v1/me").await.0, 200);
    assert_eq!(room.get(&agent, "/v1/me").await.0, 200);
    let new = room.key("person", "acme", &["website-v2"]);
    let sql = rusqlite::Connection::open(&room.db).unwrap();
    // Tables that are gone stand for anything that SQLite can't do.
    sql.execute_batch("ALTER TABLE credentials RENAME TO c; ALTER TABLE projects RENAME TO p").unwrap();
    for (key, route) in [(&new, "/v1/me"), (&everywhere, "/v1/projects/website-v2/pulse")] {
        let (status, problem) = room.get(key, route).await;
        assert_eq!(status, 503, "{route}: {problem}");
        assert!(problem["detail"].as_str().unwrap().contains("Try again later"), "{problem}");
    }
    let call = json!({"project": "website-v2", "doing": ""});
    told(room.call(&agent, "update_pulse", call.clone()).await, "the room's storage did not do it");
    sql.execute_batch("ALTER TABLE c RENAME TO credentials; ALTER TABLE p RENAME TO projects").unwrap();
    assert_eq!(room.get(&new, "/v1/me").await.0, 200);
    room.pulse(&agent, call).await;
}

fn run_id(n: usize) -> String {
    format!("4f7c2a9e-3b1d-4c8e-9a6f-{n:012}")
}

#[tokio::test]
async fn case_f01_a_process_that_holds_the_database_loses_no_call() {
    const AGENTS: usize = 20;
    const EACH: usize = 50;
    let room = Room::open().await;
    let person = room.key("person", "acme", &["website-v2"]);
    let keys: Vec<String> =
        (0..AGENTS).map(|n| room.key("client", &format!("acme/a{n}"), &["website-v2"])).collect();
    let calls = keys.into_iter().enumerate().map(|(agent, key)| {
        let room = room.caller();
        tokio::spawn(async move {
            for n in 0..EACH {
                room.pulse(&key, json!({"project": "website-v2", "doing": format!("{n}")})).await;
                let id = run_id(agent * EACH + n);
                room.run(&key, with(&run_report(&id), json!({"turns": n}))).await;
            }
        })
    });
    let calls: Vec<_> = calls.collect();
    // Meanwhile another program reads, and holds the right to write for three seconds: longer than any call may
    // be half done, shorter than the room waits.
    let db = room.db.clone();
    let holder = tokio::task::spawn_blocking(move || {
        let sql = rusqlite::Connection::open(&db).unwrap();
        sql.busy_timeout(common::PATIENCE).unwrap();
        sql.execute_batch("BEGIN IMMEDIATE").unwrap();
        let seen: i64 = sql.query_row("SELECT count(*) FROM runs", [], |row| row.get(0)).unwrap();
        std::thread::sleep(std::time::Duration::from_secs(3)); // what the case is about, not a wait for anything
        sql.execute_batch("ROLLBACK").unwrap();
        seen
    });
    holder.await.unwrap();
    for call in calls {
        call.await.unwrap();
    }
    let now = room.get(&person, "/v1/projects/website-v2/pulse").await.1;
    assert_eq!((now["seq"].as_u64(), now["pulses"].as_array().unwrap().len()), (Some(1000), AGENTS));
    let runs = room.get(&person, "/v1/runs?limit=1000").await.1;
    assert_eq!(runs["runs"].as_array().unwrap().len(), AGENTS * EACH);
}

#[tokio::test]
async fn case_f01_a_database_that_stays_busy_is_told_as_such() {
    let room = Room::open().await;
    let key = room.key("client", "acme/builder", &["website-v2"]);
    room.pulse(&key, json!({"project": "website-v2", "doing": "before"})).await;
    let sql = rusqlite::Connection::open(&room.db).unwrap();
    sql.execute_batch("BEGIN IMMEDIATE").unwrap();
    let late = room.call(&key, "update_pulse", json!({"project": "website-v2", "doing": "late"})).await;
    told(late, "another program keeps the room's database busy");
    sql.execute_batch("ROLLBACK").unwrap();
    let now = room.get(&key, "/v1/projects/website-v2/pulse").await.1;
    assert_eq!((&now["seq"], &now["pulses"][0]["doing"]), (&json!(1), &json!("before")));
    room.pulse(&key, json!({"project": "website-v2", "doing": "after"})).await;
}

/// Scaled down from two million pulses: `cargo bench --bench wal` sends them all.
#[tokio::test]
async fn case_f03_the_log_stays_bounded_and_is_gone_after_a_clean_stop() {
    const MOST: u64 = 24 * 1024 * 1024;
    let folder = tempfile::tempdir().unwrap();
    // 30 MB of events, twice that in pages.
    let seen = wal::under_load(folder.path(), 2000, 50).await;
    assert!(seen.largest < MOST && seen.left == 0, "{seen:?}");
    assert_eq!(seen.kept, 1000, "old events are pruned by rule");
    assert!(seen.database < 64 * 1024 * 1024, "and their place is used again: {seen:?}");
}
