//! What the scenarios share: a room in a process of its own with many keys, agents that report at a steady
//! rate, watchers that count, and what the kernel says of the room's size.

#![allow(dead_code, reason = "each program uses its part")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use prickle::rules::{Kind, Scope};
use prickle::server::store::keys::{Holder, KeyStore, NewKey};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::common::caller::Caller;
use crate::common::child::Served;
use crate::common::watcher::{Heard, Watcher};

pub const PROJECT: &str = "website-v2";
/// Reports that one key sends a second at most, well within what a room allows.
const RATE_OF_ONE: u64 = 20;
/// Feeds that one owner's key opens at most.
const FEEDS_OF_ONE: usize = 20;

/// Keys of a database, made as another process makes them.
pub struct Keys(KeyStore);

impl Keys {
    pub fn of(room: &Served) -> Self {
        Self(KeyStore::open(&room.db).unwrap())
    }

    pub fn agent(&mut self, id: &str) -> String {
        self.make(Kind::Client, Holder::Agent(id.parse().unwrap()))
    }

    /// Keys for so many watchers, one after the other: each owner has a few.
    pub fn watchers(&mut self, count: usize) -> Vec<String> {
        let mut keys = Vec::with_capacity(count);
        for owner in 0..count.div_ceil(FEEDS_OF_ONE) {
            let key = self.make(Kind::Person, Holder::Owner(format!("team-{owner}").parse().unwrap()));
            keys.extend(std::iter::repeat_n(key, FEEDS_OF_ONE));
        }
        keys
    }

    fn make(&mut self, kind: Kind, holder: Holder) -> String {
        let key = NewKey { kind, holder, scope: Scope::All, task: None, label: None };
        self.0.create(&key, chrono::Utc::now()).unwrap().as_str().to_owned()
    }
}

/// A room with its project.
pub fn room(folder: &Path) -> (Served, Keys) {
    let room = Served::start(folder, 0);
    let mut keys = Keys::of(&room);
    let scope = Scope::Some(std::iter::once(PROJECT.parse().unwrap()).collect());
    let holder = Holder::Owner("acme".parse().unwrap());
    let first = NewKey { kind: Kind::Person, holder, scope, task: None, label: None };
    keys.0.create(&first, chrono::Utc::now()).unwrap();
    (room, keys)
}

/// Agents that report together `rate` times a second; each report tells when it was sent.
pub struct Agents {
    /// Reports that were answered.
    pub sent: Arc<AtomicU64>,
    tasks: Vec<JoinHandle<()>>,
}

impl Agents {
    /// `files` of 300 characters go with each report.
    pub fn start(caller: &Caller, keys: &mut Keys, rate: u64, files: usize, since: Instant) -> Self {
        let agents = rate.div_ceil(RATE_OF_ONE);
        let sent = Arc::new(AtomicU64::new(0));
        let tasks = (0..agents).map(|n| {
            let (key, caller) = (keys.agent(&format!("acme/busy-{n}")), caller.clone());
            let sent = Arc::clone(&sent);
            tokio::spawn(async move {
                let mut tick = tokio::time::interval(Duration::from_micros(1_000_000 * agents / rate));
                loop {
                    tick.tick().await;
                    let doing = since.elapsed().as_micros().to_string();
                    let report =
                        json!({"project": PROJECT, "doing": doing, "files": vec!["f".repeat(300); files]});
                    caller.pulse(&key, report).await;
                    sent.fetch_add(1, Ordering::Relaxed);
                }
            })
        });
        Self { tasks: tasks.collect(), sent }
    }

    pub async fn stop(self) -> u64 {
        for task in self.tasks {
            task.abort();
            let _ = task.await;
        }
        self.sent.load(Ordering::Relaxed)
    }
}

/// How a healthy watcher fared.
#[derive(Debug, Default, Clone, Copy)]
pub struct Fared {
    /// Events that came in their order.
    pub events: u64,
    /// Numbers left out, told twice, or replaced by a picture.
    pub missed: u64,
    /// From the agent's call to here, the longest.
    pub worst: Duration,
}

/// Follows a feed from its first event on, until it is told to stop at a number.
pub async fn healthy(mut watcher: Watcher, since: Instant, until: Arc<AtomicU64>) -> Fared {
    let mut seq = 0;
    let mut fared = Fared::default();
    while seq < until.load(Ordering::Relaxed) {
        match watcher.hear().await {
            Heard::Frame(frame) if frame["seq"] == seq + 1 && frame["type"] == "pulse" => {
                seq += 1;
                fared.events += 1;
                let sent = frame["pulse"]["doing"].as_str().and_then(|doing| doing.parse().ok());
                if let Some(sent) = sent.map(Duration::from_micros) {
                    fared.worst = fared.worst.max(since.elapsed().saturating_sub(sent));
                }
            }
            other => {
                fared.missed += 1;
                if let Heard::Frame(frame) = other {
                    seq = frame["seq"].as_u64().unwrap_or(seq);
                } else {
                    return fared;
                }
            }
        }
    }
    fared
}

/// Reads on until the feed has come to the room's newest event, by events or a new picture; the pulses then.
pub async fn caught_up(watcher: &mut Watcher, newest: u64) -> (u64, Vec<Value>) {
    let mut pulses: std::collections::BTreeMap<String, Value> = std::collections::BTreeMap::new();
    let name = |pulse: &Value| pulse["agent_id"].as_str().unwrap().to_owned();
    let mut epoch = String::new();
    let mut seq = 0;
    while seq < newest {
        let frame = watcher.frame().await;
        match frame["type"].as_str().unwrap() {
            "hello" => epoch = frame["epoch"].as_str().unwrap().to_owned(),
            "snapshot" => {
                let picture = watcher.rest(epoch.clone(), frame).await;
                seq = picture.seq;
                pulses = picture.pulses.into_iter().map(|pulse| (name(&pulse), pulse)).collect();
            }
            "pulse" => {
                assert_eq!(frame["seq"], seq + 1);
                seq += 1;
                pulses.insert(name(&frame["pulse"]), frame["pulse"].clone());
            }
            other => panic!("{other} in a feed"),
        }
    }
    (seq, pulses.into_values().collect())
}

/// Bytes of memory that a process has.
pub fn resident(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// Bytes that the kernel keeps for all the TCP sockets of this machine.
pub fn in_kernel() -> u64 {
    const PAGE: u64 = 4096;
    let stat = std::fs::read_to_string("/proc/net/sockstat").unwrap();
    let line = stat.lines().find_map(|line| line.strip_prefix("TCP:")).unwrap();
    line.rsplit(' ').next().unwrap().parse::<u64>().unwrap() * PAGE
}

/// Processor time that a process has used.
pub fn processor(process: u32) -> Duration {
    const TICK: Duration = Duration::from_millis(10);
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let mut fields = stat.rsplit(") ").next().unwrap().split(' ').skip(11);
    let mut ticks = || fields.next().unwrap().parse::<u32>().unwrap();
    (ticks() + ticks()) * TICK
}

/// Files and sockets that a process holds.
pub fn descriptors(process: u32) -> usize {
    std::fs::read_dir(format!("/proc/{process}/fd")).unwrap().count()
}
