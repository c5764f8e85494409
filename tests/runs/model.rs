//! A database with records that a test chose to the millisecond, and what they come to, counted one by one.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta};
use chrono_tz::Tz;
use prickle::ledger::Tally;
use prickle::rules::{Caller, Kind};
use prickle::server::store::Store;
use prickle::wire::query::{By, Order, RunQuery, Sort};
use prickle::wire::run::AgentRun;
use prickle::wire::sums::{Group, RunSummary, Totals};
use prickle::wire::{More, Time};
use proptest::prelude::*;
use rusqlite::params;

use super::database::Database;

pub const AGENTS: [&str; 3] = ["acme/builder", "acme/writer", "acme/tester"];
pub const PROJECTS: [&str; 3] = ["website-v2", "api", "docs"];
pub const TASKS: [&str; 3] = ["nav", "auth-cleanup", "t_1"];

/// Zones that change by an hour, by half of one, and not at all; off by whole, half and quarter hours.
pub const ZONES: [Tz; 8] = [
    Tz::UTC,
    Tz::Europe__Berlin,
    Tz::America__New_York,
    Tz::America__St_Johns,
    Tz::Australia__Lord_Howe,
    Tz::Asia__Kathmandu,
    Tz::Pacific__Chatham,
    Tz::Pacific__Kiritimati,
];

/// When the clocks of some of these zones change.
pub const CHANGES: [&str; 5] = [
    "2026-10-25T01:00:00Z",
    "2026-11-01T06:00:00Z",
    "2026-11-01T04:30:00Z",
    "2026-10-03T15:30:00Z",
    "2026-04-04T15:00:00Z",
];

/// One record, as indices and numbers.
#[derive(Debug, Clone)]
pub struct Made {
    pub agent: usize,
    pub project: usize,
    pub task: usize,
    pub numbers: [Option<i64>; 5],
    pub at: Time,
}

pub fn moment() -> impl Strategy<Value = Time> {
    let change = prop::sample::select(CHANGES.to_vec());
    let exact = (-120..120i64).prop_map(|quarter| quarter * 900_000);
    let near = prop_oneof![exact.clone(), exact.prop_map(|ms| ms - 1), -108_000_000..108_000_000i64];
    (change, near).prop_map(|(change, ms)| change.parse::<Time>().unwrap() + TimeDelta::milliseconds(ms))
}

pub fn made() -> impl Strategy<Value = Made> {
    let number = || prop::option::weighted(0.7, prop_oneof![0..4i64, Just(2_147_483_647)]);
    let numbers = [number().boxed(), number().boxed(), number().boxed(), number().boxed()];
    let exit = prop::option::weighted(0.8, prop_oneof![Just(0i64), Just(0), 0..256i64]);
    (0..3usize, 0..3usize, 0..3usize, numbers, exit, moment()).prop_map(
        |(agent, project, task, [input, output, turns, duration], exit, at)| Made {
            agent,
            project,
            task,
            numbers: [input, output, turns, duration, exit],
            at,
        },
    )
}

/// Filters, each of them now and then.
pub fn filters() -> impl Strategy<Value = RunQuery> {
    let one = |of: [&'static str; 3]| prop::option::weighted(0.3, prop::sample::select(of.to_vec()));
    let time = || prop::option::weighted(0.3, moment());
    (one(PROJECTS), one(TASKS), one(AGENTS), time(), time()).prop_map(
        |(project, task, agent, since, until)| RunQuery {
            project: project.map(|text| text.parse().unwrap()),
            task: task.map(str::to_owned),
            agent: agent.map(|text| text.parse().unwrap()),
            since,
            until,
            ..RunQuery::default()
        },
    )
}

/// A room with the agents' keys, so that owner, agents and projects are there; and records of another owner, which
/// must never show.
pub fn room() -> (Database, Store) {
    let database = Database::new();
    let store = database.open();
    for agent in AGENTS {
        database.key(Kind::Client, agent, &PROJECTS);
    }
    database.key(Kind::Client, "globex/builder", &PROJECTS);
    let foreign = Made { agent: 0, project: 0, task: 0, numbers: [Some(7); 5], at: Time::UNIX_EPOCH };
    store_as(&database, "globex", &[foreign], 900_000);
    (database, store)
}

/// Puts records into the database, as the room's own statement does; returns them as they are read.
pub fn store_all(database: &Database, made: &[Made], first: usize) -> Vec<AgentRun> {
    store_as(database, "acme", made, first)
}

fn store_as(database: &Database, owner: &str, made: &[Made], first: usize) -> Vec<AgentRun> {
    let mut sql = database.sql();
    let whole = sql.transaction().unwrap();
    let mut records = Vec::new();
    let mut insert = whole
        .prepare(
            "INSERT INTO runs (run_id, owner, agent, project, task, input_tokens, output_tokens, turns,
                duration_ms, exit_code, reported_at)
             SELECT ?1, o.id, a.id, p.id, ?5, ?6, ?7, ?8, ?9, ?10, ?11
             FROM owners o JOIN agents a ON a.owner = o.id AND a.name = ?3 JOIN projects p ON p.slug = ?4
             WHERE o.slug = ?2",
        )
        .unwrap();
    for (n, one) in made.iter().enumerate() {
        let run_id = format!("4f7c2a9e-3b1d-4c8e-9a6f-{:012}", first + n);
        let [input, output, turns, duration, exit] = one.numbers;
        let (name, project) = (&AGENTS[one.agent]["acme/".len()..], PROJECTS[one.project]);
        let done = insert.execute(params![
            run_id,
            owner,
            name,
            project,
            TASKS[one.task],
            input,
            output,
            turns,
            duration,
            exit,
            one.at.timestamp_millis()
        ]);
        assert_eq!(done.unwrap(), 1);
        records.push(AgentRun {
            agent_id: format!("{owner}/{name}").parse().unwrap(),
            run: prickle::wire::run::Run {
                run_id,
                project: project.to_owned(),
                task_id: TASKS[one.task].to_owned(),
                input_tokens: input,
                output_tokens: output,
                turns,
                duration_ms: duration,
                exit_code: exit,
                source: "client_reported".to_owned(),
                reported_at: one.at,
                more: More::new(),
            },
        });
    }
    drop(insert);
    whole.commit().unwrap();
    records
}

pub fn person(database: &Database, store: &Store, projects: &[&str]) -> Arc<Caller> {
    database.caller(store, Kind::Person, "acme", projects)
}

/// The records that a question means, in the order in which they came.
pub fn meant<'a>(records: &'a [AgentRun], caller: &Caller, query: &RunQuery) -> Vec<&'a AgentRun> {
    let holds = |one: &&AgentRun| {
        let run = &one.run;
        caller.scope.holds(&run.project.parse().unwrap())
            && query.project.as_ref().is_none_or(|project| project.as_str() == run.project)
            && query.task.as_ref().is_none_or(|task| *task == run.task_id)
            && query.agent.as_ref().is_none_or(|agent| *agent == one.agent_id)
            && query.since.is_none_or(|since| run.reported_at >= since)
            && query.until.is_none_or(|until| run.reported_at < until)
    };
    records.iter().filter(holds).collect()
}

/// The known first, as `way` says; what is unknown last.
fn known_first(one: Option<i64>, other: Option<i64>, descending: bool) -> Ordering {
    match (one, other) {
        (Some(one), Some(other)) if descending => other.cmp(&one),
        (Some(one), Some(other)) => one.cmp(&other),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    }
}

/// The same records in an order. Those that came later stand later in `records`.
pub fn sorted(records: &[AgentRun], sort: Sort) -> Vec<&AgentRun> {
    let number = |one: &AgentRun| {
        let run = &one.run;
        match sort.order {
            Order::Reported => Some(run.reported_at.timestamp_millis()),
            Order::Input => run.input_tokens,
            Order::Output => run.output_tokens,
            Order::Tokens => Some(run.input_tokens? + run.output_tokens?),
            Order::Turns => run.turns,
            Order::Duration => run.duration_ms,
            Order::Exit => run.exit_code,
            other => panic!("{other:?} is no order of records"),
        }
    };
    let mut all: Vec<(usize, &AgentRun)> = records.iter().enumerate().collect();
    all.sort_by(|(n, one), (m, other)| {
        let by = known_first(number(one), number(other), sort.descending);
        let newest = (other.run.reported_at, m).cmp(&(one.run.reported_at, n));
        let oldest_first = sort.order == Order::Reported && !sort.descending;
        by.then(if oldest_first { newest.reverse() } else { newest })
    });
    all.into_iter().map(|(_, one)| one).collect()
}

fn totals(records: &[&AgentRun]) -> Totals {
    let mut tally = Tally::default();
    records.iter().for_each(|one| tally.join(&Tally::of(&one.run)));
    tally.totals()
}

/// What the room must tell, except for the order, which is that of names here.
pub fn summed(records: &[&AgentRun], by: By, zone: Tz) -> RunSummary {
    let mut groups: BTreeMap<(String, String), Vec<&AgentRun>> = BTreeMap::new();
    for one in records {
        let key = match by {
            By::Task => (one.run.task_id.clone(), one.run.project.clone()),
            By::Agent => (one.agent_id.to_string(), String::new()),
            By::Project => (one.run.project.clone(), String::new()),
            By::Day => {
                (one.run.reported_at.with_timezone(&zone).format("%Y-%m-%d").to_string(), String::new())
            }
        };
        groups.entry(key).or_default().push(one);
    }
    let rows = groups.iter().map(|((name, second), of)| {
        let mut agents: Vec<_> = of.iter().map(|one| one.agent_id.clone()).collect();
        agents.sort();
        agents.dedup();
        Group {
            project: match by {
                By::Task => Some(second.clone()),
                By::Project => Some(name.clone()),
                _ => None,
            },
            task_id: (by == By::Task).then(|| name.clone()),
            agent_id: (by == By::Agent).then(|| name.parse().unwrap()),
            day: (by == By::Day).then(|| name.clone()),
            agents: if by == By::Task { agents } else { Vec::new() },
            totals: totals(of),
        }
    });
    RunSummary {
        by: by.as_str().to_owned(),
        tz: (by == By::Day).then(|| zone.name().to_owned()),
        rows: rows.collect(),
        groups: groups.len() as u64,
        total: totals(records),
    }
}

/// The summary's rows in an order.
pub fn in_order(mut summary: RunSummary, sort: Sort) -> RunSummary {
    let number = |group: &Group| {
        let totals = &group.totals;
        match sort.order {
            Order::Reported => totals.last_reported_at.map(|time| time.timestamp_millis()),
            Order::Name => None,
            Order::Runs => Some(totals.runs),
            Order::Failed => totals.failed.sum,
            Order::Input => totals.input_tokens.sum,
            Order::Output => totals.output_tokens.sum,
            Order::Tokens => totals.tokens.sum,
            Order::Turns => totals.turns.sum,
            Order::Duration => totals.duration_ms.sum,
            Order::FailedTokens => totals.failed_tokens.sum,
            Order::Exit => panic!("no order of groups"),
        }
    };
    if sort.order == Order::Name {
        if sort.descending {
            summary.rows.reverse();
        }
        return summary;
    }
    // Stable: equals stay in the order of names.
    summary.rows.sort_by(|one, other| {
        known_first(number(one), number(other), sort.descending)
            .then(other.totals.last_reported_at.cmp(&one.totals.last_reported_at))
    });
    summary
}

/// A moment from its milliseconds.
pub fn millis(ms: i64) -> Time {
    DateTime::from_timestamp_millis(ms).unwrap()
}
