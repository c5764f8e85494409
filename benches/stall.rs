//! The feed under stress, in full: `cargo bench --bench stall`, or with the name of one scenario behind `--`.
//!
//! Starts the real binary as built for release and prints what was seen beside what is promised. Ends with 1 if
//! a promise is broken. Takes about seven minutes, and room for some 4,000 open files.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, missing_docs)]

#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../tests/stress/crowd.rs"]
mod crowd;
#[path = "../tests/stress/load.rs"]
mod load;
#[path = "../tests/stress/stall.rs"]
mod stall;
#[path = "../tests/stress/storm.rs"]
mod storm;

use std::fmt::Display;
use std::process::ExitCode;
use std::time::Duration;

use prickle::client::feed::Options;
use rustix::process::{Resource, getrlimit, setrlimit};

const MIB: u64 = 1 << 20;

/// What was seen and promised.
struct Table {
    broken: bool,
}

impl Table {
    fn title(text: &str) {
        println!("\n{text}");
    }

    /// A figure without a promise.
    fn seen(what: &str, seen: impl Display) {
        println!("  {what:<58} {seen:>14}");
    }

    fn promised(&mut self, what: &str, seen: impl Display, promise: &str, kept: bool) {
        self.broken |= !kept;
        println!(
            "  {what:<58} {:>14}  {promise:<18} {}",
            seen.to_string(),
            if kept { "kept" } else { "BROKEN" }
        );
    }

    fn most(&mut self, what: &str, seen: u64, most: u64, unit: u64, name: &str) {
        let tenths = seen * 10 / unit;
        let shown = format!("{}.{} {name}", tenths / 10, tenths % 10);
        self.promised(what, shown.trim_end(), format!("<= {} {name}", most / unit).trim_end(), seen <= most);
    }
}

fn main() -> ExitCode {
    let asked: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let wanted = |name: &str| asked.is_empty() || asked.iter().any(|asked| asked == name);
    let mut files = getrlimit(Resource::Nofile);
    files.current = files.maximum;
    setrlimit(Resource::Nofile, files).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut table = Table { broken: false };
    if wanted("stopped") {
        runtime.block_on(stopped(&mut table));
    }
    if wanted("never") {
        runtime.block_on(never(&mut table));
    }
    if wanted("many") {
        runtime.block_on(many(&mut table));
    }
    if wanted("crowd") {
        runtime.block_on(crowded(&mut table));
    }
    if wanted("storm") {
        runtime.block_on(storms(&mut table));
    }
    ExitCode::from(u8::from(table.broken))
}

async fn stopped(table: &mut Table) {
    Table::title("1,000 watchers stop reading, 100 reports of 2 KB a second for 60 s, 50 others watch");
    let scale = stall::Scale {
        stalled: 1000,
        healthy: 50,
        rate: 100,
        files: 6,
        before: 200,
        lasts: Duration::from_mins(1),
        waves: Duration::from_secs(28),
        nap: Duration::from_secs(15),
    };
    let figures = stall::run(scale).await;
    stalls(table, &figures, 40, 600, scale.healthy as u64);
}

async fn never(table: &mut Table) {
    Table::title("10 watchers never read, 500 reports of 2 KB a second for 2 min");
    let scale = stall::Scale {
        stalled: 10,
        healthy: 1,
        rate: 500,
        files: 6,
        before: 200,
        lasts: Duration::from_mins(2),
        waves: Duration::from_mins(2),
        nap: Duration::from_secs(15),
    };
    let figures = stall::run(scale).await;
    stalls(table, &figures, 20, 600, scale.healthy as u64);
}

async fn many(table: &mut Table) {
    Table::title("500 watchers follow 100 reports of 0.5 KB a second for 20 s");
    let scale = stall::Scale {
        stalled: 1,
        healthy: 500,
        rate: 100,
        files: 1,
        before: 200,
        lasts: Duration::from_secs(20),
        waves: Duration::from_secs(20),
        nap: Duration::from_secs(5),
    };
    let figures = stall::run(scale).await;
    stalls(table, &figures, 40, 600, scale.healthy as u64);
}

fn stalls(table: &mut Table, figures: &stall::Figures, room: u64, kernel: u64, healthy: u64) {
    table.most("the room's memory (RSS) grew by", figures.room_grew(), room * MIB, MIB, "MiB");
    table.most("the kernel's socket memory grew by", figures.kernel_grew(), kernel * MIB, MIB, "MiB");
    let missed = figures.fared.missed;
    table.promised("numbers that a healthy watcher did not get in order", missed, "0", missed == 0);
    let all = figures.fared.events >= healthy * figures.reports;
    table.promised("events that came to the healthy", figures.fared.events, "every one", all);
    let woken = figures.woken;
    table.promised("who read again before the end and saw the room as it is", woken, "all", woken > 0);
    Table::seen("reports that were answered", figures.reports);
    Table::seen("processor time of the room", format!("{:.0} % of one", figures.busy * 100.0));
    Table::seen("slowest from the call to a healthy watcher", format!("{:.0?}", figures.fared.worst));
}

async fn crowded(table: &mut Table) {
    Table::title(
        "10,000 agents, 20 of them as wordy as can be; watchers come while 100 reports a second go on",
    );
    let figures = crowd::run(crowd::Scale { agents: 10_000, wordy: 20, rate: 100, visits: 20 }).await;
    table.promised("agents missing or wrong in 20 pictures", figures.wrong, "0", figures.wrong == 0);
    table.most("largest frame", figures.largest as u64, 256 * 1024, 1024, "KiB");
    Table::seen("parts of a picture", figures.parts);
    Table::seen("bytes of a picture", figures.bytes);
    Table::seen("slowest from the request to the whole picture", format!("{:.0?}", figures.whole_after));
    Table::seen("events that followed, each in its turn", figures.events);
    Table::seen("reports answered a second meanwhile", format!("{:.0}", figures.rate));
}

async fn storms(table: &mut Table) {
    Table::title("1,000 watchers lose their room five times for 8 s (killed and stopped in order by turns)");
    let scale = storm::Scale {
        watchers: 1000,
        restarts: 5,
        away: Duration::from_secs(8),
        options: Options::default(),
    };
    let watchers = scale.watchers;
    let figures = storm::run(scale).await;
    let wait = figures.shortest_wait.unwrap_or_default();
    let kept = wait >= Duration::from_secs(1);
    table.promised("shortest wait of one after its third failure", format!("{wait:.1?}"), ">= 1 s", kept);
    Table::seen("tries of one watcher in one outage, the most", figures.tries);
    Table::seen("tries of all in the busiest second after the return", figures.busiest_second);
    Table::seen("all live again after the return, the slowest", format!("{:.1?}", figures.back_after));
    let resumed = figures.resumed;
    let kept = resumed == 5 * watchers;
    table.promised("came back where they had left off", resumed, "all 5,000", kept);
}
