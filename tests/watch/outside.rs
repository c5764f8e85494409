//! What reaches beyond the screen: the terminal's title, calls for a person who looks elsewhere, and what is left of
//! both afterwards.

use std::fs;
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::foreign::assert_only_ours;
use super::{PRICKLE, Stage, quit, quit_told};
use crate::pty::Terminal;

/// The operating system commands with this number, in order: what stands between `ESC ] N ;` and BEL.
pub fn commands(raw: &str, number: &str) -> Vec<String> {
    let start = format!("\x1b]{number};");
    raw.split(&start).skip(1).map(|rest| rest.split('\x07').next().unwrap().to_owned()).collect()
}

/// The titles that were set, in order; none in a row twice.
fn titles(watch: &Terminal) -> Vec<String> {
    let titles = commands(&watch.raw_text(), "0");
    assert!(titles.windows(2).all(|two| two[0] != two[1]), "set without need: {titles:?}");
    titles
}

/// How often the bell was rung.
fn bells(watch: &Terminal) -> usize {
    let raw = watch.raw_text();
    raw.matches('\x07').count() - raw.matches("\x1b]").count()
}

#[track_caller]
fn wait_for_title(watch: &mut Terminal, title: &str) {
    watch.wait_until(title, |watch| titles(watch).last().is_some_and(|last| last == title));
}

/// Writes the watcher's settings.
fn settings(stage: &Stage, text: &str) {
    let home = stage.folder.path().join("watcher");
    fs::create_dir_all(&home).unwrap();
    fs::write(home.join("config.toml"), text).unwrap();
}

fn failure() -> Value {
    json!({"run_failure": {"class": "auth", "step": "claude_code_sign_in"}, "task_id": "t-1"})
}

/// What a runner says after a run that went well.
fn cleared() -> Value {
    json!({"clear_run_failure": true, "task_id": "t-1"})
}

#[test]
fn the_title_says_what_needs_a_person_and_is_given_back() {
    let (mut stage, claude) = Stage::with_claude();
    let fixer = stage.agent("lumen/fixer");
    let mut watch = stage.watch(80, 24);
    wait_for_title(&mut watch, "1 of 1 working · website-v2");
    stage.says(
        &claude,
        json!({"doing": "Removing it", "intent": {"kind": "remove", "paths": ["src/auth/**"]}}),
    );
    stage.says(
        &fixer,
        json!({"doing": "Fixing it", "intent": {"kind": "change", "paths": ["src/auth/login.rs"]}}),
    );
    wait_for_title(&mut watch, "≠ 1 clash · 2 of 2 working · website-v2");
    stage.says(
        &fixer,
        json!({"doing": "Fixing it", "task_id": "t-1", "intent": {"kind": "change", "paths": ["src/auth/login.rs"]}}),
    );
    stage.says(&fixer, failure());
    wait_for_title(&mut watch, "! 1 failed · ≠ 1 clash · 1 of 2 working · website-v2");
    stage.room.kill9();
    watch.wait_until("offline", |watch| titles(watch).last().unwrap().starts_with("website-v2 offline ("));
    wait_for_title(&mut watch, "website-v2 offline (connection refused)");
    // It is no clock: while the header counts seconds, the title stands.
    let (before, header) = (titles(&watch).len(), watch.rows()[0].clone());
    watch.wait_until("another second", |watch| watch.rows()[0] != header);
    assert_eq!(titles(&watch).len(), before);
    quit(&mut watch);
    let raw = watch.raw_text();
    assert!(raw.starts_with("\x1b[22;0t\x1b[?1049h"), "kept first: {raw:?}");
    assert!(raw.ends_with("\x1b]0;\x07\x1b[23;0t\x1b[?1049l\x1b[?25h"), "{:?}", super::tail(&watch));
    assert_only_ours(&watch);
    assert!(!raw.contains("\x1b[?1004"), "nobody is to be called, so nobody's eyes are asked for");
}

#[test]
fn a_title_is_in_the_letters_that_the_terminal_has() {
    let (stage, claude) = Stage::with_claude();
    stage.says(&claude, json!({"doing": "Signing in", "task_id": "t-1"}));
    stage.says(&claude, failure());
    let mut watch = stage.terminal(&[PRICKLE, "watch"], &[("LANG", "C")], 38, 20);
    wait_for_title(&mut watch, "! 1 failed, 0 of 1 working, website-v2");
    quit(&mut watch);
}

#[test]
fn a_setting_leaves_the_title_alone_and_a_terminal_without_one_is_asked_for_nothing() {
    let (stage, _) = Stage::with_claude();
    let untouched = |watch: &mut Terminal| {
        watch.wait_for_all(&["Writing the hero copy", "live"]);
        quit(watch);
        let raw = watch.raw_text();
        assert!(!raw.contains("\x1b]") && !raw.contains("\x1b[22;") && !raw.contains("\x1b[23;"));
    };
    untouched(&mut stage.terminal(&[PRICKLE, "watch"], &[("TERM", "linux")], 80, 24));
    settings(&stage, "title = false\n");
    untouched(&mut stage.watch(80, 24));
}

#[test]
fn a_recordings_title_says_that_it_is_one() {
    let stage = Stage::open();
    let recording = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/website-v2.jsonl");
    let argv = [PRICKLE, "watch", "--replay", recording, "--at", "2026-11-30T14:32:10Z"];
    let mut watch = stage.terminal(&argv, &[("PRICKLE_PROJECT", "")], 80, 24);
    wait_for_title(&mut watch, "! 2 failed · ≠ 1 clash · 3 of 9 working · website-v2 · recording");
    watch.wait_for("recording · ");
    assert!(!watch.rows()[0].ends_with("live"), "{:?}", watch.rows()[0]);
    quit(&mut watch);
}

#[test]
fn a_title_comes_back_with_the_job() {
    let (stage, claude) = Stage::with_claude();
    let mut terminal = stage.terminal(
        &["bash", "--norc", "--noprofile", "-i"],
        &[("PS1", "ready> "), ("PRICKLE", PRICKLE)],
        80,
        24,
    );
    terminal.wait_for("ready>");
    terminal.send("\"$PRICKLE\" watch\r");
    wait_for_title(&mut terminal, "1 of 1 working · website-v2");
    terminal.send("\x1a");
    terminal
        .wait_anyhow("the shell's screen", |t| !t.screen().alternate_screen() && t.text().contains("topped"));
    assert_eq!(titles(&terminal).last().unwrap(), "");
    stage.says(&claude, json!({"doing": "Event while stopped"}));
    terminal.send("fg\r");
    wait_for_title(&mut terminal, "1 of 1 working · website-v2");
    terminal.send("q");
    terminal.wait_anyhow("the shell's screen", |t| !t.screen().alternate_screen());
    let raw = terminal.raw_text();
    assert_eq!((raw.matches("\x1b[22;0t").count(), raw.matches("\x1b[23;0t").count()), (2, 2));
}

/// A watch that calls, on a room where one of the watcher's agents has failed already.
fn calling(how: &str) -> (Stage, super::Agent, Terminal) {
    let (stage, claude) = Stage::with_claude();
    let old = stage.agent("acme/old");
    stage.says(&old, json!({"doing": "Signing in", "task_id": "t-1"}));
    stage.says(&old, failure());
    settings(&stage, &format!("notify = {how}\n"));
    let mut watch = stage.watch(120, 36); // high enough for the activity
    watch.wait_for_all(&["1 failed", "claude     working", "live"]);
    assert!(watch.raw_text().contains("\x1b[?1004h"), "the terminal is to tell who looks");
    (stage, claude, watch)
}

#[test]
fn the_bell_rings_once_for_what_begins_while_nobody_looks() {
    let (mut stage, claude, mut watch) = calling("\"bell\"");
    let other = stage.agent("lumen/other");
    assert_eq!(bells(&watch), 0, "what stood at the first picture is no news");
    watch.send("\x1b[I");
    stage.says(&claude, json!({"doing": "Signing in", "task_id": "t-1"}));
    stage.says(&claude, failure());
    watch.wait_for("2 failed");
    watch.send("\x1b[O");
    stage.says(&other, json!({"doing": "Somebody else's trouble", "task_id": "t-1"}));
    stage.says(&other, failure());
    watch.wait_for("3 failed");
    assert_eq!(bells(&watch), 0, "what was seen, and what is others', calls nobody");

    stage.says(&claude, cleared());
    watch.wait_for("2 failed");
    stage.says(&claude, failure());
    watch.wait_for("3 failed");
    watch.wait_until("the bell", |watch| bells(watch) == 1);
    // The same again, and the same after an outage, is no news.
    stage.says(&claude, failure());
    stage.says(&claude, json!({"doing": "Still at it"}));
    watch.wait_for("Still at it");
    stage.room.kill9();
    watch.wait_for("offline");
    stage.reopen();
    watch.send("r");
    watch.wait_for("live");
    stage.says(&claude, json!({"doing": "After the outage"}));
    watch.wait_for("After the outage");
    assert_eq!(bells(&watch), 1);

    // A clash with one of the watcher's, each time that it begins.
    let remove = json!({"doing": "Removing it", "intent": {"kind": "remove", "paths": ["src/auth/**"]}});
    let change = json!({"doing": "Fixing it", "intent": {"kind": "change", "paths": ["src/auth/a.rs"]}});
    stage.says(&claude, remove);
    stage.says(&other, change.clone());
    watch.wait_until("the bell", |watch| watch.text().contains("≠ 1 clash") && bells(watch) == 2);
    stage.says(&other, json!({"doing": "Something else"}));
    watch.wait_without("≠ 1 clash");
    stage.says(&other, change);
    watch.wait_until("the bell", |watch| watch.text().contains("≠ 1 clash") && bells(watch) == 3);
    watch.send("q");
    watch.wait_exit();
    let raw = watch.raw_text();
    assert!(
        raw.ends_with("\x1b[?1004l\x1b]0;\x07\x1b[23;0t\x1b[?1049l\x1b[?25h"),
        "{:?}",
        super::tail(&watch)
    );
}

#[test]
fn a_terminals_notification_says_who_and_what() {
    let (stage, claude, mut watch) = calling("\"osc9\"");
    stage.says(&claude, json!({"doing": "Signing in", "task_id": "t-1"}));
    stage.says(&claude, failure());
    // This terminal never told who looks, so nobody can be known to.
    watch.wait_until("the notification", |watch| !commands(&watch.raw_text(), "9").is_empty());
    watch.wait_for("2 failed");
    quit(&mut watch);
    assert_eq!(commands(&watch.raw_text(), "9"), ["acme/claude: Claude Code is signed out"]);
}

/// Waits for a file that a command writes.
#[track_caller]
fn wait_for_file(watch: &mut Terminal, path: &PathBuf, holds: impl Fn(&str) -> bool) -> String {
    let read = || fs::read_to_string(path).unwrap_or_default();
    watch.wait_until(&path.display().to_string(), |_| holds(&read()));
    read()
}

#[test]
fn a_command_is_told_by_its_environment_and_keeps_off_the_screen() {
    let how = r#"["sh", "-c", "echo loud; echo loud >&2; cat; printf '%s|' \"$PRICKLE_EVENT\" \"$PRICKLE_AGENT\" \"$PRICKLE_PROJECT\" \"$PRICKLE_TEXT\" >> told; ps -o pgid= -p $$ >> group; echo >> told"]"#;
    let (stage, claude, mut watch) = calling(how);
    let other = stage.agent("lumen/other");
    let told = stage.folder.path().join("told");
    stage.says(
        &claude,
        json!({"doing": "Removing it", "task_id": "t-1",
        "intent": {"kind": "remove", "paths": ["src/\u{202e}auth/\u{1b}]0;x\u{7}$(touch hacked)"]}}),
    );
    stage.says(&claude, failure());
    let text = wait_for_file(&mut watch, &told, |text| text.ends_with('\n'));
    assert_eq!(text, "failed|acme/claude|website-v2|acme/claude: Claude Code is signed out|\n");
    let path = json!(["src/\u{202e}auth/\u{1b}]0;x\u{7}$(touch hacked)"]);
    stage.says(&other, json!({"doing": "Changing it", "intent": {"kind": "change", "paths": path}}));
    let text = wait_for_file(&mut watch, &told, |text| text.matches('\n').count() == 2);
    let clash = text.lines().nth(1).unwrap();
    assert!(
        clash.starts_with("clash|acme/claude|website-v2|acme/claude is about to remove src/<U+202E>auth/"),
        "{clash}"
    );
    assert!(
        clash.contains("$(touch hacked)") && !clash.contains(['\u{1b}', '\u{7}', '\u{202e}']),
        "{clash:?}"
    );
    assert!(!stage.folder.path().join("hacked").exists());
    let group: i32 = fs::read_to_string(stage.folder.path().join("group"))
        .unwrap()
        .split_whitespace()
        .next()
        .unwrap()
        .parse()
        .unwrap();
    assert_ne!(group, watch.foreground(), "the terminal's signals are not meant for it");
    quit(&mut watch);
    assert!(!watch.raw_text().contains("loud"));
}

#[test]
fn a_command_that_fails_is_said_once() {
    for (how, said) in [
        ("[\"no-such-program-here\"]", "notify = [\"no-such-program-here\"]: entity not found"),
        ("[\"sh\", \"-c\", \"echo >> ran; exit 3\"]", ": exit status: 3"),
    ] {
        let (stage, claude, mut watch) = calling(how);
        stage.says(&claude, json!({"doing": "Signing in", "task_id": "t-1"}));
        stage.says(&claude, failure());
        watch.wait_for(said);
        watch.send("j");
        watch.wait_without(said);
        stage.says(&claude, cleared());
        watch.wait_for("1 failed");
        stage.says(&claude, failure());
        watch.wait_for("2 failed");
        if how.contains("ran") {
            let ran = stage.folder.path().join("ran");
            wait_for_file(&mut watch, &ran, |text| text.len() == 2);
        }
        stage.says(&claude, json!({"doing": "And on"}));
        watch.wait_for("And on");
        assert!(!watch.text().contains(said));
        quit(&mut watch);
    }
}

#[test]
fn a_copy_goes_through_the_terminal_and_says_no_more_than_it_knows() {
    let (stage, claude) = Stage::with_claude();
    stage.says(&claude, json!({"doing": "Signing in \u{202e}\u{1b}]52;c;aGk=\u{7}", "task_id": "t-1"}));
    stage.says(&claude, failure());
    let mut watch = stage.watch(120, 32);
    watch.wait_for_all(&["claude auth login", "live"]);
    watch.send("y");
    watch.wait_for("sent to the clipboard");
    watch.send("Y");
    watch.wait_until("two copies", |watch| commands(&watch.raw_text(), "52").len() == 2);
    quit(&mut watch);
    let copies = commands(&watch.raw_text(), "52");
    let texts: Vec<String> = copies
        .iter()
        .map(|copy| STANDARD.decode(copy.strip_prefix("c;").unwrap()).unwrap())
        .map(|bytes| String::from_utf8(bytes).unwrap())
        .collect();
    assert_eq!(copies[0], "c;Y2xhdWRlIGF1dGggbG9naW4=");
    assert_eq!(texts[0], "claude auth login");
    let row: Value = serde_json::from_str(&texts[1]).unwrap();
    assert_eq!(row["agent_id"], "acme/claude", "{row}");
    assert!(!texts[1].contains(['\u{1b}', '\u{7}', '\u{202e}', '\n']), "{:?}", texts[1]);
}

#[test]
fn keys_of_ones_own_work_and_are_named_instead_of_the_usual_ones() {
    let (stage, _) = Stage::with_claude();
    settings(&stage, "[keys]\nhelp = [\"f1\", \"H\"]\nquit = \"ctrl-x\"\ntheme = []\n");
    let mut watch = stage.watch(80, 24);
    watch.wait_for_all(&["Writing the hero copy", "Ctrl-x quit", "F1 help"]);
    watch.send("q?t"); // not any more
    for key in ["\x1bOP", "H"] {
        watch.send(key);
        watch.wait_for("Keys in the Room");
        watch.send(key);
        watch.wait_without("Keys in the Room");
    }
    assert!(!watch.text().contains("theme "));
    watch.send("\x18");
    assert_eq!(watch.wait_exit().exit_code(), 0);
    // With a fault the usual keys are there, and it is said why.
    settings(&stage, "[keys]\nhelp = \"j\"\n");
    let mut watch = stage.watch(140, 32);
    watch.wait_for("line 2: help = j: that is the key of down too; give down another");
    watch.send("?");
    watch.wait_for("Keys in the Room");
    watch.send("?");
    watch.wait_without("Keys in the Room");
    quit_told(
        &mut watch,
        "line 2: help = j: that is the key of down too; give down another; until then the usual keys are in use",
    );
}
