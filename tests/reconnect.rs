//! The feed's client and the real room, in a process of its own: what is missed while either is away.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use common::PATIENCE;
use common::child::Served;
use common::room::{Room, make_key};
use prickle::client::Access;
use prickle::client::feed::{Feed, Options};
use prickle::picture::News;
use prickle::wire::feed::Frame;
use serde_json::json;

fn follow(url: &str, token: &str, options: Options) -> Feed {
    let access = Access::new(url.parse().unwrap(), token.parse().unwrap());
    Feed::spawn(Arc::new(move || Ok(access.clone())), "website-v2".parse().unwrap(), options)
}

async fn next(feed: &mut Feed) -> News {
    tokio::time::timeout(PATIENCE, feed.next()).await.expect("no news").expect("the feed has ended").news
}

/// Reads on until `found` takes something.
async fn wait_for<T>(feed: &mut Feed, found: impl Fn(&News) -> Option<T>) -> T {
    loop {
        if let Some(found) = found(&next(feed).await) {
            return found;
        }
    }
}

fn lost(news: &News) -> Option<String> {
    match news {
        News::Lost { why, .. } => Some(why.clone()),
        _ => None,
    }
}

fn event(news: News) -> (u64, String) {
    match news {
        News::Event { frame: Frame::Pulse { seq, pulse, .. } } => (seq, pulse.doing),
        other => panic!("a pulse was expected, not {other:?}"),
    }
}

#[tokio::test]
async fn what_happened_while_the_room_was_killed_and_we_were_away_comes_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut room = Served::start(folder.path(), 0);
    let agent = make_key(&room.db, "client", "acme/builder", &["website-v2"]);
    let person = make_key(&room.db, "person", "acme", &["website-v2"]);
    let caller = room.caller();
    let say = async |doing: String| {
        caller.pulse(&agent, json!({"project": "website-v2", "doing": doing})).await;
    };
    for n in 1..=3 {
        say(format!("step {n}")).await;
    }
    let hour = Duration::from_hours(1);
    let mut feed = follow(
        &caller.url,
        &person,
        Options { backoff_first: hour, backoff_max: hour, ..Options::default() },
    );
    wait_for(&mut feed, |news| matches!(news, News::Snapshot { seq: 3, .. }).then_some(())).await;
    wait_for(&mut feed, |news| matches!(news, News::Recent { events } if events.len() == 3).then_some(()))
        .await;
    say("step 4".into()).await;
    assert_eq!(event(next(&mut feed).await), (4, "step 4".into()));

    for round in 0..3 {
        room.kill9();
        let why = lost(&next(&mut feed).await).unwrap();
        assert!(["the connection broke off", "connection refused"].contains(&why.as_str()), "{why}");
        // Still down.
        feed.retry_now();
        assert_eq!(wait_for(&mut feed, lost).await, "connection refused");
        room.again();
        let first = 5 + round * 4;
        for n in first..first + 3 {
            say(format!("step {n}")).await;
        }
        feed.retry_now();
        let resumed = wait_for(&mut feed, |news| match news {
            News::Live { resumed, seq, .. } => Some((*resumed, *seq)),
            _ => None,
        });
        assert_eq!(resumed.await, (true, first + 2));
        for n in first..first + 3 {
            assert_eq!(event(next(&mut feed).await), (n, format!("step {n}")));
        }
        say(format!("step {}", first + 3)).await;
        assert_eq!(event(next(&mut feed).await), (first + 3, format!("step {}", first + 3)));
        assert!(feed.try_next().is_none());
    }
}

#[tokio::test]
async fn case_b06_a_room_that_freezes_is_lost_and_met_again_when_it_thaws() {
    let folder = tempfile::tempdir().unwrap();
    let room = Served::start(folder.path(), 0);
    let agent = make_key(&room.db, "client", "acme/builder", &["website-v2"]);
    let person = make_key(&room.db, "person", "acme", &["website-v2"]);
    let caller = room.caller();
    caller.pulse(&agent, json!({"project": "website-v2", "doing": "one"})).await;
    let options = Options {
        ping: Duration::from_millis(100),
        dead: Duration::from_secs(1),
        connect: Duration::from_millis(300),
        backoff_first: Duration::from_millis(20),
        backoff_max: Duration::from_millis(100),
        ..Options::default()
    };
    let mut feed = follow(&caller.url, &person, options);
    wait_for(&mut feed, |news| matches!(news, News::Snapshot { .. }).then_some(())).await;
    let id = rustix::process::Pid::from_raw(i32::try_from(room.id()).unwrap()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::STOP).unwrap();
    assert_eq!(wait_for(&mut feed, lost).await, "no answer for 1s");
    // The machine still takes connections for it, but nobody answers.
    assert_eq!(wait_for(&mut feed, lost).await, "no answer for 300ms");
    rustix::process::kill_process(id, rustix::process::Signal::CONT).unwrap();
    wait_for(&mut feed, |news| matches!(news, News::Live { resumed: true, .. }).then_some(())).await;
    caller.pulse(&agent, json!({"project": "website-v2", "doing": "two"})).await;
    assert_eq!(event(next(&mut feed).await), (2, "two".into()));
}

#[tokio::test]
async fn a_room_that_stops_in_order_says_so_and_is_met_again() {
    let room = Room::open().await;
    let (agent, person) =
        (room.key("client", "acme/builder", &["website-v2"]), room.key("person", "acme", &["website-v2"]));
    room.pulse(&agent, json!({"project": "website-v2", "doing": "one"})).await;
    let mut feed = follow(
        &room.url,
        &person,
        Options { backoff_first: Duration::from_millis(20), ..Options::default() },
    );
    wait_for(&mut feed, |news| matches!(news, News::Snapshot { .. }).then_some(())).await;
    let room = room.restart().await;
    assert_eq!(wait_for(&mut feed, lost).await, "the room is restarting");
    wait_for(&mut feed, |news| matches!(news, News::Live { resumed: true, .. }).then_some(())).await;
    room.pulse(&agent, json!({"project": "website-v2", "doing": "two"})).await;
    assert_eq!(event(next(&mut feed).await), (2, "two".into()));
}

#[tokio::test]
async fn case_b19_a_revoked_key_is_refused_without_a_storm_and_a_new_one_taken() {
    let room = Room::open().await;
    let agent = room.key("client", "acme/builder", &["website-v2"]);
    room.pulse(&agent, json!({"project": "website-v2", "doing": "one"})).await;
    let person = Arc::new(std::sync::Mutex::new(room.key("person", "acme", &["website-v2"])));
    let tries = Arc::new(AtomicUsize::new(0));
    let (url, token, count) = (room.url.clone(), Arc::clone(&person), Arc::clone(&tries));
    let source = move || {
        count.fetch_add(1, Ordering::SeqCst);
        Ok(Access::new(url.parse().unwrap(), token.lock().unwrap().parse().unwrap()))
    };
    let mut feed = Feed::spawn(Arc::new(source), "website-v2".parse().unwrap(), Options::default());
    wait_for(&mut feed, |news| matches!(news, News::Snapshot { .. }).then_some(())).await;
    room.revoke_newest();
    let refused = |news: &News| match news {
        News::Refused { why } => Some(why.clone()),
        _ => None,
    };
    let why = wait_for(&mut feed, refused).await;
    assert!(why.starts_with("this key was revoked; make one with: prickle key create"), "{why}");
    feed.retry_now();
    let why = wait_for(&mut feed, refused).await;
    assert!(why.contains("does not know this key") && !why.contains("prk_"), "{why}");
    // Nothing more is tried by itself, be it after the close or after the refused connection.
    let quiet = tokio::time::timeout(Duration::from_secs(1), feed.next()).await;
    assert!(quiet.is_err(), "{quiet:?}");
    assert_eq!(tries.load(Ordering::SeqCst), 2);
    *person.lock().unwrap() = room.key("person", "acme", &["website-v2"]);
    feed.retry_now();
    wait_for(&mut feed, |news| matches!(news, News::Live { resumed: true, .. }).then_some(())).await;
}

#[tokio::test]
async fn a_room_the_key_does_not_see_is_refused_with_those_it_sees() {
    let room = Room::open().await;
    let person = room.key("person", "acme", &["website", "shop"]);
    let mut feed = follow(&room.url, &person, Options::default());
    let why = wait_for(&mut feed, |news| match news {
        News::Refused { why } => Some(why.clone()),
        _ => None,
    });
    let host = room.address();
    assert_eq!(why.await, format!("this key sees no website-v2 at {host}; it sees shop, website"));
}
