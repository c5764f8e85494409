//! `prickle runs`: the table on paper, and the real binary against real rooms and against rooms that misbehave.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;
#[path = "common/fake_room.rs"]
mod fake_room;
#[path = "ledger_cli/long.rs"]
mod long;
#[path = "common/pty.rs"]
mod pty;
#[path = "ledger_cli/table.rs"]
mod table;
#[path = "ledger_cli/terminal.rs"]
mod terminal;

use std::process::Command;

use chrono::TimeDelta;
use common::caller::{run_report, with};
use common::child::prickle;
use common::ran::Ran;
use common::room::{Room, Shape};
use prickle::wire::Time;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A home, and a key to a room.
struct Desk {
    home: TempDir,
    server: String,
    token: String,
}

impl Desk {
    fn new(server: &str, token: &str) -> Self {
        Self { home: tempfile::tempdir().unwrap(), server: server.to_owned(), token: token.to_owned() }
    }

    /// `prickle runs` with these arguments.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = prickle(self.home.path());
        command.current_dir(self.home.path()).stdin(std::process::Stdio::null());
        command.env("PRICKLE_SERVER", &self.server).env("PRICKLE_TOKEN", &self.token).env("TZ", "UTC");
        command.arg("runs").args(args);
        command
    }

    fn run(&self, args: &[&str]) -> Ran {
        Ran::of(self.command(args).output().unwrap())
    }

    fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.run(&[args, &["--json"]].concat()).fine()).unwrap()
    }
}

/// A room with the records of the project's own examples: one known, one of which nothing is known, true zeros, and the
/// largest numbers.
async fn room() -> (Room, Desk) {
    let room = Room::open().await;
    let agent = room.key("client", "acme/claude", &["website-v2"]);
    let numbers = [
        (json!(1200), json!(340), json!(null), json!(0)),
        (json!(null), json!(null), json!(null), json!(143)),
        (json!(0), json!(0), json!(3), json!(1)),
        (json!(2_147_483_647), json!(5), json!(1), json!(0)),
    ];
    for (at, (input, output, turns, exit)) in numbers.into_iter().enumerate() {
        let report = with(
            &run_report(&format!("4f7c2a9e-3b1d-4c8e-9a6f-0d2e5b7c1a{at:02}")),
            json!({"input_tokens": input, "output_tokens": output, "turns": turns, "exit_code": exit}),
        );
        room.run(&agent, report).await;
    }
    let desk = Desk::new(&room.url, &room.key("person", "acme", &[]));
    (room, desk)
}

/// The cells of a sheet, by its names.
fn sheet(text: &str) -> Vec<Vec<(String, String)>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let names = reader.headers().unwrap().clone();
    reader
        .records()
        .map(|line| names.iter().map(str::to_owned).zip(line.unwrap().iter().map(str::to_owned)).collect())
        .collect()
}

fn cell<'a>(line: &'a [(String, String)], name: &str) -> &'a str {
    &line.iter().find(|(other, _)| other == name).unwrap_or_else(|| panic!("no {name}: {line:?}")).1
}

#[tokio::test(flavor = "multi_thread")]
async fn case_d08_what_is_not_known_is_told_from_zero_in_every_form() {
    let (_room, desk) = room().await;
    let rows = &desk.json(&["--by", "run", "--sort", "input_tokens", "--reverse"])["rows"];
    let read: Vec<&Value> = rows.as_array().unwrap().iter().map(|row| &row["input_tokens"]).collect();
    assert_eq!(read, [&json!(0), &json!(1200), &json!(2_147_483_647), &json!(null)], "unknown last");
    let rows = &desk.json(&["--by", "run", "--sort", "input_tokens"])["rows"];
    assert_eq!(rows[3]["input_tokens"], json!(null), "both ways: {rows}");

    let csv = desk.run(&["--by", "run", "--csv"]).fine();
    let mut read: Vec<String> =
        sheet(&csv).iter().map(|line| cell(line, "input_tokens").to_owned()).collect();
    read.sort();
    assert_eq!(read, ["", "0", "1200", "2147483647"]);

    let table = desk.run(&["--by", "run", "--sort", "input_tokens", "--reverse"]).fine();
    let cells: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    let at = |row: usize| cells[row].iter().rev().nth(5).copied();
    assert_eq!(cells[0][4..6], ["IN", "OUT"], "{table}");
    assert_eq!([at(1), at(2), at(4)], [Some("0"), Some("1.2k"), Some("—")], "{table}");
}

#[tokio::test(flavor = "multi_thread")]
async fn case_d10_sums_with_unknown_members_say_so() {
    let (_room, desk) = room().await;
    let answer = desk.json(&[]);
    assert_eq!(answer["by"], "task");
    let row = &answer["rows"][0];
    for (name, sum, known) in [
        ("failed", json!(2), 4),
        ("input_tokens", json!(2_147_484_847_i64), 3),
        ("output_tokens", json!(345), 3),
        ("turns", json!(4), 2),
        ("duration_ms", json!(364_000), 4),
        ("failed_tokens", json!(0), 1),
    ] {
        assert_eq!(row[name], json!({"sum": sum, "known": known}), "{name}");
    }
    let names: Vec<&str> = row.as_object().unwrap().keys().map(String::as_str).collect();
    let listed = [
        "project",
        "task_id",
        "runs",
        "failed",
        "input_tokens",
        "output_tokens",
        "turns",
        "duration_ms",
        "failed_tokens",
        "first_reported_at",
        "last_reported_at",
    ];
    let order: Vec<&str> = names.iter().copied().filter(|name| listed.contains(name)).collect();
    assert_eq!(order, listed);

    let csv = desk.run(&["--csv"]).fine();
    let line = &sheet(&csv)[0];
    assert_eq!((cell(line, "turns_sum"), cell(line, "turns_known"), cell(line, "runs")), ("4", "2", "4"));
    let table = desk.run(&[]).fine();
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 2, "header and row, and nothing else: {table}");
    assert!(
        lines[1].contains("t-1") && lines[1].contains("≥ 2.14G") && lines[1].contains("≥ 345"),
        "{table}"
    );
    assert!(lines[1].ends_with("3 of 4"), "{table}");
}

#[tokio::test(flavor = "multi_thread")]
async fn case_d14_the_largest_numbers_add_up() {
    let room = Room::open().await;
    let agent = room.key("client", "acme/claude", &["website-v2"]);
    let most = json!(2_147_483_647);
    for at in 0..3 {
        let numbers =
            json!({"input_tokens": most, "output_tokens": most, "turns": most, "duration_ms": most});
        room.run(&agent, with(&run_report(&format!("4f7c2a9e-3b1d-4c8e-9a6f-0d2e5b7c1a{at:02}")), numbers))
            .await;
    }
    let desk = Desk::new(&room.url, &room.key("person", "acme", &[]));
    let row = &desk.json(&[])["rows"][0];
    assert_eq!(row["input_tokens"], json!({"sum": 6_442_450_941_i64, "known": 3}));
    let table = desk.run(&[]).fine();
    for said in ["6.44G", "6,442,450,941", "74d 13h"] {
        assert!(table.contains(said), "{said}: {table}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn case_d15_days_are_those_of_the_reader() {
    let shape = Shape::default();
    let clock = shape.store.clock.clone();
    let room = Room::with(shape).await;
    let agent = room.key("client", "acme/claude", &["website-v2"]);
    let evening: Time = "2026-01-25T04:08:00Z".parse().unwrap();
    clock.set_offset(evening - chrono::Utc::now() + TimeDelta::seconds(1));
    room.run(&agent, run_report("4f7c2a9e-3b1d-4c8e-9a6f-0d2e5b7c1a3f")).await;
    clock.set_offset(TimeDelta::zero());

    let desk = Desk::new(&room.url, &room.key("person", "acme", &[]));
    let there = |args: &[&str]| {
        let mut command = desk.command(&[&["--by", "day", "--since", "all"], args].concat());
        Ran::of(command.env("TZ", "America/Los_Angeles").output().unwrap()).fine()
    };
    let json: Value = serde_json::from_str(&there(&["--json"])).unwrap();
    assert_eq!((&json["tz"], &json["rows"][0]["day"]), (&json!("America/Los_Angeles"), &json!("2026-01-24")));
    assert!(there(&["--csv"]).contains("\r\n2026-01-24,1,"), "{}", there(&["--csv"]));
    assert!(there(&[]).lines().nth(1).unwrap().contains("24 Jan"), "{}", there(&[]));
    let utc: Value = serde_json::from_str(&there(&["--json", "--utc"])).unwrap();
    assert_eq!((&utc["tz"], &utc["rows"][0]["day"]), (&json!("UTC"), &json!("2026-01-25")));
    // The same cut for a period.
    let within = |day: &str, utc: &[&str]| {
        let args = [&["--by", "run", "--since", day, "--until", day, "--json"], utc].concat();
        let ran = desk.command(&args).env("TZ", "America/Los_Angeles").output().unwrap();
        let json: Value = serde_json::from_str(&Ran::of(ran).fine()).unwrap();
        json["rows"].as_array().unwrap().len()
    };
    assert_eq!([within("2026-01-24", &[]), within("2026-01-25", &[])], [1, 0]);
    assert_eq!([within("2026-01-24", &["--utc"]), within("2026-01-25", &["--utc"])], [0, 1]);

    // On a terminal the zone in force is named.
    let home = desk.home.path().to_str().unwrap();
    let env = [
        ("HOME", home),
        ("PRICKLE_HOME", home),
        ("LANG", "C.UTF-8"),
        ("TERM", "xterm-256color"),
        ("TZ", "America/Los_Angeles"),
        ("PRICKLE_SERVER", &desk.server),
        ("PRICKLE_TOKEN", &desk.token),
    ];
    for (utc, zone, day) in [(&[][..], "America/Los_Angeles", "24 Jan"), (&["--utc"], "UTC", "25 Jan")] {
        let argv = [&[env!("CARGO_BIN_EXE_prickle"), "runs", "--by", "day", "--since", "all"], utc].concat();
        let mut terminal = pty::Terminal::start(&argv, &env, 80, 24);
        assert!(terminal.wait_exit().success());
        let title = format!("Runs of acme by day in {zone}, all that there are, newest first");
        let rows = terminal.rows();
        assert_eq!(rows[0], title);
        assert!(rows[3].contains(day) && rows[4].starts_with("1 day "), "{rows:?}");
        assert!(!terminal.raw().contains(&0x1b), "no escape code: {}", terminal.raw_text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_but_the_owner_reads_a_record() {
    let (room, desk) = room().await;
    let forms = [&["--json"][..], &["--csv"], &[]];
    let all = |token: &str| -> Vec<Ran> {
        let desk = Desk::new(&desk.server, token);
        let by = ["run", "task", "agent", "project", "day"];
        let runs = by.iter().flat_map(|by| forms.iter().map(move |form| (by, form)));
        runs.map(|(by, form)| desk.run(&[&["--since", "all", "--by", by], *form].concat())).collect()
    };
    for (kind, who) in [
        ("client", "acme/claude"),
        ("execution", "acme/claude"),
        ("runner-device", "acme/claude"),
        ("client", "lumen/docs"),
    ] {
        for ran in all(&room.key(kind, who, &["website-v2"])) {
            let said = ran.fault(2);
            let owner = who.split('/').next().unwrap();
            assert!(said.contains(who) && said.contains(&format!("Only {owner} can read them")), "{said}");
            assert!(
                said.ends_with(&format!("prickle key create --kind person --owner {owner} --all")),
                "{said}"
            );
        }
    }
    for ran in all(&format!("prk_{}", "A".repeat(43))) {
        assert!(ran.fault(2).contains("does not know the key"));
    }
    let nobody = prickle(desk.home.path()).env("PRICKLE_SERVER", &desk.server).arg("runs").output().unwrap();
    assert!(Ran::of(nobody).fault(2).contains("there is no key for"));
    // Another owner has none of their own, and does not come to those by any filter.
    for ran in all(&room.key("person", "lumen", &[])) {
        assert!(
            !ran.out.contains("claude") && !ran.out.contains("4f7c2a9e") && !ran.out.contains("t-1"),
            "{ran:?}"
        );
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    let lumen = Desk::new(&desk.server, &room.key("person", "lumen", &[]));
    let refused = lumen.run(&["--agent", "acme/claude", "--json"]).fault(1);
    assert_eq!(refused, "only acme can read what acme/claude came to, and this key is lumen's");
    for filter in [["--task", "t-1"], ["--project", "website-v2"], ["--agent", "claude"]] {
        let ran = lumen.run(&[&filter[..], &["--by", "run", "--json"]].concat());
        assert!(!ran.out.contains("4f7c2a9e"), "{ran:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_orders_and_limits_are_the_rooms() {
    let (room, desk) = room().await;
    let other = room.key("client", "acme/other", &["docs"]);
    let report = json!({"project": "docs", "task_id": "-x"});
    room.run(&other, with(&run_report("b83d1c40-6a0f-4b7e-9d55-0f1be2c8a7d4"), report)).await;
    let count = |args: &[&str]| desk.json(args)["rows"].as_array().unwrap().len();
    assert_eq!(count(&["--by", "run"]), 5);
    for (args, records) in [
        (&["--project", "docs"][..], 1),
        (&["--task", "t-1"], 4),
        (&["--task", "-x"], 1),
        (&["--agent", "acme/other"], 1),
        (&["--agent", "other"], 1),
        (&["--agent", "nobody"], 0),
        (&["--limit", "2"], 2),
        (&["--until", "yesterday"], 0),
        (&["--since", "1h"], 5),
        (&["--since", "all", "--until", "today"], 5),
    ] {
        let said = desk.json(&[&["--by", "run"], args].concat());
        assert_eq!(said["rows"].as_array().unwrap().len(), records, "{args:?}");
        assert_eq!(said["by"], "run");
    }
    assert_eq!([count(&["--by", "agent"]), count(&["--by", "project"]), count(&["--by", "day"])], [2, 2, 1]);
    let tasks = |args: &[&str]| -> Vec<String> {
        let rows = desk.json(args)["rows"].clone();
        rows.as_array().unwrap().iter().map(|row| row["task_id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(tasks(&[]), ["-x", "t-1"], "newest first");
    assert_eq!(tasks(&["--sort", "runs"]), ["t-1", "-x"]);
    assert_eq!(tasks(&["--sort", "runs", "--reverse"]), ["-x", "t-1"]);
    assert_eq!(tasks(&["--sort", "name", "--limit", "1"]), ["-x"]);
    // What a spreadsheet would work out is a text.
    assert!(desk.run(&["--csv"]).fine().contains("\r\ndocs,'-x,"));
    // Tasks of two projects name theirs.
    let table = desk.run(&[]).fine();
    assert!(table.contains("docs/-x ") && table.contains("website-v2/t-1 "), "{table}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_record_the_next_step_is_named() {
    let room = Room::open().await;
    let desk = Desk::new(&room.url, &room.key("person", "acme", &["website-v2"]));
    for by in ["run", "task", "agent", "project", "day"] {
        let ran = desk.run(&["--by", by]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""), "{ran:?}");
        let said = "prickle: no record of a run of acme's agents (last 7 days); --since all looks at all there are\n";
        assert_eq!(ran.err, said);
        let json = desk.json(&["--by", by]);
        assert_eq!((&json["by"], &json["rows"]), (&json!(by), &json!([])));
        assert_eq!(desk.run(&["--by", by, "--csv"]).fine().lines().count(), 1, "the names");
    }
    assert_eq!(desk.run(&["--json"]).line(), r#"{"by":"task","rows":[]}"#);
    assert!(desk.run(&["--since", "all"]).err.ends_with("(report_run)\n"));
    let filtered = desk.run(&["--since", "all", "--task", "t-1"]).err;
    assert!(filtered.contains("with --task t-1 (all that there are); leave the filters out"), "{filtered}");
}

#[test]
fn a_wrong_value_is_told_what_is_allowed() {
    let desk = Desk::new("http://127.0.0.1:9", &format!("prk_{}", "A".repeat(43)));
    for (args, allowed) in [
        (&["--by", "owner"][..], "run, task, agent, project or day"),
        (&["--since", "soon"], "7d, 2w or 12h"),
        (&["--until", "2026-13-01"], "a day like 2026-11-01"),
        (&["--limit", "0"], "from 1 to 4294967295"),
        (&["--limit", "-3"], "from 1 to 4294967295"),
        (&["--task", "a b"], "letters, digits, '_' or '-'"),
        (&["--agent", "a/b/c"], "OWNER/NAME, or the NAME"),
        (&["--project", "A B"], "--project"),
        (&["--sort", "price"], "must be one of reported_at, name, runs, failed, input_tokens"),
        (&["--by", "run", "--sort", "runs"], "must be one of reported_at, input_tokens"),
        (&["--sort=-runs"], "must be one of reported_at, name"),
        (&["--since", "2026-11-02", "--until", "2026-11-01"], "--until must be later than --since"),
        (&["--until", "2020-01-01"], "--since, which is 7d if left out"),
        (&["--json", "--csv"], "cannot be used with"),
    ] {
        let ran = desk.run(args);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{args:?}: {ran:?}");
        assert!(ran.err.contains(allowed), "{args:?}: {}", ran.err);
    }
    let help = desk.run(&["--help"]).fine();
    for said in ["Examples:", "Exit codes: 0 fine", "--utc"] {
        assert!(help.contains(said), "{help}");
    }
}
