//! What stands on the screen is what was answered: not of other days, not of before, not of rows nobody looked through.

use chrono::TimeDelta;
use prickle::tui::model::{Model, Watch};
use prickle::tui::runs::ask::{Answer, Ask, Question, Slot, wanted};
use prickle::tui::runs::chain::Chain;
use prickle::tui::update::{self, Effect};
use prickle::wire::query::RunQuery;
use prickle::wire::run::RunPage;
use prickle::words::Zone;

use super::ledger::{Ledger, many, person, record, week};
use super::screen::pulses::{LIVE, live, time};
use super::screen::{OFFLINE, draw, hear, look, play, press, recorded, text};

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

fn refused(model: &mut Model, question: Question) {
    update::runs(model, Answer { question, told: Err("connection refused".into()) });
}

fn of(model: &Model, slot: Slot) -> Question {
    wanted(model).into_iter().find(|question| question.slot == slot).unwrap()
}

#[test]
fn until_the_room_has_answered_old_rows_are_not_called_by_the_new_question() {
    let ledger = week();
    let mut m = shown(&ledger, "");
    press(&mut m, "d");
    let title = |m: &mut Model| text(m, 120, 32).lines().nth(1).unwrap().to_owned();
    assert!(title(&mut m).contains("asking the room …") && !title(&mut m).contains("30 days"));
    ledger.tell(&mut m);
    assert!(title(&mut m).contains("last 30 days · newest first"));
    press(&mut m, "s");
    assert!(title(&mut m).contains("asking the room …"));
    keyed(&mut m, &ledger, "\r");
    press(&mut m, "s");
    assert!(title(&mut m).contains("asking the room …"));
    ledger.tell(&mut m);
    assert!(title(&mut m).contains("last 30 days · most tokens first"));
}

#[test]
fn one_long_name_does_not_take_the_place_of_all_bars() {
    let mut ledger = week();
    let name = "n".repeat(64);
    let numbers = [Some(1000), Some(10), Some(1), Some(60_000), Some(0)];
    ledger.0.push(record(900, (&name, "acme/builder", 5, numbers)));
    let mut m = shown(&ledger, "");
    for columns in [120, 140, 200] {
        let screen = text(&mut m, columns, 32);
        assert!(screen.contains("known      tokens"), "{screen}");
        assert!(screen.contains(&"n".repeat(20)), "{screen}");
    }
    assert!(text(&mut m, 80, 32).contains(&"n".repeat(12)));
}

#[test]
fn of_days_that_nobody_has_asked_about_it_is_not_said_that_there_were_no_runs() {
    let mut m = shown(&week(), "");
    let none = |m: &mut Model| text(m, 120, 50).matches("no runs").count();
    let before = none(&mut m);
    play(&mut m, "website-v2", OFFLINE);
    press(&mut m, "d");
    assert_eq!(none(&mut m), before, "offline, thirty days are asked for, and seven are known");
    press(&mut m, "dd");
    assert_eq!(none(&mut m), before);
}

#[test]
fn a_day_is_the_same_for_rows_and_bars_where_the_zone_has_no_name() {
    // Eight in the evening where days are still told apart by a clock without a name; in Greenwich it is tomorrow.
    let mut m = recorded(LIVE, look());
    m.look.zone = Zone::Fixed(chrono::FixedOffset::west_opt(8 * 3600).unwrap());
    m.watch = Watch::Still(time("2026-12-01T04:00:00Z"));
    draw(&mut m, 120, 32);
    update::key(&mut m, person());
    press(&mut m, "3");
    let now = m.now();
    for question in wanted(&m) {
        let Ask::Sums { query, tz, .. } = question.ask else { panic!() };
        let begin = now.date_naive() - TimeDelta::days(6);
        assert_eq!((query.since, tz), (begin.and_hms_opt(0, 0, 0).map(|at| at.and_utc()), "UTC"));
    }
    week().tell(&mut m);
    let mut buffer = ratatui::buffer::Buffer::empty(ratatui::layout::Rect::new(0, 0, 120, 32));
    let lasts = prickle::tui::view::draw(&m, &mut buffer).unwrap();
    assert!(lasts > TimeDelta::zero(), "midnight is to come: {lasts}");
}

#[test]
fn what_went_wrong_with_a_groups_records_is_not_said_of_the_groups() {
    let ledger = week();
    let mut m = shown(&ledger, "");
    press(&mut m, "\r");
    let question = of(&m, Slot::Page);
    refused(&mut m, question);
    assert!(text(&mut m, 120, 32).contains("connection refused"));
    press(&mut m, "\u{1b}");
    assert_eq!(wanted(&m), [], "the groups are known");
    assert!(!text(&mut m, 120, 32).contains("connection refused"));
}

#[test]
fn a_page_that_is_refused_is_not_asked_for_for_ever() {
    let ledger = many(1000, 1);
    let mut m = shown(&ledger, "\rG");
    assert!(m.runs.chain.as_ref().unwrap().pages() > 1);
    m.runs.stir();
    let first = of(&m, Slot::Page);
    update::runs(&mut m, ledger.answer(&first));
    let next = of(&m, Slot::Page);
    let has_cursor =
        |question: &Question| matches!(&question.ask, Ask::Page(query) if query.cursor.is_some());
    assert!(has_cursor(&next), "{next:?}");
    refused(&mut m, next);
    assert!(!has_cursor(&of(&m, Slot::Page)), "the room may no longer know where that page begins");
}

#[test]
fn a_page_that_is_on_its_way_does_not_move_a_picture_that_stands_still() {
    let ledger = week();
    let mut m = shown(&ledger, "\r");
    m.runs.stir();
    let question = of(&m, Slot::Page);
    press(&mut m, "f");
    let before = m.runs.chain.as_ref().unwrap().len();
    update::runs(&mut m, Ledger::default().answer(&question));
    assert_eq!(m.runs.chain.as_ref().unwrap().len(), before);
}

#[test]
fn a_filter_says_how_many_rows_it_has_looked_through() {
    let mut ledger = many(3000, 1500);
    ledger
        .0
        .push(record(5000, ("zebra", "acme/builder", 5000, [Some(1), Some(1), Some(1), Some(1), Some(0)])));
    let mut m = shown(&ledger, "");
    keyed(&mut m, &ledger, "/zebra\r");
    let screen = text(&mut m, 120, 32);
    assert!(screen.contains("No task matches zebra among the 1,000 that were looked through."), "{screen}");
    keyed(&mut m, &ledger, "\u{1b}/00017\r");
    let screen = text(&mut m, 120, 32);
    assert!(screen.contains(" 1 of 1,000 tasks "), "{screen}");
    // The records of all of a project.
    keyed(&mut m, &ledger, "\u{1b}oo\r/zebra\r");
    let screen = text(&mut m, 120, 32);
    assert!(screen.contains("No run matches zebra among the 200 that were looked through."), "{screen}");
}

#[test]
fn an_answer_about_other_days_than_are_asked_for_by_now_is_dropped() {
    let ledger = week();
    let mut m = shown(&ledger, "");
    let asked = |m: &Model| m.runs.sums.as_ref().unwrap().ask.clone();
    let of_week = asked(&m);
    press(&mut m, "d");
    let of_month = of(&m, Slot::Sums);
    press(&mut m, "d");
    update::runs(&mut m, ledger.answer(&of_month));
    assert_eq!(asked(&m), of_week);
    ledger.tell(&mut m);
    assert!(asked(&m) != of_week && asked(&m) != of_month.ask);
}

#[test]
fn newer_pages_take_the_place_of_older_ones_once_as_many_have_come() {
    let ledger = many(1000, 1);
    let mut m = shown(&ledger, "\rG");
    let held = |m: &Model| m.runs.chain.as_ref().unwrap().pages();
    let (pages, selected) = (held(&m), m.runs.records.id.clone());
    assert!(pages > 1 && m.runs.records.place > 100);
    m.runs.stir();
    let first = of(&m, Slot::Page);
    update::runs(&mut m, ledger.answer(&first));
    assert_eq!((held(&m), &m.runs.records.id), (pages, &selected), "one page of several is there");
    ledger.tell(&mut m);
    assert_eq!((held(&m), &m.runs.records.id), (pages, &selected));
    assert_eq!(m.runs.chain.as_ref().unwrap().version, m.runs.version);
}

#[test]
fn nobody_knows_what_an_outage_has_missed() {
    let mut m = shown(&week(), "");
    play(&mut m, "website-v2", OFFLINE);
    assert_eq!(wanted(&m), []);
    hear(&mut m, OFFLINE, live(OFFLINE, 1, true));
    assert!(!wanted(&m).is_empty() && wanted(&m).iter().all(|question| question.again));
}

#[test]
fn of_a_day_before_the_days_that_are_looked_at_nothing_is_listed() {
    let ledger = week();
    let mut m = shown(&ledger, "oooG\r");
    let since = |m: &Model| m.runs.chain.as_ref().unwrap().query.since;
    assert_eq!(since(&m), Some(time("2026-11-25T00:00:00Z")));
    keyed(&mut m, &ledger, "ddd");
    assert_eq!((since(&m), m.runs.period.words()), (Some(time("2026-11-30T00:00:00Z")), "today"));
    assert!(text(&mut m, 120, 32).contains("No runs reported today"));
}

#[test]
fn what_one_group_came_to_is_not_said_of_the_next() {
    let ledger = many(1000, 2);
    let mut m = shown(&ledger, "\r");
    assert!(m.runs.total.is_some());
    press(&mut m, "\u{1b}");
    ledger.tell(&mut m);
    press(&mut m, "j\r");
    let page = of(&m, Slot::Page);
    update::runs(&mut m, ledger.answer(&page));
    assert!(m.runs.total.is_none() && !text(&mut m, 120, 32).contains("500"));
}

#[test]
fn all_groups_and_all_records_are_exported_not_those_that_are_held() {
    let ledger = many(3000, 1500);
    let mut m = shown(&ledger, "");
    for limit in [None, Some(1000)] {
        let Some(Effect::Export(export)) = press(&mut m, "e") else { panic!() };
        let (Ask::Sums { query, .. } | Ask::Page(query)) = &export.ask;
        assert_eq!((query.limit, &query.cursor), (limit, &None));
        keyed(&mut m, &ledger, "\r");
    }
}

#[test]
fn of_all_days_the_bars_begin_with_the_first_that_has_runs() {
    let mut m = shown(&week(), "dd");
    let screen = text(&mut m, 120, 50);
    assert!(screen.contains("│ Wed 25") && !screen.contains("│ Tue 24"), "{screen}");
}

#[test]
fn a_room_whose_page_is_empty_is_not_asked_for_the_next() {
    let page = RunPage { runs: Vec::new(), next_cursor: Some("again".into()) };
    let chain = Chain::new(RunQuery::default(), 1, page);
    assert!(chain.is_all() && chain.next().is_none());
}

#[test]
fn a_file_is_named_after_what_it_holds_and_leads_nowhere_else() {
    let mut ledger = week();
    ledger.0[0].run.task_id = "../../.profile\u{1b}".into();
    let name = |keys: &str| match press(&mut shown(&ledger, keys), "e") {
        Some(Effect::Export(export)) => export.name,
        other => panic!("{other:?}"),
    };
    assert_eq!(name("g\r"), "runs--------profile--2026-11-30");
    assert!(name("o\r").starts_with("runs-acme-"), "an agent's name has a slash");
}

#[test]
fn a_day_begins_with_its_first_moment_also_where_its_midnight_comes_twice_or_never() {
    let havana = Zone::Named(chrono_tz::Tz::America__Havana);
    for (day, begins) in [
        ("2026-11-01", "2026-11-01T04:00:00Z"), // from 1:00 back to 0:00
        ("2026-11-02", "2026-11-02T05:00:00Z"),
        ("2026-03-08", "2026-03-08T05:00:00Z"), // from 0:00 on to 1:00
        ("2026-03-09", "2026-03-09T04:00:00Z"),
    ] {
        assert_eq!(havana.begin(day.parse().unwrap()), time(begins), "{day}");
        assert_eq!(havana.date(time(begins)).to_string(), day);
    }
}
