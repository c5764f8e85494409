//! This machine's own room: the real binary in a home of its own, without a server named anywhere.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::missing_panics_doc)]

mod common;
#[path = "common/pty.rs"]
mod pty;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use common::PATIENCE;
use common::ran::Ran;
use prickle::server::local::{self, Found};
use pty::Terminal;
use rustix::process::{Pid, Signal, getsid, kill_process, test_kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// A fresh machine: an empty home with one repository in it. Whatever room it has is closed at the end.
struct Machine {
    home: TempDir,
    port: u16,
}

impl Machine {
    fn new() -> Self {
        let machine = Self { home: tempfile::tempdir().unwrap(), port: 0 };
        fs::create_dir_all(machine.repository("Web App").join(".git")).unwrap();
        machine
    }

    fn repository(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn files(&self) -> PathBuf {
        self.home.path().join("prickle")
    }

    /// A command, typed in the repository `Web App`.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prickle"));
        command.env_clear().env("HOME", self.home.path()).env("PRICKLE_HOME", self.files());
        command.env("USER", "Ada.L").env("LANG", "C.UTF-8").env("PRICKLE_LOCAL_PORT", self.port.to_string());
        command.current_dir(self.repository("Web App")).stdin(Stdio::null()).args(args);
        command
    }

    /// Runs a command that ends by itself.
    fn run(&self, args: &[&str]) -> Ran {
        let mut command = self.command(args);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let id = Pid::from_child(&child);
        let (done, ended) = channel();
        std::thread::spawn(move || done.send(child.wait_with_output().unwrap()));
        Ran::of(ended.recv_timeout(PATIENCE).unwrap_or_else(|_| {
            let _ = kill_process(id, Signal::KILL);
            panic!("{args:?} does not end");
        }))
    }

    /// A command in a terminal, whose folder is the home.
    fn terminal(&self, typed: &[&str], columns: u16, rows: u16) -> Terminal {
        let (home, files) = (self.home.path().to_str().unwrap(), self.files());
        let environment = [
            ("HOME", home),
            ("PRICKLE_HOME", files.to_str().unwrap()),
            ("PRICKLE_LOCAL_PORT", "0"),
            ("USER", "acme"),
            ("TERM", "xterm-256color"),
            ("LANG", "C.UTF-8"),
        ];
        Terminal::start(typed, &environment, columns, rows)
    }

    fn watch(&self, args: &[&str]) -> Watching {
        Watching::start(&mut self.command(&[&["watch"], args].concat()))
    }

    /// What the lock says of the room.
    fn notice(&self) -> Value {
        serde_json::from_slice(&fs::read(self.files().join("room.db.lock")).unwrap()).unwrap()
    }

    fn process(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.notice()["pid"].as_i64().unwrap()).unwrap()).unwrap()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.files().join("room.log")).unwrap()
    }

    fn keys(&self) -> Vec<Value> {
        let listed = self.run(&["key", "list", "--json"]);
        serde_json::from_str(&listed.out).unwrap_or_default()
    }

    fn times_opened(&self) -> usize {
        self.log().matches("the room is open").count()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.command(&["serve", "--stop"]).output();
    }
}

/// A watch that goes on, and the lines that it writes.
struct Watching {
    child: Child,
    out: Receiver<String>,
    err: Receiver<String>,
}

impl Watching {
    fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (out, err) = (lines(child.stdout.take().unwrap()), lines(child.stderr.take().unwrap()));
        Self { child, out, err }
    }

    /// The next line that has `word` in it.
    #[track_caller]
    fn until(lines: &Receiver<String>, word: &str) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let line = lines.recv_timeout(left).unwrap_or_else(|_| panic!("nothing with {word:?} was said"));
            if line.contains(word) {
                return line;
            }
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lines(from: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

#[track_caller]
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "not within {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn on_a_fresh_machine_watch_just_works() {
    let machine = Machine::new();
    let first = machine.run(&["watch", "--once"]);
    assert!(
        first.err.starts_with("prickle: opened this machine's own room on 127.0.0.1:")
            && first.err.ends_with(", until an hour after its last use\n"),
        "{first:?}"
    );
    assert_eq!(first.fine(), "web-app: nobody is in it yet\n");

    // Who reports from the shell is an agent of the user's, with a key of its own.
    let pulse = machine.run(&["pulse", "--doing", "trying prickle"]);
    assert_eq!(
        (pulse.err.as_str(), pulse.out.as_str()),
        ("", "ada-l/shell is working in web-app: trying prickle\n")
    );
    assert!(machine.run(&["watch", "--once"]).fine().contains("ada-l/shell"));

    let files = machine.files();
    assert_eq!(mode(&files), 0o700);
    assert_eq!(mode(&files.join("keys")), 0o700);
    for file in ["room.db", "room.db.lock", "room.log", "credentials.toml", "keys/ada-l/shell"] {
        assert_eq!(mode(&files.join(file)), 0o600, "{file}");
    }
    assert_eq!(machine.times_opened(), 1);
    let whose: Vec<String> = machine
        .keys()
        .iter()
        .map(|key| format!("{} {} {}", key["kind"].as_str().unwrap(), key["owner"], key["projects"]))
        .collect();
    assert_eq!(whose, ["person \"ada-l\" null", "client \"ada-l\" [\"web-app\"]"]);
    assert!(!machine.log().contains("prk_"));
}

#[test]
fn the_room_outlives_the_command_that_started_it_and_ends_when_it_is_told() {
    let machine = Machine::new();
    machine.run(&["watch", "--once"]).fine();
    let process = machine.process();
    // A session of its own: what ends a terminal does not end it.
    assert_eq!(getsid(Some(process)).unwrap(), process);
    let stopped = machine.run(&["serve", "--stop"]);
    assert!(stopped.err.starts_with("prickle: the room on http://127.0.0.1:"), "{stopped:?}");
    stopped.fine();
    until("the process has ended", || test_kill_process(process).is_err());
    let none = machine.run(&["serve", "--stop"]).fault(1);
    assert!(none.starts_with("no room is running on "), "{none}");
    // What was in it is there the next time, with the same key.
    machine.run(&["watch", "--once"]).fine();
    assert_eq!(machine.times_opened(), 2);
}

#[test]
fn commands_that_start_at_once_agree_on_one_room() {
    let machine = Machine::new();
    let all: Vec<Child> = (0..8)
        .map(|_| {
            let mut command = machine.command(&["watch", "--once"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for child in all {
        assert_eq!(Ran::of(child.wait_with_output().unwrap()).fine(), "web-app: nobody is in it yet\n");
    }
    assert_eq!(machine.times_opened(), 1);
    // Nor did each make a key.
    assert_eq!(machine.keys().len(), 1, "{:?}", machine.keys());
}

#[test]
fn the_lock_decides_and_not_the_port() {
    let machine = Machine::new();
    machine.run(&["watch", "--once"]).fine();
    // As in the moment when another one has the lock and is about to listen: its port is no stranger's.
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = other.local_addr().unwrap().to_string();
    let fault = machine.run(&["serve", "--local", "--addr", &addr]).fault(2);
    assert!(fault.contains("another room is running on it"), "{fault}");
    machine.run(&["serve", "--stop"]).fine();
    let fault = machine.run(&["serve", "--local", "--addr", &addr]).fault(2);
    assert!(fault.contains("is taken by another program"), "{fault}");
}

#[test]
fn a_watch_whose_room_was_killed_starts_it_again() {
    let machine = Machine::new();
    let watch = machine.watch(&["--json"]);
    Watching::until(&watch.out, "\"hello\"");
    let first = machine.process();
    kill_process(first, Signal::KILL).unwrap();
    Watching::until(&watch.out, "\"hello\"");
    assert_ne!(machine.process(), first);
    machine.run(&["pulse", "--doing", "after it"]).fine();
    Watching::until(&watch.out, "after it");
}

#[test]
fn a_room_that_was_told_to_end_stays_closed_until_somebody_opens_it() {
    let machine = Machine::new();
    let watch = machine.watch(&["--plain"]);
    Watching::until(&watch.out, "web-app");
    machine.run(&["serve", "--stop"]).fine();
    Watching::until(&watch.out, "Still offline: stopped; prickle serve opens it.");
    assert_eq!(machine.times_opened(), 1);
    machine.run(&["pulse", "--doing", "opened again"]).fine();
    Watching::until(&watch.out, "opened again");
    assert_eq!(machine.times_opened(), 2);
}

#[test]
fn a_room_in_the_foreground_is_this_machines_own_too() {
    let machine = Machine::new();
    let mut serve = Watching::start(&mut machine.command(&["serve"]));
    let listening = Watching::until(&serve.out, "listening on ");
    let address = listening.strip_prefix("listening on ").unwrap();
    assert_eq!(machine.notice()["address"], address);
    let seen = machine.run(&["watch", "--once"]);
    assert_eq!((seen.err.as_str(), seen.out.as_str()), ("", "web-app: nobody is in it yet\n"));
    machine.run(&["serve", "--stop"]).fine();
    assert_eq!(serve.child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_port_that_somebody_else_has_gets_no_key() {
    let mut machine = Machine::new();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    other.set_nonblocking(true).unwrap();
    machine.port = other.local_addr().unwrap().port();
    for args in
        [&["watch", "--once"][..], &["watch", "--plain"], &["pulse", "--doing", "x"], &["connect", "codex"]]
    {
        let fault = machine.run(args).fault(2);
        let expected = format!(
            "port {0} is taken by another program, so this machine's own room can't open there, and no key was \
             sent; if it is a room of yours, name it: --server http://127.0.0.1:{0}; else choose another port: \
             PRICKLE_LOCAL_PORT={1}, or local_port = {1} in config.toml",
            machine.port,
            machine.port + 1
        );
        assert_eq!(fault, expected, "{args:?}");
    }
    assert!(other.accept().is_err(), "somebody called it");
    assert!(!machine.files().join("credentials.toml").exists());

    // Nor does what a killed room left behind lead a key to it.
    machine.port = 0;
    machine.run(&["watch", "--once"]).fine();
    let process = machine.process();
    kill_process(process, Signal::KILL).unwrap();
    until("the room is dead", || test_kill_process(process).is_err());
    let mut notice = machine.notice();
    notice["address"] = format!("http://{}", other.local_addr().unwrap()).into();
    notice["pid"] = std::process::id().into();
    fs::write(machine.files().join("room.db.lock"), notice.to_string()).unwrap();
    machine.run(&["watch", "--once"]).fine();
    assert!(other.accept().is_err(), "somebody called it");
}

#[test]
fn a_room_ends_after_its_last_use_and_not_before() {
    let machine = Machine::new();
    let mut serve = Watching::start(&mut machine.command(&["serve", "--idle", "1"]));
    Watching::until(&serve.out, "listening on ");
    let watch = machine.watch(&["--json"]);
    Watching::until(&watch.out, "\"hello\"");
    let began = Instant::now();
    // Longer than the room would stay alone: time itself is what this is about.
    until("two of its times have passed", || began.elapsed() > Duration::from_secs(2));
    assert!(serve.child.try_wait().unwrap().is_none(), "it ended with a watch open");
    drop(watch);
    let left = Instant::now();
    assert_eq!(serve.child.wait().unwrap().code(), Some(0));
    assert!(left.elapsed() > Duration::from_millis(900), "it ended after {:?}", left.elapsed());
    Watching::until(&serve.err, "nobody has used the room for long");
}

#[test]
fn the_room_is_the_folders_unless_another_is_named() {
    let machine = Machine::new();
    machine.run(&["watch", "--once"]).fine();
    // Another repository is another room, and a subfolder is its repository's.
    fs::create_dir_all(machine.repository("api/.git")).unwrap();
    fs::create_dir_all(machine.repository("api/src/deep")).unwrap();
    let mut there = machine.command(&["watch", "--once"]);
    let out = Ran::of(there.current_dir(machine.repository("api/src/deep")).output().unwrap()).fine();
    assert_eq!(out, "api: nobody is in it yet\n");
    // A worktree is of the repository that it was made from.
    fs::create_dir_all(machine.repository("api-fix")).unwrap();
    let linked = format!("gitdir: {}\n", machine.repository("api/.git/worktrees/api-fix").display());
    fs::write(machine.repository("api-fix/.git"), linked).unwrap();
    let mut there = machine.command(&["watch", "--once"]);
    let out = Ran::of(there.current_dir(machine.repository("api-fix")).output().unwrap()).fine();
    assert_eq!(out, "api: nobody is in it yet\n");
    // Outside of any: one for everything.
    fs::create_dir_all(machine.repository("loose")).unwrap();
    let mut there = machine.command(&["watch", "--once"]);
    let out = Ran::of(there.current_dir(machine.repository("loose")).output().unwrap()).fine();
    assert_eq!(out, "default: nobody is in it yet\n");
    // The repository's own word counts.
    fs::write(machine.repository("api/.prickle.toml"), "project = \"backend\"\n").unwrap();
    let mut there = machine.command(&["connect", "codex"]);
    let out = Ran::of(there.current_dir(machine.repository("api")).output().unwrap()).fine();
    assert!(out.starts_with("ada-l/codex may now report to backend."), "{out}");
    // A slip of the pen makes no room.
    let fault = machine.run(&["watch", "backned", "--once"]).fault(2);
    assert_eq!(
        fault,
        "there is no room backned here, only api, backend, default, web-app; to open it, let an agent in: \
         prickle connect claude-code --project backned"
    );
    assert_eq!(machine.run(&["watch", "backend", "--once"]).fine(), "backend: nobody is in it yet\n");
}

#[test]
fn the_first_pulse_in_a_second_project_is_taken_at_once() {
    let machine = Machine::new();
    machine.run(&["pulse", "--doing", "here"]).fine();
    for name in ["api", "docs", "site"] {
        fs::create_dir_all(machine.repository(name).join(".git")).unwrap();
        let mut there = machine.command(&["pulse", "--doing", "there"]);
        let out = Ran::of(there.current_dir(machine.repository(name)).output().unwrap()).fine();
        assert_eq!(out, format!("ada-l/shell is working in {name}: there\n"));
    }
}

#[test]
fn why_a_room_is_not_found_is_told_before_its_name_is_asked_for() {
    let machine = Machine::new();
    machine.run(&["watch", "--once"]).fine();
    let url = machine.notice()["address"].as_str().unwrap().to_owned();
    for (variables, args, said) in [
        (
            vec![("PRICKLE_TOKEN", format!("prk_{}", "B".repeat(43)))],
            vec![],
            "does not know the key in PRICKLE_TOKEN",
        ),
        (vec![("PRICKLE_TOKEN_FILE", "nofile".into())], vec![], "there is no file"),
        (vec![("PRICKLE_SERVER", "http://127.0.0.1:1".into())], vec![], "there is no key for"),
        (vec![("PRICKLE_SERVER", url.clone())], vec!["shop-which-is-not"], "sees no shop-which-is-not"),
    ] {
        let mut command = machine.command(&[&["watch", "--once"][..], &args[..]].concat());
        let fault = Ran::of(command.envs(variables.iter().cloned()).output().unwrap()).fault(2);
        assert!(fault.contains(said) && !fault.contains("which room"), "{variables:?} {args:?}: {fault}");
    }
    // With an agent's key in the environment the folder's room is still the folder's.
    machine.run(&["connect", "codex"]).fine();
    machine.run(&["connect", "codex", "--project", "docs"]).fine();
    let token = fs::read_to_string(machine.files().join("keys/ada-l/codex")).unwrap();
    let mut watch = machine.command(&["watch", "--once"]);
    let seen = Ran::of(watch.env("PRICKLE_TOKEN", token.trim()).output().unwrap()).fine();
    assert_eq!(seen, "web-app: nobody is in it yet\n");
}

#[test]
fn who_the_user_is_is_settled_at_the_first_start() {
    let machine = Machine::new();
    machine.run(&["watch", "--once", "--owner", "acme"]).fine();
    assert!(machine.run(&["connect", "codex"]).fine().starts_with("acme/codex may now report to web-app."));
    machine.run(&["watch", "--once", "--owner", "acme"]).fine();
    let fault = machine.run(&["watch", "--once", "--owner", "lumen"]).fault(2);
    assert!(fault.starts_with("you are acme in this room already; --owner lumen would need"), "{fault}");
    let mut named =
        machine.command(&["watch", "--once", "--owner", "acme", "--server", "http://127.0.0.1:1"]);
    let fault = Ran::of(named.output().unwrap()).fault(2);
    assert!(fault.starts_with("--owner acme is for the first start of this machine's own room"), "{fault}");
}

#[test]
fn connecting_again_keeps_the_key_and_adds_the_room() {
    let machine = Machine::new();
    let out = machine.run(&["connect", "claude-code"]).fine();
    let file = machine.files().join("keys/ada-l/claude-code");
    let token = fs::read_to_string(&file).unwrap();
    assert!(!out.contains(token.trim()), "the token was printed");
    assert_eq!(machine.run(&["connect", "claude-code"]).fine(), out);
    assert_eq!(fs::read_to_string(&file).unwrap(), token);
    // Printed only where it is asked for.
    let printed = machine.run(&["connect", "claude-code", "--print"]).fine();
    assert!(printed.contains(&format!("export PRICKLE_TOKEN=\"{}\"", token.trim())), "{printed}");

    // The same agent in a second room: its key now opens both, at once.
    let out = machine.run(&["connect", "claude-code", "--project", "docs"]).fine();
    assert!(out.ends_with("\nprickle connect claude-code --name claude-code-2 --project docs\n"), "{out}");
    assert_eq!(fs::read_to_string(&file).unwrap(), token);
    for project in ["docs", "web-app"] {
        let mut pulse = machine.command(&["pulse", "--project", project, "--doing", "x"]);
        until("the key opens the room", || {
            let out = pulse.env("PRICKLE_TOKEN_FILE", &file).output().unwrap();
            out.status.success()
        });
    }
    // A second session is a second agent, and the shell of the first is where its command is typed.
    let mut second = machine.command(&["connect", "claude-code", "--name", "reviewer"]);
    let out = Ran::of(second.env("PRICKLE_TOKEN", token.trim()).output().unwrap()).fine();
    assert!(out.starts_with("ada-l/reviewer may now report to web-app."), "{out}");
    assert_ne!(fs::read_to_string(machine.files().join("keys/ada-l/reviewer")).unwrap(), token);

    // A key that was revoked is replaced.
    let id = machine.keys().iter().find(|k| k["agent_id"] == "ada-l/claude-code").unwrap()["id"].to_string();
    machine.run(&["key", "revoke", &id]).fine();
    machine.run(&["connect", "claude-code"]).fine();
    assert_ne!(fs::read_to_string(&file).unwrap(), token);
    assert_eq!(mode(&file), 0o600);
}

#[test]
fn the_steps_name_the_room_and_the_key() {
    let machine = Machine::new();
    for (app, command) in [
        ("claude-code", "claude mcp add-json --scope local prickle '{\"type\":\"http\",\"url\":\"URL/mcp\","),
        ("codex", "  codex mcp add prickle --url URL/mcp --bearer-token-env-var PRICKLE_TOKEN\n"),
        (
            "grok",
            "  grok mcp add --transport http prickle URL/mcp --header 'Authorization: Bearer ${PRICKLE_TOKEN}'\n",
        ),
        ("other", "  {\"mcpServers\":{\"prickle\":{\"type\":\"http\",\"url\":\"URL/mcp\","),
    ] {
        let out = machine.run(&["connect", app]).fine();
        let url = machine.notice()["address"].as_str().unwrap().to_owned();
        assert!(out.contains(&command.replace("URL", &url)), "{out}");
        let name = if app == "other" { "agent" } else { app };
        assert!(
            out.contains(&format!("  export PRICKLE_TOKEN=\"$(cat ~/prickle/keys/ada-l/{name})\"\n")),
            "{out}"
        );
        assert!(out.contains("\"web-app\": what you are doing, branch, files, and an intent"), "{out}");
        // The last step is whole: a later shell has no such variable.
        let start = format!("\n  PRICKLE_TOKEN=\"$(cat ~/prickle/keys/ada-l/{name})\" ");
        assert_eq!(out.contains(&start), app != "other", "{out}");
        assert!(out.lines().filter(|line| !line.contains("http")).all(|line| line.len() <= 110), "{out}");
        assert!(out.contains("\n1. ") && out.contains("\n2. ") && out.contains("\n3. "), "{out}");
    }
    // What the shell makes of the first line is the token.
    let out = machine.run(&["connect", "codex"]).fine();
    let export = out.lines().find(|line| line.contains("export ")).unwrap();
    let mut shell = Command::new("sh");
    shell.env_clear().env("HOME", machine.home.path()).env("PATH", "/usr/bin:/bin");
    let said = shell.args(["-c", &format!("{export}; printf %s \"$PRICKLE_TOKEN\"")]).output().unwrap();
    let token = fs::read_to_string(machine.files().join("keys/ada-l/codex")).unwrap();
    assert_eq!(String::from_utf8(said.stdout).unwrap(), token.trim());
    // A new CLAUDE.md would silence an AGENTS.md that is there.
    assert!(machine.run(&["connect", "claude-code"]).fine().contains("add to CLAUDE.md:"));
    fs::write(machine.repository("Web App").join("AGENTS.md"), "").unwrap();
    assert!(machine.run(&["connect", "claude-code"]).fine().contains("add to AGENTS.md:"));
}

#[test]
fn a_room_of_others_makes_its_keys_itself() {
    let machine = Machine::new();
    let folder = tempfile::tempdir().unwrap();
    let room = common::child::Served::start(folder.path(), 0);
    let url = format!("http://127.0.0.1:{}", room.port);
    let fault = machine.run(&["connect", "codex", "--server", &url]).fault(2);
    assert!(fault.starts_with(&format!("whoever runs the room at {url} makes the agent's key")), "{fault}");
    let file = folder.path().join("the key");
    let key = |kind: &str, whom: &str| {
        let token = common::room::make_key(&room.db, kind, whom, &["website-v2"]);
        fs::File::create(&file).unwrap().write_all(token.as_bytes()).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    };
    let typed = ["connect", "codex", "--server", &url, "--token-file", file.to_str().unwrap()];
    key("person", "acme");
    let fault = machine.run(&typed).fault(2);
    assert!(fault.contains("is acme's own; an agent reports with a key of its own"), "{fault}");
    key("client", "acme/builder");
    let fault = machine.run(&[&typed[..], &["--project", "nonsense"]].concat()).fault(2);
    assert!(
        fault.ends_with("is for website-v2, not for nonsense; name one of these with --project"),
        "{fault}"
    );
    let out = machine.run(&typed).fine();
    assert!(!out.contains("only you can read") && !out.contains("prickle connect codex"), "{out}");
    assert!(out.starts_with("acme/builder may now report to website-v2."), "{out}");
    let quoted = format!("export PRICKLE_TOKEN=\"$(cat '{}')\"\n", file.display());
    assert!(out.contains(&quoted) && out.contains(&format!("--url {url}/mcp ")), "{out}");
    assert!(!machine.files().join("room.db").exists(), "a room of its own was started");
}

#[test]
fn from_nothing_to_the_first_pulse_both_terminals_say_how_far_it_is() {
    let machine = Machine::new();
    let program = env!("CARGO_BIN_EXE_prickle");
    let mut watch = machine.terminal(&[program, "watch", "website-v2"], 80, 24);
    // The terminal's folder is the home, which is no repository: so the commands name the room.
    watch.wait_for_all(&[
        "This is your room website-v2. Nobody is in it yet.",
        "prickle connect claude-code --project website-v2",
        "you are acme",
        "· an agent's key        not yet: let an agent in",
    ]);
    let typed = [program, "connect", "claude-code", "--project", "website-v2"];
    let mut connect = machine.terminal(&typed, 80, 40);
    connect.wait_for("Waiting for its first pulse");
    watch.wait_for_all(&["✓ acme/claude-code", "· it called the room    not yet"]);

    let token = fs::read_to_string(machine.files().join("keys/acme/claude-code")).unwrap();
    let caller = common::caller::Caller::new(machine.notice()["address"].as_str().unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
        assert_eq!(caller.post(token.trim(), list).send().await.unwrap().status(), 200);
    });
    connect.wait_for("it listed the tools at ");
    watch.wait_for_all(&["it has read the list of tools", "· its first pulse       not yet"]);

    let mut pulse = machine.command(&["pulse", "--project", "website-v2", "--doing", "here I am"]);
    Ran::of(pulse.env("PRICKLE_TOKEN", token.trim()).output().unwrap()).fine();
    connect.wait_for("Done.");
    assert_eq!(connect.wait_exit().exit_code(), 0);
    assert!(!connect.raw_text().contains("prk_"), "the key was shown");
    watch.wait_for_all(&["claude-code", "here I am", "1 of 1 working"]);
    watch.send("q");
    assert_eq!(watch.wait_exit().exit_code(), 0);

    // Given again, there is nothing to wait for.
    let mut again = machine.terminal(&typed, 80, 40);
    again.wait_for("It last reported at ");
    assert_eq!(again.wait_exit().exit_code(), 0);
}

#[test]
fn who_waits_for_an_agent_sends_no_key_to_whoever_has_the_port_next() {
    let machine = Machine::new();
    let typed = [env!("CARGO_BIN_EXE_prickle"), "connect", "codex"];
    let mut connect = machine.terminal(&typed, 80, 40);
    connect.wait_for("Waiting for its first pulse");
    let address = machine.notice()["address"].as_str().unwrap().trim_start_matches("http://").to_owned();
    machine.run(&["serve", "--stop"]).fine();
    let other = TcpListener::bind(&address).unwrap();
    other.set_nonblocking(true).unwrap();
    connect.wait_for_all(&["no longer waiting: stopped; prickle serve opens it.", "valid."]);
    assert_eq!(connect.wait_exit().exit_code(), 0);
    assert!(other.accept().is_err(), "the key went to a stranger");
}

#[test]
fn a_room_that_ends_by_itself_withdraws_its_address() {
    let machine = Machine::new();
    let mut serve = Watching::start(&mut machine.command(&["serve", "--idle", "1"]));
    Watching::until(&serve.out, "listening on ");
    let database = machine.files().join("room.db");
    assert!(matches!(local::find(&database).unwrap(), Found::Room(_)));
    assert_eq!(serve.child.wait().unwrap().code(), Some(0));
    // Nobody called it, so nothing but its own end has emptied the lock; it was not told to end either.
    assert_eq!(fs::read_to_string(machine.files().join("room.db.lock")).unwrap(), "");
    assert_eq!(local::find(&database).unwrap(), Found::Nobody { stopped: false });
}

#[test]
fn a_room_in_the_foreground_takes_the_place_of_the_one_in_the_background() {
    let machine = Machine::new();
    let watch = machine.watch(&["--json"]);
    Watching::until(&watch.out, "\"hello\"");
    let first = machine.process();
    let serve = Watching::start(&mut machine.command(&["serve"]));
    Watching::until(&serve.err, "this room takes the place of the one in the background");
    Watching::until(&serve.out, "listening on ");
    until("the one before has ended", || test_kill_process(first).is_err());
    Watching::until(&watch.out, "\"hello\"");
    // A second one in the foreground does not.
    let fault = machine.run(&["serve"]).fault(2);
    assert!(fault.contains("another room is running on it"), "{fault}");
}

#[test]
fn nobody_who_waits_for_a_command_waits_for_the_room() {
    let machine = Machine::new();
    let mut shell = Command::new("sh");
    let asked = machine.command(&[]);
    shell.env_clear().envs(asked.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.env("PATH", "/usr/bin:/bin").current_dir(machine.repository("Web App"));
    // A descriptor beside the usual ones, as test runners and make leave open.
    let line = format!("{} watch --once 3>&1 >/dev/null 2>&1 | cat", env!("CARGO_BIN_EXE_prickle"));
    let mut waiting = shell.args(["-c", &line]).spawn().unwrap();
    until("the pipe has ended", || waiting.try_wait().unwrap().is_some());
    assert!(test_kill_process(machine.process()).is_ok(), "the room ended with it");
}

#[test]
fn a_dead_room_leaves_nothing_behind_under_the_watch_that_started_it() {
    let machine = Machine::new();
    let watch = machine.watch(&["--json"]);
    Watching::until(&watch.out, "\"hello\"");
    let first = machine.process();
    kill_process(first, Signal::KILL).unwrap();
    // One that nobody waited for would still be there.
    until("it is gone", || test_kill_process(first).is_err());
    Watching::until(&watch.out, "\"hello\"");
}

#[test]
fn a_room_that_moved_is_entered_with_the_same_key_and_no_other_is_lost() {
    let machine = Machine::new();
    machine.run(&["watch", "--once"]).fine();
    let saved = || fs::read_to_string(machine.files().join("credentials.toml")).unwrap();
    let token = saved().split('"').find(|part| part.starts_with("prk_")).unwrap().to_owned();
    for _ in 0..2 {
        machine.run(&["serve", "--stop"]).fine();
        machine.run(&["watch", "--once"]).fine();
    }
    assert_eq!(machine.keys().len(), 1, "{:?}", machine.keys());
    // A key for another room that had the same address.
    machine.run(&["serve", "--stop"]).fine();
    let other = format!("prk_{}", "B".repeat(43));
    let taken = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let kept = format!("[\"http://{taken}\"]\ntoken = \"{other}\"\n");
    fs::write(machine.files().join("credentials.toml"), kept).unwrap();
    let mut watch = machine.command(&["watch", "--once"]);
    Ran::of(watch.env("PRICKLE_LOCAL_PORT", taken.port().to_string()).output().unwrap()).fine();
    assert!(saved().contains(&other), "the only copy of a key is gone");
    assert!(!saved().contains(&token), "nothing of it was known any more");
}

#[test]
fn that_a_room_was_told_to_end_outlives_a_start_that_fails() {
    let machine = Machine::new();
    machine.run(&["watch", "--once"]).fine();
    machine.run(&["serve", "--stop"]).fine();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut command = machine.command(&["watch", "--once"]);
    command.env("PRICKLE_LOCAL_PORT", other.local_addr().unwrap().port().to_string());
    Ran::of(command.output().unwrap()).fault(2);
    let found = local::find(&machine.files().join("room.db")).unwrap();
    assert_eq!(found, Found::Nobody { stopped: true });
}

#[test]
fn a_lock_that_is_a_link_is_not_followed() {
    let machine = Machine::new();
    fs::create_dir_all(machine.files()).unwrap();
    let target = machine.home.path().join("elsewhere");
    std::os::unix::fs::symlink(&target, machine.files().join("room.db.lock")).unwrap();
    let fault = machine.run(&["watch", "--once"]).fault(2);
    assert!(fault.contains("lock"), "{fault}");
    assert!(!target.exists());
}

#[test]
fn a_port_that_is_none_is_refused_where_it_was_said() {
    let machine = Machine::new();
    let mut command = machine.command(&["watch", "--once"]);
    let fault = Ran::of(command.env("PRICKLE_LOCAL_PORT", "70000").output().unwrap()).fault(2);
    assert!(fault.starts_with("PRICKLE_LOCAL_PORT is 70000, but must be a free port"), "{fault}");
    fs::create_dir_all(machine.files()).unwrap();
    fs::write(machine.files().join("config.toml"), "local_port = \"x\"\n").unwrap();
    let mut command = machine.command(&["connect", "codex"]);
    let fault = Ran::of(command.env_remove("PRICKLE_LOCAL_PORT").output().unwrap()).fault(2);
    assert!(fault.contains("config.toml, line 1: local_port = \"x\" must be a free port"), "{fault}");
}
