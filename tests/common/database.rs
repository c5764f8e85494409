//! A real database in a folder of its own, and the keys to it, for tests of the store.
#![allow(dead_code, reason = "each test file uses its part")]

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use prickle::rules::{Caller, Kind, Scope};
use prickle::server::clock::Clock;
use prickle::server::store::keys::{Holder, KeyStore, NewKey, Token};
use prickle::server::store::{CallError, Options, Picture, Start, Store, Subscription};
use prickle::wire::feed::Frame;
use prickle::wire::id::Slug;
use prickle::wire::pulse::Pulse;
use prickle::wire::run::Run;
use prickle::wire::schema;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

/// Time within which anything that a test waits for must have come.
pub const DEADLINE: Duration = Duration::from_secs(20);

pub struct Database {
    pub folder: TempDir,
    pub path: PathBuf,
    pub clock: Clock,
}

impl Database {
    pub fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("room.db");
        Self { folder, path, clock: Clock::default() }
    }

    pub fn options(&self) -> Options {
        Options { clock: self.clock.clone(), keys_reread: Duration::from_millis(20), ..Options::default() }
    }

    pub fn open(&self) -> Store {
        Store::open(&self.path, self.options()).unwrap()
    }

    pub fn key(&self, kind: Kind, holder: &str, projects: &[&str]) -> Token {
        let holder = if kind.is_agent() {
            Holder::Agent(holder.parse().unwrap())
        } else {
            Holder::Owner(holder.parse().unwrap())
        };
        let projects: BTreeSet<Slug> = projects.iter().map(|p| slug(p)).collect();
        let scope = if projects.is_empty() { Scope::All } else { Scope::Some(projects) };
        let task = (kind == Kind::Execution).then(|| "task-1".to_owned());
        let key = NewKey { kind, holder, scope, task, label: None };
        KeyStore::open(&self.path).unwrap().create(&key, self.clock.now()).unwrap()
    }

    /// A new key, signed in.
    pub fn caller(&self, store: &Store, kind: Kind, holder: &str, projects: &[&str]) -> Arc<Caller> {
        store.authenticate(self.key(kind, holder, projects).as_str()).unwrap()
    }

    /// A client key of `acme/builder` for website-v2, signed in.
    pub fn agent(&self, store: &Store) -> Arc<Caller> {
        self.caller(store, Kind::Client, "acme/builder", &["website-v2"])
    }

    /// The database as another program sees it.
    pub fn sql(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(&self.path).unwrap()
    }
}

pub fn slug(text: &str) -> Slug {
    text.parse().unwrap()
}

pub fn website() -> Slug {
    slug("website-v2")
}

fn members(value: Value) -> Map<String, Value> {
    let Value::Object(mut members) = value else { panic!("an object") };
    members.entry("project").or_insert(json!("website-v2"));
    members
}

/// Calls `update_pulse`, for website-v2 unless the arguments say otherwise.
pub async fn pulse(
    store: &Store,
    by: &Arc<Caller>,
    arguments: Value,
) -> Result<Option<Arc<Pulse>>, CallError> {
    let report = schema::update_pulse(&members(arguments)).unwrap();
    store.update_pulse(Arc::clone(by), report).await
}

pub async fn say(store: &Store, by: &Arc<Caller>, doing: &str) -> Arc<Pulse> {
    pulse(store, by, json!({"doing": doing})).await.unwrap().unwrap()
}

/// A UUID of a number.
pub fn run_id(n: u64) -> String {
    format!("4f7c2a9e-3b1d-4c8e-9a6f-{n:012x}")
}

/// A report of a run, with what `changes` says otherwise.
pub async fn run(store: &Store, by: &Arc<Caller>, changes: Value) -> Result<Run, CallError> {
    let mut report = json!({"project": "website-v2", "run_id": run_id(1), "task_id": "task-1",
        "input_tokens": 1200, "output_tokens": 340, "turns": null, "duration_ms": 91_000, "exit_code": 0});
    let Value::Object(changes) = changes else { panic!("an object") };
    report.as_object_mut().unwrap().extend(changes);
    let report = schema::report_run(report.as_object().unwrap()).unwrap();
    store.report_run(Arc::clone(by), report).await
}

/// The number and the `doing` of each event.
pub fn events(texts: &[Arc<str>]) -> Vec<(u64, String)> {
    let read = |text: &Arc<str>| match Frame::parse(text).unwrap() {
        Frame::Pulse { seq, pulse, .. } => (seq, pulse.doing),
        other => panic!("an event, not {other:?}"),
    };
    texts.iter().map(read).collect()
}

/// What was missed, or `None` where there is a whole picture instead.
pub async fn missed(mut place: Subscription) -> Option<Vec<(u64, String)>> {
    if let Start::Snapshot(_) = place.start {
        return None;
    }
    let mut all = Vec::new();
    while place.events.seen() < place.seq {
        let page = tokio::time::timeout(DEADLINE, place.events.next(PAGE)).await.unwrap().unwrap();
        assert!(page.len() == 1 || page.iter().map(|text| text.len()).sum::<usize>() <= PAGE);
        all.extend(events(&page));
    }
    Some(all)
}

/// Bytes that are read of what was missed at a time.
pub const PAGE: usize = 64 * 1024;

/// The number of the next event.
pub async fn next(place: &mut Subscription) -> u64 {
    let next = tokio::time::timeout(DEADLINE, place.events.next(1)).await.unwrap().unwrap();
    events(&next)[0].0
}

/// The picture a place begins with.
pub fn picture(place: &Subscription) -> Arc<Picture> {
    let Start::Snapshot(picture) = &place.start else { panic!("a whole picture") };
    Arc::clone(picture)
}

/// Waits until `holds`, and fails at the deadline.
pub async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = std::time::Instant::now() + DEADLINE;
    while !holds() {
        assert!(std::time::Instant::now() < end, "{what}: not within {DEADLINE:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
