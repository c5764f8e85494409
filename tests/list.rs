//! The Room's list: what the filter lets through, in which order and under which headings it stands, who keeps the
//! selection, and that nobody is left out of a pane that is too small for all.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use chrono::{FixedOffset, TimeDelta};
use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use prickle::client::recording;
use prickle::picture::{Heard, Picture};
use prickle::tui::filter::Filter;
use prickle::tui::list::{List, Standing};
use prickle::tui::model::{Look, Model, Pane, View, Watch};
use prickle::tui::theme::{Glyphs, Theme};
use prickle::tui::update::{self, Effect};
use prickle::tui::view;
use prickle::wire::Time;
use prickle::words::Zone;
use proptest::prelude::*;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use serde_json::{Value, json};

const NOW: &str = "2026-11-30T14:32:10Z";

fn look() -> Look {
    let utc = FixedOffset::east_opt(0).unwrap();
    Look { theme: Theme::terminal(), glyphs: Glyphs::Unicode, layout: None, zone: Zone::Fixed(utc) }
}

fn now() -> Time {
    NOW.parse().unwrap()
}

/// The room of the recording, watched by acme.
fn website() -> Model {
    let mut recording = recording::read("tests/fixtures/website-v2.jsonl".as_ref()).unwrap();
    recording.cut(now());
    let picture = Picture::new(&recording.header.project);
    let owner = recording.header.owner.clone();
    let mut model = Model::new(picture, "http://127.0.0.1:7766".into(), owner, Watch::Still(now()), look());
    recording.heard.into_iter().for_each(|heard| update::heard(&mut model, heard));
    update::resize(&mut model, 120, 32);
    model
}

/// A room of these pulses, watched by acme.
fn room(pulses: &[Value]) -> Model {
    let owner = Some("acme".to_owned());
    let watch = Watch::Still(now());
    let mut model =
        Model::new(Picture::new("website-v2"), "http://127.0.0.1:7766".into(), owner, watch, look());
    hear(&mut model, json!({"news": "live", "epoch": "e", "seq": 0, "server_time": NOW, "resumed": false}));
    hear(&mut model, json!({"news": "snapshot", "seq": 0, "pulses": pulses}));
    update::resize(&mut model, 120, 32);
    model
}

/// A pulse of so many minutes ago, with what else it says.
fn pulse(id: &str, availability: &str, minutes: i64, more: Value) -> Value {
    let mut pulse = json!({"agent_id": id, "owner": id.split('/').next(), "project": "website-v2",
        "availability": availability, "doing": "", "task_id": null, "branch": null, "files": [],
        "last_decision": null, "updated_at": now() - TimeDelta::minutes(minutes)});
    let Value::Object(more) = more else { panic!("members are wanted") };
    pulse.as_object_mut().unwrap().extend(more);
    pulse
}

fn hear(model: &mut Model, mut news: Value) {
    news["at"] = json!(NOW);
    update::heard(model, serde_json::from_value::<Heard>(news).unwrap());
}

fn report(model: &mut Model, pulse: &Value) {
    let frame = json!({"type": "pulse", "seq": 1, "at": pulse["updated_at"], "pulse": pulse});
    hear(model, json!({"news": "event", "frame": frame}));
}

fn leave(model: &mut Model, id: &str) {
    hear(model, json!({"news": "event", "frame": {"type": "gone", "seq": 1, "at": NOW, "agent_id": id}}));
}

fn draw(model: &mut Model, columns: u16, rows: u16) -> Buffer {
    update::resize(model, columns, rows);
    let mut buffer = Buffer::empty(Rect::new(0, 0, columns, rows));
    view::draw(model, &mut buffer);
    buffer
}

fn text(model: &mut Model, columns: u16, rows: u16) -> String {
    view::plain(&draw(model, columns, rows))
}

fn stroke(model: &mut Model, code: KeyCode, modifiers: KeyModifiers) -> Option<Effect> {
    update::event(model, &Event::Key(KeyEvent::new(code, modifiers)))
}

fn press(model: &mut Model, keys: &str) {
    for key in keys.chars() {
        let code = match key {
            '\r' => KeyCode::Enter,
            '\u{1b}' => KeyCode::Esc,
            '\u{8}' => KeyCode::Backspace,
            key => KeyCode::Char(key),
        };
        assert_eq!(stroke(model, code, KeyModifiers::NONE), None, "{key:?}");
    }
}

/// What stands in the list, in order.
fn listed(model: &Model) -> Vec<&str> {
    model.list.iter().map(|(id, _)| id.as_str()).collect()
}

fn selected(model: &Model) -> &str {
    model.selected.as_ref().map_or("", |id| id.as_str())
}

/// Who a filter lets through.
fn through(model: &Model, filter: &str) -> Vec<String> {
    let filter = Filter::new(filter);
    let agents = model.picture.agents();
    agents.filter(|(_, agent)| filter.matches_agent(model, agent)).map(|(id, _)| id.to_string()).collect()
}

#[test]
fn what_a_filter_lets_through() {
    let model = website();
    let all = through(&model, "");
    assert_eq!(all.len(), 9);
    for (filter, names) in [
        ("  ", "*"),
        // Words: name, owner, doing, branch, task, files and paths, decision, the failure's title.
        ("fixer", "lumen/fixer"),
        ("lumen/", "lumen/docs lumen/fixer lumen/styler"),
        ("PRICING", ""),
        ("pricing", "lumen/docs"),
        ("料金", "lumen/docs"),
        ("refactor/drop", "acme/builder"),
        ("nav-review", "acme/reviewer"),
        ("menu.rs", "acme/reviewer"),
        ("src/auth/**", "acme/builder"),
        ("session old", "acme/builder"),
        ("\"session old\"", ""),
        ("\"old cookie\"", "lumen/fixer"),
        ("\"old cookie", "lumen/fixer"),
        ("signed", "acme/reviewer"),
        ("Claude", "acme/reviewer"),
        ("claude", "acme/reviewer"),
        // Terms are joined.
        ("acme nav", "acme/planner acme/reviewer"),
        ("acme -nav", "acme/builder"),
        ("-acme -lumen", "orbit/deployer orbit/tester orbit/watcher"),
        // Fields, by letter and written out.
        ("a:er o:acme", "acme/builder acme/planner acme/reviewer"),
        ("agent:docs", "lumen/docs"),
        ("a:acme", ""),
        ("o:orb", "orbit/deployer orbit/tester orbit/watcher"),
        ("b:nav", "acme/planner acme/reviewer"),
        ("t:nav-review", "acme/reviewer"),
        ("f:auth", "acme/builder lumen/fixer"),
        ("f:src/*/menu.rs", "acme/builder acme/reviewer"), // the one has it, the other is about to remove it
        ("f:src/n*/menu.rs", "acme/reviewer"),
        ("f:src/auth/{login,logout}.rs", "acme/builder lumen/fixer"),
        ("f:SRC/**", ""),
        ("-f:src/ s:working", "lumen/docs"),
        // States: what is said anew, not what was said long ago.
        ("s:working", "acme/builder lumen/docs lumen/fixer"),
        ("s:w", "acme/builder lumen/docs lumen/fixer"),
        ("S:w", "acme/builder lumen/docs lumen/fixer"),
        ("s:stale", "acme/reviewer"),
        ("s:a", "orbit/deployer orbit/tester"),
        ("s:o", "lumen/styler orbit/watcher"),
        ("s:failed", "acme/reviewer orbit/tester"),
        ("s:clash", "acme/builder lumen/fixer"),
        ("s:risk", ""),
        ("s:needs-you", "acme/builder acme/reviewer"),
        ("-s:idle o:acme", "acme/builder acme/reviewer"),
        // Not typed out yet, or no field at all.
        ("s:", "*"),
        ("-", "*"),
        ("-s:", "*"),
        ("\"", "*"),
        ("\"s:idle\"", ""),
        ("\"-s:idle\"", ""),
        ("fix: s:idle", ""),
        // What means nothing restricts nothing.
        ("x:1", "*"),
        ("s:idle x:1", "acme/planner"),
        ("s:dreaming", "*"),
    ] {
        let names = if names == "*" { all.join(" ") } else { names.to_owned() };
        assert_eq!(through(&model, filter).join(" "), names, "{filter}");
    }
}

#[test]
fn what_means_nothing_in_a_filter_is_said() {
    for (filter, fault) in [
        ("x:1", Some("no filter x:  use s a o b f t")),
        ("s:idle -z:", Some("no filter z:  use s a o b f t")),
        (
            "s:dreaming",
            Some(
                "no state dreaming:  use working online idle asleep away offline failed clash risk stale needs-you",
            ),
        ),
        ("-s:workingg", Some("no state workingg:  use ")),
        ("s:-idle", Some("no state -idle:  use ")),
        ("fix: the redirect", None),
        ("http://localhost", None),
        ("1:30", None),
        ("\"x:1\"", None),
        ("s:", None),
        ("s:needs-you -s:o f:*.rs t:1", None),
    ] {
        let told = Filter::new(filter);
        match (told.fault(), fault) {
            (Some(told), Some(fault)) => assert!(told.starts_with(fault), "{filter}: {told}"),
            (told, fault) => assert_eq!(told, fault, "{filter}"),
        }
    }
}

#[test]
fn what_can_be_read_can_be_found() {
    let said = json!({"doing": "Deploying \u{202e}cod.exe\u{1b}[31m now", "branch": "Caf\u{65}\u{301}"});
    let model = room(&[pulse("acme/a", "working", 0, said)]);
    for filter in ["<U+202E>cod", "cod.exe·", "café", "b:Café", "CAF\u{45}\u{301} -x", "deploying"] {
        let found = !filter.starts_with("CAF");
        assert_eq!(through(&model, filter).len(), usize::from(found), "{filter}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(600) })]
    #[test]
    fn no_text_is_too_much_for_a_filter(filter in "[ -~\\PC\u{301}\"':*?\\[{}\\\\-]{0,40}|(-?[sabfotx]:?[a-z*?\\[{]{0,6} ?){0,4}") {
        let mut model = website();
        press(&mut model, "/");
        update::event(&mut model, &Event::Paste(filter.clone()));
        let found = through(&model, model.list.filter().text());
        let shown: Vec<String> = listed(&model).iter().map(ToString::to_string).collect();
        prop_assert_eq!(&found, &shown);
        prop_assert!(model.selected.is_none() == shown.is_empty());
        draw(&mut model, 60, 12);
    }

    #[test]
    fn a_term_and_its_inversion_divide_the_agents(term in "[saobft]:[a-zA-Z*?/\\[{}.-]{1,5}|[a-zA-Z.*/]{1,5}") {
        let model = website();
        let (one, other) = (Filter::new(&term), Filter::new(&format!("-{term}")));
        if one.fault().is_none() {
            prop_assert_eq!(other.fault(), None);
            for (id, agent) in model.picture.agents() {
                prop_assert!(one.matches_agent(&model, agent) != other.matches_agent(&model, agent), "{}", id);
            }
        }
    }
}

#[test]
fn case_a38_every_printable_key_goes_into_the_filter() {
    let mut m = website();
    press(&mut m, "/queue?jk/ 1n");
    let line = |m: &mut Model| text(m, 80, 24).lines().last().unwrap().to_owned();
    assert_eq!(line(&mut m), " / queue?jk/ 1n▏   0 of 9");
    assert!(m.help.is_none() && m.view == View::Room);
    report(&mut m, &pulse("acme/late", "working", 0, json!({"doing": "queue?jk/ 1n"})));
    assert_eq!(line(&mut m), " / queue?jk/ 1n▏   1 of 10", "kept, and it filters what comes");
    press(&mut m, "\r");
    assert!(m.typing.is_none());
    assert!(text(&mut m, 80, 24).contains("─ Agents 1 of 10 · queue?jk/ 1n ─"), "Enter keeps it");
    press(&mut m, "/x");
    assert_eq!(line(&mut m), " / queue?jk/ 1nx▏   0 of 10", "and it can be gone on with");
    press(&mut m, "\u{1b}");
    assert!(m.typing.is_none() && m.list.filter().is_empty());
    assert_eq!(m.list.len(), 10, "Esc clears it");
}

#[test]
fn the_filters_line_is_edited_like_any_other() {
    let mut m = website();
    press(&mut m, "/s:working f:src/");
    let shown = text(&mut m, 80, 24);
    assert!(shown.ends_with(" / s:working f:src/▏   2 of 9\n"), "{shown}");
    assert!(shown.contains("─ Agents 2 of 9 · s:working f:src/ ─"), "it filters while it is typed:\n{shown}");
    let typed = |m: &Model| m.typing.as_ref().map(|typing| typing.entry.text().to_owned()).unwrap();
    stroke(&mut m, KeyCode::Char('w'), KeyModifiers::CONTROL);
    assert_eq!(typed(&m), "s:working ");
    stroke(&mut m, KeyCode::Home, KeyModifiers::NONE);
    press(&mut m, "-");
    assert_eq!((typed(&m), m.list.len()), ("-s:working ".into(), 6));
    stroke(&mut m, KeyCode::Right, KeyModifiers::NONE);
    assert!(text(&mut m, 80, 24).ends_with(" / -s▏:working    6 of 9\n"));
    stroke(&mut m, KeyCode::Left, KeyModifiers::NONE);
    stroke(&mut m, KeyCode::Delete, KeyModifiers::NONE);
    press(&mut m, "\u{8}z");
    assert_eq!(typed(&m), "z:working ");
    press(&mut m, "\r");
    assert!(m.typing.is_some(), "what means nothing is not left without a word");
    assert!(text(&mut m, 80, 24).ends_with("   no filter z:  use s a o b f t\n"));
    stroke(&mut m, KeyCode::End, KeyModifiers::NONE);
    stroke(&mut m, KeyCode::Char('u'), KeyModifiers::CONTROL);
    assert_eq!(typed(&m), "");
    assert!(
        text(&mut m, 80, 24)
            .ends_with(" / ▏   text, s:working a:name o:owner b:branch f:path t:task, -s:idle\n")
    );
    assert_eq!(stroke(&mut m, KeyCode::Char('q'), KeyModifiers::ALT), None, "Esc and q within a blink");
    assert_eq!(typed(&m), "");
    assert_eq!(stroke(&mut m, KeyCode::Char('c'), KeyModifiers::CONTROL), Some(Effect::Quit));
    assert_eq!(stroke(&mut m, KeyCode::Char('z'), KeyModifiers::CONTROL), Some(Effect::Suspend));
}

#[test]
fn what_is_pasted_goes_into_the_filter_and_nowhere_else() {
    let mut m = website();
    let evil = "q\u{1b}]52;c;aGk=\u{7}\u{9b}2J\nr\u{202e}料\u{200b}";
    update::event(&mut m, &Event::Paste(evil.into()));
    assert!(m.typing.is_none() && m.list.len() == 9, "nobody asked for it");
    press(&mut m, "/");
    update::event(&mut m, &Event::Paste(evil.repeat(30)));
    for (columns, rows) in [(20, 4), (30, 12), (38, 20), (80, 24), (200, 50)] {
        for keys in ["", "\r"] {
            let mut m = m.clone();
            press(&mut m, keys);
            let buffer = draw(&mut m, columns, rows);
            for cell in buffer.content() {
                let foreign = |c: char| c.is_control() || "\u{202e}\u{200b}".contains(c);
                assert!(!cell.symbol().contains(foreign), "{:?} at {columns}x{rows}", cell.symbol());
            }
            assert!(!view::plain(&buffer).contains("52;c"));
        }
    }
    // However long it is, the place where letters go and what it comes to stay in sight.
    assert!(text(&mut m, 38, 20).ends_with("▏   0 of 9\n"), "{}", text(&mut m, 38, 20));
}

#[test]
fn the_selection_comes_back_as_soon_as_the_filter_lets_it_through() {
    let mut m = website();
    press(&mut m, "jj");
    assert_eq!(selected(&m), "lumen/fixer");
    press(&mut m, "/料");
    assert_eq!((selected(&m), m.list.len()), ("lumen/docs", 1), "another one for as long as it is hidden");
    press(&mut m, "\u{8}re");
    assert_eq!(selected(&m), "lumen/fixer", "{:?}", listed(&m));
    press(&mut m, "zzz");
    assert_eq!(selected(&m), "");
    let shown = text(&mut m, 80, 24);
    assert!(shown.contains(" No agent matches rezzz\n Esc shows all 9.\n"), "{shown}");
    assert!(text(&mut m, 38, 20).contains(" No agent matches rezzz\n Esc shows all 9.\n"));
    press(&mut m, "\r");
    // Nothing is selected, so nothing can be opened or copied.
    press(&mut m, "\ryYx");
    assert_eq!((m.pane, selected(&m)), (Pane::List, ""));
    press(&mut m, "\u{1b}");
    assert_eq!((selected(&m), m.list.len()), ("acme/reviewer", 9), "where the eye falls first");
}

#[test]
fn what_the_filter_hides_and_needs_you_is_counted() {
    let mut m = website();
    press(&mut m, "/o:lumen\r");
    let wide = text(&mut m, 120, 32);
    assert!(wide.contains("─ Agents 3 of 9 · o:lumen ─"), "{wide}");
    assert!(wide.contains("─ 2 need you, hidden ─"), "{wide}");
    let pane = text(&mut m, 45, 20);
    assert!(pane.contains("─ ! 1 ≠ 1 hidden · 3 of 9 · o:lumen ─"), "{pane}");
    assert!(text(&mut m, 30, 12).contains("2 hidden · 3 of 9 ─"), "{}", text(&mut m, 30, 12));
    // n does not leave the filter behind somebody's back.
    press(&mut m, "n");
    assert_eq!(m.did.as_deref(), Some("2 need you, hidden by the filter · Esc shows all"));
    assert_eq!(m.list.len(), 3);
    press(&mut m, "\u{1b}n");
    assert_eq!((m.list.len(), m.did.clone()), (9, None));
    assert!(!text(&mut m, 120, 32).contains("hidden"));
}

#[test]
fn one_filter_restricts_every_view() {
    let mut m = website();
    press(&mut m, "2/o:lumen b:fix/\r");
    let clashes = text(&mut m, 120, 32);
    assert!(clashes.contains("─ Clashes · o:lumen b:fix/ ─"), "{clashes}");
    assert!(clashes.contains("lumen/fixer changes src/auth/login.rs"), "one of the two is enough: {clashes}");
    press(&mut m, "4");
    let told = text(&mut m, 120, 32);
    let lines = |told: &str| -> Vec<String> {
        told.lines().filter(|l| l.get(3..4) == Some(":")).map(str::to_owned).collect()
    };
    assert!(told.contains(" · o:lumen b:fix/ ─"), "{told}");
    assert!(!lines(&told).is_empty() && lines(&told).iter().all(|l| l.contains("lumen/fixer")), "{told}");
    press(&mut m, "1");
    assert_eq!(listed(&m), ["lumen/fixer"]);
    // What lets nothing through says so in each view, and one key shows all again, where it is pressed.
    for (view, what) in [
        ("2", "No clash, risk or note matches zzz. Esc shows all."),
        ("4", "No event matches zzz. Esc shows all."),
    ] {
        press(&mut m, &format!("{view}/"));
        stroke(&mut m, KeyCode::Char('u'), KeyModifiers::CONTROL);
        press(&mut m, "zzz\r");
        let nothing = text(&mut m, 120, 32);
        assert!(nothing.contains(what), "{nothing}");
        let here = m.view;
        press(&mut m, "\u{1b}");
        let all = text(&mut m, 120, 32);
        assert!(m.view == here && all.contains("acme/builder") && !all.contains("zzz"), "{all}");
    }
    // What somebody else said meanwhile is taken in.
    press(&mut m, "2/s:idle\r");
    assert!(text(&mut m, 120, 32).contains("No clash"), "both are at work");
    let mut says = pulse("lumen/fixer", "idle", 0, json!({"branch": "fix/login-redirect"}));
    says["intent"] = json!({"kind": "change", "paths": ["src/auth/login.rs"], "areas": [],
        "expires_at": "2026-11-30T15:00:00Z"});
    report(&mut m, &says);
    let now = text(&mut m, 120, 32);
    assert!(now.contains("acme/builder is about to remove src/auth/**"), "{now}");
}

#[test]
fn whoever_is_looked_at_stays_though_the_filter_no_longer_lets_it_through() {
    let mut m = website();
    press(&mut m, "/s:working\rGk");
    assert_eq!((selected(&m), listed(&m).len()), ("lumen/docs", 3));
    report(&mut m, &pulse("lumen/docs", "idle", 0, json!({"doing": "Waiting"})));
    assert_eq!(listed(&m), ["acme/builder", "lumen/docs", "lumen/fixer"]);
    assert_eq!(selected(&m), "lumen/docs", "the detail keeps its subject");
    assert!(text(&mut m, 120, 32).contains("─ Agents 2 of 9 · s:working ─"), "but it is not counted");
    // Others that no longer match go at once, those that do come.
    report(&mut m, &pulse("acme/builder", "idle", 0, json!({})));
    report(&mut m, &pulse("orbit/tester", "working", 0, json!({})));
    assert_eq!(listed(&m), ["lumen/docs", "lumen/fixer", "orbit/tester"]);
    press(&mut m, "j");
    assert_eq!(listed(&m), ["lumen/fixer", "orbit/tester"]);
    // A claim that gets old goes by itself.
    m.watch = Watch::Still(now() + TimeDelta::minutes(16));
    update::pass(&mut m);
    press(&mut m, "j");
    assert_eq!(listed(&m), [selected(&m)], "only the one that is looked at is left");
}

#[test]
fn case_a44_rows_are_sorted_anew_and_the_selection_follows_its_agent() {
    let id = |n: i64| format!("acme/a{n:02}");
    let pulses: Vec<Value> = (1..=20).map(|n| pulse(&id(n), "working", n, json!({}))).collect();
    let mut m = room(&pulses);
    press(&mut m, "ssjjjj");
    assert_eq!((selected(&m), m.list.nth(4).unwrap().as_str()), ("acme/a05", "acme/a05"));
    assert!(text(&mut m, 120, 32).contains("─ Agents · by last report ─"));
    press(&mut m, "\r");
    assert!(text(&mut m, 120, 32).contains("─ acme/a05 ─"));
    for n in [4, 3, 2, 1] {
        report(&mut m, &pulse(&id(n), "working", 0, json!({})));
        assert!(text(&mut m, 120, 32).contains("─ acme/a05 ─"));
    }
    report(&mut m, &pulse("acme/a00", "working", 0, json!({})));
    leave(&mut m, "acme/a06");
    report(&mut m, &pulse("acme/a19", "working", 0, json!({})));
    assert_eq!(selected(&m), "acme/a05");
    assert_eq!(m.list.place(m.selected.as_ref().unwrap()), Some(6), "{:?}", listed(&m));
    assert!(text(&mut m, 120, 32).contains("─ acme/a05 ─"));
    // Time alone moves nobody.
    let before: Vec<String> = listed(&m).iter().map(ToString::to_string).collect();
    m.watch = Watch::Still(now() + TimeDelta::minutes(3));
    update::pass(&mut m);
    assert_eq!(listed(&m), before);
    // When it leaves, the one below takes its place, and that is said.
    leave(&mut m, "acme/a05");
    assert_eq!((selected(&m), m.pane), ("acme/a07", Pane::List));
    let shown = text(&mut m, 120, 32);
    assert!(shown.ends_with(" acme/a05 has left the room\n"), "{shown}");
    // The last one has none below: the one above takes it.
    press(&mut m, "G");
    assert_eq!(selected(&m), "acme/a20");
    leave(&mut m, "acme/a20");
    assert_eq!(selected(&m), "acme/a18");
}

#[test]
fn orders_and_their_reverse() {
    let mut m = website();
    press(&mut m, "oooo");
    assert_eq!(m.did.as_deref(), Some("without groups"));
    for (order, first, last) in [
        ("by what needs you", "acme/reviewer acme/builder orbit/tester lumen/fixer", "orbit/watcher"),
        ("by last report", "lumen/docs lumen/fixer acme/builder", "orbit/watcher"),
        (
            "by state",
            "acme/builder acme/reviewer lumen/docs lumen/fixer lumen/styler acme/planner",
            "orbit/watcher",
        ),
        ("by name", "acme/builder orbit/deployer lumen/docs lumen/fixer", "orbit/watcher"),
        ("by owner", "acme/builder acme/planner acme/reviewer lumen/docs", "orbit/watcher"),
    ] {
        press(&mut m, "s");
        assert_eq!(m.did, Some(format!("sorted {order}")));
        assert!(listed(&m).join(" ").starts_with(first), "{order}: {:?}", listed(&m));
        assert_eq!(listed(&m).last(), Some(&last), "{order}");
        let usual: Vec<String> = listed(&m).iter().map(ToString::to_string).collect();
        press(&mut m, "S");
        assert!(listed(&m).iter().rev().eq(&usual), "{order}");
        assert!(text(&mut m, 120, 32).contains(&format!(" · {order}, reversed ─")), "{order}");
        assert_eq!(selected(&m), "acme/reviewer");
        press(&mut m, "S");
        assert_eq!(text(&mut m, 120, 32).contains("─ Agents · by"), order != "by owner");
    }
}

#[test]
fn groups_have_headings_and_whole_names() {
    let mut m = website();
    let shown = |m: &mut Model, keys: &str| {
        press(m, keys);
        text(m, 120, 32)
    };
    let rows = |shown: &str| -> Vec<String> {
        let list = shown.lines().skip(2).map(|line| line.split('│').next().unwrap().trim().to_owned());
        list.take_while(|line| !line.starts_with('─')).filter(|line| !line.is_empty()).collect()
    };
    let by_state = shown(&mut m, "o");
    let heads =
        |shown: &str| -> Vec<String> { rows(shown).into_iter().filter(|row| !row.contains('/')).collect() };
    assert_eq!(heads(&by_state), ["working", "online", "idle", "away", "asleep", "offline"]);
    assert!(by_state.contains("▌! ● acme/reviewer    said working · 47m ?"), "{by_state}");
    let by_branch = shown(&mut m, "o");
    let branches: Vec<String> = rows(&by_branch).into_iter().filter(|row| row.contains("branch ")).collect();
    assert_eq!(branches.first().map(String::as_str), Some("branch docs/ja-pricing"), "{by_branch}");
    let none = rows(&by_branch);
    let at = none.iter().position(|row| row == "no branch").expect("agents without one have a heading");
    assert!(none[at + 1..].iter().any(|row| row.contains("lumen/styler")), "and stand last:\n{by_branch}");
    assert!(!none[at + 1..].iter().any(|row| row.contains("branch")), "{by_branch}");
    // Turned round, those without one are still last.
    let turned = rows(&shown(&mut m, "S"));
    assert!(
        !turned[turned.iter().position(|row| row == "no branch").unwrap() + 1..]
            .iter()
            .any(|r| r.starts_with("branch"))
    );
    let by_task = shown(&mut m, "So");
    assert!(by_task.contains(" task login-redirect") && by_task.contains(" no task"), "{by_task}");
    let ungrouped = shown(&mut m, "o");
    assert!(heads(&ungrouped).is_empty(), "{ungrouped}");
    assert!(shown(&mut m, "o").contains(" acme  "), "round");
    // A report that changes the branch changes the group.
    press(&mut m, "oo");
    report(&mut m, &pulse("lumen/docs", "working", 0, json!({"branch": "plan/nav"})));
    let moved = rows(&text(&mut m, 120, 32));
    let at = moved.iter().position(|row| row == "branch plan/nav").unwrap();
    assert!(moved[at + 1].contains("acme/planner") && moved[at + 2].contains("lumen/docs"), "{moved:?}");
}

#[test]
fn by_what_needs_you_the_first_group_is_the_one_with_it() {
    let failure = json!({"run_failure": {"class": "auth", "step": "codex_sign_in"}});
    let mut m = room(&[
        pulse("acme/a", "working", 1, json!({})),
        pulse("lumen/b", "working", 1, failure.clone()),
        pulse("orbit/c", "working", 1, json!({})),
    ]);
    press(&mut m, "s");
    assert_eq!(listed(&m), ["lumen/b", "acme/a", "orbit/c"]);
    report(&mut m, &pulse("orbit/c", "working", 0, failure.clone()));
    report(&mut m, &pulse("acme/a", "working", 0, failure));
    assert_eq!(listed(&m), ["acme/a", "lumen/b", "orbit/c"], "one's own first");
    press(&mut m, "gx");
    assert_eq!(listed(&m), ["lumen/b", "orbit/c", "acme/a"], "what was seen no longer calls");
}

#[test]
fn sorted_and_grouped_at_every_width() {
    let mut m = website();
    press(&mut m, "ssoo"); // by last report, grouped by branch
    m.did = None;
    for (columns, rows) in [(38, 24), (45, 12), (80, 24), (120, 32), (140, 32), (200, 32)] {
        insta::assert_snapshot!(format!("sorted-{columns}x{rows}"), text(&mut m, columns, rows));
    }
    press(&mut m, "/s:working -x\r");
    m.look.glyphs = Glyphs::Ascii;
    for (columns, rows) in [(38, 24), (80, 24), (140, 32)] {
        let shown = text(&mut m, columns, rows);
        assert!(shown.is_ascii(), "{shown}");
        insta::assert_snapshot!(format!("filtered-ascii-{columns}x{rows}"), shown);
    }
    press(&mut m, "/ x:");
    assert!(text(&mut m, 80, 24).is_ascii());
}

#[test]
fn what_is_out_of_sight_and_needs_you_is_counted_at_the_edge() {
    let failure = json!({"run_failure": {"class": "auth", "step": "codex_sign_in"}});
    let id = |n: usize| format!("acme/a{n:02}");
    let fails = |n: usize| if [2, 30, 38].contains(&n) { failure.clone() } else { json!({}) };
    let pulses: Vec<Value> = (1..=40).map(|n| pulse(&id(n), "idle", 1, fails(n))).collect();
    let mut m = room(&pulses);
    update::resize(&mut m, 80, 24);
    press(&mut m, "g");
    let title = |m: &mut Model, columns, rows| text(m, columns, rows).lines().nth(1).unwrap().to_owned();
    assert!(
        title(&mut m, 80, 24).starts_with("─ Agents 1–12 of 40 · 2 below need you ─"),
        "{}",
        title(&mut m, 80, 24)
    );
    (0..15).for_each(|_| press(&mut m, "j"));
    assert!(
        title(&mut m, 80, 24).starts_with("─ Agents 4–16 of 40 · 1 above needs you · 2 below · acme ─"),
        "{}",
        title(&mut m, 80, 24)
    );
    press(&mut m, "/a\r");
    assert!(
        title(&mut m, 80, 24).starts_with("─ Agents 40 of 40 · 1 above needs you · 2 below · acme · a ─"),
        "{}",
        title(&mut m, 80, 24)
    );
    press(&mut m, "\u{1b}G");
    assert!(
        title(&mut m, 80, 24).starts_with("─ Agents 28–40 of 40 · 1 above needs you · acme ─"),
        "{}",
        title(&mut m, 80, 24)
    );
    // In a side pane, once somebody moves about in it.
    let shown = title(&mut m, 38, 24);
    assert!(shown.contains("of 40 · ! 1 above ─"), "{shown}");
}

/// A made-up agent: its availability, its age in minutes, whether its run failed, whether its intent is in others' way.
fn anybody() -> impl Strategy<Value = (usize, i64, bool, bool)> {
    (0..7usize, 0..200i64, prop::bool::weighted(0.15), prop::bool::weighted(0.1))
}

fn made_up(n: usize, (availability, minutes, failed, intends): (usize, i64, bool, bool)) -> Value {
    let said = ["working", "online", "idle", "asleep", "away", "offline", "dreaming"][availability];
    let mut more = json!({"doing": format!("Doing {n}"), "branch": if n.is_multiple_of(3) { json!("main") } else { Value::Null }});
    if failed {
        more["run_failure"] = json!({"class": "auth", "step": "codex_sign_in"});
    }
    if intends {
        more["intent"] =
            json!({"kind": "remove", "paths": ["src/**"], "areas": [], "expires_at": "2026-11-30T15:00:00Z"});
        if n.is_multiple_of(2) {
            more["intent"]["kind"] = json!("change");
        }
    }
    let owner = ["acme", "lumen", "orbit"][n % 3];
    pulse(&format!("{owner}/n{n}"), said, minutes, more)
}

/// How many a side pane accounts for: by name, or as a number. Who needs a person and has a row, or is counted, above
/// the rule may have another below it.
fn accounted(model: &Model, shown: &str) -> usize {
    let named = |line: &str| -> Option<String> {
        let card = !line.starts_with("    ");
        line.split_whitespace().find(|word| card && word.contains("/n")).map(str::to_owned)
    };
    let body: Vec<&str> = shown.lines().skip(1).collect();
    let rule = body.iter().position(|line| line.starts_with('─')).unwrap();
    let number = |text: &str| text.split(' ').next().unwrap().parse::<usize>().unwrap();
    // `! 2 ≠ 1 more · 1 needs you`
    let more = body[..rule].iter().find_map(|line| line.split_once(" more")).map(|(counts, _)| counts);
    let more = more.map(|counts| counts.split(' ').filter_map(|word| word.parse::<usize>().ok()).sum());
    let calls = |name: &String| {
        let standing = model.list.iter().find(|(id, _)| id.as_str() == name).map(|(_, standing)| standing);
        rule > 0 && standing.unwrap().call.is_some()
    };
    let rest = body[rule..].iter().find_map(|line| line.strip_prefix(" + "));
    body[..rule].iter().filter_map(|line| named(line)).count()
        + more.unwrap_or(0)
        + body[rule..].iter().filter_map(|line| named(line)).filter(|name| !calls(name)).count()
        + rest.map_or(0, |rest| rest.split(" · ").map(number).sum())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(120) })]
    #[test]
    fn a_side_pane_accounts_for_everybody(agents in prop::collection::vec(anybody(), 1..40), columns in 38..60u16, rows in 4..40u16) {
        let pulses: Vec<Value> = agents.iter().enumerate().map(|(n, agent)| made_up(n, *agent)).collect();
        let mut m = room(&pulses);
        let shown = text(&mut m, columns, rows);
        prop_assert_eq!(accounted(&m, &shown), agents.len(), "{}x{}\n{}", columns, rows, shown);
    }

    #[test]
    fn the_list_that_follows_is_the_list_made_anew(
        agents in prop::collection::vec(anybody(), 1..12),
        news in prop::collection::vec((0..16usize, anybody(), prop::bool::weighted(0.2)), 0..12),
        keys in "[soS]{0,5}(/(s:w|s:needs|s:clash|s:stale|b:main|n1|-s:failed)\r)?",
    ) {
        let pulses: Vec<Value> = agents.iter().enumerate().map(|(n, agent)| made_up(n, *agent)).collect();
        let mut m = room(&pulses);
        press(&mut m, &keys);
        for (n, agent, leaves) in news {
            if leaves {
                leave(&mut m, made_up(n, agent)["agent_id"].as_str().unwrap());
            } else {
                // Now and then an agent only says again what it said.
                let said = made_up(n, agent);
                let id = said["agent_id"].as_str().unwrap().parse().unwrap();
                let again = m.picture.agent(&id).filter(|_| agent.1 % 3 == 0);
                let mut pulse = again.map_or(said, |agent| serde_json::to_value(&*agent.pulse).unwrap());
                pulse["updated_at"] = json!(now() + TimeDelta::seconds(i64::try_from(n).unwrap()));
                report(&mut m, &pulse);
            }
        }
        let mut fresh = m.clone();
        fresh.list = List::default();
        fresh.selected = None;
        update::resize(&mut fresh, 120, 32);
        press(&mut fresh, &keys);
        let of = |m: &Model, but: Option<&str>| -> Vec<(String, Standing)> {
            m.list.iter().map(|(id, s)| (id.to_string(), s)).filter(|(id, _)| Some(id.as_str()) != but).collect()
        };
        // Whoever is looked at may be there still.
        let kept = m.selected.as_ref().map(|id| id.as_str().to_owned()).filter(|_| m.list.matched() < m.list.len());
        prop_assert_eq!(of(&m, kept.as_deref()), of(&fresh, kept.as_deref()));
        prop_assert_eq!((m.list.matched(), m.list.total(), m.list.needing()), (fresh.list.matched(), fresh.list.total(), fresh.list.needing()));
        if kept.is_none() {
            for apart in [false, true] {
                let (one, other) = (m.list.rows(apart), fresh.list.rows(apart));
                prop_assert_eq!(one.len(), other.len());
                for row in 0..=one.len() {
                    prop_assert_eq!(one.get(row), other.get(row));
                }
                for place in 0..m.list.len() {
                    let id = m.list.nth(place).unwrap();
                    prop_assert_eq!(one.get(one.of(place)), Some(prickle::tui::list::Row::Agent(id)));
                    prop_assert_eq!(m.list.place(id), Some(place));
                    prop_assert_eq!(one.agents_above(one.of(place)), place);
                }
                prop_assert_eq!(one.agents_above(one.len()), m.list.len());
            }
        }
    }
}

#[test]
fn a_selection_bar_and_the_whole_list_come_with_the_first_movement() {
    let pulses: Vec<Value> = (0..30).map(|n| made_up(n, (n % 3, 1, n % 7 == 0, false))).collect();
    let mut m = room(&pulses);
    let quiet = text(&mut m, 45, 14);
    assert!(!quiet.contains('▌') && quiet.contains(" + "), "{quiet}");
    press(&mut m, "t?\u{1b}");
    assert_eq!(text(&mut m, 45, 14), quiet, "what moves nothing leaves the zones");
    press(&mut m, "j");
    let moving = text(&mut m, 45, 14);
    assert!(moving.contains('▌') && moving.contains(" of 30"), "{moving}");
    press(&mut m, "\u{1b}");
    assert_eq!(text(&mut m, 45, 14), quiet);
}

#[test]
fn what_needs_a_person_has_a_third_of_the_pane_at_most() {
    let pulses: Vec<Value> = (0..30).map(|n| made_up(n, (0, 1, n % 2 == 0, false))).collect();
    let mut m = room(&pulses);
    let shown = text(&mut m, 45, 15);
    let pinned = shown.lines().skip(1).take_while(|line| !line.starts_with('─')).count();
    assert_eq!(pinned, 5, "{shown}");
    assert!(shown.contains("\n! 11 more · 1 needs you\n"), "{shown}");
    assert!(shown.lines().nth(1).unwrap().starts_with("! acme/n0 "), "one's own first:\n{shown}");
}

#[test]
fn zones_and_their_grammar() {
    let pulses: Vec<Value> = (0..20)
        .map(|n| made_up(n, ([0, 2, 0, 4, 1, 5, 6][n % 7], [1, 12, 40][n % 3], n == 4, n == 6 || n == 7)))
        .collect();
    let mut m = room(&pulses);
    insta::assert_snapshot!("zones-45x12", text(&mut m, 45, 12));
    insta::assert_snapshot!("zones-38x24", text(&mut m, 38, 24));
    insta::assert_snapshot!("zones-30x40", text(&mut m, 30, 40));
}

/// A failure that only its own agent has, and one of a service.
fn failed(step: &str) -> Value {
    let class = if step.ends_with("service") { "provider" } else { "auth" };
    json!({"run_failure": {"class": class, "step": step}})
}

/// Two agents that would undo each other's work.
fn clashing(one: &str, other: &str) -> [Value; 2] {
    let about = |kind: &str| json!({"intent": {"kind": kind, "paths": ["src/**"], "areas": [], "expires_at": "2026-11-30T15:00:00Z"}});
    [pulse(one, "working", 1, about("remove")), pulse(other, "working", 1, about("change"))]
}

/// So many agents of one owner.
fn crowd(owner: &str, availability: &str, count: usize) -> Vec<Value> {
    (0..count).map(|n| pulse(&format!("{owner}/x{n:02}"), availability, 1, json!({}))).collect()
}

/// The rows of a side pane above the rule with the room's name, without the header.
fn pins(shown: &str) -> Vec<&str> {
    shown.lines().skip(1).take_while(|line| !line.starts_with('─')).collect()
}

#[test]
fn the_ages_of_a_side_pane_go_on() {
    let mut m = room(&crowd("acme", "idle", 20));
    update::resize(&mut m, 45, 12);
    let mut buffer = Buffer::empty(Rect::new(0, 0, 45, 12));
    let lasts = view::draw(&m, &mut buffer);
    assert!(view::plain(&buffer).contains("○ acme/x00    1m idle"), "{}", view::plain(&buffer));
    assert!(lasts.is_some_and(|lasts| lasts <= TimeDelta::minutes(1)), "{lasts:?}");
}

#[test]
fn ones_own_needs_are_pinned_first_and_a_told_trouble_is_not() {
    let theirs = ["lumen/a", "lumen/b", "lumen/c", "orbit/d"];
    let theirs = theirs.map(|id| pulse(id, "away", 2, failed("codex_sign_in")));
    let others = crowd("zen", "working", 20);
    let mut m = room(&[&theirs[..], &clashing("acme/mine", "orbit/other"), &others].concat());
    let shown = text(&mut m, 38, 12);
    assert!(pins(&shown)[0].starts_with("≠ acme/mine "), "{shown}");
    // Under a banner those that it tells of are in the sums.
    let down = ["lumen/a", "orbit/b", "orbit/c"];
    let mut m = room(&[&clashing("acme/mine", "orbit/other")[..], &others].concat());
    down.iter().for_each(|id| report(&mut m, &pulse(id, "away", 2, failed("claude_code_service"))));
    let shown = text(&mut m, 45, 14);
    assert!(shown.lines().nth(1).unwrap().contains("2 owners"), "{shown}");
    let names: Vec<&str> = pins(&shown)[1..].iter().map(|line| &line[..line.find("  ").unwrap()]).collect();
    assert_eq!(names, ["≠ acme/mine", "≠ orbit/other"], "{shown}");
    assert!(shown.contains(" working · 3 not here\n"), "{shown}");
    // Too small for the banner, it is said of each.
    assert!(text(&mut m, 45, 7).contains("! "), "{}", text(&mut m, 45, 7));
}

#[test]
fn the_last_zone_lists_as_many_as_fit() {
    let said = |n: usize| ["offline", "idle", "working", "asleep", "online"][n % 5];
    let old = |n: usize| if n.is_multiple_of(7) { 40 } else { 2 };
    let pulses: Vec<Value> =
        (0..40).map(|n| pulse(&format!("acme/x{n:02}"), said(n), old(n), json!({}))).collect();
    let mut m = room(&pulses);
    let shown = text(&mut m, 45, 30);
    let rows: Vec<&str> = shown.lines().skip(2).collect();
    assert!(rows[26].starts_with(" + 14 not here"), "{shown}");
    let kinds: Vec<usize> = rows[..26]
        .iter()
        .map(|row| {
            if row.contains("said") {
                1
            } else if row.contains("idle") || row.contains("online") {
                2
            } else if row.contains("offline") || row.contains("asleep") {
                3
            } else {
                0
            }
        })
        .collect();
    assert!(kinds.is_sorted() && kinds.contains(&1) && kinds.contains(&2), "{kinds:?}\n{shown}");
}

#[test]
fn in_a_side_pane_no_key_acts_on_a_selection_that_nobody_sees() {
    let mut pulses = crowd("acme", "working", 30);
    pulses[20] = pulse("acme/x20", "working", 1, failed("claude_code_sign_in"));
    pulses[25] = pulse("acme/x25", "working", 1, failed("codex_sign_in"));
    let mut m = room(&pulses);
    let zones = text(&mut m, 45, 14);
    press(&mut m, "xyY");
    assert_eq!(text(&mut m, 45, 14), zones, "nothing is marked, nothing is sent");
    assert!(!zones.contains("copy"), "{zones}");
    for there_and_back in
        ["2\u{1b}", "4\u{1b}", "4j\u{1b}", "?jG\u{1b}", "\r\u{1b}", "\rjn\u{1b}", "s\u{8}SSo"]
    {
        press(&mut m, there_and_back);
        m.did = None;
        if !there_and_back.starts_with('s') {
            assert_eq!(text(&mut m, 45, 14), zones, "{there_and_back:?}");
        }
        assert!(!m.touched, "{there_and_back:?}");
    }
    let mut m = room(&pulses);
    text(&mut m, 45, 14);
    // A failure that comes later is where the eye falls by then.
    report(&mut m, &pulse("acme/x03", "working", 0, failed("codex_sign_in")));
    press(&mut m, "n");
    assert_eq!((selected(&m), m.touched), ("acme/x03", true));
    assert!(text(&mut m, 45, 14).contains('▌'));
    press(&mut m, "n");
    assert_eq!(selected(&m), "acme/x20");
    let copied = stroke(&mut m, KeyCode::Char('y'), KeyModifiers::NONE);
    assert_eq!(copied, Some(Effect::Copy("claude auth login".into())));
    press(&mut m, "G\u{1b}\r");
    assert_eq!((selected(&m), m.pane), ("acme/x03", Pane::Open), "Enter opens what the eye falls on");
    // Where the selection is in sight all keys go to it from the first on.
    let mut m = room(&pulses);
    text(&mut m, 80, 24);
    press(&mut m, "x");
    assert_eq!(m.list.needing(), 1);
}

#[test]
fn offline_a_filtered_side_pane_says_both() {
    let mut m = website();
    press(&mut m, "/s:working\r");
    hear(&mut m, json!({"news": "lost", "why": "connection refused", "retry_in": 3000}));
    let title = |m: &mut Model, columns| text(m, columns, 24).lines().nth(1).unwrap().to_owned();
    assert!(title(&mut m, 59).contains("hidden · 3 of 9 · s:working · as of 14:32"), "{}", title(&mut m, 59));
    assert!(title(&mut m, 45).contains(" 1 hidden · 3 of 9 · as of 14:32"), "{}", title(&mut m, 45));
    assert!(title(&mut m, 38).contains(" 1 hidden · 3 of 9 · 14:32"), "{}", title(&mut m, 38));
    assert!(title(&mut m, 30).contains("3 of 9 · 14:32"), "{}", title(&mut m, 30));
}

#[test]
fn what_was_seen_is_muted_in_rows_and_cards() {
    use ratatui::style::Color;
    let mut m = room(&[
        pulse("acme/a", "working", 1, failed("codex_sign_in")),
        pulse("acme/b", "idle", 1, json!({})),
    ]);
    let red = |m: &mut Model, columns| {
        let buffer = draw(m, columns, 12);
        (1..11).any(|y| (0..columns.min(60)).any(|x| buffer[(x, y)].fg == Color::Red))
    };
    update::resize(&mut m, 80, 12);
    m.detail = false;
    assert!(red(&mut m, 80) && red(&mut m, 38));
    update::resize(&mut m, 80, 12);
    press(&mut m, "x");
    assert!(!red(&mut m, 80), "row");
    assert!(!red(&mut m, 38), "card");
    assert!(text(&mut m, 38, 12).contains("Codex is signed out"));
}

#[test]
fn a_card_says_a_command_whole_and_only_where_it_helps() {
    let mut m = room(&[pulse("acme/a", "working", 1, failed("claude_code_sign_in"))]);
    assert!(text(&mut m, 38, 12).contains("    › claude auth login\n"), "{}", text(&mut m, 38, 12));
    assert!(!text(&mut m, 22, 12).contains('›'), "{}", text(&mut m, 22, 12));
    let mut m = room(&[]);
    for id in ["acme/a", "lumen/b"] {
        report(&mut m, &pulse(id, "working", 1, failed("claude_code_service")));
    }
    let shown = text(&mut m, 38, 12);
    assert!(shown.contains("service trouble") && !shown.contains('›'), "{shown}");
}

#[test]
fn a_list_says_whose_agents_begin_it_and_no_heading_ends_it() {
    let mut pulses = crowd("acme", "idle", 12);
    pulses.extend(crowd("orbit", "idle", 28));
    let mut m = room(&pulses);
    update::resize(&mut m, 80, 24);
    let rows =
        |m: &mut Model, rows| -> Vec<String> { text(m, 80, rows).lines().map(str::to_owned).collect() };
    press(&mut m, "G");
    assert!(rows(&mut m, 24)[1].starts_with("─ Agents 28–40 of 40 · orbit ─"), "{:#?}", rows(&mut m, 24));
    press(&mut m, "g");
    assert!(rows(&mut m, 24)[1].starts_with("─ Agents 1–12 of 40 ─"), "the heading stands there");
    m.detail = false;
    let shown = rows(&mut m, 17);
    assert_eq!((shown[14].contains("x11"), shown[15].as_str()), (true, ""), "{shown:#?}");
    press(&mut m, "o");
    m.did = None;
    assert!(!rows(&mut m, 17)[1].contains("orbit"));
}

#[test]
fn what_others_have_to_mend_is_counted_at_the_edge_too() {
    let mut pulses = crowd("acme", "idle", 30);
    pulses[25] = pulse("acme/x25", "idle", 1, failed("codex_sign_in"));
    pulses.push(pulse("lumen/a", "away", 1, failed("codex_sign_in")));
    pulses.extend(clashing("lumen/b", "orbit/c"));
    let mut m = room(&pulses);
    update::resize(&mut m, 80, 24);
    press(&mut m, "g");
    let title = |m: &mut Model, columns, rows| text(m, columns, rows).lines().nth(1).unwrap().to_owned();
    let said = "─ Agents 1–12 of 33 · 1 below needs you · 1 failed, 2 clash below ─";
    assert!(title(&mut m, 80, 24).starts_with(said), "{}", title(&mut m, 80, 24));
    assert!(title(&mut m, 62, 24).starts_with("─ Agents 1–12 of 33 · 1 below needs you ─"), "no room");
    press(&mut m, "g");
    assert!(
        title(&mut m, 59, 24).contains(" · ! 1 below · 1 failed, 2 clash below ─"),
        "{}",
        title(&mut m, 59, 24)
    );
}

#[test]
fn a_clash_is_not_counted_with_the_mark_of_a_failure() {
    let mut pulses = crowd("acme", "idle", 30);
    pulses.extend(clashing("acme/zz", "orbit/c"));
    let mut m = room(&pulses);
    update::resize(&mut m, 38, 24);
    press(&mut m, "jg");
    let title = |m: &mut Model, columns| text(m, columns, 24).lines().nth(1).unwrap().to_owned();
    assert!(title(&mut m, 38).contains(" of 32 · ≠ 1 below ─"), "{}", title(&mut m, 38));
    report(&mut m, &pulse("acme/zy", "idle", 1, failed("codex_sign_in")));
    assert!(title(&mut m, 45).contains(" of 33 · ! 1 ≠ 1 below ─"), "{}", title(&mut m, 45));
    press(&mut m, "/s:idle -zy\r");
    assert!(title(&mut m, 38).contains(" ! 1 ≠ 1 hidden · 30 of 33 ─"), "{}", title(&mut m, 38));
    assert!(title(&mut m, 80).ends_with("─ 2 need you, hidden ─"), "{}", title(&mut m, 80));
}

#[test]
fn the_footer_offers_what_is_worth_most_first() {
    let mut m = website();
    let foot = |m: &mut Model, columns, rows| {
        m.did = None;
        text(m, columns, rows).lines().last().unwrap().to_owned()
    };
    text(&mut m, 38, 24);
    press(&mut m, "j");
    assert_eq!(foot(&mut m, 38, 24), " n needs you  Enter open       ? help");
    assert_eq!(foot(&mut m, 54, 24), " n needs you  Enter open  / filter  Esc back   ? help");
    press(&mut m, "/s:working\r");
    assert!(foot(&mut m, 45, 24).contains("Esc show all"), "{}", foot(&mut m, 45, 24));
    assert!(foot(&mut m, 80, 24).contains("Esc show all"), "{}", foot(&mut m, 80, 24));
    press(&mut m, "\u{1b}");
    text(&mut m, 80, 22);
    press(&mut m, "gn");
    stroke(&mut m, KeyCode::Tab, KeyModifiers::NONE);
    assert_eq!(m.pane, Pane::Detail);
    let shown = foot(&mut m, 80, 22);
    assert!(shown.find("j k scroll").unwrap() < shown.find("filter").unwrap(), "{shown}");
}

#[test]
fn cards_take_the_rows_there_are() {
    let more = |n: usize| json!({"doing": format!("Doing {n}"), "branch": format!("b{n}")});
    let mut pulses: Vec<Value> =
        (0..12).map(|n| pulse(&format!("acme/x{n:02}"), "working", 1, more(n))).collect();
    pulses[11] = pulse("acme/x11", "working", 1, failed("claude_code_sign_in"));
    let mut m = room(&pulses);
    let shown = text(&mut m, 38, 36);
    // 24 rows of two lines each and nine more: what needs you first, then from the top on.
    assert!(
        shown.contains("› claude auth login") && shown.contains("on b7") && !shown.contains("on b8"),
        "{shown}"
    );
    assert!(shown.lines().skip(2).take(33).all(|line| !line.is_empty()), "{shown}");
}
