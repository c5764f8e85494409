//! A day's load in short: what the write-ahead log does under it, and what is left of it after a clean stop.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::common::child::{How, Served};
use crate::common::room::make_key;
use crate::common::watcher::Watcher;

/// What was seen.
#[derive(Debug)]
pub struct Figures {
    /// Bytes of the log at its largest.
    pub largest: u64,
    /// And after a clean stop.
    pub left: u64,
    /// Bytes of the database then.
    pub database: u64,
    /// Events that the room still keeps.
    pub kept: u64,
}

/// Sends `pulses`, each naming `files` long paths, fifty at a time, while a watcher takes them all in; then stops
/// the room in order.
pub async fn under_load(folder: &Path, pulses: u64, files: usize) -> Figures {
    const AT_ONCE: u64 = 50;
    let db = folder.join("room.db");
    let key = make_key(&db, "client", "acme/builder", &["website-v2"]);
    let mut served = Served::start_how(folder, How { more: vec!["--rate", "off"], ..How::default() });
    let room = served.caller();
    let mut watcher = Watcher::open(&room, &key, "website-v2", None).await.unwrap();
    watcher.picture().await;
    let wal = folder.join("room.db-wal");
    let (mut sent, mut largest) = (0, 0);
    while sent < pulses {
        let calls = (0..AT_ONCE).map(|n| {
            let (room, key) = (room.clone(), key.clone());
            let files = vec!["x".repeat(290); files];
            let call = json!({"project": "website-v2", "doing": format!("{}", sent + n), "files": files});
            tokio::spawn(async move { room.pulse(&key, call).await })
        });
        for call in calls.collect::<Vec<_>>() {
            call.await.unwrap();
        }
        for _ in 0..AT_ONCE {
            sent += 1;
            watcher.event(sent).await;
        }
        largest = largest.max(fs::metadata(&wal).unwrap().len());
    }
    let sql = rusqlite::Connection::open(&db).unwrap();
    let kept = sql.query_row("SELECT count(*) FROM events", [], |row| row.get(0)).unwrap();
    drop(sql);
    assert_eq!(served.stop(rustix::process::Signal::TERM), Some(0));
    let length = |path: &Path| fs::metadata(path).map_or(0, |found| found.len());
    Figures { largest, left: length(&wal), database: length(&db), kept }
}
