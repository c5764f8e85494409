//! The real client of a room's feed, and what it makes of what it hears.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use prickle::client::Access;
use prickle::client::feed::{Feed, Options};
use prickle::picture::{Connection, Happening, News, Picture};
use serde_json::Value;

use crate::common::PATIENCE;
use crate::common::caller::Caller;

pub const PROJECT: &str = "website-v2";

/// The client's times, so that tests need not wait for them.
pub fn quick() -> Options {
    Options {
        ping: Duration::from_millis(100),
        dead: Duration::from_millis(800),
        connect: Duration::from_millis(400),
        backoff_first: Duration::from_millis(20),
        backoff_max: Duration::from_millis(100),
        ..Options::default()
    }
}

/// A watcher of [`PROJECT`].
pub struct Follower {
    pub feed: Feed,
    pub picture: Picture,
    /// Pictures that came whole.
    pub snapshots: usize,
    tries: Arc<AtomicUsize>,
}

impl Follower {
    pub fn start(url: &str, token: &str, options: Options) -> Self {
        let access = Access::new(url.parse().unwrap(), token.parse().unwrap());
        let tries = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&tries);
        let source = move || {
            count.fetch_add(1, Ordering::SeqCst);
            Ok(access.clone())
        };
        let feed = Feed::spawn(Arc::new(source), PROJECT.parse().unwrap(), options);
        Self { feed, picture: Picture::new(PROJECT), snapshots: 0, tries }
    }

    /// Connections tried so far.
    pub fn tries(&self) -> usize {
        self.tries.load(Ordering::SeqCst)
    }

    /// Takes in the next news; each event must follow on the last.
    pub async fn next(&mut self) -> News {
        let heard = tokio::time::timeout(PATIENCE, self.feed.next()).await;
        let heard = heard.expect("no news").expect("the feed has ended");
        let news = heard.news.clone();
        let before = self.seq();
        match &news {
            News::Event { frame } => assert_eq!(frame.seq(), Some(before + 1), "after {before}"),
            News::Snapshot { .. } => self.snapshots += 1,
            _ => {}
        }
        self.picture.apply(heard);
        news
    }

    /// Takes in news until `holds`.
    pub async fn until(&mut self, holds: impl Fn(&Self) -> bool) {
        while !holds(self) {
            self.next().await;
        }
    }

    /// Takes in news until the event `seq` is part of the picture.
    pub async fn until_seq(&mut self, seq: u64) {
        self.until(|follower| follower.picture.connection == Connection::Live && follower.seq() == seq).await;
    }

    pub fn seq(&self) -> u64 {
        self.picture.position().map_or(0, |(_, seq)| seq)
    }

    /// The `doing` of every report in the log, oldest first.
    pub fn told(&self) -> Vec<String> {
        let told = |happening: &Happening| match happening {
            Happening::Reported { after, .. } => Some(after.doing.clone()),
            _ => None,
        };
        self.picture.log().filter_map(told).collect()
    }

    /// Whether the picture is the room as the room itself has it.
    pub async fn agrees_with(&self, room: &Caller, token: &str) -> bool {
        let (_, page) = room.get(token, &format!("/v1/projects/{PROJECT}/pulse")).await;
        let ours: Vec<Value> =
            self.picture.agents().map(|(_, agent)| serde_json::to_value(&*agent.pulse).unwrap()).collect();
        page["seq"] == self.seq() && page["pulses"] == Value::from(ours)
    }
}
