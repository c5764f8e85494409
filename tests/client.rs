//! The feed's client against a room whose every word is scripted: real sockets on the loopback.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "common/fake_room.rs"]
mod fake_room;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::extract::ws::Message;
use axum::response::IntoResponse;
use fake_room::{DEADLINE, FakeRoom, SECRET, Visit, answer, event, hello, pulse, snapshot};
use prickle::client::Access;
use prickle::client::feed::{Feed, Options, Source};
use prickle::client::words::Trouble;
use prickle::picture::News;
use prickle::wire::feed::Frame;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

fn source(url: &str) -> Source {
    let access = Access::new(url.parse().unwrap(), SECRET.parse().unwrap());
    Arc::new(move || Ok(access.clone()))
}

/// The product's times, a hundred times faster.
fn quick() -> Options {
    Options {
        backoff_first: Duration::from_millis(10),
        backoff_max: Duration::from_millis(100),
        lived: Duration::from_mins(1),
        ..Options::default()
    }
}

fn follow(url: &str, options: Options) -> Feed {
    Feed::spawn(source(url), "website-v2".parse().unwrap(), options)
}

async fn next(feed: &mut Feed) -> News {
    let heard =
        tokio::time::timeout(DEADLINE, feed.next()).await.expect("no news").expect("the feed has ended");
    let shown = format!("{:?}", heard.news);
    assert!(!shown.contains(SECRET) && !shown.contains("prk_"), "the key is shown: {shown}");
    heard.news
}

/// The next loss's or refusal's words.
async fn trouble(feed: &mut Feed) -> String {
    loop {
        match next(feed).await {
            News::Lost { why, .. } => return format!("lost: {why}"),
            News::Refused { why } => return format!("refused: {why}"),
            _ => {}
        }
    }
}

/// News in short.
async fn told(feed: &mut Feed, count: usize) -> Vec<String> {
    let mut told = Vec::new();
    while told.len() < count {
        told.push(match next(feed).await {
            News::Connecting => "connecting".into(),
            News::Live { epoch, seq, resumed, .. } => format!("live {epoch}.{seq} {resumed}"),
            News::Snapshot { seq, pulses } => format!("snapshot {seq} of {}", pulses.len()),
            News::Recent { events } => format!("recent {}", events.len()),
            News::Event { frame: Frame::Other(other) } => format!("{} {:?}", other.kind, other.seq),
            News::Event { frame } => format!("event {}", frame.seq().unwrap()),
            News::Run { agent_id, run } => format!("run {} of {agent_id}", run.run_id),
            News::Room { refusing } => format!("room {refusing:?}"),
            News::Lost { why, .. } => format!("lost: {why}"),
            News::Refused { why } => format!("refused: {why}"),
        });
    }
    told
}

/// A watcher that has been told all up to `seq`.
async fn settled(room: &mut FakeRoom, feed: &mut Feed, seq: u64) -> Visit {
    let mut visit = room.visit().await;
    visit.say(hello("e1", seq, false)).await;
    visit.say(snapshot(seq, &[], 0, true)).await;
    while !matches!(next(feed).await, News::Snapshot { .. }) {}
    visit
}

#[tokio::test]
async fn a_room_is_told_from_its_picture_on() {
    let mut room = FakeRoom::open().await;
    let mut feed = follow(&room.url(), quick());
    let mut visit = room.visit().await;
    assert_eq!(visit.seen.path, "/v1/projects/website-v2/feed");
    assert_eq!(visit.seen.authorization, format!("Bearer {SECRET}"));
    assert_eq!(visit.after(), None);
    visit.say(hello("e1", 7, false)).await;
    visit.say(snapshot(7, &[pulse("acme/builder", "a")], 0, false)).await;
    visit.say(snapshot(7, &[pulse("lumen/docs", "b"), pulse("lumen/fixer", "c")], 1, true)).await;
    visit
        .say(json!({"type": "recent", "events": [event(6), event(7), {"type": "pulse", "seq": "odd"}]}))
        .await;
    visit.say(event(8)).await;
    let run = json!({"run_id": "r1", "project": "website-v2", "task_id": "t", "input_tokens": null, "output_tokens": 0,
        "turns": null, "duration_ms": null, "exit_code": 0, "source": "client_reported",
        "reported_at": "2026-11-30T14:32:00Z"});
    visit.say(json!({"type": "run", "agent_id": "acme/builder", "run": run})).await;
    visit
        .say(json!({"type": "gone", "seq": 9, "at": "2026-11-30T14:33:00Z", "agent_id": "lumen/docs"}))
        .await;
    assert_eq!(
        told(&mut feed, 7).await,
        [
            "connecting",
            "live e1.7 false",
            "snapshot 7 of 3",
            "recent 2",
            "event 8",
            "run r1 of acme/builder",
            "event 9"
        ]
    );
}

#[tokio::test]
async fn after_a_loss_it_resumes_where_it_was_and_tells_each_event_once() {
    let mut room = FakeRoom::open().await;
    let mut feed = follow(&room.url(), quick());
    let mut visit = settled(&mut room, &mut feed, 3).await;
    visit.say(event(4)).await;
    assert_eq!(told(&mut feed, 1).await, ["event 4"]);
    drop(visit); // no word of farewell
    let mut visit = room.visit().await;
    assert_eq!(visit.after(), Some("e1.4"));
    visit.say(hello("e1", 6, true)).await;
    for seq in [4, 5, 6, 6, 5, 7] {
        visit.say(event(seq)).await;
    }
    assert_eq!(
        told(&mut feed, 6).await,
        ["lost: the connection broke off", "connecting", "live e1.6 true", "event 5", "event 6", "event 7"]
    );
}

#[tokio::test]
async fn a_gap_asks_at_once_for_a_picture_and_a_second_one_waits() {
    let mut room = FakeRoom::open().await;
    let mut feed = follow(&room.url(), quick());
    let mut visit = settled(&mut room, &mut feed, 3).await;
    visit.say(event(5)).await;
    let mut visit = room.visit().await;
    assert_eq!(visit.after(), None);
    visit.say(hello("e1", 5, false)).await;
    visit.say(snapshot(5, &[], 0, true)).await;
    visit.say(event(7)).await;
    assert_eq!(
        told(&mut feed, 4).await,
        ["connecting", "live e1.5 false", "snapshot 5 of 0", "lost: the room leaves out events"]
    );
    assert_eq!(room.visit().await.after(), None);
}

#[tokio::test]
async fn a_new_picture_on_the_same_connection_replaces_the_old_one() {
    let mut room = FakeRoom::open().await;
    let mut feed = follow(&room.url(), quick());
    let mut visit = settled(&mut room, &mut feed, 3).await;
    visit.say(snapshot(90, &[pulse("acme/builder", "a")], 0, true)).await;
    visit.say(event(90)).await;
    visit.say(event(91)).await;
    assert_eq!(told(&mut feed, 2).await, ["snapshot 90 of 1", "event 91"]);
}

#[tokio::test]
async fn a_room_with_another_database_is_told_anew() {
    let mut room = FakeRoom::open().await;
    let mut feed = follow(&room.url(), quick());
    drop(settled(&mut room, &mut feed, 3).await);
    let mut visit = room.visit().await;
    visit.say(hello("e2", 1, false)).await;
    visit.say(snapshot(1, &[], 0, true)).await;
    assert_eq!(told(&mut feed, 4).await[2..], ["live e2.1 false", "snapshot 1 of 0"]);
    drop(visit);
    assert_eq!(room.visit().await.after(), Some("e2.1"));
}

#[tokio::test]
async fn what_a_newer_room_says_is_kept_and_breaks_nothing() {
    let mut room = FakeRoom::open().await;
    let mut feed = follow(&room.url(), quick());
    let mut visit = settled(&mut room, &mut feed, 3).await;
    visit.say(json!({"type": "weather", "sky": "clear"})).await;
    visit.say(json!({"type": "weather", "seq": 4, "sky": "clear"})).await;
    let mut odd = event(5);
    odd["pulse"]["availability"] = json!("dreaming");
    odd["pulse"]["mood"] = json!({"deep": [1]});
    visit.say(odd).await;
    let mut broken = event(6);
    broken["pulse"]["files"] = json!("none");
    visit.say(broken).await;
    visit.say(event(7)).await;
    assert_eq!(told(&mut feed, 1).await, ["weather Some(4)"]);
    let News::Event { frame: Frame::Pulse { pulse, .. } } = next(&mut feed).await else { panic!("a pulse") };
    assert_eq!(pulse.availability.as_str(), "dreaming");
    assert_eq!(pulse.more["mood"], json!({"deep": [1]}));
    assert_eq!(told(&mut feed, 2).await, ["pulse Some(6)", "event 7"]);
    visit
        .say(snapshot(
            8,
            &[
                fake_room::pulse("acme/builder", "a"),
                json!({"agent_id": 5}),
                fake_room::pulse("lumen/docs", "b"),
            ],
            0,
            true,
        ))
        .await;
    assert_eq!(told(&mut feed, 1).await, ["snapshot 8 of 2"]);
}

#[tokio::test]
async fn garbage_is_a_loss_said_in_words() {
    let mut room = FakeRoom::open().await;
    let mut feed = follow(&room.url(), quick());
    let no_frame = "lost: the room sent something that is no frame of a pulse feed";
    let messages = [
        (Message::Text("<html>\u{1b}]0;title\u{7}".into()), no_frame),
        (Message::Text("[]".into()), no_frame),
        (Message::Text("{\"type\":\"hello\"}".into()), no_frame),
        (Message::Binary(vec![1, 2, 3].into()), no_frame),
        (Message::Text("x".repeat(2 << 20).into()), "lost: the room sent more than fits one message"),
        (
            Message::Text(event(1).to_string().into()),
            "lost: what answers there did not greet like a prickle room",
        ),
    ];
    for (message, words) in messages {
        let mut visit = room.visit().await;
        visit.message(message).await;
        assert_eq!(trouble(&mut feed).await, words);
    }
}

/// A server that answers every connection with these bytes and closes it.
async fn blurts(bytes: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("127.0.0.1:{}", listener.local_addr().unwrap().port());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut asked = [0; 4096];
            let _ = stream.read(&mut asked).await;
            let _ = stream.write_all(bytes).await;
        }
    });
    url
}

#[tokio::test]
async fn what_is_no_room_is_a_loss_said_in_words() {
    let no_room = "lost: what answers there is no prickle room";
    for (bytes, words) in [
        (&b"SSH-2.0-OpenSSH_9.9\r\n"[..], no_room),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi", no_room),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", no_room),
        (b"", "lost: the connection broke off"),
    ] {
        let mut feed = follow(&format!("http://{}", blurts(bytes).await), quick());
        assert_eq!(trouble(&mut feed).await, words, "{bytes:?}");
    }
    let mut feed = follow(&format!("https://{}", blurts(b"HTTP/1.1 400 No\r\n\r\n").await), quick());
    assert_eq!(trouble(&mut feed).await, "lost: what answers there does not speak TLS; try http://");
}

#[tokio::test]
async fn a_key_that_the_room_does_not_know_is_refused_with_the_next_step() {
    let room = FakeRoom::open().await;
    room.refuse(401, &format!("no key {SECRET} here"));
    let mut feed = follow(&room.url(), quick());
    let words = format!(
        "refused: the room at {0} does not know this key; make one with: \
         prickle key create --kind person --owner OWNER --project website-v2 --save --server http://{0}",
        room.address
    );
    assert_eq!(trouble(&mut feed).await, words);
}

#[tokio::test]
async fn a_proxy_that_lets_no_websocket_through_is_named_as_the_cause() {
    let room = FakeRoom::open().await;
    room.refuse(426, "A feed is a WebSocket: ask for an upgrade to one.");
    let words = trouble(&mut follow(&room.url(), quick())).await;
    assert!(
        words.starts_with("refused: what stands before the room at ") && words.contains("Upgrade"),
        "{words}"
    );
}

#[tokio::test]
async fn a_room_that_the_key_does_not_see_is_refused_with_those_it_sees() {
    let room = FakeRoom::open().await;
    let seen = Arc::new(Mutex::new(r#"{"projects":["website","lumen\u001b[2J"]}"#.to_owned()));
    let list = Arc::clone(&seen);
    room.answer(move |seen| match seen.path.as_str() {
        "/v1/projects" => Some(answer(200, &list.lock().unwrap())),
        _ => Some(answer(404, "")),
    });
    let host = room.address;
    let mut feed = follow(&room.url(), quick());
    assert_eq!(
        trouble(&mut feed).await,
        format!("refused: this key sees no website-v2 at {host}; it sees website, lumen·")
    );
    *seen.lock().unwrap() = r#"{"projects":[]}"#.into();
    feed.retry_now();
    let words = trouble(&mut feed).await;
    assert!(words.starts_with("refused: this key sees no website-v2 and no other room"), "{words}");
    *seen.lock().unwrap() = r#"{"projects":["website-v2"]}"#.into();
    feed.retry_now();
    assert_eq!(trouble(&mut feed).await, "lost: the room lists website-v2 and does not show it");
    assert!(room.seen().iter().all(|seen| seen.authorization == format!("Bearer {SECRET}")));
}

#[tokio::test]
async fn a_key_goes_to_no_other_address() {
    let other = FakeRoom::open().await;
    let room = FakeRoom::open().await;
    let target = other.url();
    room.answer(move |seen| {
        let target = format!("{target}{}", seen.path);
        Some((axum::http::StatusCode::TEMPORARY_REDIRECT, [("location", target)]).into_response())
    });
    let mut feed = follow(&room.url(), quick());
    let words = trouble(&mut feed).await;
    assert!(words.starts_with(&format!("refused: {} sends elsewhere", room.address)), "{words}");
    assert!(other.seen().is_empty(), "{:?}", other.seen());
}

#[tokio::test]
async fn what_may_pass_is_a_loss_in_plain_words() {
    let room = FakeRoom::open().await;
    let mut feed = follow(&room.url(), quick());
    for (status, body, words) in [
        (
            429,
            "Too many failed sign-ins; wait a minute.",
            "lost: the room asks to slow down: Too many failed sign-ins; wait a minute.",
        ),
        (503, "", "lost: the room has trouble (503)"),
        (
            500,
            r#"{"title":"Internal","status":500,"detail":"The disk is\nfull \u202e."}"#,
            "lost: the room has trouble (500): The disk is·full <U+202E>.",
        ),
        (502, "<html><h1>Bad Gateway</h1>", "lost: the room has trouble (502)"),
    ] {
        room.refuse(status, body);
        while trouble(&mut feed).await != words {} // one try may still have met the answer before
    }
    room.refuse(403, r#"{"detail":"Host is not allowed."}"#);
    loop {
        let words = trouble(&mut feed).await;
        if words.starts_with("refused") {
            assert_eq!(
                words,
                format!("refused: the room at {} refuses the request: Host is not allowed.", room.address)
            );
            break;
        }
    }
}

#[tokio::test]
async fn a_close_says_why() {
    let mut room = FakeRoom::open().await;
    let revoked = format!(
        "refused: this key was revoked; make one with: prickle key create --kind person --owner OWNER \
         --project website-v2 --save --server {}",
        room.url()
    );
    let mut feed = follow(&room.url(), quick());
    for (code, reason, words) in [
        (1012, "", "lost: the room is restarting"),
        (1013, "", "lost: the room asks to try again later"),
        (1001, "", "lost: the room went away"),
        (4000, "odd\u{1b}[2J one", "lost: the room closed the connection: odd· one (4000)"),
        (4000, SECRET, "lost: the room closed the connection (4000)"),
        (4401, "", &revoked),
    ] {
        let mut visit = room.visit().await;
        visit.say(hello("e1", 0, false)).await;
        visit.close(code, reason).await;
        assert_eq!(trouble(&mut feed).await, words);
    }
}

#[tokio::test]
async fn a_connection_without_a_sign_of_life_is_lost() {
    let mut room = FakeRoom::open().await;
    let options = Options { ping: Duration::from_millis(50), dead: Duration::from_millis(300), ..quick() };
    let mut feed = follow(&room.url(), options);
    let visit = settled(&mut room, &mut feed, 3).await;
    let since = Instant::now();
    assert_eq!(trouble(&mut feed).await, "lost: no answer for 300ms");
    assert!(since.elapsed() >= Duration::from_millis(250), "{:?}", since.elapsed());
    drop(visit); // until here the room's end was open, and nobody read it
    assert_eq!(room.visit().await.after(), Some("e1.3"));
}

#[tokio::test]
async fn a_quiet_room_that_answers_pings_is_live() {
    let mut room = FakeRoom::open().await;
    let options = Options { ping: Duration::from_millis(50), dead: Duration::from_secs(1), ..quick() };
    let mut feed = follow(&room.url(), options);
    let mut visit = settled(&mut room, &mut feed, 3).await;
    visit.message(Message::Ping(vec![7].into())).await;
    let (mut pings, mut ponged) = (0, false);
    while pings < 45 || !ponged {
        match visit.hear().await.expect("the watcher went away") {
            Message::Ping(_) => pings += 1, // hearing it has answered it
            Message::Pong(data) => ponged = data[..] == [7],
            other => panic!("{other:?}"),
        }
    }
    assert!(feed.try_next().is_none(), "twice the time without a word has passed, and nothing was lost");
}

#[tokio::test]
async fn a_server_that_never_answers_is_a_loss() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let mut feed = follow(&url, Options { connect: Duration::from_millis(200), ..quick() });
    let (_stream, _) = listener.accept().await.unwrap();
    assert_eq!(trouble(&mut feed).await, "lost: no answer for 200ms");
}

#[tokio::test]
async fn waits_grow_to_a_bound_and_start_over_after_a_connection_that_lived() {
    let room = FakeRoom::open().await;
    let (address, url) = (room.address, room.url());
    drop(room);
    let options = Options { lived: Duration::from_millis(50), ..quick() };
    let mut feed = follow(&url, options);
    let mut waits = Vec::new();
    while waits.len() < 7 {
        match next(&mut feed).await {
            News::Lost { why, retry_in, .. } => {
                assert_eq!(why, "connection refused");
                waits.push(retry_in);
            }
            other => assert_eq!(other, News::Connecting),
        }
    }
    for (wait, middle) in waits.iter().zip([10, 20, 40, 80, 100, 100, 100]) {
        let millis = wait.as_secs_f64() * 1000.0;
        assert!(millis >= f64::from(middle) * 0.8 && millis <= f64::from(middle) * 1.2, "{waits:?}");
    }
    let mut room = FakeRoom::at(address).await;
    let visit = settled(&mut room, &mut feed, 3).await;
    tokio::time::sleep(Duration::from_millis(60)).await; // the life of this connection
    drop(visit);
    let News::Lost { retry_in, .. } = next(&mut feed).await else { panic!("a loss") };
    assert!(retry_in <= Duration::from_millis(12), "{retry_in:?}");
}

#[tokio::test]
async fn a_connection_that_is_lost_at_once_makes_no_wait_shorter() {
    let mut room = FakeRoom::open().await;
    let mut feed = follow(&room.url(), quick());
    let mut waits = Vec::new();
    for seq in 0..6 {
        // It greets, shows the room, and is gone.
        drop(settled(&mut room, &mut feed, seq).await);
        let News::Lost { retry_in, .. } = next(&mut feed).await else { panic!("a loss") };
        waits.push(retry_in);
    }
    for (wait, middle) in waits.iter().zip([10, 20, 40, 80, 100, 100]) {
        let millis = wait.as_secs_f64() * 1000.0;
        assert!(millis >= f64::from(middle) * 0.8 && millis <= f64::from(middle) * 1.2, "{waits:?}");
    }
}

#[tokio::test]
async fn retry_now_wakes_a_feed_that_waits() {
    let room = FakeRoom::open().await;
    let (address, url) = (room.address, room.url());
    drop(room);
    let hour = Duration::from_hours(1);
    let mut feed = follow(&url, Options { backoff_first: hour, backoff_max: hour, ..quick() });
    assert_eq!(trouble(&mut feed).await, "lost: connection refused");
    let mut room = FakeRoom::at(address).await;
    feed.retry_now();
    let mut visit = settled(&mut room, &mut feed, 3).await;
    // While it is connected there is nothing to wake, now or later.
    feed.retry_now();
    visit.say(event(4)).await;
    assert_eq!(told(&mut feed, 1).await, ["event 4"]);
    drop((visit, room));
    assert_eq!(told(&mut feed, 1).await, ["lost: the connection broke off"]);
    assert!(
        tokio::time::timeout(Duration::from_millis(100), feed.next()).await.is_err(),
        "it waits its hour"
    );
}

#[tokio::test]
async fn retry_now_after_a_refusal_reads_the_key_anew() {
    let mut room = FakeRoom::open().await;
    let reads = Arc::new(AtomicUsize::new(0));
    let (url, count) = (room.url(), Arc::clone(&reads));
    let source: Source = Arc::new(move || match count.fetch_add(1, Ordering::SeqCst) {
        0 => Err(Trouble::Refused("there is no key; make one with: prickle key create".to_owned())),
        n => Ok(Access::new(url.parse().unwrap(), format!("{SECRET}{n}").parse().unwrap())),
    });
    room.answer(|seen| (seen.authorization.ends_with(&format!("{SECRET}1"))).then(|| answer(401, "")));
    let mut feed = Feed::spawn(source, "website-v2".parse().unwrap(), quick());
    assert_eq!(trouble(&mut feed).await, "refused: there is no key; make one with: prickle key create");
    assert!(room.seen().is_empty(), "without a key nothing is asked");
    feed.retry_now();
    assert!(trouble(&mut feed).await.starts_with("refused: the room"));
    assert_eq!(reads.load(Ordering::SeqCst), 2, "a refusal is not tried again by itself");
    feed.retry_now();
    settled(&mut room, &mut feed, 3).await;
}

#[tokio::test]
async fn a_slow_reader_loses_nothing() {
    let mut room = FakeRoom::open().await;
    let mut feed = follow(&room.url(), Options { queue: 1, ..quick() });
    let mut visit = settled(&mut room, &mut feed, 0).await;
    let talk = tokio::spawn(async move {
        for seq in 1..=5000 {
            visit.say(event(seq)).await;
        }
        visit
    });
    for seq in 1..=5000 {
        assert_eq!(told(&mut feed, 1).await, [format!("event {seq}")]);
    }
    talk.await.unwrap();
}

#[tokio::test]
async fn frames_are_given_as_they_were_sent_repetitions_included() {
    let mut room = FakeRoom::open().await;
    let project = "website-v2".parse().unwrap();
    let (mut feed, mut frames) = Feed::spawn_with_frames(source(&room.url()), project, quick());
    let mut visit = settled(&mut room, &mut feed, 3).await;
    let odd = "{ \"type\": \"weather\",  \"n\": 1.50 }";
    visit.text(odd).await;
    visit.say(event(3)).await;
    let sent = [
        hello("e1", 3, false).to_string(),
        snapshot(3, &[], 0, true).to_string(),
        odd.into(),
        event(3).to_string(),
    ];
    for sent in sent {
        let frame = tokio::time::timeout(DEADLINE, frames.recv()).await.unwrap().unwrap();
        assert_eq!(frame.as_str(), sent);
    }
}

#[tokio::test]
async fn a_feed_that_nobody_reads_any_more_ends() {
    let mut room = FakeRoom::open().await;
    let watched: Arc<()> = Arc::default();
    let start = |url: String| {
        let (access, mark) = (source(&url), Arc::clone(&watched));
        let source: Source = Arc::new(move || {
            let _ = &mark;
            access()
        });
        let hour = Duration::from_hours(1);
        Feed::spawn(
            source,
            "website-v2".parse().unwrap(),
            Options { backoff_first: hour, backoff_max: hour, ..quick() },
        )
    };
    // Connected and quiet.
    let mut feed = start(room.url());
    let mut visit = settled(&mut room, &mut feed, 3).await;
    drop(feed);
    while visit.hear().await.is_some() {}
    // Waiting an hour, and refused for good.
    let closed = FakeRoom::open().await.url();
    let mut feed = start(closed);
    assert!(trouble(&mut feed).await.starts_with("lost"));
    drop(feed);
    room.refuse(401, "");
    let mut feed = start(room.url());
    assert!(trouble(&mut feed).await.starts_with("refused"));
    drop(feed);
    let deadline = Instant::now() + DEADLINE;
    while Arc::strong_count(&watched) > 1 {
        assert!(Instant::now() < deadline, "a feed's task lives on");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_room_that_says_when_to_come_again_is_heeded_and_not_given_up() {
    let mut room = FakeRoom::open().await;
    let times: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let seen = Arc::clone(&times);
    room.answer(move |asked| {
        if !asked.path.ends_with("/feed") {
            return Some(answer(404, ""));
        }
        let mut seen = seen.lock().unwrap();
        seen.push(Instant::now());
        let later = |seconds: &str| {
            let mut busy = answer(429, "All places are taken.");
            busy.headers_mut().insert("retry-after", seconds.parse().unwrap());
            Some(busy)
        };
        match seen.len() {
            1 => later("1"),
            2 => later("86400"),
            3 => later("Wed, 21 Oct 2026 07:28:00 GMT"),
            _ => None,
        }
    });
    let options = Options {
        backoff_first: Duration::from_millis(1),
        backoff_max: Duration::from_millis(1500),
        ..Options::default()
    };
    let mut feed = follow(&room.url(), options);
    let mut waits = Vec::new();
    while waits.len() < 3 {
        match next(&mut feed).await {
            News::Lost { why, retry_in, .. } => {
                assert_eq!(why, "the room asks to slow down: All places are taken.");
                waits.push(retry_in);
            }
            News::Connecting => {}
            other => panic!("{other:?}"),
        }
    }
    let mut visit = room.visit().await;
    visit.say(hello("e", 0, false)).await;
    let told = times.lock().unwrap().clone();
    let between: Vec<Duration> = told.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // A second as asked for; a day, but not beyond our own longest wait; and what can't be read is no wish.
    assert!((1000..=1200).contains(&waits[0].as_millis()), "{waits:?}");
    assert!((1500..=1800).contains(&waits[1].as_millis()), "{waits:?}");
    assert!(waits[2].as_millis() < 10, "{waits:?}");
    assert!(between[0] >= waits[0] && between[1] >= waits[1], "{between:?} for {waits:?}");
}
