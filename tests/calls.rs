//! One question and one tool call, against rooms that answer well, badly, or not at all.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::needless_pass_by_value, clippy::unnecessary_wraps)]

mod common;
#[path = "common/fake_room.rs"]
mod fake_room;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use axum::response::{IntoResponse, Response};
use common::room::Room;
use fake_room::{FakeRoom, SECRET, answer};
use prickle::client::http::Http;
use prickle::client::{Access, CallError, mcp};
use prickle::wire::query::RunQuery;
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;

const PATIENCE: Duration = Duration::from_secs(10);

fn access(url: &str, token: &str) -> Access {
    Access::new(url.parse().unwrap(), token.parse().unwrap())
}

fn http(url: &str) -> Http {
    Http::new(&access(url, SECRET), PATIENCE).unwrap()
}

fn arguments(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

async fn call(url: &str, token: &str, args: Value) -> Result<Value, CallError> {
    let result = mcp::call(&access(url, token), "update_pulse", arguments(args), PATIENCE).await;
    if let Err(error) = &result {
        let text = format!("{error} {error:?}");
        assert!(!text.contains(token), "the key is shown: {text}");
        for word in ["rmcp", "Transport", "Streamable", "reqwest", "JSON-RPC", "hyper"] {
            assert!(!error.to_string().contains(word), "{text}");
        }
    }
    result
}

fn closed_port() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

#[tokio::test]
async fn the_real_room_takes_a_pulse_and_shows_it() {
    let room = Room::open().await;
    let agent = room.key("client", "acme/builder", &["website-v2"]);
    let person = room.key("person", "acme", &["website-v2", "shop"]);
    let result = call(&room.url, &agent, json!({"project": "website-v2", "doing": "calling"})).await.unwrap();
    assert_eq!(result["pulse"]["agent_id"], "acme/builder");
    assert_eq!(result["pulse"]["doing"], "calling");

    let http = Http::new(&access(&room.url, &person), PATIENCE).unwrap();
    let me = http.me().await.unwrap();
    assert_eq!((me.kind.as_str(), me.owner.as_str(), me.agent_id), ("person", "acme", None));
    assert_eq!(me.projects.unwrap().len(), 2);
    assert_eq!(http.projects().await.unwrap().len(), 2);
    let snapshot = http.snapshot(&"website-v2".parse().unwrap()).await.unwrap();
    assert_eq!((snapshot.seq, snapshot.pulses.len()), (1, 1));
    assert_eq!(snapshot.pulses[0].doing, "calling");
    let page = http.runs(&RunQuery::default()).await.unwrap();
    assert_eq!((page.runs.len(), page.next_cursor), (0, None));
}

#[tokio::test]
async fn run_records_come_in_pages_newest_first() {
    let room = Room::open().await;
    let agent = room.key("client", "acme/builder", &["website-v2"]);
    let person = room.key("person", "acme", &[]);
    for n in 1..=5 {
        let run = json!({"project": "website-v2", "run_id": format!("4f7c2a9e-3b1d-4c8e-9a6f-0d2e5b7c1a3{n}"),
            "task_id": "t", "input_tokens": null, "output_tokens": 0, "turns": null, "duration_ms": n, "exit_code": 0});
        mcp::call(&access(&room.url, &agent), "report_run", arguments(run), PATIENCE).await.unwrap();
    }
    let http = Http::new(&access(&room.url, &person), PATIENCE).unwrap();
    let (mut seen, mut cursor) = (Vec::new(), None);
    loop {
        let page = http.runs(&RunQuery { limit: Some(2), cursor, ..RunQuery::default() }).await.unwrap();
        seen.extend(page.runs.iter().map(|run| run.run.duration_ms.unwrap()));
        assert!(
            page.runs.iter().all(|run| run.run.input_tokens.is_none() && run.run.output_tokens == Some(0))
        );
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen, [5, 4, 3, 2, 1]);
}

#[tokio::test]
async fn the_rooms_refusal_is_given_in_its_own_words() {
    let room = Room::open().await;
    let agent = room.key("client", "acme/builder", &["website-v2"]);
    let args = json!({"project": "website-v2", "doing": "x".repeat(201), "availability": "busy\u{1b}[2J"});
    let Err(CallError::Refused(text)) = call(&room.url, &agent, args).await else { panic!("refused") };
    assert!(text.contains("doing") && text.contains("200") && text.contains("availability"), "{text}");
    assert!(!text.contains('\u{1b}') && !text.contains('\n'), "{text:?}");
    let args = json!({"project": "other", "doing": ""});
    let Err(CallError::Refused(text)) = call(&room.url, &agent, args).await else { panic!("refused") };
    assert!(text.contains("website-v2"), "{text}");
    let result = mcp::call(&access(&room.url, &agent), "no_such_tool", Map::new(), PATIENCE).await;
    assert!(matches!(&result, Err(CallError::Refused(text)) if text.contains("no_such_tool")), "{result:?}");
}

#[tokio::test]
async fn a_key_that_the_room_does_not_know_is_said_with_the_next_step() {
    let room = Room::open().await;
    let Err(CallError::Unauthorized(text)) =
        call(&room.url, SECRET, json!({"project": "p", "doing": ""})).await
    else {
        panic!("unauthorized")
    };
    let host = room.address();
    assert_eq!(
        text,
        format!(
            "the room at {host} does not know this key; make one with: \
             export PRICKLE_TOKEN=\"$(prickle key create --kind client --agent OWNER/NAME --project p)\""
        )
    );
    let error = http(&room.url).me().await.unwrap_err();
    assert!(matches!(&error, CallError::Unauthorized(text) if text.contains("--kind person")), "{error}");
    let error = http(&room.url).snapshot(&"p".parse().unwrap()).await.unwrap_err();
    assert!(matches!(&error, CallError::Unauthorized(text) if text.contains("--project p")), "{error}");
}

#[tokio::test]
async fn a_room_that_is_not_seen_is_answered_with_those_that_are() {
    let room = Room::open().await;
    let person = room.key("person", "acme", &["website", "shop"]);
    let http = Http::new(&access(&room.url, &person), PATIENCE).unwrap();
    let error = http.snapshot(&"website-v2".parse().unwrap()).await.unwrap_err();
    let host = room.address();
    let text = format!("this key sees no website-v2 at {host}; it sees shop, website");
    assert_eq!(error, CallError::Refused(text));
}

#[tokio::test]
async fn without_a_room_it_says_why() {
    for url in [closed_port(), closed_port().replace("http", "https")] {
        let error = http(&url).me().await.unwrap_err();
        assert_eq!(error, CallError::Unreachable("connection refused".into()), "{url}");
        let error = call(&url, SECRET, json!({})).await.unwrap_err();
        assert_eq!(error, CallError::Unreachable("connection refused".into()), "{url}");
    }
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let access = access(&format!("http://{}", listener.local_addr().unwrap()), SECRET);
    let patience = Duration::from_millis(300);
    let late = CallError::Unreachable("no answer for 300ms".into());
    assert_eq!(Http::new(&access, patience).unwrap().me().await.unwrap_err(), late);
    assert_eq!(mcp::call(&access, "update_pulse", Map::new(), patience).await.unwrap_err(), late);
}

/// What a server answers to every request, and what a question and a call make of it.
struct Odd {
    status: u16,
    body: &'static str,
    asked: &'static str,
    called: &'static str,
}

#[tokio::test]
async fn every_odd_answer_has_its_words() {
    let room = FakeRoom::open().await;
    let host = room.address.to_string();
    let (no_room, strange) =
        ("what answers there is no prickle room", "what answers there does not speak like a prickle room");
    for odd in [
        Odd { status: 200, body: "<html>hello</html>", asked: no_room, called: strange },
        Odd { status: 200, body: "{\"kind\":5}", asked: no_room, called: strange },
        Odd {
            status: 404,
            body: "<html>",
            asked: "what answers at HOST is no prickle room",
            called: "what answers at HOST is no prickle room",
        },
        Odd {
            status: 403,
            body: "This room answers to localhost only.",
            asked: "the room at HOST refuses the request: This room answers to localhost only.",
            called: "the room at HOST refuses the request: This room answers to localhost only.",
        },
        Odd {
            status: 413,
            body: "Too long.",
            asked: "the room at HOST refuses the request (413): Too long.",
            called: "the room at HOST refuses the request (413): Too long.",
        },
        Odd {
            status: 429,
            body: "Slow down\u{202e}.",
            asked: "the room asks to slow down: Slow down<U+202E>.",
            called: "the room asks to slow down; try again later",
        },
        Odd {
            status: 500,
            body: "{\"detail\":\"The disk is full.\"}",
            asked: "the room has trouble (500): The disk is full.",
            called: "the room has trouble (500); try again later",
        },
        Odd {
            status: 503,
            body: SECRET,
            asked: "the room has trouble (503); try again later",
            called: "the room has trouble (503); try again later",
        },
    ] {
        room.answer(move |_| Some(answer(odd.status, odd.body)));
        let asked = http(&room.url()).me().await.unwrap_err().to_string();
        assert_eq!(asked, odd.asked.replace("HOST", &host), "{} {}", odd.status, odd.body);
        let called = call(&room.url(), SECRET, json!({})).await.unwrap_err().to_string();
        assert_eq!(called, odd.called.replace("HOST", &host), "{} {}", odd.status, odd.body);
    }
    room.answer(|_| {
        Some((axum::http::StatusCode::UNAUTHORIZED, [("www-authenticate", "Bearer")], "no").into_response())
    });
    assert!(matches!(call(&room.url(), SECRET, json!({})).await, Err(CallError::Unauthorized(_))));
}

/// 429 as a room says it.
fn slow_down(seconds: &'static str) -> Response {
    let mut response = answer(429, "{\"detail\":\"Too many calls.\"}");
    response.headers_mut().insert("retry-after", seconds.parse().unwrap());
    response
}

#[tokio::test]
async fn a_room_that_asks_to_slow_down_is_asked_once_more_when_it_said() {
    let room = FakeRoom::open().await;
    let refusals = Arc::new(AtomicUsize::new(0));
    let left = Arc::clone(&refusals);
    room.answer(move |seen| {
        if left.fetch_update(Relaxed, Relaxed, |n| n.checked_sub(1)).is_ok() {
            return Some(slow_down("1"));
        }
        match serde_json::from_str::<Value>(&seen.body) {
            Ok(message) => old_server(message["method"].as_str().unwrap(), &message["id"]),
            Err(_) if seen.method == "POST" => Some(answer(405, "")),
            Err(_) => Some(json_answer(&json!({"kind": "person", "owner": "acme", "projects": null}))),
        }
    });
    let busy =
        |error: &CallError| matches!(error, CallError::Busy { wait: Some(wait), .. } if wait.as_secs() == 1);
    for times in [1, 2] {
        refusals.store(times, Relaxed);
        let began = Instant::now();
        let asked = http(&room.url()).me().await;
        assert!(began.elapsed() >= Duration::from_secs(1));
        assert_eq!(asked.is_ok(), times == 1, "{asked:?}");
        assert!(asked.err().is_none_or(|error| busy(&error)));
    }
    // One call is more than one request: the first of them is refused.
    refusals.store(1, Relaxed);
    let began = Instant::now();
    assert_eq!(
        call(&room.url(), SECRET, json!({"project": "p", "doing": "x"})).await.unwrap(),
        json!({"pulse": null})
    );
    assert!(began.elapsed() >= Duration::from_secs(1));
    refusals.store(1000, Relaxed);
    assert!(busy(&call(&room.url(), SECRET, json!({})).await.unwrap_err()));
}

#[tokio::test]
async fn a_room_that_asks_for_a_long_wait_is_not_waited_for() {
    let room = FakeRoom::open().await;
    for wait in ["6", "3600", "soon", "Wed, 21 Oct 2026 07:28:00 GMT", "18446744073709551616"] {
        room.answer(move |_| Some(slow_down(wait)));
        let before = room.seen().len();
        assert!(matches!(http(&room.url()).me().await, Err(CallError::Busy { .. })), "{wait}");
        assert_eq!(room.seen().len(), before + 1, "{wait}");
        assert!(matches!(call(&room.url(), SECRET, json!({})).await, Err(CallError::Busy { .. })), "{wait}");
    }
}

#[tokio::test]
async fn a_room_that_is_there_is_not_to_be_started() {
    let room = FakeRoom::open().await;
    let url = room.url();
    for (status, said) in [(429, "asks to slow down"), (503, "has trouble (503)")] {
        room.answer(move |_| Some(if status == 429 { slow_down("1") } else { answer(status, "Later.") }));
        for command in [
            &["watch", "--once", "p"][..],
            &["watch", "--once", "--json", "p"],
            &["pulse", "--doing", "x", "--project", "p"],
        ] {
            let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_prickle"));
            let home = tempfile::tempdir().unwrap();
            program.env_clear().env("HOME", home.path()).env("PRICKLE_HOME", home.path());
            program.env("PRICKLE_TOKEN", SECRET).args(command).args(["--server", &url]);
            let out = tokio::task::spawn_blocking(move || program.output().unwrap()).await.unwrap();
            let text = String::from_utf8(out.stderr).unwrap();
            assert_eq!(out.status.code(), Some(2), "{command:?}: {text}");
            assert!(text.starts_with("prickle: the room ") && text.contains(said), "{command:?}: {text}");
            assert!(!text.contains("serve") && !text.contains("reached"), "{command:?}: {text}");
        }
    }
}

#[tokio::test]
async fn neither_a_question_nor_a_call_follows_a_redirect() {
    let (other, room) = (FakeRoom::open().await, FakeRoom::open().await);
    let target = other.url();
    room.answer(move |seen| {
        let target = format!("{target}{}", seen.path);
        Some((axum::http::StatusCode::PERMANENT_REDIRECT, [("location", target)]).into_response())
    });
    let said = format!("{} sends elsewhere, and a key goes only to the address it belongs to", room.address);
    let error = http(&room.url()).me().await.unwrap_err();
    assert!(matches!(&error, CallError::Refused(text) if text.starts_with(&said)), "{error}");
    let error = call(&room.url(), SECRET, json!({})).await.unwrap_err();
    assert!(matches!(&error, CallError::Refused(text) if text.starts_with(&said)), "{error}");
    assert!(other.seen().is_empty(), "{:?}", other.seen());
}

/// A server of the time before discovery and structured results.
fn old_server(method: &str, id: &Value) -> Option<Response> {
    let result = match method {
        "initialize" => json!({"protocolVersion": "2025-03-26", "capabilities": {"tools": {}},
            "serverInfo": {"name": "old", "version": "1"}}),
        "tools/call" => json!({"content": [{"type": "text", "text": "{\"pulse\":null}"}]}),
        "notifications/initialized" => return Some(answer(202, "")),
        _ => {
            let error = json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "what?"}});
            return Some(json_answer(&error));
        }
    };
    Some(json_answer(&json!({"jsonrpc": "2.0", "id": id, "result": result})))
}

fn json_answer(value: &Value) -> Response {
    ([("content-type", "application/json")], value.to_string()).into_response()
}

#[tokio::test]
async fn an_older_room_is_spoken_to_in_its_own_way() {
    let room = FakeRoom::open().await;
    room.answer(|seen| {
        if seen.method != "POST" {
            return Some(answer(405, ""));
        }
        let message: Value = serde_json::from_str(&seen.body).unwrap();
        old_server(message["method"].as_str().unwrap(), &message["id"])
    });
    let result = call(&room.url(), SECRET, json!({"project": "p", "doing": "x"})).await.unwrap();
    assert_eq!(result, json!({"pulse": null}));
    let calls: Vec<Value> =
        room.seen().iter().filter_map(|seen| serde_json::from_str(&seen.body).ok()).collect();
    let call = calls.iter().find(|call| call["method"] == "tools/call").unwrap();
    assert_eq!(call["params"]["arguments"], json!({"project": "p", "doing": "x"}));
    assert!(
        room.seen()
            .iter()
            .all(|seen| seen.authorization == format!("Bearer {SECRET}") && seen.path == "/mcp")
    );
}

#[tokio::test]
async fn case_c02_a_call_that_was_due_in_a_restart_is_made_once() {
    let mut room = Room::open().await;
    let agent = room.key("client", "acme/builder", &["website-v2"]);
    let person = room.key("person", "acme", &["website-v2"]);
    let run = json!({"project": "website-v2", "run_id": "4f7c2a9e-3b1d-4c8e-9a6f-0d2e5b7c1a3f", "task_id": "t",
        "input_tokens": 1, "output_tokens": 2, "turns": 3, "duration_ms": 4, "exit_code": 0});
    let url = room.url.clone();
    let report =
        async || mcp::call(&access(&url, &agent), "report_run", arguments(run.clone()), PATIENCE).await;
    // While it is down the call says so, as something that may pass; sent again, it is the same record.
    room.begin_to_stop();
    room.stopped().await;
    assert!(matches!(report().await, Err(CallError::Unreachable(_))));
    let room = room.reopen().await;
    let first = report().await.unwrap();
    let room = room.restart().await;
    assert_eq!(report().await.unwrap(), first);
    let page =
        Http::new(&access(&room.url, &person), PATIENCE).unwrap().runs(&RunQuery::default()).await.unwrap();
    assert_eq!(page.runs.len(), 1);
}

#[tokio::test]
async fn case_c02_a_session_that_has_ended_is_begun_anew_and_the_call_made_once() {
    use std::sync::atomic::{AtomicUsize, Ordering};

    let room = FakeRoom::open().await;
    let (greetings, done) = (AtomicUsize::new(0), std::sync::Arc::new(AtomicUsize::new(0)));
    let calls = std::sync::Arc::clone(&done);
    room.answer(move |seen| {
        let Ok(message) = serde_json::from_str::<Value>(&seen.body) else { return Some(answer(405, "")) };
        let reply = |result: Value, session: Option<String>| {
            let body = json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string();
            let mut response = answer(200, &body);
            response.headers_mut().insert("content-type", "application/json".parse().unwrap());
            if let Some(session) = session {
                response.headers_mut().insert("mcp-session-id", session.parse().unwrap());
            }
            Some(response)
        };
        match message["method"].as_str() {
            Some("initialize") => {
                let session = format!("session-{}", greetings.fetch_add(1, Ordering::SeqCst));
                let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                    "serverInfo": {"name": "hosted", "version": "1"}});
                reply(hello, Some(session))
            }
            Some("tools/call") if greetings.load(Ordering::SeqCst) == 1 => {
                Some(answer(404, "Session not found"))
            }
            Some("tools/call") => {
                calls.fetch_add(1, Ordering::SeqCst);
                reply(json!({"content": [], "structuredContent": {"pulse": {"doing": "x"}}}), None)
            }
            Some(name) if name.starts_with("notifications/") => Some(answer(202, "")),
            _ => {
                let why = json!({"code": -32601, "message": "no such method"});
                let body = json!({"jsonrpc": "2.0", "id": message["id"], "error": why}).to_string();
                let mut response = answer(200, &body);
                response.headers_mut().insert("content-type", "application/json".parse().unwrap());
                Some(response)
            }
        }
    });
    let result = call(&room.url(), SECRET, json!({"project": "p", "doing": "x"})).await;
    assert_eq!(result.unwrap()["pulse"]["doing"], "x");
    assert_eq!(done.load(Ordering::SeqCst), 1);
}
