//! The room as a foreign client meets it over HTTP: what it publishes, and who gets what from which page.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod cases;
#[path = "../common/mod.rs"]
mod common;
mod door;
mod idle;
mod process;

use common::caller::{Answer, NEW_ERA, judge, run_report, with};
use common::room::Room;
use prickle::wire::schema;
use serde_json::{Value, json};

/// A run's id.
pub const RUN: &str = "4f7c2a9e-3b1d-4c8e-9a6f-0d2e5b7c1a3f";

#[tokio::test]
async fn the_tools_are_published_as_the_contract_has_them() {
    let room = Room::open().await;
    let key = room.key("client", "acme/builder", &["website-v2"]);
    for (era, listed) in [
        ("old", room.rpc(&key, "tools/list", json!({})).await),
        ("new", room.rpc_new(&key, "tools/list", json!({})).await),
    ] {
        let tools = listed["result"]["tools"].as_array().unwrap();
        let names: Vec<&str> = tools.iter().map(|t| t["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["update_pulse", "report_run"], "{era}");
        let schemas = [
            (schema::UPDATE_PULSE_INPUT, schema::UPDATE_PULSE_OUTPUT),
            (schema::REPORT_RUN_INPUT, schema::REPORT_RUN_OUTPUT),
        ];
        for (tool, (input, output)) in tools.iter().zip(schemas) {
            // As text: an equal schema in another order of keys is not the published one.
            for (published, contract) in [("inputSchema", input), ("outputSchema", output)] {
                let contract: Value = serde_json::from_str(contract).unwrap();
                assert_eq!(tool[published].to_string(), contract.to_string(), "{era} {}", tool["name"]);
            }
            let hints = json!({"readOnlyHint": false, "destructiveHint": false, "idempotentHint": true,
                "openWorldHint": false});
            assert_eq!(tool["annotations"], hints);
            assert!(tool["title"].as_str().unwrap().len() > 5);
            assert!(tool["description"].as_str().unwrap().len() > 200);
        }
    }
}

#[tokio::test]
async fn the_descriptions_state_the_limits_that_some_clients_cut_out() {
    let room = Room::open().await;
    let key = room.key("client", "acme/builder", &["website-v2"]);
    let listed = room.rpc(&key, "tools/list", json!({})).await;
    let says = |n: usize| listed["result"]["tools"][n]["description"].as_str().unwrap().to_owned();
    for limit in ["200", "64", "50", "300", "500", "20", "10", "40", "revert", "asleep", "null"] {
        assert!(says(0).contains(limit), "{limit} in {}", says(0));
    }
    for limit in ["2147483647", "255", "64", "null"] {
        assert!(says(1).contains(limit), "{limit} in {}", says(1));
    }
}

#[tokio::test]
async fn both_eras_are_served_without_a_session() {
    let room = Room::open().await;
    let key = room.key("client", "acme/builder", &["website-v2"]);
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let hello = json!({"protocolVersion": version, "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}).to_string();
        let answer = room
            .request(reqwest::Method::POST, &key, "/mcp")
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream")
            .body(body);
        let answer = answer.send().await.unwrap();
        assert!(answer.headers().get("mcp-session-id").is_none());
        let answer: Value = answer.json().await.unwrap();
        assert_eq!(answer["result"]["protocolVersion"], version);
        assert_eq!(answer["result"]["serverInfo"]["name"], "prickle");
        assert!(answer["result"]["instructions"].as_str().unwrap().contains("update_pulse"));
    }
    let found = room.rpc_new(&key, "server/discover", json!({})).await;
    let versions = found["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!(NEW_ERA)), "{found}");

    let call = json!({"name": "update_pulse", "arguments": {"project": "website-v2", "doing": "x"}});
    let answer = room.rpc_new(&key, "tools/call", call).await;
    assert_eq!(judge("update_pulse", &answer).done()["pulse"]["doing"], "x");
}

#[tokio::test]
async fn the_contract_s_examples_are_accepted() {
    let room = Room::open().await;
    let key = room.key("client", "acme/builder", &["website-v2"]);
    let pulse =
        json!({"project": "website-v2", "availability": "working", "doing": "Drafting the hero copy."});
    let pulse = room.pulse(&key, pulse).await;
    assert_eq!(pulse["agent_id"], "acme/builder");
    assert_eq!(pulse["files"], json!([]));

    let report = with(&run_report(RUN), json!({"turns": null, "task_id": "example-task-id"}));
    let record = room.run(&key, report.clone()).await;
    assert_eq!(record["turns"], Value::Null);
    assert_eq!(record["source"], "client_reported");
    let again = room.run(&key, with(&report, json!({"run_id": RUN.to_uppercase()}))).await;
    assert_eq!(again, record);
}

#[tokio::test]
async fn an_unknown_tool_is_a_protocol_error() {
    let room = Room::open().await;
    let key = room.key("client", "acme/builder", &["website-v2"]);
    let Answer::Protocol(code, message) = room.call(&key, "nope\u{1b}[2J", json!({})).await else {
        panic!("a protocol error was expected")
    };
    assert_eq!(code, -32602);
    assert!(message.contains("nope") && message.contains("update_pulse"), "{message}");
    assert!(!message.contains('\u{1b}'));
}

#[tokio::test]
async fn no_refusal_repeats_a_key_or_grows_with_the_call() {
    let room = Room::open().await;
    let key = room.key("client", "acme/builder", &["website-v2"]);
    let mut told = Vec::new();
    for arguments in [
        json!({"project": key, "doing": ""}),
        json!({"project": "website-v2", "doing": "", "task_id": format!("see {key}")}),
        json!({"project": "website-v2", "doing": "", "intent": {"kind": "add", key.as_str(): 1}}),
    ] {
        told.push(room.call(&key, "update_pulse", arguments).await.refused());
    }
    let many: serde_json::Map<String, Value> = (0..20_000).map(|n| (format!("k{n}"), json!(1))).collect();
    let refusal = room.call(&key, "report_run", Value::Object(many)).await.refused();
    assert!(refusal.contains("k9 ") && refusal.contains("19990 more"), "{refusal}");
    told.push(refusal);
    let Answer::Protocol(-32602, unknown) = room.call(&key, &key, json!({})).await else { panic!("no tool") };
    told.push(unknown);
    told.push(room.rpc(&key, &format!("\u{1b}{key}"), json!({})).await["error"]["message"].to_string());
    told.push(room.get(&key, &format!("/v1/projects/{key}/pulse")).await.1.to_string());
    for text in told {
        assert!(!text.contains(&key[4..12]) && !text.contains('\u{1b}') && text.len() < 4000, "{text}");
    }
}

#[tokio::test]
async fn what_is_no_call_is_told_apart_from_a_wrong_one() {
    let room = Room::open().await;
    let key = room.key("client", "acme/builder", &["website-v2"]);
    for params in [json!({"name": "update_pulse", "arguments": "{}"}), json!({"arguments": {}})] {
        let answer = room.rpc(&key, "tools/call", params).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains("arguments"), "{answer}");
    }
    assert_eq!(room.rpc(&key, "nope", json!({})).await["error"]["code"], -32601);
    for broken in ["", "{", "[]", r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":"\ud800"}"#] {
        assert_eq!(room.post(&key, broken).send().await.unwrap().status(), 400, "{broken}");
    }
    let typed = room.request(reqwest::Method::POST, &key, "/mcp").header("Content-Type", "text/plain");
    let typed = typed.header("Accept", "application/json, text/event-stream").body("{}");
    assert_eq!(typed.send().await.unwrap().status(), 415);
}

#[tokio::test]
async fn a_used_run_id_tells_nothing_of_a_project_that_the_key_may_not_enter() {
    let room = Room::open().await;
    let first = room.key("client", "acme/builder", &["website-v2"]);
    let second = room.key("client", "acme/builder", &["elsewhere"]);
    room.run(&first, run_report(RUN)).await;
    let again = with(&run_report(RUN), json!({"project": "elsewhere", "turns": 9}));
    let refusal = room.call(&second, "report_run", again).await.refused();
    assert!(refusal.contains("run_id") && !refusal.contains("website-v2"), "{refusal}");
    assert!(!refusal.contains("must be 3"), "{refusal}");
}

#[tokio::test]
async fn runs_are_paged_for_their_owner() {
    let room = Room::open().await;
    let builder = room.key("client", "acme/builder", &["website-v2"]);
    let foreign = room.key("client", "other/agent", &["website-v2"]);
    let person = room.key("person", "acme", &["website-v2"]);
    let id = |n: usize| format!("4f7c2a9e-3b1d-4c8e-9a6f-{n:012}");
    for n in 0..7 {
        room.run(&builder, with(&run_report(&id(n)), json!({"input_tokens": n, "turns": null}))).await;
    }
    room.run(&foreign, run_report(&id(99))).await;
    let mut seen = Vec::new();
    let mut path = "/v1/runs?limit=3".to_owned();
    let mut pages = 0;
    loop {
        let (status, page) = room.get(&person, &path).await;
        assert_eq!(status, 200, "{page}");
        let runs = page["runs"].as_array().unwrap();
        assert!(runs.len() <= 3);
        pages += 1;
        for run in runs {
            assert_eq!((run["agent_id"].as_str(), &run["turns"]), (Some("acme/builder"), &Value::Null));
            seen.push(run["run_id"].as_str().unwrap().to_owned());
        }
        // A record that comes in between moves nothing.
        room.run(&builder, run_report(&id(50 + pages))).await;
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        path = format!("/v1/runs?limit=3&cursor={cursor}");
    }
    assert_eq!(seen, (0..7).rev().map(id).collect::<Vec<_>>());
    for bad in ["limit=0", "limit=1001", "limit=x", "limit=", "cursor=nonsense"] {
        let (status, problem) = room.get(&person, &format!("/v1/runs?{bad}")).await;
        let name = bad.split('=').next().unwrap();
        assert_eq!(status, 400, "{bad}: {problem}");
        assert!(problem["detail"].as_str().unwrap().contains(name), "{problem}");
    }
    assert_eq!(room.get(&person, "/v1/runs?limit=1000").await.0, 200);
}

#[tokio::test]
async fn a_snapshot_is_the_room_as_it_is() {
    let room = Room::open().await;
    let builder = room.key("client", "acme/builder", &["website-v2"]);
    let person = room.key("person", "acme", &["website-v2"]);
    let (status, empty) = room.get(&person, "/v1/projects/website-v2/pulse").await;
    assert_eq!((status, &empty["seq"], &empty["pulses"]), (200, &json!(0), &json!([])));
    let pulse = room.pulse(&builder, json!({"project": "website-v2", "doing": "x"})).await;
    let now = room.get(&person, "/v1/projects/website-v2/pulse").await.1;
    assert_eq!(
        (&now["seq"], &now["pulses"], &now["project"]),
        (&json!(1), &json!([pulse]), &json!("website-v2"))
    );
    assert_eq!(now["epoch"], empty["epoch"]);
}
