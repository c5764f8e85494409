//! Failures as the detail tells them: every step and class in both voices and all widths, what the key copies, and
//! a service that fails for many.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "common/screen.rs"]
mod screen;

use prickle::hint;
use prickle::tui::model::Model;
use prickle::tui::theme::Glyphs;
use prickle::tui::view;
use prickle::wire::pulse::{FailureClass, FailureStep, RunFailure};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use serde_json::{Value, json};

use screen::pulses::{LIVE, event};
use screen::{ACME, OFFLINE, body, hear, look, press, recorded, remapped, text};

const WIDTHS: [u16; 4] = [30, 38, 50, 100];

/// What an agent reported at 14:00.
fn pulse(agent: &str, more: &Value) -> Value {
    screen::pulses::pulse(agent, "14:00:00", more)
}

/// A live room of these agents.
fn room(pulses: &[Value]) -> Model {
    screen::room(LIVE, ACME, pulses)
}

/// An agent reports, or its runner does, at a time of the day.
fn reports(model: &mut Model, seq: u64, at: &str, pulse: &Value) {
    hear(model, LIVE, event(seq, &format!("{at}:00"), pulse));
}

/// The agent's pane alone, with its title: what stands round it is not its business.
fn pane(model: &mut Model, columns: u16, rows: u16) -> String {
    let whole = text(model, columns, rows);
    let parts = view::parts(model);
    let (from, to) = (parts.detail_title.y, parts.detail.bottom());
    let lines = whole.lines().skip(from.into()).take((to - from).into());
    let left = usize::from(parts.detail_title.x);
    let cut = lines.map(|line| line.chars().skip(left).collect::<String>() + "\n");
    cut.collect()
}

fn select(model: &mut Model, agent: &str) {
    model.selected = Some(agent.parse().unwrap());
}

/// The agent alone on a screen that is high enough for all of it, without the frame round it.
fn opened(model: &mut Model, agent: &str, columns: u16) -> String {
    text(model, columns, 60);
    select(model, agent);
    model.touched = true; // it is in sight in a side pane too
    press(model, "\r");
    let shown = text(model, columns, 60);
    press(model, "\u{1b}");
    let lines: Vec<&str> = shown.lines().collect();
    lines[2..59].join("\n").trim_end().to_owned()
}

/// The lines as a shell reads them: one that ends with a backslash goes on below.
fn joined(shown: &str) -> Vec<String> {
    let whole = shown.replace(" \\\n", " ");
    whole.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// All words of a text, one blank between them.
fn words(shown: &str) -> String {
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn failure(class: &str, step: &str) -> RunFailure {
    serde_json::from_value(json!({"class": class, "step": step})).unwrap()
}

/// Every class with every step, and with one of a newer room; and a newer room's class.
fn every_pair() -> Vec<(&'static str, &'static str)> {
    let classes = || FailureClass::KNOWN.iter().copied().chain(["weather"]);
    let steps = || FailureStep::KNOWN.iter().copied().chain(["gemini_sign_in"]);
    classes().flat_map(|class| steps().map(move |step| (class, step))).collect()
}

#[test]
fn every_step_and_class_is_told_whole_in_both_voices_and_all_widths() {
    let pairs = every_pair();
    assert_eq!(pairs.len(), (7 + 1) * (27 + 1));
    for (class, step) in pairs {
        let said = hint::of(&failure(class, step));
        let failed = json!({"run_failure": {"class": class, "step": step}, "branch": "fix/login"});
        let mut m = room(&[pulse("acme/own", &failed), pulse("lumen/their", &failed)]);
        for columns in WIDTHS {
            let room = usize::from(columns);
            let own = opened(&mut m, "acme/own", columns);
            let at = format!("{class}/{step} at {columns}:\n{own}");
            assert!(own.lines().all(|line| line.chars().count() <= room), "{at}");
            assert!(own.lines().any(|line| line.starts_with(&format!(" ! {}", said.title))), "{at}");
            let all = words(&own);
            assert!(all.contains("before 14:32"), "no time is made up: {at}");
            assert!(all.contains(&format!("{} {}", said.meaning, said.advice)), "{at}");
            assert!(all.contains(said.note), "{at}");
            let lines = joined(&own);
            for (what, command) in said.others {
                let bare = command.trim_start_matches("https://");
                let row = |line: &String| {
                    let rest = line.strip_prefix(what).unwrap_or(line).trim_start();
                    rest == *command || rest == bare
                };
                assert!(lines.iter().any(row), "{command}: {at}");
                assert!(all.contains(what), "{at}");
            }
            match said.command {
                Some(command) => {
                    let alone = |line: &String| line.trim_end_matches(" y copies it") == command;
                    assert!(lines.iter().any(alone), "{command}: {at}");
                }
                None => assert!(!own.contains("y copies"), "{at}"),
            }
            assert_eq!(own.contains("gemini_sign_in"), step == "gemini_sign_in", "{at}");

            let their = opened(&mut m, "lumen/their", columns);
            let at = format!("{class}/{step} at {columns}:\n{their}");
            let all = words(&their);
            assert!(their.lines().all(|line| line.chars().count() <= room), "{at}");
            let teammate = said.teammate;
            let next = teammate.next(Some("fix/login"));
            let told = format!("lumen{}. {} {next}", teammate.told, teammate.meaning);
            assert!(all.contains(&told), "{told}: {at}");
            assert!(!all.contains("y copies"), "nothing here is theirs to run: {at}");
            for command in said.others.iter().map(|(_, command)| command).chain(&said.command) {
                assert!(!all.contains(command), "{command}: {at}");
            }
        }
    }
}

#[test]
fn every_hint_as_it_is_read() {
    let failures = FailureStep::KNOWN.iter().map(|step| ("other", *step));
    let classes = FailureClass::KNOWN.iter().map(|class| (*class, "gemini_x"));
    for (voice, agent) in [("owner", "acme/own"), ("teammate", "lumen/their")] {
        let mut told = String::new();
        for (class, step) in failures.clone().chain([("rate_limit", "grok_service")]).chain(classes.clone()) {
            let failed = json!({"run_failure": {"class": class, "step": step}, "branch": "fix/login"});
            let shown = opened(&mut room(&[pulse(agent, &failed)]), agent, 50);
            let claim = shown.find(" said working").unwrap();
            let (hint, rest) = (&shown[..claim], &shown[claim..]);
            let note = rest.split_once("fix/login").unwrap().1;
            told.push_str(&format!(
                "{step}\n{}\n\n",
                format!("{}\n{}", hint.trim_end(), note.trim_end().trim_start_matches('\n')).trim_end()
            ));
        }
        insta::assert_snapshot!(format!("every-{voice}-50"), told);
    }
}

#[test]
fn what_the_key_copies_is_what_the_detail_shows() {
    for step in FailureStep::KNOWN {
        let failed = json!({"run_failure": {"class": "other", "step": step}});
        let mut m = room(&[pulse("acme/own", &failed), pulse("lumen/their", &failed)]);
        text(&mut m, 120, 40);
        select(&mut m, "acme/own");
        let command = hint::of(&failure("other", step)).command;
        assert_eq!(m.copies().as_deref(), command, "{step}");
        assert_eq!(text(&mut m, 120, 40).contains("y copies it"), command.is_some(), "{step}");
        select(&mut m, "lumen/their");
        assert_eq!(m.copies(), None, "{step}");
        m.owner = None;
        assert_eq!(m.copies().as_deref(), command, "without an owner all are the watcher's: {step}");
    }
}

#[test]
fn where_nothing_failed_the_key_copies_the_message_of_the_worst_clash() {
    let mut m = recorded(LIVE, look());
    let shown = |m: &mut Model, agent: &str| {
        select(m, agent);
        words(&text(m, 140, 40))
    };
    let own = shown(&mut m, "acme/builder");
    let message = m.copies().unwrap();
    assert!(message.starts_with("Before you remove src/auth/**: lumen/fixer is changing"), "{message}");
    assert!(own.contains("Tell your agent y copies this"), "{own}");
    shown(&mut m, "acme/reviewer");
    assert_eq!(m.copies().as_deref(), Some("claude auth login"));
    shown(&mut m, "acme/planner");
    assert_eq!(m.copies(), None);
    // Of what may be over no message is offered.
    let mut m = recorded(OFFLINE, look());
    let own = shown(&mut m, "acme/builder");
    assert!(own.contains("was about to remove") && !own.contains("y copies"), "{own}");
    assert_eq!(m.copies(), None);
    shown(&mut m, "acme/reviewer");
    assert_eq!(m.copies().as_deref(), Some("claude auth login"), "a sign-in needs no room");
}

#[test]
fn a_step_of_a_newer_room_is_named_beside_its_classs_hint() {
    let mut m = room(&[pulse(
        "acme/own",
        &json!({"run_failure": {"class": "rate_limit", "step": "gemini_limit", "reset_at": "15:00"}}),
    )]);
    let own = opened(&mut m, "acme/own", 50);
    insta::assert_snapshot!("newer-50", own);
    let failed = json!({"run_failure": {"class": "rate_limit", "step": "grok_service"}});
    let mut m = room(&[pulse("acme/own", &failed)]);
    assert!(opened(&mut m, "acme/own", 50).contains("! Grok usage limit reached"));
}

#[test]
fn a_hostile_step_neither_reaches_the_terminal_nor_fills_the_pane() {
    let evil = format!("\u{1b}]52;c;aGk=\u{7}\u{202e}x\u{9b}2J\n{}", "gemini ".repeat(900));
    let failed = json!({"run_failure": {"class": evil, "step": evil, evil.clone(): evil}, "branch": evil});
    let mut m = room(&[pulse("acme/own", &failed), pulse("lumen/their", &failed)]);
    for agent in ["acme/own", "lumen/their"] {
        for columns in WIDTHS {
            text(&mut m, columns, 400);
            select(&mut m, agent);
            press(&mut m, "\r");
            let shown = text(&mut m, columns, 400);
            press(&mut m, "\u{1b}");
            let foreign = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
            assert!(!shown.contains(foreign) && !shown.contains("aGk="), "{shown}");
            let named = shown.lines().filter(|line| line.contains("gemini") || line.contains("U+202E"));
            let branch = shown.lines().position(|line| line.starts_with(" branch")).unwrap();
            assert!(branch < 40, "the failure leaves room for the rest:\n{shown}");
            assert!(named.count() > 0, "what it is called is told, as far as it goes:\n{shown}");
        }
        assert_eq!(m.copies(), None);
    }
}

#[test]
fn the_detail_in_its_sizes() {
    let mut m = recorded(LIVE, look());
    for (columns, rows) in [(120, 32), (80, 24)] {
        for agent in ["acme/reviewer", "orbit/tester", "lumen/fixer", "acme/builder"] {
            select(&mut m, agent);
            let name = format!("{}-{columns}x{rows}", agent.replace('/', "-"));
            insta::assert_snapshot!(name, pane(&mut m, columns, rows));
        }
    }
    select(&mut m, "acme/reviewer");
    text(&mut m, 38, 24);
    press(&mut m, "\r");
    for (columns, rows) in [(30, 24), (38, 24), (50, 24), (100, 30), (140, 32)] {
        insta::assert_snapshot!(format!("open-{columns}x{rows}"), pane(&mut m, columns, rows));
    }
    let mut m = recorded(OFFLINE, look());
    select(&mut m, "lumen/fixer");
    for (columns, rows) in [(120, 32), (80, 24)] {
        insta::assert_snapshot!(format!("offline-{columns}x{rows}"), pane(&mut m, columns, rows));
    }
}

#[test]
fn what_does_not_fit_is_counted_with_the_key_that_shows_it() {
    let files: Vec<String> = (0..20).map(|n| format!("src/auth/session/file_{n}.rs")).collect();
    let failed =
        json!({"run_failure": {"class": "auth", "step": "codex_sign_in"}, "files": files, "doing": "x"});
    let mut m = room(&[pulse("acme/own", &failed)]);
    let shown = text(&mut m, 80, 18);
    assert!(shown.lines().nth(16).unwrap().ends_with("more · Enter"), "{shown}");
    press(&mut m, "\r");
    assert!(text(&mut m, 80, 13).lines().nth(11).unwrap().ends_with("more · j"));
}

#[test]
fn keys_are_named_as_the_settings_have_them() {
    let mut m = recorded(LIVE, look());
    select(&mut m, "acme/reviewer");
    m.keys = remapped(&[("copy", "c"), ("open", "space"), ("down", "w")]);
    let shown = pane(&mut m, 120, 20);
    assert!(shown.contains("c copies it") && shown.contains("more · Space"), "{shown}");
    press(&mut m, " ");
    assert!(pane(&mut m, 50, 20).contains("more · w"));
}

#[test]
fn what_was_marked_as_seen_keeps_its_words_and_no_longer_calls() {
    let mut m = recorded(LIVE, look());
    select(&mut m, "acme/reviewer");
    let before = pane(&mut m, 120, 32);
    let title = |m: &Model| {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 120, 32));
        view::draw(m, &mut buffer);
        let detail = view::parts(m).detail;
        buffer[(detail.x + 1, detail.y + 1)].style()
    };
    let error = m.look.theme.error;
    assert_eq!(title(&m).fg, error.fg);
    press(&mut m, "x");
    assert_ne!(title(&m).fg, error.fg);
    assert_eq!(pane(&mut m, 120, 32), before);
}

#[test]
fn an_opened_agent_shows_its_own_activity_below_where_there_is_room() {
    let mut m = recorded(LIVE, look());
    select(&mut m, "lumen/fixer");
    text(&mut m, 100, 40);
    press(&mut m, "\r");
    let shown = text(&mut m, 100, 40);
    let from = shown.lines().position(|line| line.starts_with("─ Activity ─")).unwrap();
    let lines: Vec<&str> = shown.lines().skip(from + 1).filter(|line| line.starts_with(" 1")).collect();
    assert!(lines.len() >= 2 && lines.iter().all(|line| line.contains("lumen/fixer")), "{shown}");
    assert!(lines.is_sorted_by(|newer, older| newer[..6] >= older[..6]), "the newest first:\n{shown}");
    assert!(!text(&mut m, 99, 40).contains("─ Activity ─"));
}

const TROUBLE: &str = "claude_code_service";

fn failing(agent: &str, step: &str) -> Value {
    pulse(agent, &json!({"run_failure": {"class": "provider", "step": step}}))
}

fn banner(model: &mut Model, columns: u16) -> String {
    text(model, columns, 24).lines().nth(1).unwrap().to_owned()
}

#[test]
fn one_line_tells_of_a_service_that_fails_for_several_owners() {
    let agents = ["acme/own", "lumen/a", "lumen/b", "orbit/c"];
    let mut m = room(&agents.map(|agent| pulse(agent, &json!({}))));
    assert!(banner(&mut m, 80).starts_with("─ Agents"));
    reports(&mut m, 2, "14:10", &failing("lumen/a", TROUBLE));
    reports(&mut m, 3, "14:12", &failing("lumen/b", TROUBLE));
    assert!(banner(&mut m, 80).starts_with("─ Agents"), "one owner's trouble is theirs");
    reports(&mut m, 4, "14:20", &failing("acme/own", TROUBLE));
    reports(&mut m, 5, "14:31", &failing("orbit/c", TROUBLE));
    assert_eq!(
        banner(&mut m, 80),
        " 3 owners' agents have Claude service trouble since 14:10: wait, then retry"
    );
    for (columns, told) in [
        (140, " 3 owners' agents have Claude service trouble since 14:10: wait, then retry"),
        (60, " 3 owners' agents have Claude service trouble since 14:10"),
        (50, " 3 owners' agents have Claude service trouble"),
        (38, " 3 owners: Claude service trouble"),
        (30, " 3 owners: Claude service tro…"),
    ] {
        assert_eq!(banner(&mut m, columns), told);
    }
    select(&mut m, "acme/own");
    insta::assert_snapshot!("banner-120x32", body(&text(&mut m, 120, 32)));
    insta::assert_snapshot!("banner-80x24", body(&text(&mut m, 80, 24)));
    insta::assert_snapshot!("banner-38x24", body(&text(&mut m, 38, 24)));
    assert_eq!(m.copies(), None);
    let own = opened(&mut m, "acme/own", 80);
    assert!(!own.contains("status.claude.com"), "one line instead of a hint for each:\n{own}");
    press(&mut m, "\r");
    assert!(banner(&mut m, 80).starts_with(" 3 owners'"), "alone on the screen, too");
    press(&mut m, "\u{1b}");

    // They get over it, one after the other.
    reports(&mut m, 6, "14:32", &pulse("lumen/a", &json!({})));
    reports(&mut m, 7, "14:32", &pulse("acme/own", &json!({})));
    assert!(banner(&mut m, 80).starts_with(" 2 owners' agents have Claude service trouble since 14:12"));
    reports(&mut m, 8, "14:32", &pulse("lumen/b", &json!({})));
    assert!(
        banner(&mut m, 80).starts_with(" 1 owner's agents still have Claude service trouble since 14:31")
    );
    let last = opened(&mut m, "orbit/c", 80);
    assert!(words(&last).contains("orbit's agent met trouble at Claude's service."), "{last}");
    reports(&mut m, 9, "14:32", &pulse("orbit/c", &json!({})));
    assert!(banner(&mut m, 80).starts_with("─ Agents"));
}

#[test]
fn two_services_share_the_line_and_an_old_picture_advises_nothing() {
    let agents = ["acme/a", "acme/b", "lumen/a", "lumen/b", "orbit/b"];
    let mut m = room(&agents.map(|agent| pulse(agent, &json!({}))));
    for (seq, agent) in (2..).zip(agents) {
        let step = if agent.ends_with('a') { TROUBLE } else { "codex_service" };
        reports(&mut m, seq, "14:10", &failing(agent, step));
    }
    assert_eq!(banner(&mut m, 80), " 3 owners: Codex service trouble · 2 owners: Claude service trouble");
    m.look.glyphs = Glyphs::Ascii;
    assert!(banner(&mut m, 30).is_ascii());
    m.look.glyphs = Glyphs::Unicode;
    hear(&mut m, LIVE, json!({"news": "lost", "why": "connection refused", "retry_in": 3000}));
    let told = banner(&mut m, 140);
    assert!(told.contains("had Codex service trouble since 14:10 · "), "{told}");
    assert!(!told.contains("wait"), "{told}");
}

#[test]
fn what_stood_before_we_came_is_no_common_trouble_for_nobody_knows_when_it_began() {
    let mut m = room(&[failing("acme/own", TROUBLE), failing("lumen/a", TROUBLE)]);
    assert!(banner(&mut m, 80).starts_with("─ Agents"));
    let frame = |seq, agent, at| event(seq, at, &failing(agent, TROUBLE))["frame"].take();
    let events = [frame(1, "acme/own", "14:20:00"), frame(2, "lumen/a", "14:21:00")];
    hear(&mut m, LIVE, json!({"news": "recent", "events": events}));
    assert!(banner(&mut m, 80).starts_with(" 2 owners' agents"), "the room remembered");
}

#[test]
fn a_screen_with_few_rows_keeps_them_for_the_agents() {
    let mut m = room(&["acme/own", "lumen/a"].map(|agent| pulse(agent, &json!({}))));
    reports(&mut m, 2, "14:10", &failing("lumen/a", TROUBLE));
    reports(&mut m, 3, "14:20", &failing("acme/own", TROUBLE));
    assert!(text(&mut m, 80, 8).contains("2 owners'"));
    let few = text(&mut m, 80, 7);
    assert!(!few.contains("2 owners'") && few.contains("own") && few.contains("lumen"), "{few}");
    for columns in (0..200).step_by(7) {
        for rows in 0..30 {
            text(&mut m, columns, rows);
        }
    }
}
