//! Run records, for the people of the agents' owner. For everyone else they do not exist.

use std::str::FromStr;

use axum::Json;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use chrono::DateTime;
use chrono_tz::Tz;
use serde_json::Value;

use super::Room;
use super::auth::{Person, project};
use super::problem::Problem;
use super::store::CallError;
use crate::rules::Caller;
use crate::wire::Time;
use crate::wire::id::{BadId, is_task};
use crate::wire::query::{By, GROUPS_MAX, Order, PAGE_MAX, RunQuery, Sort};
use crate::wire::run::{AgentRun, RunPage};
use crate::wire::schema::Fault;

/// A query as it came: names and values.
type Pairs = Result<Query<Vec<(String, String)>>, QueryRejection>;

/// The parameters of a page, and those of a summary.
const OF_PAGE: [&str; 8] = ["project", "task", "agent", "since", "until", "sort", "limit", "cursor"];
const OF_SUMMARY: [&str; 9] = ["by", "tz", "project", "task", "agent", "since", "until", "sort", "limit"];

/// `GET /v1/runs`: one page, newest first unless `sort` says otherwise.
pub(super) async fn page(
    State(room): State<Room>,
    Person(caller): Person,
    asked: Pairs,
) -> Result<Json<RunPage>, Problem> {
    let asked = Asked::read(asked, &OF_PAGE)?;
    let query = asked.query(&room, &caller, &Order::OF_RECORDS, PAGE_MAX).await?;
    room.limits.call(caller.key)?; // a page is read from the disk, one after the other
    room.store.runs(&caller, &query).await.map(Json).map_err(problem)
}

/// `GET /v1/runs/summary`: what the records come to, by task unless `by` says otherwise.
pub(super) async fn summary(
    State(room): State<Room>,
    Person(caller): Person,
    asked: Pairs,
) -> Result<Response, Problem> {
    let asked = Asked::read(asked, &OF_SUMMARY)?;
    let by = asked.one("by", By::from_str)?.unwrap_or_default();
    let zone = asked.one("tz", |name| Tz::from_str(name).map_err(|_| NOT_A_ZONE))?;
    if zone.is_some() && by != By::Day {
        return Err(bad(&Fault::bare("tz", "cuts days: leave it out, or ask with by=day")));
    }
    let query = asked.query(&room, &caller, &Order::OF_GROUPS, GROUPS_MAX).await?;
    room.limits.call(caller.key)?;
    let zone = zone.unwrap_or(Tz::UTC);
    let summary = room.store.run_summary(&caller, by, zone, &query).await.map_err(problem)?;
    // Of ten thousand tasks it has megabytes, and writing them is not for a thread that others wait for.
    let text = tokio::task::spawn_blocking(move || serde_json::to_vec(&summary)).await;
    let text = text.ok().and_then(Result::ok).ok_or_else(Problem::broken)?;
    Ok(([(header::CONTENT_TYPE, "application/json")], text).into_response())
}

/// `GET /v1/runs/{run_id}`: one record. What is no run's id is the id of no run.
pub(super) async fn one(
    State(room): State<Room>,
    Person(caller): Person,
    run: Result<Path<String>, PathRejection>,
) -> Result<Json<AgentRun>, Problem> {
    let Path(run) = run.map_err(|_| Problem::nothing_here())?;
    let run = run.parse().map_err(|_| Problem::nothing_here())?;
    room.limits.call(caller.key)?;
    let found = room.store.run(&caller, &run).await.map_err(problem)?;
    found.map(Json).ok_or_else(Problem::nothing_here)
}

const NOT_A_ZONE: &str = "must be the name of a time zone, like Europe/Berlin or UTC";

fn bad(fault: &Fault) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, fault.to_string())
}

fn problem(error: CallError) -> Problem {
    match error {
        CallError::Refused(refusal) => Problem::new(StatusCode::BAD_REQUEST, refusal.to_string()),
        CallError::Storage(_) => Problem::broken(),
    }
}

/// A query whose every name is known and comes once.
struct Asked(Vec<(String, String)>);

impl Asked {
    fn read(asked: Pairs, names: &[&str]) -> Result<Self, Problem> {
        let all = || names.join(", ");
        let Query(pairs) =
            asked.map_err(|_| bad(&Fault::bare("The query", format!("can't be read: give {}", all()))))?;
        for (at, (name, _)) in pairs.iter().enumerate() {
            if !names.contains(&name.as_str()) {
                let must = format!("takes only {}", all());
                return Err(bad(&Fault::new("The query", must, &Value::from(name.as_str()))));
            }
            if pairs[..at].iter().any(|(before, _)| before == name) {
                return Err(bad(&Fault::bare(name, "must be given once")));
            }
        }
        Ok(Self(pairs))
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }

    /// A parameter as `read` takes it.
    fn one<T, E: ToString>(
        &self,
        name: &str,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Option<T>, Problem> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let read = read(text).map_err(|e| bad(&Fault::new(name, e.to_string(), &Value::from(text))))?;
        Ok(Some(read))
    }

    async fn query(
        &self,
        room: &Room,
        caller: &Caller,
        orders: &[Order],
        most: u32,
    ) -> Result<RunQuery, Problem> {
        let moment = |text: &str| {
            let must = "must be a moment with its zone, like 2026-11-30T14:32:00Z";
            DateTime::parse_from_rfc3339(text).map(|time| time.to_utc()).map_err(|_| must)
        };
        let task = |text: &str| if is_task(text) { Ok(text.to_owned()) } else { Err(BadId::Task) };
        let limit = |text: &str| match text.parse() {
            Ok(limit) if (1..=most).contains(&limit) => Ok(limit),
            _ => Err(format!("must be a whole number from 1 to {most}")),
        };
        let mut query = RunQuery {
            project: None,
            task: self.one("task", task)?,
            agent: self.one("agent", str::parse)?,
            since: self.one::<Time, _>("since", moment)?,
            until: self.one::<Time, _>("until", moment)?,
            sort: self.one("sort", |text| Sort::parse(text, orders))?.unwrap_or_default(),
            limit: self.one("limit", limit)?,
            cursor: self.text("cursor").filter(|text| !text.is_empty()).map(str::to_owned),
        };
        if let Some(name) = self.text("project") {
            query.project = Some(project(room, caller, name).await?);
        }
        Ok(query)
    }
}
