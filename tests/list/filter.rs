//! The filter: what it lets through, how its line is typed, and what it says of what it hides.

use crossterm::event::{Event, KeyCode, KeyModifiers};
use prickle::tui::filter::Filter;
use prickle::tui::model::{Model, Pane, View};
use prickle::tui::update::{self, Effect};
use prickle::tui::view;
use proptest::prelude::*;
use serde_json::json;

use super::{claim, listed, press, room, website};
use crate::screen::pulses::LIVE;
use crate::screen::{draw, is_foreign, report, selected, stroke, text};

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
    let model = room(&[claim("acme/a", "working", 0, &said)]);
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
    report(&mut m, LIVE, &claim("acme/late", "working", 0, &json!({"doing": "queue?jk/ 1n"})));
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
                assert!(!cell.symbol().contains(is_foreign), "{:?} at {columns}x{rows}", cell.symbol());
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
    assert!(wide.contains("─ ! 2 need you, hidden ─"), "{wide}");
    let pane = text(&mut m, 45, 20);
    assert!(pane.contains("─ ! 2 hidden · 3 of 9 · o:lumen ─"), "{pane}");
    assert!(text(&mut m, 30, 12).contains("! 2 hidden · 3 of 9 ─"), "{}", text(&mut m, 30, 12));
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
    let mut says = claim("lumen/fixer", "idle", 0, &json!({"branch": "fix/login-redirect"}));
    says["intent"] = json!({"kind": "change", "paths": ["src/auth/login.rs"], "areas": [],
        "expires_at": "2026-11-30T15:00:00Z"});
    report(&mut m, LIVE, &says);
    let now = text(&mut m, 120, 32);
    assert!(now.contains("acme/builder is about to remove src/auth/**"), "{now}");
}
