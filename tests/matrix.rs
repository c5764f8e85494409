//! Every view in every width and height as text and as style, one picture a view and width.
#![allow(clippy::unwrap_used)]

#[path = "common/screen.rs"]
mod screen;

use std::collections::BTreeMap;
use std::fmt::Write;

use prickle::tui::view;
use screen::pulses::LIVE;
use screen::{draw, look, press, recorded, runs_of_styles};

const WIDTHS: [u16; 9] = [30, 38, 45, 60, 80, 100, 120, 140, 200];
const HEIGHTS: [u16; 5] = [8, 12, 24, 32, 50];

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
