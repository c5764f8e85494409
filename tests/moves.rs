//! What keys and news do to the screen in states that are easily forgotten: no room for a pane, the help open,
//! a key refused, ten thousand agents.

#![allow(clippy::unwrap_used)]

#[path = "common/screen.rs"]
mod screen;

use std::time::{Duration, Instant};

use chrono::TimeDelta;
use prickle::picture::Heard;
use prickle::tui::model::{Model, Pane, Watch};
use prickle::tui::theme::Glyphs;
use prickle::tui::update;
use serde_json::{Value, json};

use screen::pulses::{LIVE, event, heard, pulse, time, with};
use screen::{draw, hear, press, room, selected, text};

/// An agent that says a lot, in wide letters.
fn wide(agent: &str, more: &Value) -> Value {
    let doing = json!({"doing": "料金ページ".repeat(6)});
    with(pulse(agent, LIVE, &doing), more)
}

fn failed(class: &str, step: &str) -> Value {
    json!({"run_failure": {"class": class, "step": step}})
}

/// Nobody in particular watches them.
fn model(pulses: &[Value]) -> Model {
    room(LIVE, None, pulses)
}

fn many(count: usize) -> Vec<Value> {
    (0..count).map(|i| wide(&format!("owner-{}/agent-{i}", i % 7), &json!({}))).collect()
}

#[test]
fn the_keys_never_go_to_a_pane_that_is_not_there() {
    let mut m = model(&many(5));
    draw(&mut m, 80, 12); // the list has all rows
    press(&mut m, "\t");
    assert_eq!(m.pane, Pane::List);
    draw(&mut m, 120, 32);
    press(&mut m, "\t");
    assert_eq!(m.pane, Pane::Detail);
    draw(&mut m, 38, 20);
    assert_eq!(m.pane, Pane::List, "the cards have no detail beside them");
    press(&mut m, "\t");
    assert_eq!(m.pane, Pane::List);
    draw(&mut m, 120, 32);
    press(&mut m, "\t");
    hear(&mut m, LIVE, json!({"news": "snapshot", "seq": 2, "pulses": []}));
    assert_eq!(m.pane, Pane::List, "nobody is left to be looked at");
}

#[test]
fn behind_the_help_nothing_moves() {
    let mut m = model(&[wide("acme/a", &json!({})), wide("acme/b", &failed("auth", "codex_sign_in"))]);
    draw(&mut m, 80, 24);
    press(&mut m, "g");
    let (selected, pane) = (m.selected.clone(), m.pane);
    press(&mut m, "?");
    press(&mut m, "nN\tj\r\u{1b}");
    assert_eq!((&m.selected, m.pane, m.help), (&selected, pane, None));
}

#[test]
fn going_back_shows_what_matters_first() {
    let files: Vec<String> = (0..60).map(|i| format!("src/{i}.rs")).collect();
    let mut m = model(&[wide("acme/a", &json!({"files": files}))]);
    draw(&mut m, 120, 32);
    press(&mut m, "\r");
    press(&mut m, "G");
    assert!(m.detail_top > 0);
    press(&mut m, "\u{1b}");
    assert!(text(&mut m, 120, 32).contains("working · now"));
    assert_eq!(m.detail_top, 0);
}

#[test]
fn an_owner_told_late_leads_the_eye_to_their_own_failure() {
    let pulses =
        [wide("acme/a", &failed("auth", "codex_sign_in")), wide("orbit/b", &failed("auth", "grok_sign_in"))];
    let mut m = model(&pulses);
    assert_eq!(selected(&m), "acme/a");
    update::owner(&mut m, "orbit".into());
    assert_eq!(selected(&m), "orbit/b");
    let mut m = model(&pulses);
    draw(&mut m, 80, 24);
    press(&mut m, "g");
    update::owner(&mut m, "orbit".into());
    assert_eq!(selected(&m), "acme/a", "a hand on the keys is not overruled");
}

#[test]
fn a_refused_watch_dates_its_picture_with_the_day() {
    let mut m = model(&many(2));
    hear(&mut m, "2026-11-29T18:03:12Z", json!({"news": "refused", "why": "the key was revoked"}));
    let shown = text(&mut m, 80, 24);
    assert!(shown.contains("Agents as of Sun 18:03"), "{shown}");
    hear(&mut m, LIVE, json!({"news": "connecting"}));
    let shown = text(&mut m, 80, 24);
    assert!(shown.contains("connecting") && shown.contains("as of Sun 18:03"), "{shown}");
}

#[test]
fn a_teammate_is_not_told_that_there_is_nothing_to_do_where_there_is() {
    let mut m = model(&[wide("acme/a", &failed("timeout", "task_time_limit"))]);
    m.owner = Some("orbit".into());
    let shown = text(&mut m, 120, 32);
    assert!(shown.contains("Look at its branch") && !shown.contains("Nothing for you"), "{shown}");
    let mut m = model(&[wide("acme/a", &failed("auth", "codex_sign_in"))]);
    m.owner = Some("orbit".into());
    assert!(text(&mut m, 120, 32).contains("Nothing for you to do."));
}

#[test]
fn a_command_is_never_cut() {
    let mut m = model(&[wide("acme/a", &failed("rate_limit", "codex_usage_limit"))]);
    press(&mut m, "\r");
    for columns in 36..120 {
        let shown = text(&mut m, columns, 40);
        assert!(shown.contains("https://chatgpt.com/settings/usage"), "{columns}:\n{shown}");
    }
}

#[test]
fn a_popup_cuts_no_wide_letter_in_half() {
    let mut m = model(&many(9));
    press(&mut m, "?");
    for columns in 40..140 {
        let buffer = draw(&mut m, columns, 24);
        for y in 0..24 {
            for x in 0..columns - 1 {
                let wide = prickle::shown::width(buffer[(x, y)].symbol()) > 1;
                assert!(!wide || buffer[(x + 1, y)].symbol() == " ", "{x},{y} at {columns} columns");
            }
        }
    }
}

#[test]
fn what_is_out_of_sight_is_counted_in_ascii_too() {
    let mut m = model(&many(40));
    m.look.glyphs = Glyphs::Ascii;
    let shown = text(&mut m, 100, 20);
    assert!(shown.contains("- Agents 1-14 of 40 -"), "{shown}");
}

#[test]
fn a_replayed_outage_counts_nobody() {
    let mut m = model(&many(3));
    m.replay = true;
    let shown = text(&mut m, 80, 24);
    assert!(shown.contains("3 of 3 working") && shown.contains("recording · 14:32:10"), "{shown}");
    hear(&mut m, LIVE, json!({"news": "lost", "why": "connection refused", "retry_in": 3000}));
    let shown = text(&mut m, 80, 24);
    let header = shown.lines().next().unwrap();
    assert!(!header.contains("working") && header.contains("offline 0s"), "{header}");
    assert!(header.ends_with("recording · 14:32:10"), "{header}");
}

#[test]
fn a_moment_that_stands_still_is_drawn_once() {
    let mut m = model(&many(3));
    assert_eq!(update::stays(&m, Some(TimeDelta::seconds(1))), None);
    m.watch = Watch::Running(time(LIVE) - chrono::Utc::now() + TimeDelta::seconds(3));
    assert!(update::stays(&m, None).is_some(), "somebody gets stale");
}

/// The fastest of a few tries: other work on the machine can only make one slower.
fn fastest(mut what: impl FnMut()) -> Duration {
    let once = |what: &mut dyn FnMut()| {
        let start = Instant::now();
        what();
        start.elapsed()
    };
    (0..5).map(|_| once(&mut what)).min().unwrap()
}

#[test]
fn ten_thousand_agents_are_drawn_and_moved_among_without_delay() {
    let mut m = model(&many(10_000));
    for (columns, rows) in [(38, 24), (80, 24), (120, 32)] {
        draw(&mut m, columns, rows);
        press(&mut m, "G");
        let frame = fastest(|| drop(draw(&mut m, columns, rows)));
        let key = fastest(|| drop(press(&mut m, "k")));
        let news: Vec<Heard> = (0..500)
            .map(|i| heard(LIVE, event(9, LIVE, &wide(&format!("owner-{}/agent-{i}", i % 7), &json!({})))))
            .collect();
        let heard = fastest(|| update::heard_all(&mut m, news.clone()));
        // Unoptimised these take 7, 1 and 2 ms; what is done once an agent for each news or row takes seconds.
        let limits = [(frame, 100), (key, 50), (heard, 250)];
        for (took, limit) in limits {
            assert!(took < Duration::from_millis(limit), "{columns}x{rows}: {limits:?}");
        }
    }
}
