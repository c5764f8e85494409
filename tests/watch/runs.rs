//! The Runs of a real room: what is reported appears by itself, is exported, and stays while the room is away.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::{Stage, quit};
use crate::common::caller::{Caller, run_report, with};
use crate::pty::Terminal;

/// Has an agent's run reported; the room must take it.
fn reports(stage: &Stage, key: &str, end: &str, numbers: Value) {
    let report = with(&run_report(&format!("4f7c2a9e-3b1d-4c8e-9a6f-0d2e5b7c1a{end}")), numbers);
    stage.calls.block_on(Caller::new(&stage.url()).run(key, report));
}

/// A watch in the Runs, with one record there.
fn opened() -> (Stage, String, Terminal) {
    let (stage, claude) = Stage::with_claude();
    reports(&stage, &claude.key, "01", json!({"task_id": "nav", "output_tokens": null}));
    let mut watch = stage.watch(100, 30);
    watch.wait_for("Writing the hero copy");
    watch.send("3");
    watch.wait_for_all(&["Runs of acme by task", "▌nav", "1 task"]);
    (stage, claude.key, watch)
}

/// The row of a task.
fn row(watch: &Terminal, task: &str) -> String {
    let is = |row: &&String| row.trim_start_matches(['▌', ' ']).starts_with(task);
    watch.rows().iter().find(is).cloned().unwrap_or_default()
}

#[test]
fn a_record_appears_without_a_key_and_the_selection_stays() {
    let (stage, key, mut watch) = opened();
    reports(&stage, &key, "02", json!({"task_id": "icons", "exit_code": 1}));
    watch.wait_for_all(&[" icons ", "▌nav", "2 tasks"]);
    // In one task's records as well.
    watch.send("\r");
    watch.wait_for_all(&["Runs of acme › nav", "1 run "]);
    reports(&stage, &key, "03", json!({"task_id": "nav", "input_tokens": 0, "exit_code": null}));
    watch.wait_for_all(&["2 runs", "— unknown"]);
    assert!(watch.text().contains("≥ 0 failed"), "{}", watch.text());
    quit(&mut watch);
}

#[test]
fn what_is_listed_is_exported_for_its_owner_alone_and_nothing_is_overwritten() {
    let (stage, key, mut watch) = opened();
    reports(&stage, &key, "02", json!({"task_id": "nav", "input_tokens": 0, "exit_code": 143}));
    reports(&stage, &key, "03", json!({"task_id": "icons"}));
    watch.wait_until("both", |watch| {
        watch.text().contains("2 tasks") && row(watch, "nav").split_whitespace().nth(1) == Some("2")
    });
    watch.send("e");
    watch.wait_for(".csv: 2 tasks");
    let name = |watch: &Terminal| -> PathBuf {
        let text = watch.text();
        let name = text.split("wrote ").nth(1).unwrap().split(':').next().unwrap();
        stage.folder.path().join(name)
    };
    let first = name(&watch);
    let sheet = fs::read_to_string(&first).unwrap();
    assert_eq!(fs::metadata(&first).unwrap().permissions().mode() & 0o777, 0o600);
    let cells = cells(&sheet, "nav");
    let of = |name: &str| cells.iter().find(|(other, _)| other == name).unwrap().1.clone();
    assert_eq!([of("project"), of("agents"), of("runs")], ["website-v2", "acme/claude", "2"]);
    assert_eq!([of("input_tokens_sum"), of("input_tokens_known")], ["1200", "2"]);
    assert_eq!([of("output_tokens_sum"), of("output_tokens_known")], ["340", "1"]);
    assert_eq!([of("failed_sum"), of("failed_known")], ["1", "2"]);

    watch.send("e");
    watch.wait_for("-2.csv");
    assert_ne!(name(&watch), first);
    assert_eq!(fs::read_to_string(name(&watch)).unwrap(), sheet);
    assert_eq!(fs::read_to_string(&first).unwrap(), sheet);

    watch.send("\r");
    watch.wait_for_all(&["Runs of acme › nav", "2 runs"]);
    watch.send("e");
    watch.wait_for("wrote runs-nav-");
    let records = fs::read_to_string(name(&watch)).unwrap();
    assert_eq!(records.lines().count(), 3, "{records}");
    assert!(
        records.contains(",nav,0,340,3,91000,143,") && records.contains(",nav,1200,,3,91000,0,"),
        "{records}"
    );
    quit(&mut watch);
}

/// The cells of a task's line, with their names.
fn cells(sheet: &str, task: &str) -> Vec<(String, String)> {
    let mut reader = csv::Reader::from_reader(sheet.as_bytes());
    let names = reader.headers().unwrap().clone();
    let line =
        reader.records().map(Result::unwrap).find(|line| line.iter().any(|cell| cell == task)).unwrap();
    names.iter().map(str::to_owned).zip(line.iter().map(str::to_owned)).collect()
}

#[test]
fn the_last_answer_stays_dated_while_the_room_is_away_and_comes_back_live() {
    let (mut stage, key, mut watch) = opened();
    stage.room.kill9();
    watch.wait_for_all(&["offline ", "as of ", "nav", "1.2k"]);
    assert!(watch.rows()[1].contains("as of "), "{}", watch.text());
    // What is there can still be looked at; of what is not, nothing is made up.
    watch.send("d");
    watch.wait_until("other days", |watch| watch.rows()[1].ends_with(", not yet last 30 days ─"));
    assert!(watch.text().matches("no runs").count() < 7, "{}", watch.text());
    assert!(row(&watch, "nav").contains("1.2k"), "{}", watch.text());
    watch.send("ddd");
    watch.wait_without("not yet");

    stage.reopen();
    watch.send("r");
    watch.wait_until("live again", |watch| watch.rows()[0].contains("live"));
    watch.wait_without("as of ");
    reports(&stage, &key, "04", json!({"task_id": "icons"}));
    watch.wait_for_all(&["icons", "2 tasks"]);
    quit(&mut watch);
}
