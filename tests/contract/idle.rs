//! HTTP/2 connections that are there and not used: an answered ping keeps none of them.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::json;

use super::common::PATIENCE;
use super::common::caller::OLD_ERA;
use super::common::room::{Room, Shape};
use super::common::until;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const ACK: u8 = 1;
/// The initial window of a stream is nothing.
const NO_WINDOW: [u8; 6] = [0, 4, 0, 0, 0, 0];

fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).unwrap();
    [&[0, 0, length, kind, flags, 0, 0, 0, stream], payload].concat()
}

/// What a peer was sent until the room closed the connection.
#[derive(Debug, Default)]
struct Seen {
    pings: usize,
    answers: usize,
}

/// Speaks HTTP/2, asks for `/healthz` if it is to, and from then on only does what keeps a connection.
fn linger(at: SocketAddr, settings: &[u8], asks: bool) -> Seen {
    let mut socket = TcpStream::connect(at).unwrap();
    let mut sent = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    sent.extend(frame(SETTINGS, 0, 0, settings));
    if asks {
        // GET, http, and two literals: the path and the authority.
        sent.extend(frame(HEADERS, 5, 1, b"\x82\x86\x04\x08/healthz\x01\x09localhost"));
    }
    socket.write_all(&sent).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let began = Instant::now();
    let (mut seen, mut read, mut buffer) = (Seen::default(), Vec::new(), [0; 4096]);
    loop {
        assert!(began.elapsed() < PATIENCE, "still open: {seen:?}");
        match socket.read(&mut buffer) {
            Ok(0) => return seen,
            Ok(n) => read.extend_from_slice(&buffer[..n]),
            Err(e) if e.kind() == std::io::ErrorKind::ConnectionReset => return seen,
            Err(_) => continue, // nothing yet
        }
        while let Some(length) = read.get(..3).map(|b| u32::from_be_bytes([0, b[0], b[1], b[2]]) as usize) {
            if read.len() < 9 + length {
                break;
            }
            let whole: Vec<u8> = read.drain(..9 + length).collect();
            let acknowledged = match (whole[3], whole[4]) {
                (SETTINGS, 0) => frame(SETTINGS, ACK, 0, &[]),
                (PING, 0) => {
                    seen.pings += 1;
                    frame(PING, ACK, 0, &whole[9..])
                }
                (kind, _) => {
                    seen.answers += usize::from(kind == DATA);
                    continue;
                }
            };
            let _ = socket.write_all(&acknowledged); // it may be closed by now
        }
    }
}

fn impatient() -> Shape {
    let mut shape = Shape::default();
    shape.server.header_timeout = Duration::from_millis(150);
    shape
}

#[tokio::test]
async fn an_http2_peer_that_only_answers_pings_is_let_go() {
    let mut shape = impatient();
    shape.server.body_timeout = Duration::from_millis(150);
    shape.server.stall = Duration::from_millis(150);
    let room = Room::with(shape).await;
    let at = room.address();
    for (settings, asks, answers) in [(&[][..], true, 1), (&[], false, 0), (&NO_WINDOW, true, 0)] {
        let seen = tokio::task::spawn_blocking(move || linger(at, settings, asks)).await.unwrap();
        assert_eq!(seen.answers, answers, "{seen:?}");
    }
    assert_eq!(room.get("", "/healthz").await.0, 200);
}

#[tokio::test]
async fn a_room_that_such_a_peer_holds_on_to_ends_when_nobody_else_is_there() {
    let mut shape = impatient();
    shape.server.idle = Some(Duration::from_millis(300));
    let room = Room::with(shape).await;
    let at = room.address();
    let lingering = tokio::task::spawn_blocking(move || linger(at, &[], true));
    until("the room ends", async || !room.store.works()).await;
    assert_eq!(lingering.await.unwrap().answers, 1);
}

#[tokio::test]
async fn an_http2_call_that_takes_longer_than_an_idle_connection_lasts_is_answered() {
    let room = Room::with(impatient()).await;
    let key = room.key("client", "acme/builder", &["website-v2"]);
    let params = json!({"name": "update_pulse", "arguments": {"project": "website-v2", "doing": "slow"}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let (first, rest) = call.split_at(10);
    let (first, rest) = (first.to_owned(), rest.to_owned());
    let parts = futures_util::stream::unfold(vec![rest, first], async |mut left| {
        let part = left.pop()?;
        if left.is_empty() {
            tokio::time::sleep(Duration::from_millis(600)).await; // it is the caller who is slow
        }
        Some((Ok::<_, std::io::Error>(part), left))
    });
    let client = reqwest::Client::builder().no_proxy().http2_prior_knowledge().build().unwrap();
    let answer = client
        .post(format!("{}/mcp", room.url))
        .bearer_auth(&key)
        .header("Content-Type", "application/json")
        .header("Accept", "application/json, text/event-stream")
        .header("MCP-Protocol-Version", OLD_ERA)
        .body(reqwest::Body::wrap_stream(parts))
        .send()
        .await
        .unwrap();
    assert_eq!((answer.version(), answer.status().as_u16()), (reqwest::Version::HTTP_2, 200));
    let told = answer.text().await.unwrap();
    assert!(told.contains("slow") && !told.contains("isError\":true"), "{told}");
    // A connection that was closed meanwhile is no fault for the next call.
    tokio::time::sleep(Duration::from_millis(400)).await;
    let again = client.get(format!("{}/v1/me", room.url)).bearer_auth(&key).send().await.unwrap();
    assert_eq!(again.status(), 200);
}
