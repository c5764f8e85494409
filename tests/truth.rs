//! The screen's parts agree with each other: what is counted, offered, named and timed is so.
#![allow(clippy::unwrap_used)]

#[path = "common/screen.rs"]
mod screen;

use chrono::TimeDelta;
use prickle::tui::model::{Model, Pane, View};
use prickle::tui::{update, view};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use serde_json::{Value, json};

use screen::pulses::{self, LIVE, time};
use screen::{ACME, OFFLINE, draw, look, press, recorded, remapped, report, text};

fn hear(m: &mut Model, news: Value) {
    screen::hear(m, LIVE, news);
}

fn pulse(id: &str, more: &Value) -> Value {
    pulses::with(pulses::pulse(id, "2026-11-30T14:30:00Z", &json!({"doing": "x"})), more)
}

/// A room that was found so, without a history, watched by acme.
fn room(pulses: &[Value]) -> Model {
    let mut m = screen::room(LIVE, ACME, pulses);
    hear(&mut m, json!({"news": "recent", "events": []}));
    draw(&mut m, 120, 32);
    m
}

fn failed(step: &str) -> Value {
    json!({"run_failure": {"class": "provider", "step": step}})
}

fn intends(kind: &str, path: &str, until: &str) -> Value {
    let expires_at = format!("2026-11-30T{until}Z");
    json!({"intent": {"kind": kind, "paths": [path], "areas": [], "expires_at": expires_at}})
}

fn header(m: &mut Model) -> String {
    text(m, 120, 32).lines().next().unwrap().to_owned()
}

#[test]
fn the_key_for_what_needs_you_leads_there_from_every_view() {
    for (keys, more) in [("4", ""), ("2", ""), ("4", "/zzz\r"), ("2", "/acme\r")] {
        for n in ["n", "N"] {
            let mut m = room(&[pulse("acme/a", &json!({})), pulse("acme/b", &failed("codex_service"))]);
            press(&mut m, "gk");
            press(&mut m, keys);
            press(&mut m, more);
            assert!(text(&mut m, 120, 32).contains("n next that needs you"), "{keys}{more}");
            press(&mut m, n);
            let hidden = more.contains("zzz");
            assert_eq!(m.view, View::Room, "{keys}{more}{n}");
            assert!(hidden || m.selected.as_ref().unwrap().as_str() == "acme/b", "{keys}{more}{n}");
            assert_eq!(text(&mut m, 120, 32).contains("1 needs you, hidden by the filter"), hidden);
        }
    }
}

#[test]
fn what_was_seen_is_still_said_to_stand() {
    let mut m = room(&[pulse("acme/b", &failed("codex_service"))]);
    press(&mut m, "x");
    assert!(header(&mut m).contains(" 1 of 1 working · 1 seen "), "{}", header(&mut m));
    let narrow = text(&mut m, 38, 20);
    assert!(narrow.starts_with(" 1 seen, nothing else "), "{narrow}");
    press(&mut m, "jx");
    assert!(header(&mut m).contains("! 1 failed") && !header(&mut m).contains("seen"));
}

#[test]
fn very_many_seen_at_once_are_counted_once_each() {
    let mut pulses = vec![pulse("acme/hub", &intends("remove", "src/**", "15:00:00"))];
    for n in 0..60 {
        pulses.push(pulse(&format!("lumen/a{n:02}"), &intends("change", &format!("src/{n}.rs"), "15:00:00")));
    }
    let mut m = room(&pulses);
    assert!(header(&mut m).contains("≠ 60 clashes"), "{}", header(&mut m));
    press(&mut m, "2x");
    assert!(header(&mut m).contains(" working · 60 seen"), "{}", header(&mut m));
    // One of them says something else: that clash is over, and no longer among those.
    let other = pulse("lumen/a07", &json!({"updated_at": LIVE, "doing": "y"}));
    report(&mut m, LIVE, &other);
    assert!(header(&mut m).contains(" working · 59 seen"), "{}", header(&mut m));
    press(&mut m, "x");
    assert!(header(&mut m).contains("≠ 59 clashes"), "{}", header(&mut m));
}

/// How long the picture stays as it was drawn.
fn stays(m: &mut Model, columns: u16, rows: u16) -> Option<TimeDelta> {
    update::resize(m, columns, rows);
    let mut buffer = Buffer::empty(Rect::new(0, 0, columns, rows));
    view::draw(m, &mut buffer)
}

#[test]
fn countdowns_in_the_clashes_go_on() {
    let mut m = room(&[
        pulse("acme/a", &intends("remove", "src/**", "14:32:50")),
        pulse("lumen/b", &intends("change", "src/b.rs", "15:00:00")),
    ]);
    press(&mut m, "2");
    assert!(text(&mut m, 120, 32).contains("40s left"));
    for (columns, rows) in [(120, 32), (80, 24), (38, 20)] {
        let stays = stays(&mut m, columns, rows).unwrap();
        assert!(stays <= TimeDelta::seconds(1), "{stays} at {columns}x{rows}");
    }
}

#[test]
fn the_banner_covers_nothing_of_an_empty_page() {
    let mut m = room(&[]);
    for id in ["lumen/a", "orbit/b", "nadir/c"] {
        let says = pulse(id, &failed("codex_service"));
        report(&mut m, LIVE, &says);
    }
    press(&mut m, "2");
    for (columns, rows) in [(120, 32), (80, 24), (38, 20)] {
        let shown = text(&mut m, columns, rows);
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines[1].starts_with(" 3 owners"), "{shown}");
        assert!(lines[2].starts_with("─ Clashes ─"), "{shown}");
        assert!(shown.contains("Nobody is in anyone's way."), "{shown}");
    }
}

#[test]
fn a_frozen_picture_says_so_whatever_else_it_is() {
    let mut m = recorded(LIVE, look());
    m.replay = true;
    press(&mut m, "f");
    assert!(header(&mut m).ends_with("FROZEN · nothing new"), "{}", header(&mut m));
    assert!(text(&mut m, 120, 32).lines().last().unwrap().starts_with(" f go on"));
    let mut m = recorded(OFFLINE, look());
    press(&mut m, "f");
    let frozen = header(&mut m);
    assert!(frozen.contains("offline (connection refused)") && !frozen.contains("retry in"), "{frozen}");
    hear(&mut m, json!({"news": "refused", "why": "the key was revoked"}));
    assert!(header(&mut m).ends_with("FROZEN · nothing new · refused"), "{}", header(&mut m));
}

#[test]
fn other_keys_are_named_wherever_a_key_is() {
    let keys = remapped(&[
        ("back", "b"),
        ("open", "o"),
        ("pane", "w"),
        ("down", "v"),
        ("copy", "c"),
        ("group", "u"),
    ]);
    for view in ["", "2", "4"] {
        for open in ["", "o", "w"] {
            let mut m = recorded(LIVE, look());
            m.keys = keys.clone();
            for (columns, rows) in [(120, 14), (80, 24), (38, 20)] {
                draw(&mut m, columns, rows);
                press(&mut m, view);
                press(&mut m, open);
                let shown = text(&mut m, columns, rows);
                for gone in ["Esc back", "· Enter", "· Tab", "· j", "y copies", "Enter "] {
                    assert!(!shown.contains(gone), "{gone:?} after {view}{open}:\n{shown}");
                }
            }
        }
    }
}

#[test]
fn a_shell_command_holds_nothing_of_others() {
    let mut m = room(&[]);
    for (owner, named) in [("acme", "acme/builder"), ("x); touch /tmp/pwned; $(true", "OWNER/builder")] {
        m.owner = Some(owner.into());
        let copied = m.copies().unwrap();
        assert!(copied.contains(named) && !copied.contains("pwned"), "{copied}");
        assert!(!text(&mut m, 120, 32).contains("pwned; $("), "{owner}");
    }
}

#[test]
fn an_agent_is_marked_as_seen_wherever_it_was_opened() {
    let mut m = recorded(LIVE, look());
    draw(&mut m, 120, 32);
    press(&mut m, "4\r");
    // Down its history until it is the agent's turn.
    while m.selected.as_ref().unwrap().as_str() != "acme/reviewer" {
        press(&mut m, "\u{1b}j\r");
    }
    assert!(m.view == View::Activity && m.pane == Pane::Open);
    assert!(text(&mut m, 120, 32).contains("x seen"));
    press(&mut m, "x");
    assert!(header(&mut m).contains("! 1 failed") && header(&mut m).contains("1 seen"), "{}", header(&mut m));
    assert_eq!(m.seen.standing(&m.picture, time(LIVE)), (1, 0));
}
