//! Without colour, and without UTF-8: every state still has its word and its sign.

use serde_json::json;

use super::foreign::sgr_parameters;
use super::{PRICKLE, Stage, quit};
use crate::pty::Terminal;

/// Each availability with its sign and its ASCII twin.
const STATES: [(&str, char, char); 6] = [
    ("working", '●', '*'),
    ("online", '◌', 'o'),
    ("idle", '○', '.'),
    ("asleep", 'z', 'z'),
    ("away", '-', '-'),
    ("offline", '×', 'x'),
];

/// A room with an agent in each state; the first two are in each other's way, and one has failed.
fn room_of_all_states() -> Stage {
    let stage = Stage::open();
    for (n, (state, ..)) in STATES.iter().enumerate() {
        let agent = stage.agent(&format!("acme/agent-{n}"));
        let mut report = json!({"doing": format!("Being {state}"), "availability": state, "task_id": "t-1"});
        match n {
            0 => report["intent"] = json!({"kind": "remove", "paths": ["src/auth/**"]}),
            1 => report["intent"] = json!({"kind": "change", "paths": ["src/auth/a.rs"]}),
            _ => {}
        }
        stage.says(&agent, report);
        if n == 2 {
            let failure = json!({"class": "auth", "step": "claude_code_sign_in"});
            stage.says(&agent, json!({"run_failure": failure, "task_id": "t-1"}));
        }
    }
    stage
}

/// The row of an agent in the list: marks, sign, name, claim.
fn row(watch: &Terminal, name: &str) -> String {
    let rows = watch.rows();
    let row =
        rows.iter().skip(2).find(|row| row.contains(name)).unwrap_or_else(|| panic!("{name} in {rows:#?}"));
    row.split(['│', '|']).next().unwrap().to_owned()
}

#[test]
fn case_a27_without_colour_every_state_has_a_word_and_a_sign() {
    let stage = room_of_all_states();
    for (columns, rows) in [(140, 40), (80, 40), (38, 40)] {
        let mut watch = stage.terminal(&[PRICKLE, "watch"], &[("NO_COLOR", "1")], columns, rows);
        watch.wait_for_all(&["agent-0", "agent-5", "live", "1 failed", "1 clash"]);
        for (n, (state, sign, _)) in STATES.iter().enumerate() {
            let row = row(&watch, &format!("agent-{n}"));
            assert!(row.contains(state) && row.contains(*sign), "{columns}: {state} {sign} in {row:?}");
            assert_eq!(row.contains('≠'), n < 2, "{columns}: {row:?}");
            assert_eq!(row.contains('!'), n == 2, "{columns}: {row:?}");
        }
        quit(&mut watch);
        let used = sgr_parameters(&watch.raw_text());
        let colours: Vec<&u32> = used.iter().filter(|n| matches!(n, 30..=49 | 90..=107)).collect();
        assert!(colours.is_empty() && used.contains(&1), "{columns}: {colours:?}");
    }
    // With colours the same bytes would be there: the test looks at the right ones.
    let mut watch = stage.watch(80, 40);
    watch.wait_for("1 clash");
    quit(&mut watch);
    assert!(sgr_parameters(&watch.raw_text()).iter().any(|n| matches!(n, 30..=49)));
}

#[test]
fn case_a29_a_locale_without_utf8_gets_ascii_and_a_switch_forces_either() {
    let stage = room_of_all_states();
    let forced: &[&str] = &[];
    for (flags, changes, ascii) in [
        (forced, &[("LANG", "C")][..], true),
        (forced, &[("LANG", "")], true),
        (forced, &[("LANG", "C.UTF-8"), ("LC_ALL", "POSIX")], true),
        (forced, &[("LC_CTYPE", "C"), ("LANG", "C.UTF-8")], true),
        (forced, &[("LC_ALL", "C"), ("LC_CTYPE", "C.UTF-8")], true),
        (forced, &[("LC_CTYPE", "C.UTF-8"), ("LANG", "C")], false),
        (forced, &[("LC_ALL", "en_US.utf8"), ("LC_CTYPE", "C"), ("LANG", "C")], false),
        (&["--ascii"], &[("LANG", "C.UTF-8")], true),
        (&["--unicode"], &[("LANG", "C")], false),
        (&["--unicode"], &[("LC_ALL", "POSIX")], false),
    ] {
        let argv = [&[PRICKLE, "watch"], flags].concat();
        let mut watch = stage.terminal(&argv, changes, 100, 40);
        watch.wait_for_all(&["agent-5", "live", "1 failed", "1 clash"]);
        for (n, (state, sign, twin)) in STATES.iter().enumerate() {
            let row = row(&watch, &format!("agent-{n}"));
            let sign = if ascii { twin } else { sign };
            assert!(row.contains(state) && row.contains(*sign), "{flags:?} {changes:?}: {row:?}");
        }
        quit(&mut watch);
        // On the screen and in the title alike.
        assert_eq!(watch.raw_text().is_ascii(), ascii, "{flags:?} {changes:?}");
    }
}
