//! Calls that MCP servers have been reported to mishandle, and what this one makes of them.

use serde_json::{Value, json};

use super::RUN;
use super::common::caller::{judge, run_report, with, without};
use super::common::room::Room;
use super::common::watcher::Watcher;

#[tokio::test]
async fn case_c01_a_session_of_before_a_restart_is_no_matter() {
    let room = Room::open().await;
    let key = room.key("client", "acme/builder", &["website-v2"]);
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18",
        "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}});
    let greeted = room.post(&key, hello.to_string()).send().await.unwrap();
    assert_eq!(greeted.status(), 200);
    assert!(!greeted.headers().contains_key("mcp-session-id"), "a room that keeps no session names none");
    let call = |doing: &str| {
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "update_pulse",
            "arguments": {"project": "website-v2", "doing": doing}}})
        .to_string()
    };
    // A client that holds on to an id of some other time is served like any other.
    let old = room.post(&key, call("before")).header("Mcp-Session-Id", "5f9a1c30").send().await.unwrap();
    assert_eq!(old.status(), 200);
    let room = room.restart().await;
    for id in [None, Some("5f9a1c30"), Some("")] {
        let mut request = room.post(&key, call("after"));
        if let Some(id) = id {
            request = request.header("Mcp-Session-Id", id);
        }
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 200, "{id:?}");
        let answer: Value = answer.json().await.unwrap();
        assert_eq!(judge("update_pulse", &answer).done()["pulse"]["doing"], "after", "{id:?}");
    }
}

#[tokio::test]
async fn case_c04_the_schemas_are_of_a_dialect_that_clients_take() {
    let room = Room::open().await;
    let key = room.key("client", "acme/builder", &["website-v2"]);
    let listed = room.rpc(&key, "tools/list", json!({})).await;
    for tool in listed["result"]["tools"].as_array().unwrap() {
        for name in ["inputSchema", "outputSchema"] {
            let schema = &tool[name];
            assert_eq!(schema["type"], "object", "{} {name}", tool["name"]);
            let dialect = schema.get("$schema").and_then(Value::as_str);
            let right = [None, Some("https://json-schema.org/draft/2020-12/schema")];
            assert!(right.contains(&dialect), "{} {name}: {dialect:?}", tool["name"]);
            // And it is a schema of that dialect.
            let draft = jsonschema::options().with_draft(jsonschema::Draft::Draft202012);
            assert!(draft.build(schema).is_ok() && jsonschema::meta::is_valid(schema), "{}", tool["name"]);
            // It stands alone: clients look nothing up.
            assert!(!schema.to_string().contains("\"$ref\":\"http"), "{}", tool["name"]);
        }
    }
}

#[tokio::test]
async fn case_c06_a_number_sent_as_a_string_is_refused() {
    let room = Room::open().await;
    let key = room.key("client", "acme/builder", &["website-v2"]);
    let person = room.key("person", "acme", &["website-v2"]);
    let text = room
        .call(&key, "report_run", with(&run_report(RUN), json!({"input_tokens": "1200"})))
        .await
        .refused();
    assert!(
        text.contains("input_tokens") && text.contains("whole number") && text.contains("1200"),
        "{text}"
    );
    assert_eq!(room.get(&person, "/v1/runs").await.1["runs"], json!([]));
}

#[tokio::test]
async fn case_c09_null_for_an_optional_argument_is_refused_and_changes_nothing() {
    let room = Room::open().await;
    let key = room.key("client", "acme/builder", &["website-v2"]);
    let before = json!({"project": "website-v2", "doing": "a", "branch": "b", "task_id": "t", "files": ["f"],
        "intent": {"kind": "add", "paths": ["p"]}});
    room.pulse(&key, before).await;
    let stood = room.get(&key, "/v1/projects/website-v2/pulse").await.1["pulses"].take();
    let nulls = json!({"project": "website-v2", "doing": "x", "branch": null, "task_id": null, "files": null,
        "last_decision": null, "availability": null, "intent": null});
    let text = room.call(&key, "update_pulse", nulls).await.refused();
    for field in ["branch", "task_id", "files", "last_decision", "availability", "intent"] {
        assert!(text.contains(field), "{field} in {text}");
    }
    assert_eq!(room.get(&key, "/v1/projects/website-v2/pulse").await.1["pulses"], stood);
}

#[tokio::test]
async fn case_c11_a_number_left_out_is_not_null() {
    let room = Room::open().await;
    let key = room.key("client", "acme/builder", &["website-v2"]);
    for name in ["input_tokens", "output_tokens", "turns", "duration_ms", "exit_code"] {
        let text = room.call(&key, "report_run", without(&run_report(RUN), name)).await.refused();
        assert!(text.contains(name), "{text}");
    }
    let unknown = json!({"input_tokens": null, "output_tokens": null, "turns": null, "duration_ms": null,
        "exit_code": null});
    let record = room.run(&key, with(&run_report(RUN), unknown.clone())).await;
    for (name, value) in unknown.as_object().unwrap() {
        assert_eq!(&record[name], value);
    }
}

#[tokio::test]
async fn case_c13_the_reserved_meta_member_is_ignored() {
    let room = Room::open().await;
    let key = room.key("client", "acme/builder", &["website-v2"]);
    let call = json!({"name": "update_pulse", "arguments": {"project": "website-v2", "doing": "x"},
        "_meta": {"progressToken": 1}});
    let answer = room.rpc(&key, "tools/call", call).await;
    assert_eq!(judge("update_pulse", &answer).done()["pulse"]["doing"], "x");
    assert!(room.rpc(&key, "tools/list", json!({"_meta": {"a": 1}})).await["result"]["tools"].is_array());
}

#[tokio::test]
async fn case_c15_an_unknown_member_is_refused_by_name() {
    let room = Room::open().await;
    let key = room.key("client", "acme/builder", &["website-v2"]);
    let pulse = |more| with(&json!({"project": "website-v2", "doing": "x"}), more);
    for (tool, arguments, name) in [
        ("report_run", with(&run_report(RUN), json!({"cost_usd": 1})), "cost_usd"),
        ("update_pulse", pulse(json!({"intent": {"kind": "add", "path": ["src/a.rs"]}})), "intent.path"),
        (
            "update_pulse",
            json!({"project": "website-v2",
                "run_failure": {"class": "auth", "step": "codex_sign_in", "note": "x"}}),
            "run_failure.note",
        ),
    ] {
        let text = room.call(&key, tool, arguments).await.refused();
        assert!(text.contains(name), "{name} in {text}");
    }
    // Only at the top of a pulse may there be more: neither stored nor told.
    let mut watcher = Watcher::open(&room, &key, "website-v2", None).await.unwrap();
    watcher.picture().await;
    let pulse = room.pulse(&key, pulse(json!({"mood": "fine"}))).await;
    assert!(pulse.get("mood").is_none());
    assert!(watcher.event(1).await["pulse"].get("mood").is_none());
}

#[tokio::test]
async fn case_c21_bad_arguments_are_a_result_that_names_them_all() {
    let room = Room::open().await;
    let key = room.key("client", "acme/builder", &["website-v2"]);
    let bad = json!({"project": "Website V2", "availability": "busy", "doing": "x".repeat(201)});
    let text = room.call(&key, "update_pulse", bad).await.refused();
    for part in ["project", "Website V2", "availability", "busy", "asleep", "doing", "200", "201"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    for (body, status) in [("{", 400), (r#"{"jsonrpc":"2.0","id":1,"method":"nope"}"#, 200)] {
        let answer = room.post(&key, body).send().await.unwrap();
        assert_eq!(answer.status(), status, "{body}");
        if status == 200 {
            assert_eq!(answer.json::<Value>().await.unwrap()["error"]["code"], -32601);
        }
    }
}

#[tokio::test]
async fn case_c24_a_result_is_there_as_text_and_as_structure() {
    let room = Room::open().await;
    let key = room.key("client", "acme/builder", &["website-v2"]);
    for (tool, arguments) in
        [("update_pulse", json!({"project": "website-v2", "doing": "x"})), ("report_run", run_report(RUN))]
    {
        let answer = room.rpc(&key, "tools/call", json!({"name": tool, "arguments": arguments})).await;
        let content = answer["result"]["content"].as_array().unwrap();
        assert_eq!((content.len(), content[0]["type"].as_str()), (1, Some("text")));
        assert!(answer["result"]["structuredContent"].is_object());
        judge(tool, &answer).done(); // compares the two, and both with the output schema
    }
}

#[tokio::test]
async fn case_c26_a_nonsense_version_is_refused() {
    let room = Room::open().await;
    let key = room.key("client", "acme/builder", &["website-v2"]);
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}).to_string();
    for (version, status) in [(Some("nonsense"), 400), (Some("1900-01-01"), 400), (None, 200)] {
        let mut request = room
            .request(reqwest::Method::POST, &key, "/mcp")
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream")
            .body(body.clone());
        if let Some(version) = version {
            request = request.header("MCP-Protocol-Version", version);
        }
        assert_eq!(request.send().await.unwrap().status(), status, "{version:?}");
    }
}

#[tokio::test]
async fn case_c27_mcp_answers_only_posts() {
    let room = Room::open().await;
    let key = room.key("client", "acme/builder", &["website-v2"]);
    for method in [reqwest::Method::GET, reqwest::Method::DELETE, reqwest::Method::PUT] {
        let told = room
            .request(method.clone(), &key, "/mcp")
            .header("Accept", "text/event-stream")
            .send()
            .await
            .unwrap();
        assert_eq!(told.status(), 405, "{method}");
        assert!(told.headers().contains_key("allow"), "{method}");
    }
}

#[tokio::test]
async fn case_c29_a_notification_gets_no_answer() {
    let room = Room::open().await;
    let key = room.key("client", "acme/builder", &["website-v2"]);
    for method in ["notifications/initialized", "notifications/cancelled", "notifications/nobody-knows"] {
        let body = json!({"jsonrpc": "2.0", "method": method, "params": {"requestId": 9}}).to_string();
        let told = room.post(&key, body).send().await.unwrap();
        assert_eq!(told.status(), 202, "{method}");
        assert_eq!(told.text().await.unwrap(), "");
    }
}

#[tokio::test]
async fn case_c31_lengths_are_counted_in_characters() {
    let room = Room::open().await;
    let key = room.key("client", "acme/builder", &["website-v2"]);
    let doing = |text: String| json!({"project": "website-v2", "doing": text});
    for text in ["😀".repeat(200), "e\u{301}".repeat(100)] {
        assert_eq!(room.pulse(&key, doing(text.clone())).await["doing"], text);
    }
    let text = room.call(&key, "update_pulse", doing("😀".repeat(201))).await.refused();
    assert!(text.contains("doing") && text.contains("200") && text.contains("201"), "{text}");
    let name = "名".repeat(300);
    let files = json!({"project": "website-v2", "doing": "", "files": [name.clone()]});
    assert_eq!(room.pulse(&key, files).await["files"][0], name);
    let now = room.get(&key, "/v1/projects/website-v2/pulse").await.1;
    assert_eq!(now["pulses"][0]["files"][0], name, "nothing was cut on the way into the room");
}

#[tokio::test]
async fn case_c35_the_same_report_from_many_at_once_is_one_record() {
    let room = Room::open().await;
    let key = room.key("client", "acme/builder", &["website-v2"]);
    let person = room.key("person", "acme", &["website-v2"]);
    let calls = (0..100).map(|_| {
        let (caller, key) = (room.caller(), key.clone());
        tokio::spawn(async move { caller.run(&key, run_report(RUN)).await })
    });
    let records = futures_util::future::join_all(calls.collect::<Vec<_>>()).await;
    let first = records[0].as_ref().unwrap();
    assert!(records.iter().all(|r| r.as_ref().unwrap() == first));
    assert_eq!(room.get(&person, "/v1/runs").await.1["runs"].as_array().unwrap().len(), 1);
}
