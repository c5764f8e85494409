//! `/v1/agents`: how far each agent of an owner has come in a room, and who may ask.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod common;

use chrono::{DateTime, Utc};
use common::room::{Room, Shape};
use prickle::wire::agent::{Agents, Standing};
use serde_json::json;

async fn asked(room: &Room, key: &str, project: &str) -> Agents {
    let (status, agents) = room.get(key, &format!("/v1/agents?project={project}")).await;
    assert_eq!(status, 200, "{agents}");
    serde_json::from_value(agents).unwrap()
}

async fn only(room: &Room, key: &str) -> Standing {
    let mut agents = asked(room, key, "website-v2").await.agents;
    assert_eq!(agents.len(), 1, "{agents:?}");
    agents.remove(0)
}

/// That a moment lies between two others.
fn between(begin: DateTime<Utc>, at: DateTime<Utc>) {
    let whole = DateTime::from_timestamp_millis(begin.timestamp_millis()).unwrap();
    assert!(whole <= at && at <= Utc::now(), "{at} is not after {begin}");
}

/// Moments are kept in whole milliseconds: what comes after this is later than what came before.
async fn next_millisecond() {
    let now = Utc::now().timestamp_millis();
    common::until("the next millisecond", async || Utc::now().timestamp_millis() > now).await;
}

#[tokio::test]
async fn an_agent_s_steps_are_seen_as_they_are_made_and_outlive_a_restart() {
    let begin = Utc::now();
    let room = Room::open().await;
    let person = room.key("person", "acme", &["website-v2"]);
    assert_eq!(asked(&room, &person, "website-v2").await.agents, [], "nobody yet");
    let key = room.key("client", "acme/builder", &["website-v2"]);
    // Known once the keys are read anew, or once it is used, whichever is first.
    common::until("the agent is there", async || {
        !asked(&room, &person, "website-v2").await.agents.is_empty()
    })
    .await;
    let made = only(&room, &person).await;
    between(begin, made.key_made_at);
    assert_eq!(made.agent_id.as_str(), "acme/builder");
    assert_eq!((made.key_first_used_at, made.tools_listed_at, &made.pulse), (None, None, &None));

    room.rpc(&key, "ping", json!({})).await;
    let used = only(&room, &person).await;
    between(made.key_made_at, used.key_first_used_at.unwrap());
    assert_eq!((used.tools_listed_at, &used.pulse), (None, &None));

    room.rpc(&key, "tools/list", json!({})).await;
    let listed = only(&room, &person).await;
    between(used.key_first_used_at.unwrap(), listed.tools_listed_at.unwrap());
    assert_eq!(listed.key_first_used_at, used.key_first_used_at, "the first use stays the first");
    room.rpc_new(&key, "tools/list", json!({})).await;
    let again = only(&room, &person).await;
    between(listed.tools_listed_at.unwrap(), again.tools_listed_at.unwrap());
    assert_eq!(Standing { tools_listed_at: listed.tools_listed_at, ..again }, listed);

    let pulse = room.pulse(&key, json!({"project": "website-v2", "doing": "x"})).await;
    let reported = only(&room, &person).await;
    assert_eq!(json!(reported.pulse), pulse);
    assert_eq!(reported.elsewhere, []);

    let room = room.restart().await;
    assert_eq!(only(&room, &person).await, reported);
}

#[tokio::test]
async fn the_new_era_s_list_of_tools_counts_too() {
    let room = Room::open().await;
    let person = room.key("person", "acme", &["website-v2"]);
    let key = room.key("client", "acme/builder", &["website-v2"]);
    room.rpc_new(&key, "tools/list", json!({})).await;
    assert!(only(&room, &person).await.tools_listed_at.is_some());
}

#[tokio::test]
async fn the_newest_live_key_for_the_room_counts() {
    let room = Room::open().await;
    let person = room.key("person", "acme", &["website-v2"]);
    let first = room.key("client", "acme/builder", &["website-v2"]);
    room.rpc(&first, "tools/list", json!({})).await;
    let old = only(&room, &person).await;
    // Of another room, whatever its age.
    let elsewhere = room.key("client", "acme/builder", &["docs"]);
    room.rpc(&elsewhere, "ping", json!({})).await;
    assert_eq!(only(&room, &person).await, old);
    let second = room.key("oauth", "acme/builder", &[]);
    room.rpc(&second, "ping", json!({})).await;
    let new = only(&room, &person).await;
    assert!(new.key_made_at >= old.key_made_at && new.key_first_used_at > old.key_first_used_at);
    assert_eq!(new.tools_listed_at, None, "not with this key");
    room.revoke_newest();
    common::until("the first key counts again", async || only(&room, &person).await == old).await;
}

#[tokio::test]
async fn a_key_that_is_let_into_one_more_room_keeps_its_story() {
    let mut shape = Shape::default();
    shape.store.keys_reread = std::time::Duration::from_millis(200); // time in which uses are in memory alone
    let room = Room::with(shape).await;
    let person = room.key("person", "acme", &["website-v2", "docs"]);
    let key = room.key("client", "acme/builder", &["website-v2"]);
    room.rpc(&key, "tools/list", json!({})).await;
    let before = only(&room, &person).await;
    assert!(before.key_first_used_at.is_some() && before.tools_listed_at.is_some());
    let mut keys = prickle::server::store::keys::KeyStore::open(&room.db).unwrap();
    let id = keys.find(&key).unwrap().unwrap().id;
    keys.allow(id, &"docs".parse().unwrap(), Utc::now()).unwrap();
    common::until("the key may enter the other room", async || {
        !asked(&room, &person, "docs").await.agents.is_empty()
    })
    .await;
    assert_eq!(only(&room, &person).await, before);
    assert_eq!(only(&room.restart().await, &person).await, before);
}

#[tokio::test]
async fn what_a_key_did_before_it_was_let_into_a_room_does_not_count_there() {
    let mut shape = Shape::default();
    shape.store.keys_reread = std::time::Duration::from_millis(20);
    let room = Room::with(shape).await;
    let person = room.key("person", "acme", &["website-v2", "docs"]);
    let key = room.key("client", "acme/builder", &["website-v2"]);
    room.rpc(&key, "tools/list", json!({})).await;
    room.pulse(&key, json!({"project": "website-v2", "doing": "x"})).await;
    let here = only(&room, &person).await;
    let first_used = here.key_first_used_at.unwrap();
    next_millisecond().await;
    let before = Utc::now();
    let mut keys = prickle::server::store::keys::KeyStore::open(&room.db).unwrap();
    let id = keys.find(&key).unwrap().unwrap().id;
    keys.allow(id, &"docs".parse().unwrap(), Utc::now()).unwrap();
    let in_docs = async |room: &Room| asked(room, &person, "docs").await.agents.pop();
    common::until("the key may enter the other room", async || in_docs(&room).await.is_some()).await;
    let let_in = in_docs(&room).await.unwrap();
    between(before, let_in.key_made_at);
    assert_eq!((let_in.key_first_used_at, let_in.tools_listed_at), (None, None));
    assert_eq!((&let_in.pulse, &let_in.elsewhere[..]), (&None, &[][..]));

    let room = room.restart().await;
    assert_eq!(in_docs(&room).await.as_ref(), Some(&let_in));
    room.rpc(&key, "ping", json!({})).await;
    let used = in_docs(&room).await.unwrap();
    between(before, used.key_first_used_at.unwrap());
    assert_eq!((used.tools_listed_at, &used.elsewhere[..]), (None, &[][..]));
    room.rpc(&key, "tools/list", json!({})).await;
    let listed = in_docs(&room).await.unwrap();
    between(before, listed.tools_listed_at.unwrap());
    assert_eq!(listed.elsewhere, []);
    // It has read the tools and reports to where it always did.
    room.pulse(&key, json!({"project": "website-v2", "doing": "y"})).await;
    let reported = in_docs(&room).await.unwrap();
    assert_eq!((&reported.pulse, reported.elsewhere.len()), (&None, 1));
    assert_eq!(reported.elsewhere[0].project, "website-v2");
    between(before, reported.elsewhere[0].updated_at);
    // In the first room its story goes on from its beginning.
    let here = only(&room, &person).await;
    assert_eq!(here.key_first_used_at, Some(first_used));
    assert!(here.key_made_at < let_in.key_made_at && here.elsewhere.is_empty());
}

#[tokio::test]
async fn the_key_that_was_let_in_last_counts() {
    let room = Room::open().await;
    let person = room.key("person", "acme", &["website-v2"]);
    let older = room.key("client", "acme/builder", &["docs"]);
    let newer = room.key("client", "acme/builder", &["website-v2"]);
    room.rpc(&newer, "tools/list", json!({})).await;
    assert!(only(&room, &person).await.tools_listed_at.is_some());
    next_millisecond().await;
    let mut keys = prickle::server::store::keys::KeyStore::open(&room.db).unwrap();
    let id = keys.find(&older).unwrap().unwrap().id;
    keys.allow(id, &"website-v2".parse().unwrap(), Utc::now()).unwrap();
    common::until("the older key counts", async || only(&room, &person).await.tools_listed_at.is_none())
        .await;
}

#[tokio::test]
async fn who_reports_to_another_room_is_found_there() {
    let room = Room::open().await;
    let key = room.key("client", "acme/builder", &[]);
    room.key("client", "acme/writer", &["website-v2"]);
    for project in ["attic", "docs", "zoo"] {
        room.key("person", "acme", &[project]);
        room.pulse(&key, json!({"project": project, "doing": "x"})).await;
    }
    room.key("person", "acme", &["website-v2"]);
    let some = room.key("person", "acme", &["website-v2", "zoo", "docs"]);
    let all = room.key("person", "acme", &[]);
    // A key that was never used is listed once the room has read the keys again.
    let both = async || asked(&room, &all, "website-v2").await.agents.len() == 2;
    common::until("the key that was made last is listed", both).await;
    for (person, rooms) in [(&some, vec!["docs", "zoo"]), (&all, vec!["attic", "docs", "zoo"])] {
        let agents = asked(&room, person, "website-v2").await;
        assert_eq!(agents.project, "website-v2");
        let [builder, writer] = &agents.agents[..] else { panic!("{agents:?}") };
        assert_eq!((builder.agent_id.name(), writer.agent_id.name()), ("builder", "writer"));
        assert_eq!((&builder.pulse, &writer.pulse), (&None, &None));
        let named: Vec<&str> = builder.elsewhere.iter().map(|room| room.project.as_str()).collect();
        assert_eq!(named, rooms);
        assert_eq!(writer.elsewhere, []);
        for elsewhere in &builder.elsewhere {
            let there = room.get(person, &format!("/v1/projects/{}/pulse", elsewhere.project)).await.1;
            assert_eq!(json!(elsewhere.updated_at), there["pulses"][0]["updated_at"]);
        }
    }
}

#[tokio::test]
async fn another_owner_s_agents_are_not_counted() {
    let room = Room::open().await;
    let person = room.key("person", "acme", &["website-v2"]);
    let foreign = room.key("client", "other/agent", &["website-v2"]);
    room.pulse(&foreign, json!({"project": "website-v2", "doing": "x"})).await;
    let own = room.key("client", "acme/builder", &["website-v2"]);
    room.pulse(&own, json!({"project": "website-v2", "doing": "y"})).await;
    let agents = asked(&room, &person, "website-v2").await.agents;
    let ids: Vec<&str> = agents.iter().map(|agent| agent.agent_id.as_str()).collect();
    assert_eq!(ids, ["acme/builder"]);
}

#[tokio::test]
async fn an_intent_that_ran_out_is_left_out() {
    let mut shape = Shape::default();
    shape.store.intent_holds = std::time::Duration::from_millis(1);
    let room = Room::with(shape).await;
    let person = room.key("person", "acme", &["website-v2"]);
    let key = room.key("client", "acme/builder", &["website-v2"]);
    let intent = json!({"project": "website-v2", "doing": "x", "intent": {"kind": "add", "paths": ["a"]}});
    room.pulse(&key, intent).await;
    common::until("it ran out", async || only(&room, &person).await.pulse.unwrap().intent.is_none()).await;
}

#[tokio::test]
async fn a_question_without_one_room_is_told_how_to_ask() {
    let room = Room::open().await;
    let person = room.key("person", "acme", &["website-v2"]);
    for query in ["", "?", "?project=", "?project=a&project=b", "?room=website-v2"] {
        let (status, problem) = room.get(&person, &format!("/v1/agents{query}")).await;
        assert_eq!(status, 400, "{query}: {problem}");
        assert!(problem["detail"].as_str().unwrap().contains("/v1/agents?project=NAME"), "{problem}");
    }
}
