//! What a million run records cost whoever asks: `cargo bench --bench records`, or another number of them behind `--`.
//!
//! Reports made-up records to a real store, then asks the room over HTTP, `prickle runs` as a whole process and the
//! watch in a terminal, all as built for release, and prints what was seen beside what is promised; ends with 1 if a
//! promise is broken. Takes some minutes, most of them for the reports. `--scattered` lets any agent work on any task in any project.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, missing_docs)]

#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../tests/common/pty.rs"]
mod pty;
#[path = "../tests/common/records.rs"]
mod records;
#[path = "common/mod.rs"]
mod tables;

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use chrono::{SecondsFormat, TimeDelta, Utc};
use common::room::{Room, Shape};
use prickle::wire::query::Order;
use pty::Terminal;
use records::{Load, OWNER, PROJECTS};
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use tables::Table;
use tempfile::TempDir;
use tokio::runtime::Runtime;

const PRICKLE: &str = env!("CARGO_BIN_EXE_prickle");
const TIMES: usize = 9;
const KIB: u64 = 1 << 10;
const AT_ONCE: Duration = Duration::from_millis(50);
const SOON: Duration = Duration::from_millis(300);
const FRAME: Duration = Duration::from_millis(150);

/// What a summary says of each group, from the records themselves.
const NUMBERS: &str =
    "count(*), sum(input_tokens), count(input_tokens), sum(output_tokens), count(output_tokens),
    sum(turns), count(turns), sum(duration_ms), count(duration_ms), sum(exit_code <> 0), count(exit_code),
    min(reported_at), max(reported_at)";

/// The same from the sums that the room keeps.
const SUMS: &str = "sum(runs), sum(input), sum(input_known), sum(output), sum(output_known), sum(turns),
    sum(turns_known), sum(duration), sum(duration_known), sum(failed), sum(failed_known), min(first_at), max(last_at)";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let records = arguments.iter().find_map(|argument| argument.parse().ok()).unwrap_or(1_000_000);
    let scattered = arguments.iter().any(|argument| argument == "--scattered");
    let load = Load { scattered, ..Load::of(records) };
    let mut table = Table::default();
    let runtime = Runtime::new().unwrap();
    let house = House::with(&runtime, load);
    house.pages(&mut table);
    house.orders(&mut table);
    house.summaries(&mut table);
    beside(&house.room.db);
    house.command(&mut table);
    house.screen(&mut table);
    let few = House::with(&runtime, Load { records: 1000.min(records), ..load });
    memory(&mut table, &few, &house);
    ExitCode::from(u8::from(table.broken))
}

/// A room with records in it, its owner's key, and a home for those who ask.
struct House<'a> {
    runtime: &'a Runtime,
    load: Load,
    room: Room,
    key: String,
    home: TempDir,
}

/// The middle one of so many durations.
fn median(times: usize, mut act: impl FnMut() -> Duration) -> Duration {
    let mut all: Vec<Duration> = (0..times).map(|_| act()).collect();
    all.sort_unstable();
    all[times / 2]
}

fn took<T>(act: impl FnOnce() -> T) -> Duration {
    let began = Instant::now();
    std::hint::black_box(act());
    began.elapsed()
}

impl<'a> House<'a> {
    fn with(runtime: &'a Runtime, load: Load) -> Self {
        let room = runtime.block_on(Room::with(Shape::default()));
        let began = Instant::now();
        runtime.block_on(records::report(&room.store, &room.db, load));
        let lasted = began.elapsed();
        let key = room.key("person", OWNER, &[]);
        Table::title(&format!("{} records of {} tasks", load.records, load.tasks()));
        let rate = u128::from(load.records) * 1000 / lasted.as_millis().max(1);
        Table::seen("reported in", format!("{lasted:.1?}"));
        Table::seen("  records a second", rate);
        Table::seen("  database, MiB", std::fs::metadata(&room.db).unwrap().len() >> 20);
        Self { runtime, load, room, key, home: TempDir::new().unwrap() }
    }

    /// An answer, which must be a good one.
    fn get(&self, path: &str) -> Value {
        let (status, body) = self.runtime.block_on(self.room.get(&self.key, path));
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    /// From the request to the last byte of the answer: a few times, the middle one.
    fn asks(&self, path: &str) -> Duration {
        median(TIMES, || {
            took(|| {
                self.runtime.block_on(async {
                    let asked = self.room.request(reqwest::Method::GET, &self.key, path);
                    let answer = asked.send().await.unwrap();
                    assert_eq!(answer.status(), 200, "{path}");
                    answer.bytes().await.unwrap()
                })
            })
        })
    }

    fn pages(&self, table: &mut Table) {
        Table::title("pages over HTTP, newest first");
        let one = &self.get("/v1/runs?limit=1")["runs"][0];
        let (task, agent) = (one["task_id"].as_str().unwrap(), one["agent_id"].as_str().unwrap());
        let of = [
            String::new(),
            format!("&task={task}"),
            format!("&agent={agent}"),
            format!("&project={}", PROJECTS[0]),
        ];
        for (what, filter) in ["all", "of one task", "of one agent", "of one project"].into_iter().zip(of) {
            for limit in [100, 1000] {
                let asked = self.asks(&format!("/v1/runs?limit={limit}{filter}"));
                table.time(&format!("{limit} records, {what}"), asked, AT_ONCE);
            }
        }
    }

    fn orders(&self, table: &mut Table) {
        Table::title("pages of 100 records over HTTP, in other orders");
        for order in Order::OF_RECORDS.iter().skip(1).map(|order| order.as_str()) {
            for (direction, said) in [("-", "largest"), ("", "smallest")] {
                let asked = self.asks(&format!("/v1/runs?sort={direction}{order}"));
                table.time(&format!("{order}, {said} first"), asked, SOON);
            }
        }
        // As far as one gets by turning pages: into what has no duration, and so comes last.
        for sort in ["-reported_at", "-duration_ms"] {
            let mut cursor = String::new();
            let mut turned = 0;
            while turned < 50 {
                let page = self.get(&format!("/v1/runs?sort={sort}&limit=1000{cursor}"));
                let Some(next) = page["next_cursor"].as_str() else { break };
                cursor = format!("&cursor={next}");
                turned += 1;
            }
            let asked = self.asks(&format!("/v1/runs?sort={sort}&limit=1000{cursor}"));
            table.time(&format!("{sort}, 1000 records after {turned} pages of as many"), asked, SOON);
        }
    }

    fn summaries(&self, table: &mut Table) {
        Table::title("summaries over HTTP");
        for (by, more) in [("task", ""), ("agent", ""), ("project", ""), ("day", "&tz=Europe/Berlin")] {
            let path = format!("/v1/runs/summary?by={by}{more}");
            let groups = &self.get(&path)["groups"];
            table.time(&format!("by {by}, {groups} groups"), self.asks(&path), AT_ONCE);
        }
        let since = (Utc::now() - TimeDelta::days(7)).to_rfc3339_opts(SecondsFormat::Secs, true);
        let path = format!("/v1/runs/summary?by=task&since={since}");
        let groups = &self.get(&path)["groups"];
        table.time(&format!("by task, the last 7 days, {groups} groups"), self.asks(&path), SOON);
        for limit in [100, 1000] {
            let path = format!("/v1/runs/summary?by=task&sort=-tokens&limit={limit}");
            Table::seen(
                &format!("by task, the {limit} with the most tokens"),
                format!("{:.0?}", self.asks(&path)),
            );
        }
    }

    fn environment(&self) -> [(&'static str, String); 9] {
        let home = self.home.path().to_str().unwrap();
        [
            ("HOME", home.into()),
            ("PRICKLE_HOME", home.into()),
            ("PRICKLE_SERVER", self.room.url.clone()),
            ("PRICKLE_TOKEN", self.key.clone()),
            ("PRICKLE_PROJECT", PROJECTS[0].into()),
            ("PRICKLE_LOCAL_PORT", "none: a server is named".into()),
            ("TERM", "xterm-256color".into()),
            ("LANG", "C.UTF-8".into()),
            ("TZ", "Europe/Berlin".into()),
        ]
    }

    /// `prickle runs` from its start to its end.
    fn command(&self, table: &mut Table) {
        Table::title("`prickle runs` as a process");
        let mut runs = |arguments: &[&str], most: Option<Duration>| {
            let mut lines = 0;
            let asked = median(TIMES, || {
                took(|| {
                    let mut command = Command::new(PRICKLE);
                    command.arg("runs").args(arguments).env_clear().envs(self.environment());
                    let ran = command.stdin(Stdio::null()).output().unwrap();
                    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
                    lines = String::from_utf8(ran.stdout).unwrap().lines().count();
                })
            });
            let what = format!("{}: {lines} lines", arguments.join(" "));
            match most {
                Some(most) => table.time(&what, asked, most),
                None => Table::seen(&what, format!("{asked:.0?}")),
            }
        };
        runs(&["--by", "task", "--since", "all"], Some(SOON));
        runs(&[], Some(SOON));
        runs(&["--by", "day", "--since", "all"], Some(SOON));
        runs(&["--by", "agent", "--since", "all"], Some(SOON));
        runs(&["--by", "task", "--since", "all", "--csv"], None);
        runs(&["--by", "task", "--since", "all", "--json"], None);
    }

    /// A watch whose first picture is there.
    fn watch(&self) -> Terminal {
        let environment = self.environment();
        let environment: Vec<(&str, &str)> =
            environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let mut watch = Terminal::start(&[PRICKLE, "watch"], &environment, 120, 30);
        watch.wait_for_all(&["live", "? help"]);
        watch
    }

    fn screen(&self, table: &mut Table) {
        Table::title("the watch in a terminal, from a key to the picture");
        let rows = |terminal: &mut Terminal| terminal.wait_for("task-");
        let opened = median(5, || {
            let mut watch = self.watch();
            took(|| {
                watch.send("3");
                rows(&mut watch);
            })
        });
        table.time("3: the runs by task", opened, FRAME);
    }

    /// The memory, in bytes, of a watch that has looked at the tasks of all days, and at thousands of an agent's runs.
    fn looked_through(&self) -> u64 {
        let mut watch = self.watch();
        watch.send("3");
        watch.wait_for("task-");
        watch.send("dd");
        watch.wait_for("all days");
        scroll(&mut watch, 10);
        watch.send("go");
        watch.wait_for("▌acme/");
        watch.send("\r");
        watch.wait_for("reported");
        scroll(&mut watch, 60);
        resident(&watch)
    }
}

/// Half a page down so many times five, with a little time to get there.
fn scroll(terminal: &mut Terminal, times: u32) {
    for _ in 0..times {
        let began = Instant::now();
        terminal.send(&"\x04".repeat(5));
        terminal.wait_anyhow("a moment passes", |_| began.elapsed() > Duration::from_millis(40));
    }
}

/// Bytes of memory that the program in the terminal holds.
fn resident(terminal: &Terminal) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", terminal.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * KIB
}

/// The same sums by plain SQL on the same file, without a room.
fn beside(db: &Path) {
    Table::title("beside them: SQL on the same file, without a room");
    let connection = Connection::open_with_flags(db, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let seen = |what: &str, sql: &str| {
        let mut rows = 0;
        let asked = median(3, || {
            took(|| {
                let mut statement = connection.prepare(sql).unwrap();
                let mut found = statement.query([]).unwrap();
                rows = 0;
                while let Some(row) = found.next().unwrap() {
                    std::hint::black_box(row.get_ref(0).unwrap());
                    rows += 1;
                }
            })
        });
        Table::seen(&format!("{what}: {rows} rows"), format!("{asked:.0?}"));
    };
    for by in ["project, task", "agent", "project", "reported_at / 86400000"] {
        seen(
            &format!("GROUP BY {by} over the records"),
            &format!("SELECT {by}, {NUMBERS} FROM runs GROUP BY {by}"),
        );
    }
    Table::title("and on the sums that the room keeps");
    for (by, of) in [
        ("project, task", "task_sums WHERE agent = 0"),
        ("agent", "agent_sums"),
        ("project", "agent_sums"),
        ("quarter / 96", "quarter_sums WHERE project = 0 AND agent = 0"),
    ] {
        seen(&format!("GROUP BY {by} over {of}"), &format!("SELECT {by}, {SUMS} FROM {of} GROUP BY {by}"));
    }
}

fn memory(table: &mut Table, few: &House<'_>, many: &House<'_>) {
    Table::title("memory (RSS) of the watch that has looked through the runs");
    let seen: Vec<u64> = [few, many]
        .into_iter()
        .map(|house| {
            let mut all: Vec<u64> = (0..3).map(|_| house.looked_through()).collect();
            all.sort_unstable();
            Table::seen(&format!("{} records", house.load.records), format!("{} KiB", all[1] / KIB));
            all[1]
        })
        .collect();
    table.most("the second is larger by", seen[1].saturating_sub(seen[0]) / KIB, 2048, "KiB");
}
