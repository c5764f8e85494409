//! The Runs against a real room: what is reported appears, and nobody but its owner sees any of it.

use prickle::client::Access;
use prickle::client::http::Http;
use prickle::tui::model::Model;
use prickle::tui::runs::ask::{Answer, Ask, Told, wanted};
use prickle::tui::update;
use serde_json::json;

use super::common::caller::{run_report, with};
use super::common::room::Room;
use super::screen::{draw, press, text, unheard};

/// Asks the room what the screen needs to know, until it needs no more or is not told.
async fn ask(http: &Http, model: &mut Model) {
    while let Some(question) = wanted(model).first().cloned() {
        let told = match &question.ask {
            Ask::Sums { by, tz, query } => {
                http.run_summary(*by, tz, query).await.map(|sums| Told::Sums(Box::new(sums)))
            }
            Ask::Page(query) => http.runs(query).await.map(Told::Page),
        };
        let failed = told.is_err();
        update::runs(model, Answer { question, told: told.map_err(|error| error.to_string()) });
        if failed {
            return;
        }
    }
}

/// A watch with this key, in the Runs.
async fn watch(room: &Room, token: &str) -> (Http, Model) {
    let access = Access::new(room.url.parse().unwrap(), token.parse().unwrap());
    let http = Http::new(&access, std::time::Duration::from_secs(10)).unwrap();
    let mut m = unheard(&chrono::Utc::now().to_rfc3339(), None);
    draw(&mut m, 120, 32);
    update::key(&mut m, http.me().await.unwrap());
    press(&mut m, "3");
    ask(&http, &mut m).await;
    (http, m)
}

#[tokio::test]
async fn what_is_reported_appears_and_only_its_owner_sees_it() {
    let room = Room::open().await;
    let builder = room.key("client", "acme/builder", &["website-v2"]);
    let (http, mut m) = watch(&room, &room.key("person", "acme", &[])).await;
    assert!(text(&mut m, 120, 32).contains("No runs reported in the last 7 days."));
    let run = run_report("4f7c2a9e-3b1d-4c8e-9a6f-0d2e5b7c1a3f");
    room.run(&builder, with(&run, json!({"task_id": "secret-plan", "output_tokens": null}))).await;
    m.runs.stir();
    ask(&http, &mut m).await;
    let screen = text(&mut m, 120, 32);
    let row = screen.lines().find(|line| line.starts_with("▌secret-plan")).unwrap();
    assert!(row.contains("1.2k") && row.contains('—') && row.contains("none"), "{screen}");
    press(&mut m, "\r");
    ask(&http, &mut m).await;
    assert!(text(&mut m, 120, 32).contains("4f7c2a9e"));
    // The same agent, another person, another agent.
    let others =
        [builder, room.key("person", "lumen", &[]), room.key("client", "lumen/fixer", &["website-v2"])];
    for other in others {
        let (http, mut m) = watch(&room, &other).await;
        let screen = text(&mut m, 120, 32);
        assert!(!screen.contains("secret-plan") && !screen.contains("1.2k"), "{screen}");
        // Even a watch that takes itself for the owner's is told nothing by the room.
        m.runs.reader = prickle::tui::runs::Reader::Person;
        m.owner = Some("acme".into());
        m.runs.stir();
        ask(&http, &mut m).await;
        assert!(!text(&mut m, 120, 32).contains("secret-plan"));
    }
}
