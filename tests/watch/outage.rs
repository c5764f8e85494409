//! The room goes away and comes back: what the watcher says meanwhile, and that nothing is lost or told twice.

use std::io::{BufRead, BufReader};
use std::process::Child;
use std::sync::mpsc;
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::{Stage, quit};
use crate::pty::{PATIENCE, Terminal};

fn signal(id: u32, signal: Signal) {
    let id = Pid::from_raw(i32::try_from(id).unwrap()).unwrap();
    kill_process(id, signal).unwrap();
}

/// `prickle watch --plain` into a pipe, its lines so far.
struct Plain {
    child: Child,
    heard: mpsc::Receiver<String>,
    lines: Vec<String>,
}

impl Plain {
    fn start(stage: &Stage) -> Self {
        let mut child = stage.run(&["watch", "--plain"]);
        let out = BufReader::new(child.stdout.take().unwrap());
        let (sender, heard) = mpsc::channel();
        thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        Self { child, heard, lines: Vec::new() }
    }

    #[track_caller]
    fn wait_for(&mut self, text: &str) {
        while !self.lines.iter().any(|line| line.contains(text)) {
            match self.heard.recv_timeout(PATIENCE) {
                Ok(line) => self.lines.push(line),
                Err(error) => panic!("{error}: no line with {text:?} in {:#?}", self.lines),
            }
        }
    }

    fn count(&self, text: &str) -> usize {
        self.lines.iter().filter(|line| line.contains(text)).count()
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_pulse_is_on_the_screen_and_stays_while_the_room_is_away() {
    let (mut stage, claude) = Stage::with_claude();
    let mut watch = stage.watch(120, 32);
    watch.wait_for_all(&["Agents", "claude", "Writing the hero copy", "live"]);
    stage.says(&claude, json!({"doing": "Looking at the hero image", "files": ["src/hero.tsx"]}));
    watch.wait_for_all(&["Looking at the hero image", "src/hero.tsx"]);

    stage.room.kill9();
    watch.wait_until("offline with a countdown", |watch| {
        let header = watch.rows()[0].clone();
        header.starts_with(" website-v2   offline ")
            && header.contains(" · retry in ")
            && header.ends_with("r now")
    });
    watch.wait_for("(connection refused)");
    let text = watch.text();
    assert!(text.contains("Looking at the hero image"), "the picture is gone:\n{text}");
    let dated = text.lines().nth(1).unwrap();
    assert!(dated.starts_with("─ Agents as of ") && dated.contains(':'), "{dated}");

    // Help works offline, and `r` asks at once.
    watch.send("?");
    watch.wait_for("Keys in the Room");
    watch.send("?");
    watch.wait_without("Keys in the Room");
    stage.reopen();
    watch.send("r");
    watch.wait_until("live again", |watch| watch.rows()[0].contains("live"));
    assert!(!watch.text().contains("as of"));
    stage.says(&claude, json!({"doing": "Back at the hero image"}));
    watch.wait_for("Back at the hero image");
    quit(&mut watch);
}

/// The watchers stand still while the room goes, comes back and is told three things: so they have missed all
/// of it, whatever the machine's speed.
#[test]
fn what_was_missed_is_caught_up_with_each_event_once() {
    let (mut stage, claude) = Stage::with_claude();
    let mut watch = stage.watch(120, 32);
    let mut plain = Plain::start(&stage);
    watch.wait_for_all(&["Writing the hero copy", "live"]);
    plain.wait_for("Watching website-v2");
    stage.says(&claude, json!({"doing": "Event one"}));
    watch.wait_for("Event one");
    plain.wait_for("Event one");

    let both = [watch.id(), plain.child.id()];
    both.iter().for_each(|id| signal(*id, Signal::STOP));
    stage.room.kill9();
    stage.reopen();
    for doing in ["Event two", "Event three", "Event four"] {
        stage.says(&claude, json!({ "doing": doing }));
    }
    both.iter().for_each(|id| signal(*id, Signal::CONT));
    watch.wait_for("live · caught up with 3 changes");
    plain.wait_for("Live again");
    // The activity has every one of them, newest first.
    watch.wait_for_all(&["Event one", "Event two", "Event three", "Event four"]);
    let activity = |watch: &Terminal| -> Vec<String> {
        let rows = watch.rows();
        let from = rows.iter().position(|row| row.starts_with("─ Activity")).unwrap();
        rows[from..].to_vec()
    };
    let rows = activity(&watch);
    for doing in ["Event one", "Event two", "Event three", "Event four"] {
        assert_eq!(rows.iter().filter(|row| row.contains(doing)).count(), 1, "{doing} in {rows:#?}");
    }

    stage.says(&claude, json!({"doing": "Event five"}));
    watch.wait_for("Event five");
    plain.wait_for("Event five");
    for doing in ["Event one", "Event two", "Event three", "Event four", "Event five"] {
        assert_eq!(plain.count(doing), 1, "{doing} in {:#?}", plain.lines);
    }
    assert_eq!((plain.count("Offline:"), plain.count("Live again")), (1, 1), "{:#?}", plain.lines);
    assert_eq!(plain.count("3 changes caught up with"), 1, "{:#?}", plain.lines);
    quit(&mut watch);
}

/// A case that must hold while libraries would have much to say: only the renderer writes to the terminal.
#[test]
fn case_a42_nothing_but_the_picture_is_written_while_the_room_restarts_five_times() {
    let (mut stage, claude) = Stage::with_claude();
    let loud = [("RUST_LOG", "trace"), ("PRICKLE_LOG", "trace"), ("RUST_BACKTRACE", "full")];
    let mut watch = stage.terminal(&[super::PRICKLE, "watch"], &loud, 80, 24);
    // The same with its errors apart from the screen: they must be none at all.
    let apart = ["/bin/sh", "-c", "exec \"$0\" watch 2>errors", super::PRICKLE];
    let mut other = stage.terminal(&apart, &loud, 80, 24);
    watch.wait_for("Writing the hero copy");
    other.wait_for("Writing the hero copy");
    for n in 1..=5 {
        stage.room.kill9();
        watch.wait_for("offline");
        other.wait_for("offline");
        stage.reopen();
        let doing = format!("After restart {n}");
        stage.says(&claude, json!({ "doing": doing }));
        watch.send("r");
        other.send("r");
        watch.wait_for(&doing);
        other.wait_for(&doing);
    }
    // What stands on the screen is what a screen drawn afresh would show; the header counts on by itself.
    let before = watch.rows().split_off(1);
    watch.wipe();
    watch.resize(81, 24);
    watch.wait_for("? help");
    watch.resize(80, 24);
    watch.wait_until("the same picture", |watch| watch.rows().split_off(1) == before);
    for terminal in [&mut watch, &mut other] {
        let raw = terminal.raw_text();
        for word in ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "::", "panicked"] {
            assert!(!raw.contains(word), "{word} was written");
        }
        quit(terminal);
    }
    assert_eq!(std::fs::read_to_string(stage.folder.path().join("errors")).unwrap(), "");
}

#[test]
fn a_revoked_key_is_no_outage_and_its_sentence_outlives_the_screen() {
    let (stage, _) = Stage::with_claude();
    let mut watch = stage.watch(80, 24);
    watch.wait_for_all(&["Writing the hero copy", "live"]);
    // The person's key is the first that was made.
    let db = stage.room.db.to_str().unwrap();
    let revoked = stage.run(&["key", "revoke", "1", "--db", db]).wait_with_output().unwrap();
    assert!(revoked.status.success(), "{revoked:?}");
    watch.wait_for_all(&["refused", "this key was revoked", "--save", "as of"]);
    assert!(watch.text().contains("Writing the hero copy"), "the picture stays: {}", watch.text());
    assert!(!watch.text().contains("retry in"), "nothing is counted: {}", watch.text());
    watch.send("q");
    let ended = watch.wait_exit();
    assert_eq!((ended.exit_code(), ended.signal()), (2, None), "{}", watch.text());
    let raw = watch.raw_text();
    let after = &raw[raw.rfind("\x1b[?1049l").unwrap()..];
    assert!(after.contains("prickle: this key was revoked; make one with:"), "{after:?}");
}
