//! Kind × every field of both tools × own, other and missing project.

use std::collections::BTreeSet;

use prickle::wire::schema::{REPORT_RUN_INPUT, UPDATE_PULSE_INPUT};
use serde_json::{Value, json};

use super::common::caller::{Answer, run_report, with};
use super::{Key, MISSING, OTHER, OWN, column, picture, room_with_keys, row, table};

/// May it send the field? A woken run: only its own task's id, and an intent only with that.
const UPDATE_PULSE: &str = "
field              person oauth client project runner-device runner-tasks execution
project            no     yes   yes    yes     yes           no           yes
doing              no     yes   yes    yes     yes           no           no
availability       no     yes   yes    yes     yes           no           yes
task_id            no     yes   yes    yes     yes           no           own
branch             no     yes   yes    yes     yes           no           no
files              no     yes   yes    yes     yes           no           no
last_decision      no     yes   yes    yes     yes           no           no
intent             no     yes   yes    yes     yes           no           own
intent.kind        no     yes   yes    yes     yes           no           own
intent.paths       no     yes   yes    yes     yes           no           own
intent.areas       no     yes   yes    yes     yes           no           own
run_failure        no     no    yes    no      yes           no           no
run_failure.class  no     no    yes    no      yes           no           no
run_failure.step   no     no    yes    no      yes           no           no
clear_run_failure  no     no    yes    no      yes           no           no
";

/// May it report a run that differs in the field?
const REPORT_RUN: &str = "
field              person oauth client project runner-device runner-tasks execution
project            no     no    yes    no      yes           yes          no
run_id             no     no    yes    no      yes           yes          no
task_id            no     no    yes    no      yes           yes          no
input_tokens       no     no    yes    no      yes           yes          no
output_tokens      no     no    yes    no      yes           yes          no
turns              no     no    yes    no      yes           yes          no
duration_ms        no     no    yes    no      yes           yes          no
exit_code          no     no    yes    no      yes           yes          no
";

/// The names of a schema's members, also of its objects' own.
fn members(schema: &str) -> BTreeSet<String> {
    fn walk(found: &mut BTreeSet<String>, before: &str, schema: &Value) {
        for (name, of) in schema["properties"].as_object().into_iter().flatten() {
            found.insert(format!("{before}{name}"));
            walk(found, &format!("{before}{name}."), of);
        }
    }
    let mut found = BTreeSet::new();
    walk(&mut found, "", &serde_json::from_str(schema).unwrap());
    assert!(found.len() >= 8, "{found:?}");
    found
}

#[track_caller]
fn same_names(schema: &str, table: &[(&'static str, Vec<&'static str>)]) {
    let rows: BTreeSet<String> = table.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(members(schema), rows, "the schema's members and the table's rows");
}

/// A call that holds the field, and what of the resulting pulse it should be seen in.
fn sample(field: &str) -> (Value, Option<(&'static str, Value)>) {
    let intent = |more: Value| with(&json!({"kind": "change"}), more);
    match field {
        "project" => (json!({}), Some(("project", json!(OWN)))),
        "doing" => (json!({"doing": "the hero"}), Some(("doing", json!("the hero")))),
        "availability" => (json!({"availability": "away"}), Some(("availability", json!("away")))),
        "task_id" => (json!({"task_id": "t-1"}), Some(("task_id", json!("t-1")))),
        "branch" => (json!({"branch": "main"}), Some(("branch", json!("main")))),
        "files" => (json!({"files": ["a.rs"]}), Some(("files", json!(["a.rs"])))),
        "last_decision" => (json!({"last_decision": "no tabs"}), Some(("last_decision", json!("no tabs")))),
        "intent" => (json!({"intent": intent(json!({"paths": ["a"], "areas": ["b"]}))}), None),
        "intent.kind" => (json!({"intent": {"kind": "remove"}}), None),
        "intent.paths" => (json!({"intent": intent(json!({"paths": ["src/**"]}))}), None),
        "intent.areas" => (json!({"intent": intent(json!({"areas": ["api"]}))}), None),
        "run_failure" | "run_failure.class" => (failure("auth", "codex_sign_in"), None),
        "run_failure.step" => (failure("runtime", "cli_crashed"), None),
        "clear_run_failure" => (json!({"clear_run_failure": true}), None),
        other => panic!("{other} has no sample: how does a call with it look?"),
    }
}

fn failure(class: &str, step: &str) -> Value {
    json!({"run_failure": {"class": class, "step": step}})
}

/// What the call needs beside the field to be whole.
fn whole(key: &Key, field: &str, sample: &Value, project: &str) -> Value {
    let mut call = json!({"project": project});
    let failure = field.contains("run_failure");
    if !failure && key.kind.as_str() != "execution" {
        call["doing"] = json!("");
    }
    if field.starts_with("intent") && key.kind.as_str() == "execution" {
        call["task_id"] = json!("t-1"); // its own
    }
    with(&call, sample.clone())
}

#[tokio::test]
async fn every_kind_and_every_field_of_update_pulse() {
    let table = table(UPDATE_PULSE);
    same_names(UPDATE_PULSE_INPUT, &table);
    let (room, keys) = room_with_keys().await;
    for key in &keys {
        for field in members(UPDATE_PULSE_INPUT) {
            let (sample, seen) = sample(&field);
            let call = |project| whole(key, &field, &sample, project);
            let may = row(&table, &field)[column(key.kind)];
            let before = (picture(&room, OWN).await, picture(&room, OTHER).await);
            let at = format!("{key}, {field}");
            match (may, room.call(&key.token, "update_pulse", call(OWN)).await) {
                ("yes" | "own", Answer::Done(done)) => {
                    let pulse = &done["pulse"];
                    if let Some((member, value)) = seen {
                        assert_eq!(pulse[member], value, "{at}");
                    }
                    if let Some(intent) = sample.get("intent") {
                        for (member, value) in intent.as_object().unwrap() {
                            assert_eq!(&pulse["intent"][member], value, "{at}");
                        }
                    }
                    if let Some(failure) = sample.get("run_failure") {
                        assert_eq!(pulse["run_failure"]["step"], failure["step"], "{at}");
                    }
                    if field == "clear_run_failure" {
                        assert!(pulse.get("run_failure").is_none(), "{at}");
                    } else {
                        assert_eq!((&pulse["agent_id"], &pulse["owner"]), (&json!(key.who), &json!("acme")));
                    }
                }
                ("no", Answer::Refused(text)) => {
                    assert_eq!(before.0, picture(&room, OWN).await, "{at}: something was stored");
                    // It says what is at fault: the field, or the whole tool.
                    let top = field.split('.').next().unwrap();
                    assert!(text.contains(top) || text.contains("update_pulse"), "{at}: {text}");
                }
                (may, answer) => panic!("{at}: {may} is right, not {answer:?}"),
            }
            // Own: the key's task and no other's; and an intent of no task is nobody's.
            if may == "own" {
                let mut foreign = call(OWN);
                foreign["task_id"] = json!("t-2");
                let text = room.call(&key.token, "update_pulse", foreign).await.refused();
                assert!(text.contains("task_id"), "{at}: {text}");
                if field.starts_with("intent") {
                    let mut alone = call(OWN);
                    alone.as_object_mut().unwrap().remove("task_id");
                    let text = room.call(&key.token, "update_pulse", alone).await.refused();
                    assert!(text.contains("task_id"), "{at}: {text}");
                }
            }
            // Another's project and none at all are the same, whoever asks for what.
            let missing = room.call(&key.token, "update_pulse", call(MISSING)).await.refused();
            if !key.everywhere {
                let other = room.call(&key.token, "update_pulse", call(OTHER)).await.refused();
                assert_eq!(other.replace(OTHER, "*"), missing.replace(MISSING, "*"), "{at}");
                assert!(other.contains(OWN), "{at}: {other}");
                assert_eq!(before.1, picture(&room, OTHER).await, "{at}: something was stored");
            }
        }
    }
}

#[tokio::test]
async fn every_kind_and_every_field_of_report_run() {
    let table = table(REPORT_RUN);
    same_names(REPORT_RUN_INPUT, &table);
    let (room, keys) = room_with_keys().await;
    let person = &keys[0].token;
    let mut reported = 0;
    let mut tries = 0;
    for key in &keys {
        for field in members(REPORT_RUN_INPUT) {
            tries += 1;
            let base = run_report(&format!("4f7c2a9e-3b1d-4c8e-9a6f-{tries:012}"));
            let report = match field.as_str() {
                "project" | "run_id" => base,
                "task_id" => with(&base, json!({"task_id": "t-9"})),
                number => with(&base, json!({number: 77})),
            };
            let may = row(&table, &field)[column(key.kind)];
            let at = format!("{key}, {field}");
            match (may, room.call(&key.token, "report_run", with(&report, json!({"project": OWN}))).await) {
                ("yes", Answer::Done(done)) => {
                    reported += 1;
                    assert_eq!(done["run"][&field], report[&field], "{at}");
                }
                ("no", Answer::Refused(text)) => assert!(text.contains("report_run"), "{at}: {text}"),
                (may, answer) => panic!("{at}: {may} is right, not {answer:?}"),
            }
            let elsewhere = |project: &str| with(&report, json!({"project": project}));
            let missing = room.call(&key.token, "report_run", elsewhere(MISSING)).await.refused();
            if !key.everywhere {
                let other = room.call(&key.token, "report_run", elsewhere(OTHER)).await.refused();
                assert_eq!(other.replace(OTHER, "*"), missing.replace(MISSING, "*"), "{at}");
            }
            let kept = room.get(person, "/v1/runs?limit=1000").await.1["runs"].as_array().unwrap().len();
            assert_eq!(kept, reported, "{at}");
        }
    }
    assert!(reported > 0);
}
