//! The real binary in a real terminal, on a real room: what it draws, what it writes, and how it leaves.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

#[path = "watch/colours.rs"]
mod colours;
mod common;
#[path = "watch/demo.rs"]
mod demo;
#[path = "watch/foreign.rs"]
mod foreign;
#[path = "watch/keyboard.rs"]
mod keyboard;
#[path = "watch/leaving.rs"]
mod leaving;
#[path = "watch/outage.rs"]
mod outage;
#[path = "watch/outside.rs"]
mod outside;
#[path = "watch/piped.rs"]
mod piped;
#[path = "common/pty.rs"]
mod pty;
#[path = "watch/runs.rs"]
mod runs;
#[path = "watch/shell.rs"]
mod shell;
#[path = "watch/signs.rs"]
mod signs;
#[path = "watch/sizes.rs"]
mod sizes;

use std::process::{Child, Command, Output, Stdio};
use std::sync::RwLock;
use std::time::{Duration, Instant};

use common::caller::Caller;
use common::child::Served;
use common::room::make_key;
use pty::{PATIENCE, Terminal};
use serde_json::{Value, json};
use tempfile::TempDir;

const PRICKLE: &str = env!("CARGO_BIN_EXE_prickle");
const PROJECT: &str = "website-v2";

/// What a terminal is given back with: the last thing that the program writes.
const GIVEN_BACK: &str = "\x1b[?1049l\x1b[?25h";

/// Written while a terminal is opened, read while another process is started: a process that is started at just
/// that moment would keep the terminal open after its test has closed it.
static OPENING: RwLock<()> = RwLock::new(());

/// A room in a process of its own, keys for it, and a home for those who watch it.
struct Stage {
    room: Served,
    person: String,
    folder: TempDir,
    calls: tokio::runtime::Runtime,
}

impl Stage {
    fn open() -> Self {
        let folder = TempDir::new().unwrap();
        let room = {
            let _calm = OPENING.read().unwrap_or_else(std::sync::PoisonError::into_inner);
            Served::start(folder.path(), 0)
        };
        let person = make_key(&room.db, "person", "acme", &[PROJECT]);
        let calls = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { room, person, folder, calls }
    }

    /// With one agent in it, `acme/claude`, at work.
    fn with_claude() -> (Self, Agent) {
        let stage = Self::open();
        let claude = stage.agent("acme/claude");
        stage.says(&claude, json!({"doing": "Writing the hero copy", "branch": "feat/hero"}));
        (stage, claude)
    }

    /// Starts the room again after it was killed.
    fn reopen(&mut self) {
        let _calm = OPENING.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.room.again();
    }

    fn agent(&self, id: &str) -> Agent {
        Agent { key: make_key(&self.room.db, "client", id, &[PROJECT]) }
    }

    /// Makes an agent report; the room must take it. Returns the pulse.
    fn says(&self, agent: &Agent, mut report: Value) -> Value {
        report["project"] = PROJECT.into();
        // A connection of its own for each call: the room may have been another process meanwhile.
        let caller = Caller::new(&self.url());
        self.calls.block_on(caller.pulse(&agent.key, report))
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.room.port)
    }

    /// The environment of a watcher: a home of its own, the room, and a terminal that knows UTF-8.
    fn environment(&self) -> Vec<(String, String)> {
        let home = self.folder.path().to_str().unwrap().to_owned();
        let path = std::env::var("PATH").unwrap();
        let url = self.url();
        let pairs = [
            ("PATH", path.as_str()),
            ("HOME", &home),
            ("PRICKLE_HOME", &format!("{home}/watcher")),
            ("PRICKLE_SERVER", &url),
            ("PRICKLE_TOKEN", &self.person),
            ("PRICKLE_PROJECT", PROJECT),
            ("TERM", "xterm-256color"),
            ("LANG", "C.UTF-8"),
            ("TZ", "UTC"),
        ];
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    }

    /// `prickle watch` in a terminal.
    fn watch(&self, columns: u16, rows: u16) -> Terminal {
        self.terminal(&[PRICKLE, "watch"], &[], columns, rows)
    }

    /// Any program in a terminal, in a watcher's environment changed by `changes`; an empty value removes.
    fn terminal(&self, argv: &[&str], changes: &[(&str, &str)], columns: u16, rows: u16) -> Terminal {
        let environment = self.changed(changes);
        let environment: Vec<(&str, &str)> =
            environment.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        let _alone = OPENING.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        Terminal::start(argv, &environment, columns, rows)
    }

    /// A program in a terminal that sends it no signals, in exactly this environment.
    fn uncontrolled(argv: &[&str], environment: &[(&str, &str)]) -> Terminal {
        let _alone = OPENING.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        Terminal::start_uncontrolled(argv, environment, 80, 24)
    }

    fn changed(&self, changes: &[(&str, &str)]) -> Vec<(String, String)> {
        let mut environment = self.environment();
        for (name, value) in changes {
            environment.retain(|(n, _)| n != name);
            if !value.is_empty() {
                environment.push(((*name).to_owned(), (*value).to_owned()));
            }
        }
        environment
    }

    /// `prickle` without a terminal, running.
    fn run(&self, arguments: &[&str]) -> Child {
        let _calm = OPENING.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.piped(arguments).spawn().unwrap()
    }

    /// The same to its end.
    fn output(&self, arguments: &[&str]) -> Output {
        output(self.run(arguments))
    }

    fn piped(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PRICKLE);
        command.args(arguments).env_clear().envs(self.environment()).current_dir(self.folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

struct Agent {
    key: String,
}

/// Waits for the end of a program that writes little.
#[track_caller]
fn output(mut child: Child) -> Output {
    let until = Instant::now() + PATIENCE;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > until {
            child.kill().unwrap();
            panic!("it does not end: {:?}", child.wait_with_output());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().unwrap()
}

/// Presses `q`, and holds the end against what every end must be: no error, and the terminal as it was.
#[track_caller]
fn quit(terminal: &mut Terminal) {
    ended(terminal);
    assert!(terminal.raw_text().ends_with(GIVEN_BACK), "the last bytes: {:?}", tail(terminal));
}

/// The same where the settings are faulty: the fault, which a key took from the screen, is what remains of it.
#[track_caller]
fn quit_told(terminal: &mut Terminal, fault: &str) {
    ended(terminal);
    let raw = terminal.raw_text();
    let rest = raw.split(GIVEN_BACK).last().unwrap();
    assert!(rest.starts_with("prickle: ") && rest.contains(fault) && rest.ends_with("\r\n"), "{rest:?}");
}

#[track_caller]
fn ended(terminal: &mut Terminal) {
    terminal.send("q");
    let ended = terminal.wait_exit();
    assert_eq!((ended.exit_code(), ended.signal()), (0, None), "{}", terminal.text());
    assert_given_back(terminal);
    assert_modes_of_before(terminal);
}

/// The terminal is given back, and no mode was ever set that would take the mouse away from it.
#[track_caller]
fn assert_given_back(terminal: &Terminal) {
    let raw = terminal.raw_text();
    let count = |what: &str| raw.matches(what).count();
    assert!(raw.contains(GIVEN_BACK), "the last bytes: {:?}", tail(terminal));
    assert_eq!(count("\x1b[?1049h"), count("\x1b[?1049l"), "as often left as entered");
    for mode in ["9", "1000", "1001", "1002", "1003", "1005", "1006", "1015", "1016"] {
        assert!(!raw.contains(&format!("\x1b[?{mode}h")), "mouse mode {mode} was set");
    }
    let screen = terminal.screen();
    assert!(!screen.alternate_screen() && !screen.hide_cursor());
}

fn tail(terminal: &Terminal) -> String {
    let raw = terminal.raw_text();
    raw.chars().skip(raw.chars().count().saturating_sub(300)).collect()
}

/// The terminal's modes are those that it had before the program came.
#[track_caller]
fn assert_modes_of_before(terminal: &Terminal) {
    assert_eq!(format!("{:?}", terminal.modes()), format!("{:?}", terminal.first_modes()));
}
