//! What people ask of the records of their agents' runs.

use chrono_tz::Tz;
use rusqlite::OptionalExtension;
use serde_json::Value;

use super::pages::{self, Place};
use super::runs::{COLUMNS, TABLES, record};
use super::{CallError, Store, sums};
use crate::rules::{self, Caller, Refusal};
use crate::wire::id::RunId;
use crate::wire::query::{By, GROUPS_MAX, PAGE_MAX, RunQuery};
use crate::wire::run::{AgentRun, RunPage};
use crate::wire::schema::Fault;
use crate::wire::sums::RunSummary;

/// Records of a page unless the query says otherwise.
const PAGE: u32 = 100;

impl Store {
    /// One page of the records that the caller may read: none unless it is a person. The query's cursor is the
    /// `next_cursor` of the page before.
    pub async fn runs(&self, caller: &Caller, query: &RunQuery) -> Result<RunPage, CallError> {
        let limit = limit(query, PAGE, PAGE_MAX)?;
        let place = Place::read(caller, query)?;
        if !rules::reads_runs(caller) {
            return Ok(RunPage { runs: Vec::new(), next_cursor: None });
        }
        let (caller, query) = (caller.clone(), query.clone());
        let page = self
            .0
            .records
            .ask(move |connection| pages::page(connection, &caller, &query, place, limit as usize));
        Ok(page.await??)
    }

    /// What the records come to that the caller may read: none unless it is a person. `zone` cuts the days.
    pub async fn run_summary(
        &self,
        caller: &Caller,
        by: By,
        zone: Tz,
        query: &RunQuery,
    ) -> Result<RunSummary, CallError> {
        let limit = limit(query, GROUPS_MAX, GROUPS_MAX)?;
        let (caller, mut query) = (caller.clone(), query.clone());
        query.limit = query.limit.map(|_| limit);
        if !rules::reads_runs(&caller) {
            return Ok(sums::of_nothing(by, zone));
        }
        self.0.records.ask(move |connection| sums::summary(connection, &caller, by, zone, &query)).await
    }

    /// A record, if the caller may read it.
    pub async fn run(&self, caller: &Caller, run: &RunId) -> Result<Option<AgentRun>, CallError> {
        let (caller, id) = (caller.clone(), run.to_string());
        if !rules::reads_runs(&caller) {
            return Ok(None);
        }
        let found = self.0.records.ask(move |connection| {
            let mut select =
                connection.prepare_cached(&format!("SELECT {COLUMNS} {TABLES} WHERE r.run_id = ?1"))?;
            select.query_row([id], record).optional()
        });
        let found = found.await?;
        Ok(found.filter(|found| {
            let project = found.run.project.parse();
            found.agent_id.owner() == caller.owner.as_str()
                && project.is_ok_and(|project| caller.scope.holds(&project))
        }))
    }
}

fn limit(query: &RunQuery, otherwise: u32, most: u32) -> Result<u32, Refusal> {
    let limit = query.limit.unwrap_or(otherwise);
    if (1..=most).contains(&limit) {
        return Ok(limit);
    }
    let must = format!("must be a whole number from 1 to {most}");
    Err(Fault::new("limit", must, &Value::from(limit)).into())
}
