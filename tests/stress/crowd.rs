//! A room of very many agents, and a watcher that comes while they report.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::{StreamExt, stream};
use prickle::wire::feed::FRAME_MAX;
use serde_json::{Value, json};

use super::load::{self, Agents, Keys, PROJECT};
use crate::common::caller::Caller;
use crate::common::watcher::{Heard, Watcher};

#[derive(Debug, Clone, Copy)]
pub struct Scale {
    pub agents: usize,
    /// Of these, as many say the most that an agent can say.
    pub wordy: usize,
    /// Reports a second while the watcher comes.
    pub rate: u64,
    /// How often a new watcher comes.
    pub visits: usize,
}

#[derive(Debug, Default)]
pub struct Figures {
    /// From the request to the last part, the longest.
    pub whole_after: Duration,
    pub parts: usize,
    pub bytes: usize,
    pub largest: usize,
    /// Events that followed on the pictures, each in its turn.
    pub events: u64,
    /// Agents that a picture did not have, or not as they were.
    pub wrong: usize,
    /// Reports a second that were answered meanwhile.
    pub rate: f64,
}

pub async fn run(scale: Scale) -> Figures {
    let folder = tempfile::tempdir().unwrap();
    let (room, mut keys) = load::room(folder.path());
    let caller = room.caller();
    let person = keys.watchers(1).remove(0);
    let told = fill(&caller, &mut keys, scale).await;
    let since = Instant::now();
    let agents = Agents::start(&caller, &mut keys, scale.rate, 1, since);
    let mut figures = Figures::default();
    for _ in 0..scale.visits {
        visit(&caller, &person, &told, &agents.sent, &mut figures).await;
    }
    let lasted = since.elapsed();
    #[allow(clippy::cast_precision_loss)] // a few thousand
    let sent = agents.stop().await as f64;
    figures.rate = sent / lasted.as_secs_f64();
    figures
}

/// The largest report that the contract allows: of the characters that take the most bytes in a frame.
pub fn wordy(n: usize) -> Value {
    let text = |length: usize| "\u{1}".repeat(length);
    json!({
        "project": PROJECT, "doing": text(200), "task_id": "t".repeat(64), "branch": text(200),
        "last_decision": text(500), "files": vec![text(300); 50],
        "intent": {"kind": "change", "paths": vec![text(300); 20], "areas": vec![format!("{n:040}"); 10]},
    })
}

/// Lets every agent report once; what each has said.
async fn fill(caller: &Caller, keys: &mut Keys, scale: Scale) -> BTreeSet<(String, String)> {
    let names: Vec<_> = (0..scale.agents).map(|n| format!("acme/agent-{n:05}")).collect();
    let keys: Vec<_> = names.iter().map(|name| keys.agent(name)).collect();
    stream::iter(names.into_iter().zip(keys).enumerate())
        .map(|(n, (name, key))| async move {
            let report = if n < scale.wordy {
                wordy(n)
            } else {
                let doing = format!("{n}: {}", "x".repeat(100));
                json!({"project": PROJECT, "doing": doing, "files": vec!["src/a/path/of/usual/length.rs"; 8]})
            };
            let doing = report["doing"].as_str().unwrap().to_owned();
            caller.pulse(&key, report).await;
            (name, doing)
        })
        .buffer_unordered(16)
        .collect()
        .await
}

/// Comes anew, takes the picture, and follows the events for a while.
async fn visit(
    caller: &Caller,
    person: &str,
    told: &BTreeSet<(String, String)>,
    sent: &Arc<AtomicU64>,
    figures: &mut Figures,
) {
    let began = Instant::now();
    let mut watcher = Watcher::open(caller, person, PROJECT, None).await.unwrap();
    watcher.frame().await;
    let mut pulses: BTreeSet<(String, String)> = BTreeSet::new();
    let mut parts = 0;
    let mut bytes = 0;
    let mut seq;
    loop {
        let Heard::Frame(frame) = watcher.hear().await else { panic!("the feed ended") };
        let size = watcher.last;
        assert!(frame["type"] == "snapshot" && frame["part"] == parts && size <= FRAME_MAX, "{size} bytes");
        (parts, bytes, figures.largest) = (parts + 1, bytes + size, figures.largest.max(size));
        seq = frame["seq"].as_u64().unwrap();
        let text = |pulse: &Value, name: &str| pulse[name].as_str().unwrap().to_owned();
        pulses.extend(
            frame["pulses"].as_array().unwrap().iter().map(|p| (text(p, "agent_id"), text(p, "doing"))),
        );
        if frame["last"] == true {
            break;
        }
    }
    figures.whole_after = figures.whole_after.max(began.elapsed());
    (figures.parts, figures.bytes) = (parts, bytes);
    figures.wrong += told.difference(&pulses).count();
    watcher.frame().await; // the history
    figures.largest = figures.largest.max(watcher.last);
    // As many as have been answered by now were there when we came, or follow.
    let follow = 20 + sent.load(Ordering::Relaxed) % 10;
    for _ in 0..follow {
        seq += 1;
        watcher.event(seq).await;
    }
    figures.events += follow;
}
