//! Exports that are long, slow or cut off: pages of a room that makes them up, and misbehaves as it is told.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::response::Response;
use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

use super::Desk;
use super::common::{PATIENCE, ran::Ran};
use super::fake_room::{FakeRoom, SECRET, Seen, answer};
use super::pty::Terminal;

/// A value of a request's query.
fn asked<'a>(seen: &'a Seen, name: &str) -> Option<&'a str> {
    seen.query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

/// The page of a room with so many records that a request asks for.
fn page(seen: &Seen, records: u64) -> Value {
    let from: u64 = asked(seen, "cursor").map_or(0, |cursor| cursor.parse().unwrap());
    let limit: u64 = asked(seen, "limit").unwrap().parse().unwrap();
    assert!(limit <= 1000, "{}", seen.query);
    let to = records.min(from + limit);
    let runs: Vec<Value> = (from..to)
        .map(|n| {
            json!({"agent_id": "acme/builder", "run_id": format!("{n:08x}-3b1d-4c8e-9a6f-0d2e5b7c1a3f"),
                "project": "website-v2", "task_id": format!("task-{n}"), "input_tokens": n, "output_tokens": null,
                "turns": 3, "duration_ms": 91_000, "exit_code": 0, "source": "client_reported",
                "reported_at": "2026-11-30T14:32:00Z"})
        })
        .collect();
    json!({"runs": runs, "next_cursor": (to < records).then(|| to.to_string())})
}

fn summary(records: u64) -> Value {
    let sum = json!({"sum": null, "known": 0});
    let total = json!({"runs": records, "failed": sum, "input_tokens": sum, "output_tokens": sum, "turns": sum,
        "duration_ms": sum, "failed_tokens": sum, "tokens": sum, "first_reported_at": null, "last_reported_at": null});
    json!({"by": "project", "rows": [], "groups": 1, "total": total})
}

/// A room with so many records; `first` may answer a page in its own way.
async fn room(
    records: u64,
    first: impl Fn(&Seen) -> Option<Response> + Send + Sync + 'static,
) -> (FakeRoom, Desk) {
    let room = FakeRoom::open().await;
    room.answer(move |seen| {
        let body = match seen.path.as_str() {
            "/v1/me" => json!({"kind": "person", "owner": "acme", "agent_id": null, "projects": null}),
            "/v1/runs/summary" => summary(records),
            "/v1/runs" => match first(seen) {
                Some(other) => return Some(other),
                None => page(seen, records),
            },
            _ => return Some(answer(404, "")),
        };
        Some(answer(200, &body.to_string()))
    });
    let desk = Desk::new(&room.url(), SECRET);
    (room, desk)
}

fn rows(json: &str) -> Vec<Value> {
    let json: Value = serde_json::from_str(json).unwrap();
    json["rows"].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_follow_each_other_to_the_end_or_to_the_limit() {
    let (room, desk) = room(2500, |_| None).await;
    let all = rows(&desk.run(&["--by", "run", "--json"]).fine());
    let ids: Vec<u64> = all.iter().map(|row| row["input_tokens"].as_u64().unwrap()).collect();
    assert_eq!(ids, (0..2500).collect::<Vec<_>>());
    for limit in [1, 1000, 1001, 2000, 2499, 2500, 9999] {
        let some = rows(&desk.run(&["--by", "run", "--json", "--limit", &limit.to_string()]).fine());
        assert_eq!(some, all[..limit.min(2500)], "{limit}");
    }
    let csv = desk.run(&["--by", "run", "--csv"]).fine();
    assert_eq!(csv.matches("\r\n").count(), 2501, "one line of names");
    assert_eq!(desk.run(&["--by", "run"]).fine().lines().count(), 2501);
    let seen = room.seen();
    let query = &seen.iter().find(|seen| seen.path == "/v1/runs").unwrap().query;
    assert!(query.starts_with("since=20") && query.ends_with("&limit=1000"), "{query}");
}

/// The largest memory that a process has had so far, in KB.
#[cfg(target_os = "linux")]
fn peak(id: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn many_records_take_no_more_memory_than_a_few() {
    const RECORDS: u64 = 20_000;
    let id = Arc::new(AtomicU32::new(0));
    let peaks = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
    let (known, seen_peaks) = (Arc::clone(&id), Arc::clone(&peaks));
    let (_room, desk) = room(RECORDS, move |seen| {
        let from: u64 = asked(seen, "cursor").map_or(0, |cursor| cursor.parse().unwrap());
        let at = match from {
            5_000 => 0,
            _ if from + 1000 == RECORDS => 1,
            _ => return None,
        };
        seen_peaks[at].store(peak(known.load(Ordering::SeqCst)).unwrap(), Ordering::SeqCst);
        None
    })
    .await;
    for form in ["--json", "--csv"] {
        let mut child = desk.command(&["--by", "run", form]).stdout(Stdio::piped()).spawn().unwrap();
        id.store(child.id(), Ordering::SeqCst);
        let mut out = child.stdout.take().unwrap();
        let bytes = std::io::copy(&mut out, &mut std::io::sink()).unwrap();
        assert!(child.wait().unwrap().success());
        assert!(bytes > RECORDS * 100, "{bytes}");
        let [early, late] = [0, 1].map(|at| peaks[at].load(Ordering::SeqCst));
        // All of it at once would be 8 MB as text and several times that in memory.
        assert!(early > 0 && late < early + 2_048, "{form}: {early} KB at first, {late} KB at the end");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_room_that_goes_down_midway_is_said_with_how_far_it_came() {
    let (_room, desk) = room(5000, |seen| {
        (asked(seen, "cursor") == Some("2000")).then(|| answer(500, r#"{"detail": "the disk is full"}"#))
    })
    .await;
    let ran = desk.run(&["--by", "run", "--json"]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(
        ran.err.starts_with("prickle: after 2,000 runs: ") && ran.err.contains("the disk is full"),
        "{}",
        ran.err
    );
    assert!(serde_json::from_str::<Value>(&ran.out).is_err(), "no document passes for whole");
    assert_eq!(ran.out.matches("\"run_id\"").count(), 2000);
    let (_room, desk) = super::long::room(5000, |_| Some(answer(500, ""))).await;
    assert!(!desk.run(&["--by", "run", "--csv"]).fault(2).contains("after"), "nothing was written");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_room_that_asks_to_slow_down_is_waited_for() {
    let refused = AtomicU32::new(0);
    let (_room, desk) = room(3000, move |seen| {
        let now = asked(seen, "cursor") == Some("1000") && refused.fetch_add(1, Ordering::SeqCst) < 3;
        now.then(|| {
            let mut busy = answer(429, r#"{"detail": "too many calls"}"#);
            busy.headers_mut().insert("retry-after", "0".parse().unwrap());
            busy
        })
    })
    .await;
    assert_eq!(rows(&desk.run(&["--by", "run", "--json"]).fine()).len(), 3000);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_has_enough_ends_it_and_a_signal_too() {
    let (_room, desk) = room(u64::MAX, |_| None).await;
    let mut child = desk
        .command(&["--by", "run", "--csv"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().starts_with("agent_id,run_id,"));
    drop(lines);
    assert_eq!(ended(&mut child), Some(0));
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(said, "");

    // Nobody reads, so that it stands in the middle of a page.
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let mut child = desk.command(&["--by", "run", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut first = [0; 10];
        child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
        rustix::process::kill_process(Pid::from_child(&child), signal).unwrap();
        assert_eq!(ended(&mut child), Some(code));
    }
}

fn ended(child: &mut std::process::Child) -> Option<i32> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        assert!(Instant::now() < deadline, "it does not end");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_who_waits_sees_how_far_it_is_and_nothing_of_it_stays() {
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let (_room, desk) = room(2500, move |seen| {
        if asked(seen, "cursor") == Some("1000") {
            // Until the test has seen the line.
            let _ = wait.lock().unwrap().recv_timeout(PATIENCE);
        }
        None
    })
    .await;
    let home = desk.home.path().to_str().unwrap();
    let env = [
        ("HOME", home),
        ("PRICKLE_HOME", home),
        ("LANG", "C.UTF-8"),
        ("TERM", "xterm-256color"),
        ("PRICKLE_SERVER", &desk.server),
        ("PRICKLE_TOKEN", &desk.token),
    ];
    let script = format!("{} runs --by run --csv > out.csv; echo ended $?", env!("CARGO_BIN_EXE_prickle"));
    let mut terminal = Terminal::start(&["/bin/sh", "-c", &format!("cd {home}; {script}")], &env, 60, 5);
    terminal.wait_for("1,000 of 2,500 runs …");
    go.send(()).unwrap();
    terminal.wait_for("ended 0");
    assert_eq!(terminal.rows()[0], "ended 0", "{}", terminal.text());
    assert_eq!(std::fs::read_to_string(desk.home.path().join("out.csv")).unwrap().lines().count(), 2501);

    // In a pipe nothing is told.
    drop(go);
    let ran = Ran::of(desk.command(&["--by", "run", "--csv"]).output().unwrap());
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
}
