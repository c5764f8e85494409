//! What records come to: from the sums that are kept with them, and from the records themselves where the question is
//! finer than those.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};

use chrono::{DateTime, NaiveDate, TimeZone};
use chrono_tz::Tz;
use rusqlite::{Connection, Row, named_params, params};

use super::chosen::{Chosen, Names};
use crate::ledger::{Numbers, Part, Tally};
use crate::rules::Caller;
use crate::wire::Time;
use crate::wire::id::AgentId;
use crate::wire::query::{By, Order, RunQuery, Sort};
use crate::wire::sums::{Group, RunSummary};

/// Milliseconds of a quarter of an hour, with which the hours of every zone begin.
const QUARTER: i64 = 15 * 60 * 1000;
/// What stands for all agents, or all projects, where sums of them together are kept.
const ALL: i64 = 0;

/// A sum's columns, as [`tally`] reads them.
const SUMS: &str = "runs, failed_known, failed, input_known, input, output_known, output, turns_known, turns,
    duration_known, duration, failed_tokens_known, failed_tokens, tokens_known, tokens, first_at, last_at";

/// Reads [`SUMS`] from the column `at` on.
fn tally(row: &Row<'_>, at: usize) -> rusqlite::Result<Tally> {
    let part =
        |at: usize| -> rusqlite::Result<Part> { Ok(Part { known: row.get(at)?, sum: row.get(at + 1)? }) };
    Ok(Tally {
        runs: row.get(at)?,
        failed: part(at + 1)?,
        input: part(at + 3)?,
        output: part(at + 5)?,
        turns: part(at + 7)?,
        duration: part(at + 9)?,
        failed_tokens: part(at + 11)?,
        tokens: part(at + 13)?,
        reported: Some((time(row.get(at + 15)?), time(row.get(at + 16)?))),
    })
}

fn time(millis: i64) -> Time {
    DateTime::from_timestamp_millis(millis).unwrap_or_default()
}

/// What a group is of. What it is not of is left empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Key {
    project: i64,
    agent: i64,
    task: String,
    day: Option<NaiveDate>,
}

/// The groups while they are added up.
struct Groups {
    by: By,
    zone: Tz,
    by_key: HashMap<Key, (Tally, BTreeSet<i64>)>,
    /// Groups that nothing is added to.
    whole: Vec<(Key, (Tally, BTreeSet<i64>))>,
}

impl Groups {
    fn none(by: By, zone: Tz) -> Self {
        Self { by, zone, by_key: HashMap::new(), whole: Vec::new() }
    }

    /// Adds what a part of the records comes to: of a project, of an agent, for a task, in a quarter; of which those
    /// matter that are grouped by.
    fn add(&mut self, project: i64, agent: i64, task: &str, quarter: i64, tally: &Tally) {
        let key = match self.by {
            By::Task => Key { project, task: task.to_owned(), ..Key::default() },
            By::Agent => Key { agent, ..Key::default() },
            By::Project => Key { project, ..Key::default() },
            By::Day => Key { day: Some(day(self.zone, quarter)), ..Key::default() },
        };
        let (sum, agents) = self.by_key.entry(key).or_default();
        sum.join(tally);
        if self.by == By::Task && agent != ALL {
            agents.insert(agent);
        }
    }
}

/// The day on which a quarter of an hour is, in a zone.
fn day(zone: Tz, quarter: i64) -> NaiveDate {
    zone.from_utc_datetime(&time(quarter.saturating_mul(QUARTER)).naive_utc()).date_naive()
}

/// What is told to whom no record exists.
pub(super) fn of_nothing(by: By, zone: Tz) -> RunSummary {
    told(Groups::none(by, zone), &Names::default(), &RunQuery::default())
}

/// What the records that are meant come to.
pub(super) fn summary(
    connection: &Connection,
    caller: &Caller,
    by: By,
    zone: Tz,
    query: &RunQuery,
) -> rusqlite::Result<RunSummary> {
    let mut groups = Groups::none(by, zone);
    let mut names = Names::default();
    if let Some(chosen) = Chosen::of(connection, caller, query)? {
        names = Names::read(connection, caller, chosen.owner)?;
        gather(connection, &chosen, &names, &mut groups)?;
    }
    Ok(told(groups, &names, query))
}

fn gather(
    connection: &Connection,
    chosen: &Chosen,
    names: &Names,
    groups: &mut Groups,
) -> rusqlite::Result<()> {
    let projects = chosen.projects_with_records(connection)?;
    // Sums of all agents together will do, unless they are told apart or one is meant.
    let agents = match (chosen.agent, groups.by) {
        (Some(agent), _) => vec![agent],
        (None, By::Agent) => names.agents.keys().copied().collect(),
        (None, _) => vec![ALL],
    };
    let of_time = groups.by == By::Day || chosen.is_bounded();
    match (&chosen.task, of_time) {
        (Some(_), true) => records(connection, chosen, chosen.since, chosen.until, groups),
        (None, true) if groups.by == By::Task => {
            records(connection, chosen, chosen.since, chosen.until, groups)
        }
        (None, true) => {
            let together = chosen.projects.is_none() && groups.by != By::Project;
            let of = if together { BTreeSet::from([ALL]) } else { projects };
            quarters(connection, chosen, &of, &agents, groups)
        }
        (Some(_), false) => tasks(connection, chosen, &projects, &agents, groups),
        (None, false) if groups.by == By::Task => tasks(connection, chosen, &projects, &agents, groups),
        (None, false) => {
            let mut select = connection
                .prepare_cached(&format!("SELECT project, agent, {SUMS} FROM agent_sums WHERE owner = ?1"))?;
            let mut rows = select.query([chosen.owner])?;
            while let Some(row) = rows.next()? {
                let (project, agent) = (row.get(0)?, row.get(1)?);
                if projects.contains(&project) && chosen.agent.is_none_or(|meant| meant == agent) {
                    groups.add(project, agent, "", 0, &tally(row, 2)?);
                }
            }
            Ok(())
        }
    }
}

/// Adds the kept sums of tasks.
fn tasks(
    connection: &Connection,
    chosen: &Chosen,
    projects: &BTreeSet<i64>,
    agents: &[i64],
    groups: &mut Groups,
) -> rusqlite::Result<()> {
    let one = if chosen.task.is_some() { "task = ?4" } else { "?4 IS NULL" };
    let mut select = connection.prepare_cached(&format!(
        "SELECT task, agents, {SUMS} FROM task_sums WHERE owner = ?1 AND project = ?2 AND agent = ?3 AND {one}"
    ))?;
    for project in projects {
        for agent in agents {
            let mut rows = select.query(params![chosen.owner, project, agent, chosen.task])?;
            while let Some(row) = rows.next()? {
                let task = row.get_ref(0)?.as_str()?;
                let tally = tally(row, 2)?;
                if groups.by != By::Task {
                    groups.add(*project, *agent, task, 0, &tally);
                    continue;
                }
                // Each is a task of its own: of one agent, or of all, who are named.
                let agents = match row.get_ref(1)?.as_str() {
                    Ok(all) => all.split_ascii_whitespace().filter_map(|row| row.parse().ok()).collect(),
                    Err(_) => BTreeSet::from([*agent]),
                };
                let key = Key { project: *project, task: task.to_owned(), ..Key::default() };
                groups.whole.push((key, (tally, agents)));
            }
        }
    }
    Ok(())
}

/// Adds the kept sums of the whole quarters that are meant, and the records of what time is left at either end.
fn quarters(
    connection: &Connection,
    chosen: &Chosen,
    of: &BTreeSet<i64>,
    agents: &[i64],
    groups: &mut Groups,
) -> rusqlite::Result<()> {
    let from = chosen.since.div_euclid(QUARTER) + i64::from(chosen.since.rem_euclid(QUARTER) > 0);
    let to = chosen.until.div_euclid(QUARTER);
    // No quarter is outside of what milliseconds can say.
    let (first, last) = (from.saturating_mul(QUARTER), to.saturating_mul(QUARTER));
    if from >= to {
        return records(connection, chosen, chosen.since, chosen.until, groups);
    }
    let mut select = connection.prepare_cached(&format!(
        "SELECT quarter, {SUMS} FROM quarter_sums
         WHERE owner = ?1 AND project = ?2 AND agent = ?3 AND quarter >= ?4 AND quarter < ?5 ORDER BY quarter"
    ))?;
    for project in of {
        for agent in agents {
            let mut rows = select.query(params![chosen.owner, project, agent, from, to])?;
            while let Some(row) = rows.next()? {
                groups.add(*project, *agent, "", row.get(0)?, &tally(row, 1)?);
            }
        }
    }
    if chosen.since != i64::MIN {
        records(connection, chosen, chosen.since, first, groups)?;
    }
    if chosen.until != i64::MAX {
        records(connection, chosen, last, chosen.until, groups)?;
    }
    Ok(())
}

/// Adds the records themselves that were reported from `since` on and before `until`.
fn records(
    connection: &Connection,
    chosen: &Chosen,
    since: i64,
    until: i64,
    groups: &mut Groups,
) -> rusqlite::Result<()> {
    if since >= until {
        return Ok(());
    }
    let (index, by) = chosen.by_time();
    let task = if groups.by == By::Task { "task" } else { "''" };
    let mut select = connection.prepare_cached(&format!(
        "SELECT project, agent, {task}, input_tokens, output_tokens, turns, duration_ms, exit_code, reported_at
         FROM runs INDEXED BY {index}
         WHERE owner = :owner AND {by} AND reported_at BETWEEN :from AND :to"
    ))?;
    for project in chosen.parts(connection)? {
        let mut rows = select.query(named_params! {
            ":owner": chosen.owner, ":task": chosen.task, ":agent": chosen.agent.unwrap_or(ALL),
            ":project": project, ":from": since, ":to": until.saturating_sub(1),
        })?;
        while let Some(row) = rows.next()? {
            let reported_at: i64 = row.get(8)?;
            let numbers = Numbers {
                input: row.get(3)?,
                output: row.get(4)?,
                turns: row.get(5)?,
                duration: row.get(6)?,
                exit: row.get(7)?,
                reported_at: time(reported_at),
            };
            let task = row.get_ref(2)?.as_str()?;
            groups.add(row.get(0)?, row.get(1)?, task, reported_at.div_euclid(QUARTER), &numbers.into());
        }
    }
    Ok(())
}

/// The groups as they are told: in order, as many as were asked for.
fn told(groups: Groups, names: &Names, query: &RunQuery) -> RunSummary {
    let Groups { by, zone, by_key, whole } = groups;
    let mut total = Tally::default();
    let count = by_key.len() + whole.len();
    let of_project = matches!(by, By::Task | By::Project);
    let groups: Vec<Group> = by_key
        .into_iter()
        .chain(whole)
        .map(|(key, (tally, agents))| {
            total.join(&tally);
            let mut agents: Vec<AgentId> =
                agents.iter().filter_map(|agent| names.agents.get(agent).cloned()).collect();
            agents.sort_unstable();
            Group {
                project: names.projects.get(&key.project).filter(|_| of_project).cloned(),
                task_id: Some(key.task).filter(|_| by == By::Task),
                agent_id: names.agents.get(&key.agent).filter(|_| by == By::Agent).cloned(),
                day: key.day.map(|day| day.to_string()),
                agents,
                totals: tally.totals(),
            }
        })
        .collect();
    RunSummary {
        by: by.as_str().to_owned(),
        tz: (by == By::Day).then(|| zone.name().to_owned()),
        rows: in_order(groups, query),
        groups: count as u64,
        total: total.totals(),
    }
}

/// The first groups of an order. They are large, so it is their places that are put in order.
fn in_order(groups: Vec<Group>, query: &RunQuery) -> Vec<Group> {
    let Sort { order, descending } = query.sort;
    let mut places: Vec<(Option<i64>, Option<Time>, usize)> = groups
        .iter()
        .enumerate()
        .map(|(place, group)| (number(order, group), group.totals.last_reported_at, place))
        .collect();
    let way = |ordering: Ordering| if descending { ordering.reverse() } else { ordering };
    places.sort_unstable_by(|(one, reported, a), (other, later, b)| {
        let names = || name(&groups[*a]).cmp(&name(&groups[*b]));
        let by = match (order, one, other) {
            (Order::Name, ..) => way(names()),
            (_, Some(one), Some(other)) => way(one.cmp(other)),
            (_, known, other) => other.is_some().cmp(&known.is_some()),
        };
        by.then_with(|| later.cmp(reported)).then_with(names) // no two are called the same
    });
    places.truncate(query.limit.map_or(usize::MAX, |limit| limit as usize));
    let mut groups: Vec<Option<Group>> = groups.into_iter().map(Some).collect();
    places.into_iter().filter_map(|(_, _, place)| groups[place].take()).collect()
}

/// What a group is called, for its place in the order.
fn name(group: &Group) -> (Option<&str>, Option<&str>, Option<&str>, Option<&str>) {
    let Group { project, task_id, agent_id, day, .. } = group;
    (task_id.as_deref(), project.as_deref(), agent_id.as_ref().map(AgentId::as_str), day.as_deref())
}

fn number(order: Order, group: &Group) -> Option<i64> {
    let totals = &group.totals;
    match order {
        Order::Reported => totals.last_reported_at.map(|time| time.timestamp_millis()),
        Order::Runs => Some(totals.runs),
        Order::Failed => totals.failed.sum,
        Order::Input => totals.input_tokens.sum,
        Order::Output => totals.output_tokens.sum,
        Order::Tokens => totals.tokens.sum,
        Order::Turns => totals.turns.sum,
        Order::Duration => totals.duration_ms.sum,
        Order::FailedTokens => totals.failed_tokens.sum,
        Order::Name | Order::Exit => None,
    }
}
