//! The database file: made private, locked, checked before it is touched, and brought to this version.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};
use tokio::sync::watch;

use super::OpenError;
use super::place::{Ground, Place};

/// "prkl": says in the file's header whose it is.
const APPLICATION_ID: i32 = 0x7072_6b6c;
/// One step per version; a database of version n has had the first n.
const MIGRATIONS: &[&str] =
    &[include_str!("schema.sql"), include_str!("schema-2.sql"), include_str!("schema-3.sql")];
/// How long others may hold the lock who only look whether it is held.
const GLANCE: Duration = Duration::from_millis(200);
/// How long one process waits for another one's write.
const BUSY: Duration = Duration::from_secs(5);

/// A file that has been looked at: it is ours or new, and may be opened.
#[derive(Debug)]
pub(super) struct Database {
    path: PathBuf,
    place: Place,
}

/// Held for as long as a room uses the database; a crash gives it back.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
    place: Place,
}

/// Why it is not.
enum NotLocked {
    /// A room has it.
    Another,
    Failed(OpenError),
}

impl From<OpenError> for NotLocked {
    fn from(error: OpenError) -> Self {
        Self::Failed(error)
    }
}

fn refused(path: &Path, cause: impl std::fmt::Display, remedy: impl std::fmt::Display) -> OpenError {
    OpenError(format!("the database {} can't be used: {cause}; {remedy}", path.display()))
}

/// The file whose lock the room holds that uses the database at `path`, which is no link.
pub(in crate::server) fn lock_file(path: &Path) -> PathBuf {
    beside(path, ".lock")
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

const ANOTHER: &str = "give another path with --db";

/// Random bytes from the operating system, for epochs and tokens.
pub(super) fn random<const N: usize>() -> Result<[u8; N], getrandom::Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}

impl Database {
    /// Looks at what is at `path` and refuses what is not ours, without changing it. What is missing is made:
    /// the folder 0700, the file 0600 before the database library sees it, so that its log is 0600 too.
    pub(super) fn prepare(path: &Path) -> Result<Self, OpenError> {
        let failed = |e: std::io::Error| refused(path, e, ANOTHER);
        let (fresh, there) = match fs::metadata(path) {
            Ok(found) if found.is_dir() => {
                let remedy = format!("name a file in it, like --db {}", path.join("room.db").display());
                return Err(refused(path, "it is a folder", remedy));
            }
            Ok(found) if !found.is_file() => return Err(refused(path, "it is no regular file", ANOTHER)),
            Ok(found) if found.len() > 0 => (false, true),
            Ok(_) => (true, true),
            Err(e) if e.kind() == ErrorKind::NotFound => {
                if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty()) {
                    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
                }
                (true, false)
            }
            Err(e) => return Err(failed(e)),
        };
        if !fresh {
            header(path)?;
        }
        let mut open = OpenOptions::new();
        open.read(true).write(true).create(fresh).mode(0o600);
        let file = open.open(path).map_err(|e| match e.kind() {
            // A file that is not there can't be made writable: it is its folder that says no.
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem if path.exists() => {
                read_only(path, e)
            }
            ErrorKind::PermissionDenied => {
                let remedy = format!("make its folder writable, or {ANOTHER}");
                refused(path, format!("it can't be made ({e})"), remedy)
            }
            _ => failed(e),
        })?;
        if fresh && there {
            file.set_permissions(fs::Permissions::from_mode(0o600)).map_err(failed)?;
        }
        // A link and what it points to are one database, so they need one lock.
        let path = fs::canonicalize(path).map_err(failed)?;
        if fresh && let Some(folder) = path.parent() {
            File::open(folder).and_then(|f| f.sync_all()).map_err(failed)?; // the new name outlives a power cut
        }
        let place = Place::of("the database", &path, &file).map_err(failed)?;
        Ok(Self { path, place })
    }

    /// The files that must stay where they are while a room uses the database, which SQLite has open by now.
    pub(super) fn ground(&self, lock: &Lock) -> Result<Ground, OpenError> {
        let beside = |end: &str| {
            let place = Place::found("the database's log", beside(&self.path, end));
            place.map_err(|e| refused(&self.path, e, ANOTHER))
        };
        Ok(Ground {
            database: self.place.clone(),
            lock: lock.place.clone(),
            beside: [beside("-wal")?, beside("-shm")?],
            lost: watch::Sender::default(),
        })
    }

    /// Where the file and its log are.
    pub(super) fn paths(&self) -> [PathBuf; 2] {
        [self.path.clone(), beside(&self.path, "-wal")]
    }

    /// Locks the database against a second room, or refuses if there is one.
    pub(super) fn lock(&self) -> Result<Lock, OpenError> {
        self.try_lock().map_err(|not| match not {
            NotLocked::Another => {
                let remedy =
                    "watch that one, or stop it first, or give this one a database of its own with --db";
                refused(&self.path, "another room is running on it", remedy)
            }
            NotLocked::Failed(error) => error,
        })
    }

    fn try_lock(&self) -> Result<Lock, NotLocked> {
        let name = lock_file(&self.path);
        let mut open = OpenOptions::new();
        // No link: what another user may have put there is not followed.
        let no_link = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or(0);
        open.write(true).create(true).truncate(false).mode(0o600).custom_flags(no_link);
        let file = open.open(&name).map_err(|e| {
            let cause = format!("its lock file {} can't be made ({e})", name.display());
            refused(&self.path, cause, "make its folder writable, or give another path with --db")
        })?;
        let until = Instant::now() + GLANCE;
        let locked = loop {
            match file.try_lock() {
                Err(TryLockError::WouldBlock) if Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                locked => break locked,
            }
        };
        match locked {
            Ok(()) => {
                // What it says is of a room that is no more.
                let _ = file.set_len(0);
                let place = Place::of("the lock file", &name, &file);
                let place = place.map_err(|e| refused(&self.path, e, ANOTHER))?;
                Ok(Lock { _file: file, place })
            }
            Err(TryLockError::WouldBlock) => Err(NotLocked::Another),
            Err(TryLockError::Error(e)) => {
                Err(refused(&self.path, format!("it can't be locked ({e})"), ANOTHER).into())
            }
        }
    }

    /// The connection that writes, with every page of the file checked and all migrations done.
    pub(super) fn open_whole(&self) -> Result<Connection, OpenError> {
        let connection = self.open_to_write()?;
        let check = |c: &Connection| c.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
        match check(&connection) {
            Ok(found) if found == "ok" => {}
            Ok(found) => return Err(damaged(&self.path, found.replace('\n', " "))),
            Err(e) => return Err(self.explained(&e)),
        }
        self.finish(connection)
    }

    /// A connection that writes, with all migrations done.
    pub(super) fn open_to_share(&self) -> Result<Connection, OpenError> {
        let connection = self.open_to_write()?;
        let _lock = self.lock_older(&connection)?;
        self.finish(connection)
    }

    /// A room of an older program may be running on an older database: it must not be changed under it. Who only
    /// changes it as we are about to is waited for.
    fn lock_older(&self, connection: &Connection) -> Result<Option<Lock>, OpenError> {
        let until = Instant::now() + Duration::from_secs(1);
        loop {
            let version = version(connection).map_err(|e| self.explained(&e))?;
            if version == 0 || version >= MIGRATIONS.len() {
                return Ok(None);
            }
            match self.try_lock() {
                Ok(lock) => return Ok(Some(lock)),
                Err(_) if Instant::now() < until => std::thread::sleep(Duration::from_millis(5)),
                Err(NotLocked::Another) => {
                    let path = self.path.display();
                    let remedy = format!(
                        "stop it with prickle serve --stop --db {path}, or where it was started, and do this again"
                    );
                    return Err(refused(&self.path, "an older prickle's room is running on it", remedy));
                }
                Err(NotLocked::Failed(error)) => return Err(error),
            }
        }
    }

    /// A connection that only reads.
    pub(super) fn open_to_read(&self) -> Result<Connection, OpenError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let open = || {
            let connection = Connection::open_with_flags(&self.path, flags)?;
            connection.busy_timeout(BUSY)?;
            Ok(connection)
        };
        open().map_err(|e: rusqlite::Error| self.explained(&e))
    }

    /// Opens without changing anything yet.
    fn open_to_write(&self) -> Result<Connection, OpenError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let open = || {
            let connection = Connection::open_with_flags(&self.path, flags)?;
            connection.busy_timeout(BUSY)?;
            // If it turns out not to be usable, closing it must not write its log into it.
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
            // The header said the same, but the newest header may still be in the log.
            let version = version(&connection)?;
            let read_only = connection.is_readonly("main")?;
            Ok((connection, version, read_only))
        };
        let (connection, version, read_only) = open().map_err(|e: rusqlite::Error| self.explained(&e))?;
        if version > MIGRATIONS.len() {
            return Err(newer(&self.path, version));
        }
        if read_only {
            return Err(read_only_file(&self.path));
        }
        Ok(connection)
    }

    fn finish(&self, mut connection: Connection) -> Result<Connection, OpenError> {
        // 96 random bits in base64url: no two databases share it, and it holds no '.', which would end it in
        // a watcher's `EPOCH.SEQ`.
        let random: [u8; 12] = random().map_err(|e| refused(&self.path, e, "try again"))?;
        let epoch = BASE64_URL_SAFE_NO_PAD.encode(random);
        set_up(&mut connection, &epoch).map_err(|e| self.explained(&e))?;
        let mode: String = connection
            .query_row("PRAGMA journal_mode", [], |row| row.get(0))
            .map_err(|e| self.explained(&e))?;
        if mode != "wal" {
            let remedy = "put it on a local disk with --db";
            return Err(refused(&self.path, "its file system can't hold a write-ahead log", remedy));
        }
        Ok(connection)
    }

    /// A database error at opening, as path, cause and remedy.
    pub(super) fn explained(&self, error: &rusqlite::Error) -> OpenError {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => damaged(&self.path, error),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                refused(&self.path, "another program has been writing to it for too long", "end that program")
            }
            Some(ErrorCode::ReadOnly) => read_only_file(&self.path),
            Some(ErrorCode::CannotOpen) => {
                let remedy = "make its folder writable, or give another path with --db";
                refused(&self.path, "SQLite can't make its log beside it", remedy)
            }
            Some(ErrorCode::DiskFull) => refused(&self.path, "the disk is full", "free some space"),
            _ => refused(&self.path, error, ANOTHER),
        }
    }
}

fn read_only(path: &Path, cause: impl std::fmt::Display) -> OpenError {
    let remedy = format!("make it yours and writable (chmod u+rw {}), or {ANOTHER}", path.display());
    refused(path, format!("it may not be written ({cause})"), remedy)
}

fn read_only_file(path: &Path) -> OpenError {
    read_only(path, "it, or its folder, is read-only")
}

fn damaged(path: &Path, cause: impl std::fmt::Display) -> OpenError {
    let remedy = "it was left as it is: put a backup in its place, or give another path with --db";
    refused(path, format!("it is damaged ({cause})"), remedy)
}

fn newer(path: &Path, version: usize) -> OpenError {
    let known = MIGRATIONS.len();
    refused(
        path,
        format!("a newer prickle wrote it (its version is {version}, this program knows {known})"),
        "update prickle, or give another path with --db",
    )
}

/// Reads the first bytes of a file that is not empty, and refuses what is no database of this program.
fn header(path: &Path) -> Result<(), OpenError> {
    const BYTES: u64 = 100;
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(BYTES).read_to_end(&mut bytes));
    read.map_err(|e| match e.kind() {
        ErrorKind::PermissionDenied => read_only(path, e),
        _ => refused(path, e, ANOTHER),
    })?;
    if !bytes.starts_with(b"SQLite format 3\0") {
        return Err(refused(path, "it is no SQLite database, so it is not a room's", ANOTHER));
    }
    // The file format fixes the places: 4 bytes, most significant first.
    let number = |at: usize| bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map(u32::from_be_bytes);
    let (Some(version), Some(application)) = (number(60), number(68)) else {
        return Err(damaged(path, "it ends within its header"));
    };
    if application != APPLICATION_ID.unsigned_abs() {
        return Err(refused(path, "it is the SQLite database of another program", ANOTHER));
    }
    match usize::try_from(version) {
        Ok(version) if version <= MIGRATIONS.len() => Ok(()),
        Ok(version) => Err(newer(path, version)),
        Err(e) => Err(damaged(path, e)),
    }
}

fn version(connection: &Connection) -> rusqlite::Result<usize> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Sets what a connection does not remember, and does the missing migrations; a new database gets `epoch`.
fn set_up(connection: &mut Connection, epoch: &str) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    // Before the log is switched on, so that it stands in the file itself, where `header` looks.
    if version(connection)? == 0 {
        patiently(|| connection.pragma_update(None, "application_id", APPLICATION_ID))?;
    }
    // Two that switch the log on at once are in each other's way: SQLite then gives up without waiting.
    patiently(|| connection.pragma_update(None, "journal_mode", "wal"))?;
    connection.execute_batch(
        "PRAGMA synchronous = FULL;
         PRAGMA foreign_keys = ON;
         PRAGMA trusted_schema = OFF;
         PRAGMA temp_store = MEMORY;
         PRAGMA journal_size_limit = 16777216;",
    )?;
    connection.set_prepared_statement_cache_capacity(64);
    if version(connection)? < MIGRATIONS.len() {
        // All at once: nobody sees a new database at an old version.
        let whole = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let done = version(&whole)?; // another process may have done it while we waited
        for sql in MIGRATIONS.iter().skip(done) {
            whole.execute_batch(sql)?;
        }
        if done == 0 {
            whole.execute("INSERT INTO room (one, epoch) VALUES (1, ?1)", [epoch])?;
        }
        if done < MIGRATIONS.len() {
            whole.pragma_update(None, "user_version", MIGRATIONS.len())?;
        }
        whole.commit()?;
    }
    Ok(())
}

/// Tries again while another process is in the way, as long as [`BUSY`].
fn patiently(mut attempt: impl FnMut() -> rusqlite::Result<()>) -> rusqlite::Result<()> {
    let until = Instant::now() + BUSY;
    loop {
        match attempt() {
            Err(e) if e.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(5));
            }
            other => return other,
        }
    }
}

/// What a database error means for the room, in a few words: no path, no SQL.
pub(super) fn cause(error: &rusqlite::Error) -> &'static str {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => "the room's storage is full",
        Some(ErrorCode::ReadOnly) => "the room's storage has become read-only",
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => "the room's database is damaged",
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "another program keeps the room's database busy"
        }
        Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) => "the room's disk failed",
        _ => "the room's storage did not do it",
    }
}

/// The same as whoever called may read it.
pub(super) fn words(error: &rusqlite::Error) -> String {
    let cause = cause(error);
    format!("{cause}; nothing was stored, send it again later, and tell whoever runs the room")
}
