//! The keys of the Room, pressed at three sizes: in columns, stacked, and in cards.

use prickle::tui::keys::TABLE;
use serde_json::json;

use super::{Stage, quit};
use crate::pty::Terminal;

const NAMES: [&str; 6] = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"];

/// A room of six agents of two owners; two of the watcher's own have failed, `beta` and `gamma`.
fn full_room() -> Stage {
    let stage = Stage::open();
    let mut decision = String::new();
    for n in 1..=30 {
        decision.push_str(&format!("Reason number {n} stands. "));
    }
    decision.truncate(499);
    // More than any of the details has rows for.
    let files: Vec<String> = (1..=25).map(|n| format!("src/part-{n}/index.tsx")).collect();
    for (owner, names) in [("acme", &NAMES[..3]), ("lumen", &NAMES[3..])] {
        for name in names {
            let agent = stage.agent(&format!("{owner}/{name}"));
            stage.says(
                &agent,
                json!({"doing": format!("The work of {name}"), "task_id": "t-1",
                "branch": format!("branch-of-{name}"), "last_decision": decision, "files": files}),
            );
            if ["beta", "gamma"].contains(name) {
                stage.says(&agent, json!({"run_failure": {"class": "auth", "step": "claude_code_sign_in"}, "task_id": "t-1"}));
            }
        }
    }
    stage
}

/// The name of the agent with the selection bar, if there is one.
fn chosen(watch: &Terminal) -> Option<&'static str> {
    let row = watch.rows().into_iter().find(|row| row.contains('▌'))?;
    NAMES.into_iter().find(|name| row.contains(name))
}

#[track_caller]
fn press(watch: &mut Terminal, keys: &str, expected: &str) {
    watch.send(keys);
    watch.wait_until(&format!("{expected} selected after {keys:?}"), |watch| chosen(watch) == Some(expected));
}

/// Whether the first cell of `text` on the screen is bold: the title of the pane that the keys go to is.
fn is_bold(watch: &Terminal, text: &str) -> bool {
    let rows = watch.rows();
    let (row, line) = rows.iter().enumerate().find(|(_, line)| line.contains(text)).expect(text);
    let column = line[..line.find(text).unwrap()].chars().count();
    let cell = watch.screen().cell(u16::try_from(row).unwrap(), u16::try_from(column).unwrap());
    cell.unwrap().bold()
}

/// Opens the selected agent and goes back, by every key for it.
fn open_and_back(watch: &mut Terminal, id: &str) {
    for (open, back) in [("\r", "\x1b"), ("l", "h"), ("\x1b[C", "\x1b[D"), ("\r", "\x7f")] {
        watch.send(open);
        watch.wait_for("Esc back ─");
        let text = watch.text();
        assert!(text.contains(&format!("─ {id} ─")), "{text}");
        assert_eq!(text.matches("The work of").count(), 1, "one agent has the screen:\n{text}");
        watch.send(back);
        watch.wait_without("Esc back ─");
    }
}

fn help_and_back(watch: &mut Terminal) {
    for close in ["?", "\x1b", "h"] {
        watch.send("?");
        watch.wait_for_all(&["Keys in the Room", "Esc or ? closes"]);
        watch.send(close);
        watch.wait_without("Keys in the Room");
    }
}

fn walk_list_and_detail(stage: &Stage, columns: u16, rows: u16) {
    let mut watch = stage.watch(columns, rows);
    // The eye falls on the first failure of one's own.
    watch.wait_until("beta selected", |watch| chosen(watch) == Some("beta"));
    watch.wait_for_all(&["! 2 failed", "─ acme/beta ─", "live"]);
    for (keys, expected) in [
        ("j", "gamma"),
        ("k", "beta"),
        ("\x1b[B", "gamma"), // down
        ("\x1b[A", "beta"),  // up
        ("kk", "alpha"),     // stops at the end
        ("j", "beta"),
        ("G", "zeta"),
        ("j", "zeta"),
        ("g", "alpha"),
        ("n", "beta"),
        ("n", "gamma"),
        ("n", "beta"), // and round again
        ("N", "gamma"),
        ("j", "delta"),
    ] {
        press(&mut watch, keys, expected);
    }
    watch.wait_for_all(&["─ lumen/delta ─", "branch-of-delta"]);
    open_and_back(&mut watch, "lumen/delta");

    // Tab gives the keys to the other pane: it scrolls, and the selection stays.
    let keys_at = |watch: &Terminal| (is_bold(watch, "Agents"), is_bold(watch, "lumen/delta ─"));
    watch.wait_until("the list has the keys", |watch| keys_at(watch) == (true, false));
    watch.send("\t");
    watch.wait_until("the detail has the keys", |watch| keys_at(watch) == (false, true));
    let top = watch.text();
    watch.send("j");
    watch.wait_until("the detail scrolled", |watch| watch.text() != top);
    assert_eq!(chosen(&watch), Some("delta"));
    watch.send("k");
    watch.wait_until("the detail scrolled back", |watch| watch.text() == top);
    watch.send("\t");
    watch.wait_until("the list has the keys", |watch| is_bold(watch, "Agents"));
    press(&mut watch, "j", "epsilon");

    help_and_back(&mut watch);
    assert_eq!(chosen(&watch), Some("epsilon"), "help moves nothing");
    quit(&mut watch);
}

#[test]
fn the_keys_at_80_by_24() {
    walk_list_and_detail(&full_room(), 80, 24);
}

#[test]
fn the_keys_at_120_by_32() {
    walk_list_and_detail(&full_room(), 120, 32);
}

#[test]
fn the_keys_in_a_side_pane() {
    let stage = full_room();
    let mut watch = stage.watch(38, 24);
    watch.wait_for_all(&["! 2 failed", "live", "acme/alpha", "acme/beta"]);
    assert_eq!(chosen(&watch), None, "nothing is selected before the first key");
    // The first key only brings the selection to light.
    for (keys, expected) in [
        ("j", "beta"),
        ("j", "gamma"),
        ("j", "delta"),
        ("g", "alpha"),
        ("G", "zeta"),
        ("n", "beta"),
        ("n", "gamma"),
    ] {
        press(&mut watch, keys, expected);
    }
    open_and_back(&mut watch, "acme/gamma");
    // There is one pane: Tab has nowhere to go, and the keys stay where they are.
    press(&mut watch, "\tj", "delta");

    // The help is longer than the pane; it scrolls.
    watch.send("?");
    watch.wait_for("Keys in the Room");
    let top = watch.text();
    watch.send("j");
    watch.wait_until("the help scrolled", |watch| watch.text() != top);
    watch.send("G");
    watch.wait_for("suspend");
    watch.send("\x1b");
    watch.wait_without("Keys in the Room");
    quit(&mut watch);
}

/// Ctrl-c quits from everywhere, `q` too.
#[test]
fn quits_from_the_help_and_from_an_open_agent() {
    let (stage, _) = Stage::with_claude();
    for (first, shows) in [("?", "Keys in the Room"), ("\r", "Esc back ─")] {
        for last in ["q", "\x03"] {
            let mut watch = stage.watch(80, 24);
            watch.wait_for("Writing the hero copy");
            watch.send(first);
            watch.wait_for(shows);
            watch.send(last);
            assert_eq!(watch.wait_exit().exit_code(), 0);
            super::assert_given_back(&watch);
        }
    }
}

/// Esc and the next key reach a program inside tmux at once, as Alt and that key.
#[test]
fn case_a23_esc_and_a_key_within_a_blink_do_no_harm() {
    for binding in TABLE.iter().filter(|binding| binding.keys.iter().any(|key| key.name() == "Esc")) {
        assert!(binding.keys.iter().any(|key| key.name() != "Esc"), "{} by another key too", binding.help);
    }
    let (stage, _) = Stage::with_claude();
    let mut watch = stage.watch(80, 24);
    watch.wait_for_all(&["Writing the hero copy", "live"]);
    watch.send("\r");
    watch.wait_for("Esc back ─");
    let opened = watch.text();
    for key in ('!'..='~').filter(|key| !"[]O".contains(*key)) {
        watch.send(&format!("\x1b{key}"));
    }
    // What these keys do without Alt would be seen by now: the help is behind them all.
    watch.send("?");
    watch.wait_for("Keys in the Room");
    watch.send("?");
    watch.wait_without("Keys in the Room");
    assert_eq!(watch.text(), opened, "Alt and a key is no key of ours");
    // The other keys for what Esc does.
    watch.send("h");
    watch.wait_without("Esc back ─");
    quit(&mut watch);
}

/// Terminals that tell more of the keyboard tell a key twice, and as held: here `?` (63) and `j` (106).
#[test]
fn case_a36_a_key_that_is_told_twice_acts_once() {
    let stage = full_room();
    let mut watch = stage.watch(38, 24);
    watch.wait_for_all(&["acme/beta", "live"]);
    watch.send("\x1b[63;1:1u");
    watch.wait_for("Keys in the Room");
    let top = watch.text();
    // A toggle that bounced would be closed before the other key scrolls it.
    watch.send("\x1b[63;1:3uj");
    watch.wait_until("the help, scrolled", |w| w.text() != top && w.text().contains("Keys in the Room"));
    watch.send("\x1b[63;1:1u\x1b[63;1:3u");
    watch.wait_without("Keys in the Room");
    // One press is one step; a key that is held goes on.
    press(&mut watch, "\x1b[106;1:1u\x1b[106;1:3u", "gamma");
    press(&mut watch, "\x1b[106;1:1u\x1b[106;1:3u", "delta");
    press(&mut watch, "\x1b[106;1:1u\x1b[106;1:2u\x1b[106;1:3u", "zeta");
    quit(&mut watch);
}

/// A terminal tells what is pasted from what is typed: only a filter takes it, as one line.
#[test]
fn what_is_pasted_does_not_act_as_if_it_were_typed() {
    let stage = full_room();
    let mut watch = stage.watch(80, 24);
    watch.wait_for_all(&["acme/beta", "live"]);
    watch.send("\x1b[200~q?\x03\r/zzz\x1b[201~/");
    watch.wait_for(" / ▏");
    watch.send("\x1b[200~part-7/\nindex\x1b[201~");
    watch.wait_for_all(&[" / part-7/ index▏   6 of 6", "Agents 6 of 6 · part-7/ index"]);
    watch.send(" q?");
    watch.wait_for_all(&["0 of 6", "No agent matches part-7/ index q?", "Esc shows all 6."]);
    watch.send("\x1b");
    watch.wait_for("─ acme/beta ─");
    quit(&mut watch);
}

/// Half a key's sequence may come and never be finished, right behind a key that keeps the loop busy.
#[test]
fn half_a_key_does_not_hold_up_the_picture() {
    let (stage, claude) = Stage::with_claude();
    let mut watch = stage.watch(120, 32);
    watch.wait_for("acme/claude");
    for (n, half) in ["\x1b[", "\x1b[1;", "\x1bO"].into_iter().cycle().take(24).enumerate() {
        for key in ["?", "?", "j", "k", "?", "?", half] {
            watch.send(key);
        }
        let doing = format!("After half a key {n}");
        stage.says(&claude, json!({ "doing": doing }));
        watch.wait_for(&doing);
        watch.send("A"); // the other half
    }
    quit(&mut watch);
}
