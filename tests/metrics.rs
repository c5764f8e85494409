//! `/metrics`: what a room counts, read as strictly as Prometheus reads it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::float_cmp, missing_docs)]

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::caller::{Answer, Caller, run_report, with};
use common::room::{Room, Shape};
use common::until;
use common::watcher::Watcher;
use serde_json::json;

/// A series as it is written, name and labels, and its value.
type Series = BTreeMap<String, f64>;

/// Reads the text format, version 0.0.4: for each family a HELP, a TYPE and then its samples without another's
/// between them, no series twice, every value a number, every histogram one.
fn parse(text: &str) -> Series {
    assert!(text.ends_with('\n'));
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    let mut series = Series::new();
    let mut families = BTreeSet::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let (family, help) = line.strip_prefix("# HELP ").expect(line).split_once(' ').expect(line);
        assert!(is_name(family) && family.starts_with("prickle_") && help.ends_with('.'), "{line}");
        assert!(families.insert(family.to_owned()), "{family} comes twice");
        let line = lines.next().unwrap();
        let kind = line.strip_prefix(&format!("# TYPE {family} ")).expect(line);
        assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
        assert_eq!(kind == "counter", family.ends_with("_total"), "{line}");
        let mut upto = 0.0;
        while let Some(line) = lines.next_if(|line| !line.starts_with('#')) {
            let (name, value) = line.rsplit_once(' ').expect(line);
            let value: f64 = value.parse().expect(line);
            assert!(value.is_finite() && value >= 0.0, "{line}");
            let (bare, labels) = match name.split_once('{') {
                Some((bare, labels)) => (bare, labels.strip_suffix('}').expect(line)),
                None => (name, ""),
            };
            match kind {
                "histogram" => {
                    let part = bare.strip_prefix(family).expect(line);
                    assert!(["_bucket", "_sum", "_count"].contains(&part), "{line}");
                    if part == "_bucket" {
                        assert!(value >= upto, "buckets are cumulative: {line}");
                        upto = value;
                    }
                    assert!(part != "_count" || value == upto, "{line}");
                }
                _ => assert_eq!(bare, family, "{line}"),
            }
            for label in labels.split("\",").filter(|label| !label.is_empty()) {
                let (name, value) = label.split_once("=\"").expect(line);
                assert!(is_name(name) && !value.trim_end_matches('"').contains(['"', '\\', '\n']), "{line}");
            }
            assert!(series.insert(name.to_owned(), value).is_none(), "{name} comes twice");
        }
        if kind == "histogram" {
            assert!(series.contains_key(&format!("{family}_bucket{{le=\"+Inf\"}}")));
        }
    }
    series
}

async fn scrape(room: &Caller) -> Series {
    let answer = room.request(reqwest::Method::GET, "", "/metrics").send().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers()["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    let text = answer.text().await.unwrap();
    // Nobody's name, room or key is in it.
    for name in ["acme", "builder", "website", "prk_", "other-"] {
        assert!(!text.contains(name), "{name} in {text}");
    }
    parse(&text)
}

#[tokio::test]
async fn what_happens_in_a_room_is_counted() {
    let room = Room::open().await;
    let empty = scrape(&room).await;
    assert_eq!(empty["prickle_calls_total{tool=\"update_pulse\",outcome=\"ok\"}"], 0.0);
    assert_eq!(empty[&format!("prickle_build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"))], 1.0);

    let key = room.key("client", "acme/builder", &["website-v2"]);
    let person = room.key("person", "acme", &["website-v2"]);
    let mut watcher = Watcher::open(&room, &person, "website-v2", None).await.unwrap();
    watcher.picture().await;
    for n in 0..3 {
        room.pulse(&key, json!({"project": "website-v2", "doing": format!("{n}")})).await;
        watcher.event(n + 1).await;
    }
    room.call(&key, "update_pulse", json!({"project": "website-v2"})).await.refused();
    room.call(&key, "update_pulse", json!({"project": "acme-secret", "doing": ""})).await.refused();
    assert!(matches!(room.call(&key, "website-v2", json!({})).await, Answer::Protocol(-32602, _)));
    let report = run_report("4f7c2a9e-3b1d-4c8e-9a6f-0d2e5b7c1a3f");
    room.run(&key, report.clone()).await;
    assert_eq!(watcher.frame().await["type"], "run");
    room.call(&key, "report_run", with(&report, json!({"turns": 9}))).await.refused();
    room.get("", "/website-v2/acme").await;
    room.get(&person, "/v1/projects/website-v2/pulse").await;
    room.get(&format!("prk_{}", "A".repeat(43)), "/v1/me").await;

    let now = scrape(&room).await;
    let grown = |series: &str| now[series] - empty.get(series).copied().unwrap_or_default();
    for (series, by) in [
        ("prickle_calls_total{tool=\"update_pulse\",outcome=\"ok\"}", 3.0),
        ("prickle_calls_total{tool=\"update_pulse\",outcome=\"refused\"}", 2.0),
        ("prickle_calls_total{tool=\"update_pulse\",outcome=\"storage\"}", 0.0),
        ("prickle_calls_total{tool=\"report_run\",outcome=\"ok\"}", 1.0),
        ("prickle_calls_total{tool=\"report_run\",outcome=\"refused\"}", 1.0),
        ("prickle_events_total", 3.0),
        ("prickle_feeds_open", 1.0),
        ("prickle_frames_sent_total", 3.0 + 3.0 + 1.0), // hello, a picture in one part, recent; events; the run
        ("prickle_feed_lags_total", 0.0),
        ("prickle_requests_total{route=\"/mcp\",status=\"2xx\"}", 8.0),
        ("prickle_requests_total{route=\"/metrics\",status=\"2xx\"}", 1.0),
        ("prickle_requests_total{route=\"/v1/me\",status=\"4xx\"}", 1.0),
        ("prickle_requests_total{route=\"/v1/projects/{project}/feed\",status=\"1xx\"}", 1.0),
        ("prickle_requests_total{route=\"/v1/projects/{project}/pulse\",status=\"2xx\"}", 1.0),
        ("prickle_requests_total{route=\"other\",status=\"4xx\"}", 1.0),
        // Three pulses, two runs, and the pulse without a text, which only the rules refuse.
        ("prickle_batch_calls_count", 6.0),
        ("prickle_batch_calls_sum", 6.0),
        ("prickle_commit_seconds_count", 6.0),
    ] {
        assert_eq!(grown(series), by, "{series}");
    }
    assert!(now["prickle_commit_seconds_sum"] > 0.0);
    assert!(now["prickle_look_ups_total"] >= 1.0, "the unknown key");
    assert!(now["prickle_database_bytes"] > 0.0 && now["prickle_wal_bytes"] > 0.0, "{now:?}");

    drop(watcher);
    let gone = "prickle_feeds_ended_total{reason=\"gone\"}";
    until("the watcher is gone", async || scrape(&room).await.get(gone) == Some(&1.0)).await;
    until("its place is free", async || scrape(&room).await["prickle_feeds_open"] == 0.0).await;
    // And why else feeds end.
    let mut watcher = Watcher::open(&room, &person, "website-v2", None).await.unwrap();
    watcher.picture().await;
    room.revoke_newest();
    assert_eq!(watcher.closed().await, 4401);
    let revoked = "prickle_feeds_ended_total{reason=\"revoked\"}";
    until("its end is counted", async || scrape(&room).await.get(revoked) == Some(&1.0)).await;
}

#[tokio::test]
async fn what_the_limits_refuse_costs_no_look_up() {
    let mut shape = Shape::default();
    shape.server.sign_ins = 20;
    shape.server.rate = Some(1);
    shape.server.feeds = 1;
    shape.store.keys_reread = std::time::Duration::from_hours(1);
    let room = Room::with(shape).await;
    let key = room.key("client", "acme/builder", &["website-v2"]);
    let _watcher = Watcher::open(&room, &key, "website-v2", None).await.unwrap();
    assert_eq!(Watcher::open(&room, &key, "website-v2", None).await.err(), Some(429));
    let unknown = async |n: usize| room.get(&format!("prk_{n:043}"), "/v1/me").await.0;
    for n in 0..20 {
        assert_eq!(unknown(n).await, 401, "{n}");
    }
    let others = futures_util::future::join_all((20..100).map(unknown)).await;
    assert!(others.iter().all(|status| *status == 429), "{others:?}");
    let told = futures_util::future::join_all((0..20).map(|_| room.post(&key, "{}").send())).await;
    let slowed = told.iter().filter(|answer| answer.as_ref().unwrap().status() == 429).count();
    let now = scrape(&room).await;
    assert_eq!(now["prickle_look_ups_total"], 21.0, "the new key once, and what was let in");
    assert_eq!(now["prickle_limited_total{limit=\"sign_ins\"}"], 80.0);
    assert_eq!(now["prickle_limited_total{limit=\"feeds\"}"], 1.0);
    assert!(slowed >= 10, "{slowed}");
    assert_eq!(now["prickle_limited_total{limit=\"calls\"}"], f64::from(u32::try_from(slowed).unwrap()));
}

#[tokio::test]
async fn calls_that_wait_together_are_one_batch() {
    let room = Room::open().await;
    let key = room.key("client", "acme/builder", &["website-v2"]);
    let calls = (0..200).map(|n| {
        let (room, key) = (room.caller(), key.clone());
        tokio::spawn(async move {
            room.pulse(&key, json!({"project": "website-v2", "doing": format!("{n}")})).await
        })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap();
    }
    let now = scrape(&room).await;
    assert_eq!(now["prickle_batch_calls_sum"], 200.0);
    assert!(now["prickle_batch_calls_count"] < 200.0, "{now:?}");
    assert_eq!(now["prickle_commit_seconds_count"], now["prickle_batch_calls_count"]);
}

#[tokio::test]
async fn a_watcher_that_lags_is_counted() {
    let mut shape = Shape::default();
    shape.server.send_buffer = 4096;
    shape.store.held_bytes = 100 * 1024;
    let room = Room::with(shape).await;
    let key = room.key("client", "acme/builder", &["website-v2"]);
    let mut slow = Watcher::open_slow(&room, &key, "website-v2", None, Some(4096)).await.unwrap();
    slow.picture().await;
    assert_eq!(scrape(&room).await["prickle_feed_lags_total"], 0.0);
    let big = vec!["x".repeat(290); 50];
    for n in 0..300 {
        room.pulse(&key, json!({"project": "website-v2", "doing": format!("{n}"), "files": big})).await;
    }
    while slow.frame().await["type"] != "snapshot" {}
    assert!(scrape(&room).await["prickle_feed_lags_total"] >= 1.0);
}
