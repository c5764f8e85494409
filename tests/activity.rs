//! The Activity: what happened, in which words and order, at many sizes, and where the eye stays while news come.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "common/screen.rs"]
mod screen;

use chrono::TimeDelta;
use crossterm::event::{KeyCode, KeyModifiers};
use prickle::tui::model::{Here, Model, Pane, Panel, View, Watch};
use prickle::tui::theme::Theme;
use prickle::tui::{update, view};
use serde_json::{Value, json};

use screen::pulses::{LIVE, event, live, pulse, time};
use screen::{ACME, draw, hear, is_foreign, look, press, recorded, room, selected, stroke, text, unheard};

fn intent(kind: &str, path: &str, until: &str) -> Value {
    json!({"kind": kind, "paths": [path], "areas": [], "expires_at": time(until)})
}

/// A room that a window looks at since 14:01, and what happens in it.
struct Story {
    model: Model,
    seq: u64,
}

impl Story {
    /// Three agents; the room remembers how it came to that, and a clash among them stands.
    fn begin() -> Self {
        let mut model = unheard("14:01:00", ACME);
        hear(&mut model, "14:01:00", live("14:01:00", 6, false));
        let session = json!({"doing": "Reading the session code",
            "intent": intent("remove", "src/session/**", "14:20:00")});
        let login =
            json!({"doing": "Fixing the login", "intent": intent("change", "src/session/a.rs", "14:20:00")});
        let failed =
            json!({"doing": "x", "run_failure": {"class": "provider", "step": "claude_code_service"}});
        let docs = json!({"doing": "Reading the pricing page"});
        let pulses = [
            pulse("acme/builder", "13:50:00", &session),
            pulse("lumen/docs", "13:45:00", &docs),
            pulse("lumen/fixer", "13:52:00", &login),
        ];
        hear(&mut model, "14:01:00", json!({"news": "snapshot", "seq": 6, "pulses": pulses}));
        let frame = |seq, at, pulse| event(seq, at, &pulse)["frame"].take();
        let events = [
            frame(1, "13:02:00", pulse("acme/builder", "12:50:00", &failed)),
            frame(2, "13:41:00", pulse("acme/builder", "12:50:00", &json!({"doing": "x"}))),
            frame(3, "13:45:00", pulse("lumen/docs", "13:45:00", &docs)),
            frame(4, "13:50:00", pulse("acme/builder", "13:50:00", &session)),
            frame(5, "13:52:00", pulse("lumen/fixer", "13:52:00", &login)),
            frame(6, "13:55:00", pulse("lumen/docs", "13:55:00", &docs)),
        ];
        hear(&mut model, "14:01:00", json!({"news": "recent", "events": events}));
        update::resize(&mut model, 100, 24);
        Self { model, seq: 6 }
    }

    fn says(&mut self, agent: &str, at: &str, says: &Value) {
        self.seq += 1;
        hear(&mut self.model, at, event(self.seq, at, &pulse(agent, at, says)));
        if matches!(self.model.watch, Watch::Still(_)) {
            self.model.watch = Watch::Still(time(at));
        }
    }

    fn fails(&mut self, agent: &str, at: &str, since: &str, says: &Value) {
        self.seq += 1;
        hear(&mut self.model, at, event(self.seq, at, &pulse(agent, since, says)));
    }

    /// Everything that the view can tell.
    fn whole() -> Self {
        let mut story = Self::begin();
        let docs = json!({"doing": "Reading the pricing page"});
        story.fails(
            "acme/reviewer",
            "14:02:00",
            "13:45:00",
            &json!({"doing": "Reviewing", "run_failure": {"class": "auth", "step": "claude_code_sign_in"}}),
        );
        for minute in 3..=4 {
            story.says("lumen/docs", &format!("14:0{minute}:00"), &docs);
        }
        hear(
            &mut story.model,
            "14:05:00",
            json!({"news": "lost", "why": "connection refused", "retry_in": 900}),
        );
        let resumed = live("14:09:00", story.seq + 3, true);
        hear(&mut story.model, "14:09:00", resumed);
        story.says("lumen/docs", "14:05:30", &docs);
        let decided = "Three menus, not five: the fifth had one entry.";
        story.says("acme/planner", "14:06:00", &json!({"availability": "working", "last_decision": decided}));
        let fixer =
            json!({"doing": "Fixing the login", "branch": "fix/login-redirect", "task_id": "login-redirect"});
        story.says("lumen/fixer", "14:08:00", &fixer);
        for minute in 10..=22 {
            story.says("lumen/docs", &format!("14:{minute}:00"), &docs);
        }
        story.says(
            "lumen/styler",
            "14:23:00",
            &json!({"availability": "online", "doing": "Ready for the next task"}),
        );
        story.says(
            "acme/planner",
            "14:26:00",
            &json!({"availability": "idle", "doing": "Waiting for the nav review", "last_decision": decided}),
        );
        let about = json!({"doing": "Reading the session code", "intent": intent("remove", "src/auth/**", "15:00:00")});
        story.says("acme/builder", "14:19:00", &json!({"doing": "Reading the session code", "intent": intent("change", "src/session/**", "14:49:00")}));
        story.says("acme/builder", "14:30:00", &about);
        let login = json!({"doing": "Fixing the login", "branch": "fix/login-redirect", "task_id": "login-redirect",
            "intent": intent("change", "src/auth/login.rs", "15:01:00")});
        story.says("lumen/fixer", "14:31:00", &login);
        story.seq += 1;
        let gone =
            json!({"type": "gone", "seq": story.seq, "at": time("14:31:30"), "agent_id": "lumen/styler"});
        hear(&mut story.model, "14:31:30", json!({"news": "event", "frame": gone}));
        story.seq += 1;
        let poke = json!({"type": "poke", "seq": story.seq});
        hear(&mut story.model, "14:31:40", json!({"news": "event", "frame": poke}));
        story.says("lumen/docs", "14:32:00", &json!({"doing": "Translating the pricing page 料金ページ"}));
        story.model.watch = Watch::Still(time("14:32:10"));
        press(&mut story.model, "4");
        story
    }
}

#[test]
fn activity_in_every_width() {
    for (columns, rows) in
        [(30, 40), (38, 40), (45, 30), (60, 30), (80, 24), (100, 30), (120, 32), (140, 32), (200, 32)]
    {
        let mut model = Story::whole().model;
        insta::assert_snapshot!(format!("{columns}x{rows}"), text(&mut model, columns, rows));
    }
}

/// The rows of the list on the screen, from the rule on.
fn rows(model: &mut Model, columns: u16, rows: u16) -> Vec<String> {
    text(model, columns, rows).lines().skip(1).map(str::to_owned).collect()
}

/// A room in which so many agents have said something, one a second.
fn crowd(events: u64) -> Story {
    let mut story = Story::begin();
    for n in 0..events {
        let at = format!("14:10:{n:02}");
        story.says(&format!("acme/a{n}"), &at, &json!({"doing": format!("says {n}")}));
    }
    press(&mut story.model, "4");
    story
}

#[test]
fn the_selected_event_stays_on_its_row_while_news_come_in_above() {
    let mut story = crowd(30);
    press(&mut story.model, "jjjjj");
    let before = rows(&mut story.model, 80, 24);
    assert!(before[6].starts_with("▌14:10") && before[6].contains("says 24"), "{before:?}");
    for n in 0..3 {
        story.says("lumen/new", "14:11:00", &json!({"doing": format!("more {n}")}));
    }
    let after = rows(&mut story.model, 80, 24);
    assert_eq!(after[1..22], before[1..22], "what is read does not move");
    assert!(after[0].contains("3 newer above"), "{}", after[0]);
    // Back at the top it goes with the news again.
    press(&mut story.model, "g");
    let top = rows(&mut story.model, 80, 24);
    assert!(top[1].starts_with("▌14:11") && top[1].contains("more 2"), "{top:?}");
    story.says("lumen/new", "14:12:00", &json!({"doing": "the newest"}));
    let top = rows(&mut story.model, 80, 24);
    assert!(top[1].starts_with("▌14:12") && top[1].contains("the newest"), "{top:?}");
    assert!(top[0].ends_with(" newest first ─"));
}

#[test]
fn reading_at_the_end_and_in_wrapped_rows_stays_in_sight() {
    for (columns, rows_) in [(30, 8), (38, 12), (60, 10), (100, 24)] {
        let mut story = Story::whole();
        update::resize(&mut story.model, columns, rows_);
        let mut seen = 0;
        loop {
            let shown = rows(&mut story.model, columns, rows_);
            assert!(shown.iter().any(|row| row.starts_with('▌')), "{columns}x{rows_}: {shown:?}");
            let before = story.model.event;
            press(&mut story.model, "j");
            seen += 1;
            if story.model.event == before {
                break;
            }
        }
        assert_eq!(seen, 22, "every event once, and no rule");
        let end = rows(&mut story.model, columns, rows_);
        assert!(end[end.len() - 2].starts_with('▌'), "the last page is full: {end:?}");
        press(&mut story.model, "G");
        assert_eq!(rows(&mut story.model, columns, rows_), end);
        press(&mut story.model, "g");
        assert_eq!((story.model.event, story.model.activity_top), (None, None));
        press(&mut story.model, "\u{1b}");
        assert_eq!(story.model.view, View::Room);
    }
}

#[test]
fn an_event_that_is_forgotten_gives_its_selection_to_the_oldest() {
    let mut story = Story::begin();
    press(&mut story.model, "4G");
    let oldest = story.model.event;
    assert!(oldest.is_some());
    for n in 0..600_u64 {
        story.says("acme/a", "14:20:00", &json!({"doing": n.to_string()}));
    }
    let shown = rows(&mut story.model, 80, 24);
    assert_ne!(story.model.event, oldest);
    assert!(shown[21].starts_with('▌'), "{shown:?}");
}

#[test]
fn enter_opens_the_agent_of_the_event_and_esc_comes_back_to_it() {
    let mut story = Story::whole();
    update::resize(&mut story.model, 100, 24);
    press(&mut story.model, "\r");
    assert_eq!((story.model.pane, selected(&story.model)), (Pane::Open, "lumen/docs"));
    assert!(text(&mut story.model, 100, 24).contains("─ lumen/docs "));
    press(&mut story.model, "\u{1b}");
    assert_eq!((story.model.pane, story.model.view), (Pane::List, View::Activity));
    // The room's own word and somebody who has left are about nobody who could be opened.
    for _ in 0..2 {
        press(&mut story.model, "j\r");
        assert_eq!(story.model.pane, Pane::List);
        assert!(text(&mut story.model, 100, 24).contains(" nobody to open"));
    }
    // A clash opens one's own agent of the two.
    press(&mut story.model, "j\r");
    assert_eq!(selected(&story.model), "acme/builder");
}

#[test]
fn n_goes_from_trouble_to_trouble_that_still_stands() {
    let mut story = Story::whole();
    let mut told = Vec::new();
    for _ in 0..4 {
        press(&mut story.model, "n");
        let shown = rows(&mut story.model, 100, 40);
        told.push(shown.iter().find(|row| row.starts_with('▌')).unwrap()[3..25].trim().to_owned());
    }
    // The clash of 13:52 is over, the failure of 13:02 was cleared.
    assert_eq!(told, ["14:31 ≠ clash", "14:02 ! acme/reviewer", "14:31 ≠ clash", "14:02 ! acme/reviewer"]);
}

#[test]
fn where_the_filter_lets_nothing_through_no_key_finds_anything() {
    let mut model = recorded(LIVE, look());
    draw(&mut model, 100, 24);
    press(&mut model, "4/zzz\r");
    for keys in ["n", "N", "j", "k", "G", "Y", "\r"] {
        assert_eq!(press(&mut model, keys), None, "{keys:?}");
        assert_eq!((model.event, model.pane), (None, Pane::List), "{keys:?}");
    }
}

#[test]
fn the_selected_event_is_copied_as_json_as_it_came() {
    let mut story = Story::whole();
    let copied = |story: &mut Story| -> Value {
        serde_json::from_str(&screen::copied(press(&mut story.model, "Y"))).unwrap()
    };
    let newest = copied(&mut story);
    assert_eq!(newest["type"], "pulse");
    assert_eq!(newest["pulse"]["doing"], "Translating the pricing page 料金ページ");
    press(&mut story.model, "jjj");
    let clash = copied(&mut story);
    assert_eq!(
        (&clash["type"], &clash["clash"]["second"]["agent_id"]),
        (&json!("clash"), &json!("lumen/fixer"))
    );
}

#[test]
fn a_room_in_which_nothing_changed_says_so() {
    let mut model = room("14:01:00", None, &[pulse("acme/a", "14:00:00", &json!({}))]);
    press(&mut model, "4");
    assert!(text(&mut model, 80, 24).contains("Nothing has changed since you opened it at 14:01."));
    assert_eq!(press(&mut model, "jkGg\rY"), None);
    assert_eq!(model.pane, Pane::List);
}

#[test]
fn the_only_colour_is_the_marks_and_their_titles() {
    let mut model = Story::whole().model;
    let buffer = draw(&mut model, 100, 30);
    let red = Theme::terminal().error.fg;
    let row = (0..30).find(|y| buffer[(7, *y)].symbol() == "!").unwrap();
    let coloured: String =
        (0..100).filter(|x| buffer[(*x, row)].style().fg == red).map(|x| buffer[(x, row)].symbol()).collect();
    assert_eq!(coloured, "!Claude Code is signed out");
}

#[test]
fn the_history_is_there_whatever_the_clocks_say() {
    let mut model = unheard("14:01:00", None);
    hear(&mut model, "14:01:00", live("15:01:00", 1, false));
    let said = pulse("acme/a", "15:00:00", &json!({"doing": "before we came"}));
    hear(&mut model, "14:01:00", json!({"news": "snapshot", "seq": 1, "pulses": [said]}));
    let event = event(1, "15:00:00", &said)["frame"].take();
    hear(&mut model, "14:01:00", json!({"news": "recent", "events": [event]}));
    press(&mut model, "4");
    let shown = text(&mut model, 100, 24);
    assert!(shown.contains("before we came") && shown.contains("this clock"), "{shown}");
}

#[test]
fn another_day_has_a_rule_of_its_own() {
    let mut model = recorded(LIVE, look());
    press(&mut model, "4");
    insta::assert_snapshot!("recorded-80x30", text(&mut model, 80, 30));
}

#[test]
fn a_frozen_picture_counts_what_waits_and_loses_nothing() {
    let mut story = crowd(5);
    press(&mut story.model, "jj");
    let chosen = story.model.event;
    press(&mut story.model, "f");
    let header = |model: &mut Model, columns| text(model, columns, 24).lines().next().unwrap().to_owned();
    assert!(
        header(&mut story.model, 100).ends_with("FROZEN · nothing new"),
        "{}",
        header(&mut story.model, 100)
    );
    let still = rows(&mut story.model, 100, 24);
    story.says("lumen/docs", "14:12:00", &json!({"doing": "Reading the pricing page"}));
    assert!(header(&mut story.model, 100).ends_with("nothing new"), "a report alike is no change");
    story.says("lumen/docs", "14:13:00", &json!({"doing": "Writing"}));
    story.says("lumen/docs", "14:14:00", &json!({"doing": "Resting"}));
    assert!(header(&mut story.model, 100).ends_with("FROZEN · 2 changes waiting"));
    assert!(header(&mut story.model, 30).ends_with("FROZEN +2"));
    hear(&mut story.model, "14:15:00", json!({"news": "lost", "why": "reset", "retry_in": 900}));
    assert!(header(&mut story.model, 100).ends_with("FROZEN · 2 changes waiting · offline"));
    let narrow = [36, 34, 30, 24, 20].map(|columns| header(&mut story.model, columns));
    let expected = [
        " ≠ 1 clash      FROZEN +2 · offline",
        " ≠ 1 clash    FROZEN +2 · offline",
        " ≠ 1 clash      FROZEN +2 off",
        " ≠ 1      FROZEN +2 off",
        " ≠ 1  FROZEN +2 off",
    ];
    assert_eq!(narrow, expected);
    let same = |now: &[String], then: &[String]| now[..22] == then[..22];
    assert!(same(&rows(&mut story.model, 100, 24), &still), "nothing moves, ages neither");
    // Looking about goes on.
    press(&mut story.model, "?");
    assert!(text(&mut story.model, 100, 24).contains("Keys in the Activity"));
    press(&mut story.model, "?jk");
    assert_eq!(story.model.event, chosen);
    let resumed = live("14:16:00", story.seq, true);
    hear(&mut story.model, "14:16:00", resumed);
    press(&mut story.model, "f");
    assert_eq!(story.model.event, chosen, "the selection is kept");
    press(&mut story.model, "g");
    let shown = rows(&mut story.model, 100, 24).join("\n");
    let place = |what: &str| shown.find(what).unwrap_or_else(|| panic!("{what}: {shown}"));
    assert!(place("14:15 to 14:16 not connected") < place("Resting") && place("Resting") < place("Writing"));
    assert_eq!(press(&mut story.model, "fq"), Some(update::Effect::Quit));
}

#[test]
fn nothing_foreign_reaches_the_activity() {
    let mut story = Story::begin();
    let evil = "a\u{1b}]52;c;aGk=\u{7}\nb\u{202e}\u{200b}c";
    story.says(
        "acme/a",
        "14:10:00",
        &json!({"doing": evil, "branch": evil, "task_id": evil, "last_decision": evil}),
    );
    press(&mut story.model, "4");
    for columns in 20..140 {
        let buffer = draw(&mut story.model, columns, 24);
        assert!(!buffer.content().iter().any(|cell| cell.symbol().contains(is_foreign)), "{columns}");
        assert!(!view::plain(&buffer).contains("52;c"));
    }
    assert!(text(&mut story.model, 100, 24).contains("a··b<U+202E><U+200B>c"));
}

#[test]
fn the_help_of_each_view_at_every_size() {
    for (view, name) in [("1", "room"), ("2", "clashes"), ("4", "activity")] {
        for (columns, rows) in [(38, 20), (60, 20), (80, 24), (140, 40)] {
            let mut model = recorded(LIVE, look());
            draw(&mut model, columns, rows);
            press(&mut model, "4");
            press(&mut model, view);
            press(&mut model, "?");
            insta::assert_snapshot!(format!("help-{name}-{columns}x{rows}"), text(&mut model, columns, rows));
        }
    }
}

/// Rooms in each state that the header tells, two agents failed and one clash.
fn states() -> Vec<(&'static str, Model)> {
    let offline = |model: &mut Model| {
        hear(model, "14:32:10", json!({"news": "lost", "why": "connection refused", "retry_in": 3000}));
        model.watch = Watch::Still(time("14:32:12"));
    };
    let demo = Panel {
        title: "Demo".into(),
        lines: Vec::new(),
        began: time("14:32:00"),
        period: TimeDelta::seconds(90),
        beats: Vec::new(),
    };
    let mut states = Vec::new();
    let mut state = |name, change: &dyn Fn(&mut Model)| {
        let mut model = recorded(LIVE, look());
        change(&mut model);
        states.push((name, model));
    };
    state("live", &|_| {});
    state("demo", &|model| model.panel = Some(demo.clone()));
    state("caught up", &|model| {
        offline(model);
        hear(model, "14:32:12", live("14:32:12", 21, true));
    });
    state("offline", &|model| offline(model));
    state("frozen", &|model| {
        press(model, "f");
        for n in 0..7 {
            let pulse = pulse("acme/new", "14:32:11", &json!({"doing": format!("x{n}")}));
            hear(model, "14:32:11", event(40 + n, "14:32:11", &pulse));
        }
    });
    state("frozen, offline since", &|model| {
        press(model, "f");
        offline(model);
    });
    state("recording", &|model| model.replay = true);
    state("refuses reports", &|model| {
        hear(model, "14:32:10", json!({"news": "room", "refusing": "the room's storage is full"}));
    });
    state("no key", &|model| hear(model, "14:32:10", json!({"news": "refused", "why": "revoked"})));
    states
}

#[test]
fn the_header_says_as_much_as_fits_at_every_width() {
    let mut told = String::new();
    for (name, mut model) in states() {
        told.push_str(&format!("{name}\n"));
        for columns in [20, 24, 30, 38, 45, 59, 60, 70, 80, 100, 120, 140] {
            let row = text(&mut model, columns, 24).lines().next().unwrap().to_owned();
            told.push_str(&format!("{columns:>4} {row}\n"));
        }
        for columns in 24..=140 {
            let row = text(&mut model, columns, 24).lines().next().unwrap().to_owned();
            assert!(!row.contains('…'), "{name}, {columns}: {row}");
            // Counts while they are of now; the last that goes is what needs a person.
            let counted = row.contains("! 2") && row.contains("≠ 1");
            assert!(counted || ["offline", "no key"].contains(&name), "{name}, {columns}: {row}");
        }
    }
    insta::assert_snapshot!("header", told);
}

#[test]
fn the_footer_of_each_view_at_every_width() {
    let mut told = String::new();
    for (keys, name) in [
        ("", "room"),
        ("\r", "agent"),
        ("2", "clashes"),
        ("4", "activity"),
        ("4\r", "its agent"),
        ("?", "help"),
    ] {
        told.push_str(&format!("{name}\n"));
        for columns in [20, 30, 38, 45, 60, 80, 100, 140] {
            let mut model = recorded(LIVE, look());
            draw(&mut model, columns, 24);
            press(&mut model, keys);
            let row = text(&mut model, columns, 24).lines().last().unwrap().to_owned();
            assert!(row.contains("? "), "{row}");
            assert!(!row.contains('…'), "whole hints go: {row}");
            told.push_str(&format!("{columns:>4} {row}\n"));
        }
    }
    insta::assert_snapshot!("footer", told);
}

#[test]
fn the_empty_rooms_next_step_is_copied() {
    let at = time("14:01:00");
    let empty = |here: bool| {
        let mut model = unheard("14:01:00", ACME);
        model.first.here = here.then_some(Here { open: at, ends: true });
        hear(&mut model, "14:01:00", live("14:01:00", 0, false));
        model
    };
    let copied = |model: &mut Model| press(model, "y").map(|effect| screen::copied(Some(effect)));
    let mut model = empty(true);
    assert_eq!(copied(&mut model), None, "what is in the room is not known yet");
    hear(&mut model, "14:01:00", json!({"news": "snapshot", "seq": 0, "pulses": []}));
    let last = |model: &mut Model| text(model, 80, 24).lines().last().unwrap().to_owned();
    assert!(last(&mut model).starts_with(" y copy   q quit"), "{}", last(&mut model));
    assert_eq!(copied(&mut model).unwrap(), "prickle connect claude-code");
    let standing = json!({"project": "website-v2", "agents": [{"agent_id": "acme/claude-code",
        "key_made_at": at, "key_first_used_at": null, "tools_listed_at": null, "pulse": null, "elsewhere": []}]});
    update::agents(&mut model, serde_json::from_value(standing).unwrap());
    assert_eq!(copied(&mut model).unwrap(), "Report your pulse to prickle.");
    let mut model = empty(false);
    hear(&mut model, "14:01:00", json!({"news": "snapshot", "seq": 0, "pulses": []}));
    let command = copied(&mut model).unwrap();
    assert!(
        command.starts_with("export PRICKLE_TOKEN=") && command.contains("--agent acme/builder"),
        "{command}"
    );
    // Nobody is selected here, so that is not what the key copies where somebody is.
    assert_eq!(copied(&mut recorded(LIVE, look())).unwrap(), "claude auth login");
}

#[test]
fn the_demos_panel_tells_whole_lines() {
    let long = "Nine of them, made up, call a real room of their own, which is gone with this window.";
    let story = "lumen/fixer gets out of the way, and the clash ends";
    for (columns, rows) in [(38, 24), (60, 24), (80, 24), (100, 28), (120, 32)] {
        let mut model = recorded(LIVE, look());
        model.panel = Some(Panel {
            title: "Demo".into(),
            lines: vec![long.into(), "Try  n what needs you".into()],
            began: time("14:32:00"),
            period: TimeDelta::seconds(90),
            beats: vec![(TimeDelta::seconds(20), story.into())],
        });
        let shown = text(&mut model, columns, rows);
        let from = shown.find("─ Demo ").unwrap();
        let panel: Vec<&str> = shown[from..].lines().skip(1).flat_map(str::split_whitespace).collect();
        let panel = panel.join(" ");
        assert!(panel.starts_with(&format!("In 11s: {story}")), "{columns}x{rows}: {panel}");
        assert!(panel.contains(long) || !panel.contains("Nine of them"), "{columns}x{rows}: {panel}");
        let all = panel.contains(long) && panel.contains("Try n what needs you");
        assert!(all || columns < 100, "{columns}x{rows}: {panel}");
    }
}

#[test]
fn the_eye_of_who_looks_for_a_clash_falls_on_whose_work_would_be_undone() {
    let mut model = recorded(LIVE, look());
    update::look_at_clash(&mut model);
    assert_eq!(selected(&model), "lumen/fixer");
}

#[test]
fn the_help_is_looked_through_for_a_key_or_what_it_does() {
    let mut m = recorded(LIVE, look());
    update::resize(&mut m, 80, 24);
    press(&mut m, "?");
    let footer = |m: &mut Model| text(m, 80, 24).lines().last().unwrap().to_owned();
    assert!(footer(&mut m).contains("/ search keys"), "{}", footer(&mut m));
    press(&mut m, "/ONE line?q");
    assert!(footer(&mut m).starts_with(" / ONE line?q▏"), "every key goes into the line: {}", footer(&mut m));
    assert!(text(&mut m, 80, 24).contains("No key here is or does ONE line?q."));
    press(&mut m, "\u{8}\u{8}");
    let shown = text(&mut m, 80, 24);
    assert!(shown.contains("j k ↓ ↑  one line") && !shown.contains("half a page"), "{shown}");
    press(&mut m, "\r");
    assert!(footer(&mut m).contains("? close"), "the line is closed, and what it found stays");
    assert_eq!(text(&mut m, 80, 24).matches("one line").count(), 1);
    press(&mut m, "/");
    press(&mut m, &"\u{8}".repeat(8));
    press(&mut m, "ctrl-u\r");
    assert!(text(&mut m, 80, 24).contains("half a page"), "by the key's name, too");
    press(&mut m, "\u{1b}");
    assert!(text(&mut m, 80, 24).contains("one level back"), "Esc shows all of it");
    press(&mut m, "\u{1b}");
    assert!(m.help.is_none());
    press(&mut m, "?");
    assert!(text(&mut m, 80, 24).contains("one level back"));
}

/// What the Activity tells with a filter, as rows of `width` columns.
fn filtered(story: &mut Story, filter: &str) -> String {
    press(&mut story.model, "4/");
    stroke(&mut story.model, KeyCode::Char('u'), KeyModifiers::CONTROL);
    press(&mut story.model, filter);
    stroke(&mut story.model, KeyCode::Enter, KeyModifiers::NONE);
    text(&mut story.model, 100, 24)
}

#[test]
fn the_filter_finds_who_left_and_what_was_said_by_who_is_so_now() {
    let mut story = Story::begin();
    story.says("lumen/docs", "14:02:00", &json!({"doing": "Translating"}));
    story.says("lumen/docs", "14:03:00", &json!({"doing": "Translating", "availability": "idle"}));
    story.seq += 1;
    let gone = json!({"type": "gone", "seq": story.seq, "at": time("14:04:00"), "agent_id": "lumen/fixer"});
    hear(&mut story.model, "14:04:00", json!({"news": "event", "frame": gone}));
    // The clash that this ended says so too.
    let left = |shown: &str| {
        shown.lines().any(|line| line.contains("lumen/fixer  ") && line.contains("left the room"))
    };
    for by in ["a:fixer", "o:lumen", "fixer", "lumen/fix", "-o:acme"] {
        let shown = filtered(&mut story, by);
        assert!(left(&shown), "{by}: {shown}");
    }
    for by in ["a:docs", "o:acme", "translating", "s:working", "b:main", "-a:fixer"] {
        let shown = filtered(&mut story, by);
        assert!(!left(&shown), "{by}: {shown}");
    }
    // It said this while it was at work, and is idle now.
    assert!(filtered(&mut story, "s:idle").contains("Translating"));
    let working = filtered(&mut story, "s:working");
    assert!(!working.contains("docs"), "{working}");
    assert!(working.contains("builder"), "{working}");
}

#[test]
fn the_same_failure_that_comes_again_is_told_again_and_found() {
    let failed = json!({"doing": "x", "run_failure": {"class": "auth", "step": "claude_code_sign_in"}});
    let mut story = Story::begin();
    story.says("acme/reviewer", "14:02:00", &json!({"doing": "x"}));
    story.fails("acme/reviewer", "14:03:00", "14:02:00", &failed);
    // The agent itself reports: its failure stands as it did.
    story.says("acme/reviewer", "14:04:00", &failed);
    story.says("acme/reviewer", "14:05:00", &failed);
    story.model.watch = Watch::Still(time("14:06:00"));
    let shown = text(&mut story.model, 100, 24);
    press(&mut story.model, "4");
    let told = |model: &mut Model| text(model, 100, 24).matches("is signed out").count();
    assert_eq!(told(&mut story.model), 1, "{shown}");
    press(&mut story.model, "n");
    let first = story.model.event;
    assert!(first.is_some());
    // The runner reports: it has failed once more.
    story.fails("acme/reviewer", "14:07:00", "14:05:00", &failed);
    story.model.watch = Watch::Still(time("14:07:00"));
    update::pass(&mut story.model);
    assert_eq!(told(&mut story.model), 2, "{}", text(&mut story.model, 100, 24));
    let mut found = Vec::new();
    for _ in 0..2 {
        press(&mut story.model, "n");
        found.push(story.model.event);
    }
    found.sort();
    // The clash of the first look, and the new failure: the one before it is over.
    assert!(found[0] < first && found[1] > first, "{found:?} {first:?}");
}
