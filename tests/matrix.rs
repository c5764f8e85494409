//! Every view in every width and height as text and as style, one picture a view and width.
#![allow(clippy::unwrap_used)]

#[path = "common/screen.rs"]
mod screen;

use std::collections::BTreeMap;
use std::fmt::Write;

use prickle::tui::view;
use ratatui::buffer::Buffer;
use screen::pulses::LIVE;
use screen::{draw, look, press, recorded};

const WIDTHS: [u16; 9] = [30, 38, 45, 60, 80, 100, 120, 140, 200];
const HEIGHTS: [u16; 5] = [8, 12, 24, 32, 50];

/// Each row's styles as runs (`12a3b`: twelve cells in style a, three in b), and what the letters stand for.
fn runs_of_styles(buffer: &Buffer, known: &mut BTreeMap<String, char>) -> String {
    let mut out = String::new();
    for y in 0..buffer.area.height {
        let mut runs: Vec<(char, usize)> = Vec::new();
        for x in 0..buffer.area.width {
            let cell = &buffer[(x, y)];
            let style = format!("{} on {} {:?}", cell.fg, cell.bg, cell.modifier);
            let next = char::from(b'a' + u8::try_from(known.len()).unwrap());
            let letter = *known.entry(style).or_insert(next);
            match runs.last_mut() {
                Some((last, count)) if *last == letter => *count += 1,
                _ => runs.push((letter, 1)),
            }
        }
        let runs: String = runs.iter().map(|(letter, count)| format!("{count}{letter}")).collect();
        writeln!(out, "{runs}").unwrap();
    }
    out
}

fn pictures(name: &str, keys: &str) {
    for columns in WIDTHS {
        let (mut texts, mut looks, mut known) = (String::new(), String::new(), BTreeMap::new());
        for rows in HEIGHTS {
            let mut m = recorded(LIVE, look());
            draw(&mut m, columns, rows);
            press(&mut m, keys);
            let buffer = draw(&mut m, columns, rows);
            write!(texts, "{columns}x{rows}\n{}\n", view::plain(&buffer)).unwrap();
            write!(looks, "{columns}x{rows}\n{}\n", runs_of_styles(&buffer, &mut known)).unwrap();
        }
        let mut letters: Vec<(&char, &String)> =
            known.iter().map(|(style, letter)| (letter, style)).collect();
        letters.sort_unstable();
        letters.iter().for_each(|(letter, style)| writeln!(looks, "{letter} {style}").unwrap());
        insta::assert_snapshot!(format!("{name}-{columns}"), texts);
        insta::assert_snapshot!(format!("{name}-{columns}-style"), looks);
    }
}

#[test]
fn the_room() {
    pictures("room", "");
}

#[test]
fn one_agent() {
    pictures("agent", "g\r");
}

#[test]
fn the_clashes() {
    pictures("clashes", "2");
}

#[test]
fn the_activity() {
    pictures("activity", "4");
}

#[test]
fn the_help() {
    pictures("help", "?");
}
