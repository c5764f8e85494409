//! What one picture of a crowded room costs, from the model to the terminal: `cargo bench --bench frame`.
//!
//! Prints what was seen beside what is promised; ends with 1 if a promise is broken. `-- --agents N --pictures N`
//! make it smaller.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, missing_docs)]

mod common;
#[path = "../tests/steady/crowd.rs"]
mod crowd;

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use chrono::{FixedOffset, TimeDelta};
use common::{Table, asked};
use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use crowd::{doing, pulse};
use prickle::picture::{Heard, Picture};
use prickle::tui::model::{Look, Model, Watch};
use prickle::tui::runs::ask::{Answer, GROUPS, Slot, Told, wanted};
use prickle::tui::terminal::Screen;
use prickle::tui::theme::{Glyphs, Theme};
use prickle::tui::{update, view};
use prickle::wire::Time;
use prickle::words::Zone;
use ratatui::backend::CrosstermBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use serde_json::{Value, json};

const MOST: Duration = Duration::from_millis(1);

/// A terminal that counts.
#[derive(Default)]
struct Counting {
    writes: usize,
    bytes: usize,
    /// All of the last picture.
    last: Vec<u8>,
}

impl Write for Counting {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writes += 1;
        self.bytes += bytes.len();
        self.last.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Forwards to a terminal that stays in reach.
struct Shared(std::rc::Rc<std::cell::RefCell<Counting>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn heard(at: Time, mut news: Value) -> Heard {
    news["at"] = json!(at);
    serde_json::from_value(news).unwrap()
}

/// A room of so many agents whose last reports are spread over the hour before `now`.
fn room(agents: usize, now: Time) -> Model {
    let said = |n: usize| now - TimeDelta::milliseconds(i64::try_from(n * 7919 % 3_600_000).unwrap());
    let pulses: Vec<Value> = (0..agents).map(|n| pulse(n, said(n), &doing(n, 0))).collect();
    let utc = FixedOffset::east_opt(0).unwrap();
    let look =
        Look { theme: Theme::terminal(), glyphs: Glyphs::Unicode, layout: None, zone: Zone::Fixed(utc) };
    let owner = Some("team-000".to_owned());
    let picture = Picture::new("website-v2");
    let mut model = Model::new(picture, "http://127.0.0.1:7766".into(), owner, Watch::Still(now), look);
    let live = json!({"news": "live", "epoch": "e", "seq": 0, "server_time": now, "resumed": false});
    let whole = heard(now, json!({"news": "snapshot", "seq": 0, "pulses": pulses}));
    let began = Instant::now();
    update::heard(&mut model, heard(now, live));
    update::heard(&mut model, whole);
    Table::seen("taking in the whole room", format!("{:.0?}", began.elapsed()));
    model
}

struct Bench {
    model: Model,
    now: Time,
    seq: u64,
    screen: Screen<CrosstermBackend<BufWriter<Shared>>>,
    terminal: std::rc::Rc<std::cell::RefCell<Counting>>,
    shown: Buffer,
}

impl Bench {
    fn of(mut model: Model, now: Time, columns: u16, rows: u16) -> Self {
        let terminal = std::rc::Rc::<std::cell::RefCell<Counting>>::default();
        let out = BufWriter::with_capacity(64 * 1024, Shared(std::rc::Rc::clone(&terminal)));
        let screen = Screen::new(CrosstermBackend::new(out));
        update::resize(&mut model, columns, rows);
        let mut bench = Self { model, now, seq: 0, screen, terminal, shown: Buffer::default() };
        bench.picture();
        bench
    }

    /// A picture as the loop makes it: the time for what passes, for drawing, and for showing it.
    fn picture(&mut self) -> [Duration; 3] {
        self.terminal.replace(Counting::default());
        let began = Instant::now();
        update::pass(&mut self.model);
        let passed = began.elapsed();
        let (columns, rows) = self.model.size;
        let mut picture = Buffer::empty(Rect::new(0, 0, columns, rows));
        view::draw(&self.model, &mut picture);
        let drawn = began.elapsed();
        let kept = picture.clone();
        let showing = Instant::now();
        self.screen.show(picture).unwrap();
        let shown = showing.elapsed();
        self.shown = kept;
        [passed, drawn.saturating_sub(passed), shown]
    }

    fn later(&mut self, by: TimeDelta) {
        self.now += by;
        self.model.watch = Watch::Still(self.now);
    }

    fn hear(&mut self, n: usize, step: usize) -> Duration {
        self.seq += 1;
        let pulse = pulse(n, self.now, &doing(n, step));
        let frame = json!({"type": "pulse", "seq": self.seq, "at": self.now, "pulse": pulse});
        let heard = heard(self.now, json!({"news": "event", "frame": frame}));
        let began = Instant::now();
        update::heard(&mut self.model, heard);
        began.elapsed()
    }
}

fn changed_rows(before: &Buffer, after: &Buffer) -> usize {
    let rows: std::collections::BTreeSet<u16> = before.diff(after).into_iter().map(|(_, y, _)| y).collect();
    rows.len()
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn pictures(table: &mut Table, model: &Model, now: Time, (columns, rows): (u16, u16), most: usize) {
    let agents = model.picture.agents().len();
    Table::title(&format!("{columns}x{rows}, {agents} agents, medians of {most} pictures"));
    let mut bench = Bench::of(model.clone(), now, columns, rows);
    // In cards the selection is brought to light, so that the list stands in its own order.
    update::event(&mut bench.model, &Event::Key(KeyEvent::new(KeyCode::Char('g'), KeyModifiers::NONE)));
    bench.picture();
    let mut all = Vec::new();
    let mut parts: [Vec<Duration>; 3] = Default::default();
    let mut written = 0;
    for _ in 0..most {
        bench.later(TimeDelta::seconds(1));
        let times = bench.picture();
        all.push(times.iter().sum());
        parts.iter_mut().zip(times).for_each(|(part, time)| part.push(time));
        written += usize::from(bench.terminal.borrow().writes > 0);
    }
    table.time("only ages have changed", median(&mut all), MOST);
    for (what, times) in ["time passes", "drawn", "shown"].iter().zip(&mut parts) {
        Table::seen(&format!("  of it: {what}"), format!("{:.0?}", median(times)));
    }
    Table::seen("  slowest of all", format!("{:.0?}", all.last().unwrap()));
    Table::seen("  pictures that were written, since an age in sight had changed", written);

    let mut all = Vec::new();
    let mut parts: [Vec<Duration>; 4] = Default::default();
    let (mut bytes, mut writes, mut cleared, mut most_rows) = (0, 0, 0, 0);
    for step in 1..=most {
        // The same moment, so that nothing but the row changes; agents in sight, no failure or intent among them.
        let before = bench.shown.clone();
        let heard = bench.hear([1, 2, 4][step % 3], step);
        let times = bench.picture();
        let times = [heard, times[0], times[1], times[2]];
        all.push(times.iter().sum());
        parts.iter_mut().zip(times).for_each(|(part, time)| part.push(time));
        let terminal = bench.terminal.borrow();
        writes = writes.max(terminal.writes);
        cleared += usize::from(terminal.last.windows(4).any(|codes| codes == b"\x1b[2J"));
        if step > 3 {
            // The first three also bring their ages up to date.
            let rows = changed_rows(&before, &bench.shown);
            bytes = bytes.max(terminal.bytes.div_ceil(rows.max(1)));
            most_rows = most_rows.max(rows);
        }
        drop(terminal);
    }
    table.time("one row has changed", median(&mut all), MOST);
    for (what, times) in ["heard", "time passes", "drawn", "shown"].iter().zip(&mut parts) {
        Table::seen(&format!("  of it: {what}"), format!("{:.0?}", median(times)));
    }
    Table::seen("  slowest of all", format!("{:.0?}", all.last().unwrap()));
    Table::seen("  rows of the screen that changed with it, the most", most_rows);
    table.promised("  bytes a changed row, the most", bytes, "< 300", bytes < 300);
    table.promised("  writes, the most", writes, "1", writes == 1);
    table.promised("  screens cleared", cleared, "0", cleared == 0);

    let mut all: Vec<Duration> = (0..most).map(|_| bench.picture().iter().sum()).collect();
    table.time("nothing has changed", median(&mut all), MOST);
    let bytes = bench.terminal.borrow().bytes;
    table.promised("  bytes", bytes, "0", bytes == 0);
    bench.model.watch = Watch::Running(bench.now - chrono::Utc::now());
    let mut waits: Vec<Duration> = (0..most)
        .map(|_| {
            let began = Instant::now();
            std::hint::black_box(update::stays(&bench.model, None));
            began.elapsed()
        })
        .collect();
    Table::seen("how long it stays, asked", format!("{:.0?}", median(&mut waits)));
}

/// As many tasks of run records as are held, while the room reports.
fn runs(table: &mut Table, model: &Model, now: Time, (columns, rows): (u16, u16), most: usize) {
    Table::title(&format!("{columns}x{rows}, the runs of {GROUPS} tasks, medians of {most} pictures"));
    let mut bench = Bench::of(model.clone(), now, columns, rows);
    let me = json!({"kind": "person", "owner": "team-000", "agent_id": null, "projects": null});
    update::key(&mut bench.model, serde_json::from_value(me).unwrap());
    update::event(&mut bench.model, &Event::Key(KeyEvent::new(KeyCode::Char('3'), KeyModifiers::NONE)));
    let sum = |n: u32| json!({"sum": 1234 * n, "known": 3});
    let group = |n: u32| {
        let at = now - TimeDelta::minutes(i64::from(n));
        json!({"project": "website-v2", "task_id": format!("task-{n:05}"), "runs": 3 + n % 2,
            "failed": {"sum": 1, "known": 3}, "input_tokens": sum(n), "output_tokens": sum(n), "turns": sum(1),
            "duration_ms": sum(n), "failed_tokens": sum(1), "tokens": sum(n),
            "first_reported_at": at, "last_reported_at": at})
    };
    let all = json!({"by": "task", "rows": (0..GROUPS).map(group).collect::<Vec<_>>(), "groups": GROUPS,
        "total": group(1)});
    let days = json!({"by": "day", "tz": "UTC", "rows": [], "groups": 0, "total": group(1)});
    for question in wanted(&bench.model) {
        let of_days = question.slot == Slot::Days;
        let summary = serde_json::from_value(if of_days { days.clone() } else { all.clone() }).unwrap();
        update::runs(&mut bench.model, Answer { question, told: Ok(Told::Sums(Box::new(summary))) });
    }
    bench.picture();
    assert!(view::plain(&bench.shown).contains("task-00000"));
    let mut all: Vec<Duration> = (1..=most)
        .map(|step| bench.hear([1, 2, 4][step % 3], step) + bench.picture().iter().sum::<Duration>())
        .collect();
    table.time("a report was heard", median(&mut all), MOST);
}

fn main() -> ExitCode {
    let (agents, most) = (asked("agents", 10_000), asked("pictures", 500));
    let now: Time = "2026-11-30T14:00:00Z".parse().unwrap();
    let mut table = Table::default();
    let model = room(agents, now);
    for size in [(120, 40), (80, 24), (38, 24), (200, 60)] {
        pictures(&mut table, &model, now, size, most);
    }
    for size in [(120, 40), (38, 24)] {
        runs(&mut table, &model, now, size, most);
    }
    ExitCode::from(u8::from(table.broken))
}
