//! A room's events: the newest in memory, once for all its watchers, those before them on disk, and a
//! watcher's place among them.
//!
//! A watcher is a number, the last event it was given. It has no queue of its own, so that one that stops
//! reading keeps nothing alive but the few texts it is being sent.

use std::collections::VecDeque;
use std::sync::Arc;

use rusqlite::{Connection, params};
use tokio::sync::watch;

use super::pulses::Room;
use super::{Options, Store};
use crate::wire::feed::FRAME_MAX;
use crate::wire::id::Slug;

/// What stands round the events of a `recent` frame, generously.
const ROUND_RECENT: usize = 64;

/// The newest events without a gap.
#[derive(Debug, Default)]
pub(super) struct Ring {
    /// The number of the newest, also where none is held; 0 before the first.
    pub(super) seq: u64,
    held: VecDeque<Arc<str>>,
    bytes: usize,
}

/// What follows a place in the room.
pub(super) enum Following {
    /// Nothing yet.
    Nothing,
    /// Events, oldest first.
    These(Vec<Arc<str>>),
    /// Events that memory no longer holds, up to this one.
    Older(u64),
}

impl Ring {
    /// Reads a room's newest events.
    pub(super) fn read(
        connection: &Connection,
        project: i64,
        seq: u64,
        options: &Options,
    ) -> rusqlite::Result<Self> {
        let mut ring = Self { seq, ..Self::default() };
        let mut select = connection
            .prepare_cached("SELECT frame FROM events WHERE project = ?1 ORDER BY seq DESC LIMIT ?2")?;
        let mut newest = select.query(params![project, options.events_kept])?;
        while let Some(event) = newest.next()? {
            let text: Arc<str> = event.get::<_, String>(0)?.into();
            if ring.bytes + text.len() > options.held_bytes {
                break;
            }
            ring.bytes += text.len();
            ring.held.push_front(text);
        }
        Ok(ring)
    }

    /// Takes the next event, and lets go of the oldest.
    pub(super) fn push(&mut self, seq: u64, text: Arc<str>, options: &Options) {
        self.seq = seq;
        self.bytes += text.len();
        self.held.push_back(text);
        while self.bytes > options.held_bytes || self.held.len() as u64 > options.events_kept {
            let Some(oldest) = self.held.pop_front() else { break };
            self.bytes -= oldest.len();
        }
    }

    /// What follows on `seen`: texts of at most `most` bytes together, but never less than one.
    pub(super) fn after(&self, seen: u64, most: usize) -> Following {
        let Some(missed) = self.seq.checked_sub(seen).filter(|missed| *missed > 0) else {
            return Following::Nothing;
        };
        let from = usize::try_from(missed).ok().and_then(|missed| self.held.len().checked_sub(missed));
        match from {
            Some(from) => Following::These(page(self.held.range(from..).cloned(), most)),
            None => Following::Older(self.seq),
        }
    }

    /// The newest events that fit into one frame, oldest first.
    pub(super) fn recent(&self) -> Arc<[Arc<str>]> {
        let mut left = FRAME_MAX - ROUND_RECENT;
        let fits = |text: &&Arc<str>| match left.checked_sub(text.len() + 1) {
            Some(rest) => {
                left = rest;
                true
            }
            None => false,
        };
        let count = self.held.iter().rev().take_while(fits).count();
        self.held.range(self.held.len() - count..).cloned().collect()
    }
}

/// The first of the texts, of at most `most` bytes together, but never less than one.
fn page(texts: impl Iterator<Item = Arc<str>>, most: usize) -> Vec<Arc<str>> {
    let mut bytes = 0;
    let mut page = Vec::new();
    for text in texts {
        bytes += text.len();
        if bytes > most && !page.is_empty() {
            break;
        }
        page.push(text);
    }
    page
}

/// A watcher's place among the events of a room.
#[derive(Debug)]
pub struct Events {
    store: Store,
    room: Arc<Room>,
    seen: u64,
    newest: watch::Receiver<u64>,
    /// Still catching up on what happened while the watcher was away, for which the disk is asked. Who has
    /// caught up once must keep up with the memory: a slow watcher is no load for the database.
    away: bool,
}

/// The watcher can't be told all that it missed: only a new picture helps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Behind;

impl Events {
    pub(super) fn new(
        store: Store,
        room: Arc<Room>,
        seen: u64,
        newest: watch::Receiver<u64>,
        away: bool,
    ) -> Self {
        Self { store, room, seen, newest, away }
    }

    /// The last event that was given out, or that the picture contains.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// The next events, oldest first, whole frames as JSON; waits for the first of them. Together they have at
    /// most `most` bytes, but are never less than one. If the wait is given up, nothing has been given out.
    pub async fn next(&mut self, most: usize) -> Result<Vec<Arc<str>>, Behind> {
        loop {
            // Before the look: what happens after it is a change that wakes us.
            self.newest.mark_unchanged();
            let texts = match self.room.after(self.seen, self.away, most) {
                Following::Nothing => {
                    // The room, which we hold, is the sender.
                    let _ = self.newest.changed().await;
                    continue;
                }
                Following::These(texts) => {
                    let behind = self.newest.borrow().saturating_sub(self.seen + texts.len() as u64);
                    self.away &= behind > self.room.options.frames_held as u64;
                    texts
                }
                Following::Older(upto) if self.away => {
                    self.store.stored(&self.room, self.seen, upto, most).await?
                }
                Following::Older(_) => return Err(Behind),
            };
            self.seen += texts.len() as u64;
            return Ok(texts);
        }
    }
}

impl Store {
    /// Events from the disk, as [`Ring::after`] gives them from memory. Pruned meanwhile, or unreadable: then
    /// there is the picture, which is in memory.
    async fn stored(&self, room: &Room, seen: u64, upto: u64, most: usize) -> Result<Vec<Arc<str>>, Behind> {
        let project = room.project.clone();
        let read = self.0.past.ask(move |connection| stored(connection, &project, seen, upto, most)).await;
        read.ok().filter(|texts| !texts.is_empty()).ok_or(Behind)
    }
}

/// The events after `seen` up to `upto` without a gap; none where the first of them is pruned.
fn stored(
    connection: &Connection,
    project: &Slug,
    seen: u64,
    upto: u64,
    most: usize,
) -> rusqlite::Result<Vec<Arc<str>>> {
    let mut select = connection.prepare_cached(
        "SELECT seq, frame FROM events WHERE project = (SELECT id FROM projects WHERE slug = ?1)
         AND seq > ?2 AND seq <= ?3 ORDER BY seq",
    )?;
    let rows = select.query_map(params![project.as_str(), seen, upto], |row| {
        Ok((row.get::<_, u64>(0)?, Arc::from(row.get::<_, String>(1)?)))
    })?;
    let mut failed = None;
    // Read one by one: of what a page has no room for, at most one is read.
    let texts = rows.zip(seen + 1..).map_while(|(row, next)| match row {
        Ok((seq, text)) => (seq == next).then_some(text),
        Err(error) => {
            failed = Some(error);
            None
        }
    });
    let texts = page(texts, most);
    failed.map_or(Ok(texts), Err)
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
