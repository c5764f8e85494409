//! The Clashes as they are drawn and moved about in: rooms made of pulses, at many sizes, as text and as style.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

#[path = "common/screen.rs"]
mod screen;

use crossterm::event::{KeyCode, KeyModifiers};
use prickle::tui::model::{Model, Pane, View, Watch};
use prickle::tui::theme::{Glyphs, Theme};
use prickle::tui::{update, view};
use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier};
use serde_json::{Value, json};

use screen::pulses::{said, time, with};
use screen::{ACME, EVIL, body, copied, draw, is_foreign, press, remapped, report, stroke, styles, text};

/// The clock goes on to `at`, when this is heard.
fn hear(model: &mut Model, at: &str, news: Value) {
    model.watch = Watch::Still(time(at));
    screen::hear(model, at, news);
    update::pass(model);
}

/// The clock goes on to when an agent says this.
fn event(model: &mut Model, pulse: &Value) {
    let at = pulse["updated_at"].as_str().unwrap();
    model.watch = Watch::Still(time(at));
    report(model, at, pulse);
    update::pass(model);
}

/// A room of these pulses at `at`, seen by acme, with the Clashes open.
fn room(at: &str, pulses: &[Value]) -> Model {
    let mut model = screen::room(at, ACME, pulses);
    update::resize(&mut model, 100, 40);
    press(&mut model, "2");
    assert_eq!(model.view, View::Clashes);
    model
}

/// A clash, a risk, a note, and one that has ended.
fn scene() -> Model {
    let planner = said("acme/planner", "13:50:00", "rename src/nav.rs", &[]);
    let styler = said("lumen/styler", "13:51:00", "change src/nav.rs", &[]);
    let mut model = room("14:00:00", &[planner, styler]);
    press(&mut model, "1");
    event(&mut model, &said("acme/planner", "14:09:00", "", &[]));
    event(
        &mut model,
        &with(
            said("lumen/styler", "14:12:00", "change content/pricing/**", &[]),
            &json!({"doing": "Fitting the price table into the new grid"}),
        ),
    );
    event(
        &mut model,
        &with(
            said("lumen/docs", "14:13:00", "change content/pricing/**", &[]),
            &json!({"doing": "Translating the pricing page 料金ページ", "branch": "docs/pricing"}),
        ),
    );
    event(
        &mut model,
        &with(
            said("acme/builder", "14:30:00", "remove src/auth/**", &["src/auth/session.rs"]),
            &json!({"doing": "Removing the old session middleware", "branch": "refactor/drop-sessions",
                "task_id": "auth-cleanup"}),
        ),
    );
    event(
        &mut model,
        &with(
            said(
                "lumen/fixer",
                "14:31:00",
                "change src/auth/login.rs",
                &["src/auth/login.rs", "src/auth/redirect.rs"],
            ),
            &json!({"doing": "Fixing the redirect loop after login", "branch": "fix/login-redirect",
                "task_id": "login-redirect", "last_decision": "Keep the old cookie name until the next release."}),
        ),
    );
    model.watch = Watch::Still(time("14:32:00"));
    update::pass(&mut model);
    press(&mut model, "2");
    model
}

/// `count` agents that change files below src, which acme/builder is about to remove.
fn crowd(count: usize) -> Vec<Value> {
    let mut all = vec![said("acme/builder", "14:30:00", "remove src/**", &[])];
    all.extend(
        (0..count).map(|i| {
            said(&format!("lumen/a{i:02}"), "14:31:00", &format!("change src/part{i:02}/mod.rs"), &[])
        }),
    );
    all
}

/// The lines with the bar of the selection, without what stands beside the list.
fn selected(model: &mut Model) -> String {
    let text = text(model, 130, 40);
    let bars = text.lines().filter(|line| line.contains('▌'));
    bars.map(|line| line.split(" │").next().unwrap().trim_start_matches('▌').trim().to_owned() + "\n")
        .collect()
}

#[test]
fn the_clashes_in_every_width() {
    for (columns, rows) in [
        (30, 16),
        (38, 24),
        (45, 20),
        (60, 15),
        (60, 40),
        (80, 24),
        (80, 44),
        (100, 30),
        (120, 30),
        (140, 12),
        (200, 24),
    ] {
        insta::assert_snapshot!(format!("list-{columns}x{rows}"), body(&text(&mut scene(), columns, rows)));
    }
}

#[test]
fn one_alone_in_every_width() {
    for (columns, rows) in [(30, 30), (38, 40), (60, 40), (80, 24), (120, 30)] {
        let mut m = scene();
        draw(&mut m, columns, rows);
        press(&mut m, "\r");
        assert_eq!(m.pane, Pane::Open);
        insta::assert_snapshot!(format!("open-{columns}x{rows}"), body(&text(&mut m, columns, rows)));
    }
}

#[test]
fn the_clashes_in_style() {
    for (columns, rows) in [(38, 24), (120, 30)] {
        insta::assert_snapshot!(
            format!("style-{columns}x{rows}"),
            styles(&draw(&mut scene(), columns, rows))
        );
    }
}

#[test]
fn in_style_only_marks_and_what_they_mark_are_coloured() {
    let colours = |buffer: &Buffer, x: std::ops::Range<u16>, y: u16| -> String {
        let coloured = x.filter(|x| buffer[(*x, y)].fg != Color::Reset);
        coloured.map(|x| buffer[(x, y)].symbol()).collect::<String>().trim().to_owned()
    };
    let mut m = scene();
    press(&mut m, "j");
    let buffer = draw(&mut m, 120, 40);
    let line = |text: &str| {
        let at = view::plain(&buffer).lines().position(|line| line.contains(text));
        u16::try_from(at.unwrap()).unwrap()
    };
    assert_eq!(colours(&buffer, 1..69, line("≠ acme/builder")), "≠");
    assert_eq!(colours(&buffer, 1..69, line("~ acme/builder is")), "~");
    assert_eq!(colours(&buffer, 0..69, line("acme/planner was")), "");
    let dim = (1..69).filter(|x| buffer[(*x, line("acme/planner was"))].symbol() != " ");
    assert!(dim.into_iter().all(|x| buffer[(x, line("acme/planner was"))].modifier.contains(Modifier::DIM)));
    let title = colours(&buffer, 70..120, line("One may undo the other at"));
    assert_eq!(title, "One may undo the other at");
    // Without colour nothing is lost.
    let mut colourless = scene();
    colourless.look.theme = Theme::mono();
    press(&mut colourless, "j");
    let plain = draw(&mut colourless, 120, 40);
    assert_eq!(view::plain(&plain), view::plain(&buffer));
    assert!(plain.content.iter().all(|cell| cell.fg == Color::Reset));
}

#[test]
fn in_ascii_every_cell_is_ascii() {
    let mut m = scene();
    m.look.glyphs = Glyphs::Ascii;
    insta::assert_snapshot!("ascii-80x30", body(&text(&mut m, 80, 30)));
    for keys in ["", "j", "j", "j", "\r", "\u{1b}g\r"] {
        press(&mut m, keys);
        for (columns, rows) in [(38, 30), (80, 30), (120, 30)] {
            let text = text(&mut m, columns, rows);
            assert!(text.is_ascii(), "{text}");
        }
    }
}

#[test]
fn nothing_at_all_says_what_would_stand_here() {
    let mut m = room("14:32:00", &[said("acme/builder", "14:30:00", "remove src/**", &["src/a.rs"])]);
    for (columns, rows) in [(38, 20), (80, 24), (120, 30)] {
        insta::assert_snapshot!(format!("nothing-{columns}x{rows}"), body(&text(&mut m, columns, rows)));
    }
    assert!(text(&mut m, 20, 4).contains("Nobody is in"));
    // There is nothing to open, to copy or to mark.
    assert_eq!((press(&mut m, "y"), press(&mut m, "Y"), press(&mut m, "x\r")), (None, None, None));
    assert_eq!(m.pane, Pane::List);
}

#[test]
fn the_selection_is_on_what_it_is_about() {
    let mut m = scene();
    draw(&mut m, 100, 40);
    assert!(selected(&mut m).starts_with("≠ acme/builder"), "the worst comes first");
    press(&mut m, "j");
    let risk = selected(&mut m);
    assert!(risk.starts_with("~ acme/builder"));
    // A newer clash stands above it.
    event(&mut m, &said("orbit/a", "14:33:00", "rename www/**", &[]));
    event(&mut m, &said("orbit/b", "14:33:10", "change www/a.html", &[]));
    assert!(text(&mut m, 100, 40).contains("orbit/a is about to rename"));
    assert_eq!(selected(&mut m).replace("27m left", "28m left").replace("2m ago", "1m ago"), risk);
    press(&mut m, "gj");
    assert!(selected(&mut m).contains("acme/builder is about to remove"), "{}", selected(&mut m));
    press(&mut m, "G");
    assert!(selected(&mut m).contains("acme/planner was about to rename src/nav.rs"), "{}", selected(&mut m));
    press(&mut m, "j");
    assert!(selected(&mut m).contains("acme/planner was"), "there is no further");
}

#[test]
fn the_selection_follows_into_what_has_ended_and_then_to_its_neighbour() {
    let mut m = room(
        "14:00:00",
        &[
            said("acme/a", "14:00:00", "remove a/**", &[]),
            said("lumen/a", "14:00:00", "change a/x.rs", &[]),
            said("acme/b", "14:00:00", "remove b/**", &[]),
            said("lumen/b", "14:00:00", "change b/x.rs", &[]),
        ],
    );
    draw(&mut m, 100, 40);
    press(&mut m, "j");
    assert!(selected(&mut m).contains("acme/b"));
    let level = |m: &mut Model| selected(m).lines().next().unwrap().chars().next().unwrap();
    // Less than before: it is about the same two.
    event(&mut m, &said("acme/b", "14:01:00", "change b/**", &[]));
    assert_eq!(level(&mut m), '=', "{}", selected(&mut m));
    event(&mut m, &said("acme/b", "14:02:00", "remove b/**", &[]));
    assert_eq!(level(&mut m), '≠');
    event(&mut m, &said("lumen/b", "14:03:00", "", &[]));
    let ended = selected(&mut m);
    assert!(ended.contains("acme/b was about to remove b/**") && ended.contains("until 14:03"), "{ended}");
    assert!(ended.contains("while lumen/b changed b/x.rs · lumen/b said something else"), "{ended}");
    // The same two again: that is another one.
    event(&mut m, &said("lumen/b", "14:04:00", "change b/x.rs", &[]));
    assert_eq!(selected(&mut m), ended);
    // After an hour it is forgotten, and the selection goes to the one next to it.
    for at in ["14:29:00", "14:58:00"] {
        event(&mut m, &said("acme/a", at, "remove a/**", &[]));
        event(&mut m, &said("lumen/a", at, "change a/x.rs", &[]));
    }
    assert_eq!(selected(&mut m), ended);
    hear(&mut m, "15:03:30", json!({"news": "room", "refusing": null}));
    let neighbour = selected(&mut m);
    assert!(neighbour.contains("acme/b was about to remove b/**"), "{neighbour}");
    assert!(neighbour.contains("until 14:32"), "{neighbour}");
    // Out of a picture that is new as a whole, too.
    let mut m = room("14:32:00", &pairs()[..12]);
    draw(&mut m, 100, 40);
    press(&mut m, "jj");
    assert!(selected(&mut m).contains("orbit/r02"));
    let left: Vec<Value> = pairs()[6..12].to_vec();
    hear(&mut m, "14:32:05", json!({"news": "snapshot", "seq": 2, "pulses": left}));
    assert!(selected(&mut m).contains("orbit/r02 was"), "it has ended: {}", selected(&mut m));
}

#[test]
fn many_of_one_agent_are_one_row_that_unfolds() {
    let mut m = room("14:32:00", &crowd(13));
    insta::assert_snapshot!("many-120x24", body(&text(&mut m, 120, 24)));
    assert!(text(&mut m, 38, 24).contains("13 clashes"));
    draw(&mut m, 100, 60);
    press(&mut m, "\r");
    assert_eq!(m.pane, Pane::List, "many have no pane of their own");
    insta::assert_snapshot!("many-unfolded-100x24", body(&text(&mut m, 100, 24)));
    press(&mut m, "jj");
    assert!(selected(&mut m).contains("lumen/a01"), "{}", selected(&mut m));
    press(&mut m, "\r");
    assert!(text(&mut m, 100, 24).contains("─ acme/builder ≠ lumen/a01 ─"));
    press(&mut m, "\u{1b}");
    assert!(selected(&mut m).contains("lumen/a01"));
    press(&mut m, "\u{1b}");
    assert!(selected(&mut m).contains("13 others"), "{}", selected(&mut m));
    assert_eq!(m.view, View::Clashes);
    // One that is selected goes into their row when they become many.
    let mut m = room("14:32:00", &crowd(3));
    press(&mut m, "j");
    assert!(selected(&mut m).contains("lumen/a01"));
    event(&mut m, &said("lumen/a03", "14:33:00", "change src/z.rs", &[]));
    assert!(selected(&mut m).contains("4 others"), "{}", selected(&mut m));
    event(&mut m, &said("lumen/a03", "14:33:10", "", &[]));
    assert!(selected(&mut m).contains("lumen/a00"), "{}", selected(&mut m));
    // What one word ended is told together too.
    let mut m = room("14:32:00", &crowd(5));
    event(&mut m, &said("acme/builder", "14:34:00", "", &[]));
    let ended = selected(&mut m);
    assert!(ended.contains("acme/builder was about to remove src/** "), "{ended}");
    assert!(
        ended.contains("while 5 others were at work there · acme/builder said something else"),
        "{ended}"
    );
    assert!(ended.contains("until 14:34"), "{ended}");
    press(&mut m, "\r");
    assert_eq!(text(&mut m, 100, 40).matches("while lumen/a0").count(), 5);
}

#[test]
fn what_was_seen_counts_no_longer_until_it_changes() {
    let mut m = scene();
    let header = |m: &mut Model| text(m, 120, 30).lines().next().unwrap().to_owned();
    assert!(header(&mut m).contains("≠ 1 clash"));
    press(&mut m, "x");
    assert!(!header(&mut m).contains('≠'), "{}", header(&mut m));
    let seen = text(&mut m, 120, 30);
    assert!(seen.contains("while lumen/fixer changes src/auth/login.rs · seen"), "{seen}");
    assert!(seen.contains("Seen: it counts again when it changes."));
    let buffer = draw(&mut m, 120, 30);
    assert!(buffer[(1, 3)].symbol() == "≠" && buffer[(1, 3)].fg == Color::Reset, "it no longer calls");
    press(&mut m, "x");
    assert!(header(&mut m).contains("≠ 1 clash"));
    press(&mut m, "x");
    event(&mut m, &said("lumen/fixer", "14:33:00", "change src/auth/mod.rs", &[]));
    assert!(header(&mut m).contains("≠ 1 clash"), "it has changed");
    assert!(!text(&mut m, 120, 30).contains("· seen"));
    // A risk cannot be marked: it needs nobody.
    let mut m = scene();
    draw(&mut m, 120, 30);
    press(&mut m, "jx");
    assert!(!text(&mut m, 120, 30).contains("· seen"));
    // Many are marked at once.
    let mut m = room("14:32:00", &crowd(13));
    assert!(header(&mut m).contains("≠ 13 clashes"));
    press(&mut m, "x");
    assert!(!header(&mut m).contains('≠'), "{}", header(&mut m));
    press(&mut m, "x");
    assert!(header(&mut m).contains("≠ 13 clashes"));
    press(&mut m, "\rjx");
    assert!(header(&mut m).contains("≠ 12 clashes"), "one of them");
    press(&mut m, "kx");
    assert!(!header(&mut m).contains('≠'), "and the rest");
}

#[test]
fn the_next_that_needs_you_is_a_clash_of_your_own() {
    let mut m = room(
        "14:32:00",
        &[
            said("acme/a", "14:30:00", "remove a/**", &[]),
            said("lumen/a", "14:30:00", "change a/x.rs", &[]),
            said("orbit/b", "14:31:30", "remove b/**", &[]),
            said("lumen/b", "14:31:30", "change b/x.rs", &[]),
            said("acme/c", "14:29:00", "remove c/**", &[]),
            said("lumen/c", "14:29:00", "change c/x.rs", &[]),
        ],
    );
    draw(&mut m, 100, 40);
    assert!(selected(&mut m).contains("acme/a"), "the eye falls first on what needs its owner");
    press(&mut m, "n");
    assert!(selected(&mut m).contains("acme/c"));
    press(&mut m, "n");
    assert!(selected(&mut m).contains("acme/a"), "round");
    press(&mut m, "x");
    press(&mut m, "N");
    assert!(selected(&mut m).contains("acme/c"));
    press(&mut m, "n");
    assert!(selected(&mut m).contains("acme/c"), "what was seen needs nobody");
    m.owner = None;
    press(&mut m, "gn");
    assert!(!selected(&mut m).contains("acme/a"));
    press(&mut m, "N");
    assert!(selected(&mut m).contains("orbit/b"), "without an owner it is anybody's: {}", selected(&mut m));
}

#[test]
fn the_message_is_copied_whole() {
    let mut m = scene();
    draw(&mut m, 80, 24);
    assert_eq!(
        copied(press(&mut m, "y")),
        "Before you remove src/auth/**: lumen/fixer is changing src/auth/login.rs on fix/login-redirect. Agree who goes first."
    );
    press(&mut m, "j");
    assert!(copied(press(&mut m, "y")).contains("has reported src/auth/redirect.rs as its own work"));
    press(&mut m, "G");
    assert_eq!(press(&mut m, "y"), None, "of what is over there is nothing to tell");
    let mut m = room("14:32:00", &crowd(13));
    draw(&mut m, 120, 30);
    assert_eq!(
        copied(press(&mut m, "y")),
        "Before you remove src/**: 13 others are at work there, lumen/a00, lumen/a01, lumen/a02 and 10 more. Agree who goes first."
    );
    m.owner = Some("orbit".into());
    let text = text(&mut m, 120, 30);
    assert!(text.contains("Tell acme and lumen"), "{text}");
}

#[test]
fn the_row_is_copied_as_json() {
    let mut m = scene();
    draw(&mut m, 80, 24);
    let told: Value = serde_json::from_str(&copied(press(&mut m, "Y"))).unwrap();
    let names: Vec<&String> = told.as_object().unwrap().keys().collect();
    assert_eq!(names, ["level", "since", "until", "reported", "places", "first", "second"]);
    assert_eq!((&told["level"], &told["reported"]), (&json!("clash"), &json!(false)));
    assert_eq!(told["since"], "2026-11-30T14:31:00Z");
    assert_eq!(told["until"], "2026-11-30T15:00:00Z");
    let place = json!({"first": "src/auth/**", "second": "src/auth/login.rs", "ground": "src/auth/login.rs"});
    assert_eq!(told["places"], json!([place]));
    assert_eq!(told["first"]["agent_id"], "acme/builder");
    assert_eq!(told["second"]["intent"]["kind"], "change");
    assert_eq!(told["second"]["last_decision"], "Keep the old cookie name until the next release.");
    press(&mut m, "G");
    let told: Value = serde_json::from_str(&copied(press(&mut m, "Y"))).unwrap();
    assert_eq!(
        told["ended"],
        json!({"at": "2026-11-30T14:09:00Z", "by": "acme/planner", "how": "said_else"})
    );
    let mut m = room("14:32:00", &crowd(13));
    let told: Value = serde_json::from_str(&copied(press(&mut m, "Y"))).unwrap();
    assert_eq!(told.as_array().map(Vec::len), Some(13));
}

#[test]
fn offline_it_is_told_in_the_past_and_nobody_is_told_anything() {
    let mut m = scene();
    hear(&mut m, "14:32:10", json!({"news": "lost", "why": "connection refused", "retry_in": 3000}));
    m.watch = Watch::Still(time("15:20:00"));
    let buffer = draw(&mut m, 120, 30);
    insta::assert_snapshot!("offline-120x30", body(&view::plain(&buffer)));
    insta::assert_snapshot!("offline-38x24", body(&text(&mut m, 38, 24)));
    let dim = (1..29).all(|y| (0..120).all(|x| buffer[(x, y)].modifier.contains(Modifier::DIM)));
    assert!(dim, "an old picture must not look like the present");
    assert_eq!(press(&mut m, "y"), None, "it may be over by now");
    assert!(copied(press(&mut m, "Y")).contains("\"clash\""));
}

/// Thirty clashes of two and two, the newest first.
fn pairs() -> Vec<Value> {
    let pair = |i: usize| {
        let at = format!("14:{:02}:00", 31 - i / 2);
        let owner = if i == 29 { "acme" } else { "orbit" };
        [
            said(&format!("{owner}/r{i:02}"), &at, &format!("remove d{i:02}/**"), &[]),
            said(&format!("lumen/c{i:02}"), &at, &format!("change d{i:02}/x.rs"), &[]),
        ]
    };
    (0..30).flat_map(pair).collect()
}

#[test]
fn rows_out_of_sight_are_counted_and_none_jumps() {
    let mut m = room("14:32:00", &pairs());
    draw(&mut m, 100, 20);
    assert!(selected(&mut m).contains("acme/r29"), "it is the watcher's");
    press(&mut m, "g");
    let title = |m: &mut Model| text(m, 100, 20).lines().nth(1).unwrap().to_owned();
    assert!(title(&mut m).starts_with("─ Clashes 1–8 of 30 · 1 below needs you "), "{}", title(&mut m));
    press(&mut m, "n");
    assert!(title(&mut m).starts_with("─ Clashes 22–29 of 30 · 21 above · 1 below "), "{}", title(&mut m));
    for _ in 0..12 {
        press(&mut m, "k");
    }
    let rows = |m: &mut Model| -> Vec<String> {
        let text = text(m, 100, 20);
        text.lines().skip(2).take(17).map(|line| line.split(" │").next().unwrap().to_owned()).collect()
    };
    let before = rows(&mut m);
    let newer =
        [said("orbit/z", "14:31:30", "rename z/**", &[]), said("lumen/z", "14:31:30", "change z/a", &[])];
    for pulse in newer {
        event(&mut m, &pulse);
    }
    m.watch = Watch::Still(time("14:32:00"));
    assert_eq!(rows(&mut m), before, "what comes above moves nothing");
    assert!(title(&mut m).contains(" of 31 · "), "{}", title(&mut m));
    // Every key of the list moves it.
    let place = |m: &Model| m.clashes.place();
    press(&mut m, "g");
    let stroke = |m: &mut Model, code, modifiers| {
        stroke(m, code, modifiers);
        m.clashes.place()
    };
    assert_eq!(place(&m), 0);
    let page = stroke(&mut m, KeyCode::PageDown, KeyModifiers::NONE);
    assert!(page > 2);
    let half = stroke(&mut m, KeyCode::Char('d'), KeyModifiers::CONTROL) - page;
    assert!(0 < half && half < page);
    assert_eq!(stroke(&mut m, KeyCode::Char('u'), KeyModifiers::CONTROL), page);
    assert_eq!(stroke(&mut m, KeyCode::PageUp, KeyModifiers::NONE), 0);
    assert_eq!(stroke(&mut m, KeyCode::End, KeyModifiers::NONE), 30);
    // Whatever is selected stands whole in sight, at every height.
    for columns in [40, 100] {
        for rows in 8..30 {
            press(&mut m, "g");
            for place in 0..31 {
                let text = text(&mut m, columns, rows);
                assert!(text.matches('▌').count() >= 2, "{columns}x{rows}: row {place}\n{text}");
                press(&mut m, "j");
            }
        }
    }
}

#[test]
fn the_detail_takes_the_keys_and_goes() {
    let mut m = scene();
    let beside = text(&mut m, 100, 14);
    assert!(beside.contains(" more · Enter"), "{beside}");
    press(&mut m, "\t");
    assert_eq!(m.pane, Pane::Detail);
    press(&mut m, "jjj");
    assert_eq!((m.clashes.place(), m.detail_top), (0, 3));
    press(&mut m, "G");
    let end = text(&mut m, 100, 14);
    assert!(end.contains("it would show at the"), "{end}");
    press(&mut m, "\tj");
    assert_eq!((m.clashes.place(), m.detail_top), (1, 0));
    press(&mut m, "p");
    let alone = text(&mut m, 100, 14);
    assert!(!alone.contains('│'), "{alone}");
    press(&mut m, "p");
    assert!(text(&mut m, 100, 14).contains('│'));
}

#[test]
fn keys_are_named_as_the_settings_have_them() {
    let mut m = scene();
    m.keys = remapped(&[("copy", "c"), ("open", "space"), ("back", "b"), ("down", "w")]);
    let beside = text(&mut m, 100, 14);
    assert!(beside.contains(" more · Space") && text(&mut m, 100, 40).contains("c copies this"), "{beside}");
    press(&mut m, " ");
    let alone = text(&mut m, 60, 14);
    assert!(alone.contains(" b back ─") && alone.contains(" more · w"), "{alone}");
    // The keys of the one row of many.
    let mut m = room("14:32:00", &crowd(13));
    m.keys = remapped(&[("open", "space"), ("pane", "z")]);
    assert!(text(&mut m, 100, 40).contains("Space lists them one by one."));
    assert!(text(&mut m, 100, 14).contains(" more · z"));
    press(&mut m, " ");
    assert!(text(&mut m, 100, 40).contains("Space folds them up again."));
}

#[test]
fn a_frozen_list_stands_still() {
    let mut m = scene();
    draw(&mut m, 100, 40);
    press(&mut m, "f");
    let before = text(&mut m, 100, 40);
    event(&mut m, &said("lumen/fixer", "14:33:00", "", &[]));
    let frozen = text(&mut m, 100, 40);
    assert_eq!(frozen.lines().skip(1).collect::<Vec<_>>(), before.lines().skip(1).collect::<Vec<_>>());
    press(&mut m, "f");
    assert!(text(&mut m, 140, 40).contains("· lumen/fixer said something else"));
}

/// Agents that meet under the widest and most hostile names there are.
fn hostile() -> Model {
    let evil = EVIL;
    let pulse = |name: &str, kind: &str| -> Value {
        with(
            said(&format!("acme/{name}"), "14:30:00", "", &[evil, "ー/a", "x"]),
            &json!({"doing": evil.repeat(4), "task_id": evil, "branch": evil.repeat(3), "owner": evil,
                "last_decision": "é".repeat(500), "run_failure": {"class": evil, "step": evil},
                "intent": {"kind": kind, "paths": [evil, "ー".repeat(120), "**", "—"], "areas": [evil],
                    "expires_at": "2026-11-30T15:00:00Z"}}),
        )
    };
    let names = ["a", "\u{202e}b", "修正修正", &"c".repeat(70), "d", "e"];
    let kinds = ["remove", evil, "change", "add", "rename", "revert"];
    let pulses: Vec<Value> = names.iter().zip(kinds).map(|(name, kind)| pulse(name, kind)).collect();
    let mut m = room("14:31:00", &pulses);
    event(&mut m, &with(pulse("d", "add"), &json!({"updated_at": "2026-11-30T14:31:30Z"})));
    m
}

#[test]
fn case_a01_a05_no_part_of_it_lets_anything_foreign_through() {
    let mut m = hostile();
    for keys in ["", "j", "\r", "j", "\r", "\u{1b}G", "\r"] {
        press(&mut m, keys);
        for (columns, rows) in [(30, 12), (38, 20), (80, 24), (120, 40), (200, 60)] {
            let buffer = draw(&mut m, columns, rows);
            for c in buffer.content().iter().flat_map(|cell| cell.symbol().chars()) {
                assert!(!is_foreign(c), "{c:?} at {columns}x{rows}");
            }
            assert!(!view::plain(&buffer).contains("52;c"));
        }
        for text in [press(&mut m, "y"), press(&mut m, "Y")].into_iter().flatten() {
            let text = copied(Some(text));
            assert!(!text.contains(is_foreign), "{text:?}");
        }
    }
}

#[test]
fn case_a11_a_newline_or_wide_letters_break_no_border() {
    let mut m = hostile();
    for keys in ["", "j", "jj"] {
        press(&mut m, keys);
        for columns in 100..=160 {
            let buffer = draw(&mut m, columns, 40);
            let edge = (0..columns).find(|x| buffer[(*x, 2)].symbol() == "│").unwrap();
            for y in 2..39 {
                assert_eq!(buffer[(edge, y)].symbol(), "│", "row {y} at {columns} columns");
                assert_eq!(buffer[(edge - 1, y)].symbol(), " ", "row {y} at {columns} columns");
            }
        }
    }
}

#[test]
fn case_a14_no_size_panics() {
    let mut many = room("14:32:00", &crowd(13));
    press(&mut many, "\r");
    for mut m in [scene(), hostile(), many, room("14:32:00", &pairs())] {
        for keys in ["", "jj", "\r"] {
            press(&mut m, keys);
            for columns in (0..=24).step_by(2).chain((25..=300).step_by(39)) {
                for rows in (0..=9).step_by(2).chain((10..=60).step_by(25)) {
                    draw(&mut m, columns, rows);
                }
            }
        }
        press(&mut m, "\u{1b}\u{1b}\u{1b}");
        assert!(text(&mut m, 80, 24).contains("─ Clashes") || m.view == View::Room);
    }
}
