//! Sizes that no one would choose: terminals that tell 0x0 at first, one cell, and everything between.

use serde_json::json;

use super::{Stage, quit};
use crate::pty::Terminal;

/// Waits for the whole picture at 80x24, drawn afresh, and returns it.
fn whole_picture(watch: &mut Terminal) -> Vec<String> {
    for columns in [81, 80] {
        watch.wipe();
        watch.resize(columns, 24);
        watch.wait_until("the whole picture", |watch| {
            let rows = watch.rows();
            let header = rows[0].starts_with(" website-v2   ") && rows[0].ends_with("live");
            let wide = rows[1].chars().count() == usize::from(columns);
            let footer = rows[23].ends_with("? help") || rows[23].ends_with("? close");
            let body = rows[1].starts_with("─ Agents ──") || rows[1].starts_with("┌─ Keys in the Room ─");
            header && wide && body && footer
        });
    }
    watch.rows()
}

#[test]
fn case_a14_starts_without_a_size_and_shows_everything_once_it_has_one() {
    let (stage, claude) = Stage::with_claude();
    for (columns, rows) in [(0, 0), (1, 1), (0, 24), (80, 0)] {
        let mut watch = stage.watch(columns, rows);
        watch.wait_until("the alternate screen", |watch| watch.screen().alternate_screen());
        // It must live through news at that size, too.
        let doing = format!("While it is {columns} by {rows}");
        stage.says(&claude, json!({ "doing": doing }));
        let picture = whole_picture(&mut watch);
        watch.wait_for(&doing);
        assert!(picture.iter().any(|row| row.contains("claude")), "{picture:#?}");
        quit(&mut watch);
    }
}

#[test]
fn case_a14_shrinks_to_nothing_and_comes_back() {
    let (stage, claude) = Stage::with_claude();
    let mut watch = stage.watch(80, 24);
    watch.wait_for("Writing the hero copy");
    let before = whole_picture(&mut watch);

    watch.wipe();
    watch.resize(1, 1);
    watch.wait_until("its one cell", |watch| watch.text() == "…");
    stage.says(&claude, json!({"doing": "Something else"}));
    stage.says(&claude, json!({"doing": "Writing the hero copy", "branch": "feat/hero"}));
    let raw = watch.raw().len();
    watch.resize(0, 0);
    watch.send("j?");
    let after = whole_picture(&mut watch);
    assert!(after.join("\n").contains("Keys in the Room"), "keys count even where nothing can be drawn");
    assert!(watch.raw().len() > raw);
    watch.send("?");
    watch.wait_until("the picture of before", |watch| watch.rows() == before);
    quit(&mut watch);
}

/// Each size is drawn before the next one comes: the terminal's modes of drawing at all of them are gone through.
#[test]
fn case_a14_draws_at_every_odd_size() {
    let (stage, claude) = Stage::with_claude();
    stage.says(
        &claude,
        json!({"doing": "Translating the pricing page 料金ページ", "files": ["src/表示/a.rs"],
        "intent": {"kind": "change", "paths": ["src/auth/**"]}}),
    );
    let mut watch = stage.watch(80, 24);
    watch.wait_for("Translating the pricing page");
    let before = whole_picture(&mut watch);
    let sizes = [
        (1, 1),
        (2, 1),
        (1, 50),
        (300, 1),
        (300, 2),
        (8, 3),
        (9, 3),
        (19, 4),
        (20, 4),
        (20, 3),
        (21, 5),
        (30, 5),
        (35, 6),
        (36, 7),
        (59, 24),
        (60, 4),
        (60, 17),
        (99, 24),
        (100, 5),
        (100, 29),
        (100, 30),
        (129, 31),
        (130, 40),
        (400, 4),
        (500, 120),
        (38, 200),
    ];
    for open in ["", "\r", "?"] {
        watch.send(open);
        for (columns, rows) in sizes {
            watch.wipe();
            watch.resize(columns, rows);
            watch.wait_until(&format!("something at {columns}x{rows}"), |watch| {
                !watch.text().trim().is_empty()
            });
            if columns >= 20 && rows >= 4 {
                watch.wait_for(if columns < 60 { "live" } else { "website-v2" });
            }
        }
    }
    watch.send("?\x1b");
    whole_picture(&mut watch);
    watch.wait_until("the picture of before", |watch| watch.rows() == before);
    quit(&mut watch);
}

/// Windows are dragged and typed into at once.
#[test]
fn a_key_that_comes_with_a_new_size_is_not_lost() {
    let (stage, _) = Stage::with_claude();
    let mut watch = stage.watch(80, 24);
    watch.wait_for("Writing the hero copy");
    for n in 0..60 {
        let (columns, open) = (80 + n % 3, n % 2 == 0);
        watch.send("?");
        watch.resize(columns, 24);
        watch.wait_until("the help, at the new size", |watch| {
            let rows = watch.rows();
            let wide = rows[1].chars().count() == usize::from(columns);
            wide && rows.iter().any(|row| row.contains("Keys in the Room")) == open
        });
    }
    quit(&mut watch);
}
