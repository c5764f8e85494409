//! All that the room keeps: one type with a method per question, and the only place with SQL.

mod events;
mod file;
mod keyring;
pub mod keys;
mod pulses;
mod runs;
mod writer;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::{broadcast, oneshot, watch};

pub use self::events::{Behind, Events};
use self::file::{Database, words};
use self::keyring::Keyring;
use self::pulses::Rooms;
pub use self::runs::PAGE_MAX;
use self::writer::{Answer, Job, Writer};
use super::clock::Clock;
use crate::rules::{self, Caller, Refusal};
use crate::wire::Time;
use crate::wire::feed::{FRAME_MAX, Snapshot};
use crate::wire::id::Slug;
use crate::wire::pulse::{Pulse, PulseReport};
use crate::wire::run::{Run, RunPage, RunReport};
use crate::wire::schema::Fault;

/// What can be set on a store. Tests shrink the times.
#[derive(Debug, Clone)]
pub struct Options {
    /// What the time is.
    pub clock: Clock,
    /// How long an intent holds after its report.
    pub intent_holds: Duration,
    /// Events kept per project, for history and for watchers that come back.
    pub events_kept: u64,
    /// How often the room looks whether another process has changed the keys.
    pub keys_reread: Duration,
    /// A key's `last_used_at` is written at most this often.
    pub use_noted: Duration,
    /// Events, or records, that a watcher may be behind before it needs a new picture.
    pub frames_held: usize,
    /// Bytes of events that each room keeps in memory; who is further behind needs a new picture, and who was
    /// away is told from the disk.
    pub held_bytes: usize,
    /// Largest database in bytes; calls beyond it are refused as on a full disk. `None`: the disk decides.
    pub largest: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            clock: Clock::default(),
            intent_holds: Duration::from_mins(30),
            events_kept: 1000,
            keys_reread: Duration::from_secs(1),
            use_noted: Duration::from_mins(1),
            frames_held: 1024,
            held_bytes: 16 * FRAME_MAX,
            largest: None,
        }
    }
}

/// Why a call to the store was not done. `Display` is for whoever called.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The call is at fault; the text names all its faults.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// The room is at fault; nothing was stored, and the same call may succeed later.
    #[error("{0}")]
    Storage(String),
}

/// Why a database can't be used. `Display`: path, cause and remedy, in one sentence.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct OpenError(String);

/// A run's record, as it goes to the watchers of its owner alone.
#[derive(Debug, Clone)]
pub struct RunSent {
    /// Whose eyes it is for.
    pub owner: Slug,
    /// A whole run frame as JSON.
    pub text: Arc<str>,
}

/// Where a watcher begins.
#[derive(Debug)]
pub enum Start {
    /// Where it left off: what it missed are the first of [`Subscription::events`].
    Resumed,
    /// The room as it is.
    Snapshot(Arc<Picture>),
}

/// The room at one moment, for all watchers that come before the next.
#[derive(Debug)]
pub struct Picture {
    /// The last event that the picture contains.
    pub seq: u64,
    /// Every agent's pulse as JSON, in the order of their ids, without intents that have run out.
    pub pulses: Arc<[Arc<str>]>,
    /// The newest events, oldest first, whole frames as JSON: as many as fit into one `recent` frame.
    pub recent: Arc<[Arc<str>]>,
}

/// A watcher's place in a room: made under the lock that the publisher takes, so nothing is between
/// `start` and the first of `events`.
#[derive(Debug)]
pub struct Subscription {
    /// Which database the numbers belong to.
    pub epoch: Arc<str>,
    /// The room's newest event.
    pub seq: u64,
    /// The room's clock.
    pub server_time: Time,
    /// What to send first.
    pub start: Start,
    /// Everything after the picture, or after where the watcher left off.
    pub events: Events,
    /// Records of runs from now on, of all owners: send on only the watcher's own, and only to a person.
    pub runs: broadcast::Receiver<RunSent>,
}

/// The room's memory and its database. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Store(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    epoch: Arc<str>,
    options: Options,
    rooms: Arc<Rooms>,
    keyring: Arc<Keyring>,
    /// For what memory does not hold: pages of run records and old events. `None` once closed.
    reader: Arc<Mutex<Option<Connection>>>,
    /// Those who wait for the reader wait here, in order, and not on a thread each.
    turn: tokio::sync::Mutex<()>,
    jobs: mpsc::Sender<Job>,
}

impl Store {
    /// Opens the database at `path`, or makes it, and locks it against a second room.
    pub fn open(path: &Path, options: Options) -> Result<Self, OpenError> {
        let database = Database::prepare(path)?;
        let lock = database.lock()?;
        let connection = database.open_whole()?;
        let wrong = |e: rusqlite::Error| database.explained(&e);
        if let Some(largest) = options.largest {
            limit(&connection, largest).map_err(wrong)?;
        }
        let epoch: Arc<str> = connection
            .query_row("SELECT epoch FROM room", [], |row| row.get::<_, String>(0))
            .map_err(wrong)?
            .into();
        // Before the keys are read: one that is revoked from here on is seen as a change.
        let seen = writer::data_version(&connection).map_err(wrong)?;
        let rooms = Rooms::read(&connection, Arc::clone(&epoch), options.clone()).map_err(wrong)?;
        let keyring = Keyring::read(database.open_to_read()?, options.clock.clone()).map_err(wrong)?;
        let (rooms, keyring) = (Arc::new(rooms), Arc::new(keyring));
        let reader = Arc::new(Mutex::new(Some(database.open_to_read()?)));
        let (jobs, receiver) = mpsc::channel();
        let writer = Writer {
            connection,
            rooms: Arc::clone(&rooms),
            keyring: Arc::clone(&keyring),
            options: options.clone(),
            seen,
            lock,
        };
        std::thread::Builder::new()
            .name("room-writer".to_owned())
            .spawn(move || writer.work(&receiver))
            .map_err(|e| OpenError(format!("the room's writing thread can't be started: {e}")))?;
        Ok(Self(Arc::new(Inner {
            epoch,
            options,
            rooms,
            keyring,
            reader,
            turn: tokio::sync::Mutex::default(),
            jobs,
        })))
    }

    /// Which database this is: random, made with it.
    pub fn epoch(&self) -> &Arc<str> {
        &self.0.epoch
    }

    /// The room's clock.
    pub fn clock(&self) -> &Clock {
        &self.0.options.clock
    }

    /// Whose token this is; `None` for an unknown or revoked one. An unknown one is looked up in the
    /// database first, so that a new key works at once.
    pub fn authenticate(&self, token: &str) -> Option<Arc<Caller>> {
        self.0.keyring.authenticate(token)
    }

    /// Whether the key is still good.
    pub fn alive(&self, key: i64) -> bool {
        self.0.keyring.alive(key)
    }

    /// Changes whenever keys were read anew: time to ask [`Store::alive`] again.
    pub fn revoked(&self) -> watch::Receiver<u64> {
        self.0.keyring.revoked()
    }

    /// The projects that exist and that the caller may enter, in order.
    pub fn projects(&self, caller: &Caller) -> Vec<Slug> {
        self.0.keyring.projects(caller)
    }

    /// Whether the project exists and the caller may enter it.
    pub fn sees(&self, caller: &Caller, project: &Slug) -> bool {
        self.0.keyring.sees(caller, project)
    }

    /// What to answer where [`Store::sees`] says no, or where the text is no slug at all.
    pub fn no_such_project(&self, caller: &Caller, project: &str) -> Refusal {
        rules::no_such_project(project, &self.projects(caller))
    }

    /// Takes an agent's report; returns its pulse, or `None` where it has none. Checks everything but the
    /// schema. Answers after the event is durable.
    pub async fn update_pulse(
        &self,
        caller: Arc<Caller>,
        report: PulseReport,
    ) -> Result<Option<Arc<Pulse>>, CallError> {
        self.enter(&caller, &report.project)?;
        self.ask(|answer| Job::Pulse { caller, report: Box::new(report), answer }).await
    }

    /// Takes a runner's report of a run. Answers after the record is durable.
    pub async fn report_run(&self, caller: Arc<Caller>, report: RunReport) -> Result<Run, CallError> {
        self.enter(&caller, &report.project)?;
        self.ask(|answer| Job::Run { caller, report, answer }).await
    }

    /// The records that the caller may read, newest first: none unless it is a person. `limit` is 1 to
    /// [`PAGE_MAX`].
    pub async fn runs(
        &self,
        caller: &Caller,
        cursor: Option<&str>,
        limit: u32,
    ) -> Result<RunPage, CallError> {
        let place = cursor.map(runs::place).transpose()?;
        if !(1..=PAGE_MAX).contains(&limit) {
            let must = format!("must be a number from 1 to {PAGE_MAX}");
            return Err(Refusal::from(Fault::new("limit", must, &limit.into())).into());
        }
        if !rules::reads_runs(caller) {
            return Ok(RunPage { runs: Vec::new(), next_cursor: None });
        }
        let caller = caller.clone();
        self.read(move |connection| runs::page(connection, &caller, place, limit)).await
    }

    /// The room as it is.
    pub fn snapshot(&self, project: &Slug) -> Snapshot {
        self.0.rooms.room(project).snapshot()
    }

    /// A watcher's place in the room: where it left off after `after` (epoch and seq), or the whole picture
    /// where `after` is of another database, above the room's number, or pruned.
    pub fn subscribe(&self, project: &Slug, after: Option<(&str, u64)>) -> Subscription {
        let after = after.filter(|(epoch, _)| *epoch == &*self.0.epoch).map(|(_, seq)| seq);
        self.0.rooms.room(project).subscribe(self.clone(), after)
    }

    /// What `PRAGMA synchronous` says on the connection that writes: 2 is FULL.
    pub async fn synchronous(&self) -> Result<i64, CallError> {
        self.ask(Job::Synchronous).await
    }

    /// Answers what was asked before, writes the log into the database file and releases the lock. Calls that
    /// come later are answered with an error.
    pub async fn close(&self) {
        let (closed, done) = oneshot::channel();
        self.0.keyring.close();
        let reader = Arc::clone(&self.0.reader);
        // A page may still be being read; waiting for it is not for this thread.
        let _ = tokio::task::spawn_blocking(move || lock(&reader).take()).await;
        if self.0.jobs.send(Job::Close(closed)).is_ok() {
            let _ = done.await;
        }
    }

    /// The same refusal for a project that does not exist and for one that is not the caller's to enter.
    fn enter(&self, caller: &Caller, project: &Slug) -> Result<(), CallError> {
        if self.sees(caller, project) {
            return Ok(());
        }
        Err(self.no_such_project(caller, project.as_str()).into())
    }

    async fn ask<T>(&self, job: impl FnOnce(Answer<T>) -> Job) -> Result<T, CallError> {
        let (answer, answered) = oneshot::channel();
        self.0.jobs.send(job(answer)).map_err(|_| stopping())?;
        answered.await.unwrap_or_else(|_| Err(stopping()))
    }

    /// Asks the database on a thread that may wait.
    async fn read<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, CallError> {
        let reader = Arc::clone(&self.0.reader);
        let _turn = self.0.turn.lock().await;
        let asked = tokio::task::spawn_blocking(move || match lock(&reader).as_ref() {
            Some(connection) => question(connection).map_err(|error| {
                tracing::error!(%error, "the database could not be read");
                CallError::Storage(words(&error))
            }),
            None => Err(stopping()),
        });
        asked.await.unwrap_or_else(|_| Err(stopping()))
    }
}

fn stopping() -> CallError {
    CallError::Storage("the room is stopping; send it again once it is back".to_owned())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets the database grow to `largest` bytes at most.
fn limit(connection: &Connection, largest: u64) -> rusqlite::Result<()> {
    let page: u64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
    let pages = i64::try_from(largest / page.max(1)).unwrap_or(i64::MAX).max(1);
    connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
}
