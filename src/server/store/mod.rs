//! All that the room keeps: one type with a method per question, and the only place with SQL.

mod agents;
mod answers;
mod check;
mod chosen;
mod events;
mod file;
mod grants;
mod keyring;
pub mod keys;
mod pages;
mod place;
mod pulses;
mod reader;
mod records;
mod runs;
mod sums;
mod trouble;
mod writer;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::{oneshot, watch};

pub use self::answers::{CallError, OpenError, Picture, RunSent, Start, Subscription};
pub use self::check::Checked;
pub use self::events::{Behind, Events};
pub(in crate::server) use self::file::lock_file;
use self::file::{Database, words};
use self::keyring::Keyring;
use self::pulses::Rooms;
use self::reader::Reader;
use self::trouble::Trouble;
use self::writer::{Answer, Job, Writer};
use super::clock::Clock;
use super::metrics::Metrics;
use crate::rules::{self, Caller, Refusal};
use crate::wire::feed::{FRAME_MAX, Snapshot};
use crate::wire::id::Slug;
use crate::wire::pulse::{Pulse, PulseReport};
use crate::wire::run::{Run, RunReport};

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

/// A database that no other room can open any more, but that is not opened itself yet.
#[derive(Debug)]
pub struct Claim {
    database: Database,
    lock: file::Lock,
}

impl Claim {
    /// Looks at what is at `path`, makes the file where it is missing, and locks it against a second room.
    pub fn take(path: &Path) -> Result<Self, OpenError> {
        let database = Database::prepare(path)?;
        let lock = database.lock()?;
        Ok(Self { database, lock })
    }
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
    /// For events that memory no longer holds.
    past: Reader,
    /// For run records, which may take longer: watchers that come back do not wait for them.
    records: Reader,
    jobs: mpsc::Sender<Job>,
    writer: JoinHandle<()>,
    closing: AtomicBool,
    looking_up: Arc<tokio::sync::Mutex<()>>,
    trouble: Arc<Trouble>,
    metrics: Arc<Metrics>,
    paths: [PathBuf; 2],
    lost: watch::Receiver<Option<String>>,
}

impl Store {
    /// Opens the database at `path`, or makes it, and locks it against a second room.
    pub fn open(path: &Path, options: Options) -> Result<Self, OpenError> {
        Self::open_claimed(Claim::take(path)?, options)
    }

    /// Opens the database that was claimed.
    pub fn open_claimed(claim: Claim, options: Options) -> Result<Self, OpenError> {
        let Claim { database, lock } = claim;
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
        let (trouble, metrics) = (Arc::new(Trouble::default()), Arc::new(Metrics::default()));
        let keyring = Keyring::read(database.open_to_read()?, options.clock.clone(), Arc::clone(&trouble))
            .map_err(wrong)?;
        let (rooms, keyring) = (Arc::new(rooms), Arc::new(keyring));
        let past = Reader::open(&database, &trouble)?;
        let records = Reader::open(&database, &trouble)?;
        let (jobs, receiver) = mpsc::channel();
        let ground = database.ground(&lock)?;
        let lost = ground.lost.subscribe();
        let writer = Writer {
            connection,
            rooms: Arc::clone(&rooms),
            keyring: Arc::clone(&keyring),
            options: options.clone(),
            seen,
            trouble: Arc::clone(&trouble),
            metrics: Arc::clone(&metrics),
            ground,
            lock,
        };
        let writer = std::thread::Builder::new()
            .name("room-writer".to_owned())
            .spawn(move || {
                // A fault of ours; what it was has gone to stderr.
                if catch_unwind(AssertUnwindSafe(|| writer.work(&receiver))).is_err() {
                    tracing::error!("the room has broken down and takes no more calls: restart it");
                }
            })
            .map_err(|e| OpenError(format!("the room's writing thread can't be started: {e}")))?;
        Ok(Self(Arc::new(Inner {
            epoch,
            options,
            rooms,
            keyring,
            past,
            records,
            jobs,
            writer,
            closing: AtomicBool::new(false),
            looking_up: Arc::default(),
            trouble,
            metrics,
            paths: database.paths(),
            lost,
        })))
    }

    /// Whether it takes calls: not once it is closed, nor after its writing thread has failed or its files were taken
    /// away.
    pub fn works(&self) -> bool {
        !self.0.writer.is_finished() && self.0.lost.borrow().is_none()
    }

    /// Waits until one of its files was taken away, and says which and what follows. Noticed at a call, or within
    /// [`Options::keys_reread`].
    pub async fn lost(&self) -> String {
        let mut lost = self.0.lost.clone();
        let found = lost.wait_for(Option::is_some).await.ok().and_then(|lost| lost.clone());
        match found {
            Some(what) => what,
            None => std::future::pending().await, // its thread has ended, and with it the looking
        }
    }

    /// What the room counts.
    pub(super) fn metrics(&self) -> &Arc<Metrics> {
        &self.0.metrics
    }

    /// Sizes of the database file and of its log, in bytes.
    pub(super) async fn sizes(&self) -> [u64; 2] {
        let [file, log] = &self.0.paths;
        let (file, log) = tokio::join!(tokio::fs::metadata(file), tokio::fs::metadata(log));
        [file, log].map(|found| found.map_or(0, |found| found.len()))
    }

    /// Which database this is: random, made with it.
    pub fn epoch(&self) -> &Arc<str> {
        &self.0.epoch
    }

    /// The database file.
    pub(super) fn path(&self) -> &Path {
        &self.0.paths[0]
    }

    /// The room's clock.
    pub fn clock(&self) -> &Clock {
        &self.0.options.clock
    }

    /// Whose token this is, as far as memory knows.
    pub fn known(&self, token: &str) -> Option<Arc<Caller>> {
        self.0.keyring.known(&keys::hash(token)?)
    }

    /// Whose token this is; `None` for an unknown or revoked one. What memory does not know is looked up in the
    /// database, so that a new key works at once. One look-up at a time: strangers must not take every thread.
    pub async fn look_up(&self, token: &str) -> Result<Option<Arc<Caller>>, CallError> {
        let Some(hash) = keys::hash(token) else { return Ok(None) };
        if let Some(known) = self.0.keyring.known(&hash) {
            return Ok(Some(known));
        }
        self.patiently(move |keyring| keyring.authenticate(&hash)).await
    }

    /// Whose token this is, as far as memory knows once the keys have been read anew. Waits for that as long as it
    /// takes where another process has made a key just now, [`Options::keys_reread`].
    pub async fn known_soon(&self, token: &str) -> Option<Arc<Caller>> {
        /// The room may be in the middle of something.
        const SLACK: Duration = Duration::from_millis(250);
        const MOST: Duration = Duration::from_secs(2);
        let hash = keys::hash(token)?;
        let mut reread = self.revoked();
        let known = async {
            loop {
                let known = self.0.keyring.known(&hash);
                if known.is_some() || reread.changed().await.is_err() {
                    return known;
                }
            }
        };
        let patience = (self.0.options.keys_reread + SLACK).min(MOST);
        tokio::time::timeout(patience, known).await.ok().flatten()
    }

    /// [`Store::look_up`] for a thread that may wait.
    pub fn authenticate(&self, token: &str) -> Option<Arc<Caller>> {
        self.0.keyring.authenticate(&keys::hash(token)?).ok()?
    }

    /// Why calls are not taken now, in a few words; `None`: they are. Changes as it does.
    pub fn refusing(&self) -> watch::Receiver<Option<&'static str>> {
        self.0.trouble.refusing()
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

    /// Whether the project exists and the caller may enter it. What memory does not know is looked up, also whether
    /// its key has been let into the project meanwhile.
    pub async fn enters(&self, caller: &Caller, project: &Slug) -> Result<bool, CallError> {
        if !self.must_look_up(caller, project) {
            return Ok(true);
        }
        let (held, key, project) = (caller.scope.holds(project), caller.key, project.clone());
        self.patiently(
            move |keyring| if held { keyring.exists(&project) } else { keyring.lets_in(key, &project) },
        )
        .await
    }

    /// Whether [`Store::enters`] would have to ask the database.
    pub fn must_look_up(&self, caller: &Caller, project: &Slug) -> bool {
        !(caller.scope.holds(project) && self.0.keyring.is_known(project))
    }

    /// [`Store::enters`] for a thread that may wait.
    pub fn sees(&self, caller: &Caller, project: &Slug) -> bool {
        let keyring = &self.0.keyring;
        if caller.scope.holds(project) {
            return keyring.exists(project).unwrap_or_default();
        }
        keyring.lets_in(caller.key, project).unwrap_or_default()
    }

    /// What to answer where [`Store::enters`] says no, or where the text is no slug at all.
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
        self.enter(&caller, &report.project).await?;
        self.ask(|answer| Job::Pulse { caller, report: Box::new(report), answer }).await
    }

    /// Takes a runner's report of a run. Answers after the record is durable.
    pub async fn report_run(&self, caller: Arc<Caller>, report: RunReport) -> Result<Run, CallError> {
        self.enter(&caller, &report.project).await?;
        self.ask(|answer| Job::Run { caller, report, answer }).await
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
        self.0.closing.store(true, Ordering::Relaxed);
        self.0.keyring.close();
        self.0.past.close().await;
        self.0.records.close().await;
        if self.0.jobs.send(Job::Close(closed)).is_ok() {
            let _ = done.await;
        }
    }

    /// The same refusal for a project that does not exist and for one that is not the caller's to enter.
    async fn enter(&self, caller: &Caller, project: &Slug) -> Result<(), CallError> {
        if self.enters(caller, project).await? {
            return Ok(());
        }
        Err(self.no_such_project(caller, project.as_str()).into())
    }

    /// Ends the writing thread as a fault of ours would.
    #[cfg(test)]
    pub(super) fn break_down(&self) {
        let _ = self.0.jobs.send(Job::Panic);
    }

    async fn ask<T>(&self, job: impl FnOnce(Answer<T>) -> Job) -> Result<T, CallError> {
        let (answer, answered) = oneshot::channel();
        self.0.jobs.send(job(answer)).map_err(|_| self.gone())?;
        answered.await.unwrap_or_else(|_| Err(self.gone()))
    }

    /// Why there is no answer.
    fn gone(&self) -> CallError {
        if self.0.closing.load(Ordering::Relaxed) {
            return stopping();
        }
        let why =
            "the room has broken down and takes no more calls; tell whoever runs the room to restart it";
        CallError::Storage(why.to_owned())
    }

    /// Asks the keyring what may take it to the database, on a thread that may wait; one at a time.
    async fn patiently<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Keyring) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, CallError> {
        self.0.metrics.look_ups.add(1);
        // Held by the look-up itself: it goes on where whoever asked has gone.
        let alone = Arc::clone(&self.0.looking_up).lock_owned().await;
        let keyring = Arc::clone(&self.0.keyring);
        let look = move || {
            let _alone = alone;
            question(&keyring)
        };
        let asked = tokio::task::spawn_blocking(look).await;
        asked.map_err(|_| stopping())?.map_err(|error| CallError::Storage(words(&error)))
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
