//! `prickle serve` as a process: where it listens, what it logs, how it ends.

use std::io::Write;
use std::net::TcpStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;

use super::common::caller::Caller;
use super::common::child::{Served, prickle};
use super::common::room::make_key;
use super::common::until;
use super::door::read_status;

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
        ("127.0.0.1", vec!["127.0.0.1", "HOST:PORT"]),
        ("", vec!["--addr", "HOST:PORT"]),
        ("0.0.0.0:0", vec!["0.0.0.0", "TLS", "127.0.0.1"]),
        ("[::]:0", vec!["::", "TLS", "127.0.0.1"]),
    ] {
        refused(second.path(), &mut serve(second.path(), addr), &said);
    }
    // An address of another machine, and a family that nothing here listens with in the clear.
    for addr in ["192.0.2.1:0", "[2001:db8::1]:0"] {
        let mut command = serve(second.path(), addr);
        command.arg("--insecure");
        let text = stderr_of(second.path(), &mut command);
        let last = text.lines().last().unwrap();
        assert!(last.contains(addr) && last.contains("--addr"), "{text}");
        assert!(!text.contains("panicked") && !text.contains("RUST_BACKTRACE"), "{text}");
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
        // By a process of its own: a file that this one has open for writing, or a child that another test is
        // just starting, could not be run ("text file busy").
        let copied = std::process::Command::new("cp").arg(env!("CARGO_BIN_EXE_prickle")).arg(&copy).status();
        assert!(copied.unwrap().success());
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
    let text = stderr_of(folder, command);
    assert_eq!(text.lines().count(), 1, "{text}");
    for part in said {
        assert!(text.contains(part), "{part} in {text}");
    }
}

/// What it says on stderr, ending with exit code 2, nothing on stdout, and no database made.
fn stderr_of(folder: &std::path::Path, command: &mut std::process::Command) -> String {
    let out = command.output().unwrap();
    let text = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(2), "{text}");
    assert!(out.stdout.is_empty());
    assert!(!folder.join("room.db").exists(), "the database was touched");
    text
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

#[tokio::test]
async fn a_log_that_nobody_takes_costs_no_call_and_no_stop() {
    let folder = tempfile::tempdir().unwrap();
    let key = make_key(&folder.path().join("room.db"), "client", "acme/builder", &["website-v2"]);
    let mut child = serve(folder.path(), "127.0.0.1:0").stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut line)
        .unwrap();
    drop(child.stderr.take()); // as `prickle serve 2>&1 | head` does
    let room = Caller::new(line.trim_end().strip_prefix("listening on ").expect(&line));
    let pulse = room.pulse(&key, json!({"project": "website-v2", "doing": "x"})).await;
    assert_eq!(pulse["doing"], "x");
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    let mut code = None;
    until("the room has stopped", async || {
        code = child.try_wait().unwrap();
        code.is_some()
    })
    .await;
    assert_eq!(code.unwrap().code(), Some(0));
}

#[test]
fn a_token_that_nobody_got_opens_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut create = prickle(folder.path());
    create.args(["key", "create", "--kind", "person", "--owner", "acme", "--all"]).stdout(writer);
    let out = create.output().unwrap();
    let text = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(1), "{text}");
    assert!(text.contains("revoked"), "{text}");
    let listed = prickle(folder.path()).args(["key", "list", "--json"]).output().unwrap();
    let keys: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert!(keys[0]["revoked_at"].is_string(), "{keys}");
}

#[test]
fn a_damaged_database_is_named_and_left_alone_by_the_key_commands() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("room.db");
    make_key(&db, "client", "acme/builder", &["website-v2"]);
    let mut bytes = std::fs::read(&db).unwrap();
    bytes[4096..].fill(0x5a);
    std::fs::write(&db, &bytes).unwrap();
    for args in [vec!["list"], vec!["create", "--kind", "person", "--owner", "acme", "--all"]] {
        let out = prickle(folder.path()).arg("key").args(args).arg("--db").arg(&db).output().unwrap();
        let text = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(2), "{text}");
        for part in ["room.db", "damaged", "backup", "--db"] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert_eq!((text.lines().count(), text.matches("malformed").count()), (1, 1), "{text}");
        assert_eq!(std::fs::read(&db).unwrap(), bytes);
    }
}
