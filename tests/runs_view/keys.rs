//! What the keys do with the records, what is asked when, and what becomes of answers.

use std::fmt::Write;

use chrono::TimeDelta;
use chrono_tz::Tz;
use prickle::tui::model::{Model, Pane, Panel, View};
use prickle::tui::runs::ask::{Answer, Ask, Question, Told, wanted};
use prickle::tui::runs::listed;
use prickle::tui::theme::Glyphs;
use prickle::tui::update::{self, Effect};
use prickle::wire::query::RunQuery;
use prickle::words::Zone;
use ratatui::style::Modifier;
use serde_json::{Value, json};

use super::ledger::{Ledger, client, many, person, record, week};
use super::screen::pulses::{LIVE, live, time};
use super::screen::{OFFLINE, copied, draw, hear, is_foreign, look, play, press, recorded, text, unheard};

/// A watch of acme's that has these records on its screen.
fn shown(ledger: &Ledger, keys: &str) -> Model {
    let mut m = recorded(LIVE, look());
    draw(&mut m, 120, 32);
    update::key(&mut m, person());
    keyed(&mut m, ledger, &format!("3{keys}"));
    m
}

fn keyed(model: &mut Model, ledger: &Ledger, keys: &str) {
    for key in keys.chars() {
        press(model, &key.to_string());
        ledger.tell(model);
    }
}

/// Tells the screen that some run was reported in its room.
fn reported(model: &mut Model) {
    let run = json!({"run_id": "x", "project": "website-v2", "task_id": "t", "input_tokens": null,
        "output_tokens": null, "turns": null, "duration_ms": null, "exit_code": 0, "source": "client_reported",
        "reported_at": time(LIVE)});
    hear(model, LIVE, json!({"news": "run", "agent_id": "acme/builder", "run": run}));
}

fn asks(model: &Model) -> Vec<Question> {
    wanted(model)
}

#[test]
fn case_d08_unknown_and_zero_are_told_apart_in_text_and_style() {
    let ledger = week();
    for (glyphs, unknown) in [(Glyphs::Unicode, "—"), (Glyphs::Ascii, "-")] {
        let mut m = shown(&ledger, "");
        m.look.glyphs = glyphs;
        let buffer = draw(&mut m, 120, 32);
        let screen = prickle::tui::view::plain(&buffer);
        let row = |name: &str| screen.lines().find(|line| line.contains(name)).unwrap().to_owned();
        let cells = |name: &str| -> Vec<String> { row(name).split_whitespace().map(str::to_owned).collect() };
        // Runs, failed, in, out: a measured nothing is 0, what nobody measured is no number.
        assert_eq!(cells("icons")[1..5], ["1", "1", "1.1k", "0"]);
        assert_eq!(cells("hero-copy")[1..5], ["1", unknown, unknown, unknown]);
        assert_eq!(cells("smoke-tests")[1..5], ["2", "2", unknown, unknown]);
        let y = screen.lines().position(|line| line.contains("hero-copy")).unwrap();
        let y = u16::try_from(y).unwrap();
        let x = (15..120).find(|x| buffer[(*x, y)].symbol() == unknown).unwrap();
        let muted = m.look.theme.muted;
        let known = buffer[(16, y)].style(); // how many runs there are
        let shown = buffer[(x, y)].style();
        assert_eq!((shown.fg, shown.add_modifier), (muted.fg.or(known.fg), muted.add_modifier));
        assert_ne!(shown, known);
    }
    let mut one = shown(&ledger, "jj\rjj\r");
    let screen = text(&mut one, 120, 32);
    assert_eq!(screen.matches("not known").count(), 5, "{screen}");
}

#[test]
fn case_d10_a_sum_with_an_unknown_part_is_a_lower_bound_everywhere() {
    let some = Some;
    let rows = [
        ("t", "acme/builder", 1, [some(1200), some(340), None, None, some(0)]),
        ("t", "acme/builder", 2, [None, None, None, None, some(0)]),
        ("t", "acme/builder", 3, [some(500), None, None, None, some(0)]),
    ];
    let ledger = Ledger(rows.iter().enumerate().map(|(n, row)| record(n, *row)).collect());
    let mut m = shown(&ledger, "");
    let screen = text(&mut m, 120, 32);
    let total = screen.lines().find(|line| line.starts_with(" 1 task ")).unwrap();
    assert!(total.contains("≥ 1.7k") && total.contains("≥ 340") && total.contains("1 of 3"), "{screen}");
    assert!(screen.contains("Tokens are known for 1 of them"), "{screen}");
    assert!(screen.contains("a sum with ≥ is a lower bound"), "{screen}");
    let mut m = shown(&ledger, "\r");
    let screen = text(&mut m, 120, 32);
    let total = screen.lines().find(|line| line.starts_with(" 3 runs ")).unwrap();
    assert!(total.contains("≥ 1.7k") && total.contains("known 1 of 3"), "{screen}");
}

#[test]
fn case_d14_the_largest_runs_are_summed_without_overflow() {
    let most = Some(i64::from(i32::MAX));
    let row = ("t", "acme/builder", 1, [most, most, most, most, Some(0)]);
    let ledger = Ledger((0..3).map(|n| record(n, row)).collect());
    let screen = text(&mut shown(&ledger, ""), 120, 32);
    assert!(screen.contains("6.44G") && screen.contains("74d 13h"), "{screen}");
    let screen = text(&mut shown(&ledger, "\r\r"), 120, 32);
    assert!(screen.contains("2,147,483,647"), "{screen}");
}

#[test]
fn case_d15_days_are_cut_where_the_watcher_lives_and_the_zone_is_named() {
    let mut m = recorded(LIVE, look());
    m.look.zone = Zone::Named(Tz::America__Los_Angeles);
    draw(&mut m, 120, 32);
    update::key(&mut m, person());
    press(&mut m, "3");
    let questions = asks(&m);
    let since = |ask: &Ask| match ask {
        Ask::Sums { query: RunQuery { since, .. }, .. } | Ask::Page(RunQuery { since, .. }) => *since,
    };
    // Midnight in Los Angeles, six days before.
    assert!(questions.iter().all(|q| since(&q.ask) == Some(time("2026-11-24T08:00:00Z"))), "{questions:?}");
    let zones = questions.iter().filter_map(|q| match &q.ask {
        Ask::Sums { tz, .. } => Some(*tz),
        Ask::Page(_) => None,
    });
    assert!(zones.clone().count() == 2 && zones.clone().all(|tz| tz == "America/Los_Angeles"));
    week().tell(&mut m);
    let screen = text(&mut m, 120, 32);
    assert!(screen.contains("America/Los_Angeles"), "{screen}");
    keyed(&mut m, &week(), "ooo\r");
    let Some(Told::Page(_)) = week().answer(&first_page(&m)).told.ok() else { panic!() };
    let Ask::Page(query) = first_page(&m).ask else { panic!() };
    let [since, until] = [query.since, query.until].map(Option::unwrap);
    assert_eq!((until - since).num_hours(), 24);
    assert_eq!(since.format("%H:%M").to_string(), "08:00");
}

/// The question for the first page of the opened group's records, as it was asked.
fn first_page(model: &Model) -> Question {
    let chain = model.runs.chain.as_ref().unwrap();
    let ask = Ask::Page(chain.query.clone());
    Question { slot: prickle::tui::runs::ask::Slot::Page, ask, version: chain.version, again: false }
}

#[test]
fn three_leads_there_and_esc_back_level_by_level() {
    let ledger = week();
    let mut m = shown(&ledger, "jj");
    assert_eq!(m.view, View::Runs);
    let of = |m: &mut Model| text(m, 120, 32).lines().nth(1).unwrap().to_owned();
    assert!(of(&mut m).starts_with("─ Runs of acme by task · only acme reads these ─"));
    keyed(&mut m, &ledger, "\r");
    assert!(of(&mut m).starts_with("─ Runs of acme › login-copy · only acme reads these ─"));
    keyed(&mut m, &ledger, "j\r");
    assert!(m.pane == Pane::Open && of(&mut m).starts_with("─ run "));
    let selected = m.runs.records.id.clone();
    keyed(&mut m, &ledger, "\u{1b}");
    assert_eq!((m.pane, &m.runs.records.id), (Pane::List, &selected));
    keyed(&mut m, &ledger, "\u{1b}");
    assert!(m.runs.opened.is_none());
    assert!(text(&mut m, 120, 32).contains("▌login-copy"), "it is selected as before");
    press(&mut m, "\u{1b}");
    assert_eq!(m.view, View::Room);
}

#[test]
fn nothing_is_asked_until_somebody_looks_and_then_once() {
    let mut m = recorded(LIVE, look());
    draw(&mut m, 120, 32);
    assert_eq!(asks(&m), []);
    update::key(&mut m, person());
    assert_eq!(asks(&m), [], "in the Room nobody looks at records");
    press(&mut m, "3");
    assert_eq!(asks(&m).len(), 2, "groups and days");
    assert_eq!(week().tell(&mut m), 2);
    assert_eq!(asks(&m), []);
    reported(&mut m);
    assert!(asks(&m).len() == 2 && asks(&m).iter().all(|question| question.again));
    assert_eq!(week().tell(&mut m), 2);
    press(&mut m, "\u{1b}");
    reported(&mut m);
    assert_eq!(asks(&m), []);
}

#[test]
fn another_key_than_a_persons_asks_nothing_and_sees_nothing() {
    let ledger = week();
    let mut m = shown(&ledger, "");
    // The key was revoked, and another one put in its place: what was read before is no longer shown.
    update::key(&mut m, client());
    assert_eq!(asks(&m), []);
    let screen = text(&mut m, 120, 32);
    assert!(!screen.contains("login-copy") && screen.contains("Only acme can read them"), "{screen}");
    assert_eq!(copied(press(&mut m, "y")), "prickle key create --kind person --owner acme --all");
    for keys in ["\r", "e", "Y", "s", "o", "d", "/"] {
        assert_eq!(press(&mut m, keys), None, "{keys}");
        assert_eq!((asks(&m), m.typing.is_some()), (Vec::new(), false), "{keys}");
    }
}

#[test]
fn an_answer_to_what_is_no_longer_asked_is_dropped() {
    let ledger = week();
    let mut m = shown(&ledger, "");
    press(&mut m, "o");
    let by_agent = asks(&m).remove(0);
    press(&mut m, "o");
    update::runs(&mut m, ledger.answer(&by_agent));
    assert!(listed::listed(&m).is_none(), "by project nothing has come yet");
    ledger.tell(&mut m);
    let rows: Vec<String> =
        m.runs.sums.as_ref().unwrap().summary.rows.iter().filter_map(|g| g.project.clone()).collect();
    assert_eq!(rows, ["website-v2", "mobile"]);
    // An older answer to the same does not undo a newer one.
    let old = Question { version: 0, ..m_question(&m) };
    update::runs(&mut m, Ledger::default().answer(&old));
    assert_eq!(m.runs.sums.as_ref().unwrap().summary.rows.len(), 2);
}

fn m_question(model: &Model) -> Question {
    let held = model.runs.sums.as_ref().unwrap();
    Question {
        slot: prickle::tui::runs::ask::Slot::Sums,
        ask: held.ask.clone(),
        version: held.version,
        again: true,
    }
}

#[test]
fn the_selection_stays_on_its_run_and_its_group_while_records_arrive() {
    let mut ledger = week();
    let mut m = shown(&ledger, "jj");
    ledger
        .0
        .push(record(90, ("brand-new", "acme/builder", 1, [Some(5), Some(5), Some(1), Some(1), Some(0)])));
    reported(&mut m);
    ledger.tell(&mut m);
    let screen = text(&mut m, 120, 32);
    assert!(screen.contains("▌login-copy") && screen.contains("brand-new"), "{screen}");
    keyed(&mut m, &ledger, "\rjj");
    let run = m.runs.records.id.clone().unwrap();
    ledger
        .0
        .push(record(91, ("login-copy", "acme/builder", 0, [Some(5), Some(5), Some(1), Some(1), Some(0)])));
    reported(&mut m);
    ledger.tell(&mut m);
    assert_eq!(m.runs.records.id.as_deref(), Some(run.as_str()));
    let screen = text(&mut m, 120, 32);
    let bar = screen.lines().find(|line| line.starts_with('▌')).unwrap();
    assert!(bar.contains(&run[..8]) && screen.contains(" 8 runs "), "{screen}");
}

#[test]
fn a_picture_that_stands_still_holds_its_records_too() {
    let mut ledger = week();
    let mut m = shown(&ledger, "");
    press(&mut m, "f");
    let before = text(&mut m, 120, 32);
    ledger.0.clear();
    reported(&mut m);
    ledger.tell(&mut m);
    let body = |screen: &str| screen.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(body(&text(&mut m, 120, 32)), body(&before));
    press(&mut m, "f");
    ledger.tell(&mut m);
    assert!(text(&mut m, 120, 32).contains("No runs reported"));
}

#[test]
fn however_much_the_room_has_little_is_held() {
    let ledger = many(50_000, 20_000);
    let mut m = shown(&ledger, "");
    assert_eq!(m.runs.sums.as_ref().unwrap().summary.rows.len(), 1000);
    let screen = text(&mut m, 120, 32);
    assert!(screen.contains(" of 20000 ") && screen.contains(" 20,000 tasks "), "{screen}");
    // All of one project: page after page, and never more than five of them.
    keyed(&mut m, &ledger, "oo\r");
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..40 {
        press(&mut m, "G");
        ledger.tell(&mut m);
        let chain = m.runs.chain.as_ref().unwrap();
        assert!(chain.len() <= 1000, "{}", chain.len());
        seen.extend(m.runs.records.id.clone());
    }
    assert_eq!(seen.len(), 40);
    let screen = text(&mut m, 120, 32);
    assert!(screen.contains(" of 50000"), "{screen}");
    // And all the way back to the first.
    for _ in 0..60 {
        press(&mut m, "g");
        ledger.tell(&mut m);
    }
    assert!(m.runs.chain.as_ref().unwrap().is_at_begin());
}

#[test]
fn the_filter_says_how_many_of_how_many_it_sums_up() {
    let ledger = week();
    let mut m = shown(&ledger, "");
    keyed(&mut m, &ledger, "/a:planner -t:search\r");
    let screen = text(&mut m, 120, 32);
    let total = screen.lines().find(|line| line.contains(" of 8 tasks")).unwrap();
    assert!(total.starts_with(" 2 of 8 tasks "), "{screen}");
    assert!(total.contains("1.46M"), "{total}");
    keyed(&mut m, &ledger, "\u{1b}/p:mobile\r");
    assert!(text(&mut m, 120, 32).contains(" 1 of 8 tasks "));
    keyed(&mut m, &ledger, "\u{1b}/zzz\r");
    assert!(text(&mut m, 120, 32).contains("No task matches zzz. Esc shows all."));
    keyed(&mut m, &ledger, "\u{1b}");
    assert!(text(&mut m, 120, 32).contains(" 8 tasks "));
    press(&mut m, "/x:1");
    assert!(text(&mut m, 120, 32).contains("no filter x:"));
}

#[test]
fn order_period_and_grouping_are_asked_of_the_room() {
    let ledger = week();
    let mut m = shown(&ledger, "s");
    let first = |m: &mut Model| {
        let screen = text(m, 120, 32);
        screen.lines().nth(3).unwrap().trim_start_matches('▌').split_whitespace().next().unwrap().to_owned()
    };
    assert!(text(&mut m, 120, 32).contains("most tokens first"));
    assert_eq!(first(&mut m), "auth-cleanup");
    keyed(&mut m, &ledger, "d");
    let Ask::Sums { query, .. } = m.runs.sums.as_ref().unwrap().ask.clone() else { panic!() };
    assert_eq!(query.since, Some(time("2026-11-01T00:00:00Z")));
    keyed(&mut m, &ledger, "dd");
    let Ask::Sums { query, .. } = m.runs.sums.as_ref().unwrap().ask.clone() else { panic!() };
    assert_eq!((query.since, m.runs.period.words()), (Some(time("2026-11-30T00:00:00Z")), "today"));
    keyed(&mut m, &ledger, "doS");
    assert!(text(&mut m, 120, 32).contains("by agent"));
}

#[test]
fn the_row_is_copied_and_what_is_listed_exported() {
    let ledger = week();
    let mut m = shown(&ledger, "jj");
    let row: Value = serde_json::from_str(&copied(press(&mut m, "Y"))).unwrap();
    assert_eq!((&row["task_id"], &row["input_tokens"]["known"]), (&json!("login-copy"), &json!(5)));
    let Some(Effect::Export(export)) = press(&mut m, "e") else { panic!() };
    assert_eq!(export.name, "runs-by-task-2026-11-30");
    keyed(&mut m, &ledger, "\rj");
    let row: Value = serde_json::from_str(&copied(press(&mut m, "Y"))).unwrap();
    assert_eq!((&row["agent_id"], &row["exit_code"]), (&json!("acme/reviewer"), &json!(1)));
    let Some(Effect::Export(export)) = press(&mut m, "e") else { panic!() };
    assert_eq!(export.name, "runs-login-copy-2026-11-30");
}

#[test]
fn what_cannot_be_asked_is_said_and_the_last_answer_stays_dim() {
    let ledger = week();
    let mut m = shown(&ledger, "");
    reported(&mut m);
    let question = asks(&m).remove(0);
    update::runs(&mut m, Answer { question, told: Err("connection refused".into()) });
    let buffer = draw(&mut m, 120, 32);
    let screen = prickle::tui::view::plain(&buffer);
    assert!(screen.contains("login-copy") && screen.contains("connection refused"), "{screen}");
    assert!(buffer[(2, 4)].modifier.contains(Modifier::DIM));
    assert!(!asks(&m).is_empty(), "it is asked again");
    ledger.tell(&mut m);
    assert!(!text(&mut m, 120, 32).contains("connection refused"));
    play(&mut m, "website-v2", OFFLINE);
    assert!(text(&mut m, 120, 32).contains("as of 14:32:10"));
    assert_eq!(asks(&m), [], "nobody would answer");
}

#[test]
fn a_hostile_rooms_texts_are_shown_safe() {
    let mut ledger = week();
    let mut odd = record(70, ("x", "acme/builder", 2, [Some(1), Some(1), None, None, Some(7)]));
    odd.run.task_id = "\u{1b}[31mred\u{202e}evil\u{200b}".into();
    odd.run.project = "p\u{1b}]0;x\u{7}".into();
    odd.run.source = "\u{202e}me".into();
    odd.run.more.insert("model\u{1b}".into(), json!("a\u{9b}b"));
    ledger.0.push(odd);
    let mut m = shown(&ledger, "g");
    for keys in ["", "\r", "\r"] {
        keyed(&mut m, &ledger, keys);
        for size in [(30, 12), (80, 24), (140, 40)] {
            let buffer = draw(&mut m, size.0, size.1);
            assert!(buffer.content.iter().all(|cell| !cell.symbol().contains(is_foreign)), "{keys:?}");
        }
    }
}

#[test]
fn the_agents_own_page_tells_its_tasks_runs_and_leads_to_them() {
    let ledger = week();
    let mut m = recorded(LIVE, look());
    draw(&mut m, 120, 32);
    update::key(&mut m, person());
    m.selected = Some("acme/reviewer".parse().unwrap());
    press(&mut m, "\r");
    ledger.tell(&mut m);
    let screen = text(&mut m, 120, 32);
    assert!(screen.contains("runs      3, 1 failed, ≥ 430.5k tokens"), "{screen}");
    keyed(&mut m, &ledger, "3");
    assert!(text(&mut m, 120, 32).contains("Runs of acme › nav-review"));
    // Of others nothing is asked.
    keyed(&mut m, &ledger, "\u{1b}1");
    m.selected = Some("lumen/fixer".parse().unwrap());
    press(&mut m, "\r");
    assert_eq!(asks(&m), []);
    assert!(!text(&mut m, 120, 32).contains(" runs     "));
}

#[test]
fn there_are_records_also_while_nobody_is_in_the_room() {
    let mut m = unheard(LIVE, None);
    hear(&mut m, LIVE, live(LIVE, 1, false));
    hear(&mut m, LIVE, json!({"news": "snapshot", "seq": 1, "pulses": []}));
    draw(&mut m, 100, 30);
    update::key(&mut m, person());
    keyed(&mut m, &week(), "3");
    assert!(text(&mut m, 100, 30).contains("login-copy"));
    press(&mut m, "1");
    assert_eq!(m.view, View::Room);
}

#[test]
fn every_size_of_every_page_is_drawn_without_a_panic() {
    let ledger = week();
    let mut all = String::new();
    for keys in ["", "jj", "\r", "\r\r", "ooo", "/zz", "dd", "?", "p"] {
        let mut m = shown(&ledger, keys);
        let beats = vec![(TimeDelta::seconds(1), "a run fails".to_owned())];
        let period = TimeDelta::seconds(9);
        let panel =
            Panel { title: "Demo".into(), lines: vec!["a line".into()], began: time(LIVE), period, beats };
        m.panel = (keys.len() % 2 == 0).then_some(panel);
        for columns in (0..=200).step_by(7).chain([19, 20, 21, 59, 60, 61, 99, 100]) {
            for rows in [0, 1, 3, 4, 5, 6, 7, 9, 14, 15, 24, 50] {
                let screen = text(&mut m, columns, rows);
                write!(all, "{}", screen.len()).unwrap();
            }
        }
    }
    assert!(!all.is_empty());
}
