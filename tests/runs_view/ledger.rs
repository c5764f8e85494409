//! A room's run records for tests of the view: those of a week, and what the room answers to questions about them.

use std::collections::BTreeMap;

use chrono::{FixedOffset, TimeDelta};
use prickle::client::http::Me;
use prickle::ledger::Tally;
use prickle::tui::model::Model;
use prickle::tui::runs::ask::{Answer, Ask, Question, Told, wanted};
use prickle::tui::update;
use prickle::wire::query::{By, Order, RunQuery};
use prickle::wire::run::{AgentRun, RunPage};
use prickle::wire::sums::{Group, RunSummary};
use prickle::words::Zone;
use serde_json::json;

use super::screen::pulses::time;

/// One record: its task, agent, age in minutes before 14:32:10, tokens in and out, turns, milliseconds, exit code.
pub type Row<'a> = (&'a str, &'a str, i64, [Option<i64>; 5]);

/// Answers questions as a room does that holds these records.
#[derive(Clone, Default)]
pub struct Ledger(pub Vec<AgentRun>);

const NOW: &str = "2026-11-30T14:32:10Z";

pub fn record(place: usize, (task, agent, minutes, [input, output, turns, ms, exit]): Row<'_>) -> AgentRun {
    let at = time(NOW) - TimeDelta::minutes(minutes);
    let (project, task) = task.split_once(':').unwrap_or(("website-v2", task));
    serde_json::from_value(json!({"agent_id": agent, "project": project, "task_id": task,
        "run_id": format!("{:08x}-6a0f-4b7e-9d55-0f1be2c8a7d4", 0xb83d_1c40_u64 + place as u64 * 0x1001),
        "input_tokens": input, "output_tokens": output, "turns": turns, "duration_ms": ms, "exit_code": exit,
        "source": "client_reported", "reported_at": at}))
    .unwrap()
}

/// A week of one owner's runs, with all that may not be known of one.
pub fn week() -> Ledger {
    let s = Some;
    let day = 24 * 60;
    let rows: Vec<Row<'_>> = vec![
        ("auth-cleanup", "acme/builder", 11, [s(624_000), s(31_000), s(80), s(2_000_000), s(1)]),
        ("auth-cleanup", "acme/builder", 95, [s(320_000), s(21_800), s(40), s(1_900_000), s(0)]),
        ("auth-cleanup", "acme/planner", 160, [s(296_000), s(9_000), s(22), s(420_000), s(137)]),
        ("nav-review", "acme/reviewer", 30, [None, None, None, s(250_000), s(1)]),
        ("nav-review", "acme/reviewer", 200, [s(212_345), s(9_100), s(20), s(1_250_000), s(0)]),
        ("nav-review", "acme/reviewer", 320, [s(200_000), s(9_100), s(14), s(960_000), s(0)]),
        ("login-copy", "acme/reviewer", 1012, [s(24_000), s(2_100), None, s(250_000), s(0)]),
        ("login-copy", "acme/reviewer", 1021, [s(11_893), s(512), None, s(62_410), s(1)]),
        ("login-copy", "acme/reviewer", 1057, [None, None, None, None, None]),
        ("login-copy", "acme/reviewer", 1100, [s(30_200), s(3_400), None, s(391_000), s(0)]),
        ("login-copy", "acme/builder", 2669, [s(18_700), s(2_000), None, s(300_000), s(0)]),
        ("login-copy", "acme/builder", 2692, [None, None, None, s(137_000), s(0)]),
        ("login-copy", "acme/builder", 2710, [s(13_400), s(1_800), None, s(180_000), s(0)]),
        ("pricing-ja", "acme/planner", 1342, [s(220_400), s(30_100), s(18), s(840_000), s(0)]),
        ("smoke-tests", "acme/builder", 2 * day + 301, [None, None, None, s(60_000), s(2)]),
        ("smoke-tests", "acme/builder", 2 * day + 320, [None, None, None, s(61_000), s(2)]),
        ("mobile:icons", "acme/builder", 2 * day + 1290, [s(1_100), s(0), s(1), s(4_000), s(1)]),
        ("search-index", "acme/planner", 3 * day + 1188, [s(540_600), s(22_000), s(61), s(2_280_000), s(0)]),
        ("hero-copy", "acme/builder", 4 * day + 1382, [None, None, None, None, None]),
    ];
    Ledger(rows.into_iter().enumerate().map(|(place, row)| record(place, row)).collect())
}

/// So many records of so many tasks, a minute apart.
pub fn many(records: usize, tasks: usize) -> Ledger {
    let row = |n: usize| {
        let (task, number) = (format!("task-{:05}", n % tasks), i64::try_from(n).unwrap());
        let numbers = [Some(1000 + number), Some(10), Some(1), Some(60_000), Some(0)];
        record(n, (&task, "acme/builder", number / 100, numbers))
    };
    Ledger((0..records).map(row).collect())
}

impl Ledger {
    fn found(&self, query: &RunQuery) -> Vec<AgentRun> {
        let holds = |run: &&AgentRun| {
            query.project.as_ref().is_none_or(|project| project.as_str() == run.run.project)
                && query.task.as_ref().is_none_or(|task| *task == run.run.task_id)
                && query.agent.as_ref().is_none_or(|agent| *agent == run.agent_id)
                && query.since.is_none_or(|since| run.run.reported_at >= since)
                && query.until.is_none_or(|until| run.run.reported_at < until)
        };
        self.0.iter().filter(holds).cloned().collect()
    }

    fn sums(&self, by: By, query: &RunQuery) -> RunSummary {
        let mut groups: BTreeMap<(String, String), (Group, Tally)> = BTreeMap::new();
        let mut total = Tally::default();
        let utc = Zone::Fixed(FixedOffset::east_opt(0).unwrap());
        for run in self.found(query) {
            let day = utc.date(run.run.reported_at).to_string();
            let (project, task) = (run.run.project.clone(), run.run.task_id.clone());
            let key = match by {
                By::Task => (project.clone(), task.clone()),
                By::Agent => (run.agent_id.to_string(), String::new()),
                By::Project => (project.clone(), String::new()),
                By::Day => (day.clone(), String::new()),
            };
            let (group, tally) = groups.entry(key).or_insert_with(|| {
                let group = Group {
                    project: matches!(by, By::Task | By::Project).then_some(project),
                    task_id: (by == By::Task).then_some(task),
                    agent_id: (by == By::Agent).then(|| run.agent_id.clone()),
                    day: (by == By::Day).then_some(day),
                    agents: Vec::new(),
                    totals: prickle::wire::sums::Totals::default(),
                };
                (group, Tally::default())
            });
            if by == By::Task && !group.agents.contains(&run.agent_id) {
                group.agents.push(run.agent_id.clone());
                group.agents.sort();
            }
            tally.join(&Tally::of(&run.run));
            total.join(&Tally::of(&run.run));
        }
        let mut rows: Vec<Group> =
            groups.into_values().map(|(group, tally)| Group { totals: tally.totals(), ..group }).collect();
        rows.sort_by_key(|group| match query.sort.order {
            Order::Tokens => (group.totals.tokens.sum.is_none(), -group.totals.tokens.sum.unwrap_or(0)),
            _ => (false, -group.totals.last_reported_at.unwrap().timestamp()),
        });
        let all = rows.len() as u64;
        rows.truncate(query.limit.unwrap_or(u32::MAX) as usize);
        let tz = (by == By::Day).then(|| "UTC".to_owned());
        RunSummary { by: by.as_str().into(), tz, rows, groups: all, total: total.totals() }
    }

    fn page(&self, query: &RunQuery) -> RunPage {
        let mut runs = self.found(query);
        runs.sort_by_key(|run| match query.sort.order {
            Order::Exit => (run.run.exit_code.is_none(), -run.run.exit_code.unwrap_or(0)),
            _ => (false, -run.run.reported_at.timestamp()),
        });
        let from: usize = query.cursor.as_ref().map_or(0, |cursor| cursor.parse().unwrap());
        let to = runs.len().min(from + query.limit.unwrap() as usize);
        let next_cursor = (to < runs.len()).then(|| to.to_string());
        RunPage { runs: runs[from..to].to_vec(), next_cursor }
    }

    /// What the room says.
    pub fn answer(&self, question: &Question) -> Answer {
        let told = match &question.ask {
            Ask::Sums { by, query, .. } => Told::Sums(Box::new(self.sums(*by, query))),
            Ask::Page(query) => Told::Page(self.page(query)),
        };
        Answer { question: question.clone(), told: Ok(told) }
    }

    /// Answers what the screen needs to know until it needs no more. How many questions that took.
    pub fn tell(&self, model: &mut Model) -> usize {
        let mut asked = 0;
        loop {
            let questions = wanted(model);
            let Some(question) = questions.first() else { return asked };
            update::runs(model, self.answer(question));
            asked += 1;
            assert!(asked < 200, "it is asked again and again: {questions:?}");
        }
    }
}

/// A person's key of acme.
pub fn person() -> Me {
    serde_json::from_value(json!({"kind": "person", "owner": "acme", "agent_id": null, "projects": null}))
        .unwrap()
}

/// An agent's key.
pub fn client() -> Me {
    let me =
        json!({"kind": "client", "owner": "acme", "agent_id": "acme/builder", "projects": ["website-v2"]});
    serde_json::from_value(me).unwrap()
}
