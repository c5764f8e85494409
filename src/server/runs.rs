//! Run records, for the people of the agents' owner. For everyone else they do not exist.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use serde::Deserialize;

use super::Room;
use super::auth::Person;
use super::problem::Problem;
use super::store::{CallError, PAGE_MAX};
use crate::wire::run::RunPage;

/// Records of a page unless the query says otherwise.
const LIMIT_DEFAULT: u32 = 100;

#[derive(Debug, Default, Deserialize)]
pub(super) struct Asked {
    limit: Option<String>,
    cursor: Option<String>,
}

/// `GET /v1/runs?limit=&cursor=`: one page, newest first.
pub(super) async fn page(
    State(room): State<Room>,
    Person(caller): Person,
    asked: Result<Query<Asked>, QueryRejection>,
) -> Result<Json<RunPage>, Problem> {
    let bad = |why: String| Problem::new(StatusCode::BAD_REQUEST, why);
    let Query(asked) =
        asked.map_err(|_| bad("The query can't be read: give limit and cursor once each.".into()))?;
    let limit = asked.limit.map_or(Some(LIMIT_DEFAULT), |text| text.parse().ok());
    let limit = limit
        .filter(|n| (1..=PAGE_MAX).contains(n))
        .ok_or_else(|| bad(format!("limit must be a whole number from 1 to {PAGE_MAX}.")))?;
    room.limits.call(caller.key)?; // a page is read from the disk, one after the other
    let cursor = asked.cursor.as_deref().filter(|cursor| !cursor.is_empty());
    match room.store.runs(&caller, cursor, limit).await {
        Ok(page) => Ok(Json(page)),
        Err(CallError::Refused(refusal)) => Err(bad(refusal.to_string())),
        Err(CallError::Storage(_)) => Err(Problem::broken()),
    }
}
