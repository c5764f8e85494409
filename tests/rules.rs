//! The rules of the two tools that a schema can't say: who may send which field, and what a call makes of a
//! pulse. Each test is a rule.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use chrono::TimeDelta;
use prickle::rules::{self, Caller, Kind, Outcome, Refusal, Scope, Standing};
use prickle::wire::Time;
use prickle::wire::schema::{self, Fault};
use serde_json::{Map, Value, json};

const HOLDS: Duration = Duration::from_mins(30);

fn caller(kind: Kind) -> Caller {
    Caller {
        key: 1,
        kind,
        owner: "acme".parse().unwrap(),
        agent: kind.is_agent().then(|| "acme/builder".parse().unwrap()),
        task: (kind == Kind::Execution).then(|| "task-1".to_owned()),
        scope: Scope::All,
    }
}

fn at(minute: i64) -> Time {
    Time::UNIX_EPOCH + TimeDelta::minutes(30_000_000 + minute)
}

fn members(value: Value) -> Map<String, Value> {
    let Value::Object(mut members) = value else { panic!("an object") };
    members.entry("project").or_insert(json!("website-v2"));
    members
}

/// A whole call of `update_pulse` as the room takes it: the schema, then the rules; a refusal as its text.
fn call(kind: Kind, before: Option<&Standing>, now: Time, arguments: Value) -> Result<Outcome, String> {
    let report = schema::update_pulse(&members(arguments)).map_err(|f| Refusal::from(f).to_string())?;
    rules::pulse(&caller(kind), before, &report, now, HOLDS).map_err(|refusal| refusal.to_string())
}

fn taken(kind: Kind, before: Option<&Standing>, now: Time, arguments: Value) -> Standing {
    call(kind, before, now, arguments).unwrap().after.unwrap()
}

fn refused(kind: Kind, arguments: Value) -> String {
    call(kind, None, at(0), arguments).unwrap_err()
}

fn run_faults(arguments: Value) -> Vec<Fault> {
    schema::report_run(&members(arguments)).unwrap_err()
}

fn run_report() -> Value {
    json!({"run_id": "4f7c2a9e-3b1d-4c8e-9a6f-0d2e5b7c1a3f", "task_id": "task-1", "input_tokens": 1200,
        "output_tokens": 340, "turns": null, "duration_ms": 91_000, "exit_code": 0})
}

fn with(mut object: Value, name: &str, value: Value) -> Value {
    object[name] = value;
    object
}

/// As what a watcher sees: JSON.
fn seen(standing: &Standing) -> Value {
    serde_json::to_value(&standing.pulse).unwrap()
}

fn failure(step: &str) -> Value {
    json!({"class": "auth", "step": step})
}

/// One full report with every field an agent has.
fn everything() -> Value {
    json!({"availability": "idle", "doing": "Waiting", "task_id": "t-9", "branch": "main", "files": ["a.rs"],
        "last_decision": "Wait", "intent": {"kind": "add", "paths": ["b.rs"], "areas": ["billing"]}})
}

#[test]
fn each_kind_of_key_may_send_its_fields_and_no_others() {
    // Beside an empty `doing`, which every report but a runner's word may have.
    let reports = [
        ("availability", json!({"doing": "", "availability": "idle"})),
        ("doing", json!({"doing": "Drafting"})),
        ("task_id", json!({"doing": "", "task_id": "task-1"})),
        ("branch", json!({"doing": "", "branch": "main"})),
        ("files", json!({"doing": "", "files": ["a.rs"]})),
        ("last_decision", json!({"doing": "", "last_decision": "Ship it"})),
        ("intent", json!({"doing": "", "task_id": "task-1", "intent": {"kind": "add", "paths": ["a.rs"]}})),
        ("run_failure", json!({"run_failure": failure("codex_sign_in")})),
        ("clear_run_failure", json!({"clear_run_failure": true})),
    ];
    //            availability doing task_id branch files last_decision intent run_failure clear_run_failure
    let table = [
        (Kind::Person, [0, 0, 0, 0, 0, 0, 0, 0, 0]),
        (Kind::OAuth, [1, 1, 1, 1, 1, 1, 1, 0, 0]),
        (Kind::Client, [1, 1, 1, 1, 1, 1, 1, 1, 1]),
        (Kind::Project, [1, 1, 1, 1, 1, 1, 1, 0, 0]),
        (Kind::RunnerDevice, [1, 1, 1, 1, 1, 1, 1, 1, 1]),
        (Kind::RunnerTasks, [0, 0, 0, 0, 0, 0, 0, 0, 0]),
        (Kind::Execution, [1, 0, 1, 0, 0, 0, 1, 0, 0]),
    ];
    assert_eq!(table.map(|(kind, _)| kind), Kind::ALL);
    for (kind, may) in table {
        for ((field, report), may) in reports.iter().zip(may) {
            match call(kind, None, at(0), report.clone()) {
                Ok(_) => assert_eq!(may, 1, "{kind} sent {field}"),
                Err(text) => {
                    assert_eq!(may, 0, "{kind} could not send {field}: {text}");
                    let named = if kind.sends_pulses() { field } else { "update_pulse" };
                    assert!(text.starts_with(&format!("{named} ")), "{kind}, {field}: {text}");
                }
            }
        }
    }
}

#[test]
fn only_client_and_runner_keys_report_runs() {
    let report = schema::report_run(&members(run_report())).unwrap();
    for kind in Kind::ALL {
        let may = matches!(kind, Kind::Client | Kind::RunnerDevice | Kind::RunnerTasks);
        let decided = rules::run(&caller(kind), &report);
        assert_eq!(decided.is_ok(), may, "{kind}");
        if let Err(refusal) = decided {
            let text = refusal.to_string();
            assert!(text.contains("runner device's key") && text.contains("this token is"), "{text}");
        }
    }
}

#[test]
fn only_a_person_reads_records_of_runs() {
    for kind in Kind::ALL {
        assert_eq!(rules::reads_runs(&caller(kind)), kind == Kind::Person, "{kind}");
    }
}

#[test]
fn unknown_top_level_members_of_update_pulse_are_ignored() {
    let after = taken(Kind::Client, None, at(0), json!({"doing": "x", "mood": "fine", "cost_usd": null}));
    assert!(seen(&after).get("mood").is_none() && seen(&after).get("cost_usd").is_none());
}

#[test]
fn a_whole_number_may_be_written_in_any_way() {
    let report = |spelled: &str| {
        let number: Value = serde_json::from_str(spelled).unwrap();
        schema::report_run(&members(with(run_report(), "input_tokens", number)))
    };
    for spelled in ["1200", "1200.0", "1.2e3", "12E2"] {
        assert_eq!(report(spelled).unwrap().input_tokens, Some(1200), "{spelled}");
    }
    assert_eq!(report("null").unwrap().input_tokens, None);
    assert_eq!(report("0").unwrap().input_tokens, Some(0));
    assert!(report("1200.5").is_err());
}

#[test]
fn doing_is_required_and_may_be_empty() {
    let text = refused(Kind::Client, json!({"availability": "idle"}));
    assert!(text.contains("doing is required") && text.contains("200"), "{text}");
    assert_eq!(taken(Kind::Client, None, at(0), json!({"doing": ""})).pulse.doing, "");
}

#[test]
fn a_report_replaces_the_whole_pulse() {
    let first = taken(Kind::Client, None, at(0), everything());
    assert_eq!(
        seen(&first),
        json!({"agent_id": "acme/builder", "owner": "acme", "project": "website-v2", "availability": "idle",
            "doing": "Waiting", "task_id": "t-9", "branch": "main", "files": ["a.rs"], "last_decision": "Wait",
            "updated_at": "2027-01-15T08:00:00Z", "intent": {"kind": "add", "paths": ["b.rs"],
            "areas": ["billing"], "expires_at": "2027-01-15T08:30:00Z"}})
    );
    let second = call(Kind::Client, Some(&first), at(5), json!({"doing": "Going on"})).unwrap();
    assert_eq!(second.event, Some(at(5)));
    assert_eq!(
        seen(&second.after.unwrap()),
        json!({"agent_id": "acme/builder", "owner": "acme", "project": "website-v2", "availability": "working",
            "doing": "Going on", "task_id": null, "branch": null, "files": [], "last_decision": null,
            "updated_at": "2027-01-15T08:05:00Z"})
    );
}

#[test]
fn a_failure_survives_every_report() {
    let failed = taken(
        Kind::RunnerDevice,
        None,
        at(0),
        json!({"run_failure": failure("codex_sign_in"), "task_id": "t-1"}),
    );
    let after = taken(Kind::Client, Some(&failed), at(1), json!({"doing": "x", "task_id": "t-2"}));
    assert_eq!(seen(&after)["run_failure"], failure("codex_sign_in"));
    assert_eq!((after.failure_task.as_deref(), after.failure_at), (Some("t-1"), Some(at(0))));
}

#[test]
fn a_failure_and_its_clearing_in_one_call_are_refused() {
    for more in [json!({}), json!({"doing": "x"})] {
        let both =
            with(with(more, "run_failure", failure("codex_sign_in")), "clear_run_failure", json!(true));
        let text = refused(Kind::RunnerDevice, both);
        assert!(text.contains("run_failure and clear_run_failure"), "{text}");
    }
}

#[test]
fn a_failure_without_doing_comes_with_only_the_project_and_the_task() {
    for word in [json!({"run_failure": failure("codex_sign_in")}), json!({"clear_run_failure": true})] {
        let mut report = everything();
        report.as_object_mut().unwrap().remove("doing");
        let members = word.as_object().unwrap().clone();
        report.as_object_mut().unwrap().extend(members);
        let text = refused(Kind::RunnerDevice, report);
        for field in ["availability", "branch", "files", "last_decision", "intent"] {
            assert!(text.contains(&format!("{field} must be left out")), "{field}: {text}");
        }
        assert!(!text.contains("task_id must"), "{text}");
    }
    let text = refused(Kind::RunnerDevice, json!({"clear_run_failure": true, "doing": ""}));
    assert!(text.starts_with("doing must be left out"), "{text}");
}

#[test]
fn a_failures_task_is_kept_with_the_failure_and_never_sent_out() {
    let before = taken(Kind::Client, None, at(0), everything());
    let word = json!({"run_failure": failure("grok_sign_in"), "task_id": "secret-task"});
    let after = taken(Kind::RunnerDevice, Some(&before), at(1), word);
    assert_eq!(after.pulse.task_id.as_deref(), Some("t-9"));
    assert_eq!(after.failure_task.as_deref(), Some("secret-task"));
    assert!(!seen(&after).to_string().contains("secret-task"));
}

#[test]
fn a_failure_moves_nothing_else_of_the_pulse() {
    let before = taken(Kind::Client, None, at(0), everything());
    let word = json!({"run_failure": failure("grok_sign_in"), "task_id": "t-1"});
    let outcome = call(Kind::RunnerDevice, Some(&before), at(7), word).unwrap();
    assert_eq!(outcome.event, Some(at(7)), "the event is of the failure's time");
    let after = outcome.after.unwrap();
    assert_eq!(seen(&after), with(seen(&before), "run_failure", failure("grok_sign_in")));
    let cleared =
        call(Kind::RunnerDevice, Some(&after), at(9), json!({"clear_run_failure": true, "task_id": "t-1"}));
    let cleared = cleared.unwrap();
    assert_eq!((cleared.event, seen(&cleared.after.unwrap())), (Some(at(9)), seen(&before)));
}

#[test]
fn a_later_failure_replaces_an_earlier_one() {
    let word = |step, task: &str| json!({"run_failure": failure(step), "task_id": task});
    let first = taken(Kind::RunnerDevice, None, at(0), word("codex_sign_in", "t-1"));
    let second = taken(Kind::RunnerDevice, Some(&first), at(1), word("grok_sign_in", "t-2"));
    assert_eq!(seen(&second)["run_failure"], failure("grok_sign_in"));
    let kept =
        call(Kind::RunnerDevice, Some(&second), at(2), json!({"clear_run_failure": true, "task_id": "t-1"}));
    assert_eq!(kept.unwrap(), Outcome { after: Some(second), event: None });
}

#[test]
fn a_failure_said_again_is_no_news_until_the_agent_has_reported_since() {
    let word = || json!({"run_failure": failure("codex_sign_in"), "task_id": "t-1"});
    let before = taken(Kind::Client, None, at(0), json!({"doing": "x"}));
    let first = taken(Kind::RunnerDevice, Some(&before), at(1), word());
    let again = call(Kind::RunnerDevice, Some(&first), at(2), word()).unwrap();
    assert_eq!(again, Outcome { after: Some(first.clone()), event: None });
    let reported = taken(Kind::Client, Some(&first), at(3), json!({"doing": "y"}));
    let newer = call(Kind::RunnerDevice, Some(&reported), at(4), word()).unwrap();
    assert_eq!((newer.event, newer.after.unwrap().failure_at), (Some(at(4)), Some(at(4))));
}

#[test]
fn a_clear_clears_only_the_failure_of_its_task() {
    let tasks = [None, Some("t-1"), Some("t-2")];
    let word = |mut word: Value, task: Option<&str>| {
        if let Some(task) = task {
            word["task_id"] = task.into();
        }
        word
    };
    for failed in tasks {
        let report = word(json!({"run_failure": failure("codex_sign_in")}), failed);
        let standing = taken(Kind::RunnerDevice, None, at(0), report);
        for cleared in tasks {
            let clear = word(json!({"clear_run_failure": true}), cleared);
            let outcome = call(Kind::RunnerDevice, Some(&standing), at(1), clear).unwrap();
            let same = failed == cleared;
            assert_eq!(outcome.event.is_some(), same, "failed {failed:?}, cleared {cleared:?}");
            assert_eq!(outcome.after.unwrap().pulse.run_failure.is_none(), same);
        }
    }
}

#[test]
fn nothing_to_clear_is_no_error() {
    let clear = || json!({"clear_run_failure": true});
    let none = call(Kind::RunnerDevice, None, at(0), clear()).unwrap();
    assert_eq!(none, Outcome { after: None, event: None }, "an agent without a pulse stays without one");
    let standing = taken(Kind::Client, None, at(0), json!({"doing": "x"}));
    let kept = call(Kind::RunnerDevice, Some(&standing), at(1), clear()).unwrap();
    assert_eq!(kept, Outcome { after: Some(standing), event: None });
}

#[test]
fn an_agent_without_a_pulse_gets_one_with_its_failure() {
    let outcome =
        call(Kind::RunnerDevice, None, at(3), json!({"run_failure": failure("codex_sign_in")})).unwrap();
    assert_eq!(outcome.event, Some(at(3)));
    assert_eq!(
        seen(&outcome.after.unwrap()),
        json!({"agent_id": "acme/builder", "owner": "acme", "project": "website-v2", "availability": "offline",
            "doing": "", "task_id": null, "branch": null, "files": [], "last_decision": null,
            "updated_at": "2027-01-15T08:03:00Z", "run_failure": failure("codex_sign_in")})
    );
}

#[test]
fn a_failure_with_doing_is_a_report_and_a_failure() {
    let mut report = everything();
    report["run_failure"] = failure("codex_sign_in");
    let after = taken(Kind::RunnerDevice, None, at(0), report);
    assert_eq!((after.pulse.doing.as_str(), after.pulse.task_id.as_deref()), ("Waiting", Some("t-9")));
    assert_eq!((after.failure_task.as_deref(), after.failure_at), (Some("t-9"), Some(at(0))));
}

#[test]
fn a_woken_run_replaces_the_pulse_with_blanks() {
    let before = taken(Kind::Client, None, at(0), everything());
    let report = json!({"availability": "working", "task_id": "task-1", "doing": "", "branch": "", "files": [],
        "last_decision": "", "intent": {"kind": "remove", "areas": ["billing"]}});
    let after = taken(Kind::Execution, Some(&before), at(1), report);
    assert_eq!(
        seen(&after),
        json!({"agent_id": "acme/builder", "owner": "acme", "project": "website-v2", "availability": "working",
            "doing": "", "task_id": "task-1", "branch": null, "files": [], "last_decision": null,
            "updated_at": "2027-01-15T08:01:00Z", "intent": {"kind": "remove", "paths": [],
            "areas": ["billing"], "expires_at": "2027-01-15T08:31:00Z"}})
    );
    assert_eq!(taken(Kind::Execution, Some(&before), at(1), json!({})).pulse.task_id, None);
}

#[test]
fn a_woken_run_is_refused_every_field_that_is_not_empty() {
    let mut report = everything();
    report["task_id"] = json!("task-1");
    let text = refused(Kind::Execution, report);
    for field in ["doing", "branch", "files", "last_decision"] {
        assert!(text.contains(&format!("{field} must be empty or left out")), "{field}: {text}");
    }
    assert!(text.contains("it is \"Waiting\"") && !text.contains("availability must"), "{text}");
}

#[test]
fn a_woken_run_is_refused_another_tasks_id() {
    let text = refused(Kind::Execution, json!({"task_id": "task-2"}));
    assert!(text.contains("task_id must be this woken run's own task, task-1; it is \"task-2\""), "{text}");
}

#[test]
fn a_woken_runs_intent_needs_its_task_in_the_same_call() {
    let text = refused(Kind::Execution, json!({"intent": {"kind": "add", "paths": ["a"]}}));
    assert!(text.contains("task_id must come with") && text.contains("task-1"), "{text}");
}

#[test]
fn text_is_kept_byte_for_byte_and_only_u0000_is_refused() {
    let odd = "\u{1b}]52;c;aGk=\u{7} \u{202e}\r\n\u{feff}e\u{301}";
    let report = |text: &str| {
        json!({"doing": text, "branch": text, "last_decision": text, "files": [text],
            "intent": {"kind": "add", "paths": [text]}})
    };
    let after = taken(Kind::Client, None, at(0), report(odd));
    let pulse = &after.pulse;
    let paths = &pulse.intent.as_ref().unwrap().paths;
    assert_eq!([&pulse.doing, &pulse.files[0], &paths[0]], [odd; 3]);
    assert_eq!([&pulse.branch, &pulse.last_decision].map(|t| t.as_deref()), [Some(odd); 2]);
    let text = refused(Kind::Client, report("a\0b"));
    for field in ["doing", "branch", "last_decision", "files[0]", "intent.paths[0]"] {
        assert!(text.contains(&format!("{field} must not hold the character U+0000")), "{field}: {text}");
    }
    assert!(!text.contains('\0'));
}

#[test]
fn an_intent_takes_whatever_the_schema_takes_and_is_stamped_by_the_room() {
    for paths in [json!([]), json!(["["]), json!(["src/[id]/**"]), json!(["{a,b"]), json!(["../../etc"])] {
        let intent = json!({"kind": "change", "paths": paths, "expires_at": "2099-01-01T00:00:00Z"});
        assert!(refused(Kind::Client, json!({"doing": "", "intent": intent})).contains("intent.expires_at"));
        let report = json!({"doing": "", "intent": {"kind": "change", "paths": paths}});
        let after = taken(Kind::Client, None, at(0), report);
        let intent = after.pulse.intent.as_ref().unwrap();
        assert_eq!((json!(intent.paths), intent.expires_at), (paths, at(30)));
    }
}

#[test]
fn run_failure_and_intent_are_absent_and_never_null() {
    let after = seen(&taken(Kind::Client, None, at(0), json!({"doing": "x"})));
    assert!(after.get("run_failure").is_none() && after.get("intent").is_none(), "{after}");
    assert!(after["branch"].is_null() && after["task_id"].is_null());
}

#[test]
fn a_project_that_is_not_the_tokens_is_refused_with_the_tokens_own() {
    let own: Vec<_> = ["api", "website-v2"].iter().map(|p| p.parse().unwrap()).collect();
    let text = rules::no_such_project("websit\u{202e}", &own).to_string();
    assert!(text.contains("api, website-v2") && !text.contains('\u{202e}'), "{text}");
    let many: Vec<_> = (0..50).map(|i| format!("p{i}").parse().unwrap()).collect();
    assert!(rules::no_such_project("x", &many).to_string().contains("and 30 more"));
    assert!(rules::no_such_project("x", &[]).to_string().contains("prickle key create"));
}

#[test]
fn case_c06_a_number_sent_as_a_string_is_refused_by_name() {
    let faults = run_faults(with(run_report(), "input_tokens", json!("1200")));
    let text = faults[0].to_string();
    assert_eq!(faults.len(), 1);
    assert!(
        text.starts_with("input_tokens must be a whole number") && text.ends_with("it is \"1200\"."),
        "{text}"
    );
}

#[test]
fn case_c09_null_for_an_optional_field_is_refused_by_name() {
    let nulls = json!({"doing": "x", "availability": null, "branch": null, "task_id": null, "files": null,
        "last_decision": null, "run_failure": null, "clear_run_failure": null, "intent": null});
    let text = refused(Kind::Client, nulls.clone());
    for field in nulls.as_object().unwrap().keys().filter(|field| *field != "doing") {
        assert!(text.contains(&format!("{field} must be")), "{field}: {text}");
    }
    assert!(refused(Kind::Client, json!({"doing": null})).starts_with("doing must be"));
}

#[test]
fn case_c11_a_missing_number_is_not_null() {
    for field in ["input_tokens", "output_tokens", "turns", "duration_ms", "exit_code"] {
        let mut report = run_report();
        report.as_object_mut().unwrap().remove(field);
        let faults = run_faults(report);
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert_eq!(faults[0].to_string(), format!("{field} is required."));
    }
}

#[test]
fn case_c15_a_member_that_nobody_knows_is_refused_by_name() {
    let faults = run_faults(with(run_report(), "cost_usd", json!(1)));
    assert!(faults[0].to_string().starts_with("cost_usd is no member here; there are project"), "{faults:?}");
    let text = refused(Kind::Client, json!({"doing": "x", "intent": {"kind": "add", "path": ["src/a.rs"]}}));
    assert!(text.contains("intent.path is no member here; there are kind, paths, areas"), "{text}");
    let typo = json!({"class": "auth", "step": "codex_sign_in", "note": "x"});
    let text = refused(Kind::Client, json!({"run_failure": typo}));
    assert!(text.contains("run_failure.note is no member here"), "{text}");
}

#[test]
fn case_c21_every_fault_of_a_call_is_named_with_limit_and_value() {
    let text = refused(
        Kind::Client,
        json!({"project": "Website V2", "availability": "busy", "doing": "x".repeat(201)}),
    );
    for part in ["project must", "39", "\"Website V2\"", "availability must be one of online, working"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    for part in ["\"busy\"", "doing must be a string of at most 200 characters; it is 201 characters"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn case_c31_lengths_count_code_points() {
    let sends = |field: &str, value: Value| {
        call(Kind::Client, None, at(0), with(json!({"doing": ""}), field, value)).map(|o| o.after.unwrap())
    };
    let pulse = sends("doing", json!("😀".repeat(200))).unwrap();
    assert_eq!(pulse.pulse.doing.len(), 800, "kept whole");
    assert!(sends("doing", json!("😀".repeat(201))).unwrap_err().contains("doing must be"));
    assert!(sends("doing", json!("e\u{301}".repeat(100))).is_ok());
    assert!(sends("files", json!(["表".repeat(300)])).is_ok());
    assert!(sends("files", json!(["ok", "表".repeat(301)])).unwrap_err().contains("files[1] must be"));
}
