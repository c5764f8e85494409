//! What the tests share: a real room, in this process or in one of its own, and plain clients for it.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, missing_docs)]

pub mod caller;
pub mod child;
pub mod ran;
pub mod room;
pub mod watcher;

use std::time::Duration;

/// How long a test waits for anything before it calls it missing.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Waits until `holds` says yes, or fails naming `what` it was.
pub async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let waited = tokio::time::timeout(PATIENCE, async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    assert!(waited.await.is_ok(), "not within {PATIENCE:?}: {what}");
}
