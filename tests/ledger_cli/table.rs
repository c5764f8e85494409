//! The table itself: at every width, with what is not known in it.

use chrono_tz::Tz;
use prickle::ledger::Tally;
use prickle::report::runs::table::{self, Frame};
use prickle::wire::query::By;
use prickle::wire::run::AgentRun;
use prickle::wire::sums::{Group, RunSummary};
use prickle::words::Zone;
use serde_json::{Value, json};

const NOW: &str = "2026-11-30T14:32:00Z";

fn frame(width: Option<usize>) -> Frame {
    Frame { zone: Zone::Named(Tz::UTC), now: NOW.parse().unwrap(), width, tell: str::to_owned }
}

/// A run; what is not given is not known.
fn run(task: &str, agent: &str, reported: &str, numbers: Value) -> AgentRun {
    let id = format!(
        "{:08x}-3b1d-4c8e-9a6f-0d2e5b7c1a3f",
        reported.bytes().fold(0, |hash: u32, byte| hash.wrapping_mul(31) ^ u32::from(byte))
    );
    let mut run = json!({
        "agent_id": agent, "run_id": id, "project": "website-v2", "task_id": task, "input_tokens": null,
        "output_tokens": null, "turns": null, "duration_ms": null, "exit_code": null, "source": "client_reported",
        "reported_at": reported,
    });
    let Value::Object(numbers) = numbers else { panic!("members are wanted") };
    for (name, value) in numbers {
        run[name] = value;
    }
    serde_json::from_value(run).unwrap()
}

fn all() -> Vec<AgentRun> {
    let full = |input: i64, output: i64, turns: i64, ms: i64, exit: i64| json!({"input_tokens": input, "output_tokens": output, "turns": turns, "duration_ms": ms, "exit_code": exit});
    vec![
        run(
            "auth-cleanup",
            "acme/builder",
            "2026-11-30T14:21:00Z",
            full(1_240_000, 61_800, 142, 4_320_000, 1),
        ),
        run(
            "nav-review",
            "acme/reviewer",
            "2026-11-30T14:02:00Z",
            json!({"exit_code": 0, "duration_ms": 812}),
        ),
        run("nav-review", "acme/reviewer", "2026-11-29T21:40:00Z", full(412_345, 18_200, 34, 2_460_000, 0)),
        run(
            "icons-of-the-whole-new-settings-page-and-its-menu",
            "acme/builder",
            "2026-11-27T17:02:00Z",
            full(1_100, 0, 1, 4_000, 137),
        ),
        run("hero-copy", "acme/planner", "2026-11-25T15:30:00Z", json!({})),
        run("smoke-tests", "acme/planner", "2025-11-12T09:31:00Z", json!({"exit_code": 1})),
    ]
}

fn summary(runs: &[AgentRun], by: By) -> RunSummary {
    let mut groups: Vec<(String, Tally)> = Vec::new();
    let mut total = Tally::default();
    for run in runs {
        let name = match by {
            By::Task => run.run.task_id.clone(),
            By::Agent => run.agent_id.to_string(),
            By::Project => run.run.project.clone(),
            By::Day => run.run.reported_at.date_naive().to_string(),
        };
        let tally = Tally::of(&run.run);
        total.join(&tally);
        match groups.iter_mut().find(|(other, _)| *other == name) {
            Some((_, sum)) => sum.join(&tally),
            None => groups.push((name, tally)),
        }
    }
    let rows = groups.iter().map(|(name, tally)| Group {
        project: matches!(by, By::Task | By::Project).then(|| "website-v2".to_owned()),
        task_id: (by == By::Task).then(|| name.clone()),
        agent_id: (by == By::Agent).then(|| name.parse().unwrap()),
        day: (by == By::Day).then(|| name.clone()),
        agents: Vec::new(),
        totals: tally.totals(),
    });
    RunSummary {
        by: by.as_str().into(),
        tz: (by == By::Day).then(|| "UTC".into()),
        rows: rows.collect(),
        groups: groups.len() as u64,
        total: total.totals(),
    }
}

fn records(runs: &[AgentRun], width: Option<usize>) -> String {
    let mut table = table::Records::new(frame(width));
    format!("{}{}", table.page(runs), table.end())
}

fn widest(text: &str) -> usize {
    text.lines().map(prickle::shown::width).max().unwrap()
}

#[test]
fn tables_of_groups_at_every_width() {
    for width in [100, 80, 60, 40] {
        let text = table::groups(&summary(&all(), By::Task), By::Task, frame(Some(width)));
        assert!(widest(&text) <= width, "{width}:\n{text}");
        insta::assert_snapshot!(format!("tasks-{width}"), text);
    }
    let days = table::groups(&summary(&all(), By::Day), By::Day, frame(Some(100)));
    insta::assert_snapshot!("days-100", days);
    let piped = table::groups(&summary(&all(), By::Task), By::Task, frame(None));
    insta::assert_snapshot!("tasks-piped", piped);
}

#[test]
fn tables_of_records_at_every_width() {
    for width in [100, 80, 60, 40] {
        let text = records(&all(), Some(width));
        assert!(widest(&text) <= width, "{width}:\n{text}");
        insta::assert_snapshot!(format!("records-{width}"), text);
    }
    insta::assert_snapshot!("records-piped", records(&all(), None));
}

#[test]
fn a_limited_table_sums_up_what_it_does_not_show() {
    let whole = summary(&all(), By::Agent);
    let some = RunSummary { rows: whole.rows[..1].to_vec(), ..whole };
    let text = table::groups(&some, By::Agent, frame(Some(100)));
    assert!(text.contains("\nall 3 agents ") && !text.contains("reviewer"), "{text}");
}

#[test]
fn other_peoples_texts_stay_in_their_cells() {
    let hostile = run("a\u{1b}[2J\nb\u{202e}c", "acme/builder", NOW, json!({}));
    for width in [Some(80), None] {
        let mut texts = vec![records(std::slice::from_ref(&hostile), width)];
        texts.push(table::groups(&summary(std::slice::from_ref(&hostile), By::Task), By::Task, frame(width)));
        for text in texts {
            assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
            assert_eq!(text.lines().next().unwrap().matches("TASK").count(), 1);
            assert!(text.lines().nth(1).unwrap().contains('c'), "one row a record: {text:?}");
        }
    }
}

#[test]
fn later_pages_keep_to_the_columns_of_the_first() {
    let mut table = table::Records::new(frame(Some(100)));
    let first = table.page(&all()[..1]);
    let second = table.page(&all()[3..4]);
    let at = |text: &str, line: usize, what: &str| {
        let line = text.lines().nth(line).unwrap();
        line.find(what).map(|at| prickle::shown::width(&line[..at])).unwrap()
    };
    assert_eq!(at(&first, 0, "EXIT"), at(&second, 0, "137 killed"));
    assert!(second.contains("icons-of-th…"), "{second}");
}
