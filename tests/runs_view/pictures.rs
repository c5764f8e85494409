//! Every page of the Runs in every width and height, as text and as style.

use std::collections::BTreeMap;
use std::fmt::Write;

use prickle::tui::model::Model;
use prickle::tui::view;
use prickle::tui::{runs::ask::wanted, update};

use super::ledger::{Ledger, client, person, week};
use super::screen::pulses::LIVE;
use super::screen::{draw, look, press, recorded};

const WIDTHS: [u16; 9] = [30, 38, 45, 60, 80, 100, 120, 140, 200];
const HEIGHTS: [u16; 5] = [8, 12, 24, 32, 50];

fn asked(model: &mut Model, ledger: &Ledger, keys: &str) {
    for key in keys.chars() {
        press(model, &key.to_string());
        ledger.tell(model);
    }
}

fn pictures(name: &str, make: impl Fn(u16, u16) -> Model) {
    for columns in WIDTHS {
        let (mut texts, mut looks, mut known) = (String::new(), String::new(), BTreeMap::new());
        for rows in HEIGHTS {
            let buffer = draw(&mut make(columns, rows), columns, rows);
            write!(texts, "{columns}x{rows}\n{}\n", view::plain(&buffer)).unwrap();
            write!(looks, "{columns}x{rows}\n{}\n", super::screen::runs_of_styles(&buffer, &mut known))
                .unwrap();
        }
        let mut letters: Vec<(&char, &String)> =
            known.iter().map(|(style, letter)| (letter, style)).collect();
        letters.sort_unstable();
        letters.iter().for_each(|(letter, style)| writeln!(looks, "{letter} {style}").unwrap());
        insta::assert_snapshot!(format!("{name}-{columns}"), texts);
        insta::assert_snapshot!(format!("{name}-{columns}-style"), looks);
    }
}

fn read(keys: &'static str) -> impl Fn(u16, u16) -> Model {
    move |columns, rows| {
        let mut m = recorded(LIVE, look());
        draw(&mut m, columns, rows);
        update::key(&mut m, person());
        asked(&mut m, &week(), keys);
        m
    }
}

#[test]
fn runs_by_task() {
    pictures("groups", read("3jj"));
}

#[test]
fn one_tasks_runs() {
    pictures("records", read("3jj\rj"));
}

#[test]
fn one_run() {
    pictures("one", read("3jj\rj\r"));
}

#[test]
fn no_persons_key() {
    pictures("denied", |columns, rows| {
        let mut m = recorded(LIVE, look());
        draw(&mut m, columns, rows);
        update::key(&mut m, client());
        press(&mut m, "3");
        assert_eq!(wanted(&m), []);
        m
    });
}

#[test]
fn nothing_reported() {
    pictures("empty", |columns, rows| {
        let mut m = recorded(LIVE, look());
        draw(&mut m, columns, rows);
        update::key(&mut m, person());
        asked(&mut m, &Ledger::default(), "3");
        m
    });
}

#[test]
fn not_answered_yet() {
    pictures("loading", |columns, rows| {
        let mut m = recorded(LIVE, look());
        draw(&mut m, columns, rows);
        update::key(&mut m, person());
        press(&mut m, "3");
        m
    });
}
