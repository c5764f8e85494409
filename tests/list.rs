//! The Room's list: in which order and under which headings it stands, who keeps the selection, what its filter does,
//! and that nobody is left out of a pane that is too small for all.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "list/filter.rs"]
mod filter;
#[path = "common/screen.rs"]
mod screen;

use chrono::TimeDelta;
use prickle::tui::list::{List, Standing};
use prickle::tui::model::{Model, Pane, Watch};
use prickle::tui::theme::Glyphs;
use prickle::tui::{update, view};
use proptest::prelude::*;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use serde_json::{Value, json};

use screen::pulses::{LIVE, pulse, time, with};
use screen::{ACME, leave, look, recorded, report, selected, text};

/// The room of the recording, watched by acme.
fn website() -> Model {
    let mut model = recorded(LIVE, look());
    update::resize(&mut model, 120, 32);
    model
}

/// A room of these pulses, watched by acme.
fn room(pulses: &[Value]) -> Model {
    let mut model = screen::room(LIVE, ACME, pulses);
    update::resize(&mut model, 120, 32);
    model
}

/// A pulse of so many minutes ago, with what else it says.
fn claim(agent: &str, availability: &str, minutes: i64, more: &Value) -> Value {
    let said = time(LIVE) - TimeDelta::minutes(minutes);
    let claim = json!({"availability": availability, "updated_at": said});
    with(pulse(agent, LIVE, &claim), more)
}

/// Keys that leave the loop alone.
fn press(model: &mut Model, keys: &str) {
    assert_eq!(screen::press(model, keys), None, "{keys:?}");
}

/// What stands in the list, in order.
fn listed(model: &Model) -> Vec<&str> {
    model.list.iter().map(|(id, _)| id.as_str()).collect()
}

#[test]
fn whoever_is_looked_at_stays_though_the_filter_no_longer_lets_it_through() {
    let mut m = website();
    press(&mut m, "/s:working\rGk");
    assert_eq!((selected(&m), listed(&m).len()), ("lumen/docs", 3));
    report(&mut m, LIVE, &claim("lumen/docs", "idle", 0, &json!({"doing": "Waiting"})));
    assert_eq!(listed(&m), ["acme/builder", "lumen/docs", "lumen/fixer"]);
    assert_eq!(selected(&m), "lumen/docs", "the detail keeps its subject");
    assert!(text(&mut m, 120, 32).contains("─ Agents 2 of 9 · s:working ─"), "but it is not counted");
    // Others that no longer match go at once, those that do come.
    report(&mut m, LIVE, &claim("acme/builder", "idle", 0, &json!({})));
    report(&mut m, LIVE, &claim("orbit/tester", "working", 0, &json!({})));
    assert_eq!(listed(&m), ["lumen/docs", "lumen/fixer", "orbit/tester"]);
    press(&mut m, "j");
    assert_eq!(listed(&m), ["lumen/fixer", "orbit/tester"]);
    // A claim that gets old goes by itself.
    m.watch = Watch::Still(time(LIVE) + TimeDelta::minutes(16));
    update::pass(&mut m);
    press(&mut m, "j");
    assert_eq!(listed(&m), [selected(&m)], "only the one that is looked at is left");
}

#[test]
fn case_a44_rows_are_sorted_anew_and_the_selection_follows_its_agent() {
    let id = |n: i64| format!("acme/a{n:02}");
    let pulses: Vec<Value> = (1..=20).map(|n| claim(&id(n), "working", n, &json!({}))).collect();
    let mut m = room(&pulses);
    press(&mut m, "ssjjjj");
    assert_eq!((selected(&m), m.list.nth(4).unwrap().as_str()), ("acme/a05", "acme/a05"));
    assert!(text(&mut m, 120, 32).contains("─ Agents · by last report ─"));
    press(&mut m, "\r");
    assert!(text(&mut m, 120, 32).contains("─ acme/a05 ─"));
    for n in [4, 3, 2, 1] {
        report(&mut m, LIVE, &claim(&id(n), "working", 0, &json!({})));
        assert!(text(&mut m, 120, 32).contains("─ acme/a05 ─"));
    }
    report(&mut m, LIVE, &claim("acme/a00", "working", 0, &json!({})));
    leave(&mut m, LIVE, "acme/a06");
    report(&mut m, LIVE, &claim("acme/a19", "working", 0, &json!({})));
    assert_eq!(selected(&m), "acme/a05");
    assert_eq!(m.list.place(m.selected.as_ref().unwrap()), Some(6), "{:?}", listed(&m));
    assert!(text(&mut m, 120, 32).contains("─ acme/a05 ─"));
    // Time alone moves nobody.
    let before: Vec<String> = listed(&m).iter().map(ToString::to_string).collect();
    m.watch = Watch::Still(time(LIVE) + TimeDelta::minutes(3));
    update::pass(&mut m);
    assert_eq!(listed(&m), before);
    // When it leaves, the one below takes its place, and that is said.
    leave(&mut m, LIVE, "acme/a05");
    assert_eq!((selected(&m), m.pane), ("acme/a07", Pane::List));
    let shown = text(&mut m, 120, 32);
    assert!(shown.ends_with(" acme/a05 has left the room\n"), "{shown}");
    // The last one has none below: the one above takes it.
    press(&mut m, "G");
    assert_eq!(selected(&m), "acme/a20");
    leave(&mut m, LIVE, "acme/a20");
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
    report(&mut m, LIVE, &claim("lumen/docs", "working", 0, &json!({"branch": "plan/nav"})));
    let moved = rows(&text(&mut m, 120, 32));
    let at = moved.iter().position(|row| row == "branch plan/nav").unwrap();
    assert!(moved[at + 1].contains("acme/planner") && moved[at + 2].contains("lumen/docs"), "{moved:?}");
}

#[test]
fn by_what_needs_you_the_first_group_is_the_one_with_it() {
    let failure = json!({"run_failure": {"class": "auth", "step": "codex_sign_in"}});
    let mut m = room(&[
        claim("acme/a", "working", 1, &json!({})),
        claim("lumen/b", "working", 1, &failure),
        claim("orbit/c", "working", 1, &json!({})),
    ]);
    press(&mut m, "s");
    assert_eq!(listed(&m), ["lumen/b", "acme/a", "orbit/c"]);
    report(&mut m, LIVE, &claim("orbit/c", "working", 0, &failure));
    report(&mut m, LIVE, &claim("acme/a", "working", 0, &failure));
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
    let pulses: Vec<Value> = (1..=40).map(|n| claim(&id(n), "idle", 1, &fails(n))).collect();
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
        title(&mut m, 80, 24).starts_with("─ Agents 4–16 of 40 · 1 above needs you · 2 below ─"),
        "{}",
        title(&mut m, 80, 24)
    );
    press(&mut m, "/a\r");
    assert!(
        title(&mut m, 80, 24).starts_with("─ Agents 40 of 40 · 1 above needs you · 2 below · a ─"),
        "{}",
        title(&mut m, 80, 24)
    );
    press(&mut m, "\u{1b}G");
    assert!(
        title(&mut m, 80, 24).starts_with("─ Agents 28–40 of 40 · 1 above needs you ─"),
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
    claim(&format!("{owner}/n{n}"), said, minutes, &more)
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
    let more =
        body[..rule].iter().find_map(|line| line.strip_prefix("! ").filter(|rest| rest.contains(" more")));
    let calls = |name: &String| {
        let standing = model.list.iter().find(|(id, _)| id.as_str() == name).map(|(_, standing)| standing);
        rule > 0 && standing.unwrap().call.is_some()
    };
    let rest = body[rule..].iter().find_map(|line| line.strip_prefix(" + "));
    body[..rule].iter().filter_map(|line| named(line)).count()
        + more.map_or(0, number)
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
                leave(&mut m, LIVE, made_up(n, agent)["agent_id"].as_str().unwrap());
            } else {
                // Now and then an agent only says again what it said.
                let said = made_up(n, agent);
                let id = said["agent_id"].as_str().unwrap().parse().unwrap();
                let again = m.picture.agent(&id).filter(|_| agent.1 % 3 == 0);
                let mut pulse = again.map_or(said, |agent| serde_json::to_value(&*agent.pulse).unwrap());
                pulse["updated_at"] = json!(time(LIVE) + TimeDelta::seconds(i64::try_from(n).unwrap()));
                report(&mut m, LIVE, &pulse);
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
    [claim(one, "working", 1, &about("remove")), claim(other, "working", 1, &about("change"))]
}

/// So many agents of one owner.
fn crowd(owner: &str, availability: &str, count: usize) -> Vec<Value> {
    (0..count).map(|n| claim(&format!("{owner}/x{n:02}"), availability, 1, &json!({}))).collect()
}

/// The rows of a side pane above the rule with the room's name, without the header.
fn pins(shown: &str) -> Vec<&str> {
    shown.lines().skip(1).take_while(|line| !line.starts_with('─')).collect()
}

#[test]
fn the_ages_of_a_side_pane_go_on() {
    let mut m = room(&crowd("acme", "idle", 20));
    update::resize(&mut m, 45, 24);
    let mut buffer = Buffer::empty(Rect::new(0, 0, 45, 24));
    let lasts = view::draw(&m, &mut buffer);
    assert!(view::plain(&buffer).contains("○ acme/x00   1m idle"), "{}", view::plain(&buffer));
    assert!(lasts.is_some_and(|lasts| lasts <= TimeDelta::minutes(1)), "{lasts:?}");
}

#[test]
fn ones_own_needs_are_pinned_first_and_a_told_trouble_is_not() {
    let theirs = ["lumen/a", "lumen/b", "lumen/c", "orbit/d"];
    let theirs = theirs.map(|id| claim(id, "away", 2, &failed("codex_sign_in")));
    let others = crowd("zen", "working", 20);
    let mut m = room(&[&theirs[..], &clashing("acme/mine", "orbit/other"), &others].concat());
    let shown = text(&mut m, 38, 12);
    assert!(pins(&shown)[0].starts_with("≠ acme/mine "), "{shown}");
    // Under a banner those that it tells of are in the sums.
    let down = ["lumen/a", "orbit/b", "orbit/c"];
    let mut m = room(&[&clashing("acme/mine", "orbit/other")[..], &others].concat());
    down.iter().for_each(|id| report(&mut m, LIVE, &claim(id, "away", 2, &failed("claude_code_service"))));
    let shown = text(&mut m, 45, 14);
    assert!(shown.lines().nth(1).unwrap().contains("2 owners"), "{shown}");
    let names: Vec<&str> = pins(&shown)[1..].iter().map(|line| &line[..line.find("  ").unwrap()]).collect();
    assert_eq!(names, ["≠ acme/mine", "≠ orbit/other"], "{shown}");
    assert!(shown.contains(" working · 3 not here\n"), "{shown}");
    // Too small for the banner, it is said of each.
    assert!(text(&mut m, 45, 7).contains("! "), "{}", text(&mut m, 45, 7));
}
