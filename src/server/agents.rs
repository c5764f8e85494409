//! How far an owner's agents have come in a room, for its people. For everyone else this does not exist.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use serde::Deserialize;

use super::Room;
use super::auth::{Person, project};
use super::problem::Problem;
use crate::wire::agent::Agents;

#[derive(Debug, Default, Deserialize)]
pub(super) struct Asked {
    project: Option<String>,
}

/// `GET /v1/agents?project=`: the agents of the owner that have a key for the room.
pub(super) async fn agents(
    State(room): State<Room>,
    Person(caller): Person,
    asked: Result<Query<Asked>, QueryRejection>,
) -> Result<Json<Agents>, Problem> {
    let named = asked.ok().and_then(|Query(asked)| asked.project).filter(|name| !name.is_empty());
    let Some(name) = named else {
        let why = "Name one room: /v1/agents?project=NAME.";
        return Err(Problem::new(StatusCode::BAD_REQUEST, why));
    };
    let project = project(&room, &caller, &name).await?;
    Ok(Json(room.store.agents(&caller, &project)))
}
