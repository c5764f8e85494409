//! The rooms in memory: every agent's pulse, the newest events and who listens; and their rows on disk.
//!
//! Memory answers every question but one (what a watcher missed that was away for long). The database is
//! ahead of it at no time that anyone can see: the writer commits, then [`Room::apply`] changes the memory and
//! publishes under one lock, the lock under which a watcher takes its place.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use chrono::DateTime;
use rusqlite::{Connection, OptionalExtension, params};
use tokio::sync::{broadcast, watch};

use super::events::{Events, Following, Ring};
use super::{Options, Picture, RunSent, Start, Store, Subscription};
use crate::rules::Standing;
use crate::wire::Time;
use crate::wire::feed::{Frame, Snapshot};
use crate::wire::id::{AgentId, Slug};
use crate::wire::pulse::Pulse;

/// Every room that anyone has asked for.
#[derive(Debug)]
pub(super) struct Rooms {
    epoch: Arc<str>,
    options: Options,
    by_project: RwLock<HashMap<Slug, Arc<Room>>>,
}

/// One project.
#[derive(Debug)]
pub(super) struct Room {
    pub(super) project: Slug,
    epoch: Arc<str>,
    pub(super) options: Options,
    /// The newest event's number: wakes those who wait for more.
    newest: watch::Sender<u64>,
    runs: broadcast::Sender<RunSent>,
    now: Mutex<Now>,
}

/// The room at one moment.
#[derive(Debug, Default)]
struct Now {
    agents: BTreeMap<AgentId, Present>,
    events: Ring,
    /// The last picture that was asked for, for those who ask before anything changes.
    picture: Option<Taken>,
}

/// An agent in the room.
#[derive(Debug)]
struct Present {
    standing: Standing,
    /// The pulse as JSON: written once, for the database and for every picture.
    text: Arc<str>,
    /// The same without the intent, from when that has run out.
    bare: OnceLock<Arc<str>>,
}

/// A picture, and the time in which no intent in it runs out.
#[derive(Debug)]
struct Taken {
    picture: Arc<Picture>,
    from: Time,
    until: Option<Time>,
}

/// What a committed `update_pulse` did.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) project: Slug,
    pub(super) agent: AgentId,
    pub(super) standing: Standing,
    pub(super) seq: u64,
    /// The pulse as JSON.
    pub(super) pulse: Arc<str>,
    /// The whole frame as JSON.
    pub(super) text: Arc<str>,
}

impl Rooms {
    /// Reads all rooms from the database.
    pub(super) fn read(connection: &Connection, epoch: Arc<str>, options: Options) -> rusqlite::Result<Self> {
        let rooms = Self { epoch, options, by_project: RwLock::default() };
        for (project, now) in read_all(connection, &rooms.options)? {
            rooms.insert(project, now);
        }
        Ok(rooms)
    }

    /// The room of a project; an empty one where nothing has happened yet.
    pub(super) fn room(&self, project: &Slug) -> Arc<Room> {
        let known = self.by_project.read().unwrap_or_else(PoisonError::into_inner).get(project).cloned();
        known.unwrap_or_else(|| self.insert(project.clone(), Now::default()))
    }

    /// Every room but this one, in the order of their names.
    pub(super) fn others(&self, project: &Slug) -> Vec<Arc<Room>> {
        let rooms = self.by_project.read().unwrap_or_else(PoisonError::into_inner);
        let mut others: Vec<_> = rooms.values().filter(|room| room.project != *project).cloned().collect();
        others.sort_by(|a, b| a.project.cmp(&b.project));
        others
    }

    fn insert(&self, project: Slug, now: Now) -> Arc<Room> {
        let mut rooms = self.by_project.write().unwrap_or_else(PoisonError::into_inner);
        let room = rooms.entry(project.clone()).or_insert_with(|| {
            let (newest, _) = watch::channel(now.events.seq);
            let (runs, _) = broadcast::channel(self.options.frames_held.max(1));
            let (epoch, options) = (Arc::clone(&self.epoch), self.options.clone());
            Arc::new(Room { project, epoch, options, newest, runs, now: Mutex::new(now) })
        });
        Arc::clone(room)
    }
}

impl Room {
    /// What the room has of an agent.
    pub(super) fn standing(&self, agent: &AgentId) -> Option<Standing> {
        self.now().agents.get(agent).map(|present| present.standing.clone())
    }

    /// Takes over a committed event and tells the watchers.
    pub(super) fn apply(&self, event: Event) {
        let mut now = self.now();
        now.agents.insert(event.agent, Present::new(event.standing, event.pulse));
        now.events.push(event.seq, event.text, &self.options);
        now.picture = None;
        self.newest.send_replace(event.seq);
    }

    /// Tells the watchers of a committed record; only its owner's may be sent it.
    pub(super) fn tell_run(&self, run: RunSent) {
        let _ = self.runs.send(run); // no watcher is no fault
    }

    /// The room as it is.
    pub(super) fn snapshot(&self) -> Snapshot {
        let (seq, pulses) = {
            let now = self.now();
            let pulses: Vec<_> = now.agents.values().map(|p| Arc::clone(&p.standing.pulse)).collect();
            (now.events.seq, pulses)
        };
        let server_time = self.options.clock.now();
        Snapshot {
            project: self.project.to_string(),
            epoch: self.epoch.to_string(),
            seq,
            server_time,
            pulses: pulses.iter().map(|pulse| current(pulse, server_time)).collect(),
        }
    }

    /// A place for a watcher that has seen everything up to `after`; `None`: that has seen nothing.
    pub(super) fn subscribe(self: Arc<Self>, store: Store, after: Option<u64>) -> Subscription {
        let mut now = self.now();
        let server_time = self.options.clock.now();
        let seq = now.events.seq;
        let after =
            after.filter(|after| seq.checked_sub(*after).is_some_and(|n| n <= self.options.events_kept));
        let start = match after {
            Some(_) => Start::Resumed,
            None => Start::Snapshot(now.picture(server_time)),
        };
        let (newest, runs) = (self.newest.subscribe(), self.runs.subscribe());
        drop(now);
        let epoch = Arc::clone(&self.epoch);
        let events = Events::new(store, self, after.unwrap_or(seq), newest, after.is_some());
        Subscription { epoch, seq, server_time, start, events, runs }
    }

    /// What follows on `seen` in memory. Who was `away` may be further behind than others.
    pub(super) fn after(&self, seen: u64, away: bool, most: usize) -> Following {
        let now = self.now();
        match now.events.seq.checked_sub(seen) {
            Some(missed) if !away && missed > self.options.frames_held as u64 => {
                Following::Older(now.events.seq)
            }
            _ => now.events.after(seen, most),
        }
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Now {
    /// The room as every watcher that comes now sees it: one list for all of them.
    fn picture(&mut self, now: Time) -> Arc<Picture> {
        let taken = self
            .picture
            .take()
            .filter(|taken| taken.from <= now && taken.until.is_none_or(|until| now < until));
        let taken = taken.unwrap_or_else(|| {
            let intents = self.agents.values().filter_map(|present| present.standing.pulse.intent.as_ref());
            let until = intents.filter(|intent| intent.holds(now)).map(|intent| intent.expires_at).min();
            let pulses = self.agents.values().map(|present| present.shown(now)).collect();
            let picture = Picture { seq: self.events.seq, pulses, recent: self.events.recent() };
            Taken { picture: Arc::new(picture), from: now, until }
        });
        Arc::clone(&self.picture.insert(taken).picture)
    }
}

impl Present {
    fn new(standing: Standing, text: Arc<str>) -> Self {
        Self { standing, text, bare: OnceLock::new() }
    }

    /// The pulse as a picture shows it.
    fn shown(&self, now: Time) -> Arc<str> {
        let pulse = &self.standing.pulse;
        if pulse.intent.as_ref().is_none_or(|intent| intent.holds(now)) {
            return Arc::clone(&self.text);
        }
        let bare = || {
            let text = serde_json::to_string(&current(pulse, now));
            text.map_or_else(|_| Arc::clone(&self.text), Arc::from)
        };
        Arc::clone(self.bare.get_or_init(bare))
    }
}

/// The pulse without an intent that has run out.
pub(super) fn current(pulse: &Pulse, now: Time) -> Pulse {
    let intent = pulse.intent.clone().filter(|intent| intent.holds(now));
    Pulse { intent, ..pulse.clone() }
}

/// Text that this program wrote, read back.
fn read_pulse(text: &str) -> rusqlite::Result<Pulse> {
    let kind = rusqlite::types::Type::Text;
    serde_json::from_str(text).map_err(|e| rusqlite::Error::FromSqlConversionFailure(0, kind, Box::new(e)))
}

fn read_all(connection: &Connection, options: &Options) -> rusqlite::Result<HashMap<Slug, Now>> {
    let mut rooms: HashMap<Slug, Now> = HashMap::new();
    let mut select = connection
        .prepare("SELECT p.slug, p.id, s.seq FROM sequences s JOIN projects p ON p.id = s.project")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let Ok(project) = row.get::<_, String>(0)?.parse::<Slug>() else { continue };
        let events = Ring::read(connection, row.get(1)?, row.get(2)?, options)?;
        rooms.insert(project, Now { events, ..Now::default() });
    }
    let mut select = connection.prepare(
        "SELECT p.slug, u.pulse, u.failure_task, u.failure_at FROM pulses u JOIN projects p ON p.id = u.project",
    )?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let Ok(project) = row.get::<_, String>(0)?.parse::<Slug>() else { continue };
        let text: String = row.get(1)?;
        let pulse = read_pulse(&text)?;
        let at: Option<i64> = row.get(3)?;
        let standing = Standing {
            failure_task: row.get(2)?,
            failure_at: at.and_then(DateTime::from_timestamp_millis),
            pulse: Arc::new(pulse),
        };
        let agents = &mut rooms.entry(project).or_default().agents;
        agents.insert(standing.pulse.agent_id.clone(), Present::new(standing, text.into()));
    }
    Ok(rooms)
}

/// A project's row; `None` where there is none.
pub(super) fn project_row(connection: &Connection, project: &Slug) -> rusqlite::Result<Option<i64>> {
    let mut select = connection.prepare_cached("SELECT id FROM projects WHERE slug = ?1")?;
    select.query_row([project.as_str()], |row| row.get(0)).optional()
}

/// An agent's row and its owner's.
pub(super) fn agent_rows(connection: &Connection, agent: &AgentId) -> rusqlite::Result<(i64, i64)> {
    let mut select = connection.prepare_cached(
        "SELECT a.id, o.id FROM agents a JOIN owners o ON o.id = a.owner WHERE o.slug = ?1 AND a.name = ?2",
    )?;
    select.query_row([agent.owner(), agent.name()], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Writes an agent's new standing and the event it makes, with the project's next number.
pub(super) fn write(
    connection: &Connection,
    project: (&Slug, i64),
    agent: &AgentId,
    standing: Standing,
    at: Time,
) -> rusqlite::Result<Event> {
    let (project, row) = project;
    let (agent_row, _) = agent_rows(connection, agent)?;
    let seq: u64 = connection
        .prepare_cached(
            "INSERT INTO sequences (project, seq) VALUES (?1, 1)
             ON CONFLICT (project) DO UPDATE SET seq = seq + 1 RETURNING seq",
        )?
        .query_row([row], |row| row.get(0))?;
    let to_sql = |e: serde_json::Error| rusqlite::Error::ToSqlConversionFailure(Box::new(e));
    let pulse: Arc<str> = serde_json::to_string(&standing.pulse).map_err(to_sql)?.into();
    let frame = Frame::Pulse { seq, at, pulse: Box::new(Pulse::clone(&standing.pulse)) };
    let text: Arc<str> = serde_json::to_string(&frame).map_err(to_sql)?.into();
    connection
        .prepare_cached("INSERT INTO events (project, seq, frame) VALUES (?1, ?2, ?3)")?
        .execute(params![row, seq, text])?;
    connection
        .prepare_cached(
            "INSERT INTO pulses (project, agent, pulse, failure_task, failure_at) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (project, agent) DO UPDATE SET pulse = excluded.pulse,
                failure_task = excluded.failure_task, failure_at = excluded.failure_at",
        )?
        .execute(params![
            row,
            agent_row,
            pulse,
            standing.failure_task,
            standing.failure_at.map(|at| at.timestamp_millis())
        ])?;
    Ok(Event { project: project.clone(), agent: agent.clone(), standing, seq, pulse, text })
}
