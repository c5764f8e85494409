//! `prickle pulse` and `prickle watch` without a screen: the real binary and a real room, each a process.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use common::PATIENCE;
use common::child::{Served, prickle};
use common::ran::Ran;
use common::room::make_key;
use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A room, an agent's key and its owner's.
struct Scene {
    folder: TempDir,
    room: Served,
    agent: String,
    person: String,
}

impl Scene {
    fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let room = Served::start(folder.path(), 0);
        let agent = make_key(&room.db, "client", "acme/builder", &["website-v2"]);
        let person = make_key(&room.db, "person", "acme", &["website-v2"]);
        Self { folder, room, agent, person }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.room.port)
    }

    fn command(&self, token: &str, args: &[&str]) -> Command {
        let mut command = prickle(self.folder.path());
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        command.env("PRICKLE_SERVER", self.url()).env("PRICKLE_TOKEN", token).args(args);
        command
    }

    fn run(&self, token: &str, args: &[&str]) -> Ran {
        Ran::of(self.command(token, args).output().unwrap())
    }

    /// Reports as the agent, by the command.
    fn pulse(&self, args: &[&str]) -> Ran {
        self.run(&self.agent, &[&["pulse", "--project", "website-v2"], args].concat())
    }

    fn watch(&self, args: &[&str]) -> Running {
        Running::start(&mut self.command(&self.person, &[&["watch", "website-v2"], args].concat()))
    }
}

/// A command that goes on, and the lines that it writes.
struct Running {
    child: Child,
    out: Receiver<String>,
    err: Receiver<String>,
}

impl Running {
    fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (out, err) = (lines(child.stdout.take().unwrap()), lines(child.stderr.take().unwrap()));
        Self { child, out, err }
    }

    #[track_caller]
    fn next(&self) -> String {
        self.out.recv_timeout(PATIENCE).expect("it writes nothing")
    }

    #[track_caller]
    fn frame(&self) -> Value {
        serde_json::from_str(&self.next()).unwrap()
    }

    #[track_caller]
    fn said(&self) -> String {
        self.err.recv_timeout(PATIENCE).expect("it says nothing on stderr")
    }

    fn signal(&self, signal: Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal).unwrap();
    }

    fn ended(&mut self) -> ExitStatus {
        ended(&mut self.child)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn ended(child: &mut Child) -> ExitStatus {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        assert!(Instant::now() < deadline, "it does not end");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

fn lines(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

#[test]
fn a_pulse_says_what_the_room_now_holds() {
    let scene = Scene::open();
    assert_eq!(
        scene.pulse(&["--doing", "trying it"]).line(),
        "acme/builder is working in website-v2: trying it"
    );
    assert_eq!(
        scene.pulse(&["--doing", "", "--availability", "idle"]).line(),
        "acme/builder is idle in website-v2"
    );
    let full = [
        "--doing",
        "more",
        "--task",
        "t-1",
        "--branch",
        "b",
        "--file",
        "a.rs",
        "--file",
        "b.rs",
        "--decision",
        "d",
        "--intent",
        "remove",
        "--path",
        "src/**",
        "--path",
        "x",
        "--area",
        "sign-in",
        "--json",
    ];
    let result: Value = serde_json::from_str(&scene.pulse(&full).line()).unwrap();
    let pulse = &result["pulse"];
    for (name, value) in [
        ("agent_id", json!("acme/builder")),
        ("availability", json!("working")),
        ("doing", json!("more")),
        ("task_id", json!("t-1")),
        ("branch", json!("b")),
        ("files", json!(["a.rs", "b.rs"])),
        ("last_decision", json!("d")),
    ] {
        assert_eq!(pulse[name], value, "{name}");
    }
    assert_eq!(pulse["intent"]["kind"], "remove");
    assert_eq!(pulse["intent"]["paths"], json!(["src/**", "x"]));
    assert_eq!(pulse["intent"]["areas"], json!(["sign-in"]));
    // A commit's subject may begin with a hyphen.
    let line = scene.pulse(&["--doing", "- fix the loop", "--decision", "--no-verify stays off"]).line();
    assert_eq!(line, "acme/builder is working in website-v2: - fix the loop");
    let line = scene.pulse(&["--doing", "x", "--intent", "add", "--area", "docs"]).line();
    assert!(line.starts_with("acme/builder is working in website-v2: x (about to add docs until "), "{line}");
}

#[test]
fn a_pulse_that_fails_says_why_and_with_which_code() {
    let scene = Scene::open();
    let fault = scene.pulse(&["--doing", &"x".repeat(201), "--availability", "busy"]).fault(1);
    assert!(fault.contains("doing") && fault.contains("200") && fault.contains("availability"), "{fault}");
    let person = scene.run(&scene.person, &["pulse", "--project", "website-v2", "--doing", "x"]);
    assert!(person.fault(1).contains("person"));
    let other = scene.run(&scene.agent, &["pulse", "--project", "other", "--doing", "x"]);
    assert!(other.fault(1).contains("website-v2"));

    // A key for one room needs no name; one for several does.
    let only = scene.run(&scene.agent, &["pulse", "--doing", "x"]).line();
    assert!(only.starts_with("acme/builder is working in website-v2"), "{only}");
    let wide = make_key(&scene.room.db, "client", "acme/builder", &["website-v2", "docs"]);
    let nameless = scene.run(&wide, &["pulse", "--doing", "x"]).fault(2);
    assert!(
        nameless.starts_with("which room?") && nameless.ends_with("your key sees docs, website-v2"),
        "{nameless}"
    );
    let unknown =
        scene.run(&format!("prk_{}", "A".repeat(43)), &["pulse", "--project", "website-v2", "--doing", "x"]);
    let fault = unknown.fault(2);
    assert!(
        fault.ends_with(
            "does not know the key in PRICKLE_TOKEN; put one there that it knows, or leave it out"
        ),
        "{fault}"
    );

    fs::write(
        scene.folder.path().join(".prickle.toml"),
        "project = \"website-v2\"\nserver = \"http://evil\"\n",
    )
    .unwrap();
    let ran = scene.run(&scene.agent, &["pulse", "--doing", "x"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "acme/builder is working in website-v2: x\n"));
    assert!(
        ran.err.ends_with(".prickle.toml may hold only project; server in it is ignored\n"),
        "{}",
        ran.err
    );

    fs::create_dir_all(scene.folder.path().join("prickle")).unwrap();
    fs::write(scene.folder.path().join("prickle/config.toml"), "project = 5\n").unwrap();
    let fault = scene.pulse(&["--doing", "x"]).fault(2);
    assert!(fault.contains("config.toml, line 1: project = 5 must be"), "{fault}");
}

#[test]
fn without_a_room_the_next_step_is_named() {
    let mut scene = Scene::open();
    scene.room.kill9();
    let said = format!(
        "no room to be reached at {0} (connection refused); start one with: prickle serve --addr {1}",
        scene.url(),
        scene.url().trim_start_matches("http://")
    );
    assert_eq!(scene.pulse(&["--doing", "x"]).fault(2), said);
    for args in [&["watch", "website-v2", "--once"][..], &["watch", "website-v2", "--once", "--json"]] {
        assert_eq!(scene.run(&scene.person, args).fault(2), said);
    }
    let keyless = prickle(scene.folder.path())
        .env("USER", "ada")
        .env("PRICKLE_SERVER", "http://127.0.0.1:7766")
        .args(["pulse", "--project", "p", "--doing", "x"])
        .output();
    assert_eq!(
        Ran::of(keyless.unwrap()).fault(2),
        "there is no key for http://127.0.0.1:7766; make one with: \
         export PRICKLE_TOKEN=\"$(prickle key create --kind client --agent ada/NAME --project p)\""
    );
}

#[test]
fn one_look_as_json_is_the_rooms_snapshot() {
    let scene = Scene::open();
    scene.pulse(&["--doing", "one \u{1f600} 料金"]).line();
    let line = scene.run(&scene.person, &["watch", "website-v2", "--once", "--json"]).line();
    let seen: Value = serde_json::from_str(&line).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (status, mut room) =
        runtime.block_on(scene.room.caller().get(&scene.person, "/v1/projects/website-v2/pulse"));
    assert_eq!(status, 200);
    let names: Vec<&String> = seen.as_object().unwrap().keys().collect();
    assert_eq!(names, ["project", "epoch", "seq", "server_time", "pulses"]);
    room["server_time"] = seen["server_time"].clone();
    assert_eq!(seen, room);
    assert_eq!(seen["pulses"][0]["doing"], "one \u{1f600} 料金");
}

#[test]
fn frames_go_on_over_a_killed_room() {
    let mut scene = Scene::open();
    scene.pulse(&["--doing", "one"]).line();
    let watch = scene.watch(&["--json"]);
    let hello = watch.frame();
    assert_eq!(
        (&hello["type"], &hello["seq"], &hello["resumed"]),
        (&json!("hello"), &json!(1), &json!(false))
    );
    let snapshot = watch.frame();
    assert_eq!((&snapshot["type"], &snapshot["last"]), (&json!("snapshot"), &json!(true)));
    assert_eq!(watch.frame()["type"], "recent");
    scene.pulse(&["--doing", "two"]).line();
    let event = watch.frame();
    assert_eq!(
        (&event["type"], &event["seq"], &event["pulse"]["doing"]),
        (&json!("pulse"), &json!(2), &json!("two"))
    );
    scene.room.kill9();
    let said = watch.said();
    assert!(
        said.starts_with("prickle: offline: ") && said.ends_with("Trying again until it works."),
        "{said}"
    );
    scene.room.again();
    scene.pulse(&["--doing", "three"]).line();
    assert_eq!(watch.said(), "prickle: live again");
    let hello = watch.frame();
    assert_eq!((&hello["type"], &hello["resumed"]), (&json!("hello"), &json!(true)));
    assert_eq!(watch.frame()["pulse"]["doing"], "three");
}

#[test]
fn a_signal_ends_the_frames_with_its_own_code() {
    let scene = Scene::open();
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        let mut watch = scene.watch(&["--json"]);
        watch.next();
        watch.signal(signal);
        assert_eq!(watch.ended().code(), Some(code));
        assert!(watch.err.recv_timeout(PATIENCE).is_err(), "a wish is no fault to speak of");
    }
}

#[test]
fn a_reader_that_has_enough_ends_the_frames_even_in_a_quiet_room() {
    let scene = Scene::open();
    scene.pulse(&["--doing", "x"]).line();
    let mut command = scene.command(&scene.person, &["watch", "website-v2", "--json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("\"recent\"")), "all that a quiet room has to say");
    drop(lines);
    assert_eq!(ended(&mut child).code(), Some(0));
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(said, "");
}

#[test]
fn a_reader_that_does_not_read_does_not_hold_up_a_signal() {
    let scene = Scene::open();
    let mut command = scene.command(&scene.person, &["watch", "website-v2", "--json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // More than a pipe holds.
    let files: Vec<String> =
        (0..50).flat_map(|n| ["--file".into(), format!("{n}{}", "z".repeat(290))]).collect();
    for n in 0..8 {
        let doing = n.to_string();
        let args: Vec<&str> =
            ["--doing", &doing].into_iter().chain(files.iter().map(String::as_str)).collect();
        scene.pulse(&args).line();
    }
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(ended(&mut child).code(), Some(143));
}

#[test]
fn a_key_that_is_revoked_meanwhile_ends_the_frames_with_the_next_step() {
    let scene = Scene::open();
    let mut watch = scene.watch(&["--json"]);
    watch.next();
    let revoked = scene.run("", &["key", "revoke", "2", "--db", scene.room.db.to_str().unwrap()]);
    assert_eq!(revoked.code, Some(0), "{revoked:?}");
    let said = watch.said();
    assert!(said.starts_with("prickle: this key was revoked; make one with: prickle key create"), "{said}");
    assert_eq!(watch.ended().code(), Some(2));
}

#[test]
fn a_broken_config_does_not_stop_a_watch() {
    let scene = Scene::open();
    fs::create_dir_all(scene.folder.path().join("prickle")).unwrap();
    fs::write(scene.folder.path().join("prickle/config.toml"), "project = \"website-v2\"\ntheme = 5\n")
        .unwrap();
    let ran = scene.run(&scene.person, &["watch", "--once", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.starts_with("{\"project\":\"website-v2\""));
    assert!(ran.err.contains("config.toml, line 2: theme = 5 must be a theme's name"), "{}", ran.err);
}

#[test]
fn nothing_of_others_that_a_terminal_obeys_is_written() {
    let scene = Scene::open();
    let hostile = "a\u{1b}[2Jb\u{9b}2Jc\u{202e}d\u{200b}e\u{e0041}f\ng";
    let watch = scene.watch(&["--json"]);
    watch.next();
    let line = scene.pulse(&["--doing", hostile, "--branch", hostile]).line();
    let once = scene.run(&scene.person, &["watch", "website-v2", "--once", "--json"]).line();
    let json = scene.pulse(&["--doing", hostile, "--json"]).line();
    let frame = loop {
        let line = watch.next();
        if line.starts_with("{\"type\":\"pulse\"") {
            break line;
        }
    };
    for text in [&line, &once, &json, &frame] {
        let bad = text.chars().find(|c| c.is_control() || "\u{202e}\u{200b}\u{e0041}".contains(*c));
        assert_eq!(bad, None, "{text:?}");
    }
    let value: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["pulse"]["doing"], hostile, "the value is the same");
    let value: Value = serde_json::from_str(&frame).unwrap();
    assert_eq!(value["pulse"]["branch"], hostile);
}

#[test]
fn a_recorded_room_can_be_read_again() {
    let scene = Scene::open();
    scene.pulse(&["--doing", "one"]).line();
    let file = scene.folder.path().join("room.jsonl");
    let watch = scene.watch(&["--json", "--record", file.to_str().unwrap()]);
    while watch.frame()["type"] != "recent" {}
    scene.pulse(&["--doing", "two"]).line();
    assert_eq!(watch.frame()["pulse"]["doing"], "two");
    // A frame is passed on before it is recorded.
    let deadline = Instant::now() + PATIENCE;
    while !fs::read_to_string(&file).unwrap().contains("two") {
        assert!(Instant::now() < deadline, "not recorded");
        std::thread::yield_now();
    }
    drop(watch);
    let first = fs::read_to_string(&file).unwrap().lines().next().unwrap().to_owned();
    assert_eq!(first, r#"{"prickle":"recording","version":1,"project":"website-v2","owner":"acme"}"#);
    // A recording needs neither room nor key.
    let replay = |args: &[&str]| {
        let mut command = prickle(scene.folder.path());
        Ran::of(command.args(["watch", "--replay", file.to_str().unwrap()]).args(args).output().unwrap())
    };
    let all = replay(&["--json"]);
    let news: Vec<Value> = all.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = news.iter().map(|news| news["news"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["connecting", "live", "snapshot", "recent", "event"]);
    let at = news[3]["at"].as_str().unwrap();
    assert_eq!(replay(&["--json", "--at", at]).out.lines().count(), 4);
    let last: Value = serde_json::from_str(&replay(&["--once", "--json"]).line()).unwrap();
    assert_eq!((&last["project"], &last["seq"]), (&json!("website-v2"), &json!(2)));
    assert_eq!(last["pulses"][0]["doing"], "two");
    let earlier: Value = serde_json::from_str(&replay(&["--once", "--json", "--at", at]).line()).unwrap();
    assert_eq!((&earlier["seq"], &earlier["pulses"][0]["doing"]), (&json!(1), &json!("one")));
    assert!(replay(&["shop", "--json"]).fault(2).ends_with("is a recording of website-v2, not of shop"));
    let again =
        scene.run(&scene.person, &["watch", "website-v2", "--json", "--record", file.to_str().unwrap()]);
    assert!(again.fault(2).ends_with("room.jsonl: is there already; name a new file to record into"));
}

fn mode(path: &Path) -> u32 {
    std::os::unix::fs::PermissionsExt::mode(&fs::metadata(path).unwrap().permissions()) & 0o777
}

#[test]
fn case_f09_credentials_are_private_from_the_start_and_on_every_rewrite() {
    for umask in ["022", "000"] {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join(".config/prickle");
        let save = |owner: &str| {
            let real = prickle(folder.path());
            let mut command = Command::new("sh");
            command.args(["-c", &format!("umask {umask}; exec \"$0\" \"$@\"")]).arg(real.get_program());
            command.args(["key", "create", "--kind", "person", "--owner", owner, "--all", "--save"]);
            let output = command.env_clear().env("HOME", folder.path()).output();
            let ran = Ran::of(output.unwrap());
            assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""), "{ran:?}");
        };
        save("acme");
        let file = config.join("credentials.toml");
        assert_eq!([mode(&config), mode(&file)], [0o700, 0o600], "umask {umask}");
        let first = fs::read_to_string(&file).unwrap();
        // What the user made narrower stays so; what was too wide does not.
        for (before, after) in [(0o400, 0o400), (0o644, 0o600), (0o600, 0o600)] {
            fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(before)).unwrap();
            save("lumen");
            assert_eq!(mode(&file), after, "umask {umask}, {before:o} before");
        }
        assert_ne!(fs::read_to_string(&file).unwrap(), first, "it was rewritten");
        let left: Vec<_> = fs::read_dir(&config).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left, ["credentials.toml"], "nothing half-written is left");
    }
}

#[test]
fn a_saved_key_that_the_room_there_does_not_know_is_said() {
    let scene = Scene::open();
    let create = |db: &std::path::Path| {
        let url = scene.url();
        let db = db.to_str().unwrap();
        let args = [
            "key", "create", "--kind", "person", "--owner", "acme", "--all", "--save", "--server", &url,
            "--db", db,
        ];
        Ran::of(prickle(scene.folder.path()).args(args).output().unwrap())
    };
    let good = create(&scene.room.db);
    assert!(
        good.code == Some(0) && !good.err.contains("does not know") && !good.err.contains("in place"),
        "{good:?}"
    );
    // One that would not do there takes no other's place.
    let saved = || fs::read_to_string(scene.folder.path().join("prickle/credentials.toml")).unwrap();
    let before = saved();
    let fault = create(&scene.folder.path().join("other/room.db")).fault(2);
    assert!(fault.contains("does not know this key: it uses another database than "), "{fault}");
    assert_eq!(saved(), before);
}
