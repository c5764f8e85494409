//! A watch that is left open: what it costs while nothing happens, and what it keeps of much that does. In small;
//! in full it is `cargo bench --bench watch`.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

#[path = "steady/crowd.rs"]
mod crowd;
#[path = "common/fake_room.rs"]
mod fake_room;
#[path = "steady/passing.rs"]
mod passing;
#[path = "common/pty.rs"]
mod pty;
#[path = "steady/scenes.rs"]
mod scenes;
#[path = "steady/stage.rs"]
mod stage;

use std::time::Duration;

#[test]
fn case_a31_nothing_is_done_while_nothing_on_the_screen_can_change() {
    let span = scenes::nothing_changes(20, Duration::from_secs(4));
    assert_eq!(span.written(), 0, "{span:?}");
    // Processor time comes in hundredths of a second; whoever works every tick is woken sixty times a second.
    assert!(span.share() <= 0.005, "{span:?}");
    assert!(span.waits() < 2.0, "{span:?}");
}

#[test]
fn case_a31_only_ages_that_are_in_sight_wake_it() {
    let span = scenes::crowd_is_quiet(2000, (38, 24), Duration::from_secs(4));
    assert!(span.waits() < 3.0, "{span:?}");
}

#[test]
fn case_a33_memory_stays_flat_however_much_is_heard() {
    let flood = scenes::Flood { events: 40_000, agents: 50, come_and_go: 500, size: (80, 24) };
    let figures = scenes::flood(flood);
    let (_, warm) = figures.iter().find(|(events, _)| *events >= flood.events / 4).unwrap();
    let (_, last) = figures.last().unwrap();
    assert!(last.resident < warm.resident + (3 << 20), "{figures:?}");
    assert!(last.descriptors <= warm.descriptors && last.threads <= warm.threads, "{figures:?}");
}

#[test]
fn case_a33_reconnects_leave_nothing_behind() {
    let span = scenes::reconnects(100, 20);
    assert!(span.grew() < 2 << 20, "{span:?}");
    // One more or less: it was just being connected.
    assert!(span.after.descriptors <= span.before.descriptors + 2, "{span:?}");
    assert!(span.after.threads <= span.before.threads, "{span:?}");
}

#[test]
fn case_a34_a_changed_row_costs_few_bytes_and_clears_nothing() {
    for size in [(38, 24), (80, 24), (120, 28)] {
        let bytes = scenes::one_row(size);
        let written = String::from_utf8_lossy(&bytes);
        assert!(bytes.len() < 300, "{size:?}: {} bytes: {written:?}", bytes.len());
        assert!(!scenes::clears(&bytes), "{size:?}: {written:?}");
        let frames = written.matches("\x1b[?25l").count();
        assert_eq!(frames, 1, "{size:?}: {written:?}");
    }
}
