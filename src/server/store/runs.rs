//! The records of runs: kept once, read only by their owner.

use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use chrono::DateTime;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::Value;

use super::RunSent;
use super::pulses::agent_rows;
use crate::rules::{Caller, Refusal, Scope};
use crate::wire::feed::Frame;
use crate::wire::id::{AgentId, Slug};
use crate::wire::run::{AgentRun, Run, RunPage, RunReport};
use crate::wire::schema::Fault;
use crate::wire::{More, Time};

/// Most records of one page.
pub const PAGE_MAX: u32 = 1000;
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

const COLUMNS: &str = "r.id, o.slug AS owner, a.name, r.run_id, p.slug AS project, r.task, r.input_tokens,
    r.output_tokens, r.turns, r.duration_ms, r.exit_code, r.reported_at";
const TABLES: &str = "FROM runs r JOIN owners o ON o.id = r.owner JOIN agents a ON a.id = r.agent
    JOIN projects p ON p.id = r.project";

fn record(row: &Row<'_>) -> rusqlite::Result<AgentRun> {
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

/// A place in the list: the id of the last record that was given out. The order is that of arrival, so a
/// page stays what it was while newer records come in, also on a clock that was set back.
pub(super) fn place(cursor: &str) -> Result<i64, Refusal> {
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(cursor).ok().and_then(|bytes| bytes.try_into().ok());
    bytes.map(i64::from_be_bytes).filter(|id| *id > 0).ok_or_else(|| {
        let must = "must be the next_cursor of the page before, or be left out for the newest";
        Fault::new("cursor", must, &Value::from(cursor)).into()
    })
}

/// One page of the records that a person may read, newest first, from behind `place` on.
pub(super) fn page(
    connection: &Connection,
    caller: &Caller,
    place: Option<i64>,
    limit: u32,
) -> rusqlite::Result<RunPage> {
    let within = match &caller.scope {
        Scope::All => None,
        Scope::Some(projects) => {
            let slugs: Vec<&str> = projects.iter().map(Slug::as_str).collect();
            Some(Value::from(slugs).to_string())
        }
    };
    let mut select = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} {TABLES} WHERE r.owner = (SELECT id FROM owners WHERE slug = ?1) AND r.id < ?2
         AND (?3 IS NULL OR p.slug IN (SELECT value FROM json_each(?3)))
         ORDER BY r.id DESC LIMIT ?4"
    ))?;
    // One more than asked for tells whether there is a next page.
    let rows = select.query_map(
        params![caller.owner.as_str(), place.unwrap_or(i64::MAX), within, i64::from(limit) + 1],
        |row| Ok((row.get::<_, i64>("id")?, record(row)?)),
    )?;
    let mut found: Vec<(i64, AgentRun)> = rows.collect::<Result<_, _>>()?;
    let more = found.len() > limit as usize;
    found.truncate(limit as usize);
    let last = found.last().filter(|_| more).map(|(id, _)| BASE64_URL_SAFE_NO_PAD.encode(id.to_be_bytes()));
    Ok(RunPage { runs: found.into_iter().map(|(_, run)| run).collect(), next_cursor: last })
}
