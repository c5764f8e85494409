//! What the undo radar costs: `cargo bench --bench radar`.
//!
//! Prints what was seen beside what is promised. Ends with 1 if a promise is broken.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, missing_docs)]

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use prickle::conflict::{Level, Radar};
use prickle::pattern::Pattern;
use prickle::wire::Time;
use prickle::wire::pulse::Pulse;
use serde_json::json;

const AGENTS: usize = 10_000;

/// What was seen and promised.
struct Table {
    broken: bool,
}

impl Table {
    fn seen(what: &str, seen: impl std::fmt::Display) {
        println!("  {what:<66} {seen:>12}");
    }

    fn most(&mut self, what: &str, seen: Duration, most: Duration) {
        self.broken |= seen > most;
        let kept = if seen > most { "BROKEN" } else { "kept" };
        println!("  {what:<66} {:>12}  <= {most:<8?} {kept}", format!("{seen:.1?}"));
    }
}

fn best(of: usize, mut act: impl FnMut()) -> Duration {
    let once = |act: &mut dyn FnMut()| {
        let began = Instant::now();
        act();
        began.elapsed()
    };
    (0..of).map(|_| once(&mut act)).min().unwrap()
}

fn pulse(n: usize, at: Time, kind: &str, paths: &[String], files: &[String]) -> Arc<Pulse> {
    let owner = format!("o{}", n % 100);
    let intent =
        json!({"kind": kind, "paths": paths, "areas": [], "expires_at": at + TimeDelta::minutes(30)});
    let value = json!({"agent_id": format!("{owner}/n{n}"), "owner": owner, "project": "p", "availability": "working",
        "doing": "x", "task_id": null, "branch": "main", "files": files, "last_decision": null, "updated_at": at,
        "intent": intent});
    Arc::new(serde_json::from_value(value).unwrap())
}

fn patterns(table: &mut Table) {
    println!("\ntwo patterns, as long as the schema lets them be");
    let texts = [
        "*".repeat(300),
        "*a".repeat(150),
        format!("{}b", "*a".repeat(149)),
        "?*".repeat(150),
        "[a-z]*".repeat(50),
        "{a,b}".repeat(60),
        "{a,b}*/".repeat(42),
        "**/a/".repeat(60),
        format!("{}b", "**/a/".repeat(59)),
        "*a*/".repeat(75),
        "a/".repeat(150),
        r"\*".repeat(150),
    ];
    let read: Vec<Pattern> = texts.iter().map(|text| Pattern::new(text)).collect();
    let slowest = texts.iter().map(|text| best(20, || _ = black_box(Pattern::new(text)))).max().unwrap();
    table.most("reading the slowest of them", slowest, Duration::from_millis(1));
    let pairs = || read.iter().flat_map(|a| read.iter().map(move |b| (a, b)));
    let slowest = pairs().map(|(a, b)| best(20, || _ = black_box(a.overlap(b)))).max().unwrap();
    table.most("whether the slowest pair overlaps", slowest, Duration::from_millis(1));
    let slowest = pairs().map(|(a, b)| best(3, || _ = black_box(a.ground(b)))).max().unwrap();
    table.most("what the slowest pair shares", slowest, Duration::from_millis(5));
    let (a, b) = (Pattern::new("src/*_test.rs"), Pattern::new("src/auth_*"));
    let usual = best(100, || (0..1000).for_each(|_| _ = black_box(a.overlap(&b)))) / 1000;
    table.most("a pair as people write them", usual, Duration::from_micros(10));
}

/// Ten thousand agents in two hundred folders, each with an intent and five files.
fn room(at: Time) -> Vec<Arc<Pulse>> {
    let kinds =
        ["change", "add", "change", "migrate", "change", "remove", "change", "rename", "change", "revert"];
    (0..AGENTS)
        .map(|n| {
            let folder = format!("src/part{}/mod{}", n % 200, n / 200);
            let paths =
                if n % 3 == 0 { vec![format!("{folder}/**")] } else { vec![format!("{folder}/a.rs")] };
            let files: Vec<String> = (0..5).map(|f| format!("{folder}/f{f}.rs")).collect();
            pulse(n, at, kinds[n % kinds.len()], &paths, &files)
        })
        .collect()
}

fn crowd(table: &mut Table) {
    println!("\na room of 10,000 agents, each with an intent and five files");
    let at: Time = "2026-11-30T14:00:00Z".parse().unwrap();
    let pulses = room(at);
    let began = Instant::now();
    let mut radar = Radar::of(&pulses, at);
    table.most("all from scratch", began.elapsed(), Duration::from_millis(500));
    let mut now = at;
    let mut turn = |radar: &mut Radar, kind: &str, path: &str| {
        now += TimeDelta::milliseconds(1);
        let new = pulse(7, now, kind, &[path.to_owned()], &["src/part7/mod0/x.rs".to_owned()]);
        let began = Instant::now();
        radar.pulse(&new, now);
        began.elapsed()
    };
    let mut usual: Vec<Duration> =
        (0..1000).map(|n| turn(&mut radar, "remove", &format!("src/part{}/mod3/**", n % 200))).collect();
    usual.sort_unstable();
    table.most("one new intent on a folder, median", usual[500], Duration::from_micros(300));
    table.most("one new intent on a folder, slowest of 1,000", usual[999], Duration::from_millis(3));
    let wide = (0..20).map(|n| turn(&mut radar, "remove", &format!("src/part{n}/**"))).max().unwrap();
    table.most("one new intent above fifty agents, slowest of 20", wide, Duration::from_millis(3));
    let all = (0..5).map(|n| turn(&mut radar, "remove", &format!("**/f{n}.rs"))).max().unwrap();
    Table::seen("one new intent that may meet everyone", format!("{all:.1?}"));
    let again = (0..100).map(|_| turn(&mut radar, "remove", "**/f4.rs")).skip(1).min().unwrap();
    Table::seen("the same said again", format!("{again:.1?}"));
    let live = best(5, || _ = black_box(radar.conflicts(now)));
    Table::seen("listing the conflicts", format!("{live:.1?}"));
    let conflicts = radar.conflicts(now);
    let of = |level: Level| conflicts.iter().filter(|conflict| conflict.level == level).count();
    let counts = format!("{}/{}/{}", of(Level::Clash), of(Level::Risk), of(Level::Note));
    Table::seen("clashes/risks/notes", counts);
}

/// Fifty agents that try to be expensive.
fn hostile(table: &mut Table) {
    println!("\nfifty agents, each with twenty hostile patterns");
    let at: Time = "2026-11-30T14:00:00Z".parse().unwrap();
    let paths = |n: usize| -> Vec<String> {
        (0..20)
            .map(|p| format!("{}{}", "*a*/".repeat(73), ["b", "c"][(n + p) % 2].repeat(1 + p % 5)))
            .collect()
    };
    let pulses: Vec<Arc<Pulse>> = (0..50).map(|n| pulse(n, at, "remove", &paths(n), &[])).collect();
    let began = Instant::now();
    let mut radar = Radar::of(&pulses, at);
    table.most("all from scratch", began.elapsed(), Duration::from_millis(1500));
    let now = at + TimeDelta::seconds(1);
    let mut others: Vec<Duration> = (0..100_i32)
        .map(|n| {
            let new = pulse(60, now, "change", &[format!("src/a{n}.rs")], &[]);
            let began = Instant::now();
            radar.pulse(&new, now);
            began.elapsed()
        })
        .collect();
    others.sort_unstable();
    table.most("a usual pulse beside them, slowest of 100", others[99], Duration::from_millis(5));
    let new = pulse(51, now, "change", &paths(1), &[]);
    let began = Instant::now();
    radar.pulse(&new, now);
    table.most("one more of them", began.elapsed(), Duration::from_millis(50));
}

fn main() -> ExitCode {
    let mut table = Table { broken: false };
    patterns(&mut table);
    crowd(&mut table);
    hostile(&mut table);
    ExitCode::from(u8::from(table.broken))
}
