//! Watchers that stop reading, and what they cost the room and those who do read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream;

use super::load::{self, Agents, Fared, PROJECT};
use crate::common::watcher::Watcher;

/// How much of it.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    pub stalled: usize,
    pub healthy: usize,
    /// Reports a second.
    pub rate: u64,
    /// Files of 300 characters in each.
    pub files: usize,
    /// Reports before the first watcher stops: its history is as long as one can be.
    pub before: u64,
    pub lasts: Duration,
    /// How long stopped watchers are left alone before others take their place: the room has let go of them.
    pub waves: Duration,
    /// How long one of them stops before it reads again.
    pub nap: Duration,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Figures {
    pub reports: u64,
    /// Bytes of the room's memory before the first watcher stopped, and the most after.
    pub resident: (u64, u64),
    /// Bytes of the kernel's memory for sockets, the same.
    pub in_kernel: (u64, u64),
    /// Of all healthy watchers.
    pub fared: Fared,
    /// Processor time of the room meanwhile, in parts of one processor.
    pub busy: f64,
    /// Watchers that read again after a nap, and were told the room as it is.
    pub woken: usize,
}

impl Figures {
    pub fn room_grew(&self) -> u64 {
        self.resident.1.saturating_sub(self.resident.0)
    }

    pub fn kernel_grew(&self) -> u64 {
        self.in_kernel.1.saturating_sub(self.in_kernel.0)
    }
}

/// Bytes that a stopped watcher's socket takes in.
const SMALL: u32 = 4096;

pub async fn run(scale: Scale) -> Figures {
    let folder = tempfile::tempdir().unwrap();
    let (room, mut keys) = load::room(folder.path());
    let caller = room.caller();
    let since = Instant::now();
    let watchers = keys.watchers(scale.stalled + scale.healthy + 1);
    let (key_of_all, watchers) = watchers.split_first().unwrap();
    let until = Arc::new(AtomicU64::new(u64::MAX));
    let mut well = Vec::new();
    for key in &watchers[..scale.healthy] {
        let mut watcher = Watcher::open(&caller, key, PROJECT, None).await.unwrap();
        assert_eq!(watcher.picture().await.seq, 0, "from the first on");
        well.push(tokio::spawn(load::healthy(watcher, since, Arc::clone(&until))));
    }
    let agents = Agents::start(&caller, &mut keys, scale.rate, scale.files, since);
    while agents.sent.load(Ordering::Relaxed) < scale.before {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let mut figures = Figures {
        resident: (load::resident(room.id()), 0),
        in_kernel: (load::in_kernel(), 0),
        ..Figures::default()
    };
    let (began, used) = (Instant::now(), load::processor(room.id()));
    let end = began + scale.lasts;
    let sampling = {
        let process = room.id();
        tokio::spawn(async move {
            let mut most = (0, 0);
            while Instant::now() < end {
                most = (load::resident(process).max(most.0), load::in_kernel().max(most.1));
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            most
        })
    };
    while Instant::now() < end {
        // Some that stop, one of them only for a while.
        let stopped: Vec<Watcher> = stream::iter(&watchers[scale.healthy..])
            .map(|key| async { Watcher::open_slow(&caller, key, PROJECT, None, Some(SMALL)).await.unwrap() })
            .buffer_unordered(50)
            .collect()
            .await;
        let mut stopped = stopped.into_iter();
        let mut napping = stopped.next().unwrap();
        tokio::time::sleep(scale.nap.min(end.saturating_duration_since(Instant::now()))).await;
        let newest = caller.get(key_of_all, &format!("/v1/projects/{PROJECT}/pulse")).await.1;
        let newest = newest["seq"].as_u64().unwrap();
        load::caught_up(&mut napping, newest).await;
        figures.woken += 1;
        let rest = scale.waves.saturating_sub(scale.nap).min(end.saturating_duration_since(Instant::now()));
        tokio::time::sleep(rest).await;
        drop(stopped);
    }
    let used = load::processor(room.id()).saturating_sub(used);
    figures.busy = used.as_secs_f64() / began.elapsed().as_secs_f64();
    figures.reports = agents.stop().await;
    // One that was not answered any more may have been stored.
    let newest = caller.get(key_of_all, &format!("/v1/projects/{PROJECT}/pulse")).await.1;
    until.store(newest["seq"].as_u64().unwrap(), Ordering::Relaxed);
    // Those who have come so far already wait for one more.
    let last = keys.agent("acme/last");
    caller.pulse(&last, serde_json::json!({"project": PROJECT, "doing": ""})).await;
    for watcher in well {
        let fared = watcher.await.unwrap();
        let all = &mut figures.fared;
        *all = Fared {
            events: all.events + fared.events,
            missed: all.missed + fared.missed,
            worst: all.worst.max(fared.worst),
        };
    }
    (figures.resident.1, figures.in_kernel.1) = sampling.await.unwrap();
    figures
}
