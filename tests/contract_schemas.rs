//! The room's own check of arguments and the contract's schemas accept and refuse the same, and what the
//! rules make of a call validates against the output schemas.
#![allow(clippy::unwrap_used)]

use std::cell::Cell;
use std::collections::BTreeSet;
use std::time::Duration;

use jsonschema::Validator;
use prickle::rules::{self, Caller, Kind, Refusal, Scope};
use prickle::server::clock::Clock;
use prickle::wire::schema::{self, Fault};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};

/// Calls of each tool that are tried.
const CASES: u32 = 20_000;

fn validator(schema: &str) -> Validator {
    jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap()
}

/// Texts of exactly this many code points, of one to four bytes each.
fn text_of(points: usize) -> impl Strategy<Value = Value> {
    prop::sample::select(vec!["a", "é", "漢", "😀", "\u{301}", "\u{202e}", "\n", "\u{1b}", "\0"])
        .prop_map(move |c| Value::from(c.repeat(points)))
}

/// Texts round a limit: just within, at, and just beyond.
fn text_round(limit: usize) -> impl Strategy<Value = Value> {
    prop::sample::select(vec![0, 1, limit - 1, limit, limit, limit + 1]).prop_flat_map(text_of)
}

/// Numbers in every spelling that JSON has.
fn number() -> impl Strategy<Value = Value> {
    let spelled = [
        "0",
        "-0",
        "0.0",
        "-0.0",
        "1",
        "255",
        "256",
        "1200",
        "1200.0",
        "1.2e3",
        "12e2",
        "1.2E+3",
        "120000e-2",
        "0.5",
        "1200.5",
        "-1",
        "-1.0",
        "254.99999999999997",
        "255.0",
        "255.00000000000003",
        "256.0",
        "2147483647",
        "2147483647.0",
        "2147483648",
        "2147483648.0",
        "2.147483647e9",
        "2147483647.5",
        "4294967296",
        "9007199254740993",
        "9.007199254740993e15",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551615",
        "1e18",
        "1e19",
        "1e300",
        "-1e300",
        "5e-324",
        "1e-400",
        "123456789012345678901234",
    ];
    let values: Vec<Value> = spelled.iter().map(|n| serde_json::from_str(n).unwrap()).collect();
    prop::sample::select(values)
}

/// A value of any type, mostly a wrong one.
fn odd() -> impl Strategy<Value = Value> {
    let values = vec![
        json!(null),
        json!(true),
        json!(false),
        json!(""),
        json!("x"),
        json!("1200"),
        json!("null"),
        json!([]),
        json!([null]),
        json!([1]),
        json!(["x", 2]),
        json!({}),
        json!({"x": 1}),
        json!([["x"]]),
        json!(" "),
    ];
    prop_oneof![2 => prop::sample::select(values), 1 => number()]
}

fn named(names: &'static [&'static str]) -> BoxedStrategy<Value> {
    let near = names
        .iter()
        .flat_map(|n| [n.to_uppercase(), format!("{n} "), n[..n.len() - 1].to_owned(), n.replace('_', "-")]);
    let near: Vec<String> = near.collect();
    let good = prop::sample::select(names.to_vec()).prop_map(Value::from);
    prop_oneof![16 => good, 1 => prop::sample::select(near).prop_map(Value::from)].boxed()
}

fn pattern(
    good: &'static [&'static str],
    bad: &'static [&'static str],
    length: usize,
) -> BoxedStrategy<Value> {
    let long = prop::sample::select(vec![length - 1, length, length, length + 1])
        .prop_map(|n| Value::from("a".repeat(n)));
    prop_oneof![
        12 => prop::sample::select(good.to_vec()).prop_map(Value::from),
        1 => prop::sample::select(bad.to_vec()).prop_map(Value::from),
        2 => long,
    ]
    .boxed()
}

fn project() -> BoxedStrategy<Value> {
    let bad = &["", "-", "a-", "-a", "a--b", "Website", "a_b", "a b", "é", "a\n", "\na", "a.b", "ａ"];
    pattern(&["website-v2", "a", "0", "a-b-c"], bad, 39)
}

fn task() -> BoxedStrategy<Value> {
    pattern(&["task-1", "_", "-", "A", "auth_cleanup"], &["", "a b", "é", "a\n", "a.b", "a/b", "\0"], 64)
}

fn list(item: BoxedStrategy<Value>, most: usize) -> BoxedStrategy<Value> {
    let around = prop::sample::select(vec![0, 1, 2, most, most, most + 1]);
    let few = prop::collection::vec(item, 0..3).prop_map(Value::from);
    let many = (around, text_of(1)).prop_map(|(n, text)| Value::from(vec![text; n]));
    prop_oneof![3 => few, 1 => many].boxed()
}

/// An object of these members: each may be left out (seldom where it is required), be its own kind or an odd
/// one; now and then there is a member that nobody knows.
fn object(members: Vec<(&'static str, u32, BoxedStrategy<Value>)>) -> BoxedStrategy<Value> {
    let parts: Vec<BoxedStrategy<Option<(&str, Value)>>> = members
        .into_iter()
        .map(|(name, absent, good)| {
            let there = prop_oneof![30 => good, 1 => odd()].prop_map(move |value| Some((name, value)));
            prop_oneof![absent => Just(None), 20 => there].boxed()
        })
        .collect();
    let unknown = prop::sample::select(vec!["cost_usd", "note", "path", "Doing", "", "type"]);
    let extra = prop_oneof![25 => Just(None), 1 => (unknown, odd()).prop_map(Some)];
    (parts, extra)
        .prop_map(|(parts, extra)| {
            let members = parts.into_iter().flatten().chain(extra);
            Value::Object(members.map(|(name, value)| (name.to_owned(), value)).collect())
        })
        .boxed()
}

const AVAILABILITY: &[&str] = &["online", "working", "idle", "asleep", "away", "offline"];
const KINDS: &[&str] = &["add", "change", "remove", "rename", "revert", "migrate"];
const CLASSES: &[&str] = &["auth", "rate_limit", "timeout", "provider", "runtime", "agent", "other"];
const STEPS: &[&str] = &["claude_code_sign_in", "codex_usage_limit", "task_time_limit", "see_runner_log"];

fn pulse_arguments() -> BoxedStrategy<Value> {
    let area = pattern(&["billing", "0", "a_b-c"], &["", "_a", "-a", "A", "a b", "é", "a\n"], 40);
    let intent = object(vec![
        ("kind", 1, named(KINDS)),
        ("paths", 6, list(text_round(300).boxed(), 20)),
        ("areas", 6, list(area, 10)),
    ]);
    let failure = object(vec![("class", 1, named(CLASSES)), ("step", 1, named(STEPS))]);
    object(vec![
        ("project", 1, project()),
        ("availability", 10, named(AVAILABILITY)),
        ("doing", 2, text_round(200).boxed()),
        ("task_id", 20, task()),
        ("branch", 20, text_round(200).boxed()),
        ("files", 20, list(text_round(300).boxed(), 50)),
        ("last_decision", 20, text_round(500).boxed()),
        ("run_failure", 40, failure),
        ("clear_run_failure", 80, prop_oneof![6 => Just(json!(true)), 1 => odd()].boxed()),
        ("intent", 20, intent),
    ])
}

fn run_arguments() -> BoxedStrategy<Value> {
    let count = || {
        let good = prop::sample::select(vec![json!(null), json!(0), json!(255), json!(1200.0), json!(17)]);
        prop_oneof![8 => good, 1 => number()].boxed()
    };
    let ids = &[
        "4f7c2a9e-3b1d-4c8e-9a6f-0d2e5b7c1a3f",
        "4F7C2A9E-3B1D-4C8E-9A6F-0D2E5B7C1A3F",
        "00000000-0000-0000-0000-000000000000",
        "ffffffff-ffff-ffff-ffff-ffffffffffff",
        "4f7c2a9e-3b1d-1c8e-8a6f-0d2e5b7c1a3f",
        "4f7c2a9e-3b1d-8c8e-ba6f-0d2e5b7c1a3f",
    ];
    let bad = &[
        "",
        "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
        "4f7c2a9e-3b1d-0c8e-9a6f-0d2e5b7c1a3f",
        "4f7c2a9e-3b1d-9c8e-9a6f-0d2e5b7c1a3f",
        "4f7c2a9e-3b1d-4c8e-ca6f-0d2e5b7c1a3f",
        "4f7c2a9e3b1d4c8e9a6f0d2e5b7c1a3f",
        "4f7c2a9e-3b1d-4c8e-9a6f-0d2e5b7c1a3f\n",
        "{4f7c2a9e-3b1d-4c8e-9a6f-0d2e5b7c1a3f}",
        "4f7c2a9e-3b1d-4c8e-9a6f-0d2e5b7c1a3g",
    ];
    let id = prop_oneof![
        9 => prop::sample::select(ids.to_vec()).prop_map(Value::from),
        1 => prop::sample::select(bad.to_vec()).prop_map(Value::from),
    ];
    object(vec![
        ("project", 1, project()),
        ("run_id", 1, id.boxed()),
        ("task_id", 1, task()),
        ("input_tokens", 1, count()),
        ("output_tokens", 1, count()),
        ("turns", 1, count()),
        ("duration_ms", 1, count()),
        ("exit_code", 1, count()),
    ])
}

fn caller() -> Caller {
    Caller {
        key: 1,
        kind: Kind::Client,
        owner: "acme".parse().unwrap(),
        agent: Some("acme/builder".parse().unwrap()),
        task: None,
        scope: Scope::Some(BTreeSet::from(["website-v2".parse().unwrap()])),
    }
}

/// That a call is refused; whatever it held, the refusal is plain sentences.
fn refused(faults: &[Fault]) -> bool {
    let text = Refusal::from(faults.to_vec()).to_string();
    assert!(text.ends_with('.') && !faults.is_empty(), "{text}");
    let plain = |c: char| !c.is_control() && !('\u{202a}'..='\u{202e}').contains(&c);
    assert!(text.chars().all(plain), "{text:?}");
    false
}

/// Tries many calls; `ours` says whether the hand-written check takes one.
fn same_verdict(input: &str, arguments: &BoxedStrategy<Value>, ours: impl Fn(&Map<String, Value>) -> bool) {
    let schema = validator(input);
    let (taken, refused) = (Cell::new(0), Cell::new(0));
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    let run = TestRunner::new(config).run(arguments, |call| {
        let theirs = schema.is_valid(&call);
        prop_assert_eq!(ours(call.as_object().unwrap()), theirs, "ours (left) and the schema on {}", call);
        let count = if theirs { &taken } else { &refused };
        count.set(count.get() + 1);
        Ok(())
    });
    run.unwrap_or_else(|e| panic!("{e}"));
    // Neither verdict may be the exception, or the comparison says little.
    let (taken, refused) = (taken.get(), refused.get());
    assert!(taken > CASES / 8 && refused > CASES / 8, "{taken} taken, {refused} refused");
}

#[test]
fn update_pulse_is_taken_and_refused_as_its_schema_says() {
    let output = validator(schema::UPDATE_PULSE_OUTPUT);
    let now = Clock::default().now();
    same_verdict(schema::UPDATE_PULSE_INPUT, &pulse_arguments(), |call| {
        let report = match schema::update_pulse(call) {
            Ok(report) => report,
            Err(faults) => return refused(&faults),
        };
        if let Ok(outcome) = rules::pulse(&caller(), None, &report, now, Duration::from_mins(30)) {
            let result = json!({ "pulse": outcome.after.map(|after| after.pulse) });
            assert!(output.is_valid(&result), "{:?} of {result}", output.validate(&result).err());
        }
        true
    });
}

#[test]
fn report_run_is_taken_and_refused_as_its_schema_says() {
    same_verdict(schema::REPORT_RUN_INPUT, &run_arguments(), |call| match schema::report_run(call) {
        Ok(_) => true,
        Err(faults) => refused(&faults),
    });
}

#[test]
fn every_known_name_is_in_the_schema_and_no_other() {
    use prickle::wire::pulse::{Availability, FailureClass, FailureStep, IntentKind};
    let input: Value = serde_json::from_str(schema::UPDATE_PULSE_INPUT).unwrap();
    let names = |pointer: &str| -> Vec<String> {
        serde_json::from_value(input.pointer(pointer).unwrap().clone()).unwrap()
    };
    assert_eq!(names("/properties/availability/enum"), Availability::KNOWN);
    assert_eq!(names("/properties/intent/properties/kind/enum"), IntentKind::KNOWN);
    assert_eq!(names("/properties/run_failure/properties/class/enum"), FailureClass::KNOWN);
    assert_eq!(names("/properties/run_failure/properties/step/enum"), FailureStep::KNOWN);
}
