//! Kind × every route × every method × own, other and missing project; and every way to come without a good key.

use prickle::rules::Kind;
use prickle::server::routes::Route;
use reqwest::Method;
use serde_json::{Value, json};

use super::common::caller::run_report;
use super::common::room::Room;
use super::common::until;
use super::common::watcher::Watcher;
use super::{Key, MISSING, OTHER, OWN, column, room_with_keys, row, table};

/// The status of a good request with the method that a route is for; a feed is asked to become one.
const ROUTES: &str = "
route                         person oauth client project runner-device runner-tasks execution
/healthz                      200    200   200    200     200           200          200
/metrics                      200    200   200    200     200           200          200
/v1/me                        200    200   200    200     200           200          200
/v1/projects                  200    200   200    200     200           200          200
/v1/projects/{project}/pulse  200    200   200    200     200           200          200
/v1/projects/{project}/feed   101    101   101    101     101           101          101
/v1/agents                    200    404   404    404     404           404          404
/v1/runs                      200    404   404    404     404           404          404
/v1/runs/summary              200    404   404    404     404           404          404
/v1/runs/{run_id}             200    404   404    404     404           404          404
/mcp                          200    200   200    200     200           200          200
";

/// The record that there is, of one of acme's agents in its own project.
const RUN: &str = "4f7c2a9e-3b1d-4c8e-9a6f-0d2e5b7c1a3f";

async fn room_with_a_record() -> (Room, Vec<Key>) {
    let (room, keys) = room_with_keys().await;
    let agent = keys.iter().find(|key| key.kind == Kind::Client).unwrap();
    room.run(&agent.token, run_report(RUN)).await;
    (room, keys)
}

/// Routes that need no key.
const OPEN: [&str; 2] = ["/healthz", "/metrics"];

const METHODS: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"];

/// The method that a route is for.
fn method(route: Route) -> &'static str {
    match route {
        Route::Mcp => "POST",
        _ => "GET",
    }
}

/// A path to ask for, in this project. `None`: the route is of no project, and the project is not its own.
fn path(route: Route, project: &str) -> Option<String> {
    match route {
        Route::Agents => Some(format!("/v1/agents?project={project}")),
        Route::Run => (project == OWN).then(|| route.path().replace("{run_id}", RUN)),
        _ if route.path().contains("{project}") => Some(route.path().replace("{project}", project)),
        _ => (project == OWN).then(|| route.path().to_owned()),
    }
}

/// A good request, with whatever is left to say of who asks.
fn request(room: &Room, route: Route, method: &str, path: &str) -> reqwest::RequestBuilder {
    let request = room.request(method.parse::<Method>().unwrap(), "", path);
    match route {
        Route::Feed => request
            .header("Connection", "upgrade")
            .header("Upgrade", "websocket")
            .header("Sec-WebSocket-Version", "13")
            .header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
        Route::Mcp => request
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream")
            .body(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}).to_string()),
        _ => request,
    }
}

/// Status and body; an upgrade's has none.
async fn asked(request: reqwest::RequestBuilder) -> (u16, String) {
    let answer = request.send().await.unwrap();
    let status = answer.status().as_u16();
    (status, if status == 101 { String::new() } else { answer.text().await.unwrap() })
}

#[track_caller]
fn every_route_has_a_row(table: &[(&'static str, Vec<&'static str>)]) {
    let routes: Vec<&str> = Route::ALL.into_iter().map(Route::path).collect();
    for route in &routes {
        row(table, route);
    }
    for (name, _) in table {
        assert!(routes.contains(name), "{name} is a row without a route");
    }
}

#[tokio::test]
async fn every_kind_and_every_route() {
    let table = table(ROUTES);
    every_route_has_a_row(&table);
    let (room, keys) = room_with_a_record().await;
    for key in &keys {
        for route in Route::ALL {
            let at = format!("{key}, {}", route.path());
            let right: u16 = row(&table, route.path())[column(key.kind)].parse().unwrap();
            let ask = async |project: &str| {
                let path = path(route, project)?;
                Some(asked(request(&room, route, method(route), &path).bearer_auth(&key.token)).await)
            };
            let own = ask(OWN).await.unwrap();
            assert_eq!(own.0, right, "{at}: {}", own.1);
            if right == 404 {
                // To whom it does not exist, it is like any other path that does not.
                let nothing = asked(room.request(Method::GET, &key.token, "/v1/nothing")).await;
                assert_eq!(own, nothing, "{at}");
            }
            let Some(missing) = ask(MISSING).await else { continue };
            assert_eq!(missing.0, 404, "{at}: {}", missing.1);
            let other = ask(OTHER).await.unwrap();
            if key.everywhere && right != 404 {
                assert_eq!(other.0, right, "{at}: {}", other.1);
            } else {
                assert_eq!(other.0, 404, "{at}: {}", other.1);
                assert_eq!(other.1.replace(OTHER, "*"), missing.1.replace(MISSING, "*"), "{at}");
                assert!(right == 404 || other.1.contains(OWN), "{at}: {}", other.1);
            }
        }
        who_am_i(&room, key).await;
    }
}

/// What the routes that everybody may ask say of a key.
async fn who_am_i(room: &Room, key: &Key) {
    let me = room.get(&key.token, "/v1/me").await.1;
    assert_eq!((&me["kind"], &me["owner"]), (&json!(key.kind.as_str()), &json!("acme")));
    assert_eq!(me["agent_id"], if key.who == "acme" { Value::Null } else { json!(key.who) });
    assert_eq!(me["projects"], if key.everywhere { Value::Null } else { json!([OWN]) });
    assert_eq!(me.get("task_id"), (key.kind.as_str() == "execution").then_some(&json!("t-1")));
    let seen = room.get(&key.token, "/v1/projects").await.1;
    assert_eq!(
        seen,
        if key.everywhere { json!({"projects": [OTHER, OWN]}) } else { json!({"projects": [OWN]}) }
    );
    let tools = room.rpc(&key.token, "tools/list", json!({})).await;
    assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 2, "{key}");
}

#[tokio::test]
async fn every_kind_every_route_and_every_method() {
    let table = table(ROUTES);
    let (room, keys) = room_with_a_record().await;
    for key in keys.iter().map(Some).chain([None]) {
        let token = key.map(|key| key.token.as_str());
        for route in Route::ALL {
            let path = path(route, OWN).unwrap();
            let open = OPEN.contains(&route.path());
            let good: u16 = match key {
                Some(key) => row(&table, route.path())[column(key.kind)].parse().unwrap(),
                None => {
                    if open {
                        200
                    } else {
                        401
                    }
                }
            };
            for name in METHODS {
                let at = format!("{name} {path}, {}", key.map_or_else(|| "no key".into(), Key::to_string));
                let mut ask = request(&room, route, name, &path);
                if let Some(token) = token {
                    ask = ask.bearer_auth(token);
                }
                let answer = ask.send().await.unwrap();
                let status = answer.status().as_u16();
                let allow = answer.headers().get("allow").map(|value| value.to_str().unwrap().to_owned());
                let right = match (method(route), name) {
                    (one, other) if one == other => good,
                    ("GET", "HEAD") if good == 101 => 426, // there is no head of a feed
                    ("GET", "HEAD") => good,
                    // Whoever has no key learns nothing of it.
                    ("POST", _) if key.is_none() => 401,
                    _ => 405,
                };
                assert_eq!(status, right, "{at}");
                assert_eq!(allow.is_some(), status == 405, "{at}");
                assert!(allow.is_none_or(|allow| allow.contains(method(route))), "{at}");
                if name == "HEAD" {
                    assert_eq!(answer.text().await.unwrap(), "", "{at}");
                }
            }
        }
    }
}

#[tokio::test]
async fn who_comes_without_a_good_key_gets_a_sentence_and_no_more() {
    let (room, keys) = room_with_a_record().await;
    let good = &keys[0].token;
    let revoked = room.key("person", "acme", &[OWN]);
    assert_eq!(room.get(&revoked, "/v1/me").await.0, 200);
    room.revoke_newest();
    until("the key is refused", async || room.get(&revoked, "/v1/me").await.0 == 401).await;
    let unknown = format!("prk_{}", "A".repeat(43));
    let basic = "Basic YWNtZTpodW50ZXIy".to_owned();
    let bad: Vec<(&str, Option<String>)> = vec![
        ("no key", None),
        ("an unknown key", Some(format!("Bearer {unknown}"))),
        ("a revoked key", Some(format!("Bearer {revoked}"))),
        ("a good key, cut", Some(format!("Bearer {}", &good[..good.len() - 1]))),
        ("a good key and more", Some(format!("Bearer {good}A"))),
        ("a good key in capitals", Some(format!("Bearer {}", good.to_uppercase()))),
        ("no scheme", Some(good.clone())),
        ("another scheme", Some(format!("Token {good}"))),
        ("a password", Some(basic)),
        ("a scheme alone", Some("Bearer".to_owned())),
        ("nothing", Some(String::new())),
        ("letters that are none", Some("Bearer prk_\u{e9}".to_owned())),
    ];
    for (name, header) in &bad {
        for route in Route::ALL {
            let path = path(route, OWN).unwrap();
            let at = format!("{name}, {path}");
            let mut ask = request(&room, route, method(route), &path);
            if let Some(header) = header {
                ask = ask.header(
                    "Authorization",
                    reqwest::header::HeaderValue::from_bytes(header.as_bytes()).unwrap(),
                );
            }
            let answer = ask.send().await.unwrap();
            if OPEN.contains(&route.path()) {
                assert_eq!(answer.status(), 200, "{at}");
                continue;
            }
            assert_eq!(answer.status(), 401, "{at}");
            assert_eq!(answer.headers()["www-authenticate"], "Bearer realm=\"prickle\"", "{at}");
            let kind = answer.headers()["content-type"].to_str().unwrap().to_owned();
            let text = answer.text().await.unwrap();
            let sentence = if route == Route::Mcp {
                assert_eq!(kind, "text/plain; charset=utf-8", "{at}");
                text
            } else {
                assert_eq!(kind, "application/problem+json", "{at}");
                let problem: Value = serde_json::from_str(&text).unwrap();
                assert_eq!(
                    (&problem["status"], &problem["type"]),
                    (&json!(401), &json!("about:blank")),
                    "{at}"
                );
                problem["detail"].as_str().unwrap().to_owned()
            };
            assert_eq!(sentence.trim_end().lines().count(), 1, "{at}: {sentence}");
            assert!(sentence.contains("key"), "{at}: {sentence}");
            for secret in [&good[4..], &revoked[4..], &unknown[4..], "YWNtZ"] {
                assert!(!sentence.contains(secret), "{at}: {sentence}");
            }
        }
        // A path that is none is none for everybody: a 401 there sends MCP clients looking for an OAuth server.
        for path in [
            "/",
            "/nope",
            "/v1",
            "/v1/",
            "/v1/nothing",
            "/mcp/",
            "/mcp/more",
            "//mcp",
            "/.well-known/oauth-protected-resource",
            "/.well-known/oauth-protected-resource/mcp",
            "/.well-known/oauth-authorization-server",
            "/.well-known/openid-configuration",
            "/mcp/.well-known/openid-configuration",
        ] {
            for method in ["GET", "POST", "HEAD", "OPTIONS"] {
                let mut ask = room.request(method.parse().unwrap(), "", path);
                if let Some(header) = header {
                    ask = ask.header(
                        "Authorization",
                        reqwest::header::HeaderValue::from_bytes(header.as_bytes()).unwrap(),
                    );
                }
                let answer = ask.send().await.unwrap();
                assert_eq!(answer.status(), 404, "{name}, {method} {path}");
                assert!(!answer.headers().contains_key("www-authenticate"), "{name}, {path}");
            }
        }
    }
    // However the scheme is spelled, a good key is a good key; and another owner's sees what is its own.
    for header in [format!("bearer {good}"), format!("BEARER  {good}"), format!(" Bearer {good} ")] {
        let ask = room.request(Method::GET, "", "/v1/me").header("Authorization", &header);
        assert_eq!(asked(ask).await.0, 200, "{header:?}");
    }
    let foreign = room.key("person", "other", &[OTHER]);
    for route in Route::ALL {
        for project in [OWN, OTHER] {
            let Some(path) = path(route, project) else { continue };
            let (status, body) =
                asked(request(&room, route, method(route), &path).bearer_auth(&foreign)).await;
            let may = (project == OTHER || !path.contains(OWN)) && route != Route::Run; // the record is acme's
            assert_eq!(status < 300, may, "{path}: {status} {body}");
            assert!(!body.contains("acme"), "{path}: {body}");
        }
    }
    assert_eq!(Watcher::open(&room, &foreign, OWN, None).await.err(), Some(404));
}
