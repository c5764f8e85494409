//! A certificate that a client can't rely on: it says why and what to do, and its key stays with it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use prickle::client::feed::{Feed, Options, Source};
use prickle::client::http::Http;
use prickle::client::{Access, CallError, mcp};
use prickle::picture::News;
use prickle::server::tls::Tls;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::Map;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::common::PATIENCE;
use super::common::room::{Room, Shape};
use super::paper::{Authority, Files, NAMES, PROJECT, Pair, an_issuer, at, expired, fault, of_tomorrow};

#[test]
fn what_is_wrong_with_a_certificate_is_said_and_nothing_is_sent() {
    let (team, other) = (Authority::new("team"), Authority::new("other"));
    // Two that have the same name, and are not the same: with a key of the same kind, and of another.
    let namesake = Authority::new("team");
    let other_kind = Authority::with("team", rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap());
    let foreign = ["room.example", "*.rooms.example", "192.0.2.7"];
    for (pair, ca, said) in [
        (
            team.issue(&NAMES),
            &other,
            "from no issuer that this machine trusts; if the room's own people made it, get",
        ),
        (
            team.issue(&NAMES),
            &namesake,
            "from no issuer that this machine trusts; if the room's own people made it, get",
        ),
        (
            team.issue(&NAMES),
            &other_kind,
            "from no issuer that this machine trusts; if the room's own people made it, get",
        ),
        (
            team.issue(&foreign),
            &team,
            "its certificate is for room.example, *.rooms.example, 192.0.2.7: call it so",
        ),
        (team.issue(&[]), &team, "its certificate is not for this name; whoever runs the room has to add it"),
        (
            team.issue_with(&NAMES, expired),
            &team,
            "its certificate expired on 2020-02-29; whoever runs the room",
        ),
        (
            team.issue_with(&NAMES, of_tomorrow),
            &team,
            "its certificate holds only from 4000-01-01 on; is this machine",
        ),
        (team.issue_with(&NAMES, an_issuer), &team, "its certificate is an issuer's own, not a server's"),
    ] {
        let files = Files::new(&pair, &ca.pem());
        let room = files.serve(&[]);
        let ca = files.text("ca.pem");
        let look = ["watch", PROJECT, "--once", "--ca", &ca];
        let line = fault(&mut room.command(&room.person, &look), 2);
        assert!(
            line.starts_with(&format!("prickle: nothing was sent to 127.0.0.1:{}: ", room.served.port)),
            "{line}"
        );
        assert!(line.contains(said) && line.lines().count() == 1, "{line}");
        let report = ["pulse", "--project", PROJECT, "--doing", "x", "--ca", &ca];
        assert_eq!(fault(&mut room.command(&room.agent, &report), 2), line);
        for form in ["--plain", "--json"] {
            let watch = ["watch", PROJECT, form, "--ca", &ca];
            assert_eq!(fault(&mut room.command(&room.person, &watch), 2), line);
        }
        assert!(!room.log().contains("request"), "{}", room.log());
    }
}

#[tokio::test]
async fn a_known_room_that_can_t_show_itself_is_waited_for() {
    let (team, other) = (Authority::new("team"), Authority::new("other"));
    let files = Files::new(&team.issue(&NAMES), "");
    let tls = Tls::open(&files.path("cert.pem"), &files.path("key.pem")).unwrap();
    let mut shape = Shape::default();
    shape.server.tls = Some(tls.clone());
    let room = Room::with(shape).await;
    let server = format!("https://{}", room.address()).parse().unwrap();
    let token = room.key("person", "acme", &[PROJECT]).parse().unwrap();
    let access = Access { server, token, trust: team.trust() };
    let quick = Options { backoff_first: Duration::from_millis(10), ..Options::default() };
    let mut feed = Feed::spawn(Arc::new(move || Ok(access.clone())), PROJECT.parse().unwrap(), quick);
    let next =
        async |feed: &mut Feed| tokio::time::timeout(PATIENCE, feed.next()).await.unwrap().unwrap().news;
    while !matches!(next(&mut feed).await, News::Recent { .. }) {}

    files.put(&other.issue(&NAMES));
    tls.reload().unwrap();
    let _room = room.restart().await;
    let mut lost = Vec::new();
    while !lost.iter().any(|why: &String| why.contains("--ca FILE")) {
        match next(&mut feed).await {
            News::Lost { why, .. } => lost.push(why),
            News::Connecting => {}
            other => panic!("{other:?}"),
        }
    }
    files.put(&team.issue(&NAMES));
    tls.reload().unwrap();
    loop {
        match next(&mut feed).await {
            News::Live { resumed, .. } => break assert!(resumed, "nothing was missed"),
            News::Lost { .. } | News::Connecting => {}
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn https_and_http_that_miss_each_other_are_said() {
    let authority = Authority::new("team");
    let files = Files::new(&authority.issue(&NAMES), &authority.pem());
    let room = files.serve(&[]);
    let http = room.url().replacen("https", "http", 1);
    for args in
        [&["watch", PROJECT, "--once"][..], &["watch", PROJECT, "--plain"], &["watch", PROJECT, "--json"]]
    {
        let line = fault(at(files.0.path(), &http, &room.person).args(args), 2);
        assert!(line.contains("(400): This room speaks https: put https:// in place of http://"), "{line}");
    }

    let plain = tempfile::tempdir().unwrap();
    let served = super::common::child::Served::start(plain.path(), 0);
    let https = format!("https://127.0.0.1:{}", served.port);
    let ca = files.text("ca.pem");
    let line =
        fault(at(plain.path(), &https, &room.person).args(["watch", PROJECT, "--once", "--ca", &ca]), 2);
    assert!(line.contains("does not speak TLS; try http://"), "{line}");
    assert!(
        line.contains(&format!("start one with: prickle serve --addr 127.0.0.1:{} --tls-cert", served.port))
    );
}

#[test]
fn a_bad_ca_file_is_said_by_every_command() {
    let authority = Authority::new("team");
    let pair = authority.issue(&NAMES);
    let files = Files::new(&pair, &pair.key);
    let room = files.serve(&[]);
    let pulse = ["pulse", "--project", PROJECT, "--doing", "x"];
    for args in [&["watch", PROJECT, "--once"][..], &["watch", PROJECT, "--plain"], &pulse] {
        let line = fault(room.command(&room.agent, args).args(["--ca", "ca.pem"]), 2);
        assert!(
            line.contains("--ca: ") && line.contains("/ca.pem holds no certificate; it must be PEM"),
            "{line}"
        );
        let line = fault(room.command(&room.agent, args).env("PRICKLE_CA", "none.pem"), 2);
        assert!(line.contains("PRICKLE_CA: there is no file ") && line.contains("/none.pem; name"), "{line}");
    }
}

/// A server that answers every request over TLS with `answer`. Gives its address.
async fn scripted(pair: Pair, answer: String) -> std::net::SocketAddr {
    let chain = CertificateDer::pem_slice_iter(pair.cert.as_bytes()).collect::<Result<Vec<_>, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.unwrap().with_no_client_auth().with_single_cert(chain, key).unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let mut head = Vec::new();
            while !head.windows(4).any(|end| end == b"\r\n\r\n")
                && stream.read_buf(&mut head).await.unwrap() > 0
            {}
            stream.write_all(answer.as_bytes()).await.unwrap();
            let _ = stream.shutdown().await;
        }
    });
    address
}

#[tokio::test]
async fn a_key_crosses_no_redirect_of_an_encrypted_room() {
    let authority = Authority::new("team");
    // Nobody must come here, in the clear or not.
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    other.set_nonblocking(true).unwrap();
    let elsewhere = other.local_addr().unwrap();
    for target in [format!("http://{elsewhere}"), format!("https://{elsewhere}")] {
        let answer = format!(
            "HTTP/1.1 307 Temporary Redirect\r\nLocation: {target}/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        let address = scripted(authority.issue(&NAMES), answer).await;
        let server = format!("https://{address}").parse().unwrap();
        let access = Access { server, token: "prk_secret".parse().unwrap(), trust: authority.trust() };

        let error = Http::new(&access, PATIENCE).unwrap().me().await.unwrap_err();
        assert!(matches!(&error, CallError::Refused(why) if why.contains("sends elsewhere")), "{error:?}");
        let error = mcp::call(&access, "update_pulse", Map::new(), PATIENCE).await.unwrap_err();
        assert!(!error.to_string().contains("prk_"), "{error:?}");
        let source: Source = Arc::new(move || Ok(access.clone()));
        let mut feed = Feed::spawn(source, PROJECT.parse().unwrap(), Options::default());
        let why = loop {
            match tokio::time::timeout(PATIENCE, feed.next()).await.unwrap().unwrap().news {
                News::Refused { why } => break why,
                News::Connecting => {}
                other => panic!("{other:?}"),
            }
        };
        assert!(why.contains("sends elsewhere"), "{why}");
    }
    assert_eq!(other.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock, "somebody came");
}

#[tokio::test]
async fn what_breaks_off_in_the_handshake_is_a_loss() {
    let authority = Authority::new("team");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // One that hangs up on the first packet, and one that says something else altogether.
    std::thread::spawn(move || {
        for words in [&b""[..], b"220 mail.example ESMTP\r\n"] {
            let (mut stream, _): (TcpStream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 4096]);
            stream.write_all(words).unwrap();
        }
    });
    let server = format!("https://{address}").parse().unwrap();
    let access = Access { server, token: "prk_secret".parse().unwrap(), trust: authority.trust() };
    let quick = Options { backoff_first: Duration::from_millis(10), ..Options::default() };
    let mut feed = Feed::spawn(Arc::new(move || Ok(access.clone())), PROJECT.parse().unwrap(), quick);
    let mut lost = Vec::new();
    while lost.len() < 2 {
        match tokio::time::timeout(PATIENCE, feed.next()).await.unwrap().unwrap().news {
            News::Lost { why, .. } => lost.push(why),
            News::Connecting => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(lost, ["the connection broke off", "what answers there does not speak TLS; try http://"]);
}
