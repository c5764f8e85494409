//! The feed under stress, in small: the same scenarios in full are `cargo bench --bench stall`.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod common;
#[path = "stress/crowd.rs"]
mod crowd;
#[path = "stress/load.rs"]
mod load;
#[path = "stress/stall.rs"]
mod stall;
#[path = "stress/storm.rs"]
mod storm;

use std::time::{Duration, Instant};

use common::until;
use common::watcher::Watcher;
use prickle::client::feed::Options;
use serde_json::json;

/// Watchers that stop reading cost the room little: a buffer for each would be 40 times as much.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn those_who_stop_reading_cost_neither_memory_nor_the_others() {
    let scale = stall::Scale {
        stalled: 100,
        healthy: 5,
        rate: 100,
        files: 6,
        before: 160,
        lasts: Duration::from_secs(4),
        waves: Duration::from_secs(2),
        nap: Duration::from_secs(1),
    };
    let figures = stall::run(scale).await;
    assert_eq!(figures.fared.missed, 0, "{figures:?}");
    assert!(figures.fared.events >= 5 * figures.reports, "{figures:?}");
    assert!(figures.woken >= 2, "{figures:?}");
    assert!(figures.room_grew() <= 10 << 20, "{figures:?}");
    assert!(figures.kernel_grew() <= 80 << 20, "{figures:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowded_room_is_shown_whole_while_it_lives() {
    let figures = crowd::run(crowd::Scale { agents: 500, wordy: 20, rate: 100, visits: 3 }).await;
    assert_eq!(figures.wrong, 0, "{figures:?}");
    assert!(figures.events >= 60 && figures.parts > 20, "{figures:?}");
}

/// Fewer watchers than in the bench, and a tenth of the real waits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn case_b01_watchers_come_back_from_restarts_without_a_storm() {
    let real = Options::default();
    let options = Options {
        backoff_first: real.backoff_first / 10,
        backoff_max: real.backoff_max / 10,
        lived: real.lived / 10,
        ..real
    };
    let scale = storm::Scale { watchers: 50, restarts: 3, away: Duration::from_millis(900), options };
    let figures = storm::run(scale).await;
    // The first four waits are at least 40, 80, 160 and 320 ms long: a fifth try within the time is too many.
    assert!(figures.shortest_wait.unwrap() >= Duration::from_millis(100), "{figures:?}");
    assert!(figures.tries <= 6, "{figures:?}");
    assert_eq!(figures.resumed, 150, "{figures:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn case_b16_readers_that_never_drain_make_the_room_keep_nothing() {
    let scale = stall::Scale {
        stalled: 10,
        healthy: 1,
        rate: 250,
        files: 6,
        before: 160,
        lasts: Duration::from_secs(3),
        waves: Duration::from_secs(3),
        nap: Duration::from_secs(2),
    };
    let figures = stall::run(scale).await;
    assert_eq!(figures.fared.missed, 0, "{figures:?}");
    assert!(figures.reports > 200 && figures.room_grew() <= 8 << 20, "{figures:?}");
}

#[tokio::test]
async fn case_b09_clients_that_are_killed_leave_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let (room, mut keys) = load::room(folder.path());
    let caller = room.caller();
    let agent = keys.agent("acme/builder");
    caller.pulse(&agent, json!({"project": load::PROJECT, "doing": "x"})).await;
    let base = load::descriptors(room.id());
    let mut watchers = Vec::new();
    for key in keys.watchers(100) {
        let mut watcher = Watcher::open(&caller, &key, load::PROJECT, None).await.unwrap();
        watcher.picture().await;
        watchers.push(watcher);
    }
    assert_eq!(load::descriptors(room.id()), base + 100);
    // As the system ends the connections of a process: some in order, some with bytes that nobody reads.
    for (n, watcher) in watchers.into_iter().enumerate() {
        if n % 2 == 0 {
            watcher.socket.get_ref().set_zero_linger().unwrap();
        }
    }
    until("all are let go of", async || load::descriptors(room.id()) <= base).await;
    let used = load::processor(room.id());
    let since = Instant::now();
    tokio::time::sleep(Duration::from_secs(1)).await; // the time that is measured
    let share = load::processor(room.id()).saturating_sub(used).as_secs_f64() / since.elapsed().as_secs_f64();
    assert!(share < 0.2, "{share}");
    caller.pulse(&agent, json!({"project": load::PROJECT, "doing": "y"})).await;
}
