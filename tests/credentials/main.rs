//! Every kind of credential against every field of both tools, every route and every feed. What is right stands in
//! tables here; what they are held against (kinds, fields, routes) is taken from the program, so that a new one
//! fails until it has its row.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

#[path = "../common/mod.rs"]
mod common;
mod fields;
mod processes;
mod routes;
mod watching;

use common::room::Room;
use prickle::rules::Kind;
use serde_json::{Value, json};

/// The project that the keys are for, one that exists and is another's, and one that does not exist.
const OWN: &str = "website-v2";
const OTHER: &str = "elsewhere";
const MISSING: &str = "nowhere-1";

/// The columns of the tables.
const KINDS: [&str; 7] =
    ["person", "oauth", "client", "project", "runner-device", "runner-tasks", "execution"];

/// The column of a kind.
#[track_caller]
fn column(kind: Kind) -> usize {
    let found = KINDS.iter().position(|name| *name == kind.as_str());
    found.unwrap_or_else(|| panic!("{kind} has no column in the tables: what may it do?"))
}

/// A key to the room, as one row or column of a table sees it.
#[derive(Debug, Clone)]
struct Key {
    kind: Kind,
    /// `--all`: every project of the room, so that there is no other's.
    everywhere: bool,
    token: String,
    /// The agent, or the owner.
    who: String,
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", self.kind, if self.everywhere { " --all" } else { "" })
    }
}

/// A room with a project of someone else's in it, and a key of every kind, bound and (where there is such) not.
async fn room_with_keys() -> (Room, Vec<Key>) {
    assert_eq!(Kind::ALL.len(), KINDS.len(), "the tables have a column that no kind has");
    let room = Room::open().await;
    let other = room.key("client", "other/agent", &[OTHER]);
    room.pulse(&other, json!({"project": OTHER, "doing": "secret"})).await;
    let mut keys = Vec::new();
    for kind in Kind::ALL {
        for everywhere in [false, true] {
            if everywhere && kind.has_one_project() {
                continue;
            }
            let name = format!("{kind}-{}", if everywhere { "all" } else { "own" });
            let who = if kind == Kind::Person { "acme".to_owned() } else { format!("acme/{name}") };
            let token = room.key(kind.as_str(), &who, if everywhere { &[] } else { &[OWN] });
            assert_eq!(room.get(&token, "/v1/me").await.0, 200, "{kind}");
            keys.push(Key { kind, everywhere, token, who });
        }
    }
    (room, keys)
}

/// A project's number and pulses, as someone who may see it sees them.
async fn picture(room: &Room, project: &str) -> Value {
    room.store.snapshot(&project.parse().unwrap()).pulses.iter().map(|pulse| json!(pulse)).collect()
}

/// The rows of a table: a name, and for each kind of credential a word.
fn table(text: &'static str) -> Vec<(&'static str, Vec<&'static str>)> {
    let mut rows = text.lines().map(str::split_whitespace).filter_map(|mut words| {
        let name = words.next()?;
        Some((name, words.collect::<Vec<_>>()))
    });
    let (_, kinds) = rows.next().unwrap();
    assert_eq!(kinds, KINDS, "the head of the table");
    let rows: Vec<_> = rows.collect();
    for (name, words) in &rows {
        assert_eq!(words.len(), KINDS.len(), "{name}");
    }
    rows
}

/// The row of a name; a name without one fails.
#[track_caller]
fn row<'a>(table: &'a [(&'static str, Vec<&'static str>)], name: &str) -> &'a [&'static str] {
    let found = table.iter().find(|(row, _)| *row == name);
    &found.unwrap_or_else(|| panic!("{name} has no row in the table: who may use it?")).1
}
