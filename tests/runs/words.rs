//! What the routes of records take, and what they say of what they don't.

use serde_json::{Value, json};

use super::common::caller::{run_report, with};
use super::common::room::Room;

#[tokio::test]
async fn a_wrong_query_is_refused_by_name_with_what_is_allowed() {
    let room = Room::open().await;
    let person = room.key("person", "acme", &["website-v2"]);
    let page = [
        ("limit=0", "limit must be a whole number from 1 to 1000"),
        ("limit=1001", "limit must be a whole number from 1 to 1000"),
        ("limit=", "limit must be a whole number"),
        ("limit=3&limit=3", "limit must be given once"),
        (
            "sort=price",
            "sort must be one of reported_at, input_tokens, output_tokens, tokens, turns, duration_ms, exit_code",
        ),
        ("sort=-name", "sort must be one of reported_at"),
        ("sort=", "sort must be one of"),
        ("task=a%20b", "task must be 1 to 64 letters"),
        ("agent=acme", "agent must be OWNER/NAME"),
        ("since=yesterday", "since must be a moment with its zone, like 2026-11-30T14:32:00Z"),
        ("until=2026-11-30", "until must be a moment with its zone"),
        ("cursor=x", "cursor must be the next_cursor of the page before"),
        ("by=task", "takes only project, task, agent, since, until, sort, limit, cursor"),
        ("%1b%5b31m=1", "takes only project"),
        ("a=%ff", "takes only project"),
    ];
    let summary = [
        ("by=week", "by must be one of task, agent, project, day"),
        ("by=day&tz=Mars/Olympus", "tz must be the name of a time zone, like Europe/Berlin or UTC"),
        ("by=day&tz=", "tz must be the name of a time zone"),
        ("tz=UTC", "tz cuts days: leave it out, or ask with by=day"),
        ("limit=100001", "limit must be a whole number from 1 to 100000"),
        ("sort=exit_code", "sort must be one of reported_at, name, runs, failed"),
        ("cursor=x", "takes only by, tz, project"),
        ("by=day&by=day", "by must be given once"),
    ];
    for (route, cases) in [("/v1/runs", &page[..]), ("/v1/runs/summary", &summary[..])] {
        for (query, right) in cases {
            let (status, problem) = room.get(&person, &format!("{route}?{query}")).await;
            let detail = problem["detail"].as_str().unwrap();
            assert!(status == 400 && detail.contains(right), "{route}?{query}: {status} {detail}");
            assert!(!detail.contains(char::is_control), "{query}: {detail:?}");
        }
    }
}

#[tokio::test]
async fn what_the_routes_say() {
    let room = Room::open().await;
    let agent = room.key("client", "acme/builder", &["website-v2"]);
    let person = room.key("person", "acme", &["website-v2"]);
    let empty = room.get(&person, "/v1/runs/summary").await.1;
    assert_eq!(
        (&empty["rows"], &empty["groups"], &empty["total"]["runs"]),
        (&json!([]), &json!(0), &json!(0))
    );
    assert_eq!(empty["total"]["input_tokens"], json!({"sum": null, "known": 0}));
    let id = |n: usize| format!("4f7c2a9e-3b1d-4c8e-9a6f-{n:012}");
    for n in 1..=3 {
        let more = json!({"task_id": format!("t-{n}"), "input_tokens": if n == 2 { Value::Null } else { json!(n) }, "exit_code": n - 1});
        room.run(&agent, with(&run_report(&id(n)), more)).await;
    }
    let told = room.get(&person, "/v1/runs/summary?sort=-input_tokens&limit=2").await.1;
    let rows: Vec<_> =
        told["rows"].as_array().unwrap().iter().map(|row| row["task_id"].as_str().unwrap()).collect();
    assert_eq!((rows, &told["groups"], &told["by"]), (vec!["t-3", "t-1"], &json!(3), &json!("task")));
    assert_eq!(told["total"]["input_tokens"], json!({"sum": 4, "known": 2}));
    assert_eq!(told["total"]["failed"], json!({"sum": 2, "known": 3}));
    assert_eq!(told["rows"][0]["agents"], json!(["acme/builder"]));
    assert!(told.get("tz").is_none());
    let days = room.get(&person, "/v1/runs/summary?by=day&tz=Asia/Kathmandu").await.1;
    assert_eq!((&days["tz"], &days["groups"]), (&json!("Asia/Kathmandu"), &json!(1)));
    assert!(days["rows"][0].get("agents").is_none() && days["rows"][0].get("task_id").is_none(), "{days}");
    let page = room.get(&person, "/v1/runs?task=t-2&sort=tokens&limit=1&cursor=").await.1;
    assert_eq!((&page["runs"][0]["run_id"], &page["next_cursor"]), (&json!(id(2)), &Value::Null));
}
