//! The table of kinds, and a room's conflicts held up to date: beside those found from scratch, in time, in words.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::TimeDelta;
use prickle::conflict::{Act, Branches, Conflict, Ended, How, Level, Radar, Turn, grouped, level};
use prickle::picture::{Entry, Happening, Picture};
use prickle::warning::{self, Tense};
use prickle::wire::Time;
use prickle::wire::pulse::{IntentKind, Pulse};
use prickle::words::Zone;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::pulses::{self, heard, said, time};

const KINDS: [&str; 6] = ["add", "change", "remove", "rename", "revert", "migrate"];

fn pulse(value: Value) -> Arc<Pulse> {
    Arc::new(serde_json::from_value(value).unwrap())
}

fn radar(pulses: &[Value], now: &str) -> Radar {
    let pulses: Vec<Arc<Pulse>> = pulses.iter().cloned().map(pulse).collect();
    Radar::of(&pulses, time(now))
}

/// Two agents' intents at 14:00, and what becomes of them a minute later.
fn two(one: &str, other: &str) -> Vec<Conflict> {
    let radar =
        radar(&[said("acme/a", "14:00:00", one, &[]), said("lumen/b", "14:00:00", other, &[])], "14:01:00");
    radar.conflicts(time("14:01:00")).into_iter().map(|conflict| (**conflict).clone()).collect()
}

fn level_of(one: &str, other: &str) -> Option<Level> {
    let found = two(one, other);
    assert!(found.len() < 2);
    found.first().map(|conflict| conflict.level)
}

#[test]
fn the_table_of_kinds() {
    use Level::{Clash as C, Note as N, Risk as R};
    let table = [
        [N, N, C, C, C, R],
        [N, N, C, C, C, R],
        [C, C, N, C, R, C],
        [C, C, C, C, C, C],
        [C, C, R, C, N, C],
        [R, R, C, C, C, R],
    ];
    for (row, one) in table.iter().zip(KINDS) {
        for (expected, other) in row.iter().zip(KINDS) {
            let (a, b) = (IntentKind::from(one), IntentKind::from(other));
            assert_eq!(level(&a, &b, false), *expected, "{one} {other}");
            // By patterns, and by areas.
            let seen = level_of(&format!("{one} src/**"), &format!("{other} src/*.rs"));
            assert_eq!(seen, Some(*expected), "{one} {other}");
            assert_eq!(
                level_of(&format!("{one} #auth"), &format!("{other} #auth")),
                Some(*expected),
                "{one} {other}"
            );
            // On one exact path only two that add it are different.
            let exact = if (one, other) == ("add", "add") { C } else { *expected };
            assert_eq!(
                level_of(&format!("{one} ./a.rs"), &format!("{other} a.rs")),
                Some(exact),
                "{one} {other}"
            );
        }
    }
    assert_eq!(
        level_of("fold src", "change src/a.rs"),
        Some(Level::Risk),
        "a newer room's kind may be anything"
    );
}

#[test]
fn what_is_never_a_conflict() {
    assert_eq!(level_of("remove src/a.rs", "change src/b.rs"), None);
    assert_eq!(level_of("remove #auth", "change auth"), None, "an area is no path");
    assert_eq!(level_of("remove #auth", "change #login"), None);
    assert_eq!(level_of("remove ../x", "change ../x"), None, "outside of the repository");
    // One agent with itself: what it intends and what it reports.
    let own = said("acme/a", "14:00:00", "remove src/**", &["src/a.rs"]);
    assert!(radar(&[own], "14:01:00").conflicts(time("14:01:00")).is_empty());
}

#[test]
fn case_g12_what_differs_by_case_alone_is_a_note() {
    let found = two("remove SRC/Auth.rs", "change src/auth.rs");
    assert_eq!(found[0].level, Level::Note);
    assert!(found[0].case_only());
    assert!(warning::told(&found[0], Tense::Present).contains("only by case"));
    assert!(!two("remove src/*", "change src/auth.rs")[0].case_only());
}

#[test]
fn files_that_others_report_are_at_risk_for_half_an_hour() {
    let remover = || said("acme/a", "14:20:00", "remove src/auth/**", &[]);
    let at = |worker: Value, now: &str| {
        let radar = radar(&[remover(), worker], now);
        radar.conflicts(time(now)).into_iter().map(|c| (c.level, c.second.act)).collect::<Vec<_>>()
    };
    let files = ["src/auth/a.rs", "src/b.rs"];
    let risk = (Level::Risk, Act::Reports);
    assert_eq!(at(said("lumen/b", "14:00:00", "", &files), "14:29:59"), [risk]);
    assert_eq!(at(said("lumen/b", "14:00:00", "", &files), "14:30:00"), []);
    for availability in ["asleep", "away", "offline"] {
        let mut absent = said("lumen/b", "14:20:00", "", &files);
        absent["availability"] = availability.into();
        assert_eq!(at(absent, "14:21:00"), [], "{availability}");
    }
    // With an intent on it the file is no case of its own; beside it, it is.
    let clash = (Level::Clash, Act::Intends);
    assert_eq!(at(said("lumen/b", "14:20:00", "change src/auth/a.rs", &files), "14:21:00"), [clash]);
    let more = ["src/auth/a.rs", "src/auth/z.rs"];
    assert_eq!(at(said("lumen/b", "14:20:00", "change src/auth/a.rs", &more), "14:21:00"), [clash, risk]);
    // An intent that runs out leaves the files behind that are still reported.
    let mut radar = radar(&[remover()], "14:20:00");
    let mut worker = said("lumen/b", "14:21:00", "change src/auth/a.rs", &files);
    worker["intent"]["expires_at"] = json!(time("14:25:00"));
    radar.pulse(&pulse(worker), time("14:21:00"));
    let turns = radar.pass(time("14:25:00"));
    assert!(
        matches!(&turns[..], [Turn::Ended(over), Turn::Began(risk)]
        if over.how == How::RanOut && risk.level == Level::Risk),
        "{turns:?}"
    );
    for harmless in ["add", "change", "migrate"] {
        let a = said("acme/a", "14:20:00", &format!("{harmless} src/**"), &[]);
        let found = self::radar(&[a, said("lumen/b", "14:20:00", "", &files)], "14:21:00");
        assert!(found.conflicts(time("14:21:00")).is_empty(), "{harmless}");
    }
}

fn ended(turns: &[Turn]) -> &Ended {
    let over = turns.iter().find_map(|turn| if let Turn::Ended(ended) = turn { Some(ended) } else { None });
    over.unwrap_or_else(|| panic!("nothing ended: {turns:?}"))
}

#[test]
fn a_conflict_begins_with_the_later_word_and_ends_in_words() {
    let begin = || {
        let mut radar = Radar::default();
        assert_eq!(
            radar.pulse(&pulse(said("acme/a", "14:00:00", "remove src/auth/**", &[])), time("14:00:00")),
            []
        );
        let turns = radar
            .pulse(&pulse(said("lumen/b", "14:01:00", "change src/auth/login.rs", &[])), time("14:01:00"));
        let [Turn::Began(clash)] = &turns[..] else { panic!("{turns:?}") };
        assert_eq!((clash.since, clash.until()), (time("14:01:00"), time("14:30:00")));
        radar
    };
    let ends = |next: Value, now: &str| {
        let mut radar = begin();
        let turns = radar.pulse(&pulse(next), time(now));
        assert!(radar.conflicts(time(now)).is_empty());
        let over = ended(&turns).clone();
        assert_eq!(radar.ended(time(now)).count(), 1);
        (over.at, warning::over(&over), warning::no_longer(&over))
    };
    // Saying it again makes it hold longer, and is nothing new.
    let mut radar = begin();
    let again = pulse(said("lumen/b", "14:20:00", "change src/auth/login.rs", &[]));
    assert_eq!(radar.pulse(&again, time("14:20:00")), []);
    let [clash] = radar.conflicts(time("14:20:00"))[..] else { panic!("one") };
    assert_eq!((clash.since, &clash.second.pulse), (time("14:01:00"), &again));

    let (at, how, no_longer) = ends(said("lumen/b", "14:05:00", "change docs", &[]), "14:05:00");
    assert_eq!((at, how.as_str()), (time("14:05:00"), "lumen/b said something else"));
    assert_eq!(no_longer, "lumen/b no longer changes src/auth/login.rs");
    let mut idle = said("lumen/b", "14:05:00", "", &[]);
    idle["availability"] = "idle".into();
    assert_eq!(ends(idle, "14:05:00").1, "lumen/b went idle");
    // The intent had run out before something else was said.
    let (at, how, no_longer) = ends(said("acme/c", "14:40:00", "", &[]), "14:40:00");
    assert_eq!((at, how.as_str()), (time("14:30:00"), "acme/a's intent ran out"));
    assert_eq!(no_longer, "acme/a's intent to remove src/auth/** ran out");

    let mut radar = begin();
    let turns = radar.gone(&"acme/a".parse().unwrap(), time("14:02:00"));
    assert_eq!(warning::over(ended(&turns)), "acme/a left the room");
    assert_eq!(radar.ended(time("15:01:59")).count(), 1);
    assert_eq!(radar.ended(time("15:02:00")).count(), 0, "an hour later it is forgotten");

    // A clash about something else is news.
    let mut radar = begin();
    let turns = radar.pulse(&pulse(said("lumen/b", "14:03:00", "change src/auth", &[])), time("14:03:00"));
    assert!(matches!(&turns[..], [Turn::Began(clash)] if clash.since == time("14:03:00")), "{turns:?}");
    // One that becomes less is over, and begins as what it is.
    let turns = radar.pulse(&pulse(said("acme/a", "14:04:00", "change src/auth", &[])), time("14:04:00"));
    assert!(
        matches!(&turns[..], [Turn::Ended(_), Turn::Began(note)] if note.level == Level::Note),
        "{turns:?}"
    );
}

#[test]
fn the_words_for_a_clash() {
    let mut builder = said("acme/builder", "14:30:00", "remove src/auth/**", &[]);
    builder["branch"] = "refactor/drop-sessions".into();
    let mut fixer = said("lumen/fixer", "14:31:00", "change src/auth/login.rs", &["src/auth/redirect.rs"]);
    fixer["branch"] = "fix/login-redirect".into();
    let radar = radar(&[builder, fixer], "14:32:00");
    let now = time("14:32:00");
    let [clash, risk] = radar.conflicts(now)[..] else { panic!("two") };
    assert_eq!(
        warning::told(clash, Tense::Present),
        "acme/builder is about to remove src/auth/** while lumen/fixer changes src/auth/login.rs"
    );
    assert_eq!(
        warning::told(clash, Tense::Past),
        "acme/builder was about to remove src/auth/** while lumen/fixer changed src/auth/login.rs"
    );
    assert_eq!(
        warning::told(risk, Tense::Present),
        "acme/builder is about to remove src/auth/** and lumen/fixer reported src/auth/redirect.rs"
    );
    let utc = Zone::Fixed(chrono::FixedOffset::east_opt(0).unwrap());
    let until = |tense| warning::until(clash, tense, now, utc);
    assert_eq!(until(Tense::Present), "Both hold until 15:00. Agree who goes first.");
    assert_eq!(until(Tense::Past), "Their intents hold until 15:00.");
    assert_eq!(warning::ground(clash), ["src/auth/login.rs"]);
    assert_eq!(clash.branches(), Branches::Two);
    assert_eq!(warning::branches(clash).as_deref(), Some("On two branches: it would show at the merge."));
    assert_eq!(warning::owners(clash, Some("acme")), None);

    let message = |me| warning::message(clash, me);
    assert_eq!(
        message(Some("acme")).text,
        "Before you remove src/auth/**: lumen/fixer is changing src/auth/login.rs on fix/login-redirect. \
         Agree who goes first."
    );
    assert_eq!(
        message(Some("lumen")).text,
        "Before you change src/auth/login.rs: acme/builder is about to remove src/auth/** on \
         refactor/drop-sessions. Agree who goes first."
    );
    assert_eq!(message(Some("lumen")).to, "Tell your agent");
    for me in [Some("orbit"), None] {
        assert_eq!(message(me).to, "Tell acme and lumen");
        assert!(
            message(me).text.starts_with("acme/builder is about to remove src/auth/** while lumen/fixer")
        );
    }
    let both = &two("change docs", "change docs")[0];
    assert_eq!(warning::told(both, Tense::Present), "acme/a and lumen/b both change docs");
    // Other people's texts don't reach a screen or a clipboard as they are.
    let hostile = &two("remove src/\u{1b}]52;c;eA==\u{7}\u{202e}x", "change **")[0];
    let texts = [
        warning::told(hostile, Tense::Present),
        warning::message(hostile, Some("acme")).text,
        warning::ground(hostile).concat(),
    ];
    assert!(texts.iter().all(|text| !text.contains(['\u{1b}', '\u{7}', '\u{202e}'])), "{texts:?}");
}

#[test]
fn case_g21_where_they_meet_is_said_and_many_are_told_together() {
    let mut pulses = vec![
        said("acme/a", "14:00:00", "remove crates/cli/**", &[]),
        said("lumen/b", "14:00:00", "change crates/cli/tests/**", &[]),
    ];
    pulses.extend((0..12).map(|n| said(&format!("orbit/n{n}"), "14:00:00", "change **", &[])));
    let radar = radar(&pulses, "14:01:00");
    let all = radar.conflicts(time("14:01:00"));
    let clashes: Vec<&Arc<Conflict>> = all.iter().copied().filter(|c| c.level == Level::Clash).collect();
    assert_eq!(clashes.len(), 13);
    let pair = clashes.iter().find(|c| c.is_of(&"lumen/b".parse().unwrap())).unwrap();
    assert_eq!(
        warning::told(pair, Tense::Present),
        "acme/a is about to remove crates/cli/** while lumen/b changes crates/cli/tests/**"
    );
    assert_eq!(warning::ground(pair), ["crates/cli/tests/**"]);
    let groups = grouped(&all);
    assert_eq!(groups.iter().map(|group| group.conflicts.len()).sum::<usize>(), all.len(), "none is lost");
    assert_eq!(groups[0].conflicts.len(), 13);
    assert_eq!(
        warning::together(&groups[0], Tense::Present).unwrap(),
        "acme/a is about to remove crates/cli/** while 13 others are at work there"
    );
    assert!(groups.len() <= 20, "{} groups of {}", groups.len(), all.len());
    let few = grouped(&clashes[..3]);
    assert!(few.iter().all(|group| group.around.is_none() && group.conflicts.len() == 1));
}

/// What a conflict is, whenever it was found to begin.
fn facts(radar: &Radar, now: Time) -> BTreeMap<String, (Level, usize, Time)> {
    let named =
        |c: &Conflict| format!("{} {} {:?} {:?}", c.first.id(), c.second.id(), c.second.act, c.places);
    radar.conflicts(now).into_iter().map(|c| (named(c), (c.level, c.more, c.until()))).collect()
}

#[derive(Debug, Clone)]
enum Move {
    Pulse { who: usize, kind: usize, path: usize, file: usize, there: bool },
    Gone(usize),
    Wait(i64),
}

const PATHS: [&str; 12] = [
    "src/**",
    "src/a.rs",
    "src/*.rs",
    "SRC/A.rs",
    "**",
    "docs",
    "docs/x.md",
    "#auth",
    "#docs",
    "**/*.md",
    "src/[ab]/{c,d}",
    "lib/?",
];

fn moves() -> impl Strategy<Value = Move> {
    prop_oneof![
        8 => (0..8_usize, 0..9_usize, 0..PATHS.len(), 0..PATHS.len(), any::<bool>())
            .prop_map(|(who, kind, path, file, there)| Move::Pulse { who, kind, path, file, there }),
        1 => (0..8_usize).prop_map(Move::Gone),
        2 => (0..20_i64).prop_map(Move::Wait),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn held_up_to_date_is_the_same_as_found_from_scratch(story in prop::collection::vec(moves(), 1..60)) {
        let mut now = time("12:00:00");
        let mut radar = Radar::default();
        let mut room: BTreeMap<String, Arc<Pulse>> = BTreeMap::new();
        let mut standing: BTreeMap<String, Level> = BTreeMap::new();
        let mut follow = |turns: Vec<Turn>| {
            let named = |c: &Conflict| format!("{:?} {:?}", (c.first.id().min(c.second.id()), c.first.id().max(c.second.id())),
                c.parties().iter().find(|p| p.act == Act::Reports).map(|p| p.id().clone()));
            for turn in turns {
                match turn {
                    Turn::Began(conflict) => { standing.insert(named(&conflict), conflict.level); }
                    Turn::Ended(ended) => { standing.remove(&named(&ended.conflict)); }
                }
            }
            standing.len()
        };
        for step in story {
            let count = match step {
                Move::Wait(minutes) => {
                    now += TimeDelta::minutes(minutes);
                    follow(radar.pass(now))
                }
                Move::Gone(who) => {
                    let id = format!("acme/n{who}");
                    room.remove(&id);
                    follow(radar.gone(&id.parse().unwrap(), now))
                }
                Move::Pulse { who, kind, path, file, there } => {
                    now += TimeDelta::seconds(1);
                    let id = format!("acme/n{who}");
                    let intent = KINDS.get(kind).map_or(String::new(), |kind| format!("{kind} {} {}", PATHS[path], PATHS[file]));
                    let clock = now.format("%H:%M:%S").to_string();
                    let mut value = said(&id, &clock, &intent, &[PATHS[file]]);
                    if !there {
                        value["availability"] = "away".into();
                    }
                    let new = pulse(value);
                    room.insert(id, Arc::clone(&new));
                    follow(radar.pulse(&new, now))
                }
            };
            let scratch = Radar::of(room.values(), now);
            prop_assert_eq!(facts(&radar, now), facts(&scratch, now));
            prop_assert_eq!(count, radar.conflicts(now).len(), "what was told adds up to what there is");
            let mut replaced = radar.clone();
            prop_assert_eq!(replaced.replace(room.values(), now), [], "the same picture is no news");
            prop_assert_eq!(facts(&replaced, now), facts(&radar, now));
            for level in [Level::Note, Level::Risk, Level::Clash] {
                let listed = radar.conflicts(now).iter().filter(|c| c.level == level).count();
                prop_assert_eq!((radar.count(level), replaced.count(level)), (listed, listed));
            }
            // Each agent's own are those of all.
            let own: usize = room.values().map(|p| radar.of_agent(&p.agent_id, now).count()).sum();
            prop_assert_eq!(own, 2 * radar.conflicts(now).len());
            // Also of a time that was not passed yet.
            for at in [now, now + TimeDelta::minutes(10), now + TimeDelta::minutes(40)] {
                for id in room.values().map(|p| &p.agent_id) {
                    let worst = radar.of_agent(id, at).map(|conflict| conflict.level).max();
                    prop_assert_eq!(radar.worst(id, at), worst);
                    prop_assert_eq!(replaced.worst(id, at), worst);
                }
            }
        }
    }
}

fn live(picture: &mut Picture, at: &str, seq: u64, resumed: bool) {
    picture.apply(heard(at, pulses::live(at, seq, resumed)));
}

fn event(picture: &mut Picture, seq: u64, at: &str, pulse: &Value) {
    picture.apply(heard(at, pulses::event(seq, at, pulse)));
}

/// What is told of clashes, `earlier` before the first look or since.
fn told(picture: &Picture, earlier: bool) -> Vec<String> {
    let line = |entry: &Entry| match &entry.happening {
        Happening::Clash { at, clash } => {
            Some(format!("{} {}", at.format("%T"), warning::told(clash, Tense::Present)))
        }
        Happening::ClashOver(ended) => Some(format!("{} {}", ended.at.format("%T"), warning::over(ended))),
        _ => None,
    };
    picture.entries().filter(|entry| entry.earlier == earlier).filter_map(line).collect()
}

#[test]
fn a_picture_tells_of_clashes_and_keeps_them_while_nothing_is_heard() {
    let mut p = Picture::new("website-v2");
    live(&mut p, "14:00:00", 2, false);
    let pulses = [
        said("acme/a", "14:00:00", "remove src/**", &[]),
        said("lumen/b", "14:00:00", "change src/b.rs", &[]),
    ];
    p.apply(heard("14:00:00", json!({"news": "snapshot", "seq": 2, "pulses": pulses})));
    assert_eq!(p.conflicts(time("14:00:00")).len(), 1);
    assert_eq!(told(&p, false), [""; 0], "what is so on the first look did not happen now");
    let standing = ["14:00:00 acme/a is about to remove src/** while lumen/b changes src/b.rs"];
    assert_eq!(told(&p, true), standing, "it stands since then");
    event(&mut p, 3, "14:05:00", &said("lumen/c", "14:05:00", "change src/c.rs", &[]));
    let (a, c) = ("acme/a".parse().unwrap(), "lumen/c".parse().unwrap());
    assert_eq!(p.in_the_way(&a, time("14:05:00")), Some(Level::Clash));
    assert_eq!(p.conflicts_of(&c, time("14:05:00")).count(), 1);
    assert_eq!(told(&p, false), ["14:05:00 acme/a is about to remove src/** while lumen/c changes src/c.rs"]);

    // Offline nothing runs out: it may have been said again.
    p.apply(heard("14:10:00", json!({"news": "lost", "why": "reset", "retry_in": 1})));
    p.pass(time("14:45:00"));
    assert_eq!(p.conflicts(time("14:45:00")).len(), 2);
    assert_eq!(p.next_end(), None);
    live(&mut p, "14:45:00", 4, true);
    p.pass(time("14:45:00"));
    assert_eq!(told(&p, false).len(), 1, "what was missed is still to come");
    event(&mut p, 4, "14:20:00", &said("acme/a", "14:20:00", "remove src/**", &[]));
    assert_eq!(told(&p, false).len(), 1, "it was said again in time");
    assert_eq!(p.next_end(), Some(time("14:30:00")));
    p.pass(time("14:45:00"));
    assert_eq!(
        told(&p, false)[1..],
        ["14:30:00 lumen/b's intent ran out", "14:35:00 lumen/c's intent ran out"]
    );
    assert_eq!((p.conflicts(time("14:45:00")).len(), p.ended(time("14:45:00")).count()), (0, 2));

    // A new picture is told by what it changes.
    live(&mut p, "14:50:00", 9, false);
    let pulses = [
        said("acme/a", "14:46:00", "remove src/**", &[]),
        said("lumen/b", "14:47:00", "revert src/b.rs", &[]),
    ];
    p.apply(heard("14:50:00", json!({"news": "snapshot", "seq": 9, "pulses": pulses})));
    assert_eq!(told(&p, false).len(), 3, "a risk is not told");
    let pulses =
        [said("acme/a", "14:46:00", "remove src/**", &[]), said("lumen/b", "14:48:00", "add src/b.rs", &[])];
    p.apply(heard("14:51:00", json!({"news": "snapshot", "seq": 9, "pulses": pulses})));
    assert_eq!(
        told(&p, false)[3..],
        ["14:51:00 acme/a is about to remove src/** while lumen/b adds src/b.rs"]
    );
    p.apply(heard("14:52:00", json!({"news": "snapshot", "seq": 9, "pulses": pulses[..1]})));
    assert_eq!(told(&p, false)[4..], ["14:52:00 lumen/b left the room"]);
}

#[test]
fn the_list_of_conflicts_is_another_only_where_one_of_them_is_touched() {
    let mut radar = radar(
        &[said("acme/a", "14:00:00", "remove a", &[]), said("lumen/b", "14:00:00", "change a", &[])],
        "14:00:00",
    );
    let mut before = radar.version();
    let mut touches = |radar: &Radar| radar.version() != std::mem::replace(&mut before, radar.version());
    assert!(!touches(&radar));
    radar.pulse(&pulse(said("orbit/c", "14:01:00", "", &["b"])), time("14:01:00"));
    assert!(!touches(&radar), "somebody comes");
    radar.pulse(&pulse(said("orbit/c", "14:02:00", "change b", &["b"])), time("14:02:00"));
    radar.pulse(&pulse(said("orbit/c", "14:03:00", "change b", &["b"])), time("14:03:00"));
    assert!(!touches(&radar), "nobody is there");
    radar.pulse(&pulse(said("lumen/b", "14:04:00", "change a", &[])), time("14:04:00"));
    assert!(touches(&radar), "it holds longer");
    radar.pulse(&pulse(said("orbit/c", "14:05:00", "change a", &[])), time("14:05:00"));
    assert!(touches(&radar), "one begins");
    radar.gone(&"orbit/c".parse().unwrap(), time("14:06:00"));
    assert!(touches(&radar), "one is over");
    radar.pass(time("14:40:00"));
    assert!(touches(&radar), "one runs out");
    radar.gone(&"lumen/b".parse().unwrap(), time("14:41:00"));
    assert!(!touches(&radar), "somebody leaves");
}
