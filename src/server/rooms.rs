//! What a key may see: who it is, its projects, and a project's room as it is now.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json};

use super::Room;
use super::auth::{Signed, project};
use super::problem::Problem;
use crate::rules::Scope;
use crate::wire::feed::Snapshot;

/// `GET /healthz`: whether the room takes calls, as one line.
pub(super) async fn health(State(room): State<Room>) -> Result<&'static str, Response> {
    if room.store.works() {
        return Ok("ok\n");
    }
    let why = "The room takes no calls: it is stopping, or it has broken down and must be restarted.";
    Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, why).plain())
}

/// `GET /v1/me`: the key's kind, owner, agent and projects (null: all), and a woken run's task.
pub(super) async fn me(Signed(caller): Signed) -> Json<Value> {
    let projects = match &caller.scope {
        Scope::All => None,
        Scope::Some(projects) => Some(projects),
    };
    let mut me = json!({
        "kind": caller.kind.as_str(),
        "owner": caller.owner,
        "agent_id": caller.agent,
        "projects": projects,
    });
    if let Some(task) = &caller.task {
        me["task_id"] = json!(task);
    }
    Json(me)
}

/// `GET /v1/projects`: those that exist and that the key may see.
pub(super) async fn projects(State(room): State<Room>, Signed(caller): Signed) -> Json<Value> {
    Json(json!({ "projects": room.store.projects(&caller) }))
}

/// `GET /v1/projects/{project}/pulse`: the whole room.
pub(super) async fn pulse(
    State(room): State<Room>,
    Signed(caller): Signed,
    name: Result<Path<String>, PathRejection>,
) -> Result<Json<Snapshot>, Problem> {
    let name = name.map(|Path(name)| name).unwrap_or_default();
    let project = project(&room, &caller, &name).await?;
    Ok(Json(room.store.snapshot(&project)))
}
