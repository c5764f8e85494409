//! The sums that are kept with the records: from the first record on, from older databases, and as `--check` finds
//! them.

use std::process::Output;

use chrono::TimeDelta;
use prickle::rules::Kind;
use prickle::wire::query::{By, RunQuery};
use proptest::prelude::*;
use rusqlite::types::Value;
use serde_json::json;
use tokio::runtime::Runtime;

use super::common::child::prickle;
use super::database::{Database, run, run_id};
use super::model::{AGENTS, Made, PROJECTS, TASKS, made, person, room, store_all};

const TABLES: [&str; 3] = ["agent_sums", "task_sums", "quarter_sums"];

fn rows(database: &Database, from: &str) -> Vec<Vec<Value>> {
    let sql = database.sql();
    let mut select = sql.prepare(&format!("SELECT * FROM {from} ORDER BY 1, 2, 3, 4")).unwrap();
    let columns = select.column_count();
    let rows = select.query_map([], |row| (0..columns).map(|at| row.get(at)).collect()).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

#[track_caller]
fn are_those_of_the_records(database: &Database) {
    for table in TABLES {
        let kept = rows(database, table);
        assert_eq!(kept, rows(database, &format!("{table}_anew")), "{table}");
        let records = rows(database, "runs").len();
        assert_eq!(kept.is_empty(), records == 0, "{table}");
    }
}

fn check(database: &Database) -> Output {
    prickle(database.folder.path()).args(["serve", "--check", "--db"]).arg(&database.path).output().unwrap()
}

/// The exit code, stdout and stderr of a check.
fn checked(database: &Database) -> (Option<i32>, String, String) {
    let done = check(database);
    (done.status.code(), String::from_utf8(done.stdout).unwrap(), String::from_utf8(done.stderr).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    /// Whatever is reported to the room, again, differently, by another, or not at all well: the sums are those of
    /// the records.
    #[test]
    fn the_room_keeps_the_sums_of_its_records(
        reports in prop::collection::vec((made(), 1..12u64, -200..200i64), 1..25),
    ) {
        let runtime = Runtime::new().unwrap();
        let database = Database::new();
        let store = database.open();
        let agents = AGENTS.map(|agent| database.caller(&store, Kind::Client, agent, &PROJECTS));
        for (Made { agent, project, task, numbers: [input, output, turns, duration, exit], .. }, id, minutes) in &reports {
            database.clock.set_offset(TimeDelta::minutes(*minutes));
            let report = json!({"run_id": run_id(*id), "project": PROJECTS[*project], "task_id": TASKS[*task],
                "input_tokens": input, "output_tokens": output, "turns": turns, "duration_ms": duration, "exit_code": exit});
            let first = runtime.block_on(run(&store, &agents[*agent], report.clone()));
            if let Ok(first) = first {
                let again = runtime.block_on(run(&store, &agents[*agent], report)).unwrap();
                prop_assert_eq!(again, first);
            }
        }
        are_those_of_the_records(&database);
        let caller = person(&database, &store, &[]);
        let told = runtime.block_on(store.run_summary(&caller, By::Agent, chrono_tz::UTC, &RunQuery::default())).unwrap();
        prop_assert_eq!(usize::try_from(told.total.runs).unwrap(), rows(&database, "runs").len());
    }

    #[test]
    fn a_rebuild_comes_to_the_same(records in prop::collection::vec(made(), 0..80)) {
        let (database, _store) = room();
        store_all(&database, &records, 1);
        are_those_of_the_records(&database);
    }
}

/// A database of the second version with records in it.
fn second_version(database: &Database) {
    let sql = database.sql();
    sql.execute_batch(include_str!("../../src/server/store/schema.sql")).unwrap();
    sql.execute_batch(include_str!("../../src/server/store/schema-2.sql")).unwrap();
    sql.execute_batch(
        "PRAGMA application_id = 0x70726b6c;
        PRAGMA user_version = 2;
        PRAGMA journal_mode = wal;
        INSERT INTO room VALUES (1, 'AAAAAAAAAAAAAAAA');
        INSERT INTO owners VALUES (1, 'acme', 1000), (2, 'globex', 1000);
        INSERT INTO agents VALUES (1, 1, 'builder', 1000), (2, 1, 'writer', 1000), (3, 2, 'builder', 1000);
        INSERT INTO projects VALUES (1, 'website-v2', 1000), (2, 'api', 1000);
        INSERT INTO runs VALUES
            (1, 'a', 1, 2, 1, 'nav', 10, 1, NULL, 5, 0, 1700000000000),
            (2, 'b', 1, 1, 1, 'nav', NULL, 1, 3, 5, 2, 1700000000001),
            (3, 'c', 1, 1, 2, 'nav', 7, 1, 3, 5, 1, 1700009000000),
            (4, 'd', 1, 1, 2, 'auth', 2147483647, 2147483647, 3, 5, NULL, 1600000000000),
            (5, 'e', 2, 3, 1, 'nav', 0, 0, 0, 0, 0, 1700000000000);",
    )
    .unwrap();
}

#[tokio::test]
async fn records_of_an_older_database_are_summed_as_it_is_brought_to_this_version() {
    let database = Database::new();
    second_version(&database);
    let store = database.open();
    are_those_of_the_records(&database);
    let caller = person(&database, &store, &[]);
    let told = store.run_summary(&caller, By::Task, chrono_tz::UTC, &RunQuery::default()).await.unwrap();
    assert_eq!(
        (told.groups, told.total.runs, told.total.failed.sum, told.total.failed.known),
        (3, 4, Some(2), 3)
    );
    let nav = told.rows.iter().find(|row| row.project.as_deref() == Some("website-v2")).unwrap();
    let agents: Vec<&str> = nav.agents.iter().map(prickle::wire::id::AgentId::as_str).collect();
    assert_eq!(agents, ["acme/builder", "acme/writer"]);
    // It goes on from there.
    let agent = database.agent(&store);
    run(&store, &agent, json!({})).await.unwrap();
    are_those_of_the_records(&database);
    let version: i64 = database.sql().query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    assert_eq!(version, 3);
}

#[tokio::test]
async fn a_check_says_that_the_sums_agree() {
    let (database, store) = room();
    let records: Vec<Made> = (0..40)
        .map(|n| Made {
            agent: n % 3,
            project: n % 2,
            task: n % 3,
            numbers: [None; 5],
            at: super::model::millis(1_790_000_000_000),
        })
        .collect();
    store_all(&database, &records, 1);
    let (code, out, error) = checked(&database);
    assert_eq!((code, &*out), (Some(2), ""), "a room is running: {error}");
    assert!(error.contains("another room is running on it"), "{error}");
    store.close().await;
    drop(store);
    assert_eq!(
        checked(&database),
        (Some(0), "41 records, 7 tasks: the sums agree\n".to_owned(), String::new())
    );
}

#[tokio::test]
async fn a_check_puts_right_what_differs() {
    let (database, store) = room();
    let records: Vec<Made> = (0..40)
        .map(|n| Made {
            agent: n % 3,
            project: n % 2,
            task: n % 3,
            numbers: [Some(1); 5],
            at: super::model::millis(1_790_000_000_000),
        })
        .collect();
    store_all(&database, &records, 1);
    store.close().await;
    drop(store);
    for (wrong, count) in [
        ("UPDATE agent_sums SET input = input + 1", 7),
        ("DELETE FROM task_sums WHERE agent = 0 AND owner = 1", 6),
        ("UPDATE quarter_sums SET quarter = quarter + 1 WHERE project = 0 AND agent = 0 AND owner = 1", 2),
        ("UPDATE task_sums SET agents = ' 1 ' WHERE agent = 0 AND owner = 2", 1),
        ("DELETE FROM quarter_sums", 16),
    ] {
        assert!(database.sql().execute(wrong, []).unwrap() > 0, "{wrong}");
        let (code, out, error) = checked(&database);
        assert_eq!((code, &*out), (Some(1), ""), "{wrong}: {error}");
        let s = if count == 1 { "" } else { "s" };
        assert_eq!(
            error,
            format!("prickle: 41 records, 7 tasks: {count} sum{s} differed and were put right\n"),
            "{wrong}"
        );
        are_those_of_the_records(&database);
        assert_eq!(check(&database).status.code(), Some(0), "{wrong}");
    }
}

#[test]
fn a_check_makes_no_database() {
    let database = Database::new();
    let (code, _, error) = checked(&database);
    assert_eq!(code, Some(2));
    assert!(error.contains("there is no database at") && !database.path.exists(), "{error}");
}
