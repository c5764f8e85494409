//! The table on real terminals: narrow ones, and those that know no more than ASCII.

use super::common::caller::{run_report, with};
use super::common::room::Room;
use super::{Desk, pty, room};
use serde_json::json;

/// `prickle runs` in a terminal; its rows, and that it ended well.
fn rows(desk: &Desk, args: &[&str], locale: &str, columns: u16) -> Vec<String> {
    let home = desk.home.path().to_str().unwrap();
    let env = [
        ("HOME", home),
        ("PRICKLE_HOME", home),
        ("LC_ALL", locale),
        ("TZ", "UTC"),
        ("PRICKLE_SERVER", &desk.server),
        ("PRICKLE_TOKEN", &desk.token),
    ];
    let argv = [&[env!("CARGO_BIN_EXE_prickle"), "runs"], args].concat();
    let mut terminal = pty::Terminal::start(&argv, &env, columns, 40);
    assert!(terminal.wait_exit().success(), "{}", terminal.text());
    terminal.rows()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_that_knows_no_utf_8_gets_ascii_and_a_pipe_does_not() {
    let (_room, desk) = room().await;
    for args in [&[][..], &["--by", "run"], &["--by", "day"]] {
        let text = rows(&desk, args, "C", 80).join("\n");
        assert!(text.is_ascii() && text.contains(">= 2.14G") && text.contains(">= some of it"), "{text}");
        assert_eq!(text.contains("- nothing is known"), text.contains(" - "), "a hyphen is no sign: {text}");
        let text = rows(&desk, args, "C.UTF-8", 80).join("\n");
        assert!(text.contains("≥ 2.14G") && !text.contains(">="), "{text}");
    }
    let piped = desk.command(&[]).env("LC_ALL", "C").output().unwrap();
    assert!(String::from_utf8(piped.stdout).unwrap().contains("≥ 2.14G"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_narrow_terminal_breaks_no_word_and_no_row() {
    let (room, desk) = room().await;
    let agent = room.key("client", "acme/other", &["docs"]);
    let report =
        json!({"project": "docs", "task_id": "the-manual-of-everything-there-is", "input_tokens": null});
    room.run(&agent, with(&run_report("5f7c2a9e-3b1d-4c8e-9a6f-0d2e5b7c1a00"), report)).await;
    for columns in [30, 38, 60] {
        let rows = rows(&desk, &[], "C.UTF-8", columns);
        let title: Vec<&str> = rows.iter().map(String::as_str).take_while(|row| !row.is_empty()).collect();
        assert_eq!(title.join(" "), "Runs of acme by task, last 7 days (--since), newest first");
        let head = rows.iter().position(|row| row.starts_with("TASK")).unwrap();
        assert!(rows[head].ends_with("KNOWN"), "{columns}: {rows:#?}");
        assert!(
            rows[head + 3].starts_with("2 ta") && rows[head + 3].ends_with(" of 5"),
            "{columns}: {rows:#?}"
        );
        assert_eq!(rows[head + 4], "", "{columns}: {rows:#?}");
    }
    let said = rows(&desk, &["--task", "nope"], "C.UTF-8", 30);
    assert!(said[0].starts_with("no record of a run of acme's"), "{said:?}");
    assert!(said.iter().all(|row| !row.starts_with(' ')), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_that_the_key_does_not_see_is_told_with_those_that_it_sees() {
    let room = Room::open().await;
    room.key("client", "lumen/fixer", &["secret"]);
    let desk = Desk::new(&room.url, &room.key("person", "acme", &["docs", "website-v2"]));
    for project in ["nope", "secret"] {
        for form in [&[][..], &["--by", "run", "--json"], &["--by", "run", "--csv"], &["--by", "run"]] {
            let ran = desk.run(&[&["--project", project], form].concat());
            assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{ran:?}");
            assert!(ran.err.contains(&format!("this key sees no {project}")), "{}", ran.err);
            assert!(ran.err.contains("it sees docs, website-v2"), "{}", ran.err);
        }
    }
}
