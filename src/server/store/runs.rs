//! The records of runs: each is kept once.

use std::sync::Arc;

use chrono::DateTime;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::Value;

use super::RunSent;
use super::pulses::agent_rows;
use crate::rules::{Caller, Refusal};
use crate::wire::feed::Frame;
use crate::wire::id::{AgentId, Slug};
use crate::wire::run::{AgentRun, Run, RunReport};
use crate::wire::schema::Fault;
use crate::wire::{More, Time};

/// Who measured: so far only the client that reported.
const SOURCE: &str = "client_reported";

/// A record, and whom to tell of it; nobody if it was there before.
pub(super) struct Taken {
    pub(super) run: Run,
    pub(super) tell: Option<(Slug, RunSent)>,
}

/// Why a report was not taken.
pub(super) enum Untaken {
    Refused(Refusal),
    Sql(rusqlite::Error),
}

impl From<rusqlite::Error> for Untaken {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

/// Keeps a report, or finds that it is kept already.
pub(super) fn take(
    connection: &Connection,
    caller: &Caller,
    agent: &AgentId,
    project: i64,
    report: &RunReport,
    now: Time,
) -> Result<Taken, Untaken> {
    let known = connection
        .prepare_cached(&format!("SELECT {COLUMNS} {TABLES} WHERE r.run_id = ?1"))?
        .query_row([report.run_id.as_str()], record)
        .optional()?;
    let run = Run {
        run_id: report.run_id.to_string(),
        project: report.project.to_string(),
        task_id: report.task_id.clone(),
        input_tokens: report.input_tokens,
        output_tokens: report.output_tokens,
        turns: report.turns,
        duration_ms: report.duration_ms,
        exit_code: report.exit_code,
        source: SOURCE.to_owned(),
        reported_at: now,
        more: More::new(),
    };
    if let Some(known) = known {
        // The same report is the same in all but when it came.
        let same = known.run == Run { reported_at: known.run.reported_at, ..run };
        return match (known.agent_id == *agent, same) {
            (true, true) => Ok(Taken { run: known.run, tell: None }),
            _ => Err(Untaken::Refused(used(caller, agent, &known, report))),
        };
    }
    let (agent_row, owner_row) = agent_rows(connection, agent)?;
    connection
        .prepare_cached(
            "INSERT INTO runs (run_id, owner, agent, project, task, input_tokens, output_tokens, turns,
                duration_ms, exit_code, reported_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        )?
        .execute(params![
            run.run_id,
            owner_row,
            agent_row,
            project,
            run.task_id,
            run.input_tokens,
            run.output_tokens,
            run.turns,
            run.duration_ms,
            run.exit_code,
            now.timestamp_millis()
        ])?;
    let frame = Frame::Run { agent_id: agent.clone(), run: Box::new(run.clone()) };
    let text: Arc<str> = serde_json::to_string(&frame)
        .map_err(|e| rusqlite::Error::ToSqlConversionFailure(Box::new(e)))?
        .into();
    let tell = RunSent { owner: caller.owner.clone(), text };
    Ok(Taken { run, tell: Some((report.project.clone(), tell)) })
}

/// The `run_id` belongs to another report: says with what it differs, but only to its own agent, and only with a
/// key that may enter the project it was reported in.
fn used(caller: &Caller, agent: &AgentId, known: &AgentRun, report: &RunReport) -> Refusal {
    let id = Value::from(report.run_id.as_str());
    let hidden = known.run.project.parse().is_ok_and(|project| !caller.scope.holds(&project));
    if hidden || known.agent_id.owner() != caller.owner.as_str() {
        let must = "can't be used here; send a new UUID for each launch";
        return Fault::new("run_id", must, &id).into();
    }
    if known.agent_id != *agent {
        let must = "was already reported by another agent of yours; send a new UUID for each launch";
        return Fault::new("run_id", must, &id).into();
    }
    let shown = |n: Option<i64>| n.map_or(Value::Null, Value::from);
    let (was, is) = (&known.run, report);
    let pairs = [
        ("project", Value::from(was.project.as_str()), Value::from(is.project.as_str())),
        ("task_id", Value::from(was.task_id.as_str()), Value::from(is.task_id.as_str())),
        ("input_tokens", shown(was.input_tokens), shown(is.input_tokens)),
        ("output_tokens", shown(was.output_tokens), shown(is.output_tokens)),
        ("turns", shown(was.turns), shown(is.turns)),
        ("duration_ms", shown(was.duration_ms), shown(is.duration_ms)),
        ("exit_code", shown(was.exit_code), shown(is.exit_code)),
    ];
    let differ = pairs.iter().filter(|(_, was, is)| was != is);
    let faults: Vec<Fault> = differ
        .map(|(name, was, is)| {
            let must =
                format!("must be {was}, as it was first reported for this run_id: a record never changes");
            Fault::new(*name, must, is)
        })
        .collect();
    faults.into()
}

pub(super) const COLUMNS: &str =
    "o.slug AS owner, a.name, r.run_id, p.slug AS project, r.task, r.input_tokens,
    r.output_tokens, r.turns, r.duration_ms, r.exit_code, r.reported_at";
pub(super) const TABLES: &str = "FROM runs r JOIN owners o ON o.id = r.owner JOIN agents a ON a.id = r.agent
    JOIN projects p ON p.id = r.project";

pub(super) fn record(row: &Row<'_>) -> rusqlite::Result<AgentRun> {
    let odd = |e: crate::wire::id::BadId| {
        rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, Box::new(e))
    };
    let (owner, name): (String, String) = (row.get("owner")?, row.get("name")?);
    let reported_at: i64 = row.get("reported_at")?;
    Ok(AgentRun {
        agent_id: format!("{owner}/{name}").parse().map_err(odd)?,
        run: Run {
            run_id: row.get("run_id")?,
            project: row.get("project")?,
            task_id: row.get("task")?,
            input_tokens: row.get("input_tokens")?,
            output_tokens: row.get("output_tokens")?,
            turns: row.get("turns")?,
            duration_ms: row.get("duration_ms")?,
            exit_code: row.get("exit_code")?,
            source: SOURCE.to_owned(),
            reported_at: DateTime::from_timestamp_millis(reported_at).unwrap_or_default(),
            more: More::new(),
        },
    })
}
