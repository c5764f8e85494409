//! What is kept out before it costs anything: web pages, foreign names, huge and slow requests.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use super::common::PATIENCE;
use super::common::caller::judge;
use super::common::room::{Room, Shape};

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
async fn the_name_of_a_variable_is_no_key_and_is_told_so() {
    let room = Room::open().await;
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    // More often than unknown keys may be tried: nobody guesses by this.
    for _ in 0..25 {
        let told = room.post("${PRICKLE_TOKEN}", list).send().await.unwrap();
        assert_eq!(told.status(), 401);
        let said = told.text().await.unwrap();
        assert!(said.starts_with("What came as the key is the name of a variable: it is not set"), "{said}");
        assert!(!said.contains("${"), "{said}");
    }
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
    // A body that tells no length, and has no end.
    let endless = futures_util::stream::repeat_with(|| Ok::<_, String>(vec![b' '; 8192]));
    let told = room.post(&key, reqwest::Body::wrap_stream(endless)).send().await.unwrap();
    assert_eq!(told.status(), 413);
    assert!(told.text().await.unwrap().contains("512 KiB"));
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
pub fn read_status(socket: &mut TcpStream) -> String {
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut line = Vec::new();
    let mut byte = [0];
    while socket.read(&mut byte).expect("an answer or an end in time") == 1 && byte[0] != b'\r' {
        line.push(byte[0]);
    }
    String::from_utf8(line).unwrap()
}
