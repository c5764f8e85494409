//! Without a terminal, or with one that can't be drawn on: plain lines or one sentence, never an escape code.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::{PRICKLE, Stage};
use crate::pty::PATIENCE;

const FIRST: &str = "Watching website-v2";

#[track_caller]
fn assert_plain(text: &str) {
    let odd = text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\r'));
    assert_eq!(odd, None, "{text:?}");
}

/// Waits until the file holds `text`, and returns what it holds.
#[track_caller]
fn wait_for_file(path: &std::path::Path, text: &str) -> String {
    let until = Instant::now() + PATIENCE;
    loop {
        let found = fs::read_to_string(path).unwrap_or_default();
        if found.contains(text) {
            return found;
        }
        assert!(Instant::now() < until, "no {text:?} in {found:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn case_a40_into_a_file_and_a_pipe() {
    let (stage, claude) = Stage::with_claude();
    let file = stage.folder.path().join("out");
    let mut watch = stage.terminal(&["/bin/sh", "-c", "exec \"$0\" watch > out", PRICKLE], &[], 80, 24);
    wait_for_file(&file, FIRST);
    stage.says(&claude, json!({"doing": "Into \u{1b}]0;the\u{7} file"}));
    assert_plain(&wait_for_file(&file, "Into · file"));
    assert_eq!(watch.raw_text(), "", "nothing goes past the file");
    watch.send("\x03");
    assert_eq!(watch.wait_exit().exit_code(), 130);
    assert_plain(&fs::read_to_string(&file).unwrap());

    let mut watch = stage.terminal(&["/bin/sh", "-c", "\"$0\" watch | cat", PRICKLE], &[], 80, 24);
    watch.wait_for(FIRST);
    stage.says(&claude, json!({"doing": "Into the pipe"}));
    watch.wait_for("Into the pipe");
    assert_plain(&watch.raw_text());
}

#[test]
fn case_a40_without_a_keyboard() {
    let (stage, claude) = Stage::with_claude();
    let mut watch = stage.terminal(&["/bin/sh", "-c", "exec \"$0\" watch < /dev/null", PRICKLE], &[], 80, 24);
    watch.wait_for(FIRST);
    stage.says(&claude, json!({"doing": "To nobody's keyboard"}));
    watch.wait_for("To nobody's keyboard");
    assert_plain(&watch.raw_text());
    watch.send("\x03");
    assert_eq!(watch.wait_exit().exit_code(), 130);
}

/// As cron starts it: no terminal on any side, none behind them, and hardly an environment.
#[test]
fn case_a40_without_any_terminal() {
    let (stage, _) = Stage::with_claude();
    let keep = ["HOME", "PRICKLE_HOME", "PRICKLE_SERVER", "PRICKLE_TOKEN"];
    let environment = stage.environment();
    let bare: Vec<(&str, &str)> =
        environment.iter().map(|(n, v)| (n.as_str(), v.as_str())).filter(|(n, _)| keep.contains(n)).collect();
    let line = "exec \"$0\" watch website-v2 </dev/null >out 2>&1";
    let mut watch = Stage::uncontrolled(&["/bin/sh", "-c", line, PRICKLE], &bare);
    let file = stage.folder.path().join("out");
    assert_plain(&wait_for_file(&file, FIRST));
    kill_process(Pid::from_raw(i32::try_from(watch.id()).unwrap()).unwrap(), Signal::TERM).unwrap();
    assert_eq!(watch.wait_exit().exit_code(), 143);
    assert_plain(&fs::read_to_string(&file).unwrap());
    assert_eq!(watch.raw_text(), "");

    for arguments in [&["watch", "--once"][..], &["watch", "--once", "--json"]] {
        let out = stage.output(arguments);
        assert!(out.status.success(), "{out:?}");
        let text = String::from_utf8(out.stdout).unwrap();
        assert!(text.contains("Writing the hero copy"), "{text}");
        assert_plain(&text);
    }
}

#[test]
fn case_a40_a_terminal_that_cannot_be_drawn_on() {
    let (stage, _) = Stage::with_claude();
    for term in [&[("TERM", "dumb")][..], &[("TERM", "")]] {
        for command in ["watch", "demo"] {
            let mut watch = stage.terminal(&[PRICKLE, command], term, 80, 24);
            let ended = watch.wait_exit();
            assert_eq!(ended.exit_code(), 2, "{}", watch.text());
            let said = watch.raw_text();
            assert_plain(&said);
            assert_eq!(said.lines().count(), 1, "{said:?}");
            assert!(
                said.starts_with("prickle: ") && said.contains("TERM") && said.contains("--plain"),
                "{said:?}"
            );
        }
        // What it advises works there.
        let mut watch = stage.terminal(&[PRICKLE, "watch", "--plain"], term, 80, 24);
        watch.wait_for(FIRST);
        assert_plain(&watch.raw_text());
        watch.send("\x03");
        assert_eq!(watch.wait_exit().exit_code(), 130);
    }
}

/// Set but empty is not the same as not set, and no better.
#[test]
fn case_a40_an_empty_term() {
    let (stage, _) = Stage::with_claude();
    let line = "TERM= exec \"$0\" watch";
    let mut watch = stage.terminal(&["/bin/sh", "-c", line, PRICKLE], &[], 80, 24);
    assert_eq!(watch.wait_exit().exit_code(), 2, "{}", watch.text());
    assert_plain(&watch.raw_text());
}

#[test]
fn case_a40_a_reader_that_has_enough_ends_it_quietly() {
    let (stage, _) = Stage::with_claude();
    let mut child: Child = stage.run(&["watch"]);
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    assert!(line.contains(FIRST), "{line:?}");
    drop(out);
    let out = super::output(child);
    assert_eq!((out.status.code(), out.stderr.len()), (Some(0), 0), "{out:?}");
}

#[test]
fn case_a40_a_room_that_is_down_is_one_line() {
    let stage = Stage::open();
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let out = stage.output(&["watch", "--once", "--server", &format!("http://{nobody}")]);
    let said = String::from_utf8(out.stderr).unwrap();
    assert_eq!((out.status.code(), said.lines().count()), (Some(2), 1), "{said:?}");
    assert!(said.contains(&nobody.to_string()) && said.contains("connection refused"), "{said:?}");
    assert_plain(&said);
    assert_eq!(out.stdout, b"");
}
