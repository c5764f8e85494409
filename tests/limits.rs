//! How much one caller may take, over HTTP: calls a second, failed sign-ins a minute, feeds at once, descriptors.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod common;

use std::fs;
use std::io::{ErrorKind, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use common::caller::{Answer, Caller, run_report};
use common::child::{How, Served, prickle};
use common::room::{Room, Shape, make_key};
use common::until;
use common::watcher::{Heard, Watcher};
use prickle::server;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// A refusal as every client can act on it: 429, when to come again, one plain sentence.
async fn too_many(answer: reqwest::Response) -> (u64, String) {
    assert_eq!(answer.status(), 429);
    let seconds: u64 = answer.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    assert!(seconds >= 1);
    let kind = answer.headers()["content-type"].to_str().unwrap().to_owned();
    let text = answer.text().await.unwrap();
    let sentence = if kind == "application/problem+json" {
        let problem: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(problem["status"], 429);
        problem["detail"].as_str().unwrap().to_owned()
    } else {
        assert_eq!(kind, "text/plain; charset=utf-8");
        text
    };
    assert_eq!(sentence.trim_end().lines().count(), 1, "{sentence}");
    (seconds, sentence)
}

fn unknown(n: usize) -> String {
    format!("prk_{n:043}")
}

fn pulse() -> Value {
    json!({"project": "website-v2", "doing": "x"})
}

#[test]
fn the_limits_are_what_is_promised() {
    let options = server::Options::default();
    assert_eq!((options.rate, options.sign_ins, options.feeds), (Some(50), 20, 2048));
}

#[tokio::test]
async fn a_key_that_calls_too_often_is_told_when_to_come_again() {
    let mut shape = Shape::default();
    shape.server.rate = Some(2);
    let room = Room::with(shape).await;
    let busy = room.key("client", "acme/busy", &["website-v2"]);
    let calm = room.key("client", "acme/calm", &["website-v2"]);
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}).to_string();
    let began = Instant::now();
    let mut let_in = 0;
    let refused = loop {
        let answer = room.post(&busy, call.clone()).send().await.unwrap();
        if answer.status() != 200 {
            break answer;
        }
        let_in += 1;
    };
    // Eight at once, and two for each second that this took.
    let earned = began.elapsed().as_secs_f64() * 2.0;
    assert!(let_in >= 8 && f64::from(let_in) <= 9.0 + earned, "{let_in}");
    let (seconds, sentence) = too_many(refused).await;
    assert_eq!(seconds, 1);
    assert!(sentence.contains("2 calls a second") && sentence.contains("1 second."), "{sentence}");
    // The refusal of a large call gets through, too.
    let large = room.post(&busy, vec![b' '; 400_000]).send().await.unwrap();
    too_many(large).await;
    // It is this key's affair, and only for its calls.
    assert_eq!(room.pulse(&calm, pulse()).await["doing"], "x");
    for route in ["/v1/me", "/v1/projects/website-v2/pulse"] {
        assert_eq!(room.get(&busy, route).await.0, 200, "{route}");
    }
    until("it is let in again", async || {
        room.post(&busy, call.clone()).send().await.unwrap().status() == 200
    })
    .await;
}

#[tokio::test]
async fn what_takes_the_database_counts_as_a_call() {
    let mut shape = Shape::default();
    shape.server.rate = Some(1);
    let room = Room::with(shape).await;
    let agent = room.key("client", "acme/builder", &["website-v2"]);
    room.pulse(&agent, pulse()).await; // memory knows the room from here on
    let run = "4f7c2a9e-3b1d-4c8e-9a6f-0d2e5b7c1a3f";
    room.run(&agent, run_report(run)).await;
    for route in [
        "/v1/runs",
        "/v1/runs/summary?by=day",
        &format!("/v1/runs/{run}"),
        "/v1/runs?project=absent",
        "/v1/projects/absent/pulse",
        "/v1/projects/absent/feed",
        "/v1/agents?project=absent",
    ] {
        // A key for each, with its own burst.
        let key = room.key("person", "acme", &[]);
        let asked: Vec<_> = (0..20).map(|_| room.request(reqwest::Method::GET, &key, route).send()).collect();
        let mut refused = Vec::new();
        for answer in futures_util::future::join_all(asked).await {
            let answer = answer.unwrap();
            match answer.status().as_u16() {
                429 => refused.push(answer),
                status => assert_eq!(status, if route.contains("absent") { 404 } else { 200 }, "{route}"),
            }
        }
        assert!((10..=16).contains(&refused.len()), "{route}: {}", refused.len());
        let (seconds, sentence) = too_many(refused.remove(0)).await;
        assert!(seconds == 1 && sentence.contains("1 calls a second"), "{sentence}");
        // What memory knows is answered all the same.
        for route in
            ["/v1/me", "/v1/projects", "/v1/projects/website-v2/pulse", "/v1/agents?project=website-v2"]
        {
            for _ in 0..10 {
                assert_eq!(room.get(&key, route).await.0, 200, "{route}");
            }
        }
        let mut watcher = Watcher::open(&room, &key, "website-v2", None).await.unwrap();
        watcher.picture().await;
    }
    // A key may have been let in meanwhile: so it is looked, and that counts too.
    let key = room.key("person", "acme", &["website-v2"]);
    let mut told = Vec::new();
    for _ in 0..20 {
        told.push(room.get(&key, "/v1/projects/absent/pulse").await.0);
    }
    assert_eq!((told[0], told[19]), (404, 429), "{told:?}");
}

#[tokio::test]
async fn the_rate_can_be_set_and_switched_off() {
    for (rate, most) in [("1", Some(4)), ("off", None)] {
        let folder = tempfile::tempdir().unwrap();
        let key = make_key(&folder.path().join("room.db"), "client", "acme/builder", &["website-v2"]);
        let how = How { more: vec!["--rate", rate], ..How::default() };
        let served = Served::start_how(folder.path(), how);
        let room = served.caller();
        let calls = (0..300).map(|_| {
            let (room, key) = (room.clone(), key.clone());
            tokio::spawn(async move { room.call(&key, "update_pulse", pulse()).await })
        });
        let mut done = 0;
        for call in calls.collect::<Vec<_>>() {
            match call.await.unwrap() {
                Answer::Done(_) => done += 1,
                Answer::Http(429, sentence) => assert!(sentence.contains("calls a second"), "{sentence}"),
                other => panic!("{other:?}"),
            }
        }
        match most {
            Some(burst) => assert!((burst..100).contains(&done), "{done} of 300 at {rate} a second"),
            None => assert_eq!(done, 300),
        }
    }
    let folder = tempfile::tempdir().unwrap();
    for wrong in ["0", "-1", "1.5", "many", ""] {
        let out = prickle(folder.path()).args(["serve", &format!("--rate={wrong}")]).output().unwrap();
        let text = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(2), "{wrong}: {text}");
        assert!(text.contains("--rate") && text.contains("or off"), "{text}");
    }
}

#[tokio::test]
async fn too_many_unknown_keys_are_looked_up_no_more() {
    let mut shape = Shape::default();
    shape.server.sign_ins = server::Options::default().sign_ins;
    let room = Room::with(shape).await;
    let known = room.key("client", "acme/builder", &["website-v2"]);
    room.pulse(&known, pulse()).await;
    for n in 0..20 {
        let route = ["/v1/me", "/v1/projects/website-v2/feed", "/v1/runs"][n % 3];
        assert_eq!(room.get(&unknown(n), route).await.0, 401, "{n}");
    }
    let ask = |token: String, route: &str| room.request(reqwest::Method::GET, &token, route).send();
    let (seconds, sentence) = too_many(ask(unknown(20), "/v1/me").await.unwrap()).await;
    assert!(seconds <= 3 && sentence.contains("does not know"), "{sentence}");
    too_many(ask(unknown(21), "/mcp").await.unwrap()).await;
    too_many(room.post(&unknown(22), "{}").send().await.unwrap()).await;
    assert_eq!(Watcher::open(&room, &unknown(23), "website-v2", None).await.err(), Some(429));
    // Who sends no key at all is told what a key is; it costs no look-up.
    for _ in 0..30 {
        assert_eq!(room.get("", "/v1/me").await.0, 401);
    }
    assert_eq!(room.get("", "/healthz").await.0, 200);
    // A known key never counts, and never suffers.
    for _ in 0..50 {
        assert_eq!(room.get(&known, "/v1/me").await.0, 200);
    }
    room.pulse(&known, pulse()).await;
    assert!(Watcher::open(&room, &known, "website-v2", None).await.is_ok());
    // A new one is known as soon as the keys are read anew, whoever else knocks.
    let new = room.key("person", "acme", &["website-v2"]);
    until("the new key works", async || room.get(&new, "/v1/me").await.0 == 200).await;
    too_many(ask(unknown(24), "/v1/me").await.unwrap()).await;
}

#[tokio::test]
async fn a_new_key_works_at_once_behind_an_address_that_used_up_its_unknown_ones() {
    let mut shape = Shape::default();
    shape.server.sign_ins = 1;
    shape.store.keys_reread = Duration::from_millis(500);
    let room = Room::with(shape).await;
    let ask = |token: &str| room.request(reqwest::Method::GET, token, "/v1/me").send();
    assert_eq!(ask(&unknown(1)).await.unwrap().status(), 401);
    too_many(ask(&unknown(2)).await.unwrap()).await;
    for n in 0..4 {
        let key = room.key("client", &format!("acme/a{n}"), &["website-v2"]);
        assert_eq!(ask(&key).await.unwrap().status(), 200, "{n}");
        room.pulse(&key, pulse()).await;
    }
    too_many(ask(&unknown(3)).await.unwrap()).await;
}

#[tokio::test]
async fn few_wait_whether_their_unknown_key_is_new() {
    const WAIT: Duration = Duration::from_secs(2);
    let mut shape = Shape::default();
    shape.server.sign_ins = 1;
    shape.store.keys_reread = Duration::from_hours(1); // what they wait is bounded all the same
    let room = Room::with(shape).await;
    assert_eq!(room.get(&unknown(0), "/v1/me").await.0, 401);
    let asked = (1..=60).map(|n| {
        let room = room.caller();
        tokio::spawn(async move {
            let began = Instant::now();
            too_many(room.request(reqwest::Method::GET, &unknown(n), "/v1/me").send().await.unwrap()).await;
            began.elapsed() >= WAIT
        })
    });
    let mut waited = 0;
    for asked in asked.collect::<Vec<_>>() {
        waited += usize::from(asked.await.unwrap());
    }
    assert!((1..=8).contains(&waited), "{waited}");
}

#[tokio::test]
async fn keys_that_are_new_do_not_count_as_unknown() {
    let mut shape = Shape::default();
    shape.server.sign_ins = 2;
    shape.store.keys_reread = Duration::from_hours(1); // each must be looked up
    let room = Room::with(shape).await;
    for n in 0..10 {
        let key = room.key("client", &format!("acme/a{n}"), &["website-v2"]);
        assert_eq!(room.get(&key, "/v1/me").await.0, 200, "{n}");
    }
}

#[tokio::test]
async fn an_owner_s_feeds_are_counted_together() {
    let mut shape = Shape::default();
    shape.server.feeds = 3;
    let room = Room::with(shape).await;
    let keys = [
        room.key("person", "acme", &["website-v2"]),
        room.key("client", "acme/builder", &["website-v2"]),
        room.key("person", "acme", &[]),
    ];
    let other = room.key("person", "other", &["website-v2"]);
    let mut open = Vec::new();
    for key in &keys {
        let mut watcher = Watcher::open(&room, key, "website-v2", None).await.unwrap();
        watcher.picture().await;
        open.push(watcher);
    }
    for key in &keys {
        assert_eq!(Watcher::open(&room, key, "website-v2", None).await.err(), Some(429));
    }
    let upgrade = room
        .request(reqwest::Method::GET, &keys[0], "/v1/projects/website-v2/feed")
        .header("Connection", "upgrade")
        .header("Upgrade", "websocket")
        .header("Sec-WebSocket-Version", "13")
        .header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==");
    let (_, sentence) = too_many(upgrade.send().await.unwrap()).await;
    assert!(sentence.contains("acme") && sentence.contains("3 feeds"), "{sentence}");
    let mut others = Watcher::open(&room, &other, "website-v2", None).await.unwrap();
    others.picture().await;
    room.pulse(&keys[1], pulse()).await;
    assert_eq!(others.event(1).await["pulse"]["doing"], "x");
    drop(open.pop());
    until("a place is free again", async || Watcher::open(&room, &keys[0], "website-v2", None).await.is_ok())
        .await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_room_takes_as_many_descriptors_as_it_may() {
    let hard = Command::new("/bin/sh").args(["-c", "ulimit -Hn"]).output().unwrap();
    let hard = String::from_utf8(hard.stdout).unwrap().trim().replace("unlimited", "any number");
    let folder = tempfile::tempdir().unwrap();
    let by = vec!["/bin/sh", "-c", "ulimit -Sn 64; exec \"$0\" \"$@\""];
    let served = Served::start_how(folder.path(), How { by, ..How::default() });
    let log = fs::read_to_string(&served.log).unwrap();
    assert!(log.contains(&format!("descriptors=\"{hard}\"")), "{log}");
    let held: Vec<_> = (0..200).map(|_| TcpStream::connect(("127.0.0.1", served.port)).unwrap()).collect();
    assert_eq!(served.caller().get("", "/healthz").await.0, 200);
    drop(held);
}

/// Whether the other end has closed it, without waiting for that.
fn is_closed(connection: &TcpStream) -> bool {
    connection.set_nonblocking(true).unwrap();
    !matches!(connection.peek(&mut [0]), Err(error) if error.kind() == ErrorKind::WouldBlock)
}

#[tokio::test]
async fn of_many_connections_without_a_key_the_oldest_makes_room() {
    let mut shape = Shape::default();
    shape.server.strangers = 3;
    let room = Room::with(shape).await;
    let key = room.key("client", "acme/builder", &["website-v2"]);
    let mut known = tokio::net::TcpStream::connect(room.address()).await.unwrap();
    let request = format!("GET /v1/me HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\r\n");
    let ask = async |connection: &mut tokio::net::TcpStream| {
        connection.write_all(request.as_bytes()).await.unwrap();
        let mut told = vec![0; 1000];
        let read = tokio::time::timeout(common::PATIENCE, connection.read(&mut told)).await.unwrap().unwrap();
        String::from_utf8_lossy(&told[..read]).into_owned()
    };
    assert!(ask(&mut known).await.starts_with("HTTP/1.1 200"));
    let strangers: Vec<_> = (0..10).map(|_| TcpStream::connect(room.address()).unwrap()).collect();
    until("all but the last are gone", async || strangers[..7].iter().all(is_closed)).await;
    assert!(!strangers[7..].iter().any(is_closed));
    // Whoever has shown a key is not counted, and whoever has one gets in.
    assert!(ask(&mut known).await.starts_with("HTTP/1.1 200"));
    let mut late = tokio::net::TcpStream::connect(room.address()).await.unwrap();
    assert!(ask(&mut late).await.starts_with("HTTP/1.1 200"));
    // A wrong key is none.
    let wrong = request.replace(&key, &unknown(1));
    let mut wrong_ones = Vec::new();
    for _ in 0..5 {
        let mut connection = TcpStream::connect(room.address()).unwrap();
        connection.write_all(wrong.as_bytes()).unwrap();
        wrong_ones.push(connection);
    }
    until("the others make room", async || strangers.iter().all(is_closed)).await;
    assert!(ask(&mut known).await.starts_with("HTTP/1.1 200") && ask(&mut late).await.contains("acme"));
    let metrics = room.request(reqwest::Method::GET, "", "/metrics").send().await.unwrap();
    let metrics = metrics.text().await.unwrap();
    let closed =
        metrics.lines().find_map(|l| l.strip_prefix("prickle_limited_total{limit=\"connections\"} "));
    assert!(closed.unwrap().parse::<u32>().unwrap() >= 10, "{metrics}");
}

#[tokio::test]
async fn feeds_leave_descriptors_for_everything_else() {
    let folder = tempfile::tempdir().unwrap();
    let key = make_key(&folder.path().join("room.db"), "client", "acme/builder", &["website-v2"]);
    let served = Served::start_with(folder.path(), 0, Some(100));
    let room = served.caller();
    let mut open = Vec::new();
    let refused = loop {
        let mut watcher = Watcher::open(&room, &key, "website-v2", None).await.unwrap();
        match watcher.hear().await {
            Heard::Frame(_) => open.push(watcher),
            end => break end,
        }
        assert!(open.len() < 100, "one feed for each descriptor");
    };
    assert!(matches!(refused, Heard::Closed(1013)), "{refused:?}");
    assert_eq!(open.len(), 75);
    let fresh = Caller::new(&room.url);
    assert_eq!(fresh.pulse(&key, pulse()).await["doing"], "x");
    drop(open.pop());
    until("there is a place again", async || {
        let mut watcher = Watcher::open(&room, &key, "website-v2", None).await.unwrap();
        matches!(watcher.hear().await, Heard::Frame(_))
    })
    .await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn running_out_of_descriptors_is_survived_and_said_once() {
    let folder = tempfile::tempdir().unwrap();
    let key = make_key(&folder.path().join("room.db"), "client", "acme/builder", &["website-v2"]);
    let served = Served::start_as(folder.path(), 0, Some(64), &["--rate", "off"]);
    let room = served.caller();
    let mut watcher = Watcher::open(&room, &key, "website-v2", None).await.unwrap();
    watcher.picture().await;
    room.pulse(&key, pulse()).await;
    watcher.event(1).await;
    let log = || fs::read_to_string(&served.log).unwrap();
    let mut held = Vec::new();
    // With a key: of those without one there are never so many.
    let request = format!("GET /v1/me HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\r\n");
    until("the room has no descriptor left", async || {
        let mut connection = TcpStream::connect(("127.0.0.1", served.port)).unwrap();
        connection.write_all(request.as_bytes()).unwrap();
        held.push(connection);
        log().contains("no new connection can be taken now")
    })
    .await;
    // Who is in is served on, through the disk and back, while the room tries again every 100 ms.
    let until_tried_again = Instant::now() + Duration::from_millis(500);
    let mut seq = 1;
    let mut pace = tokio::time::interval(Duration::from_millis(10)); // within what a key may send
    while Instant::now() < until_tried_again {
        pace.tick().await;
        seq += 1;
        room.pulse(&key, pulse()).await;
        watcher.event(seq).await;
    }
    drop(held);
    let fresh = Caller::new(&room.url);
    assert_eq!(fresh.get("", "/healthz").await, (200, json!("ok\n")));
    until("it is said that it is over", async || log().contains("connections are taken again")).await;
    assert_eq!(log().matches("no new connection can be taken now").count(), 1, "{}", log());
}
