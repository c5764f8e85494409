//! A watch that is left open, in full: `cargo bench --bench watch`, or with the names of scenarios behind `--`.
//!
//! Runs the real binary, as built for release, in a terminal, and prints what was seen beside what is promised;
//! ends with 1 if a promise is broken. Takes about five minutes. `--seconds N`, `--agents N`, `--events N`,
//! `--times N` make it smaller.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    missing_docs
)]

mod common;
#[path = "../tests/steady/crowd.rs"]
mod crowd;
#[path = "../tests/common/fake_room.rs"]
mod fake_room;
#[path = "../tests/common/pty.rs"]
mod pty;
#[path = "../tests/steady/scenes.rs"]
mod scenes;
#[path = "../tests/steady/stage.rs"]
mod stage;

use std::process::ExitCode;
use std::time::Duration;

use common::{Table, asked, wanted};
use scenes::{Flood, Rush, Span};

const MIB: u64 = 1 << 20;

fn main() -> ExitCode {
    let mut table = Table::default();
    if wanted("quiet") {
        quiet(&mut table);
    }
    if wanted("row") {
        row(&mut table);
    }
    if wanted("rush") {
        rush(&mut table);
    }
    if wanted("flood") {
        flood(&mut table);
    }
    if wanted("reconnects") {
        reconnects(&mut table);
    }
    ExitCode::from(u8::from(table.broken))
}

fn seconds(otherwise: usize) -> Duration {
    Duration::from_secs(asked("seconds", otherwise) as u64)
}

fn share(table: &mut Table, what: &str, span: &Span, most: f64) {
    let share = 100.0 * span.share();
    table.promised(what, format!("{share:.2} %"), &format!("< {most} %"), share < most);
}

fn quiet(table: &mut Table) {
    let lasts = seconds(60);
    let agents = asked("agents", 10_000);
    Table::title(&format!("nobody says anything for {lasts:?}"));
    let span = scenes::nothing_changes(20, lasts);
    table.promised("20 idle agents, ages in hours: bytes written", span.written(), "0", span.written() == 0);
    share(table, "  of one core", &span, 0.5);
    Table::seen("  woken a second", format!("{:.1}", span.waits()));
    let span = scenes::ages_change(20, lasts);
    Table::seen("20 idle agents, ages in minutes: bytes written", span.written());
    share(table, "  of one core", &span, 0.5);
    Table::seen("  woken a second", format!("{:.1}", span.waits()));
    for size in [(38, 24), (120, 40)] {
        let span = scenes::crowd_is_quiet(agents, size, lasts);
        Table::seen(&format!("{agents} agents at {}x{}: bytes written", size.0, size.1), span.written());
        share(table, "  of one core", &span, 0.5);
        Table::seen("  woken a second", format!("{:.1}", span.waits()));
    }
}

fn row(table: &mut Table) {
    Table::title("one agent says that it does something else");
    for size in [(38, 24), (80, 24), (120, 28)] {
        let bytes = scenes::one_row(size);
        let what = format!("{}x{}: bytes", size.0, size.1);
        table.promised(&what, bytes.len(), "< 300", bytes.len() < 300);
        let cleared = scenes::clears(&bytes);
        table.promised("  screen cleared", cleared, "false", !cleared);
    }
}

fn rush(table: &mut Table) {
    let agents = asked("agents", 10_000);
    let rate = 1000;
    let lasts = seconds(30);
    for size in [(38, 24), (80, 24), (120, 40)] {
        let title =
            format!("{rate} reports a second of {agents} agents for {lasts:?}, {}x{}", size.0, size.1);
        Table::title(&title);
        let (span, sent) = scenes::rush(Rush { agents, rate, size, lasts });
        share(table, "of one core", &span, 5.0);
        Table::seen("reports that were sent", sent);
        Table::seen("bytes written a second", span.written() as u64 / lasts.as_secs());
        Table::seen("woken a second", format!("{:.0}", span.waits()));
        Table::seen("memory (RSS)", format!("{} MiB", span.after.resident / MIB));
    }
}

fn flood(table: &mut Table) {
    let events = asked("events", 2_000_000) as u64;
    for (agents, come_and_go) in [(50, 0), (10_000, 5000)] {
        Table::title(&format!("{events} events of {agents} agents, {come_and_go} of whom come and go"));
        let figures = scenes::flood(Flood { events, agents, come_and_go, size: (120, 40) });
        let at = |part: u64| figures.iter().find(|(sent, _)| *sent >= events / 100 * part).unwrap().1;
        for part in [5, 20, 50] {
            Table::seen(&format!("memory (RSS) at {part} %"), format!("{} MiB", at(part).resident / MIB));
        }
        let last = figures.last().unwrap().1;
        let grew = last.resident.saturating_sub(at(20).resident) / MIB;
        table.most("it grew from 20 % to the end by", grew, 4, "MiB");
        table.most("files open at the end", last.descriptors as u64, at(20).descriptors as u64, "");
        let took = last.at - figures[0].1.at;
        Table::seen("events a second", format!("{:.0}", events as f64 / took.as_secs_f64()));
        Table::seen("bytes written", last.written);
    }
}

fn reconnects(table: &mut Table) {
    let times = asked("times", 1000);
    Table::title(&format!("cut off {times} times"));
    let span = scenes::reconnects(times, times / 10);
    table.most("memory (RSS) grew after the first tenth by", span.grew() / MIB, 2, "MiB");
    table.most(
        "files open at the end",
        span.after.descriptors as u64,
        span.before.descriptors as u64 + 2,
        "",
    );
    table.most("threads at the end", span.after.threads as u64, span.before.threads as u64, "");
}
