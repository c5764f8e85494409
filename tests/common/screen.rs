//! A recorded room on a screen, for tests of what is drawn.
#![allow(dead_code, clippy::unwrap_used, missing_docs)]

use chrono::FixedOffset;
use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use prickle::client::recording;
use prickle::picture::{Heard, Picture};
use prickle::tui::model::{Look, Model, Watch};
use prickle::tui::theme::{Glyphs, Theme};
use prickle::tui::{update, view};
use prickle::wire::Time;
use prickle::words::Zone;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use serde_json::{Value, json};

pub const LIVE: &str = "2026-11-30T14:32:10Z";
pub const OFFLINE: &str = "2026-11-30T14:32:18Z";

pub fn look() -> Look {
    let utc = FixedOffset::east_opt(0).unwrap();
    Look { theme: Theme::terminal(), glyphs: Glyphs::Unicode, layout: None, zone: Zone::Fixed(utc) }
}

pub fn model(at: &str, look: Look) -> Model {
    let at: Time = at.parse().unwrap();
    let mut recording = recording::read("tests/fixtures/website-v2.jsonl".as_ref()).unwrap();
    recording.cut(at);
    let picture = Picture::new(&recording.header.project);
    let owner = recording.header.owner.clone();
    let mut model = Model::new(picture, "http://127.0.0.1:7766".into(), owner, Watch::Still(at), look);
    recording.heard.into_iter().for_each(|heard| update::heard(&mut model, heard));
    model
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

pub fn press(model: &mut Model, keys: &str) {
    for key in keys.chars() {
        let code = match key {
            '\r' => KeyCode::Enter,
            '\u{1b}' => KeyCode::Esc,
            '\t' => KeyCode::Tab,
            key => KeyCode::Char(key),
        };
        update::event(model, &Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
    }
}

/// A letter for each cell's style: what is coloured, bold or dim, row by row.
pub fn styles(buffer: &Buffer) -> String {
    let letter = |style: Style| -> char {
        let colour = style.fg.filter(|c| *c != ratatui::style::Color::Reset).map(|c| c.to_string());
        let base = match colour.as_deref() {
            None => '.',
            Some("Red") => 'r',
            Some("Green") => 'g',
            Some("Cyan") => 'c',
            Some(_) => '?',
        };
        match (style.add_modifier.contains(Modifier::BOLD), style.add_modifier.contains(Modifier::DIM)) {
            (true, false) if base == '.' => 'B',
            (true, false) => base.to_ascii_uppercase(),
            (false, true) if base == '.' => '-',
            (false, false) => base,
            _ => '!',
        }
    };
    let area = buffer.area;
    let row = |y| -> String { (0..area.width).map(|x| letter(buffer[(x, y)].style())).collect() };
    (0..area.height).map(|y| row(y) + "\n").collect()
}

/// An agent that says everything that can be said, in the widest and most hostile letters.
pub fn hostile() -> Model {
    let evil = "\u{202e}cod.exe \u{9b}2J\u{1b}]52;c;aGk=\u{7} ♻️⚠️ 修正 \u{200b}\n料金ページ👩\u{200d}💻é";
    let pulse = |name: &str| -> Value {
        json!({"agent_id": format!("acme/{name}"), "owner": "acme", "project": "website-v2",
            "availability": "working", "doing": evil.repeat(4), "task_id": evil, "branch": evil.repeat(3),
            "files": [evil, "—".repeat(300), "ー".repeat(300)], "last_decision": "é".repeat(500),
            "updated_at": LIVE, "run_failure": {"class": evil, "step": evil, "reset_at": evil},
            "intent": {"kind": evil, "paths": [evil, "a"], "areas": [evil], "expires_at": "2026-11-30T15:00:00Z"},
            evil: evil})
    };
    let mut m = model(LIVE, look());
    let pulses: Vec<Value> = ["a", "\u{202e}b", "修正修正", &"c".repeat(70)].map(pulse).into();
    let news = json!({"at": LIVE, "news": "snapshot", "seq": 9, "pulses": pulses});
    update::heard(&mut m, serde_json::from_value::<Heard>(news).unwrap());
    m
}
