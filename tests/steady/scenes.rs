//! What a watch goes through, and what that costs: the tests play it in small, `cargo bench --bench watch` in full.
#![allow(dead_code, reason = "each program plays its part")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use chrono::{TimeDelta, Utc};
use prickle::wire::Time;
use serde_json::Value;

use crate::crowd::{doing, id, pulse};
use crate::stage::{self, Figures, Stage, Watch, greet};

/// Long enough after the last picture for whatever else was to be done at the start.
const SETTLED: Duration = Duration::from_secs(2);

/// What was used and held before and after.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    pub before: Figures,
    pub after: Figures,
}

impl Span {
    /// Bytes that were written meanwhile.
    pub fn written(&self) -> usize {
        self.after.written - self.before.written
    }

    /// Bytes of memory that it grew by.
    pub fn grew(&self) -> u64 {
        self.after.resident.saturating_sub(self.before.resident)
    }

    pub fn share(&self) -> f64 {
        self.after.share_since(&self.before)
    }

    pub fn waits(&self) -> f64 {
        self.after.waits_since(&self.before)
    }
}

/// A quiet agent of the crowd, as of so long ago.
fn idle(n: usize, said: Time) -> Value {
    let mut pulse = pulse(n, said, &doing(n, 0));
    pulse["availability"] = "idle".into();
    for name in ["run_failure", "intent"] {
        pulse.as_object_mut().unwrap().remove(name);
    }
    pulse
}

/// A room in which nobody says anything.
fn quiet(pulses: Vec<Value>, (columns, rows): (u16, u16), shows: &str, lasts: Duration) -> Span {
    let mut stage = Stage::open();
    let mut watch = stage.watch(columns, rows);
    let runtime = stage.runtime;
    runtime.spawn(async move {
        let mut visit = stage.room.visit().await;
        greet(&mut visit, &pulses, 0, Utc::now()).await;
        stage::listen(&mut visit).await;
    });
    watch.terminal.wait_for(shows);
    watch.pass(SETTLED);
    let before = watch.figures();
    watch.pass(lasts);
    Span { before, after: watch.figures() }
}

/// Idle agents whose ages, told in hours, stay what they are meanwhile.
pub fn nothing_changes(agents: usize, lasts: Duration) -> Span {
    let said = Utc::now() - TimeDelta::minutes(150);
    quiet((0..agents).map(|n| idle(n, said)).collect(), (80, 24), "agent-00000", lasts)
}

/// Idle agents whose ages change every minute, each at another time.
pub fn ages_change(agents: usize, lasts: Duration) -> Span {
    let said = |n: usize| Utc::now() - TimeDelta::milliseconds(3_000 * i64::try_from(n % 1000).unwrap());
    quiet((0..agents).map(|n| idle(n, said(n))).collect(), (80, 24), "agent-00000", lasts)
}

/// Many agents of which a screen shows a few.
pub fn crowd_is_quiet(agents: usize, size: (u16, u16), lasts: Duration) -> Span {
    let now = Utc::now();
    quiet(crowd(agents, now), size, "website-v2", lasts)
}

/// The whole crowd, whose last reports are spread over an hour.
fn crowd(agents: usize, now: Time) -> Vec<Value> {
    let said = |n: usize| now - TimeDelta::milliseconds(i64::try_from(n * 7919 % 3_600_000).unwrap());
    (0..agents).map(|n| pulse(n, said(n), &doing(n, 0))).collect()
}

/// So many reports a second of a crowd.
#[derive(Debug, Clone, Copy)]
pub struct Rush {
    pub agents: usize,
    pub rate: u64,
    pub size: (u16, u16),
    pub lasts: Duration,
}

/// What came of a rush: the span, and how many reports were sent meanwhile.
pub fn rush(rush: Rush) -> (Span, u64) {
    let mut stage = Stage::open();
    let mut watch = stage.watch(rush.size.0, rush.size.1);
    let runtime = stage.runtime;
    let sent = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&sent);
    let sender = runtime.spawn(async move {
        let mut visit = stage.room.visit().await;
        greet(&mut visit, &crowd(rush.agents, Utc::now()), 0, Utc::now()).await;
        let mut tick = tokio::time::interval(Duration::from_nanos(1_000_000_000 / rush.rate));
        let mut seq = 0;
        loop {
            tick.tick().await;
            seq += 1;
            // All take turns, in an order that jumps about.
            let n = usize::try_from(seq).unwrap() * 7919 % rush.agents;
            let step = usize::try_from(seq).unwrap();
            stage::tell(&mut visit, seq, pulse(n, Utc::now(), &doing(n, step))).await;
            count.store(seq, Ordering::Relaxed);
        }
    });
    watch.terminal.wait_for("website-v2");
    watch.pass(SETTLED);
    let (before, first) = (watch.figures(), sent.load(Ordering::Relaxed));
    watch.pass(rush.lasts);
    let (after, last) = (watch.figures(), sent.load(Ordering::Relaxed));
    sender.abort();
    (Span { before, after }, last - first)
}

/// What one changed row costs the terminal: the bytes that came for it.
pub fn one_row(size: (u16, u16)) -> Vec<u8> {
    let mut stage = Stage::open();
    let mut watch = stage.watch(size.0, size.1);
    let runtime = stage.runtime;
    let (go, mut going) = tokio::sync::mpsc::channel::<()>(1);
    runtime.spawn(async move {
        let mut visit = stage.room.visit().await;
        let said = Utc::now();
        let mut pulses: Vec<Value> = (0..5).map(|n| idle(n, said)).collect();
        pulses[2]["doing"] = "Writing the hero copy".into();
        greet(&mut visit, &pulses, 0, said).await;
        going.recv().await.unwrap();
        pulses[2]["doing"] = "Reading the proofs of it".into();
        stage::tell(&mut visit, 1, pulses[2].clone()).await;
        stage::listen(&mut visit).await;
    });
    watch.terminal.wait_for("Writing the hero copy");
    watch.pass(SETTLED);
    let before = watch.terminal.raw().len();
    go.blocking_send(()).unwrap();
    watch.terminal.wait_for("Reading the proofs of it");
    watch.terminal.raw()[before..].to_vec()
}

/// Very many events, as fast as they are taken in.
#[derive(Debug, Clone, Copy)]
pub struct Flood {
    pub events: u64,
    /// How many agents there are at any time.
    pub agents: usize,
    /// How many agents come, and go again, over time.
    pub come_and_go: u64,
    pub size: (u16, u16),
}

/// Figures in the course of a flood, by the number of events that had been sent.
pub fn flood(flood: Flood) -> Vec<(u64, Figures)> {
    const END: &str = "the end of the flood";
    let mut stage = Stage::open();
    let mut watch = stage.watch(flood.size.0, flood.size.1);
    let runtime = stage.runtime;
    let sent = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&sent);
    runtime.spawn(async move {
        let mut visit = stage.room.visit().await;
        greet(&mut visit, &[], 0, Utc::now()).await;
        let every = flood.events / flood.come_and_go.max(1);
        let (mut seq, mut first) = (0, 0);
        while seq < flood.events {
            seq += 1;
            if seq % every == 0 {
                // The longest there leaves, and by that makes room for another.
                stage::gone(&mut visit, seq, &id(first), Utc::now()).await;
                first += 1;
            } else {
                let step = usize::try_from(seq).unwrap();
                let n = first + step % flood.agents;
                stage::tell(&mut visit, seq, pulse(n, Utc::now(), &doing(n, step))).await;
            }
            count.store(seq, Ordering::Relaxed);
        }
        let mut last = idle(first, Utc::now());
        last["doing"] = END.into();
        stage::tell(&mut visit, seq + 1, last).await;
        stage::listen(&mut visit).await;
    });
    let mut figures = Vec::new();
    let most = Duration::from_mins(10);
    let began = Instant::now();
    while !watch.terminal.text().contains(END) {
        assert!(began.elapsed() < most, "not all is taken in: {}", watch.terminal.text());
        watch.pass(Duration::from_millis(250));
        figures.push((sent.load(Ordering::Relaxed), watch.figures()));
    }
    figures
}

/// A room that cuts its watcher off again and again. The figures after the first `warm` times, and after all.
pub fn reconnects(times: usize, warm: usize) -> Span {
    let mut stage = Stage::open();
    let mut watch = stage.watch(80, 24);
    let runtime = stage.runtime;
    let visits = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&visits);
    runtime.spawn(async move {
        let pulses: Vec<Value> = (0..50).map(|n| idle(n, Utc::now())).collect();
        let mut visit = stage.room.visit().await;
        greet(&mut visit, &pulses, 0, Utc::now()).await;
        drop(visit);
        for n in 1..=times {
            let mut visit = stage.room.visit().await;
            stage::welcome_back(&mut visit, 0, Utc::now()).await;
            count.store(n, Ordering::Relaxed);
            if n == times {
                stage::listen(&mut visit).await;
            }
        }
    });
    watch.terminal.wait_for("agent-00000");
    let before = call_back(&mut watch, &visits, warm);
    let after = call_back(&mut watch, &visits, times);
    Span { before, after }
}

/// Asks for a connection whenever there is none, until there were so many.
fn call_back(watch: &mut Watch, visits: &AtomicUsize, times: usize) -> Figures {
    let mut seen = visits.load(Ordering::Relaxed);
    let mut since = Instant::now();
    while visits.load(Ordering::Relaxed) < times {
        watch.terminal.send("r");
        watch.pass(Duration::from_millis(5));
        let now = visits.load(Ordering::Relaxed);
        if now > seen {
            (seen, since) = (now, Instant::now());
        }
        assert!(
            since.elapsed() < Duration::from_secs(20),
            "it does not come back: {}",
            watch.terminal.text()
        );
    }
    watch.figures()
}

/// Whether a whole screen was cleared among these bytes.
pub fn clears(bytes: &[u8]) -> bool {
    bytes.windows(4).any(|codes| codes == b"\x1b[2J")
}
