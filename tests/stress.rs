//! The feed under stress, in small: the same scenarios in full are `cargo bench --bench stall`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, missing_docs)]

mod common;
#[path = "stress/crowd.rs"]
mod crowd;
#[path = "stress/load.rs"]
mod load;
#[path = "stress/stall.rs"]
mod stall;
#[path = "stress/storm.rs"]
mod storm;

use std::time::Duration;

use prickle::client::feed::Options;

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
    eprintln!("{figures:?}");
    assert_eq!(figures.fared.missed, 0, "{figures:?}");
    assert!(figures.fared.events >= 5 * figures.reports, "{figures:?}");
    assert!(figures.woken >= 2, "{figures:?}");
    assert!(figures.room_grew() <= 10 << 20, "{figures:?}");
    assert!(figures.kernel_grew() <= 80 << 20, "{figures:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowded_room_is_shown_whole_while_it_lives() {
    let figures = crowd::run(crowd::Scale { agents: 500, wordy: 20, rate: 100, visits: 3 }).await;
    eprintln!("{figures:?}");
    assert_eq!(figures.wrong, 0, "{figures:?}");
    assert!(figures.events >= 60 && figures.parts > 20, "{figures:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_watchers_come_back_without_a_storm() {
    // The real waits, five times as fast.
    let quick = Options::default();
    let options = Options {
        backoff_first: quick.backoff_first / 5,
        backoff_max: quick.backoff_max / 5,
        lived: quick.lived / 5,
        ..quick
    };
    let scale = storm::Scale { watchers: 100, restarts: 2, away: Duration::from_secs(2), options };
    let figures = storm::run(scale).await;
    eprintln!("{figures:?}");
    // A second in real waits.
    assert!(figures.shortest_wait.unwrap() >= Duration::from_millis(200), "{figures:?}");
    assert!(figures.tries <= 8, "{figures:?}");
    assert_eq!(figures.resumed, 200, "{figures:?}");
}
