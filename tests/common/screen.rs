//! Rooms on a screen, recorded or made of pulses, for tests of what is drawn and what keys do.
#![allow(dead_code, reason = "each test uses its part")]
#![allow(clippy::unwrap_used, missing_docs)]

#[path = "pulses.rs"]
pub mod pulses;

use std::collections::BTreeMap;
use std::fmt::Write;

use chrono::FixedOffset;
use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use prickle::client::recording;
use prickle::picture::Picture;
use prickle::tui::keys::Keys;
use prickle::tui::model::{Look, Model, Watch};
use prickle::tui::theme::{Glyphs, Theme};
use prickle::tui::update::{self, Effect};
use prickle::tui::view;
use prickle::words::Zone;
use prickle::written::Remapped;
use pulses::{LIVE, heard, live, pulse, time};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};
use serde_json::{Value, json};

/// While the recorded room cannot be reached.
pub const OFFLINE: &str = "2026-11-30T14:32:18Z";

/// The owner who watches.
pub const ACME: Option<&str> = Some("acme");

pub fn look() -> Look {
    let utc = FixedOffset::east_opt(0).unwrap();
    Look { theme: Theme::terminal(), glyphs: Glyphs::Unicode, layout: None, zone: Zone::Fixed(utc) }
}

/// A window at `at` that has heard nothing of its room yet.
pub fn unheard(at: &str, owner: Option<&str>) -> Model {
    let (server, watch) = ("http://127.0.0.1:7766".to_owned(), Watch::Still(time(at)));
    Model::new(Picture::new("website-v2"), server, owner.map(str::to_owned), watch, look())
}

/// Hears what was recorded of a room until `at`.
pub fn play(model: &mut Model, name: &str, at: &str) {
    let mut recording = recording::read(format!("tests/fixtures/{name}.jsonl").as_ref()).unwrap();
    assert_eq!(recording.header.project, model.picture.project);
    recording.cut(time(at));
    recording.heard.into_iter().for_each(|heard| update::heard(model, heard));
}

/// The recorded room at `at`, watched by acme.
pub fn recorded(at: &str, look: Look) -> Model {
    let mut model = unheard(at, ACME);
    model.look = look;
    play(&mut model, "website-v2", at);
    model
}

/// A connected room of these pulses at `at`.
pub fn room(at: &str, owner: Option<&str>, pulses: &[Value]) -> Model {
    let mut model = unheard(at, owner);
    hear(&mut model, at, live(at, 1, false));
    hear(&mut model, at, json!({"news": "snapshot", "seq": 1, "pulses": pulses}));
    model
}

pub fn hear(model: &mut Model, at: &str, news: Value) {
    update::heard(model, heard(at, news));
}

/// The room's next event, heard at `at`: an agent's pulse, taken in the moment that it was said.
pub fn report(model: &mut Model, at: &str, pulse: &Value) {
    let said = pulse["updated_at"].as_str().unwrap();
    hear(model, at, pulses::event(next(model), said, pulse));
}

/// The room's next event: an agent leaves.
pub fn leave(model: &mut Model, at: &str, agent: &str) {
    let gone = json!({"type": "gone", "seq": next(model), "at": time(at), "agent_id": agent});
    hear(model, at, json!({"news": "event", "frame": gone}));
}

fn next(model: &Model) -> u64 {
    model.picture.position().map_or(0, |(_, seq)| seq) + 1
}

pub fn draw(model: &mut Model, columns: u16, rows: u16) -> Buffer {
    update::resize(model, columns, rows);
    let mut buffer = Buffer::empty(Rect::new(0, 0, columns, rows));
    view::draw(model, &mut buffer);
    buffer
}

pub fn text(model: &mut Model, columns: u16, rows: u16) -> String {
    view::plain(&draw(model, columns, rows))
}

/// What stands between header and footer.
pub fn body(screen: &str) -> String {
    let lines: Vec<&str> = screen.lines().collect();
    lines[1..lines.len() - 1].join("\n")
}

pub fn stroke(model: &mut Model, code: KeyCode, modifiers: KeyModifiers) -> Option<Effect> {
    update::event(model, &Event::Key(KeyEvent::new(code, modifiers)))
}

/// What the last of these keys has the loop do; those before it leave it alone.
pub fn press(model: &mut Model, keys: &str) -> Option<Effect> {
    let mut effect = None;
    for key in keys.chars() {
        assert_eq!(effect, None, "lost on the way through {keys:?}");
        let code = match key {
            '\r' => KeyCode::Enter,
            '\u{1b}' => KeyCode::Esc,
            '\t' => KeyCode::Tab,
            '\u{8}' => KeyCode::Backspace,
            key => KeyCode::Char(key),
        };
        effect = stroke(model, code, KeyModifiers::NONE);
    }
    effect
}

/// The keys with these actions on others, as the settings have it.
pub fn remapped(actions: &[(&str, &str)]) -> Keys {
    let remap = |(action, key): &(&str, &str)| Remapped {
        action: (*action).into(),
        keys: vec![((*key).into(), String::new())],
        place: String::new(),
    };
    Keys::with(&actions.iter().map(remap).collect::<Vec<_>>()).unwrap()
}

/// The text that goes to the clipboard.
pub fn copied(effect: Option<Effect>) -> String {
    match effect {
        Some(Effect::Copy(text)) => text,
        other => panic!("nothing copied: {other:?}"),
    }
}

/// Who is selected; nothing where nobody is.
pub fn selected(model: &Model) -> &str {
    model.selected.as_ref().map_or("", |id| id.as_str())
}

/// What no terminal may be sent: it moves what follows, turns it round, or is not seen.
pub fn is_foreign(c: char) -> bool {
    c.is_control() || "\u{202e}\u{200b}\u{200d}\u{fe0f}".contains(c)
}

/// A letter for each cell's style: what is coloured, bold or dim, row by row.
pub fn styles(buffer: &Buffer) -> String {
    let letter = |x, y| {
        let cell = &buffer[(x, y)];
        let base = match cell.fg {
            Color::Reset => '.',
            Color::Red => 'r',
            Color::Yellow => 'y',
            Color::Green => 'g',
            Color::Cyan => 'c',
            Color::Magenta => 'm',
            _ => '?',
        };
        match (cell.modifier.contains(Modifier::BOLD), cell.modifier.contains(Modifier::DIM)) {
            (true, false) if base == '.' => 'B',
            (true, false) => base.to_ascii_uppercase(),
            (false, true) if base == '.' => '-',
            (false, false) => base,
            _ => '!',
        }
    };
    let area = buffer.area;
    (0..area.height).map(|y| (0..area.width).map(|x| letter(x, y)).collect::<String>() + "\n").collect()
}

/// The widest and most hostile letters.
pub const EVIL: &str =
    "\u{202e}cod.exe \u{9b}2J\u{1b}]52;c;aGk=\u{7} ♻️⚠️ 修正 \u{200b}\n料金ページ👩\u{200d}💻é";

/// Agents that say everything that can be said, in such letters.
pub fn hostile() -> Model {
    let evil = EVIL;
    let pulse = |name: &str| -> Value {
        let more = json!({"doing": evil.repeat(4), "task_id": evil, "branch": evil.repeat(3),
            "files": [evil, "—".repeat(300), "ー".repeat(300)], "last_decision": "é".repeat(500),
            "run_failure": {"class": evil, "step": evil, "reset_at": evil},
            "intent": {"kind": evil, "paths": [evil, "a"], "areas": [evil], "expires_at": "2026-11-30T15:00:00Z"},
            evil: evil});
        pulse(&format!("acme/{name}"), LIVE, &more)
    };
    let mut m = recorded(LIVE, look());
    let pulses: Vec<Value> = ["a", "\u{202e}b", "修正修正", &"c".repeat(70)].map(pulse).into();
    hear(&mut m, LIVE, json!({"news": "snapshot", "seq": 9, "pulses": pulses}));
    m
}

/// Each row's styles as runs (`12a3b`: twelve cells in style a, three in b), and what the letters stand for.
pub fn runs_of_styles(buffer: &Buffer, known: &mut BTreeMap<String, char>) -> String {
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
