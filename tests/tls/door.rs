//! Who comes to an encrypted room without its manners: in the clear, silent, not reading, under a foreign name.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use prickle::client::feed::{Feed, Options};
use prickle::client::{Access, mcp};
use prickle::picture::News;
use prickle::server::tls::Tls;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::{Value, json};
use tokio::net::TcpSocket;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use super::common::PATIENCE;
use super::common::room::{Room, Shape};
use super::paper::{Authority, Files, NAMES, PROJECT};

/// A room in this process, encrypted.
async fn open(authority: &Authority, mut shape: Shape) -> Room {
    let files = Files::new(&authority.issue(&NAMES), "");
    shape.server.tls = Some(Tls::open(&files.path("cert.pem"), &files.path("key.pem")).unwrap());
    Room::with(shape).await
}

async fn connect(
    authority: &Authority,
    at: SocketAddr,
    receive_buffer: u32,
) -> TlsStream<tokio::net::TcpStream> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.pem().as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.unwrap().with_root_certificates(roots).with_no_client_auth();
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(receive_buffer).unwrap();
    let stream = socket.connect(at).await.unwrap();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap()
}

/// All that is answered to `sent` until the room closes the connection, which it must.
fn answer(at: SocketAddr, sent: &[u8]) -> String {
    let mut socket = TcpStream::connect(at).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.write_all(sent).unwrap();
    let mut told = Vec::new();
    if let Err(error) = socket.read_to_end(&mut told) {
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "it is not closed in time");
    }
    String::from_utf8_lossy(&told).into_owned()
}

#[tokio::test]
async fn a_request_in_the_clear_is_told_to_speak_https() {
    let authority = Authority::new("team");
    let room = open(&authority, Shape::default()).await;
    let at = room.address();
    let told = tokio::task::spawn_blocking(move || {
        let body = "x".repeat(2000);
        let post = format!(
            "POST /mcp HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2000\r\n\r\n{body}"
        );
        ["GET /v1/me HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", &post]
            .map(|sent| answer(at, sent.as_bytes()))
    });
    for told in told.await.unwrap() {
        assert!(told.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{told}");
        assert!(
            told.ends_with(
                "\r\n\r\nThis room speaks https: put https:// in place of http:// in its address.\n"
            )
        );
    }
    let http2 = reqwest::Client::builder().no_proxy().http2_prior_knowledge().build().unwrap();
    let told = http2.get(format!("http://{at}/healthz")).send().await.unwrap();
    assert_eq!((told.version(), told.status().as_u16()), (reqwest::Version::HTTP_2, 400));
}

#[tokio::test]
async fn a_peer_that_does_not_go_on_is_not_waited_for() {
    let authority = Authority::new("team");
    let mut shape = Shape::default();
    shape.server.header_timeout = Duration::from_millis(150);
    let room = open(&authority, shape).await;
    let at = room.address();
    let told = tokio::task::spawn_blocking(move || {
        [
            &b""[..],                     // says nothing at all
            b"\x16",                      // might be TLS
            b"\x16\x03\x01\x02\x00\x01",  // begins a hello and does not end it
            b"GET /healthz HTTP/1.1\r\n", // in the clear, and not even a whole header
            b"\x00\x00\x00",              // neither
        ]
        .map(|sent| answer(at, sent))
    });
    for told in told.await.unwrap() {
        assert!(!told.contains("200"), "{told}");
    }
    // A handshake and then nothing.
    let mut quiet = connect(&authority, at, 65536).await;
    let end = tokio::time::timeout(PATIENCE, tokio::io::AsyncReadExt::read(&mut quiet, &mut [0])).await;
    assert!(matches!(end.expect("it is closed in time"), Ok(0) | Err(_)));
}

#[tokio::test]
async fn handshakes_hold_up_no_stop_and_no_one_else() {
    let authority = Authority::new("team");
    let mut room = open(&authority, Shape::default()).await;
    let stuck: Vec<_> = (0..20).map(|_| TcpStream::connect(room.address()).unwrap()).collect();
    for mut peer in &stuck {
        peer.write_all(b"\x16\x03\x01").unwrap();
    }
    let access = Access {
        server: format!("https://{}", room.address()).parse().unwrap(),
        token: room.key("client", "acme/builder", &[PROJECT]).parse().unwrap(),
        trust: authority.trust(),
    };
    let args = json!({"project": PROJECT, "doing": "x"}).as_object().unwrap().clone();
    mcp::call(&access, "update_pulse", args, PATIENCE).await.unwrap();
    let began = Instant::now();
    room.begin_to_stop();
    room.stopped().await;
    assert!(began.elapsed() < room.shape.server.grace, "{:?}", began.elapsed());
    drop(stuck);
}

#[tokio::test]
async fn a_watcher_that_stops_reading_is_let_go_beneath_tls_too() {
    let authority = Authority::new("team");
    let mut shape = Shape::default();
    shape.server.stall = Duration::from_millis(300);
    shape.server.silence = Duration::from_mins(1); // the write's own deadline is meant
    shape.server.send_buffer = 4096;
    shape.store.frames_held = 8;
    let room = open(&authority, shape).await;
    let (agent, person) = (room.key("client", "acme/a", &[PROJECT]), room.key("person", "acme", &[PROJECT]));
    let access = |token: &str| Access {
        server: format!("https://{}", room.address()).parse().unwrap(),
        token: token.parse().unwrap(),
        trust: authority.trust(),
    };
    let stream = connect(&authority, room.address(), 4096).await;
    let mut request =
        format!("wss://{}/v1/projects/{PROJECT}/feed", room.address()).into_client_request().unwrap();
    request.headers_mut().insert("Authorization", format!("Bearer {person}").parse().unwrap());
    let (mut stuck, _) = tokio_tungstenite::client_async(request, stream).await.unwrap();

    let quick_access = access(&person);
    let mut quick =
        Feed::spawn(Arc::new(move || Ok(quick_access.clone())), PROJECT.parse().unwrap(), Options::default());
    let agent = access(&agent);
    let began = Instant::now();
    let mut n = 0;
    while began.elapsed() < Duration::from_millis(1200) {
        n += 1;
        let heavy = json!({"project": PROJECT, "doing": n.to_string(), "files": vec!["f".repeat(300); 50]});
        mcp::call(&agent, "update_pulse", heavy.as_object().unwrap().clone(), PATIENCE).await.unwrap();
    }
    // What had got as far as the wire comes, then the end: no close frame.
    let mut heard = 0;
    let end = tokio::time::timeout(PATIENCE, async {
        loop {
            match stuck.next().await {
                Some(Ok(Message::Text(_) | Message::Ping(_))) => heard += 1,
                end => break end,
            }
        }
    });
    let end = end.await.expect("it is let go in time");
    assert!(!matches!(end, Some(Ok(_))), "{end:?}");
    assert!(heard < n, "{heard} of {n} frames");
    // One that reads has all of it.
    let mut seen = 0;
    while seen < n {
        match tokio::time::timeout(PATIENCE, quick.next()).await.unwrap().unwrap().news {
            News::Event { .. } => seen += 1,
            News::Snapshot { pulses, .. } if !pulses.is_empty() => seen = pulses[0].doing.parse().unwrap(),
            News::Lost { why, .. } => panic!("{why}"),
            _ => {}
        }
    }
}

/// `--allow-host` and `--allow-origin` of the real binary, under both versions of HTTP, each with the name where
/// that version puts it.
#[tokio::test]
async fn only_names_and_pages_that_were_allowed_get_in() {
    let authority = Authority::new("team");
    let names = ["127.0.0.1", "localhost", "room.example", "evil.example"];
    let files = Files::new(&authority.issue(&names), &authority.pem());
    let room = files.serve(&["--allow-host", "room.example", "--allow-origin", "https://board.example"]);
    let at = SocketAddr::from(([127, 0, 0, 1], room.served.port));
    let root = reqwest::Certificate::from_pem(authority.pem().as_bytes()).unwrap();
    let client = || {
        let client = reqwest::Client::builder().no_proxy().tls_certs_only([root.clone()]);
        client.resolve("room.example", at).resolve("evil.example", at)
    };
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params":
        {"name": "update_pulse", "arguments": {"project": PROJECT, "doing": "x"}}});
    let mut stored = 0;
    for client in [client().build().unwrap(), client().http1_only().build().unwrap()] {
        for (host, origin, status) in [
            ("evil.example", None, 403),
            ("room.example", Some("https://evil.example"), 403),
            ("room.example", Some("null"), 403),
            ("evil.example", Some("https://board.example"), 403),
            ("127.0.0.1", Some("https://room.example"), 403),
            ("room.example", Some("https://board.example"), 200),
            ("room.example", None, 200),
            ("localhost", None, 200),
        ] {
            let url = |path: &str| format!("https://{host}:{}{path}", at.port());
            let mut request = client.post(url("/mcp")).bearer_auth(&room.agent).json(&body);
            request = request.header("Accept", "application/json, text/event-stream");
            if let Some(origin) = origin {
                request = request.header("Origin", origin);
            }
            let told = request.send().await.unwrap();
            assert_eq!(told.status(), status, "{host} {origin:?} {:?}", told.version());
            stored += u64::from(status == 200);
            let mut page = client.get(url("/healthz"));
            if let Some(origin) = origin {
                page = page.header("Origin", origin);
            }
            assert_eq!(page.send().await.unwrap().status(), status);
        }
        let told = client.get(format!("https://localhost:{}/v1/projects/{PROJECT}/pulse", at.port()));
        let told: Value = told.bearer_auth(&room.person).send().await.unwrap().json().await.unwrap();
        // Alike reports are events too: each that was let in, and no other.
        assert_eq!(told["seq"], stored);
    }
    let told = client().build().unwrap().get(format!("https://evil.example:{}/v1/me", at.port()));
    assert!(told.send().await.unwrap().text().await.unwrap().contains("--allow-host NAME"));
}
