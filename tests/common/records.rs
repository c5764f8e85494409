//! Records of runs, as many as are wanted: made up from a seed, and reported to a real store by its own calls.
#![allow(dead_code, clippy::unwrap_used, clippy::missing_panics_doc, missing_docs)]

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use chrono::{DateTime, Datelike, TimeDelta, Timelike, Utc};
use futures_util::StreamExt;
use prickle::rules::{Caller, Kind, Scope};
use prickle::server::store::Store;
use prickle::server::store::keys::{Holder, KeyStore, NewKey};
use prickle::wire::Time;
use prickle::wire::run::RunReport;

/// Whose records they are.
pub const OWNER: &str = "acme";
pub const PROJECTS: [&str; 4] = ["website-v2", "billing", "mobile-app", "handbook"];
pub const AGENTS: [&str; 12] = [
    "architect",
    "builder",
    "deployer",
    "docs",
    "fixer",
    "indexer",
    "planner",
    "reviewer",
    "scribe",
    "styler",
    "tester",
    "watcher",
];
/// Most calls under way at once: they share the wait for the disk, and the moment that they are stamped with.
const AT_ONCE: u64 = 300;

/// What is made up.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    pub records: u64,
    pub seed: u64,
    /// They are reported in the days before now, more of them in working hours.
    pub days: i64,
    /// Any agent on any task in any project at any time. Otherwise a task is of one project and of up to three
    /// agents, and done within a few weeks.
    pub scattered: bool,
}

impl Load {
    /// So many records in 400 days, a hundred a task.
    pub fn of(records: u64) -> Self {
        Self { records, seed: 7, days: 400, scattered: false }
    }

    pub fn tasks(self) -> u64 {
        (self.records / 100).max(1)
    }
}

/// A report that is due.
#[derive(Debug, Clone)]
pub struct Due {
    pub at: Time,
    pub agent: &'static str,
    pub report: RunReport,
}

/// SplitMix64: the same numbers for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// 0 to `below`, without it.
    fn below(&mut self, below: u64) -> u64 {
        self.roll() % below
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::try_from(self.below(all.len() as u64)).unwrap()]
    }

    /// A number that is small more often than large, a true 0 now and then, unknown once in twenty.
    fn number(&mut self, bits: [u64; 2]) -> Option<i64> {
        match self.below(100) {
            0..5 => None,
            5..7 => Some(0),
            _ => {
                let size = bits[0] + self.below(bits[1] - bits[0]);
                Some(i64::try_from((1 << size) + self.below(1 << size)).unwrap())
            }
        }
    }

    fn uuid(&mut self) -> String {
        let (a, b) = (self.roll(), self.roll());
        let (first, second, third) = (a >> 32, a >> 16 & 0xffff, a & 0xfff);
        format!("{first:08x}-{second:04x}-4{third:03x}-8{:03x}-{:012x}", b >> 52, b & 0xffff_ffff_ffff)
    }
}

/// The hours before `until`, each with how much is done from the first of them to its end.
fn hours(until: Time, days: i64) -> Vec<(Time, u64)> {
    let first = until - TimeDelta::days(days);
    let mut done = 0;
    let hours = (0..days * 24).map(|hour| {
        let begins = first + TimeDelta::hours(hour);
        let at_work = begins.weekday().number_from_monday() < 6 && (8..18).contains(&begins.hour());
        done += if at_work { 10 } else { 1 };
        (begins, done)
    });
    hours.collect()
}

/// The reports, oldest first. The last is due just before `until`.
pub fn due(load: Load, until: Time) -> impl Iterator<Item = Due> {
    let hours = hours(until, load.days);
    let all = hours.last().map_or(0, |(_, done)| *done);
    let mut dice = Dice(load.seed);
    (0..load.records).map(move |n| {
        let place = u128::from(n) * u128::from(all) * 3_600_000 / u128::from(load.records);
        let done = u64::try_from(place / 3_600_000).unwrap();
        let hour = hours.partition_point(|(_, until)| *until <= done);
        let before = if hour == 0 { 0 } else { hours[hour - 1].1 };
        let (begins, after) = hours[hour];
        let into = (place - u128::from(before) * 3_600_000) / u128::from(after - before);
        let at = begins + TimeDelta::milliseconds(i64::try_from(into).unwrap());
        due_at(load, n, at, &mut dice)
    })
}

fn due_at(load: Load, n: u64, at: Time, dice: &mut Dice) -> Due {
    let tasks = load.tasks();
    let (task, project, agent) = if load.scattered {
        (dice.below(tasks), dice.one_of(&PROJECTS), dice.one_of(&AGENTS))
    } else {
        let around = tasks / 40;
        let task = (n * tasks / load.records + dice.below(2 * around + 1)).saturating_sub(around);
        let task = task.min(tasks - 1);
        let mut own = Dice(task);
        let project = own.one_of(&PROJECTS);
        let team = [own.one_of(&AGENTS), own.one_of(&AGENTS), own.one_of(&AGENTS)];
        (task, project, dice.one_of(&team))
    };
    let run_id = dice.uuid().parse().unwrap();
    let known = dice.below(100) > 0; // one in a hundred ended before anything was counted
    let mut number = |bits| dice.number(bits).filter(|_| known);
    let (input_tokens, output_tokens) = (number([9, 20]), number([5, 15]));
    let (turns, duration_ms) = (number([0, 8]), number([10, 22]));
    let exit_code = match dice.below(100) {
        0..5 => None,
        5..20 => Some(1),
        20..22 => Some(2),
        22..24 => Some(137),
        24..27 => Some(143),
        _ => Some(0),
    };
    Due {
        at,
        agent,
        report: RunReport {
            project: project.parse().unwrap(),
            run_id,
            task_id: format!("task-{task:05}"),
            input_tokens,
            output_tokens,
            turns,
            duration_ms,
            exit_code: exit_code.filter(|_| known),
        },
    }
}

/// Reports them all to the store whose database is `db`, many at a time, while its clock goes from the first to now.
pub async fn report(store: &Store, db: &Path, load: Load) {
    let mut keys = KeyStore::open(db).unwrap();
    let projects: Vec<_> = PROJECTS.iter().map(|project| project.parse().unwrap()).collect();
    let callers: HashMap<&str, Arc<Caller>> = AGENTS
        .iter()
        .map(|name| {
            let agent = format!("{OWNER}/{name}").parse().unwrap();
            let scope = Scope::Some(projects.iter().cloned().collect());
            let key =
                NewKey { kind: Kind::Client, holder: Holder::Agent(agent), scope, task: None, label: None };
            let token = keys.create(&key, Utc::now()).unwrap();
            (*name, store.authenticate(token.as_str()).unwrap())
        })
        .collect();
    let began: DateTime<Utc> = Utc::now();
    let calls = due(load, began).map(|due| {
        let caller = Arc::clone(&callers[due.agent]);
        async move {
            // Those under way at once are stamped with the time of the newest of them.
            store.clock().set_offset(due.at - Utc::now());
            store.report_run(caller, due.report).await.unwrap();
        }
    });
    let at_once = usize::try_from((load.records / 2000).clamp(1, AT_ONCE)).unwrap();
    futures_util::stream::iter(calls).buffer_unordered(at_once).for_each(async |()| ()).await;
    store.clock().set_offset(TimeDelta::zero());
}
