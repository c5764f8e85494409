//! The room as a foreign client meets it over HTTP: the published contract, who gets in where, and inputs
//! that servers of this kind have been reported to mishandle.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

use common::caller::{Answer, NEW_ERA, judge, run_report, with, without};
use common::child::{Served, prickle};
use common::room::{Room, Shape, make_key};
use common::until;
use common::watcher::Watcher;
use prickle::rules::Kind;
use prickle::wire::schema;
use serde_json::{Value, json};

const RUN: &str = "4f7c2a9e-3b1d-4c8e-9a6f-0d2e5b7c1a3f";

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
async fn nothing_but_a_body_in_bounds_is_read() {
    let room = Room::open().await;
    let key = room.key("client", "acme/builder", &["website-v2"]);
    // The largest legal pulse passes, with every character escaped.
    let escaped = |n: usize| "\\u00e9".repeat(n);
    let list = |n: usize, of: usize| vec![format!("\"{}\"", escaped(of)); n].join(",");
    let largest = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"update_pulse","arguments":{{
            "project":"website-v2","doing":"{}","branch":"{}","last_decision":"{}","files":[{}],
            "intent":{{"kind":"change","paths":[{}]}}}}}}}}"#,
        escaped(200),
        escaped(200),
        escaped(500),
        list(50, 300),
        list(20, 300),
    );
    assert!(largest.len() > 120_000);
    let answer: Value = room.post(&key, largest).send().await.unwrap().json().await.unwrap();
    assert_eq!(judge("update_pulse", &answer).done()["pulse"]["files"][49], "é".repeat(300));

    let huge = vec![b' '; 600 * 1024];
    let told = room.post(&key, huge.clone()).send().await.unwrap();
    assert_eq!(told.status(), 413);
    assert!(told.text().await.unwrap().contains("512 KiB"));
    let chunks = futures_util::stream::iter(
        huge.chunks(8192).map(|c| Ok::<_, String>(c.to_vec())).collect::<Vec<_>>(),
    );
    let told = room.post(&key, reqwest::Body::wrap_stream(chunks)).send().await.unwrap();
    assert_eq!(told.status(), 413, "without a length, too");
}

#[tokio::test]
async fn case_c20_a_huge_body_is_refused_before_it_is_sent() {
    let room = Room::open().await;
    let key = room.key("client", "acme/builder", &["website-v2"]);
    let mut socket = TcpStream::connect(room.address()).unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: 200000000\r\n\r\n"
    );
    socket.write_all(head.as_bytes()).unwrap();
    let status = tokio::task::spawn_blocking(move || read_status(&mut socket)).await.unwrap();
    assert_eq!(status, "HTTP/1.1 413 Payload Too Large");
    // Nesting as deep as the body allows is an error, not the end of the room.
    let deep = room.post(&key, "[".repeat(500_000)).send().await.unwrap();
    assert!(deep.status().is_client_error(), "{}", deep.status());
    assert_eq!(room.get("", "/healthz").await.0, 200);
}

#[tokio::test]
async fn a_header_or_body_that_does_not_come_is_not_waited_for() {
    let mut shape = Shape::default();
    shape.server.header_timeout = Duration::from_millis(150);
    shape.server.body_timeout = Duration::from_millis(150);
    let room = Room::with(shape).await;
    let key = room.key("client", "acme/builder", &["website-v2"]);
    let slow_body = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: 100\r\n\r\n{{"
    );
    for (sent, told) in [
        ("", ""),                                   // says nothing at all
        ("PRI * HT", ""),                           // does not say which HTTP it speaks
        ("GET /healthz HTTP/1.1\r\nHost: loc", ""), // never ends its header
        (slow_body.as_str(), "HTTP/1.1 408 Request Timeout"),
    ] {
        let mut socket = TcpStream::connect(room.address()).unwrap();
        socket.write_all(sent.as_bytes()).unwrap();
        let status = tokio::task::spawn_blocking(move || read_status(&mut socket)).await.unwrap();
        assert_eq!(status, told, "{sent:?}");
    }
}

/// The first line that comes; empty if the connection is closed without one.
fn read_status(socket: &mut TcpStream) -> String {
    socket.set_read_timeout(Some(common::PATIENCE)).unwrap();
    let mut line = Vec::new();
    let mut byte = [0];
    while socket.read(&mut byte).expect("an answer or an end in time") == 1 && byte[0] != b'\r' {
        line.push(byte[0]);
    }
    String::from_utf8(line).unwrap()
}

/// What each kind of key may do on each route of its own project.
fn allowed(kind: Kind, route: &str) -> u16 {
    match route {
        "/v1/runs" if kind != Kind::Person => 404,
        _ => 200,
    }
}

#[tokio::test]
async fn every_kind_of_key_on_every_route() {
    let room = Room::open().await;
    // A project of someone else's, with something in it.
    let other = room.key("client", "other/agent", &["elsewhere"]);
    room.pulse(&other, json!({"project": "elsewhere", "doing": "secret"})).await;
    for kind in Kind::ALL {
        let who = if kind == Kind::Person { "acme".to_owned() } else { format!("acme/{kind}") };
        let key = room.key(kind.as_str(), &who, &["website-v2"]);
        for route in ["/v1/me", "/v1/projects", "/v1/projects/website-v2/pulse", "/v1/runs"] {
            let (status, body) = room.get(&key, route).await;
            assert_eq!(status, allowed(kind, route), "{kind} {route}: {body}");
        }
        let me = room.get(&key, "/v1/me").await.1;
        assert_eq!((me["kind"].as_str(), me["owner"].as_str()), (Some(kind.as_str()), Some("acme")));
        assert_eq!(me["agent_id"], if kind == Kind::Person { Value::Null } else { json!(who) });
        assert_eq!(me["projects"], json!(["website-v2"]));
        assert_eq!(me.get("task_id").is_some(), kind == Kind::Execution);
        assert_eq!(room.get(&key, "/v1/projects").await.1, json!({"projects": ["website-v2"]}));
        let tools = room.rpc(&key, "tools/list", json!({})).await;
        assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 2, "{kind}");
        assert!(Watcher::open(&room, &key, "website-v2", None).await.is_ok(), "{kind} watches");

        // A foreign project and one that is not there are the same to it.
        for route in ["pulse", "feed"] {
            let (status, foreign) = room.get(&key, &format!("/v1/projects/elsewhere/{route}")).await;
            let (_, missing) = room.get(&key, &format!("/v1/projects/nowhere-1/{route}")).await;
            assert_eq!(status, 404, "{kind} {route}");
            assert_eq!(
                foreign.to_string().replace("elsewhere", "*"),
                missing.to_string().replace("nowhere-1", "*")
            );
            assert!(foreign["detail"].as_str().unwrap().contains("website-v2"), "{foreign}");
        }
        assert_eq!(Watcher::open(&room, &key, "elsewhere", None).await.err(), Some(404), "{kind}");
        let there =
            room.call(&key, "update_pulse", json!({"project": "elsewhere", "doing": ""})).await.refused();
        let nowhere =
            room.call(&key, "update_pulse", json!({"project": "nowhere-1", "doing": ""})).await.refused();
        assert_eq!(there.replace("elsewhere", "*"), nowhere.replace("nowhere-1", "*"), "{kind}");
    }
    let all = room.key("person", "acme", &[]);
    assert_eq!(room.get(&all, "/v1/me").await.1["projects"], Value::Null);
    assert_eq!(room.get(&all, "/v1/projects").await.1, json!({"projects": ["elsewhere", "website-v2"]}));
}

#[tokio::test]
async fn without_a_good_key_there_is_a_sentence_and_no_more() {
    let room = Room::open().await;
    let revoked = room.key("client", "acme/builder", &["website-v2"]);
    room.revoke_newest();
    let unknown = format!("prk_{}", "A".repeat(43));
    until("the key is refused", async || room.get(&revoked, "/v1/me").await.0 == 401).await;
    for token in ["", "nonsense", unknown.as_str(), revoked.as_str()] {
        for route in [
            "/v1/me",
            "/v1/projects",
            "/v1/projects/website-v2/pulse",
            "/v1/projects/website-v2/feed",
            "/v1/runs",
        ] {
            let told = room.request(reqwest::Method::GET, token, route).send().await.unwrap();
            assert_eq!(told.status(), 401, "{token} {route}");
            assert_eq!(told.headers()["content-type"], "application/problem+json");
            assert_eq!(told.headers()["www-authenticate"], "Bearer realm=\"prickle\"");
            let problem: Value = told.json().await.unwrap();
            assert_eq!(
                (problem["status"].as_u64(), problem["type"].as_str()),
                (Some(401), Some("about:blank"))
            );
            assert!(problem["detail"].as_str().unwrap().contains("key"), "{problem}");
        }
        for method in [reqwest::Method::GET, reqwest::Method::POST] {
            let told = room.request(method, token, "/mcp").body("{}").send().await.unwrap();
            assert_eq!(told.status(), 401);
            assert_eq!(told.headers()["content-type"], "text/plain; charset=utf-8");
            let text = told.text().await.unwrap();
            assert_eq!(text.lines().count(), 1, "{text}");
            assert!(text.contains("key") && !text.contains(&unknown) && !text.contains(&revoked), "{text}");
        }
        assert_eq!(Watcher::open(&room, token, "website-v2", None).await.err(), Some(401));
        // A 401 on these would send MCP clients looking for an OAuth server.
        for route in [
            "/.well-known/oauth-protected-resource",
            "/.well-known/oauth-authorization-server/mcp",
            "/",
            "/nope",
        ] {
            assert_eq!(room.get(token, route).await.0, 404, "{route}");
        }
        assert_eq!(room.get(token, "/healthz").await, (200, json!("ok\n")));
    }
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
async fn case_c17_no_web_page_reaches_the_room() {
    let room = Room::open().await;
    let key = room.key("client", "acme/builder", &["website-v2"]);
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params":
        {"name": "update_pulse", "arguments": {"project": "website-v2", "doing": "x"}}})
    .to_string();
    let port = room.address().port();
    for (header, value) in [
        ("Origin", "https://evil.example".to_owned()),
        ("Origin", "null".to_owned()),
        ("Origin", format!("http://127.0.0.1:{port}")),
        ("Host", format!("evil.example:{port}")),
    ] {
        let told = room.post(&key, call.clone()).header(header, &value).send().await.unwrap();
        assert_eq!(told.status(), 403, "{header}: {value}");
        assert_eq!(told.text().await.unwrap().lines().count(), 1);
        for route in ["/v1/me", "/v1/projects/website-v2/feed", "/healthz", "/.well-known/x"] {
            let told =
                room.request(reqwest::Method::GET, &key, route).header(header, &value).send().await.unwrap();
            assert_eq!(told.status(), 403, "{header}: {value} on {route}");
        }
    }
    assert_eq!(room.get(&key, "/v1/projects/website-v2/pulse").await.1["seq"], 0, "nothing was stored");
    let told = room.post(&key, call).header("Host", format!("localhost:{port}")).send().await.unwrap();
    assert_eq!(told.status(), 200);
}

#[tokio::test]
async fn a_page_and_a_host_that_are_named_may_call() {
    let mut shape = Shape::default();
    shape.server.allow_origins = vec!["https://board.example".into()];
    shape.server.allow_hosts = vec!["room.example".into()];
    let room = Room::with(shape).await;
    let key = room.key("person", "acme", &["website-v2"]);
    let ask = || room.request(reqwest::Method::GET, &key, "/v1/me");
    let told = ask()
        .header("Origin", "https://board.example")
        .header("Host", "room.example:80")
        .send()
        .await
        .unwrap();
    assert_eq!(told.status(), 200);
    assert_eq!(ask().header("Origin", "https://evil.example").send().await.unwrap().status(), 403);
}

#[tokio::test]
async fn the_host_also_stands_in_an_http2_request() {
    let room = Room::open().await;
    let key = room.key("person", "acme", &["website-v2"]);
    let http2 = reqwest::Client::builder().no_proxy().http2_prior_knowledge().build().unwrap();
    let told = http2.get(format!("{}/v1/me", room.url)).bearer_auth(&key).send().await.unwrap();
    assert_eq!((told.version(), told.status().as_u16()), (reqwest::Version::HTTP_2, 200));
    let evil = reqwest::Client::builder()
        .no_proxy()
        .http2_prior_knowledge()
        .resolve("evil.example", room.address())
        .build()
        .unwrap();
    let told = evil.get(format!("http://evil.example:{}/v1/me", room.address().port())).bearer_auth(&key);
    assert_eq!(told.send().await.unwrap().status(), 403);
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
    for (body, status) in [("{", 415), (r#"{"jsonrpc":"2.0","id":1,"method":"nope"}"#, 200)] {
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

#[tokio::test]
async fn case_a04_nothing_that_is_sent_repaints_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let key = make_key(&folder.path().join("room.db"), "client", "acme/builder", &["website-v2"]);
    let served = Served::start(folder.path(), 0);
    let room = served.caller();
    let hostile = json!({"project": "p\u{1b}[31mX\u{202e}", "doing": ""});
    let text = room.call(&key, "update_pulse", hostile).await.refused();
    assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
    // What a well-behaved client would never send.
    for head in [
        "GET /v1/me HTTP/1.1\r\nHost: localhost\r\nUser-Agent: \u{1b}[2J\r\nConnection: close\r\n\r\n"
            .to_owned(),
        format!("GET /v1/\u{9b}31m\u{202e}{key} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"),
        "GET /v1/%1b%5b31m%0aforged HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".to_owned(),
    ] {
        let mut socket = TcpStream::connect(("127.0.0.1", served.port)).unwrap();
        socket.write_all(head.as_bytes()).unwrap();
        let status = tokio::task::spawn_blocking(move || read_status(&mut socket)).await.unwrap();
        assert!(status.starts_with("HTTP/1.1 4"), "{status}");
    }
    room.get(&key, "/v1/me").await;
    let mut log = String::new();
    until("the last request is in the log", async || {
        log = std::fs::read_to_string(&served.log).unwrap();
        log.contains("path=/v1/me status=200")
    })
    .await;
    assert!(log.chars().all(|c| c == '\n' || !c.is_control() && c != '\u{202e}'), "{log:?}");
    assert!(!log.contains(&key[4..]), "a token is in the log");
    assert!(log.lines().any(|l| l.contains("path=/mcp status=200") && l.contains("key=1")), "{log}");
    assert_eq!(log.lines().filter(|l| l.contains("request")).count(), log.matches("method=").count());
    assert!(!log.lines().any(|l| l.starts_with("forged")));
}

#[test]
fn case_f12_a_port_that_can_t_be_had_is_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let served = Served::start(folder.path(), 0);
    let second = tempfile::tempdir().unwrap();
    let taken = format!("127.0.0.1:{}", served.port);
    for (addr, said) in [
        (taken.as_str(), vec![taken.as_str(), "taken", "--addr 127.0.0.1:"]),
        ("nonsense", vec!["nonsense", "HOST:PORT"]),
        ("127.0.0.1:99999", vec!["127.0.0.1:99999", "HOST:PORT"]),
        ("0.0.0.0:0", vec!["0.0.0.0", "TLS", "127.0.0.1"]),
        ("[::]:0", vec!["::", "TLS", "127.0.0.1"]),
    ] {
        refused(second.path(), &mut serve(second.path(), addr), &said);
    }
    // Without an --addr of ours, the database that is in use is not touched either.
    let size = || std::fs::metadata(&served.db).unwrap().len();
    let before = size();
    let mut again = serve(folder.path(), "127.0.0.1:0");
    refused_by_lock(&mut again);
    assert_eq!(size(), before);
}

#[cfg(target_os = "linux")]
#[test]
fn case_f12_a_port_of_the_administrator_s_is_one_sentence() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let first: u16 = std::fs::read_to_string("/proc/sys/net/ipv4/ip_unprivileged_port_start")
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    assert!(first > 1, "this machine reserves no port: the case can't be shown here");
    let port = 80.min(first - 1);
    let folder = tempfile::tempdir().unwrap();
    let addr = format!("127.0.0.1:{port}");
    let mut command = serve(folder.path(), &addr);
    if rustix::process::geteuid().is_root() {
        // Root may use any port: an unprivileged user tries it, with a copy of the program that it can reach.
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        let copy = folder.path().join("prickle-copy");
        std::fs::copy(env!("CARGO_BIN_EXE_prickle"), &copy).unwrap();
        command = serve_with(std::process::Command::new(&copy), folder.path(), &addr);
        command.uid(65534).gid(65534).current_dir("/");
    }
    refused(folder.path(), &mut command, &[&addr, "administrator", "--addr 127.0.0.1:7766"]);
}

#[test]
fn case_f12_an_ipv6_address_and_port_0_are_fine() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = serve(folder.path(), "[::1]:0").stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut line)
        .unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let port: u16 = line.trim_end().strip_prefix("listening on http://[::1]:").expect(&line).parse().unwrap();
    assert_ne!(port, 0);
}

fn serve(folder: &std::path::Path, addr: &str) -> std::process::Command {
    serve_with(prickle(folder), folder, addr)
}

fn serve_with(
    mut command: std::process::Command,
    folder: &std::path::Path,
    addr: &str,
) -> std::process::Command {
    command.env("HOME", folder).args(["serve", "--addr", addr, "--db"]).arg(folder.join("room.db"));
    command.stdin(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Exit code 2, one line on stderr that says all of `said`, nothing on stdout, and no database made.
fn refused(folder: &std::path::Path, command: &mut std::process::Command, said: &[&str]) {
    let out = command.output().unwrap();
    let text = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(2), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    for part in said {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(out.stdout.is_empty());
    assert!(!folder.join("room.db").exists(), "the database was touched");
}

fn refused_by_lock(command: &mut std::process::Command) {
    let out = command.output().unwrap();
    let text = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(2), "{text}");
    assert!(text.contains("room.db"), "{text}");
    assert!(out.stdout.is_empty());
}

#[test]
fn a_signal_closes_the_room_in_order() {
    for signal in [rustix::process::Signal::TERM, rustix::process::Signal::INT] {
        let folder = tempfile::tempdir().unwrap();
        let mut served = Served::start(folder.path(), 0);
        let began = Instant::now();
        assert_eq!(served.stop(signal), Some(0));
        assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
        assert!(std::fs::read_to_string(&served.log).unwrap().contains("the room is closed"));
    }
}
