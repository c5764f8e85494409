//! What is kept out before it costs anything: web pages, foreign names, huge and slow requests.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use super::common::PATIENCE;
use super::common::caller::judge;
use super::common::child::Served;
use super::common::room::{Room, Shape, make_key};

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

/// The resident memory of a process, in bytes.
#[cfg(target_os = "linux")]
fn resident(id: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn case_c20_bodies_of_any_size_and_pace_cost_no_memory_and_hold_up_nobody() {
    const SLOW: usize = 500; // a test has 1,024 descriptors where nobody has raised that
    const HUGE: usize = 20;
    const MOST: u64 = 48 * 1024 * 1024;
    let folder = tempfile::tempdir().unwrap();
    let key = make_key(&folder.path().join("room.db"), "client", "acme/builder", &["website-v2"]);
    let served = Served::start_as(folder.path(), 0, None, &["--rate", "off"]);
    let room = served.caller();
    room.pulse(&key, json!({"project": "website-v2", "doing": "before"})).await;
    let before = resident(served.id());

    // Many that send a byte now and then.
    let head = |length: &str| {
        format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\
             Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n{length}\r\n\r\n"
        )
    };
    let mut slow = Vec::new();
    for _ in 0..SLOW {
        let mut socket = TcpStream::connect(("127.0.0.1", served.port)).unwrap();
        socket.write_all(head("Content-Length: 500000").as_bytes()).unwrap();
        slow.push(socket);
    }
    let mut largest = 0;
    for _ in 0..5 {
        for socket in &mut slow {
            socket.write_all(b"{").unwrap();
        }
        largest = largest.max(resident(served.id()));
    }
    // Meanwhile 200 MB each, announced and not. Who goes on sending after the answer is cut off.
    let port = served.port;
    let huge = (0..HUGE).map(|n| {
        let chunked = n % 2 == 1;
        let head = head(if chunked { "Transfer-Encoding: chunked" } else { "Content-Length: 200000000" });
        tokio::task::spawn_blocking(move || {
            let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
            socket.write_all(head.as_bytes()).unwrap();
            let mut chunk = vec![b' '; 64 * 1024];
            if chunked {
                let size = format!("{:x}\r\n", chunk.len());
                chunk.splice(0..0, size.into_bytes());
                chunk.extend(b"\r\n");
            }
            let mut reader = socket.try_clone().unwrap();
            let sender = std::thread::spawn(move || {
                let mut sent = 0;
                while sent < 200_000_000 && socket.write_all(&chunk).is_ok() {
                    sent += chunk.len();
                }
                sent
            });
            (read_status(&mut reader), sender.join().unwrap())
        })
    });
    for told in huge.collect::<Vec<_>>() {
        room.pulse(&key, json!({"project": "website-v2", "doing": "meanwhile"})).await;
        largest = largest.max(resident(served.id()));
        let (status, _sent) = told.await.unwrap();
        assert_eq!(status, "HTTP/1.1 413 Payload Too Large");
        largest = largest.max(resident(served.id()));
    }
    let deep = format!("{}{}", "[".repeat(250_000), "]".repeat(250_000));
    assert_eq!(room.post(&key, deep).send().await.unwrap().status(), 400);
    assert!(largest < before + MOST, "from {before} to {largest} bytes");
    drop(slow);
    room.pulse(&key, json!({"project": "website-v2", "doing": "after"})).await;
}

#[tokio::test]
async fn no_target_is_more_than_a_path() {
    let room = Room::open().await;
    let key = room.key("person", "acme", &["website-v2"]);
    let long = format!("/{}", "x".repeat(60_000));
    let longer = format!("/{}", "x".repeat(1_000_000));
    for (line, statuses) in [
        ("GET /v1/projects/../me HTTP/1.1", &[404][..]),
        ("GET /v1/projects/%2e%2e/me HTTP/1.1", &[404]),
        ("GET /v1/projects/..%2fme/pulse HTTP/1.1", &[404]),
        ("GET /v1/projects/%00/pulse HTTP/1.1", &[404]),
        ("GET /v1/projects/%ff/pulse HTTP/1.1", &[404]),
        ("GET /v1/projects/%/pulse HTTP/1.1", &[404]),
        ("GET /v1/projects//pulse HTTP/1.1", &[404]),
        ("GET /v1/projects/WEBSITE-V2/pulse HTTP/1.1", &[404]),
        ("GET /v1/projects/website-v2/pulse/ HTTP/1.1", &[404]),
        ("GET /V1/me HTTP/1.1", &[404]),
        ("GET /v1/me/ HTTP/1.1", &[404]),
        ("GET /v1/%6de HTTP/1.1", &[404]),
        ("GET //v1/me HTTP/1.1", &[404]),
        ("GET /v1/me?a=1&a=2&%%%= HTTP/1.1", &[200]),
        ("GET http://localhost/v1/me HTTP/1.1", &[200]),
        ("GET http://evil.example/v1/me HTTP/1.1", &[403]),
        ("GET https://localhost@evil.example/v1/me HTTP/1.1", &[400, 403]),
        ("OPTIONS * HTTP/1.1", &[400, 404]),
        ("CONNECT localhost:1 HTTP/1.1", &[400, 404]),
        ("GET v1/me HTTP/1.1", &[400]),
        ("GET /v1/me HTTP/9.9", &[400]),
        ("G\u{0}T /v1/me HTTP/1.1", &[400]),
        (&format!("GET {long} HTTP/1.1"), &[404]),
        (&format!("GET {longer} HTTP/1.1"), &[414, 431]),
    ] {
        let head =
            format!("{line}\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\nConnection: close\r\n\r\n");
        let mut socket = TcpStream::connect(room.address()).unwrap();
        let status = tokio::task::spawn_blocking(move || {
            let _ = socket.write_all(head.as_bytes()); // it may be refused before its end
            read_status(&mut socket)
        });
        let status = status.await.unwrap();
        let code = status.split(' ').nth(1).and_then(|code| code.parse::<u16>().ok());
        let shown: String = line.chars().take(80).collect();
        assert!(code.is_some_and(|code| statuses.contains(&code)), "{shown}: {status}");
    }
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
    let dripping = slow_body.replace("Content-Length: 100", "Content-Length: 100000");
    for (sent, told) in [
        ("", ""),                                   // says nothing at all
        ("PRI * HT", ""),                           // does not say which HTTP it speaks
        ("GET /healthz HTTP/1.1\r\nHost: loc", ""), // never ends its header
        (slow_body.as_str(), "HTTP/1.1 408 Request Timeout"),
        (dripping.as_str(), "HTTP/1.1 408 Request Timeout"),
    ] {
        let mut socket = TcpStream::connect(room.address()).unwrap();
        socket.write_all(sent.as_bytes()).unwrap();
        if sent == dripping {
            // A byte at a time is not progress enough.
            let mut drip = socket.try_clone().unwrap();
            std::thread::spawn(move || {
                while drip.write_all(b" ").is_ok() {
                    std::thread::sleep(Duration::from_millis(10));
                }
            });
        }
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
