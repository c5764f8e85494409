//! The store on real files: numbers, batches, memory and disk in step, watchers that come back, records of runs.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "common/database.rs"]
mod database;

use std::collections::HashSet;
use std::sync::Arc;

use chrono::TimeDelta;
use database::{
    Database, PAGE, events, missed, next, picture, pulse, run, run_id, say, slug, until, website,
};
use futures_util::FutureExt;
use prickle::rules::{Caller, Kind};
use prickle::server::store::{Behind, CallError, Options, Store, Subscription};
use prickle::wire::feed::{FRAME_MAX, Frame};
use prickle::wire::pulse::Pulse;
use prickle::wire::query::RunQuery;
use prickle::wire::run::RunPage;
use serde_json::json;
use tokio::task::JoinSet;

#[tokio::test]
async fn the_writer_syncs_fully_and_keeps_a_log() {
    let database = Database::new();
    let store = database.open();
    assert_eq!(store.synchronous().await.unwrap(), 2, "FULL");
    let mode: String = database.sql().pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
}

#[tokio::test]
async fn numbers_count_from_one_in_each_project_and_go_on_after_a_restart() {
    let database = Database::new();
    let store = database.open();
    let agent = database.caller(&store, Kind::Client, "acme/builder", &["website-v2", "api"]);
    for i in 0..3 {
        say(&store, &agent, &format!("step {i}")).await;
    }
    pulse(&store, &agent, json!({"project": "api", "doing": "elsewhere"})).await.unwrap();
    assert_eq!((store.snapshot(&website()).seq, store.snapshot(&slug("api")).seq), (3, 1));
    let (before, epoch) = (store.snapshot(&website()).pulses, Arc::clone(store.epoch()));
    store.close().await;
    drop(store);

    let store = database.open();
    assert_eq!(*store.epoch(), epoch);
    let after = store.snapshot(&website());
    assert_eq!((after.seq, after.pulses), (3, before));
    say(&store, &agent, "step 3").await;
    assert_eq!((store.snapshot(&website()).seq, store.snapshot(&slug("api")).seq), (4, 1));
}

#[tokio::test]
async fn two_databases_have_two_epochs() {
    assert_ne!(Database::new().open().epoch(), Database::new().open().epoch());
}

#[tokio::test]
async fn what_gathers_meanwhile_is_committed_at_once_and_one_refusal_undoes_nothing_of_the_others() {
    const CALLS: usize = 120;
    let database = Database::new();
    let store = database.open();
    let agent = database.agent(&store);
    say(&store, &agent, "first").await;
    let log = database.path.with_extension("db-wal");
    let frames = || (std::fs::metadata(&log).unwrap().len() - 32) / (4096 + 24);
    let before = frames();

    // Another program holds the database, so that the calls gather.
    let other = database.sql();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut calls = JoinSet::new();
    for i in 0..CALLS {
        let (store, agent) = (store.clone(), Arc::clone(&agent));
        calls.spawn(async move {
            let refused = i % 10 == 7;
            let doing = if refused { "a\0b".to_owned() } else { format!("step {i}") };
            (i, refused, pulse(&store, &agent, json!({"doing": doing, "files": vec!["a.rs"; 10]})).await)
        });
        tokio::task::yield_now().await;
    }
    other.execute_batch("COMMIT").unwrap();
    let mut said = HashSet::from(["first".to_owned()]);
    while let Some(done) = calls.join_next().await {
        let (i, refused, answer) = done.unwrap();
        match answer {
            Ok(answer) => {
                assert!(!refused);
                assert_eq!(answer.unwrap().doing, format!("step {i}"), "each caller hears of its own call");
                said.insert(format!("step {i}"));
            }
            Err(CallError::Refused(refusal)) => assert!(refused && refusal.to_string().contains("U+0000")),
            Err(other) => panic!("{other}"),
        }
    }
    let taken = CALLS as u64 * 9 / 10;
    assert_eq!(store.snapshot(&website()).seq, taken + 1);
    let all = missed(store.subscribe(&website(), Some((store.epoch(), 0)))).await.unwrap();
    assert_eq!(all.iter().map(|(seq, _)| *seq).collect::<Vec<_>>(), (1..=taken + 1).collect::<Vec<_>>());
    assert_eq!(all.into_iter().map(|(_, doing)| doing).collect::<HashSet<_>>(), said);
    // A commit for each would have written at least three pages for each.
    assert!(frames() - before < taken, "{} pages for {taken} calls", frames() - before);
}

#[tokio::test]
async fn the_calls_of_one_batch_see_each_other() {
    let database = Database::new();
    let store = database.open();
    let agent = database.agent(&store);
    let failure = json!({"class": "auth", "step": "codex_sign_in"});
    let report = json!({"project": "website-v2", "doing": "on it"});
    let other = database.sql();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    // The first keeps the writer waiting; the others are one batch, in this order.
    let calls = [
        json!({"doing": "first"}),
        json!({"run_failure": failure, "task_id": "t-1"}),
        report,
        json!({"run_failure": failure, "task_id": "t-1"}),
        json!({"clear_run_failure": true, "task_id": "t-2"}),
    ];
    let mut asked = Vec::new();
    for call in calls {
        let (store, agent) = (store.clone(), Arc::clone(&agent));
        asked.push(tokio::spawn(async move { pulse(&store, &agent, call).await.unwrap().unwrap() }));
        tokio::task::yield_now().await;
    }
    other.execute_batch("COMMIT").unwrap();
    let mut answers = Vec::new();
    for answer in asked {
        answers.push(answer.await.unwrap());
    }
    assert!(answers[0].run_failure.is_none() && answers[1].run_failure.is_some());
    assert!(answers[2].run_failure.is_some(), "the failure survives the report");
    assert_eq!((answers[2].doing.as_str(), answers[3].doing.as_str()), ("on it", "on it"));
    assert_eq!(answers[4], store.snapshot(&website()).pulses.remove(0).into());
    let told = missed(store.subscribe(&website(), Some((store.epoch(), 0)))).await.unwrap();
    assert_eq!(
        told.iter().map(|(seq, _)| *seq).collect::<Vec<_>>(),
        (1..=told.len() as u64).collect::<Vec<_>>()
    );
}

#[tokio::test]
async fn a_full_storage_is_refused_in_words_changes_nothing_and_recovers_by_itself() {
    let database = Database::new();
    let options = Options { largest: Some(400 * 1024), ..database.options() };
    let store = Store::open(&database.path, options).unwrap();
    let agent = database.agent(&store);
    let mut watcher = store.subscribe(&website(), None);
    let big = json!({"doing": "big", "files": vec!["x".repeat(300); 50]});
    let mut refusal = None;
    for _ in 0..200 {
        refusal = pulse(&store, &agent, big.clone()).await.err();
        if refusal.is_some() {
            break;
        }
    }
    let refusal = refusal.expect("a refusal at the limit");
    assert!(matches!(refusal, CallError::Storage(_)));
    assert!(refusal.to_string().starts_with("the room's storage is full"), "{refusal}");
    let full = store.snapshot(&website());
    assert!(pulse(&store, &agent, big.clone()).await.is_err());
    let still = store.snapshot(&website());
    assert_eq!((still.seq, still.pulses), (full.seq, full.pulses), "nothing in memory moved");
    for seq in 1..=full.seq {
        assert_eq!(next(&mut watcher).await, seq);
    }
    let more = watcher.events.next(1).now_or_never();
    assert!(more.is_none(), "nobody heard of what was not stored");

    database.sql().execute("DELETE FROM events WHERE seq < 10", []).unwrap();
    say(&store, &agent, "room again").await;
    assert_eq!(store.snapshot(&website()).seq, full.seq + 1, "no number was used up");
    assert_eq!(next(&mut watcher).await, full.seq + 1);
}

#[tokio::test]
async fn a_database_that_cannot_be_written_answers_everybody_in_the_batch() {
    let database = Database::new();
    let store = database.open();
    let agent = database.agent(&store);
    say(&store, &agent, "first").await;
    let seq = store.snapshot(&website()).seq;
    // A table that is gone stands for anything that SQLite can't do.
    database.sql().execute_batch("ALTER TABLE events RENAME TO elsewhere").unwrap();
    let mut calls = JoinSet::new();
    for _ in 0..20 {
        let (store, agent) = (store.clone(), Arc::clone(&agent));
        calls.spawn(async move { pulse(&store, &agent, json!({"doing": "lost"})).await });
    }
    while let Some(answer) = calls.join_next().await {
        let text = answer.unwrap().unwrap_err().to_string();
        assert!(text.contains("nothing was stored") && !text.contains("events"), "{text}");
    }
    assert_eq!(store.snapshot(&website()).seq, seq);
    database.sql().execute_batch("ALTER TABLE elsewhere RENAME TO events").unwrap();
    say(&store, &agent, "second").await;
    assert_eq!(store.snapshot(&website()).seq, seq + 1);
}

#[tokio::test]
async fn a_watcher_that_comes_back_gets_exactly_what_it_missed() {
    let database = Database::new();
    let store = database.open();
    let agent = database.agent(&store);
    for i in 1..=5 {
        say(&store, &agent, &format!("step {i}")).await;
    }
    let epoch = Arc::clone(store.epoch());
    let expected: Vec<_> = (3..=5).map(|i| (i, format!("step {i}"))).collect();
    let place = store.subscribe(&website(), Some((&epoch, 2)));
    assert_eq!((place.seq, missed(place).await), (5, Some(expected.clone())));
    assert_eq!(missed(store.subscribe(&website(), Some((&epoch, 5)))).await, Some(vec![]));
    for (why, epoch, after) in [("another database", "other", 2), ("above the newest", &*epoch, 6)] {
        assert_eq!(missed(store.subscribe(&website(), Some((epoch, after)))).await, None, "{why}");
    }
    store.close().await;
    drop(store);
    let store = database.open();
    assert_eq!(
        missed(store.subscribe(&website(), Some((&epoch, 2)))).await,
        Some(expected),
        "also after a restart"
    );
}

#[tokio::test]
async fn the_last_thousand_events_are_kept_and_what_is_pruned_needs_a_whole_picture() {
    let database = Database::new();
    let options = Options { events_kept: 10, ..database.options() };
    let store = Store::open(&database.path, options.clone()).unwrap();
    let agent = database.agent(&store);
    for i in 1..=25 {
        say(&store, &agent, &format!("step {i}")).await;
    }
    let stored: Vec<u64> = database
        .sql()
        .prepare("SELECT seq FROM events ORDER BY seq")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(stored, (16..=25).collect::<Vec<u64>>());
    let epoch = Arc::clone(store.epoch());
    assert_eq!(missed(store.subscribe(&website(), Some((&epoch, 15)))).await.unwrap().len(), 10);
    let place = store.subscribe(&website(), Some((&epoch, 14)));
    let picture = picture(&place);
    assert_eq!((picture.seq, picture.pulses.len(), events(&picture.recent)[0].0), (25, 1, 16));
    assert_eq!(Options::default().events_kept, 1000);
}

#[tokio::test]
async fn events_that_memory_no_longer_holds_are_read_from_the_database() {
    let database = Database::new();
    let options = Options { held_bytes: 1024 * 1024, ..database.options() };
    let store = Store::open(&database.path, options.clone()).unwrap();
    let agent = database.agent(&store);
    // 100 of about 36 KB are more than memory holds, and less than are kept.
    for i in 1..=100 {
        let big = json!({"doing": format!("step {i}"), "files": vec!["漢".repeat(240); 50]});
        pulse(&store, &agent, big).await.unwrap();
    }
    let epoch = Arc::clone(store.epoch());
    let all: Vec<_> = (1..=100).map(|i| (i, format!("step {i}"))).collect();
    assert_eq!(missed(store.subscribe(&website(), Some((&epoch, 0)))).await.unwrap(), all);
    let place = store.subscribe(&website(), None);
    let recent = &picture(&place).recent;
    let frame: usize = recent.iter().map(|text| text.len() + 1).sum();
    assert!(frame <= FRAME_MAX && frame > FRAME_MAX / 2, "{frame} bytes");
    assert_eq!(events(recent).last().unwrap().0, 100);
    store.close().await;
    drop((store, place));
    let store = Store::open(&database.path, options).unwrap();
    assert_eq!(missed(store.subscribe(&website(), Some((&epoch, 0)))).await.unwrap(), all);
}

#[tokio::test]
async fn who_comes_back_may_be_further_behind_than_who_stayed() {
    let database = Database::new();
    let options = Options { frames_held: 8, ..database.options() };
    let store = Store::open(&database.path, options).unwrap();
    let agent = database.agent(&store);
    let mut stayed = store.subscribe(&website(), None);
    for i in 1..=100 {
        say(&store, &agent, &format!("step {i}")).await;
    }
    assert_eq!(stayed.events.next(PAGE).await, Err(Behind));
    let mut back = store.subscribe(&website(), Some((store.epoch(), 0)));
    for i in 1..=100 {
        assert_eq!(next(&mut back).await, i, "one at a time, all the way");
    }
    // Now it is one of those who stay.
    for i in 1..=9 {
        say(&store, &agent, &format!("step {i}")).await;
    }
    assert_eq!(back.events.next(PAGE).await, Err(Behind));
}

#[tokio::test]
async fn a_hole_in_what_was_kept_is_no_place_to_resume_over() {
    let database = Database::new();
    let options = Options { held_bytes: 0, ..database.options() };
    let store = Store::open(&database.path, options).unwrap();
    let agent = database.agent(&store);
    for i in 1..=9 {
        say(&store, &agent, &format!("step {i}")).await;
    }
    database.sql().execute("DELETE FROM events WHERE seq = 5", []).unwrap();
    let mut back = store.subscribe(&website(), Some((store.epoch(), 2)));
    assert_eq!(
        events(&back.events.next(PAGE).await.unwrap()).iter().map(|e| e.0).collect::<Vec<_>>(),
        [3, 4]
    );
    assert_eq!(back.events.next(PAGE).await, Err(Behind));
}

#[tokio::test(flavor = "multi_thread")]
async fn between_the_picture_and_the_first_frame_nothing_is_lost_or_doubled() {
    let database = Database::new();
    let store = database.open();
    let agent = database.agent(&store);
    let writing = tokio::spawn({
        let (store, agent) = (store.clone(), Arc::clone(&agent));
        async move {
            for i in 1..=300 {
                say(&store, &agent, &i.to_string()).await;
            }
        }
    });
    let mut watching = JoinSet::new();
    for i in 0..40_u64 {
        until("the room moves on", || store.snapshot(&website()).seq >= i * 5).await;
        let store = store.clone();
        watching.spawn(async move {
            let mut place = store.subscribe(&website(), None);
            let picture = picture(&place);
            // The doing is the number: the picture is the one of its number.
            let doing = picture.pulses.first().map(|text| serde_json::from_str::<Pulse>(text).unwrap().doing);
            assert_eq!(
                (doing.as_deref().unwrap_or("0"), place.seq),
                (&*picture.seq.to_string(), picture.seq)
            );
            for seq in place.seq + 1..=300 {
                assert_eq!(next(&mut place).await, seq);
            }
        });
    }
    writing.await.unwrap();
    while let Some(watcher) = watching.join_next().await {
        watcher.unwrap();
    }
}

#[tokio::test]
async fn a_picture_leaves_out_an_intent_that_has_run_out_and_a_replay_does_not() {
    let database = Database::new();
    let store = database.open();
    let agent = database.agent(&store);
    let report = json!({"doing": "", "intent": {"kind": "remove", "paths": ["src/**"]}});
    let said = pulse(&store, &agent, report).await.unwrap().unwrap();
    assert_eq!(said.intent.as_ref().unwrap().expires_at, said.updated_at + TimeDelta::minutes(30));
    assert!(store.snapshot(&website()).pulses[0].intent.is_some());
    let shown =
        |place: &Subscription| serde_json::from_str::<Pulse>(&picture(place).pulses[0]).unwrap().intent;
    assert!(shown(&store.subscribe(&website(), None)).is_some());
    database.clock.set_offset(TimeDelta::minutes(30));
    assert!(store.snapshot(&website()).pulses[0].intent.is_none());
    let place = store.subscribe(&website(), None);
    assert_eq!((place.seq, shown(&place)), (1, None), "and expiry made no event");
    let Frame::Pulse { pulse, .. } = Frame::parse(&picture(&place).recent[0]).unwrap() else {
        panic!("a pulse")
    };
    assert_eq!(pulse.intent, said.intent);
    database.clock.set_offset(TimeDelta::zero());
    assert_eq!(shown(&store.subscribe(&website(), None)), said.intent, "by a clock that was put right");
}

#[tokio::test]
async fn a_failures_task_outlives_a_restart() {
    let database = Database::new();
    let store = database.open();
    let runner = database.caller(&store, Kind::RunnerDevice, "acme/builder", &["website-v2"]);
    let failure = json!({"class": "auth", "step": "codex_sign_in"});
    pulse(&store, &runner, json!({"run_failure": failure, "task_id": "t-1"})).await.unwrap();
    store.close().await;
    drop(store);
    let store = database.open();
    let cleared =
        |task: &'static str| pulse(&store, &runner, json!({"clear_run_failure": true, "task_id": task}));
    assert!(cleared("t-2").await.unwrap().unwrap().run_failure.is_some());
    assert_eq!(store.snapshot(&website()).seq, 1, "nothing changed, so there is no event");
    assert!(cleared("t-1").await.unwrap().unwrap().run_failure.is_none());
    assert_eq!(store.snapshot(&website()).seq, 2);
}

#[tokio::test]
async fn a_project_that_does_not_exist_and_one_that_is_not_the_tokens_get_the_same_answer() {
    let database = Database::new();
    let store = database.open();
    let agent = database.agent(&store);
    database.key(Kind::Client, "other/agent", &["hidden"]);
    let mut answers = Vec::new();
    for project in ["hidden", "absent"] {
        assert!(!store.sees(&agent, &slug(project)));
        let pulse =
            pulse(&store, &agent, json!({"project": project, "doing": ""})).await.unwrap_err().to_string();
        let run = run(&store, &agent, json!({"project": project})).await.unwrap_err().to_string();
        assert_eq!(pulse, run);
        assert!(pulse.contains("website-v2"), "{pulse}");
        answers.push(pulse.replace(project, "…"));
    }
    assert_eq!(answers[0], answers[1]);
    let everywhere = database.caller(&store, Kind::Client, "acme/rover", &[]);
    assert!(store.sees(&everywhere, &slug("hidden")) && !store.sees(&everywhere, &slug("absent")));
}

#[tokio::test]
async fn the_same_report_of_a_run_returns_the_same_record() {
    let database = Database::new();
    let store = database.open();
    let agent = database.agent(&store);
    let first = run(&store, &agent, json!({})).await.unwrap();
    assert_eq!((first.turns, first.input_tokens, first.exit_code), (None, Some(1200), Some(0)));
    database.clock.set_offset(TimeDelta::hours(1));
    let spelled = json!({"run_id": run_id(1).to_uppercase(), "input_tokens": 1200.0, "duration_ms": 9.1e4});
    assert_eq!(run(&store, &agent, spelled).await.unwrap(), first);
    let tasks = database.caller(&store, Kind::RunnerTasks, "acme/builder", &["website-v2"]);
    assert_eq!(run(&store, &tasks, json!({})).await.unwrap(), first, "another key of the same agent");
    store.close().await;
    drop(store);
    assert_eq!(run(&database.open(), &agent, json!({})).await.unwrap(), first, "also after a restart");
}

#[tokio::test]
async fn a_different_report_of_a_run_is_refused_and_changes_nothing() {
    let database = Database::new();
    let store = database.open();
    let agent = database.caller(&store, Kind::Client, "acme/builder", &["website-v2", "api"]);
    let first = run(&store, &agent, json!({})).await.unwrap();
    for (field, value) in [
        ("turns", json!(0)),
        ("exit_code", json!(null)),
        ("input_tokens", json!(1201)),
        ("task_id", json!("task-2")),
        ("project", json!("api")),
    ] {
        let text = run(&store, &agent, json!({ field: value })).await.unwrap_err().to_string();
        assert!(text.starts_with(&format!("{field} must be")) && text.contains("never changes"), "{text}");
    }
    let sister = database.caller(&store, Kind::Client, "acme/sister", &["website-v2"]);
    let text = run(&store, &sister, json!({})).await.unwrap_err().to_string();
    assert!(text.contains("another agent of yours"), "{text}");
    let stranger = database.caller(&store, Kind::Client, "globex/builder", &["website-v2"]);
    let text = run(&store, &stranger, json!({})).await.unwrap_err().to_string();
    assert!(
        text.contains("can't be used here") && !text.contains("acme") && !text.contains("another"),
        "{text}"
    );
    assert_eq!(run(&store, &agent, json!({})).await.unwrap(), first);
    let person = database.caller(&store, Kind::Person, "acme", &[]);
    assert_eq!(records(&store, &person, None, 100).await.unwrap().runs.len(), 1);
}

/// A page of the records, newest first.
async fn records(
    store: &Store,
    caller: &Caller,
    cursor: Option<&str>,
    limit: u32,
) -> Result<RunPage, CallError> {
    let cursor = cursor.map(str::to_owned);
    store.runs(caller, &RunQuery { limit: Some(limit), cursor, ..RunQuery::default() }).await
}

#[tokio::test]
async fn pages_of_records_are_newest_first_and_hold_still_while_more_come() {
    let database = Database::new();
    let store = database.open();
    let agent = database.agent(&store);
    for n in 1..=5 {
        // However the clock goes, the order is that of the times that are told.
        database.clock.set_offset(TimeDelta::minutes(i64::try_from(n).unwrap()));
        run(&store, &agent, json!({"run_id": run_id(n)})).await.unwrap();
    }
    let person = database.caller(&store, Kind::Person, "acme", &["website-v2"]);
    let ids =
        |page: &RunPage| -> Vec<String> { page.runs.iter().map(|run| run.run.run_id.clone()).collect() };
    let first = records(&store, &person, None, 2).await.unwrap();
    assert_eq!(ids(&first), [run_id(5), run_id(4)]);
    database.clock.set_offset(TimeDelta::seconds(150)); // set back, among those that are still to come
    run(&store, &agent, json!({"run_id": run_id(6)})).await.unwrap();
    let second = records(&store, &person, first.next_cursor.as_deref(), 2).await.unwrap();
    assert_eq!(ids(&second), [run_id(3), run_id(2)]);
    let third = records(&store, &person, second.next_cursor.as_deref(), 2).await.unwrap();
    assert_eq!((ids(&third), third.next_cursor), (vec![run_id(1)], None));
    assert_eq!(records(&store, &person, None, 6).await.unwrap().next_cursor, None, "a full last page");
    for cursor in ["", "x", "AAAAAAAAAAA", &first.next_cursor.unwrap()[1..]] {
        let text = records(&store, &person, Some(cursor), 2).await.unwrap_err().to_string();
        assert!(text.starts_with("cursor must be"), "{text}");
    }
    for limit in [0, 1001] {
        assert!(records(&store, &person, None, limit).await.unwrap_err().to_string().contains("1 to 1000"));
    }
}

#[tokio::test]
async fn only_a_person_of_the_agents_owner_reads_its_records() {
    let database = Database::new();
    let store = database.open();
    let agent = database.caller(&store, Kind::Client, "acme/builder", &["website-v2", "api"]);
    run(&store, &agent, json!({})).await.unwrap();
    run(&store, &agent, json!({"run_id": run_id(2), "project": "api"})).await.unwrap();
    for (kind, holder, projects, sees) in [
        (Kind::Person, "acme", vec![], 2),
        (Kind::Person, "acme", vec!["api"], 1),
        (Kind::Person, "globex", vec![], 0),
        (Kind::Client, "acme/builder", vec![], 0),
        (Kind::RunnerDevice, "acme/builder", vec![], 0),
        (Kind::OAuth, "acme/builder", vec![], 0),
    ] {
        let caller = database.caller(&store, kind, holder, &projects);
        let page = records(&store, &caller, None, 100).await.unwrap();
        assert_eq!(page.runs.len(), sees, "{kind} {holder}");
        assert!(
            page.runs.iter().all(|run| run.agent_id.as_str() == "acme/builder" && run.run.turns.is_none())
        );
    }
}

#[tokio::test]
async fn a_record_goes_once_to_the_rooms_watchers_with_its_owners_name() {
    let database = Database::new();
    let store = database.open();
    let agent = database.agent(&store);
    let mut place = store.subscribe(&website(), None);
    let record = run(&store, &agent, json!({})).await.unwrap();
    run(&store, &agent, json!({})).await.unwrap();
    let sent = place.runs.try_recv().unwrap();
    assert_eq!(sent.owner, slug("acme"));
    let frame = Frame::parse(&sent.text).unwrap();
    assert_eq!(frame, Frame::Run { agent_id: "acme/builder".parse().unwrap(), run: Box::new(record) });
    assert!(place.runs.try_recv().is_err(), "the same report again is no news");
    assert_eq!(store.snapshot(&website()).seq, 0, "a record is no event of the room");
}

#[tokio::test]
async fn closing_answers_what_was_asked_leaves_one_file_and_frees_the_lock() {
    let database = Database::new();
    let store = database.open();
    let agent = database.agent(&store);
    let asked = tokio::spawn({
        let (store, agent) = (store.clone(), Arc::clone(&agent));
        async move { pulse(&store, &agent, json!({"doing": "last words"})).await }
    });
    tokio::task::yield_now().await; // lets it ask
    store.close().await;
    assert_eq!(asked.await.unwrap().unwrap().unwrap().doing, "last words");
    let text = pulse(&store, &agent, json!({"doing": "late"})).await.unwrap_err().to_string();
    assert!(text.contains("the room is stopping"), "{text}");
    assert!(records(&store, &agent, None, 1).await.is_ok());
    assert!(!database.path.with_extension("db-wal").exists(), "the log is in the file");
    assert_eq!(database.open().snapshot(&website()).pulses[0].doing, "last words");
}
