//! Which records a question means: its filters as rows of the database, within what its caller may see.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension, params};

use super::pulses::{agent_rows, project_row};
use crate::rules::{Caller, Scope};
use crate::wire::Time;
use crate::wire::id::AgentId;
use crate::wire::query::RunQuery;

/// What is asked for. Moments in milliseconds.
#[derive(Debug, Clone)]
pub(super) struct Chosen {
    pub(super) owner: i64,
    /// Those of these projects; `None`: of all.
    pub(super) projects: Option<BTreeSet<i64>>,
    pub(super) agent: Option<i64>,
    pub(super) task: Option<String>,
    /// Then or later.
    pub(super) since: i64,
    /// Before.
    pub(super) until: i64,
}

impl Chosen {
    /// `None`: no record can be meant.
    pub(super) fn of(
        connection: &Connection,
        caller: &Caller,
        query: &RunQuery,
    ) -> rusqlite::Result<Option<Self>> {
        let Some(owner) = owner_row(connection, caller)? else { return Ok(None) };
        let agent = match &query.agent {
            None => None,
            Some(agent) if agent.owner() != caller.owner.as_str() => return Ok(None),
            Some(agent) => match agent_rows(connection, agent).optional()? {
                Some((row, _)) => Some(row),
                None => return Ok(None),
            },
        };
        let projects = match (&query.project, &caller.scope) {
            (Some(project), scope) if !scope.holds(project) => return Ok(None),
            (Some(project), _) => Some(project_row(connection, project)?.into_iter().collect()),
            (None, Scope::All) => None,
            (None, Scope::Some(projects)) => {
                let mut rows = BTreeSet::new();
                for project in projects {
                    rows.extend(project_row(connection, project)?);
                }
                Some(rows)
            }
        };
        Ok(Some(Self {
            owner,
            projects,
            agent,
            task: query.task.clone(),
            since: query.since.map_or(i64::MIN, at_or_after),
            until: query.until.map_or(i64::MAX, at_or_after),
        }))
    }

    /// Whether only some time is meant.
    pub(super) fn is_bounded(&self) -> bool {
        self.since != i64::MIN || self.until != i64::MAX
    }

    /// Whether the project is meant.
    pub(super) fn holds(&self, project: i64) -> bool {
        self.projects.as_ref().is_none_or(|projects| projects.contains(&project))
    }

    /// The index that leads to the records that are meant in the order of time, each project's by themselves unless
    /// all are meant; and the condition that it takes, which names `:project`, `:task` and `:agent`.
    pub(super) fn by_time(&self) -> (&'static str, &'static str) {
        match (&self.task, self.agent, &self.projects) {
            (Some(_), ..) => ("runs_of_task", "task = :task AND project = :project AND :agent IN (agent, 0)"),
            (None, Some(_), _) => {
                ("runs_of_agent", "agent = :agent AND project = :project AND :task IS NULL")
            }
            (None, None, Some(_)) => {
                ("runs_of_project", "project = :project AND :task IS NULL AND :agent = 0")
            }
            (None, None, None) => ("runs_newest", ":project = 0 AND :task IS NULL AND :agent = 0"),
        }
    }

    /// For which `:project` the index of [`Chosen::by_time`] is asked, one after the other.
    pub(super) fn parts(&self, connection: &Connection) -> rusqlite::Result<BTreeSet<i64>> {
        match self.by_time() {
            ("runs_newest", _) => Ok(BTreeSet::from([0])),
            _ => self.projects_with_records(connection),
        }
    }

    /// The projects that are meant, where any of their records are: by the agent, if one is meant.
    pub(super) fn projects_with_records(&self, connection: &Connection) -> rusqlite::Result<BTreeSet<i64>> {
        let mut select = connection.prepare_cached(
            "SELECT DISTINCT project FROM agent_sums WHERE owner = ?1 AND (?2 IS NULL OR agent = ?2)",
        )?;
        let rows = select.query_map(params![self.owner, self.agent], |row| row.get::<_, i64>(0))?;
        let all: BTreeSet<i64> = rows.collect::<Result<_, _>>()?;
        Ok(all.into_iter().filter(|project| self.holds(*project)).collect())
    }
}

/// The first millisecond that is not before `time`. Records have whole ones.
fn at_or_after(time: Time) -> i64 {
    let floor = time.timestamp_millis();
    if time.timestamp_subsec_nanos() % 1_000_000 == 0 { floor } else { floor.saturating_add(1) }
}

fn owner_row(connection: &Connection, caller: &Caller) -> rusqlite::Result<Option<i64>> {
    let mut select = connection.prepare_cached("SELECT id FROM owners WHERE slug = ?1")?;
    select.query_row([caller.owner.as_str()], |row| row.get(0)).optional()
}

/// An owner's agents and the room's projects by their rows.
#[derive(Debug, Default)]
pub(super) struct Names {
    pub(super) agents: BTreeMap<i64, AgentId>,
    pub(super) projects: BTreeMap<i64, String>,
}

impl Names {
    pub(super) fn read(connection: &Connection, caller: &Caller, owner: i64) -> rusqlite::Result<Self> {
        let mut names = Self::default();
        let mut select = connection.prepare_cached("SELECT id, name FROM agents WHERE owner = ?1")?;
        let mut rows = select.query([owner])?;
        while let Some(row) = rows.next()? {
            if let Ok(name) = row.get::<_, String>(1)?.parse() {
                names.agents.insert(row.get(0)?, AgentId::new(&caller.owner, &name));
            }
        }
        let mut select = connection.prepare_cached("SELECT id, slug FROM projects")?;
        let mut rows = select.query([])?;
        while let Some(row) = rows.next()? {
            names.projects.insert(row.get(0)?, row.get(1)?);
        }
        Ok(names)
    }
}
