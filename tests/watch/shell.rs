//! Under a shell with job control: stopped with a normal terminal, brought back at once and up to date.

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::json;

use super::{PRICKLE, Stage, assert_given_back};
use crate::pty::Terminal;

/// An interactive shell that has `prickle watch` on the screen.
fn shell_with_watch(stage: &Stage, shell: &[&str], columns: u16, rows: u16) -> Terminal {
    let mut terminal =
        stage.terminal(shell, &[("PS1", "ready> "), ("ENV", ""), ("PRICKLE", PRICKLE)], columns, rows);
    terminal.wait_for("ready>");
    terminal.send("\"$PRICKLE\" watch\r");
    terminal.wait_for("Writing the hero copy");
    terminal
}

/// The shell has the terminal, and it is one that a person can type into.
#[track_caller]
fn wait_for_prompt(terminal: &mut Terminal, sum: u32) {
    terminal.wait_until("the shell's own screen, and its prompt", |terminal| {
        let prompt = terminal.rows().iter().rfind(|row| !row.is_empty()).is_some_and(|row| row == "ready>");
        let screen = terminal.screen();
        prompt && !screen.alternate_screen() && !screen.hide_cursor()
    });
    // What is typed is shown, and what it says comes out.
    terminal.send(&format!("echo sum $(({sum} + 1))\r"));
    terminal.wait_for_all(&[&format!("echo sum $(({sum} + 1))"), &format!("sum {}", sum + 1)]);
    assert_given_back(terminal);
}

/// The whole picture, drawn in raw mode at this width.
#[track_caller]
fn wait_for_picture(terminal: &mut Terminal, columns: usize, doing: &str) {
    terminal.wait_for(doing);
    terminal.wait_until("the whole picture", |terminal| {
        let rows = terminal.rows();
        let edge = rows[0].chars().count() == columns - 1 && rows[0].contains("live");
        edge && rows[1].contains("─ Agents ──") && rows.last().unwrap().ends_with("? help")
    });
    let screen = terminal.screen();
    assert!(screen.alternate_screen() && screen.hide_cursor());
    // Raw mode: a key acts at once, and is not shown.
    terminal.send("?");
    terminal.wait_for("Keys in the Room");
    terminal.send("?");
    terminal.wait_without("Keys in the Room");
}

fn quit_to_shell(terminal: &mut Terminal) {
    terminal.send("q");
    wait_for_prompt(terminal, 4000);
    terminal.send("echo code $?\r");
    terminal.wait_for("code 0");
    terminal.send("exit\r");
    terminal.wait_exit();
}

const BASH: &[&str] = &["bash", "--norc", "--noprofile", "-i"];
const SH: &[&str] = &["sh", "-i"];

#[test]
fn case_a20_ctrl_z_and_fg() {
    let (stage, claude) = Stage::with_claude();
    for shell in [BASH, SH] {
        stage.says(&claude, json!({"doing": "Writing the hero copy"}));
        let mut terminal = shell_with_watch(&stage, shell, 80, 24);
        for (n, columns) in [(1, 100), (2, 80)] {
            terminal.send("\x1a");
            wait_for_prompt(&mut terminal, n);
            assert!(terminal.text().contains("topped"), "{}", terminal.text());
            let doing = format!("Event while stopped {n}");
            stage.says(&claude, json!({ "doing": doing }));
            terminal.resize(columns, 24);
            terminal.send("fg\r");
            wait_for_picture(&mut terminal, columns.into(), &doing);
        }
        quit_to_shell(&mut terminal);
    }
}

/// From outside: `kill -TSTP` asks, `kill -STOP` does not.
#[test]
fn case_a20_stopped_by_signals_from_outside() {
    let (stage, claude) = Stage::with_claude();
    for (n, signal) in [(10, Signal::TSTP), (20, Signal::STOP)] {
        stage.says(&claude, json!({"doing": "Writing the hero copy"}));
        let mut terminal = shell_with_watch(&stage, BASH, 80, 24);
        let job = Pid::from_raw(terminal.foreground()).unwrap();
        kill_process(job, signal).unwrap();
        terminal.wait_anyhow("the shell has the terminal", |t| t.foreground() != job.as_raw_nonzero().get());
        if signal == Signal::TSTP {
            wait_for_prompt(&mut terminal, n);
        }
        let doing = format!("Event while stopped {n}");
        stage.says(&claude, json!({ "doing": doing }));
        terminal.send("fg\r");
        wait_for_picture(&mut terminal, 80, &doing);
        quit_to_shell(&mut terminal);
    }
}

/// A full screen has no place in the background: there it waits, and leaves the terminal alone.
#[test]
fn case_a20_in_the_background_it_waits() {
    let (stage, claude) = Stage::with_claude();
    let mut terminal = shell_with_watch(&stage, BASH, 80, 24);
    let job = Pid::from_raw(terminal.foreground()).unwrap();
    terminal.send("\x1a");
    wait_for_prompt(&mut terminal, 1);
    terminal.send("bg\r");
    wait_for_prompt(&mut terminal, 2);
    stage.says(&claude, json!({"doing": "Event in the background"}));
    terminal.send("fg\r");
    wait_for_picture(&mut terminal, 80, "Event in the background");
    // Continued while it runs: nothing but a fresh picture.
    kill_process_group(job, Signal::CONT).unwrap();
    wait_for_picture(&mut terminal, 80, "Event in the background");
    quit_to_shell(&mut terminal);
}

/// Without a shell that could bring it back, it says so and stays.
#[test]
fn case_a20_ctrl_z_without_job_control_stays() {
    let (stage, claude) = Stage::with_claude();
    let mut watch = stage.watch(80, 24);
    watch.wait_for("Writing the hero copy");
    watch.send("\x1a");
    watch.wait_for("no shell with job control");
    stage.says(&claude, json!({"doing": "Still watched"}));
    watch.wait_for("Still watched");
    super::quit(&mut watch);
}
