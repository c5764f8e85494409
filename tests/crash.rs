//! What the room has acknowledged survives the end of its process at any moment.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, missing_docs)]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use common::PATIENCE;
use common::caller::{Answer, Caller, run_report, with};
use common::child::{How, Served};
use common::room::make_key;
use common::watcher::{Heard, Watcher};
use serde_json::{Value, json};

const PROJECT: &str = "website-v2";
const CONNECTIONS: usize = 16;
const KILLS: usize = 10;
const ACKNOWLEDGED: usize = 10_000;

/// What one connection knows of its agent.
#[derive(Debug, Default)]
struct Told {
    /// Runs whose report was answered.
    runs: Vec<String>,
    /// The last pulse that was answered.
    pulse: u64,
    /// Pulses sent after it, whose answer never came: each may have been stored or not.
    in_flight: Vec<u64>,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_9_takes_nothing_that_was_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("room.db");
    let person = make_key(&db, "person", "acme", &[PROJECT]);
    let keys: Vec<String> =
        (0..CONNECTIONS).map(|n| make_key(&db, "client", &format!("acme/agent-{n}"), &[PROJECT])).collect();
    let mut served = Served::start_how(folder.path(), How { more: vec!["--rate", "off"], ..How::default() });
    let acknowledged = Arc::new(AtomicUsize::new(0));
    let over = Arc::new(AtomicBool::new(false));
    let callers: Vec<_> = keys
        .iter()
        .enumerate()
        .map(|(n, key)| {
            tokio::spawn(report(
                served.caller(),
                key.clone(),
                n,
                Arc::clone(&acknowledged),
                Arc::clone(&over),
            ))
        })
        .collect();
    // Before the first kill: after it there may be no room to open at.
    let watcher = Watcher::open(&served.caller(), &person, PROJECT, None).await.unwrap();
    let watching = tokio::spawn(follow(watcher, served.caller(), person.clone(), Arc::clone(&over)));

    let began = Instant::now();
    let mut random = Random::new();
    for kill in 1..=KILLS {
        // Somewhere in this tenth of the calls, with all connections at work; the last when all are made.
        let upto = kill * ACKNOWLEDGED / KILLS;
        let at = if kill == KILLS { upto } else { upto - random.below(ACKNOWLEDGED / KILLS) };
        until_long("the room takes calls", || acknowledged.load(Ordering::Relaxed) >= at).await;
        tokio::time::sleep(Duration::from_micros(random.below(5000) as u64)).await;
        if kill == KILLS {
            over.store(true, Ordering::Relaxed);
        }
        served.kill9();
        served.again();
    }
    let took = began.elapsed();

    let mut told = Vec::new();
    for caller in callers {
        told.push(caller.await.unwrap());
    }
    let room = served.caller();
    let snapshot = room.get(&person, &format!("/v1/projects/{PROJECT}/pulse")).await.1;
    let seq = snapshot["seq"].as_u64().unwrap();
    let heard = watching.await.unwrap().upto(&room, &person, seq).await;

    // Each acknowledged run exists once; whatever else exists was in flight.
    let stored = all_runs(&room, &person).await;
    let distinct: BTreeSet<&String> = stored.iter().collect();
    assert_eq!(stored.len(), distinct.len(), "no record twice");
    let runs: usize = told.iter().map(|t| t.runs.len()).sum();
    for run in told.iter().flat_map(|t| &t.runs) {
        assert!(distinct.contains(run), "the record of {run} was acknowledged and is lost");
    }
    assert!(stored.len() <= runs + CONNECTIONS * KILLS);

    // Each agent's pulse is its last acknowledged one, or one that was in flight after it.
    let stands: BTreeMap<&str, u64> = snapshot["pulses"].as_array().unwrap().iter().map(said).collect();
    for (n, told) in told.iter().enumerate() {
        let pulse = stands[format!("acme/agent-{n}").as_str()];
        assert!(
            pulse == told.pulse || told.in_flight.contains(&pulse),
            "agent {n}: {pulse} stands, {told:?}"
        );
    }

    // Every number once, none left out, and what was told before a crash is what is told after it.
    assert_eq!(heard.events.len() as u64, seq);
    let mut last = BTreeMap::new();
    for (n, event) in heard.events.iter().enumerate() {
        assert_eq!(event["seq"].as_u64(), Some(n as u64 + 1));
        let (agent, doing) = said(&event["pulse"]);
        let before = last.insert(agent.to_owned(), doing).unwrap_or(0);
        assert!(doing > before, "{agent} said {doing} after {before}");
    }
    for (agent, pulse) in &stands {
        assert_eq!(last[*agent], *pulse, "the last event of {agent} is its pulse");
    }
    let acknowledged = acknowledged.load(Ordering::Relaxed);
    assert!(acknowledged >= ACKNOWLEDGED);
    println!(
        "{acknowledged} acknowledged ({runs} runs, {} stored; {seq} events) in {took:.1?} with {KILLS} kills, \
         {} feeds, seed {}",
        stored.len(),
        heard.feeds,
        random.seed
    );
}

/// Who, and the number that it said last.
fn said(pulse: &Value) -> (&str, u64) {
    (pulse["agent_id"].as_str().unwrap(), pulse["doing"].as_str().unwrap().parse().unwrap())
}

/// Calls the two tools in turn until it is over, as fast as they are answered.
async fn report(
    room: Caller,
    key: String,
    n: usize,
    acknowledged: Arc<AtomicUsize>,
    over: Arc<AtomicBool>,
) -> Told {
    let mut told = Told::default();
    let mut turn = 0;
    while !over.load(Ordering::Relaxed) {
        turn += 1;
        let answer = if turn % 2 == 0 {
            let run = format!("4f7c2a9e-3b1d-4c8e-9a6f-{n:04}{turn:08}");
            let report = with(&run_report(&run), json!({"turns": turn, "exit_code": null}));
            let answer = room.call(&key, "report_run", report).await;
            if let Answer::Done(done) = &answer {
                assert_eq!(done["run"]["turns"], turn);
                told.runs.push(run);
            }
            answer
        } else {
            told.in_flight.push(turn);
            let answer =
                room.call(&key, "update_pulse", json!({"project": PROJECT, "doing": turn.to_string()})).await;
            if let Answer::Done(done) = &answer {
                assert_eq!(done["pulse"]["doing"], turn.to_string());
                told.pulse = turn;
                told.in_flight.clear();
            }
            answer
        };
        match answer {
            Answer::Done(_) => {
                acknowledged.fetch_add(1, Ordering::Relaxed);
            }
            // The room was killed; it is back as soon as it answers.
            Answer::Broken(_) => {
                let deadline = Instant::now() + PATIENCE;
                while !over.load(Ordering::Relaxed) {
                    let asked = room.request(reqwest::Method::GET, "", "/healthz").send().await;
                    if asked.is_ok_and(|answer| answer.status() == 200) {
                        break;
                    }
                    assert!(Instant::now() < deadline, "the room does not come back");
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            }
            other => panic!("a good call was answered with {other:?}"),
        }
    }
    told
}

/// Everything that was heard of the room, over as many feeds as it took.
struct Followed {
    place: String,
    events: Vec<Value>,
    feeds: usize,
}

/// Watches from the first event on; after each crash it goes on from where it was.
async fn follow(mut watcher: Watcher, room: Caller, person: String, over: Arc<AtomicBool>) -> Followed {
    let picture = watcher.picture().await;
    let mut followed = Followed { place: format!("{}.0", picture.epoch), events: picture.recent, feeds: 1 };
    assert_eq!(picture.seq, followed.events.len() as u64);
    while !over.load(Ordering::Relaxed) {
        followed.hear_while(&mut watcher, || !over.load(Ordering::Relaxed)).await;
        if !over.load(Ordering::Relaxed) {
            watcher = followed.again(&room, &person).await;
        }
    }
    followed
}

impl Followed {
    /// Opens the feed at the place it broke off; it must go on from there.
    async fn again(&mut self, room: &Caller, person: &str) -> Watcher {
        let epoch = self.place.split('.').next().unwrap().to_owned();
        let place = format!("{epoch}.{}", self.events.len());
        self.feeds += 1;
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Ok(watcher) = Watcher::open(room, person, PROJECT, Some(&place)).await {
                return watcher;
            }
            assert!(Instant::now() < deadline, "the room does not come back");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn hear_while(&mut self, watcher: &mut Watcher, going_on: impl Fn() -> bool) {
        while going_on() {
            match watcher.hear().await {
                Heard::Frame(frame) => match frame["type"].as_str().unwrap() {
                    "hello" => {
                        assert_eq!(frame["resumed"], true, "the room has lost events: {frame}");
                        assert!(frame["seq"].as_u64().unwrap() >= self.events.len() as u64);
                    }
                    "pulse" => self.events.push(frame),
                    "run" => {}
                    // It was too slow: what it missed is to be had by asking again.
                    "snapshot" => return,
                    other => panic!("{other}"),
                },
                Heard::Cut => return,
                Heard::Closed(code) => panic!("closed with {code}"),
            }
        }
    }

    async fn upto(mut self, room: &Caller, person: &str, seq: u64) -> Self {
        let mut watcher = self.again(room, person).await;
        let held = self.events.len() as u64;
        assert!(held <= seq, "{held} events were told, the room has {seq}");
        let (_, newest) = watcher.resumed().await;
        assert_eq!(newest, seq);
        for seq in held + 1..=seq {
            let event = watcher.event_among_runs(seq).await;
            self.events.push(event);
        }
        self
    }
}

async fn all_runs(room: &Caller, person: &str) -> Vec<String> {
    let mut runs = Vec::new();
    let mut path = "/v1/runs?limit=1000".to_owned();
    loop {
        let (status, page) = room.get(person, &path).await;
        assert_eq!(status, 200, "{page}");
        let ids = page["runs"].as_array().unwrap().iter();
        runs.extend(ids.map(|run| run["run_id"].as_str().unwrap().to_owned()));
        let Some(cursor) = page["next_cursor"].as_str() else { return runs };
        path = format!("/v1/runs?limit=1000&cursor={cursor}");
    }
}

async fn until_long(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_mins(2);
    while !holds() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// xorshift: which moment it is need not be secret, only another one each time.
struct Random {
    seed: u64,
    state: u64,
}

impl Random {
    fn new() -> Self {
        let seed = chrono::Utc::now().timestamp_micros().unsigned_abs() | 1;
        Self { seed, state: seed }
    }

    fn below(&mut self, limit: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        usize::try_from(self.state % limit as u64).unwrap()
    }
}
