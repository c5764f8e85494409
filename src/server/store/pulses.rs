//! The rooms in memory: every agent's pulse, the newest events and who listens; and their rows on disk.
//!
//! Memory answers every question but one (what a watcher missed that was away for long). The database is
//! ahead of it at no time that anyone can see: the writer commits, then [`Room::apply`] changes the memory and
//! publishes under one lock, the lock under which a watcher takes its place.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use chrono::DateTime;
use rusqlite::{Connection, OptionalExtension, params};
use tokio::sync::broadcast;

use super::{Options, RunSent, Sent, Start, Subscription};
use crate::rules::Standing;
use crate::wire::Time;
use crate::wire::feed::{FRAME_MAX, Frame, Snapshot};
use crate::wire::id::{AgentId, Slug};
use crate::wire::pulse::Pulse;

/// Bytes of events that a room holds in memory; older ones are read from the database when asked for.
const HELD_BYTES: usize = 4 * FRAME_MAX;
/// What stands round the events of a `recent` frame, generously.
const ROUND_RECENT: usize = 64;

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
    project: Slug,
    epoch: Arc<str>,
    options: Options,
    frames: broadcast::Sender<Sent>,
    runs: broadcast::Sender<RunSent>,
    now: Mutex<Now>,
}

/// The room at one moment.
#[derive(Debug, Default)]
struct Now {
    seq: u64,
    agents: BTreeMap<AgentId, Standing>,
    /// The newest events without a gap, the last of them `seq`.
    held: VecDeque<Arc<str>>,
    held_bytes: usize,
}

/// What a committed `update_pulse` did.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) project: Slug,
    pub(super) agent: AgentId,
    pub(super) standing: Standing,
    pub(super) seq: u64,
    pub(super) text: Arc<str>,
}

/// A watcher's place, or what must be read for it first.
pub(super) enum Place {
    Taken(Box<Subscription>),
    /// The events after `after` up to `subscription.seq` are stored, but not in memory.
    Behind {
        after: u64,
        subscription: Box<Subscription>,
    },
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
            let (frames, _) = broadcast::channel(self.options.frames_held.max(1));
            let (runs, _) = broadcast::channel(self.options.frames_held.max(1));
            let (epoch, options) = (Arc::clone(&self.epoch), self.options.clone());
            Arc::new(Room { project, epoch, options, frames, runs, now: Mutex::new(now) })
        });
        Arc::clone(room)
    }
}

impl Room {
    /// Whose it is.
    pub(super) fn project(&self) -> &Slug {
        &self.project
    }

    /// What the room has of an agent.
    pub(super) fn standing(&self, agent: &AgentId) -> Option<Standing> {
        self.now().agents.get(agent).cloned()
    }

    /// Takes over a committed event and tells the watchers.
    pub(super) fn apply(&self, event: Event) {
        let mut now = self.now();
        now.agents.insert(event.agent, event.standing);
        now.seq = event.seq;
        now.hold(Arc::clone(&event.text), self.options.events_kept);
        // No watcher is no fault.
        let _ = self.frames.send(Sent { seq: event.seq, text: event.text });
    }

    /// Tells the watchers of a committed record; only its owner's may be sent it.
    pub(super) fn tell_run(&self, run: RunSent) {
        let _ = self.runs.send(run);
    }

    /// The room as it is.
    pub(super) fn snapshot(&self) -> Snapshot {
        let (seq, pulses) = {
            let now = self.now();
            (now.seq, now.pulses())
        };
        let server_time = self.options.clock.now();
        Snapshot {
            project: self.project.to_string(),
            epoch: self.epoch.to_string(),
            seq,
            server_time,
            pulses: pulses.iter().map(|pulse| Pulse::clone(&current(pulse, server_time))).collect(),
        }
    }

    /// A place for a watcher that has seen everything up to `after`; `None`: that has seen nothing.
    pub(super) fn subscribe(&self, after: Option<u64>) -> Place {
        let now = self.now();
        let server_time = self.options.clock.now();
        let place = |start| {
            Box::new(Subscription {
                epoch: Arc::clone(&self.epoch),
                seq: now.seq,
                server_time,
                start,
                frames: self.frames.subscribe(),
                runs: self.runs.subscribe(),
            })
        };
        let missed = after.and_then(|after| now.seq.checked_sub(after));
        match (after, missed) {
            (Some(after), Some(missed)) if missed <= self.options.events_kept => {
                match usize::try_from(missed).ok().and_then(|n| now.held.len().checked_sub(n)) {
                    Some(from) => {
                        Place::Taken(place(Start::Missed(now.held.range(from..).cloned().collect())))
                    }
                    None => Place::Behind { after, subscription: place(Start::Missed(Vec::new())) },
                }
            }
            _ => {
                let start = Start::Snapshot { seq: now.seq, pulses: now.pulses(), recent: now.recent() };
                let mut place = place(start);
                drop(now); // what follows touches 10,000 pulses in a large room
                if let Start::Snapshot { pulses, .. } = &mut place.start {
                    for pulse in pulses {
                        *pulse = current(pulse, server_time);
                    }
                }
                Place::Taken(place)
            }
        }
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Now {
    fn hold(&mut self, text: Arc<str>, kept: u64) {
        self.held_bytes += text.len();
        self.held.push_back(text);
        while self.held_bytes > HELD_BYTES || self.held.len() as u64 > kept {
            let Some(oldest) = self.held.pop_front() else { break };
            self.held_bytes -= oldest.len();
        }
    }

    fn pulses(&self) -> Vec<Arc<Pulse>> {
        self.agents.values().map(|standing| Arc::clone(&standing.pulse)).collect()
    }

    /// The newest events that fit into one frame, oldest first.
    fn recent(&self) -> Vec<Arc<str>> {
        let mut left = FRAME_MAX - ROUND_RECENT;
        let fits = |text: &&Arc<str>| match left.checked_sub(text.len() + 1) {
            Some(rest) => {
                left = rest;
                true
            }
            None => false,
        };
        let mut newest: Vec<_> = self.held.iter().rev().take_while(fits).cloned().collect();
        newest.reverse();
        newest
    }
}

/// The pulse without an intent that has run out.
pub(super) fn current(pulse: &Arc<Pulse>, now: Time) -> Arc<Pulse> {
    match &pulse.intent {
        Some(intent) if !intent.holds(now) => Arc::new(Pulse { intent: None, ..Pulse::clone(pulse) }),
        _ => Arc::clone(pulse),
    }
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
    let mut events =
        connection.prepare("SELECT frame FROM events WHERE project = ?1 ORDER BY seq DESC LIMIT ?2")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let Ok(project) = row.get::<_, String>(0)?.parse::<Slug>() else { continue };
        let mut now = Now { seq: row.get(2)?, ..Now::default() };
        let mut newest = events.query(params![row.get::<_, i64>(1)?, options.events_kept])?;
        while let Some(event) = newest.next()? {
            let text: Arc<str> = event.get::<_, String>(0)?.into();
            if now.held_bytes + text.len() > HELD_BYTES {
                break;
            }
            now.held_bytes += text.len();
            now.held.push_front(text);
        }
        rooms.insert(project, now);
    }
    let mut select = connection.prepare(
        "SELECT p.slug, u.pulse, u.failure_task, u.failure_at FROM pulses u JOIN projects p ON p.id = u.project",
    )?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let Ok(project) = row.get::<_, String>(0)?.parse::<Slug>() else { continue };
        let pulse = read_pulse(&row.get::<_, String>(1)?)?;
        let at: Option<i64> = row.get(3)?;
        let standing = Standing {
            failure_task: row.get(2)?,
            failure_at: at.and_then(DateTime::from_timestamp_millis),
            pulse: Arc::new(pulse),
        };
        let agents = &mut rooms.entry(project).or_default().agents;
        agents.insert(standing.pulse.agent_id.clone(), standing);
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
    let pulse = serde_json::to_string(&standing.pulse).map_err(to_sql)?;
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
    Ok(Event { project: project.clone(), agent: agent.clone(), standing, seq, text })
}

/// Forgets the events of a project that are older than the newest `kept`.
pub(super) fn prune(connection: &Connection, project: i64, kept: u64) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "DELETE FROM events WHERE project = ?1
             AND seq <= (SELECT seq FROM sequences WHERE project = ?1) - ?2",
        )?
        .execute(params![project, kept])?;
    Ok(())
}

/// The events after `after` up to `upto`, oldest first; `None` where some of them are pruned.
pub(super) fn missed(
    connection: &Connection,
    project: &Slug,
    after: u64,
    upto: u64,
) -> rusqlite::Result<Option<Vec<Arc<str>>>> {
    let mut select = connection.prepare_cached(
        "SELECT frame FROM events WHERE project = (SELECT id FROM projects WHERE slug = ?1)
         AND seq > ?2 AND seq <= ?3 ORDER BY seq",
    )?;
    let frames = select.query_map(params![project.as_str(), after, upto], |row| row.get::<_, String>(0))?;
    let frames: Vec<Arc<str>> = frames.map(|text| text.map(Arc::from)).collect::<Result<_, _>>()?;
    Ok((frames.len() as u64 == upto - after).then_some(frames))
}
