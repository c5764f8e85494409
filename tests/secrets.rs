//! A key is nowhere to be read but where its owner put it: not in the process list, not in what a program says, not
//! in a room's log, wherever someone sends it.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

use common::PATIENCE;
use common::child::{How, Served, prickle};
use common::room::make_key;
use common::until;
use serde_json::json;

/// What must not be seen: the part of a key that is random. Also not half of it.
fn secrets(tokens: &[&str]) -> Vec<String> {
    tokens.iter().flat_map(|token| [token[4..24].to_owned(), token[24..].to_owned()]).collect()
}

#[track_caller]
fn shows_none(what: &str, text: &str, secrets: &[String]) {
    for secret in secrets {
        assert!(!text.contains(secret.as_str()), "{what} shows a key: {text}");
    }
}

/// A program that runs on, and the lines of its stdout.
struct Running {
    child: Child,
    lines: mpsc::Receiver<String>,
}

impl Running {
    fn start(command: &mut Command, errors: &Path) -> Self {
        let errors = fs::File::create(errors).unwrap();
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors).spawn().unwrap();
        let out = child.stdout.take().unwrap();
        let (said, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                let _ = said.send(line);
            }
        });
        Self { child, lines }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn case_c33_no_way_to_give_a_key_shows_it() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    let db = home.join("room.db");
    let agent = make_key(&db, "client", "acme/builder", &["website-v2"]);
    let person = make_key(&db, "person", "acme", &["website-v2"]);
    let how = How { by: vec!["env", "PRICKLE_LOG=trace"], ..How::default() };
    let served = Served::start_how(home, how);
    let url = format!("http://127.0.0.1:{}", served.port);
    let unknown = format!("prk_{}", "Zz0-_".repeat(9))[..47].to_owned();
    let mut hidden = secrets(&[&agent, &person, &unknown]);

    // The third documented way: kept by the program that makes it.
    let save = prickle(home)
        .args(["key", "create", "--kind", "person", "--owner", "acme", "--project", "website-v2", "--save"])
        .args(["--server", &url, "--db"])
        .arg(&db)
        .output()
        .unwrap();
    assert!(save.status.success(), "{}", String::from_utf8_lossy(&save.stderr));
    let kept = fs::read_to_string(home.join("prickle/credentials.toml")).unwrap();
    let kept = kept[kept.find("prk_").expect("it is kept")..][..47].to_owned();
    hidden.extend(secrets(&[&kept]));
    shows_none(
        "key create --save",
        &String::from_utf8([save.stdout, save.stderr].concat()).unwrap(),
        &hidden,
    );

    let file = home.join("token");
    fs::write(&file, &person).unwrap();
    fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let watch = |more: &[&str]| {
        let mut command = prickle(home);
        command.args(["watch", "website-v2", "--plain", "--server", &url]).args(more);
        command
    };
    let running = [
        Running::start(watch(&[]).env("PRICKLE_TOKEN", &person), &home.join("by-env")),
        Running::start(&mut watch(&["--token-file", file.to_str().unwrap()]), &home.join("by-file")),
        Running::start(&mut watch(&[]), &home.join("by-saved")),
    ];
    let mut first = Vec::new();
    for program in &running {
        first.push(program.lines.recv_timeout(PATIENCE).expect("it watches"));
    }
    let ids: Vec<u32> = running.iter().map(|program| program.child.id()).chain([served.id()]).collect();
    for id in ids {
        let line = fs::read(format!("/proc/{id}/cmdline")).unwrap();
        let line = String::from_utf8_lossy(&line).into_owned();
        assert!(line.contains("prickle"), "{line}");
        shows_none("the process list", &line, &hidden);
    }
    let listed = Command::new("ps").args(["-ef", "ww"]).output().unwrap();
    shows_none("ps", &String::from_utf8_lossy(&listed.stdout), &hidden);

    // What comes and goes: what works, and what does not.
    let say = |token: &str, more: &[&str]| {
        let mut command = prickle(home);
        command.args(["pulse", "--project", "website-v2", "--doing", "x", "--server", &url]).args(more);
        command.env("PRICKLE_TOKEN", token).output().unwrap()
    };
    let mut outputs = vec![
        ("a pulse", say(&agent, &[])),
        ("a pulse with a person's key", say(&person, &[])),
        ("a pulse with an unknown key", say(&unknown, &[])),
        ("a pulse with a cut key", say(&unknown[..40], &[])),
        ("a pulse with a key that is none", say(&unknown.replace("prk_", "sk-"), &[])),
        ("a pulse with a key and a newline in it", say(&format!("{agent}\n{agent}"), &[])),
        ("a pulse to another room", say(&agent, &["--project", "nowhere"])),
    ];
    // Put where it does not belong: as an argument, a room, a flag that there is not, a file's name.
    let args: [&[&str]; 8] = [
        &["watch", &agent],
        &["watch", "--once", "--project", &agent],
        &["watch", "--token", &agent],
        &["watch", &format!("--token={agent}")],
        &["watch", "website-v2", "--once", "--token-file", &agent],
        &["pulse", "--project", &agent, "--doing", "x"],
        &["key", "revoke", &agent],
        &["--server", &agent, "watch", "website-v2", "--once"],
    ];
    for args in args {
        outputs.push(("a misplaced key", prickle(home).args(args).output().unwrap()));
    }
    for (what, out) in outputs {
        let text = String::from_utf8_lossy(&[out.stdout, out.stderr].concat()).into_owned();
        assert!(!text.is_empty(), "{what} says nothing");
        shows_none(what, &text, &hidden);
    }
    for program in running {
        first.extend(program.lines.try_iter());
    }
    first.extend(["by-env", "by-file", "by-saved"].map(|name| fs::read_to_string(home.join(name)).unwrap()));
    shows_none("a watch", &first.join("\n"), &hidden);
    let log = fs::read_to_string(&served.log).unwrap();
    assert!(log.contains("TRACE") || log.contains("DEBUG"), "the log says all it can: {log}");
    shows_none("the log", &log, &hidden);
}

/// Sends bytes as they are; gives the first line of the answer, if there is one.
fn raw(port: u16, bytes: &[u8]) -> String {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let _ = socket.write_all(bytes); // a room that has heard enough may close before the end
    let mut line = String::new();
    let _ = BufReader::new(socket).read_line(&mut line);
    line.trim_end().to_owned()
}

#[tokio::test]
async fn a_key_sent_to_any_odd_place_is_not_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let key = make_key(&folder.path().join("room.db"), "client", "acme/builder", &["website-v2"]);
    // As it runs, and when it says all it can.
    for level in ["info", "trace"] {
        let filter = format!("PRICKLE_LOG={level}");
        let served = Served::start_how(folder.path(), How { by: vec!["env", &filter], ..How::default() });
        let room = served.caller();
        let hidden = secrets(&[&key]);
        let close = "Host: localhost\r\nConnection: close\r\n";
        let encoded: String = key.bytes().map(|b| format!("%{b:02X}")).collect();
        let heads = [
            format!("GET /{key} HTTP/1.1\r\n{close}\r\n"),
            format!("GET /v1/projects/{key}/pulse HTTP/1.1\r\nAuthorization: Bearer {key}\r\n{close}\r\n"),
            format!("GET /v1/me?token={key}&key={key} HTTP/1.1\r\n{close}\r\n"),
            format!("GET /v1/runs?cursor={key} HTTP/1.1\r\nAuthorization: Bearer {key}\r\n{close}\r\n"),
            format!("GET /v1/me#{key} HTTP/1.1\r\n{close}\r\n"),
            format!("GET /x%70{} HTTP/1.1\r\n{close}\r\n", &key[1..]),
            format!("GET /prk%5F{} HTTP/1.1\r\n{close}\r\n", &key[4..]),
            format!("GET /{encoded} HTTP/1.1\r\n{close}\r\n"),
            format!("GET /{}{key} HTTP/1.1\r\n{close}\r\n", "x".repeat(180)),
            format!("GET http://user:{key}@localhost/v1/me HTTP/1.1\r\n{close}\r\n"),
            format!("GET http://{key}.example/v1/me HTTP/1.1\r\n{close}\r\n"),
            format!("{key} /v1/me HTTP/1.1\r\n{close}\r\n"),
            format!("GET /v1/me HTTP/1.1\r\nHost: {key}\r\nConnection: close\r\n\r\n"),
            format!("GET /v1/me HTTP/1.1\r\nOrigin: https://{key}\r\n{close}\r\n"),
            format!("GET /v1/me HTTP/1.1\r\nAuthorization: Basic {key}\r\n{close}\r\n"),
            format!("GET /v1/me HTTP/1.1\r\nAuthorization: Bearer {key}{key}\r\n{close}\r\n"),
            format!("GET /v1/me HTTP/1.1\r\nAuthorization: Bearer \u{e9}{key}\r\n{close}\r\n"),
            format!(
                "GET /v1/me HTTP/1.1\r\nUser-Agent: {key}\r\nCookie: a={key}\r\nX-{key}: {key}\r\n{close}\r\n"
            ),
            format!(
                "GET /v1/projects/website-v2/feed?after={key}.1 HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\n\
                 Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\
                 Sec-WebSocket-Protocol: {key}\r\nSec-WebSocket-Extensions: {key}\r\n\r\n"
            ),
            format!("POST /mcp HTTP/1.1\r\nMCP-Protocol-Version: {key}\r\nContent-Length: 0\r\n{close}\r\n"),
            format!("GET {key} HTTP/1.1\r\n{close}\r\n"),
            format!("{key}\r\n\r\n"),
            format!("GET /v1/me HTTP/{key}\r\n\r\n"),
        ];
        let heads_sent = heads.len();
        for head in heads {
            let port = served.port;
            let sent = head.clone();
            let status = tokio::task::spawn_blocking(move || raw(port, sent.as_bytes())).await.unwrap();
            assert!(status.is_empty() || status.starts_with("HTTP/1.1 4"), "{status} for {head}");
            shows_none("an answer", &status, &hidden);
        }
        // Inside of calls.
        for arguments in [
            json!({"project": key, "doing": ""}),
            json!({"project": "website-v2", "doing": 1, key.as_str(): key}),
            json!({"project": "website-v2", "doing": "", "task_id": key.replace("prk_", "prk ")}),
        ] {
            let _ = room.call(&key, "update_pulse", arguments).await;
        }
        let _ = room.call(&key, &key, json!({})).await;
        let _ = room.rpc(&key, &key, json!({key.as_str(): key})).await;
        let http2 = reqwest::Client::builder().no_proxy().http2_prior_knowledge().build().unwrap();
        let told = http2.get(format!("{}/{key}?{key}", room.url)).header("x-key", &key).bearer_auth(&key);
        assert_eq!(told.send().await.unwrap().status(), 404);

        room.get("", "/healthz").await;
        let mut log = String::new();
        until("the last request is in the log", async || {
            log = fs::read_to_string(&served.log).unwrap();
            log.contains("path=/healthz status=200")
        })
        .await;
        shows_none(&format!("the log at {level}"), &log, &hidden);
        // One line a request: no fewer for those that got as far, and none forged.
        let requests = log.lines().filter(|line| line.contains(" request method=")).count();
        assert!(requests >= heads_sent - 8 && requests == log.matches("method=").count(), "{log}");
        drop(served);
        fs::remove_file(folder.path().join("serve.log")).unwrap();
    }
}
