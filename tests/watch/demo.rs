//! `prickle demo`: complete from its first picture, gone without a trace.

use std::num::NonZeroU16;

use prickle::client::http::Http;
use prickle::demo::{Demo, cast, runs};
use prickle::wire::query::{By, RunQuery};

use super::{PRICKLE, Stage, assert_given_back, assert_modes_of_before};
use crate::pty::{PATIENCE, Terminal};

const CAST: [&str; 9] =
    ["builder", "planner", "reviewer", "docs", "fixer", "styler", "deployer", "tester", "watcher"];

/// The first picture of all, as the terminal showed it. Each ends by hiding the cursor.
fn first_picture(terminal: &Terminal) -> String {
    let (rows, columns): (NonZeroU16, NonZeroU16) = terminal.screen().size();
    let raw = terminal.raw_text();
    let mut parser = vt100::Parser::new(rows, columns, 0);
    for picture in raw.split_inclusive("\x1b[?25l") {
        parser.process(picture.as_bytes());
        if !parser.screen().contents().is_empty() {
            break;
        }
    }
    parser.screen().contents()
}

#[test]
fn the_demo_is_complete_in_its_first_picture_and_leaves_nothing_behind() {
    let stage = Stage::open(); // for its environment alone; the demo must not care for it
    let home = stage.folder.path().to_str().unwrap();
    for (columns, rows) in [(120, 40), (80, 24)] {
        let mut demo = stage.terminal(&[PRICKLE, "demo"], &[("TMPDIR", home)], columns, rows);
        demo.wait_for_all(&["Agents", "? help"]);
        let first = first_picture(&demo);
        for name in &CAST[..if rows == 40 { 9 } else { 5 }] {
            assert!(first.contains(name), "no {name} in the first picture:\n{first}");
        }
        for part in ["2 failed", "working", "live", "127.0.0.1:", "3 what each task used"] {
            assert!(first.contains(part), "no {part} in the first picture:\n{first}");
        }
        let address = first.split("127.0.0.1:").nth(1).unwrap();
        let port: String = address.chars().take_while(char::is_ascii_digit).collect();
        let address: std::net::SocketAddr = format!("127.0.0.1:{port}").parse().unwrap();
        std::net::TcpStream::connect(address).expect("the demo's room listens");

        demo.send("3");
        demo.wait_for_all(&["auth-cleanup", "favicon", "footer-copy"]);
        demo.send("q");
        let ended = demo.wait_exit();
        assert_eq!((ended.exit_code(), ended.signal()), (0, None));
        assert_given_back(&demo);
        assert_modes_of_before(&demo);
        let text = demo.text();
        assert!(text.contains("prickle watch") && text.contains("prickle connect"), "no farewell:\n{text}");
        assert!(std::net::TcpStream::connect(address).is_err(), "the demo's room still listens");
        let left: Vec<_> = std::fs::read_dir(stage.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.starts_with("prickle-demo"))
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

#[test]
fn the_demo_without_a_terminal_is_text() {
    let stage = Stage::open();
    let out = stage.output(&["demo", "--frames", "1"]);
    assert!(out.status.success(), "{out:?}");
    assert_eq!(String::from_utf8(out.stderr).unwrap(), "");
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(!text.contains('\x1b') && text.contains("website-v2"), "{text}");
    assert_eq!(text.lines().count(), 30);
    for name in CAST {
        assert!(text.contains(name), "no {name} in\n{text}");
    }
}

/// Two launches of the demo are two stories, and so are two rounds of one: no run is reported twice.
#[tokio::test]
async fn each_run_of_the_demo_s_cast_is_one_of_its_own() {
    let demo = Demo::open(chrono::TimeDelta::zero()).await.unwrap();
    let run = cast::story().into_iter().find(|call| call.tool == "report_run").expect("the story has a run");
    assert!(run.tells.is_some(), "the panel tells of it before it comes");
    demo.say(&run).await.unwrap();
    demo.say(&run).await.unwrap();
    let access = (demo.source())().unwrap();
    let room = Http::new(&access, PATIENCE).unwrap();
    let all = room.run_summary(By::Task, "UTC", &RunQuery::default()).await.unwrap();
    let earlier = i64::try_from(runs::earlier().len()).unwrap();
    assert_eq!(all.total.runs, earlier + 2);
    assert!((8..=10).contains(&all.groups), "{all:?}");
    // What a table of them must tell apart: all is known, some of it, no tokens, nothing at all; and a counted nothing.
    let of = |task: &str| all.rows.iter().find(|row| row.task_id.as_deref() == Some(task)).unwrap().totals;
    let known =
        |task| (of(task).runs, of(task).tokens.known, of(task).duration_ms.known, of(task).failed.known);
    assert_eq!(known("auth-cleanup"), (5, 5, 5, 5));
    assert_eq!(known("footer-copy"), (5, 4, 4, 4));
    assert_eq!(known("link-check"), (3, 0, 3, 3));
    assert_eq!(known("image-sizes"), (1, 0, 0, 0));
    assert_eq!((of("favicon").output_tokens.sum, of("auth-cleanup").failed.sum), (Some(0), Some(2)));
    demo.end().await.unwrap();
}
