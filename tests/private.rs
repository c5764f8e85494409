//! What a run used is its owner's alone: by HTTP, on the feed, in every command and on the screen nobody else sees of
//! a record so much as its task's name, whatever key they have.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod common;
#[path = "common/pty.rs"]
mod pty;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Instant;

use common::PATIENCE;
use common::child::prickle;
use common::room::Room;
use prickle::rules::Kind;
use pty::Terminal;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::block_in_place;

const PROJECT: &str = "website-v2";
const TASK: &str = "hush-project";
const RUNS: [&str; 2] = ["c0ffee11-3b1d-4c8e-9a6f-0d2e5b7c1a3f", "c0ffee22-3b1d-4c8e-9a6f-0d2e5b7c1a3f"];
/// The last thing that every watcher hears: whoever knows of it has heard all before it.
const LAST: &str = "All has been said";

/// The record's parts as they can be written: whole, with separators, cut for reading; alone or as a sum.
const SECRETS: [&str; 14] = [
    TASK, "c0ffee11", "c0ffee22", "918273", "918,273", "918.2k", "645342", "645,342", "645.3k", "1836546",
    "1.83M", "1290684", "1.29M", "5432109",
];

/// A key that is no business of the record's, or none.
struct Stranger {
    name: &'static str,
    token: Option<String>,
    /// A person: may ask, and is told of the own agents' runs, of which there are none.
    person: bool,
}

struct Stage {
    room: Room,
    home: TempDir,
    /// Of the agent whose runs they are.
    agent: String,
    owner: String,
    strangers: Vec<Stranger>,
}

impl Stage {
    async fn open() -> Self {
        let room = Room::open().await;
        let agent = room.key("client", "acme/builder", &[PROJECT]);
        let owner = room.key("person", "acme", &[PROJECT]);
        let mut strangers: Vec<Stranger> = Kind::ALL
            .into_iter()
            .filter(|kind| *kind != Kind::Person)
            .map(|kind| {
                let token = room.key(kind.as_str(), "acme/builder", &[PROJECT]);
                Stranger { name: kind.as_str(), token: Some(token), person: false }
            })
            .collect();
        let other = room.key("person", "lumen", &[PROJECT]);
        strangers.push(Stranger { name: "another owner's person", token: Some(other), person: true });
        strangers.push(Stranger { name: "no key", token: None, person: false });
        let stage = Self { room, home: TempDir::new().unwrap(), agent, owner, strangers };
        stage.says("Nothing of that").await;
        stage.report(RUNS[0]).await;
        stage
    }

    async fn says(&self, doing: &str) {
        self.room.pulse(&self.agent, json!({"project": PROJECT, "doing": doing})).await;
    }

    async fn report(&self, run: &str) {
        let run = json!({"project": PROJECT, "run_id": run, "task_id": TASK, "input_tokens": 918_273,
            "output_tokens": 645_342, "turns": null, "duration_ms": 5_432_109, "exit_code": 1});
        self.room.run(&self.agent, run).await;
    }

    fn keys(&self) -> impl Iterator<Item = (&'static str, Option<&str>)> {
        let owner = ("the owner", Some(self.owner.as_str()));
        std::iter::once(owner).chain(self.strangers.iter().map(|key| (key.name, key.token.as_deref())))
    }

    /// The program with a key.
    fn prickle(&self, token: Option<&str>, arguments: &[&str]) -> Command {
        let mut command = prickle(self.home.path());
        command.args(arguments).env("PRICKLE_SERVER", &self.room.url).env("PRICKLE_PROJECT", PROJECT);
        command.envs(token.map(|token| ("PRICKLE_TOKEN", token)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn output(&self, token: Option<&str>, arguments: &[&str]) -> (Output, String) {
        let output = block_in_place(|| self.prickle(token, arguments).output().unwrap());
        let text = String::from_utf8([&output.stdout[..], &output.stderr].concat()).unwrap();
        (output, text)
    }
}

#[track_caller]
fn hides(who: &str, what: &str, text: &str) {
    for secret in SECRETS {
        assert!(!text.contains(secret), "{who}, {what}: {secret} in {text}");
    }
}

/// The owner sees what is hidden from everyone else, or the test would prove nothing.
#[track_caller]
fn shows(what: &str, text: &str, secrets: &[&str]) {
    for secret in secrets {
        assert!(text.contains(secret), "the owner, {what}: no {secret} in {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn over_http_a_record_is_not_there_for_anybody_else() {
    let stage = Stage::open().await;
    let unknown = "c0ffee33-3b1d-4c8e-9a6f-0d2e5b7c1a3f";
    let lists = [
        "/v1/runs".to_owned(),
        format!("/v1/runs?task={}&sort=-tokens", "hush%2Dproject"),
        "/v1/runs/summary".to_owned(),
        "/v1/runs/summary?by=agent".to_owned(),
        "/v1/runs/summary?by=project".to_owned(),
        "/v1/runs/summary?by=day&tz=Europe/Berlin".to_owned(),
        "/v1/runs/summary?agent=acme/builder".to_owned(),
    ];
    for list in &lists {
        let (status, body) = stage.room.get(&stage.owner, list).await;
        assert_eq!(status, 200, "{list}: {body}");
        shows(list, &body.to_string(), &["918273", "645342"]);
    }
    let (status, run) = stage.room.get(&stage.owner, &format!("/v1/runs/{}", RUNS[0])).await;
    assert_eq!((status, &run["task_id"]), (200, &json!(TASK)));
    for stranger in &stage.strangers {
        let token = stranger.token.as_deref().unwrap_or_default();
        for list in &lists {
            let (status, body) = stage.room.get(token, list).await;
            hides(stranger.name, list, &body.to_string());
            let right = match (stranger.token.is_some(), stranger.person) {
                (false, _) => 401,
                (true, false) => 404,
                (true, true) => 200,
            };
            assert_eq!(status, right, "{}, {list}: {body}", stranger.name);
            let rows = if list.contains("summary") { &body["rows"] } else { &body["runs"] };
            assert!(!stranger.person || *rows == json!([]), "{list}: {body}");
        }
        // Whether there is such a record can't be told either.
        let (there, nowhere) = (
            stage.room.get(token, &format!("/v1/runs/{}", RUNS[0])).await,
            stage.room.get(token, &format!("/v1/runs/{unknown}")).await,
        );
        let text = |(status, body): &(u16, Value)| format!("{status} {body}").replace("c0ffee33", "c0ffee11");
        assert_eq!(text(&there), text(&nowhere), "{}", stranger.name);
        assert_eq!(there.0, if stranger.token.is_some() { 404 } else { 401 }, "{}", stranger.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_command_tells_anybody_else_of_a_record() {
    let stage = Stage::open().await;
    for by in ["run", "task", "agent", "project", "day"] {
        for format in ["--json", "--csv", "--limit=50"] {
            let arguments = ["runs", "--by", by, "--since", "all", format];
            let what = arguments.join(" ");
            let (output, text) = stage.output(Some(&stage.owner), &arguments);
            assert!(output.status.success(), "{what}: {text}");
            let number = if format == "--limit=50" { "918.2k" } else { "918273" };
            shows(&what, &text, &[number]);
            for stranger in &stage.strangers {
                let (output, text) = stage.output(stranger.token.as_deref(), &arguments);
                hides(stranger.name, &what, &text);
                assert_eq!(output.status.success(), stranger.person, "{}, {what}: {text}", stranger.name);
                // Who gets nothing is told why.
                let told = stranger.person || text.lines().count() == 1 && text.starts_with("prickle: ");
                assert!(told, "{}, {what}: {text}", stranger.name);
            }
        }
    }
    for stranger in &stage.strangers {
        for arguments in
            [&["watch", "--once", "--json"][..], &["watch", "--once"], &["status", "--format", "json"]]
        {
            let (_, text) = stage.output(stranger.token.as_deref(), arguments);
            assert!(stranger.token.is_none() || !text.is_empty());
            hides(stranger.name, &arguments.join(" "), &text);
        }
    }
}

/// A program that runs on, and the lines that it writes.
struct Running {
    child: Child,
    lines: mpsc::Receiver<String>,
    said: String,
}

impl Running {
    fn start(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let out = child.stdout.take().unwrap();
        let (say, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                let _ = say.send(line);
            }
        });
        Self { child, lines, said: String::new() }
    }

    /// Listens until `text` is in a line.
    #[track_caller]
    fn until(&mut self, text: &str) {
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left);
            let line = line.unwrap_or_else(|_| panic!("no {text} in {}", self.said));
            self.said.push_str(&line);
            self.said.push('\n');
            if line.contains(text) {
                return;
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn screen(home: &Path, room: &Room, token: Option<&str>) -> Terminal {
    let home = home.to_str().unwrap();
    let mut environment = vec![
        ("HOME", home),
        ("PRICKLE_HOME", home),
        ("PRICKLE_SERVER", &room.url),
        ("PRICKLE_PROJECT", PROJECT),
        ("PRICKLE_LOCAL_PORT", "none: a server is named"),
        ("TERM", "xterm-256color"),
        ("LANG", "C.UTF-8"),
        ("TZ", "UTC"),
    ];
    environment.extend(token.map(|token| ("PRICKLE_TOKEN", token)));
    Terminal::start(&[env!("CARGO_BIN_EXE_prickle"), "watch"], &environment, 120, 30)
}

#[tokio::test(flavor = "multi_thread")]
async fn no_watch_shows_anybody_else_a_record_neither_before_nor_after_it_came() {
    let stage = Stage::open().await;
    let start = |how: &str| -> Vec<Running> {
        let with_key = stage.keys().filter(|(_, token)| token.is_some());
        with_key.map(|(_, token)| Running::start(stage.prickle(token, &["watch", how]))).collect()
    };
    let (mut frames, mut plain) = block_in_place(|| (start("--json"), start("--plain")));
    let mut screens: Vec<Terminal> = block_in_place(|| {
        stage.keys().map(|(_, token)| screen(stage.home.path(), &stage.room, token)).collect()
    });
    block_in_place(|| {
        frames.iter_mut().for_each(|watch| watch.until("Nothing of that"));
        plain.iter_mut().for_each(|watch| watch.until("Watching"));
        for ((_, token), screen) in stage.keys().zip(&mut screens) {
            screen.wait_for(if token.is_some() { "? help" } else { "there is no key" });
            screen.send("3");
        }
        screens[0].wait_for_all(&[TASK, "918.2k"]);
        // What the others see there is that there is nothing for them.
        for ((_, token), screen) in stage.keys().zip(&mut screens).skip(1) {
            if token.is_some() {
                screen.wait_for("Runs");
                screen.wait_without("Activity");
            }
        }
    });
    stage.report(RUNS[1]).await;
    stage.says(LAST).await;
    block_in_place(|| {
        frames.iter_mut().chain(&mut plain).for_each(|watch| watch.until(LAST));
        screens[0].wait_for("1.83M");
        for ((_, token), screen) in stage.keys().zip(&mut screens) {
            if token.is_some() {
                screen.send("1");
                screen.wait_for(LAST);
            }
        }
    });
    shows("watch --json", &frames[0].said, &[TASK, RUNS[1], "918273"]);
    shows("watch --plain", &plain[0].said, &[TASK, "918273"]);
    for (((who, _), frames), plain) in stage.keys().zip(&frames).zip(&plain).skip(1) {
        hides(who, "watch --json", &frames.said);
        hides(who, "watch --plain", &plain.said);
    }
    for ((who, _), screen) in stage.keys().zip(&screens).skip(1) {
        hides(who, "watch", &screen.raw_text());
    }
}
