//! Pages of records: which ones stand on a page, and how the next page finds its beginning.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use rusqlite::{Connection, OptionalExtension, named_params, params, params_from_iter};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::chosen::Chosen;
use super::runs::{COLUMNS, TABLES, record};
use crate::rules::{Caller, Refusal};
use crate::wire::query::{Order, RunQuery, Sort};
use crate::wire::run::RunPage;
use crate::wire::schema::Fault;

/// Where a page begins: behind a record, among those that were there at the first page. What is counted does not
/// change by new records, so that pages list each of the old ones once, whatever arrives meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// Which question the page is of: of another it makes no sense.
    question: [u8; 8],
    /// The newest record of the first page's time.
    top: i64,
    /// The last record that was given out.
    last: i64,
}

impl Place {
    fn text(self) -> String {
        let mut bytes = Vec::with_capacity(24);
        bytes.extend(self.question);
        bytes.extend(self.top.to_be_bytes());
        bytes.extend(self.last.to_be_bytes());
        BASE64_URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Reads the cursor of a query, if it is one of it.
    pub(super) fn read(caller: &Caller, query: &RunQuery) -> Result<Option<Self>, Refusal> {
        let Some(text) = &query.cursor else { return Ok(None) };
        let read = || -> Option<Self> {
            let bytes: [u8; 24] = BASE64_URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()?;
            let (question, rest) = bytes.split_first_chunk::<8>()?;
            let (top, rest) = rest.split_first_chunk::<8>()?;
            let last = rest.first_chunk::<8>()?;
            let (top, last) = (i64::from_be_bytes(*top), i64::from_be_bytes(*last));
            let is_place = *question == digest(caller, query) && (1..=top).contains(&last);
            is_place.then_some(Self { question: *question, top, last })
        };
        read().map(Some).ok_or_else(|| no_place(text))
    }
}

fn no_place(cursor: &str) -> Refusal {
    let must = "must be the next_cursor of the page before, asked for with the same filters and sort, or be left \
                out for the first page";
    Fault::new("cursor", must, &Value::from(cursor)).into()
}

/// Tells questions apart: who asks, the filters, the order.
fn digest(caller: &Caller, query: &RunQuery) -> [u8; 8] {
    let bare = RunQuery { limit: None, cursor: None, ..query.clone() };
    let said = serde_json::json!([caller.owner.as_str(), bare.pairs()]).to_string();
    let hash = Sha256::digest(said.as_bytes());
    hash.first_chunk::<8>().copied().unwrap_or_default()
}

/// One page of the records that a person may read. `limit` is checked.
pub(super) fn page(
    connection: &Connection,
    caller: &Caller,
    query: &RunQuery,
    place: Option<Place>,
    limit: usize,
) -> rusqlite::Result<Result<RunPage, Refusal>> {
    let nothing = Ok(Ok(RunPage { runs: Vec::new(), next_cursor: None }));
    let Some(chosen) = Chosen::of(connection, caller, query)? else { return nothing };
    let sort = query.sort;
    let (top, after) = match place {
        None => {
            let top: Option<i64> =
                connection.prepare_cached("SELECT max(id) FROM runs")?.query_row([], |row| row.get(0))?;
            (top.unwrap_or(0), None)
        }
        Some(place) => match after(connection, &chosen, sort, place.last)? {
            Some(after) => (place.top, Some(after)),
            None => return Ok(Err(no_place(query.cursor.as_deref().unwrap_or_default()))),
        },
    };
    // One more than asked for tells whether there is a next page.
    let many = limit + 1;
    let mut ids = if sort.order == Order::Reported {
        by_time(connection, &chosen, sort.descending, top, after, many)?
    } else {
        by_number(connection, &chosen, sort, top, after, many)?
    };
    let more = ids.len() > limit;
    ids.truncate(limit);
    let mut select = connection.prepare_cached(&format!("SELECT {COLUMNS} {TABLES} WHERE r.id = ?1"))?;
    let runs = ids.iter().map(|id| select.query_row([id], record)).collect::<Result<_, _>>()?;
    let last = ids.last().filter(|_| more);
    let next = last.map(|last| Place { question: digest(caller, query), top, last: *last }.text());
    Ok(Ok(RunPage { runs, next_cursor: next }))
}

/// The record behind which a page begins, with all that decides its place in the order.
#[derive(Debug, Clone, Copy)]
struct After {
    id: i64,
    reported_at: i64,
    number: Option<i64>,
}

/// Records never change: what the last one was put in order by is read anew.
fn after(connection: &Connection, chosen: &Chosen, sort: Sort, last: i64) -> rusqlite::Result<Option<After>> {
    let number = number(sort.order);
    let mut select = connection
        .prepare_cached(&format!("SELECT reported_at, {number} FROM runs WHERE id = ?1 AND owner = ?2"))?;
    let read =
        |row: &rusqlite::Row<'_>| Ok(After { id: last, reported_at: row.get(0)?, number: row.get(1)? });
    select.query_row(params![last, chosen.owner], read).optional()
}

/// What records are put in order by.
fn number(order: Order) -> &'static str {
    match order {
        Order::Input => "input_tokens",
        Order::Output => "output_tokens",
        Order::Tokens => "input_tokens + output_tokens",
        Order::Turns => "turns",
        Order::Duration => "duration_ms",
        Order::Exit => "exit_code",
        _ => "NULL", // the rest are orders of groups, and of time
    }
}

/// The first records by time, of one project where the index is by project.
fn in_time(chosen: &Chosen, descending: bool) -> String {
    let (index, by) = chosen.by_time();
    let (way, behind) = if descending { ("DESC", "<") } else { ("ASC", ">") };
    // The + keeps the pair from being taken for the index's range, which is given by :from and :to.
    format!(
        "SELECT reported_at, id FROM runs INDEXED BY {index}
         WHERE owner = :owner AND {by} AND reported_at BETWEEN :from AND :to
         AND id <= :top AND (+reported_at, id) {behind} (:at, :last)
         ORDER BY reported_at {way}, id {way} LIMIT :many"
    )
}

/// The first ids by time. Each index that leads there is in the order of time within a project, so the first of each
/// project's are put together: however little is meant, no others are read.
fn by_time(
    connection: &Connection,
    chosen: &Chosen,
    descending: bool,
    top: i64,
    after: Option<After>,
    many: usize,
) -> rusqlite::Result<Vec<i64>> {
    let mut select = connection.prepare_cached(&in_time(chosen, descending))?;
    let (mut from, mut to) = (chosen.since, chosen.until.saturating_sub(1));
    let (at, last) = match after {
        Some(after) if descending => {
            to = to.min(after.reported_at);
            (after.reported_at, after.id)
        }
        Some(after) => {
            from = from.max(after.reported_at);
            (after.reported_at, after.id)
        }
        None if descending => (i64::MAX, i64::MAX),
        None => (i64::MIN, i64::MIN),
    };
    let parts = chosen.parts(connection)?;
    let mut found: Vec<(i64, i64)> = Vec::new();
    for project in &parts {
        let rows = select.query_map(
            named_params! {
                ":owner": chosen.owner, ":task": chosen.task, ":agent": chosen.agent.unwrap_or(0),
                ":project": project, ":from": from, ":to": to, ":top": top, ":at": at, ":last": last,
                ":many": many,
            },
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        for row in rows {
            found.push(row?);
        }
    }
    if parts.len() > 1 {
        found.sort_unstable();
        if descending {
            found.reverse();
        }
        found.truncate(many);
    }
    Ok(found.into_iter().map(|(_, id)| id).collect())
}

/// A record's place in an order by a number; the first is the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    unknown: bool,
    number: i64,
    /// When it was reported, and its id.
    newest: Reverse<(i64, i64)>,
}

impl Rank {
    fn of(record: After, descending: bool) -> Self {
        let number = record.number.unwrap_or(0);
        Self {
            unknown: record.number.is_none(),
            number: if descending { !number } else { number },
            newest: Reverse((record.reported_at, record.id)),
        }
    }
}

/// The first ids by a number, those of which it is unknown last, and the newest first among equals.
///
/// All that are meant are looked at, from the newest on, in an index that holds the numbers. Once there are as many as
/// are asked for, the database passes over all that is no better than the last of them, which of a million records are
/// all but a few hundred; what is just as good is older and comes behind. That last one gets better with each round.
fn by_number(
    connection: &Connection,
    chosen: &Chosen,
    sort: Sort,
    top: i64,
    after: Option<After>,
    many: usize,
) -> rusqlite::Result<Vec<i64>> {
    let number = number(sort.order);
    let (better, worse) = if sort.descending { (">", "<") } else { ("<", ">") };
    let mut of = String::new();
    if let Some(agent) = chosen.agent {
        of.push_str(&format!(" AND agent = {agent}"));
    }
    if let Some(projects) = &chosen.projects {
        let rows: Vec<String> = projects.iter().map(ToString::to_string).collect();
        of.push_str(&format!(" AND project IN ({})", rows.join(", ")));
    }
    match after {
        Some(After { id, reported_at, number: None }) => {
            of.push_str(&format!(" AND {number} IS NULL AND (reported_at, id) < ({reported_at}, {id})"));
        }
        Some(After { id, reported_at, number: Some(n) }) => of.push_str(&format!(
            " AND ({number} IS NULL OR {number} {worse} {n}
               OR ({number} = {n} AND (reported_at, id) < ({reported_at}, {id})))"
        )),
        None => {}
    }
    let index = if chosen.task.is_some() { "runs_of_task WHERE task = ?1" } else { "runs_newest WHERE true" };
    let mut first: BinaryHeap<Rank> = BinaryHeap::with_capacity(many);
    let (mut at, mut last) = (chosen.until.saturating_sub(1), i64::MAX);
    let mut round = many;
    loop {
        let bound = match first.peek().filter(|_| first.len() >= many) {
            None => String::new(),
            Some(Rank { unknown: true, .. }) => format!(" AND {number} IS NOT NULL"),
            Some(Rank { number: n, .. }) => {
                let n = if sort.descending { !n } else { *n };
                format!(" AND {number} {better} {n}")
            }
        };
        // Numbers of ours stand in the text: each round has other ones. The + keeps the pair from being taken for the
        // index's range.
        let mut select = connection.prepare(&format!(
            "SELECT id, reported_at, {number} FROM runs INDEXED BY {index}{bound} AND owner = {}
             AND reported_at BETWEEN {} AND {at} AND (+reported_at, id) < ({at}, {last}) AND id <= {top}{of}
             ORDER BY reported_at DESC, id DESC LIMIT {round}",
            chosen.owner, chosen.since
        ))?;
        let mut rows = select.query(params_from_iter(&chosen.task))?;
        let mut found = 0;
        while let Some(row) = rows.next()? {
            let record = After { id: row.get(0)?, reported_at: row.get(1)?, number: row.get(2)? };
            (found, at, last) = (found + 1, record.reported_at, record.id);
            let rank = Rank::of(record, sort.descending);
            if first.len() < many {
                first.push(rank);
            } else if let Some(mut worst) = first.peek_mut()
                && rank < *worst
            {
                *worst = rank;
            }
        }
        if found < round {
            break;
        }
        round *= 2;
    }
    Ok(first.into_sorted_vec().into_iter().map(|Rank { newest: Reverse((_, id)), .. }| id).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn case_d18_pages_by_time_are_read_off_an_index() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(include_str!("schema.sql")).unwrap();
        connection.execute_batch(include_str!("schema-2.sql")).unwrap();
        connection.execute_batch(include_str!("schema-3.sql")).unwrap();
        let all = Chosen { owner: 1, projects: None, agent: None, task: None, since: 0, until: 1 };
        let projects = Some(BTreeSet::from([1, 2]));
        let task = Some("nav".to_owned());
        for (chosen, found_by) in [
            (all.clone(), "runs_newest (owner=? AND reported_at>? AND reported_at<?)"),
            (
                Chosen { projects: projects.clone(), ..all.clone() },
                "runs_of_project (owner=? AND project=? AND reported_at>? AND reported_at<?)",
            ),
            (
                Chosen { agent: Some(1), projects, ..all.clone() },
                "runs_of_agent (owner=? AND agent=? AND project=? AND reported_at>? AND reported_at<?)",
            ),
            (
                Chosen { task, agent: Some(1), ..all },
                "runs_of_task (owner=? AND task=? AND project=? AND reported_at>? AND reported_at<?)",
            ),
        ] {
            for descending in [true, false] {
                let explain = format!("EXPLAIN QUERY PLAN {}", in_time(&chosen, descending));
                let mut select = connection.prepare(&explain).unwrap();
                let (mut rows, mut steps) = (select.raw_query(), Vec::new());
                while let Some(row) = rows.next().unwrap() {
                    steps.push(row.get::<_, String>(3).unwrap());
                }
                assert_eq!(steps.len(), 1, "nothing is sorted: {steps:?}");
                assert!(steps[0].ends_with(found_by), "{steps:?}");
            }
        }
    }
}
