//! The one thread that writes: what waits is committed together, then memory, watchers and callers learn of it.
//!
//! While one batch reaches the disk the next one gathers, so that many callers share the wait for the disk.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::oneshot;

use super::events;
use super::file::{Lock, words};
use super::keyring::Keyring;
use super::place::Ground;
use super::pulses::{self, Event, Rooms};
use super::runs::{self, Untaken};
use super::trouble::Trouble;
use super::{CallError, Options, keys};
use crate::rules::{self, Caller, Standing};
use crate::server::metrics::Metrics;
use crate::wire::id::{AgentId, Slug};
use crate::wire::pulse::{Pulse, PulseReport};
use crate::wire::run::{Run, RunReport};

/// Most calls of one transaction: bounds how long the first of them waits for the last.
const BATCH_MAX: usize = 512;

/// Where the answer to a call goes. Nobody waits any more where the caller has gone.
pub(super) type Answer<T> = oneshot::Sender<Result<T, CallError>>;

/// What the thread is asked for.
pub(super) enum Job {
    Pulse {
        caller: Arc<Caller>,
        report: Box<PulseReport>,
        answer: Answer<Option<Arc<Pulse>>>,
    },
    Run {
        caller: Arc<Caller>,
        report: RunReport,
        answer: Answer<Run>,
    },
    /// What `PRAGMA synchronous` says on the connection that writes.
    Synchronous(Answer<i64>),
    /// Ends the thread after everything that was asked before.
    Close(oneshot::Sender<()>),
    /// Ends the thread as a fault of ours would.
    #[cfg(test)]
    Panic,
}

/// What became of one call of a batch, before anybody is told.
enum Done {
    Pulse(Option<Arc<Pulse>>, Option<Event>),
    Run(Run, Option<(Slug, super::RunSent)>),
}

/// Why a call of a batch came to nothing.
enum Undone {
    Call(CallError),
    Sql(rusqlite::Error),
}

impl From<rusqlite::Error> for Undone {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<Untaken> for Undone {
    fn from(untaken: Untaken) -> Self {
        match untaken {
            Untaken::Refused(refusal) => Self::Call(refusal.into()),
            Untaken::Sql(error) => Self::Sql(error),
        }
    }
}

/// The thread's belongings.
pub(super) struct Writer {
    pub(super) connection: Connection,
    pub(super) rooms: Arc<Rooms>,
    pub(super) keyring: Arc<Keyring>,
    pub(super) options: Options,
    /// What `PRAGMA data_version` said on this connection before the keys were last read.
    pub(super) seen: i64,
    pub(super) trouble: Arc<Trouble>,
    pub(super) metrics: Arc<Metrics>,
    /// The files that all this rests on.
    pub(super) ground: Ground,
    /// Given back when the thread ends, after the connection.
    pub(super) lock: Lock,
}

impl Writer {
    /// Works until it is closed or nobody can ask any more.
    pub(super) fn work(mut self, jobs: &Receiver<Job>) {
        let mut next_look = Instant::now() + self.options.keys_reread;
        let mut closed = None;
        while closed.is_none() {
            let mut calls = Vec::new();
            match jobs.recv_timeout(next_look.saturating_duration_since(Instant::now())) {
                Ok(job) => {
                    closed = self.sort(job, &mut calls);
                    while closed.is_none() && calls.len() < BATCH_MAX {
                        let Ok(job) = jobs.try_recv() else { break };
                        closed = self.sort(job, &mut calls);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if !calls.is_empty() {
                self.serve(calls);
            }
            if Instant::now() >= next_look {
                self.look_around();
                next_look = Instant::now() + self.options.keys_reread.max(Duration::from_millis(1));
            }
        }
        self.tidy();
        drop(self.connection);
        drop(self.lock);
        if let Some(closed) = closed {
            let _ = closed.send(());
        }
    }

    /// The log goes into the file, so that a closed database is one file: also where the file was moved away, or its
    /// log would be taken for that of whatever comes in its place.
    fn tidy(&mut self) {
        if self.ground.stands() {
            self.note_uses(Duration::ZERO);
        }
        if !(self.ground.has_its_log() && self.ground.has_its_database()) {
            // At its end SQLite would remove the log by its name, and there it may be another database's.
            let _ = self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        }
        if !self.ground.has_its_log() {
            return;
        }
        if let Err(error) = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())) {
            tracing::warn!(%error, "the database's log stays beside it until the next start");
        }
    }

    /// Puts calls aside for the batch and does the rest at once; the end of the thread is handed back.
    fn sort(&self, job: Job, calls: &mut Vec<Job>) -> Option<oneshot::Sender<()>> {
        match job {
            Job::Close(closed) => return Some(closed),
            Job::Synchronous(answer) => {
                let read = self.connection.pragma_query_value(None, "synchronous", |row| row.get(0));
                let _ = answer.send(read.map_err(|e| CallError::Storage(words(&e))));
            }
            #[cfg(test)]
            Job::Panic => panic!("asked to by a test"),
            call @ (Job::Pulse { .. } | Job::Run { .. }) => calls.push(call),
        }
        None
    }

    /// Commits a batch, then memory changes, watchers are told and callers are answered, in this order. If
    /// the commit fails, nothing of it has happened, and every caller hears so.
    fn serve(&mut self, calls: Vec<Job>) {
        let done = match self.commit(&calls) {
            Ok(done) => done,
            Err(undone) => {
                let error = match undone {
                    Undone::Call(error) => error,
                    Undone::Sql(error) => {
                        self.trouble.refuse(&error, "the database did not take a batch");
                        CallError::Storage(words(&error))
                    }
                };
                calls.iter().map(|_| Err(Undone::Call(error.clone()))).collect()
            }
        };
        let (mut stored, mut failed) = (false, false);
        let mut answers: Vec<Box<dyn FnOnce()>> = Vec::with_capacity(calls.len());
        for (call, done) in calls.into_iter().zip(done) {
            let done = done.map_err(|undone| match undone {
                Undone::Call(error) => error,
                Undone::Sql(error) => {
                    failed = true;
                    self.trouble.refuse(&error, "the database did not take a call");
                    CallError::Storage(words(&error))
                }
            });
            match (call, done) {
                (Job::Pulse { answer, .. }, Ok(Done::Pulse(pulse, event))) => {
                    if let Some(event) = event {
                        stored = true;
                        self.metrics.events.add(1);
                        self.rooms.room(&event.project).apply(event);
                    }
                    answers.push(Box::new(move || drop(answer.send(Ok(pulse)))));
                }
                (Job::Run { answer, .. }, Ok(Done::Run(run, tell))) => {
                    if let Some((project, sent)) = tell {
                        stored = true;
                        self.rooms.room(&project).tell_run(sent);
                    }
                    answers.push(Box::new(move || drop(answer.send(Ok(run)))));
                }
                (Job::Pulse { answer, .. }, Err(e)) => {
                    answers.push(Box::new(move || drop(answer.send(Err(e)))));
                }
                (Job::Run { answer, .. }, Err(e)) => {
                    answers.push(Box::new(move || drop(answer.send(Err(e)))));
                }
                // A call's outcome is of the call's kind.
                _ => {}
            }
        }
        if stored && !failed {
            self.trouble.over();
        }
        for answer in answers {
            answer();
        }
    }

    /// One transaction for all the calls, with a savepoint for each, so that a refused or failed one undoes
    /// nothing of the others.
    fn commit(&mut self, calls: &[Job]) -> Result<Vec<Result<Done, Undone>>, Undone> {
        if !self.ground.stands() {
            return Err(Undone::Call(taken_away()));
        }
        let mut whole = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut batch = Batch { rooms: &self.rooms, options: &self.options, changed: HashMap::new() };
        let mut touched = HashSet::new();
        let mut done = Vec::with_capacity(calls.len());
        for call in calls {
            let outcome = {
                let part = whole.savepoint()?;
                let decided = batch.decide(&part, call, &mut touched);
                // Dropped without this, the savepoint is undone.
                decided.and_then(|done| part.commit().map(|()| done).map_err(Undone::Sql))
            };
            let outcome = match outcome {
                // A full or failing disk can make SQLite give up the whole transaction.
                Err(Undone::Sql(error)) if whole.is_autocommit() => return Err(error.into()),
                other => other,
            };
            if let Ok(Done::Pulse(_, Some(event))) = &outcome {
                batch.changed(event);
            }
            done.push(outcome);
        }
        for project in touched {
            events::prune(&whole, project, self.options.events_kept)?;
        }
        // What is acknowledged must be in a file that the next room opens.
        if !self.ground.stands() {
            return Err(Undone::Call(taken_away()));
        }
        let began = Instant::now();
        whole.commit()?;
        self.metrics.batch(calls.len(), began.elapsed());
        Ok(done)
    }

    /// Sees whether the room's files are still there and whether another process has written (its own writes don't
    /// count), and notes the keys' uses.
    fn look_around(&mut self) {
        if !self.ground.stands() {
            return;
        }
        match data_version(&self.connection) {
            Ok(now) if now != self.seen => match self.keyring.reread() {
                Ok(()) => self.seen = now,
                Err(error) => self.trouble.say(&error, "the keys could not be read anew; trying again"),
            },
            Ok(_) => {}
            Err(error) => self.trouble.say(&error, "the database can't be asked for changes"),
        }
        self.note_uses(self.options.use_noted);
    }

    fn note_uses(&mut self, behind: Duration) {
        let uses = self.keyring.unnoted(behind);
        if uses.is_empty() {
            return;
        }
        match keys::note_uses(&mut self.connection, &uses) {
            Ok(()) => self.keyring.noted(&uses),
            Err(error) => self.trouble.say(&error, "when keys were used could not be noted"),
        }
    }
}

fn taken_away() -> CallError {
    let why = "the room's database was taken away while it was open; nothing was stored, send it again later, and \
               tell whoever runs the room";
    CallError::Storage(why.to_owned())
}

pub(super) fn data_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "data_version", |row| row.get(0))
}

/// What the calls of a transaction see of each other before it is committed.
struct Batch<'a> {
    rooms: &'a Rooms,
    options: &'a Options,
    changed: HashMap<(Slug, AgentId), Standing>,
}

impl Batch<'_> {
    fn changed(&mut self, event: &Event) {
        self.changed.insert((event.project.clone(), event.agent.clone()), event.standing.clone());
    }

    fn decide(&self, part: &Connection, call: &Job, touched: &mut HashSet<i64>) -> Result<Done, Undone> {
        let now = self.options.clock.now();
        match call {
            Job::Pulse { caller, report, .. } => {
                let key = caller.agent.as_ref().map(|agent| (report.project.clone(), agent.clone()));
                let before = key.as_ref().and_then(|key| {
                    self.changed.get(key).cloned().or_else(|| self.rooms.room(&key.0).standing(&key.1))
                });
                let outcome = rules::pulse(caller, before.as_ref(), report, now, self.options.intent_holds)
                    .map_err(|refusal| Undone::Call(refusal.into()))?;
                let pulse = outcome.after.as_ref().map(|after| Arc::clone(&after.pulse));
                let (Some(after), Some(at), Some((_, agent))) = (outcome.after, outcome.event, key) else {
                    return Ok(Done::Pulse(pulse, None));
                };
                let project = row_of(part, &report.project)?;
                touched.insert(project);
                let event = pulses::write(part, (&report.project, project), &agent, after, at)?;
                Ok(Done::Pulse(pulse, Some(event)))
            }
            Job::Run { caller, report, .. } => {
                rules::run(caller, report).map_err(|refusal| Undone::Call(refusal.into()))?;
                let project = row_of(part, &report.project)?;
                let agent = caller.agent.as_ref().ok_or(rusqlite::Error::QueryReturnedNoRows)?;
                let taken = runs::take(part, caller, agent, project, report, now)?;
                Ok(Done::Run(taken.run, taken.tell))
            }
            // Done at once, not in a batch.
            _ => Err(rusqlite::Error::InvalidQuery.into()),
        }
    }
}

fn row_of(connection: &Connection, project: &Slug) -> rusqlite::Result<i64> {
    pulses::project_row(connection, project)?.ok_or(rusqlite::Error::QueryReturnedNoRows)
}
