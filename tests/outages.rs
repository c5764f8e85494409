//! The feed's client and a real room when the way between them breaks, or one of them does not keep up: nothing
//! is lost, nothing is told twice, and it is said in time.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

#[path = "common/follower.rs"]
mod follower;
#[path = "common/relay.rs"]
mod relay;

mod common;

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use common::child::prickle as program;
use common::room::{Room, Shape};
use common::{PATIENCE, until};
use follower::{Follower, PROJECT, quick};
use prickle::client::feed::Options;
use prickle::picture::{Connection, Happening, News};
use prickle::wire::schema;
use prickle::words;
use relay::Relay;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

fn doing(text: impl std::fmt::Display) -> Value {
    json!({"project": PROJECT, "doing": text.to_string()})
}

/// An agent's key and a person's.
fn keys(room: &Room) -> (String, String) {
    (room.key("client", "acme/builder", &[PROJECT]), room.key("person", "acme", &[PROJECT]))
}

fn offline(follower: &Follower) -> bool {
    matches!(follower.picture.connection, Connection::Offline { .. })
}

#[tokio::test]
async fn case_b04_a_way_that_froze_is_noticed_in_time_and_the_picture_is_the_room_s_again() {
    let room = Room::open().await;
    let (agent, person) = keys(&room);
    let relay = Relay::open(room.address(), None).await;
    let options = quick();
    let noticed = options.ping + options.dead;
    let mut follower = Follower::start(&relay.url(), &person, options);
    room.pulse(&agent, doing("before")).await;
    follower.until_seq(1).await;
    relay.freeze();
    let began = Instant::now();
    for n in 1..=5 {
        room.pulse(&agent, doing(n)).await;
    }
    // What was already on its way may still have come.
    let froze = chrono::Utc::now();
    follower.until(offline).await;
    // As long again for a machine with much else to do.
    assert!(began.elapsed() < 2 * noticed, "{:?}", began.elapsed());
    // The picture is of when the room was last heard, which was before the way froze.
    assert!(follower.picture.heard_until().unwrap() <= froze, "{:?} {froze}", follower.picture.heard_until());
    assert_eq!(follower.told(), ["before"], "nothing of it came through");
    relay.thaw();
    follower.until_seq(6).await;
    assert!(follower.agrees_with(&room, &person).await);
    assert_eq!(follower.told(), ["before", "1", "2", "3", "4", "5"]);
}

#[tokio::test]
async fn case_b04_a_watch_that_slept_comes_back_to_the_room_as_it_is() {
    let mut shape = Shape::default();
    shape.server.ping = Duration::from_millis(100);
    shape.server.silence = Duration::from_millis(800);
    let patience = shape.server.silence;
    let room = Room::with(shape).await;
    let (agent, person) = keys(&room);
    room.pulse(&agent, doing("before")).await;
    let folder = tempfile::tempdir().unwrap();
    let mut watch = program(folder.path())
        .args(["watch", PROJECT, "--plain"])
        .env("PRICKLE_SERVER", &room.url)
        .env("PRICKLE_TOKEN", &person)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (said, mut lines) = tokio::sync::mpsc::unbounded_channel();
    let out = BufReader::new(watch.stdout.take().unwrap());
    std::thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| said.send(line)));
    let mut heard = Vec::new();
    let mut wait_for = async |text: &str| {
        while heard.last().is_none_or(|line: &String| !line.contains(text)) {
            let line = tokio::time::timeout(PATIENCE, lines.recv()).await;
            heard.push(line.unwrap_or_else(|_| panic!("no line with {text:?} in {heard:#?}")).unwrap());
        }
        heard.clone()
    };
    wait_for("Watching website-v2").await;
    room.pulse(&agent, doing("awake")).await;
    wait_for("awake").await;
    let id = Pid::from_child(&watch);
    kill_process(id, Signal::STOP).unwrap();
    // Until the room has let go of it.
    room.pulse(&agent, doing("asleep")).await;
    tokio::time::sleep(2 * patience).await;
    room.pulse(&agent, doing("long asleep")).await;
    kill_process(id, Signal::CONT).unwrap();
    let heard = wait_for("long asleep").await;
    let count = |text: &str| heard.iter().filter(|line| line.contains(text)).count();
    assert_eq!((count("Offline:"), count("Live again")), (1, 1), "{heard:#?}");
    assert_eq!((count(": asleep"), count("long asleep")), (1, 1), "{heard:#?}");
    watch.kill().unwrap();
    watch.wait().unwrap();
}

#[tokio::test]
async fn case_b12_a_connection_cut_over_and_over_tells_each_event_once() {
    let room = Room::open().await;
    let (agent, person) = keys(&room);
    let relay = Relay::open(room.address(), None).await;
    let mut follower = Follower::start(&relay.url(), &person, quick());
    follower.until_seq(0).await;
    for n in 1..=20_u64 {
        room.pulse(&agent, doing(n)).await;
        if n % 4 == 0 {
            follower.until_seq(n - 1).await;
            relay.cut();
            follower.until(offline).await;
        }
    }
    follower.until_seq(20).await;
    assert_eq!(follower.told(), (1..=20).map(|n| n.to_string()).collect::<Vec<_>>());
    assert_eq!((follower.picture.agents().count(), follower.snapshots), (1, 1));
    assert!(follower.agrees_with(&room, &person).await);
}

#[tokio::test]
async fn case_b14_who_was_away_too_long_gets_the_room_as_it_is() {
    let mut shape = Shape::default();
    shape.store.events_kept = 50;
    let room = Room::with(shape).await;
    let (agent, person) = keys(&room);
    let relay = Relay::open(room.address(), None).await;
    let hour = Duration::from_hours(1);
    let options = Options { backoff_first: hour, backoff_max: hour, ..quick() };
    let mut follower = Follower::start(&relay.url(), &person, options);
    room.pulse(&agent, doing(0)).await;
    follower.until_seq(1).await;
    for away in [50, 51, 500] {
        let before = follower.seq();
        relay.cut();
        follower.until(offline).await;
        let caller = room.store.authenticate(&agent).unwrap();
        for n in 1..=away {
            let report = schema::update_pulse(doing(n).as_object().unwrap()).unwrap();
            room.store.update_pulse(caller.clone(), report).await.unwrap();
        }
        let snapshots = follower.snapshots;
        follower.feed.retry_now();
        follower.until_seq(before + away).await;
        assert_eq!(follower.snapshots - snapshots, usize::from(away > 50), "{away}");
        // The history comes right behind the picture; then the events go on.
        room.pulse(&agent, doing("on")).await;
        follower.until_seq(before + away + 1).await;
        assert!(follower.agrees_with(&room, &person).await);
        let told = follower.told();
        let newest: Vec<_> =
            (1..=away).skip(usize::try_from(away).unwrap() - 50).map(|n| n.to_string()).collect();
        assert_eq!(told[told.len() - 51..told.len() - 1], newest, "what is still known of it, once");
    }
}

#[tokio::test]
async fn case_b18_a_quiet_connection_is_never_silent() {
    // A proxy whose patience is six times as long as pings are apart, as 60 s are to 10 s.
    let proxy = Duration::from_millis(1200);
    let never = Duration::from_hours(1);
    // Either side's pings alone must do.
    for (ours, theirs) in [(never, proxy / 6), (proxy / 6, never)] {
        let mut shape = Shape::default();
        shape.server.ping = theirs;
        let room = Room::with(shape).await;
        let (agent, person) = keys(&room);
        let relay = Relay::open(room.address(), Some(proxy)).await;
        let options = Options { ping: ours, dead: PATIENCE, ..quick() };
        let mut follower = Follower::start(&relay.url(), &person, options);
        follower.until_seq(0).await;
        tokio::time::sleep(2 * proxy).await; // the quiet time itself
        room.pulse(&agent, doing("still here")).await;
        follower.until_seq(1).await;
        assert_eq!((follower.tries(), relay.begun()), (1, 1), "we each {ours:?}, the room each {theirs:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn case_b21_who_reads_too_slowly_gets_new_pictures_on_the_same_connection() {
    const BURST: u64 = 3000;
    let mut shape = Shape::default();
    shape.store.frames_held = 100;
    shape.server.send_buffer = 4096;
    let room = Room::with(shape).await;
    let (agent, person) = keys(&room);
    let mut follower = Follower::start(&room.url, &person, Options { queue: 1, dead: PATIENCE, ..quick() });
    follower.until_seq(0).await;
    let caller = room.store.authenticate(&agent).unwrap();
    let calls = (1..=BURST).map(|n| {
        let report = json!({"project": PROJECT, "doing": n.to_string(), "files": vec!["f".repeat(300); 5]});
        let report = schema::update_pulse(report.as_object().unwrap()).unwrap();
        let (store, caller) = (room.store.clone(), caller.clone());
        async move { store.update_pulse(caller, report).await.unwrap() }
    });
    // The reader takes one every millisecond while thousands come within one second, or few.
    let (burst, ()) = tokio::join!(futures_util::future::join_all(calls), async {
        while follower.seq() < BURST {
            follower.next().await;
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    assert_eq!((burst.len() as u64, follower.seq()), (BURST, BURST));
    assert!(follower.snapshots > 1, "it did fall behind");
    assert_eq!(follower.tries(), 1, "on one connection");
    assert!(follower.agrees_with(&room, &person).await);
    // What it was told, it was told once, in order; a picture's history comes right behind it.
    follower.until(|follower| follower.told().last().is_some_and(|doing| *doing == BURST.to_string())).await;
    let told: Vec<u64> = follower.told().iter().map(|doing| doing.parse().unwrap()).collect();
    assert!(told.is_sorted_by(|one, next| one < next), "{told:?}");
}

#[tokio::test]
async fn case_b10_a_clock_that_is_wrong_makes_no_age_negative_and_is_told_once() {
    let shape = Shape::default();
    let clock = shape.store.clock.clone();
    let room = Room::with(shape).await;
    let (agent, person) = keys(&room);
    let relay = Relay::open(room.address(), None).await;
    let hours = TimeDelta::hours(10);
    let a_century = TimeDelta::days(365 * 73);
    for ahead in [TimeDelta::seconds(90), TimeDelta::seconds(-90), hours, -hours, a_century] {
        clock.set_offset(ahead);
        room.pulse(&agent, doing("now")).await;
        let seq = room.store.snapshot(&PROJECT.parse().unwrap()).seq;
        let mut follower = Follower::start(&relay.url(), &person, quick());
        follower.until_seq(seq).await;
        // It is cut off twice, and the clock stays as wrong as it is.
        for _ in 0..2 {
            let now = follower.picture.room_time(chrono::Utc::now());
            let (_, builder) = follower.picture.agents().next().unwrap();
            // The same for a report from a moment that is still to come, as seen from here.
            for now in [now, now - TimeDelta::minutes(2), now - TimeDelta::days(1)] {
                let claim = follower.picture.claim(builder, now);
                assert_eq!(words::claim_and_age(&claim), "working · now", "{ahead}");
            }
            relay.cut();
            follower.until(offline).await;
            follower.until_seq(seq).await;
        }
        let told = follower.picture.log().filter(|h| matches!(h, Happening::Clock { .. })).count();
        assert_eq!(told, usize::from(ahead.abs() > TimeDelta::minutes(5)), "{ahead}");
    }
}

#[tokio::test]
async fn case_b24_a_dead_agent_s_last_words_get_old_and_stay_its_own() {
    let shape = Shape::default();
    let clock = shape.store.clock.clone();
    let mut room = Room::with(shape).await;
    let (agent, person) = keys(&room);
    room.pulse(&agent, json!({"project": PROJECT, "doing": "retrying…", "availability": "working"})).await;
    let later = [
        (TimeDelta::minutes(1), "working · 1m"),
        (TimeDelta::minutes(14), "working · 14m"),
        (TimeDelta::minutes(15), "said working · 15m ?"),
        (TimeDelta::minutes(60), "said working · 1h ?"),
        (TimeDelta::hours(26), "said working · 1d ?"),
    ];
    for (age, words) in later {
        clock.set_offset(age);
        room = room.restart().await;
        let mut follower = Follower::start(&room.url, &person, quick());
        follower.until_seq(1).await;
        let now = follower.picture.room_time(chrono::Utc::now());
        let (_, builder) = follower.picture.agents().next().expect("it is never taken out by itself");
        assert_eq!(words::claim_and_age(&follower.picture.claim(builder, now)), words);
        assert_eq!(
            (builder.pulse.availability.as_str(), builder.pulse.doing.as_str()),
            ("working", "retrying…")
        );
        assert!(follower.agrees_with(&room, &person).await, "what was reported is not changed");
    }
}

#[tokio::test]
async fn a_picture_without_an_end_is_refused_in_words() {
    let room = Room::open().await;
    let (agent, person) = keys(&room);
    room.pulse(&agent, json!({"project": PROJECT, "doing": "x", "files": vec!["f".repeat(300); 50]})).await;
    let mut follower = Follower::start(&room.url, &person, Options { picture_max: 1 << 20, ..quick() });
    follower.until_seq(1).await;
    // Many agents, in many parts; each alone is fine.
    for n in 0..80 {
        let key = room.key("client", &format!("acme/a{n}"), &[PROJECT]);
        room.pulse(&key, json!({"project": PROJECT, "doing": "x", "files": vec!["f".repeat(300); 50]})).await;
    }
    let mut other = Follower::start(&room.url, &person, Options { picture_max: 1 << 20, ..quick() });
    let refused = loop {
        if let News::Refused { why } = other.next().await {
            break why;
        }
    };
    assert_eq!(
        refused,
        "the room's picture has more than 1 MiB, which is more than is taken in; ask who runs the room"
    );
    assert_eq!(other.tries(), 1, "it would come again as it is");
    // Event by event there is no such bound.
    until("the first follows on", async || {
        follower.next().await;
        follower.seq() == 81
    })
    .await;
}
