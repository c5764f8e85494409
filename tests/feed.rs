//! The feed over real sockets: what a watcher is told first, what it never misses, and how a feed ends.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod common;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use common::caller::run_report;
use common::room::{Room, Shape};
use common::until;
use common::watcher::{Heard, Watcher};
use prickle::rules::{Kind, Scope};
use prickle::server::store::keys::{Holder, KeyStore, NewKey};
use prickle::wire::schema;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

const PROJECT: &str = "website-v2";

fn doing(text: impl std::fmt::Display) -> Value {
    json!({"project": PROJECT, "doing": text.to_string()})
}

/// A report of about 15 KB.
fn heavy(n: usize) -> Value {
    json!({"project": PROJECT, "doing": n.to_string(), "files": vec!["f".repeat(300); 50]})
}

fn seqs(events: &[Value]) -> Vec<u64> {
    events.iter().map(|event| event["seq"].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn a_fresh_watcher_gets_hello_the_room_and_its_history() {
    let room = Room::open().await;
    let (a, b) = (room.key("client", "acme/a", &[PROJECT]), room.key("client", "acme/b", &[PROJECT]));
    let person = room.key("person", "acme", &[PROJECT]);
    let empty = Watcher::open(&room, &person, PROJECT, None).await.unwrap().picture().await;
    assert_eq!((empty.seq, empty.pulses.len(), empty.parts, empty.recent.len()), (0, 0, 1, 0));

    room.pulse(&a, doing(1)).await;
    room.pulse(&b, doing(2)).await;
    let last = room.pulse(&a, doing(3)).await;
    let mut watcher = Watcher::open(&room, &person, PROJECT, None).await.unwrap();
    let picture = watcher.picture().await;
    assert_eq!(picture.seq, 3);
    assert_eq!(picture.pulses.iter().map(|p| p["doing"].as_str().unwrap()).collect::<Vec<_>>(), ["3", "2"]);
    assert_eq!(picture.pulses[0], last, "a snapshot and an answer are the same pulse");
    assert_eq!(seqs(&picture.recent), [1, 2, 3]);
    assert_eq!(picture.recent[2]["pulse"], last);

    let next = room.pulse(&b, doing(4)).await;
    let event = watcher.event(4).await;
    assert_eq!((&event["pulse"], &event["at"]), (&next, &next["updated_at"]));
}

#[tokio::test]
async fn a_watcher_that_comes_back_gets_exactly_what_it_missed() {
    let room = Room::open().await;
    let (key, person) = (room.key("client", "acme/a", &[PROJECT]), room.key("person", "acme", &[PROJECT]));
    let mut watcher = Watcher::open(&room, &person, PROJECT, None).await.unwrap();
    let epoch = watcher.picture().await.epoch;
    for n in 1..=5 {
        room.pulse(&key, doing(n)).await;
        watcher.event(n).await;
    }
    drop(watcher);
    for n in 6..=9 {
        room.pulse(&key, doing(n)).await;
    }
    for (after, missed) in [(5, 6..10), (0, 1..10), (8, 9..10), (9, 10..10)] {
        let place = format!("{epoch}.{after}");
        let mut watcher = Watcher::open(&room, &person, PROJECT, Some(&place)).await.unwrap();
        assert_eq!(watcher.resumed().await, (epoch.clone(), 9));
        for n in missed {
            assert_eq!(watcher.event(n).await["pulse"]["doing"], n.to_string());
        }
        assert!(watcher.silent_for(Duration::from_millis(30)).await, "nothing is told twice");
    }

    // A restart changes nothing of it.
    let room = room.restart().await;
    let mut watcher = Watcher::open(&room, &person, PROJECT, Some(&format!("{epoch}.7"))).await.unwrap();
    assert_eq!(watcher.resumed().await, (epoch.clone(), 9));
    watcher.event(8).await;
    watcher.event(9).await;
    room.pulse(&key, doing(10)).await;
    watcher.event(10).await;
}

#[tokio::test]
async fn a_place_that_the_room_can_t_continue_from_gets_the_picture() {
    let mut shape = Shape::default();
    shape.store.events_kept = 10;
    let room = Room::with(shape).await;
    let (key, person) = (room.key("client", "acme/a", &[PROJECT]), room.key("person", "acme", &[PROJECT]));
    let epoch = Watcher::open(&room, &person, PROJECT, None).await.unwrap().picture().await.epoch;
    for n in 1..=40 {
        room.pulse(&key, doing(n)).await;
    }
    let places = [
        format!("{epoch}.3"),
        format!("{epoch}.41"),
        "0123456789abcdef.39".into(),
        "nonsense".into(),
        String::new(),
    ];
    for place in places {
        let mut watcher = Watcher::open(&room, &person, PROJECT, Some(&place)).await.unwrap();
        let picture = watcher.picture().await;
        assert_eq!((picture.seq, picture.pulses[0]["doing"].as_str()), (40, Some("40")), "{place}");
        assert!(!picture.recent.is_empty() && picture.recent.len() < 40);
        assert_eq!(seqs(&picture.recent).last(), Some(&40));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_room_of_thousands_comes_in_parts_while_it_lives() {
    const AGENTS: usize = 3000;
    let room = Room::open().await;
    let person = room.key("person", "acme", &[PROJECT]);
    let mut made = KeyStore::open(&room.db).unwrap();
    let keys: Vec<String> = (0..AGENTS)
        .map(|n| {
            let holder = Holder::Agent(format!("acme/agent-{n}").parse().unwrap());
            let key = NewKey { kind: Kind::Client, holder, scope: Scope::All, task: None, label: None };
            made.create(&key, chrono::Utc::now()).unwrap().as_str().to_owned()
        })
        .collect();
    // Their first reports go straight into the store: what they took over HTTP is not the question here.
    let calls = keys.iter().map(|key| {
        let report = json!({"project": PROJECT, "doing": "x".repeat(200),
            "files": vec!["src/a/path/of/usual/length.rs"; 8]});
        let report = schema::update_pulse(report.as_object().unwrap()).unwrap();
        let (store, caller) = (room.store.clone(), room.store.authenticate(key).unwrap());
        async move { store.update_pulse(caller, report).await.unwrap() }
    });
    futures_util::future::join_all(calls).await;
    let writing = tokio::spawn({
        let (caller, key) = (room.caller(), keys[0].clone());
        async move {
            for n in 0..50 {
                caller.pulse(&key, doing(n)).await;
            }
        }
    });
    let mut watcher = Watcher::open(&room, &person, PROJECT, None).await.unwrap();
    let picture = watcher.picture().await; // which checks every frame's size
    let names: BTreeSet<&str> = picture.pulses.iter().map(|p| p["agent_id"].as_str().unwrap()).collect();
    assert_eq!((picture.pulses.len(), names.len()), (AGENTS, AGENTS));
    assert!(picture.parts > 5, "{} parts", picture.parts);
    assert!(picture.recent.len() > 100);
    let last = AGENTS as u64 + 50;
    for seq in picture.seq + 1..=last {
        watcher.event(seq).await;
    }
    writing.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn case_b14_nothing_is_missed_by_those_who_come_while_others_report() {
    const WATCHERS: usize = 50;
    let room = Room::open().await;
    let person = room.key("person", "acme", &[PROJECT]);
    let writers: Vec<_> = (0..4)
        .map(|n| {
            let (caller, key) = (room.caller(), room.key("client", &format!("acme/a{n}"), &[PROJECT]));
            tokio::spawn(async move {
                let mut sent = 0;
                loop {
                    sent += 1;
                    caller.pulse(&key, doing(sent)).await;
                }
            })
        })
        .collect();
    let watching = (0..WATCHERS).map(|n| {
        let (caller, person) = (room.caller(), person.clone());
        tokio::spawn(async move {
            let mut watcher = Watcher::open(&caller, &person, PROJECT, None).await.unwrap();
            let picture = watcher.picture().await;
            // The history ends where the picture stands, and the events go on from there.
            assert_eq!(seqs(&picture.recent).last().copied().unwrap_or(0), picture.seq);
            let mut seq = picture.seq;
            for _ in 0..10 + n {
                seq += 1;
                watcher.event(seq).await;
            }
            drop(watcher);
            let place = format!("{}.{seq}", picture.epoch);
            let mut watcher = Watcher::open(&caller, &person, PROJECT, Some(&place)).await.unwrap();
            watcher.resumed().await;
            for _ in 0..20 {
                seq += 1;
                watcher.event(seq).await;
            }
        })
    });
    for watched in futures_util::future::join_all(watching.collect::<Vec<_>>()).await {
        watched.unwrap();
    }
    for writer in writers {
        writer.abort();
    }
}

#[tokio::test]
async fn a_watcher_that_is_too_slow_gets_the_picture_on_the_same_connection() {
    let mut shape = Shape::default();
    shape.store.frames_held = 8;
    shape.server.send_buffer = 4096;
    let room = Room::with(shape).await;
    let (key, person) = (room.key("client", "acme/a", &[PROJECT]), room.key("person", "acme", &[PROJECT]));
    let mut slow = Watcher::open_slow(&room, &person, PROJECT, None, Some(4096)).await.unwrap();
    let mut quick = Watcher::open(&room, &person, PROJECT, None).await.unwrap();
    let epoch = slow.picture().await.epoch;
    quick.picture().await;
    // It falls behind while the room waits for it, and also while the room is in the middle of what has queued up.
    let mut seen = Seen { seq: 0, pictures: 0 };
    let mut sent = 0;
    for round in 0..20 {
        let most = if round % 2 == 0 { [(7, 1 + round % 4), (9, 0)] } else { [(20, 0), (0, 0)] };
        for (reports, reads) in most {
            for _ in 0..reports {
                sent += 1;
                room.pulse(&key, heavy(sent)).await;
                quick.event(sent as u64).await; // another's slowness is not its own
            }
            for _ in 0..reads {
                seen.next(&mut slow, &epoch).await;
            }
        }
        while seen.seq < sent as u64 {
            seen.next(&mut slow, &epoch).await;
        }
    }
    assert!(seen.pictures > 0);
    room.pulse(&key, doing("on")).await;
    slow.event(sent as u64 + 1).await;
}

/// How far a watcher has come that may fall behind.
struct Seen {
    seq: u64,
    pictures: usize,
}

impl Seen {
    /// The next event, without a gap, or else the room as it is.
    async fn next(&mut self, watcher: &mut Watcher, epoch: &str) {
        let frame = watcher.frame().await;
        if frame["type"] == "snapshot" {
            let picture = watcher.rest(epoch.to_owned(), frame).await;
            assert!(picture.seq > self.seq, "{} after {}", picture.seq, self.seq);
            assert_eq!(picture.pulses[0]["doing"], picture.seq.to_string());
            assert_eq!(seqs(&picture.recent).last(), Some(&picture.seq));
            self.seq = picture.seq;
            self.pictures += 1;
        } else {
            self.seq += 1;
            assert_eq!((frame["type"].as_str(), frame["seq"].as_u64()), (Some("pulse"), Some(self.seq)));
        }
    }
}

#[tokio::test]
async fn what_was_missed_comes_page_by_page_while_the_room_goes_on() {
    let mut shape = Shape::default();
    shape.store.held_bytes = 100 * 1024; // most of it is read from the disk
    shape.store.frames_held = 8;
    let room = Room::with(shape).await;
    let (key, person) = (room.key("client", "acme/a", &[PROJECT]), room.key("person", "acme", &[PROJECT]));
    let epoch = Watcher::open(&room, &person, PROJECT, None).await.unwrap().picture().await.epoch;
    for n in 1..=60 {
        room.pulse(&key, heavy(n)).await;
    }
    let mut watcher = Watcher::open(&room, &person, PROJECT, Some(&format!("{epoch}.0"))).await.unwrap();
    assert_eq!(watcher.resumed().await, (epoch, 60));
    for n in 1..=90 {
        assert_eq!(watcher.event(n).await["pulse"]["doing"], n.to_string());
        if n % 2 == 0 && n <= 60 {
            room.pulse(&key, heavy(usize::try_from(60 + n / 2).unwrap())).await;
        }
    }
}

#[tokio::test]
async fn a_watcher_that_the_pruning_overtakes_gets_the_picture_on_the_same_connection() {
    let mut shape = Shape::default();
    shape.store.held_bytes = 100 * 1024;
    shape.store.events_kept = 40;
    shape.server.send_buffer = 4096;
    let room = Room::with(shape).await;
    let (key, person) = (room.key("client", "acme/a", &[PROJECT]), room.key("person", "acme", &[PROJECT]));
    let epoch = Watcher::open(&room, &person, PROJECT, None).await.unwrap().picture().await.epoch;
    for n in 1..=40 {
        room.pulse(&key, heavy(n)).await;
    }
    let place = format!("{epoch}.0");
    let mut slow = Watcher::open_slow(&room, &person, PROJECT, Some(&place), Some(4096)).await.unwrap();
    assert_eq!(slow.resumed().await, (epoch.clone(), 40));
    for n in 41..=100 {
        room.pulse(&key, heavy(n)).await;
    }
    let mut seen = Seen { seq: 0, pictures: 0 };
    while seen.seq < 100 {
        seen.next(&mut slow, &epoch).await;
    }
    assert!(seen.pictures > 0);
    room.pulse(&key, heavy(101)).await;
    seen.next(&mut slow, &epoch).await;
    assert_eq!(seen.seq, 101);
}

#[tokio::test]
async fn a_room_with_all_the_watchers_it_can_tell_asks_the_next_to_come_later() {
    let mut shape = Shape::default();
    shape.server.watchers = 2;
    let room = Room::with(shape).await;
    let person = room.key("person", "acme", &[PROJECT]);
    let mut first = Watcher::open(&room, &person, PROJECT, None).await.unwrap();
    let mut second = Watcher::open(&room, &person, PROJECT, None).await.unwrap();
    first.picture().await;
    second.picture().await;
    let mut third = Watcher::open(&room, &person, PROJECT, None).await.unwrap();
    assert_eq!(third.closed().await, 1013);
    drop(second);
    until("there is a place again", async || {
        let mut next = Watcher::open(&room, &person, PROJECT, None).await.unwrap();
        matches!(next.hear().await, Heard::Frame(hello) if hello["type"] == "hello")
    })
    .await;
    assert!(first.silent_for(Duration::from_millis(30)).await);
}

#[tokio::test]
async fn a_watcher_s_ping_is_answered_between_two_frames() {
    use futures_util::{SinkExt, StreamExt};
    use tokio_tungstenite::tungstenite::Message;
    let mut shape = Shape::default();
    shape.server.send_buffer = 4096;
    let room = Room::with(shape).await;
    let (key, person) = (room.key("client", "acme/a", &[PROJECT]), room.key("person", "acme", &[PROJECT]));
    let mut watcher = Watcher::open_slow(&room, &person, PROJECT, None, Some(4096)).await.unwrap();
    watcher.picture().await;
    let (mut out, mut inn) = watcher.socket.split();
    // The room is in the middle of a frame that does not fit into the buffers, when it is asked.
    for n in 1..=20 {
        room.pulse(&key, heavy(n)).await;
        out.send(Message::Ping(n.to_string().into())).await.unwrap();
    }
    let (mut seq, mut pongs) = (0, Vec::new());
    let by = tokio::time::Instant::now() + common::PATIENCE;
    while seq < 20 || pongs.last() != Some(&"20".to_owned()) {
        let message = tokio::time::timeout_at(by, inn.next()).await.expect("every answer in time");
        match message.unwrap().unwrap() {
            Message::Text(text) => {
                seq += 1;
                let frame: Value = serde_json::from_str(&text).unwrap();
                assert_eq!((frame["type"].as_str(), frame["seq"].as_u64()), (Some("pulse"), Some(seq)));
            }
            Message::Pong(bytes) => pongs.push(String::from_utf8(bytes.to_vec()).unwrap()),
            Message::Ping(_) => {}
            other => panic!("{other:?}"),
        }
    }
    let order: Vec<u32> = pongs.iter().map(|pong| pong.parse().unwrap()).collect();
    assert!(
        order.is_sorted_by(|one, next| one < next),
        "each at most once, the newest for certain: {order:?}"
    );
}

#[tokio::test]
async fn a_watcher_that_stops_reading_is_let_go() {
    let mut shape = Shape::default();
    shape.server.stall = Duration::from_millis(300);
    shape.server.silence = Duration::from_mins(1); // the write's own deadline is meant
    shape.server.send_buffer = 4096;
    shape.store.frames_held = 8;
    let room = Room::with(shape).await;
    let (key, person) = (room.key("client", "acme/a", &[PROJECT]), room.key("person", "acme", &[PROJECT]));
    let mut stuck = Watcher::open_slow(&room, &person, PROJECT, None, Some(4096)).await.unwrap();
    let mut quick = Watcher::open(&room, &person, PROJECT, None).await.unwrap();
    stuck.picture().await;
    quick.picture().await;
    let began = Instant::now();
    let mut n = 0;
    while began.elapsed() < Duration::from_millis(1200) {
        n += 1;
        room.pulse(&key, heavy(n)).await;
        quick.event(n as u64).await;
    }
    // The kernel keeps nothing of what was not taken: it would for minutes, and the socket with it.
    until("nothing is left of it", async || !waits_to_finish(room.address().port())).await;
    // What had got as far as the wire comes, then the end: no later picture, no close frame.
    let last = loop {
        match stuck.hear().await {
            Heard::Frame(frame) => assert_eq!(frame["type"], "pulse"),
            end => break end,
        }
    };
    assert!(matches!(last, Heard::Cut), "{last:?}");
}

/// Whether a connection to this port of ours is closed on our side and has bytes that the other does not take.
fn waits_to_finish(port: u16) -> bool {
    const FIN_WAIT_1: &str = "04";
    let sockets = std::fs::read_to_string("/proc/net/tcp").unwrap();
    sockets.lines().skip(1).any(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        fields[1].ends_with(&format!(":{port:04X}")) && fields[3] == FIN_WAIT_1
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watcher_without_a_sign_of_life_is_let_go() {
    let mut shape = Shape::default();
    shape.server.ping = Duration::from_millis(50);
    shape.server.silence = Duration::from_millis(1500);
    let room = Room::with(shape).await;
    let person = room.key("person", "acme", &[PROJECT]);
    let mut dead = Watcher::open(&room, &person, PROJECT, None).await.unwrap();
    let mut alive = Watcher::open(&room, &person, PROJECT, None).await.unwrap();
    dead.picture().await;
    alive.picture().await;
    let patience = room.shape.server.silence;
    let (end, ()) = tokio::join!(
        async {
            // Bytes are taken from its socket, but no ping is answered.
            let socket: &mut TcpStream = dead.socket.get_mut();
            let mut bytes = Vec::new();
            tokio::time::timeout(common::PATIENCE, socket.read_to_end(&mut bytes)).await
        },
        async {
            // The other answers them, and outlives the room's patience.
            let began = Instant::now();
            while began.elapsed() < 2 * patience {
                alive.pinged().await;
            }
        },
    );
    assert!(end.is_ok(), "the room ends the connection");
}

/// A machine that sleeps, a process that is stopped: nobody could say a word meanwhile.
#[tokio::test]
async fn a_room_that_stood_still_itself_lets_nobody_go_for_it() {
    let mut shape = Shape::default();
    shape.server.ping = Duration::from_millis(100);
    shape.server.silence = Duration::from_millis(800);
    let room = Room::with(shape).await;
    let (key, person) = (room.key("client", "acme/a", &[PROJECT]), room.key("person", "acme", &[PROJECT]));
    let mut watcher = Watcher::open(&room, &person, PROJECT, None).await.unwrap();
    watcher.picture().await;
    watcher.pinged().await;
    watcher.pinged().await; // the first answer has gone out, and the second has not
    std::thread::sleep(2 * room.shape.server.silence); // the room runs on this very thread
    room.pulse(&key, doing(1)).await;
    watcher.event(1).await;
    // From here on it has its time as ever.
    let socket: &mut TcpStream = watcher.socket.get_mut();
    let mut bytes = Vec::new();
    let end = tokio::time::timeout(common::PATIENCE, socket.read_to_end(&mut bytes)).await;
    assert!(end.is_ok(), "who says nothing for so long after that is let go");
}

#[tokio::test]
async fn a_revoked_key_s_feed_is_closed_and_no_other() {
    // The room's own times: five seconds is the promise.
    let room =
        Room::with(Shape { store: prickle::server::store::Options::default(), ..Shape::default() }).await;
    let kept = room.key("person", "acme", &[PROJECT]);
    let lost = room.key("person", "acme", &[PROJECT]);
    let mut stays = Watcher::open(&room, &kept, PROJECT, None).await.unwrap();
    let mut goes = Watcher::open(&room, &lost, PROJECT, None).await.unwrap();
    stays.picture().await;
    goes.picture().await;
    let began = Instant::now();
    room.revoke_newest();
    assert_eq!(goes.closed().await, 4401);
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(Watcher::open(&room, &lost, PROJECT, None).await.err(), Some(401));
    assert!(stays.silent_for(Duration::from_millis(300)).await);
}

#[tokio::test]
async fn a_stopping_room_says_so_and_is_gone_in_time() {
    let mut shape = Shape::default();
    shape.server.send_buffer = 4096;
    let mut room = Room::with(shape).await;
    let (key, person) = (room.key("client", "acme/a", &[PROJECT]), room.key("person", "acme", &[PROJECT]));
    let mut watchers = Vec::new();
    for _ in 0..20 {
        let mut watcher = Watcher::open(&room, &person, PROJECT, None).await.unwrap();
        watcher.picture().await;
        watchers.push(watcher);
    }
    // One that reads nothing any more must not hold the others up, nor an idle connection.
    let mut stuck = Watcher::open_slow(&room, &person, PROJECT, None, Some(4096)).await.unwrap();
    stuck.picture().await;
    for n in 1..=40 {
        room.pulse(&key, heavy(n)).await;
    }
    let idle = TcpStream::connect(room.address()).await.unwrap();
    let began = Instant::now();
    room.begin_to_stop();
    let told = futures_util::future::join_all(watchers.iter_mut().map(Watcher::closed)).await;
    assert_eq!(told, vec![1012; 20]);
    room.stopped().await;
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert!(TcpStream::connect(room.address()).await.is_err(), "nobody listens any more");
    drop((stuck, idle));
}

#[tokio::test]
async fn records_of_runs_are_told_to_their_owner_alone() {
    let room = Room::open().await;
    let builder = room.key("client", "acme/builder", &[PROJECT]);
    let mut owner =
        Watcher::open(&room, &room.key("person", "acme", &[PROJECT]), PROJECT, None).await.unwrap();
    let mut others = Vec::new();
    for (kind, who) in [("person", "other"), ("client", "acme/builder"), ("runner-device", "acme/builder")] {
        others.push(Watcher::open(&room, &room.key(kind, who, &[PROJECT]), PROJECT, None).await.unwrap());
    }
    owner.picture().await;
    for other in &mut others {
        other.picture().await;
    }
    let record = room.run(&builder, run_report("4f7c2a9e-3b1d-4c8e-9a6f-0d2e5b7c1a3f")).await;
    let frame = owner.frame().await;
    assert_eq!(frame, json!({"type": "run", "agent_id": "acme/builder", "run": record}));
    // Two events, one after the other: a record would have come before the second.
    for n in 1..=2 {
        room.pulse(&builder, doing(n)).await;
        for other in &mut others {
            other.event(n).await;
        }
    }
    // The same report again is no news.
    room.run(&builder, run_report("4f7c2a9e-3b1d-4c8e-9a6f-0d2e5b7c1a3f")).await;
    owner.event(1).await;
    owner.event(2).await;
    assert!(owner.silent_for(Duration::from_millis(50)).await);
}

#[tokio::test]
async fn a_pulse_is_on_the_wire_within_milliseconds() {
    let room = Room::open().await;
    let (key, person) = (room.key("client", "acme/a", &[PROJECT]), room.key("person", "acme", &[PROJECT]));
    let mut watcher = Watcher::open(&room, &person, PROJECT, None).await.unwrap();
    watcher.picture().await;
    let mut best = Duration::MAX;
    for n in 1..=20 {
        let began = Instant::now();
        let (_, _) = tokio::join!(room.pulse(&key, doing(n)), watcher.event(n));
        best = best.min(began.elapsed());
    }
    assert!(best < Duration::from_millis(100), "{best:?}");
}

#[tokio::test]
async fn what_a_watcher_says_costs_the_room_nothing() {
    use futures_util::SinkExt;
    use tokio_tungstenite::tungstenite::Message;
    let room = Room::open().await;
    let (key, person) = (room.key("client", "acme/a", &[PROJECT]), room.key("person", "acme", &[PROJECT]));
    let mut talker = Watcher::open(&room, &person, PROJECT, None).await.unwrap();
    talker.picture().await;
    talker.socket.send(Message::text("hello?")).await.unwrap();
    talker.socket.send(Message::binary(vec![0; 100])).await.unwrap();
    room.pulse(&key, doing(1)).await;
    talker.event(1).await;
    // A message that no watcher has reason to send ends it.
    talker.socket.send(Message::binary(vec![0; 1 << 20])).await.ok();
    until("the feed ends", async || !matches!(talker.hear().await, Heard::Frame(_))).await;
    assert_eq!(room.get(&person, "/v1/me").await.0, 200);
}
