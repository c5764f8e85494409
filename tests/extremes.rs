//! Times that no clock tells, as a room may still send them: every screen is drawn, and nothing gives up.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use chrono::{FixedOffset, TimeDelta};
use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use prickle::picture::{Heard, Picture};
use prickle::report::plain::Plain;
use prickle::tui::model::{Look, Model, Watch};
use prickle::tui::theme::{Glyphs, Theme};
use prickle::tui::{update, view};
use prickle::wire::Time;
use prickle::words::Zone;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use serde_json::{Value, json};

const NOON: &str = "2026-11-30T12:00:00Z";
const ENDS: [&str; 4] = [
    "+262142-12-31T23:59:59.999Z",
    "-262143-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z",
    "0000-01-01T00:00:00Z",
];

/// Two agents in each other's way, a third that has failed and a fourth at rest, who all said so at `said`.
fn pulses(said: &str, until: &str) -> Vec<Value> {
    let pulse = |agent: &str, availability: &str, kind: &str| {
        let mut pulse = json!({"agent_id": agent, "owner": agent.split('/').next(), "project": "website-v2",
            "availability": availability, "doing": "x", "task_id": null, "branch": null, "files": ["b.rs"],
            "last_decision": null, "updated_at": said});
        if !kind.is_empty() {
            pulse["intent"] = json!({"kind": kind, "paths": ["*.rs"], "areas": [], "expires_at": until});
        }
        pulse
    };
    let mut failed = pulse("acme/c", "working", "");
    failed["run_failure"] = json!({"class": "provider", "step": "codex_service"});
    vec![
        pulse("acme/a", "working", "remove"),
        pulse("lumen/b", "online", "change"),
        failed,
        pulse("acme/d", "idle", ""),
    ]
}

/// What a watcher hears: a picture, the same again event by event, a loss, and the way back.
fn story(said: &str, until: &str, happened: &str, clock: &str) -> Vec<Heard> {
    let mut news = vec![
        json!({"news": "live", "epoch": "e", "seq": 1, "server_time": clock, "resumed": false}),
        json!({"news": "snapshot", "seq": 1, "pulses": pulses(said, until)}),
        json!({"news": "recent", "events": []}),
    ];
    for (seq, pulse) in (2..).zip(pulses(said, until)) {
        let frame = json!({"type": "pulse", "seq": seq, "at": happened, "pulse": pulse});
        news.push(json!({"news": "event", "frame": frame}));
    }
    news.push(json!({"news": "lost", "why": "reset", "retry_in": u64::MAX}));
    news.push(json!({"news": "live", "epoch": "e", "seq": 5, "server_time": clock, "resumed": true}));
    let at = |mut news: Value| {
        news["at"] = NOON.into();
        serde_json::from_value(news).unwrap()
    };
    news.into_iter().map(at).collect()
}

fn draw(model: &mut Model) {
    update::pass(model);
    for (columns, rows) in [(38, 20), (80, 24), (140, 40)] {
        update::resize(model, columns, rows);
        let mut buffer = Buffer::empty(Rect::new(0, 0, columns, rows));
        let lasts = view::draw(model, &mut buffer);
        let running = Watch::Running(NOON.parse::<Time>().unwrap() - chrono::Utc::now());
        let still = std::mem::replace(&mut model.watch, running);
        let _ = update::stays(model, lasts);
        model.watch = still;
        assert!(!view::plain(&buffer).trim().is_empty());
    }
}

#[test]
fn times_at_either_end_of_time_are_shown_like_others() {
    let utc = FixedOffset::east_opt(0).unwrap();
    let mut told = 0;
    for end in ENDS {
        for (said, until, happened, clock) in [
            (end, "2026-11-30T12:30:00Z", NOON, NOON),
            (NOON, end, NOON, NOON),
            (NOON, "2026-11-30T12:30:00Z", end, NOON),
            (end, end, end, end),
        ] {
            let look = Look {
                theme: Theme::terminal(),
                glyphs: Glyphs::Unicode,
                layout: None,
                zone: Zone::Fixed(utc),
            };
            let watch = Watch::Still(NOON.parse().unwrap());
            let mut model =
                Model::new(Picture::new("website-v2"), "room".into(), Some("acme".into()), watch, look);
            let mut plain = Plain::new(Picture::new("website-v2"), "room", None, Zone::Fixed(utc));
            for heard in story(said, until, happened, clock) {
                let at = heard.at;
                told += plain.heard(heard.clone()).len() + plain.tick(at + TimeDelta::minutes(20)).len();
                let _ = plain.next_tick(at);
                update::heard(&mut model, heard);
                for key in ['1', '2', '4', 's'] {
                    let key = KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE);
                    update::event(&mut model, &Event::Key(key));
                    draw(&mut model);
                }
            }
            model.watch = Watch::Still(NOON.parse::<Time>().unwrap() + TimeDelta::hours(3));
            draw(&mut model);
        }
    }
    assert!(told > 16, "{told}");
}
