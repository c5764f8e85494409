//! Keys that another process makes and revokes, while a room runs with the times it has in earnest.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::common::child::{Served, prickle};
use super::common::until;
use super::common::watcher::Watcher;
use super::{KINDS, OWN};

/// Time within which a revoked key's streams must be closed.
const CLOSED_WITHIN: Duration = Duration::from_secs(5);

/// Runs `prickle key …` as a process of its own.
fn key(folder: &Path, args: &[&str]) -> String {
    let out = prickle(folder).arg("key").args(args).arg("--db").arg(folder.join("room.db")).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap().trim().to_owned()
}

#[tokio::test]
async fn a_key_works_at_once_and_a_revoked_one_ends_its_streams() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let served = Served::start(folder, 0);
    let room = served.caller();
    let mut watchers = Vec::new();
    for kind in KINDS {
        let who = if kind == "person" { vec!["--owner", "acme"] } else { vec!["--agent", "acme/agent"] };
        let task = if kind == "execution" { vec!["--task", "t-1"] } else { vec![] };
        let args = [vec!["create", "--kind", kind, "--project", OWN], who, task].concat();
        let token = key(folder, &args);
        // At once: the very next request.
        let mut watcher = Watcher::open(&room, &token, OWN, None).await.unwrap_or_else(|status| {
            panic!("a new {kind} key was answered with {status}");
        });
        watcher.picture().await;
        room.rpc(&token, "tools/list", json!({})).await;
        watchers.push((kind, token, watcher));
    }
    let stays = key(folder, &["create", "--kind", "person", "--owner", "acme", "--project", OWN]);
    let mut stays_open = Watcher::open(&room, &stays, OWN, None).await.unwrap();
    stays_open.picture().await;

    let listed: Value = serde_json::from_str(&key(folder, &["list", "--json"])).unwrap();
    let ids: Vec<String> = listed.as_array().unwrap().iter().map(|row| row["id"].to_string()).collect();
    let mut revoked_at = Vec::new();
    for id in &ids[..KINDS.len()] {
        key(folder, &["revoke", id]);
        revoked_at.push(Instant::now());
    }
    for ((kind, token, mut watcher), revoked_at) in watchers.into_iter().zip(revoked_at) {
        assert_eq!(watcher.closed().await, 4401, "{kind}");
        assert!(revoked_at.elapsed() < CLOSED_WITHIN, "{kind}: {:?}", revoked_at.elapsed());
        assert_eq!(room.get(&token, "/v1/me").await.0, 401, "{kind}");
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}).to_string();
        assert_eq!(room.post(&token, call).send().await.unwrap().status(), 401, "{kind}");
    }
    // The others' streams go on.
    let agent = key(folder, &["create", "--kind", "client", "--agent", "acme/agent", "--project", OWN]);
    room.pulse(&agent, json!({"project": OWN, "doing": "x"})).await;
    assert_eq!(stays_open.event(1).await["pulse"]["doing"], "x");
    // A project that another process makes is there at once, too.
    let everywhere = key(folder, &["create", "--kind", "person", "--owner", "acme", "--all"]);
    assert_eq!(room.get(&everywhere, "/v1/projects/later/pulse").await.0, 404);
    key(folder, &["create", "--kind", "person", "--owner", "acme", "--project", "later"]);
    assert_eq!(room.get(&everywhere, "/v1/projects/later/pulse").await.0, 200);
    until("and in the list", async || {
        room.get(&everywhere, "/v1/projects").await.1 == json!({"projects": ["later", OWN]})
    })
    .await;
}
