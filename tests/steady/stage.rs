//! A watch in a terminal, fed by a room that says what a scene wants; and what the kernel says of it.

use std::time::{Duration, Instant};

use prickle::wire::Time;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::fake_room::{FakeRoom, SECRET, Visit, answer};
use crate::pty::Terminal;

pub const PROJECT: &str = "website-v2";
const EPOCH: &str = "e1";
/// Pulses in one part of a picture.
const PART: usize = 200;

/// The room, and a home for its watcher.
pub struct Stage {
    pub room: FakeRoom,
    pub runtime: Runtime,
    folder: TempDir,
}

impl Stage {
    pub fn open() -> Self {
        // The room must not wait for the terminal, which is read by the test itself.
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let room = runtime.block_on(FakeRoom::open());
        room.answer(|seen| match seen.path.as_str() {
            "/v1/me" => {
                let me = json!({"kind": "person", "owner": "team-000", "agent_id": null, "projects": null});
                Some(answer(200, &me.to_string()))
            }
            path if path.ends_with("/feed") => None,
            _ => Some(answer(404, "{}")),
        });
        Self { room, runtime, folder: TempDir::new().unwrap() }
    }

    /// `prickle watch` on the room.
    pub fn watch(&self, columns: u16, rows: u16) -> Watch {
        let home = self.folder.path().to_str().unwrap();
        let environment = [
            ("HOME", home),
            ("PRICKLE_HOME", home),
            ("PRICKLE_SERVER", &self.room.url()),
            ("PRICKLE_TOKEN", SECRET),
            ("PRICKLE_PROJECT", PROJECT),
            ("TERM", "xterm-256color"),
            ("LANG", "C.UTF-8"),
            ("TZ", "UTC"),
        ];
        let argv = [env!("CARGO_BIN_EXE_prickle"), "watch"];
        Watch { terminal: Terminal::start(&argv, &environment, columns, rows) }
    }
}

/// A running watch.
pub struct Watch {
    pub terminal: Terminal,
}

impl Watch {
    /// Lets time pass while the terminal takes in what is written.
    pub fn pass(&mut self, time: Duration) {
        let began = Instant::now();
        self.terminal.wait_anyhow("time passes", |_| began.elapsed() >= time.min(Duration::from_secs(10)));
        if let Some(rest) = time.checked_sub(Duration::from_secs(10)).filter(|rest| !rest.is_zero()) {
            self.pass(rest);
        }
    }

    /// What it has used and holds by now.
    pub fn figures(&self) -> Figures {
        let process = self.terminal.id();
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
        let mut ticks =
            stat.rsplit(") ").next().unwrap().split(' ').skip(11).map(|text| text.parse::<u32>().unwrap());
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let tasks = std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
        let tasks: Vec<String> =
            tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("status")).ok()).collect();
        let waits = tasks.iter().filter_map(|task| {
            let line = task.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
            line?.trim().parse::<u64>().ok()
        });
        Figures {
            at: Instant::now(),
            busy: (ticks.next().unwrap() + ticks.next().unwrap()) * Duration::from_millis(10),
            resident: resident.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024,
            waits: waits.sum(),
            threads: tasks.len(),
            descriptors: std::fs::read_dir(format!("/proc/{process}/fd")).unwrap().count(),
            written: self.terminal.raw().len(),
        }
    }
}

/// What a watch has used and holds.
#[derive(Debug, Clone, Copy)]
pub struct Figures {
    pub at: Instant,
    /// Processor time.
    pub busy: Duration,
    /// Bytes of memory.
    pub resident: u64,
    /// How often a thread of it went to sleep, which is as often as one was woken.
    pub waits: u64,
    pub threads: usize,
    pub descriptors: usize,
    /// Bytes that reached the terminal.
    pub written: usize,
}

impl Figures {
    /// Which part of one core was used since then.
    pub fn share_since(&self, then: &Self) -> f64 {
        self.busy.saturating_sub(then.busy).as_secs_f64() / (self.at - then.at).as_secs_f64()
    }

    /// How often a second it was woken since then.
    #[allow(clippy::cast_precision_loss)]
    pub fn waits_since(&self, then: &Self) -> f64 {
        (self.waits - then.waits) as f64 / (self.at - then.at).as_secs_f64()
    }
}

/// Says hello and the whole room.
pub async fn greet(visit: &mut Visit, pulses: &[Value], seq: u64, now: Time) {
    visit
        .say(json!({"type": "hello", "epoch": EPOCH, "seq": seq, "server_time": now, "resumed": false}))
        .await;
    let parts = pulses.len().div_ceil(PART).max(1);
    for part in 0..parts {
        let pulses = &pulses[part * PART..((part + 1) * PART).min(pulses.len())];
        let last = part + 1 == parts;
        visit
            .say(json!({"type": "snapshot", "seq": seq, "pulses": pulses, "part": part, "last": last}))
            .await;
    }
    visit.say(json!({"type": "recent", "events": []})).await;
}

/// Says hello to one who has been here before and has missed nothing.
pub async fn welcome_back(visit: &mut Visit, seq: u64, now: Time) {
    visit
        .say(json!({"type": "hello", "epoch": EPOCH, "seq": seq, "server_time": now, "resumed": true}))
        .await;
}

/// An agent's new pulse.
pub async fn tell(visit: &mut Visit, seq: u64, pulse: Value) {
    visit.say(json!({"type": "pulse", "seq": seq, "at": pulse["updated_at"], "pulse": pulse})).await;
}

/// An agent has left.
pub async fn gone(visit: &mut Visit, seq: u64, id: &str, now: Time) {
    visit.say(json!({"type": "gone", "seq": seq, "at": now, "agent_id": id})).await;
}

/// Listens, so that pings are answered, until the watcher goes.
pub async fn listen(visit: &mut Visit) {
    while visit.next().await.is_some() {}
}
