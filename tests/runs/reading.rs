//! Who reads records, and who is told the same as of records that do not exist.

use serde_json::{Value, json};

use super::common::caller::{run_report, with};
use super::common::room::Room;

const RUN: &str = "4f7c2a9e-3b1d-4c8e-9a6f-0d2e5b7c1a3f";
/// One of another project.
const FAR: &str = "4f7c2a9e-3b1d-4c8e-9a6f-0d2e5b7c1a40";

/// What each key may read: records, by route. `all`: both projects'; `own`: website-v2's; `none`: the empty answer of
/// somebody who has no records; 404: the route does not exist; 401: no key.
const WHO: &str = "
key                  holder        projects    /v1/runs  summary  near  far
person               acme          *           all       all      200   200
person               acme          website-v2  own       own      200   404
person               acme          api         far       far      404   200
person               globex        *           none      none     404   404
oauth                acme/builder  *           404       404      404   404
client               acme/builder  *           404       404      404   404
project              acme/builder  website-v2  404       404      404   404
runner-device        acme/builder  *           404       404      404   404
runner-tasks         acme/builder  *           404       404      404   404
execution            acme/builder  website-v2  404       404      404   404
none                 -             *           401       401      401   401
";

async fn room() -> Room {
    let room = Room::open().await;
    let agent = room.key("client", "acme/builder", &["website-v2", "api"]);
    room.run(&agent, run_report(RUN)).await;
    room.run(&agent, with(&run_report(FAR), json!({"project": "api", "input_tokens": 9}))).await;
    room
}

#[tokio::test]
async fn each_kind_of_key_and_each_route() {
    let room = room().await;
    let nothing = |token: String| {
        let room = &room;
        async move { room.get(&token, "/v1/nothing").await }
    };
    for line in WHO.lines().skip(2) {
        let [kind, holder, projects, page, summary, near, far] =
            line.split_whitespace().collect::<Vec<_>>().try_into().unwrap();
        let projects = if projects == "*" { vec![] } else { vec![projects] };
        let token = if kind == "none" { String::new() } else { room.key(kind, holder, &projects) };
        let holds = |word: &str| match word {
            "all" => Some(vec![FAR, RUN]),
            "own" => Some(vec![RUN]),
            "far" => Some(vec![FAR]),
            "none" => Some(vec![]),
            _ => None,
        };
        let refused = async |(status, body): (u16, Value), word: &str| {
            assert_eq!(status.to_string(), word, "{line}: {body}");
            if status == 404 {
                assert_eq!((status, body), nothing(token.clone()).await, "{line}");
            }
        };
        let (status, body) = room.get(&token, "/v1/runs").await;
        match holds(page) {
            None => refused((status, body), page).await,
            Some(ids) => {
                let told: Vec<_> = body["runs"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|run| run["run_id"].as_str().unwrap())
                    .collect();
                assert_eq!(told, ids, "{line}");
            }
        }
        for by in ["task", "agent", "project", "day"] {
            let (status, body) = room.get(&token, &format!("/v1/runs/summary?by={by}")).await;
            match holds(summary) {
                None => refused((status, body), summary).await,
                Some(ids) => {
                    assert_eq!(body["total"]["runs"], ids.len(), "{line} {by}");
                    let tokens = ids.iter().map(|id| if *id == FAR { 9 } else { 1200 }).sum::<i64>();
                    assert_eq!(
                        body["total"]["input_tokens"]["sum"].as_i64().unwrap_or(0),
                        tokens,
                        "{line} {by}"
                    );
                    let text = body["rows"].to_string();
                    assert!(ids.contains(&FAR) || !text.contains("api"), "{line} {by}: {text}");
                }
            }
        }
        for (id, word) in [(RUN, near), (FAR, far)] {
            let (status, body) = room.get(&token, &format!("/v1/runs/{id}")).await;
            if word == "200" {
                assert_eq!(
                    (status, &body["run_id"], &body["agent_id"]),
                    (200, &json!(id), &json!("acme/builder")),
                    "{line}"
                );
            } else {
                refused((status, body), word).await;
            }
        }
    }
}

#[tokio::test]
async fn a_record_is_read_by_any_spelling_of_its_id_and_no_other_text_is_one() {
    let room = room().await;
    let person = room.key("person", "acme", &[]);
    let (status, one) = room.get(&person, &format!("/v1/runs/{RUN}")).await;
    assert_eq!(status, 200);
    let page = room.get(&person, "/v1/runs").await.1;
    assert_eq!(one, page["runs"][1]);
    assert_eq!(room.get(&person, &format!("/v1/runs/{}", RUN.to_uppercase())).await, (200, one));
    let nothing = room.get(&person, "/v1/nothing").await;
    for absent in ["4f7c2a9e-3b1d-4c8e-9a6f-0d2e5b7c1a41", "nav", "%20", "summary%00", "%FF", "prk_x"] {
        assert_eq!(room.get(&person, &format!("/v1/runs/{absent}")).await, nothing, "{absent}");
    }
}

#[tokio::test]
async fn a_project_that_the_key_may_not_enter_is_like_one_that_is_not_there() {
    let room = room().await;
    let person = room.key("person", "acme", &["website-v2"]);
    for route in ["/v1/runs?project=", "/v1/runs/summary?by=day&project="] {
        let (status, hidden) = room.get(&person, &format!("{route}api")).await;
        let (_, absent) = room.get(&person, &format!("{route}abc")).await;
        assert_eq!(status, 404);
        assert_eq!(hidden.to_string().replace("api", "abc"), absent.to_string());
        assert!(hidden["detail"].as_str().unwrap().contains("this token's project, website-v2"), "{hidden}");
        let (status, own) = room.get(&person, &format!("{route}website-v2")).await;
        assert_eq!(status, 200, "{own}");
    }
    // Another owner's agent has no records here.
    room.key("client", "globex/builder", &["website-v2"]);
    for agent in ["globex/builder", "acme/absent"] {
        assert_eq!(
            room.get(&person, &format!("/v1/runs?agent={agent}")).await.1,
            json!({"runs": [], "next_cursor": null})
        );
    }
}
