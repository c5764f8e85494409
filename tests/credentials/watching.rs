//! What each kind of credential hears on a feed: every pulse, and a run's record only if it is its owner's person.

use serde_json::json;

use super::common::caller::run_report;
use super::common::watcher::Watcher;
use super::{OWN, column, room_with_keys, row, table};

const HEARS: &str = "
frame  person oauth client project runner-device runner-tasks execution
pulse  yes    yes   yes    yes     yes           yes          yes
run    yes    no    no     no      no            no           no
";

#[tokio::test]
async fn every_kind_hears_pulses_and_only_the_owner_s_people_hear_of_runs() {
    let table = table(HEARS);
    let (room, keys) = room_with_keys().await;
    let agent = room.key("client", "acme/reporter", &[OWN]);
    let foreign = room.key("person", "other", &[OWN]);
    let mut watchers = Vec::new();
    for key in &keys {
        let hears = |frame| row(&table, frame)[column(key.kind)] == "yes";
        let watcher = Watcher::open(&room, &key.token, OWN, None).await.unwrap();
        watchers.push((key.to_string(), watcher, hears("pulse"), hears("run")));
    }
    let watcher = Watcher::open(&room, &foreign, OWN, None).await.unwrap();
    watchers.push(("another owner's person".to_owned(), watcher, true, false));
    for (_, watcher, ..) in &mut watchers {
        watcher.picture().await;
    }
    let run = room.run(&agent, run_report("4f7c2a9e-3b1d-4c8e-9a6f-0d2e5b7c1a3f")).await;
    // What follows a record that was not for a watcher is the first that it hears.
    room.pulse(&agent, json!({"project": OWN, "doing": "after the run"})).await;
    for (name, watcher, pulse, record) in &mut watchers {
        let mut heard = vec![watcher.frame().await];
        if *record {
            heard.push(watcher.frame().await);
        }
        assert_eq!(heard.iter().any(|frame| frame["type"] == "pulse"), *pulse, "{name}: {heard:?}");
        let records: Vec<_> = heard.iter().filter(|frame| frame["type"] == "run").collect();
        assert_eq!(records.len(), usize::from(*record), "{name}: {heard:?}");
        for frame in records {
            assert_eq!((&frame["run"], &frame["agent_id"]), (&run, &json!("acme/reporter")), "{name}");
            assert!(frame.get("seq").is_none(), "{name}");
        }
    }
    // A record was the last that could have come: the next pulse is the next frame for all.
    room.pulse(&agent, json!({"project": OWN, "doing": "again"})).await;
    for (name, watcher, ..) in &mut watchers {
        assert_eq!(watcher.event(2).await["pulse"]["doing"], "again", "{name}");
    }
}
