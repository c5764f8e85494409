//! Every view at every size: nothing panics, no row is wider than the screen, and a terminal shows what was drawn.
#![allow(clippy::unwrap_used)]

#[path = "common/screen.rs"]
mod screen;

use std::num::NonZero;

use prickle::tui::model::{Look, Model};
use prickle::tui::terminal::Screen;
use prickle::tui::theme::Glyphs;
use prickle::tui::view;
use ratatui::backend::CrosstermBackend;
use ratatui::buffer::Buffer;
use serde_json::json;

use screen::pulses::{LIVE, pulse};
use screen::{OFFLINE, draw, hostile, is_foreign, look, press, recorded, report};

/// The keys that lead to each view, each pane, each popup and each line that takes text, from the Room on.
const PLACES: &[&str] = &[
    "", "j", "\r", "\t", "p", "?", "?/line", "/s:", "sso", "f", "2", "2\r", "2?", "2/zz", "3", "3?", "3/x",
    "4", "4\r", "4?",
];

/// Rooms: of every day, of the past, and of others' worst texts.
fn rooms() -> [fn() -> Model; 4] {
    [
        || recorded(LIVE, look()),
        || recorded(OFFLINE, look()),
        hostile,
        || recorded(LIVE, Look { glyphs: Glyphs::Ascii, ..look() }),
    ]
}

/// All that can be wrong with one picture whatever is in it.
fn is_sound(buffer: &Buffer, of: &str) {
    let area = buffer.area;
    for y in 0..area.height {
        let mut x = 0;
        while x < area.width {
            let symbol = buffer[(x, y)].symbol();
            let wide = u16::try_from(prickle::shown::width(symbol)).unwrap();
            assert!(!symbol.contains(is_foreign), "{of}: {symbol:?} at {x},{y}");
            assert!(x + wide.max(1) <= area.width, "{of}: {symbol:?} is cut in half at {x},{y}");
            x += wide.max(1);
        }
    }
}

/// Sizes that a screen passes through while somebody pulls at its corner.
fn sizes() -> impl Iterator<Item = (u16, u16)> {
    let edges = [0, 1, 9, 19, 20, 29, 30, 35, 36, 59, 60, 99, 100, 130, 300];
    let rows = [0, 1, 2, 3, 4, 5, 8, 12, 24, 30, 100];
    let wide = (0..=300).step_by(29).flat_map(move |columns| rows.map(|rows| (columns, rows)));
    let high = (0..=100).step_by(9).flat_map(move |rows| edges.map(|columns| (columns, rows)));
    wide.chain(high)
}

fn sweep(room: fn() -> Model) {
    for keys in PLACES {
        let mut m = room();
        draw(&mut m, 120, 32);
        press(&mut m, keys);
        for (columns, rows) in sizes() {
            let buffer = draw(&mut m, columns, rows);
            is_sound(&buffer, &format!("{keys:?} at {columns}x{rows}"));
        }
        // Grown back it is whole again.
        assert!(view::plain(&draw(&mut m, 120, 32)).lines().next().unwrap().contains("website-v2"));
    }
}

#[test]
fn case_a13_a14_a_room_of_every_day_at_every_size() {
    sweep(rooms()[0]);
}

#[test]
fn case_a13_a14_a_room_of_the_past_at_every_size() {
    sweep(rooms()[1]);
}

#[test]
fn case_a13_a14_hostile_and_wide_texts_at_every_size() {
    sweep(rooms()[2]);
}

#[test]
fn case_a13_a14_ascii_at_every_size() {
    sweep(rooms()[3]);
}

/// What a terminal shows after it was sent this picture.
fn shown(buffer: &Buffer) -> String {
    let (columns, rows) = (buffer.area.width, buffer.area.height);
    let mut bytes = Vec::new();
    let mut screen = Screen::new(CrosstermBackend::new(&mut bytes));
    screen.show(buffer.clone()).unwrap();
    let size = NonZero::new(rows).zip(NonZero::new(columns)).unwrap();
    let mut terminal = vt100::Parser::new(size.0, size.1, 0);
    terminal.process(&bytes);
    terminal.screen().rows(0, columns).map(|row| format!("{}\n", row.trim_end())).collect()
}

#[test]
fn case_a09_emoji_and_wide_letters_push_no_border_out() {
    let mut m = recorded(LIVE, look());
    for (agent, doing, branch) in
        [("acme/builder", "♻️♻️ ship ⚠️ ❤️", "修正/表示崩れ"), ("lumen/docs", "👩‍💻 👨‍👩‍👧 🇩🇪 1️⃣", "é/ñ̃/ज़")]
    {
        report(&mut m, LIVE, &pulse(agent, LIVE, &json!({"doing": doing, "branch": branch})));
    }
    for keys in ["", "g", "\r", "\u{1b}2", "4"] {
        press(&mut m, keys);
        for columns in [38, 60, 80, 100, 120, 140, 200] {
            let buffer = draw(&mut m, columns, 32);
            let text = view::plain(&buffer);
            assert_eq!(shown(&buffer), text, "{keys:?} at {columns} columns");
            let edges: Vec<u16> = (0..columns).filter(|x| buffer[(*x, 2)].symbol() == "│").collect();
            for y in 2..(if edges.is_empty() { 2 } else { 10 }) {
                for x in &edges {
                    assert_eq!(buffer[(*x, y)].symbol(), "│", "row {y} at {columns} columns:\n{text}");
                }
            }
        }
    }
}

#[test]
fn what_was_drawn_is_what_a_terminal_shows() {
    for room in rooms() {
        for keys in PLACES {
            let mut m = room();
            draw(&mut m, 120, 32);
            press(&mut m, keys);
            for (columns, rows) in [(30, 12), (38, 24), (60, 15), (80, 24), (120, 32), (200, 50)] {
                let buffer = draw(&mut m, columns, rows);
                assert_eq!(shown(&buffer), view::plain(&buffer), "{keys:?} at {columns}x{rows}");
            }
        }
    }
}
