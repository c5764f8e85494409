//! A room in this process: the real server on a free loopback port, with a database of its own.

use std::ops::Deref;
use std::path::PathBuf;
use std::time::Duration;

use prickle::rules::{Kind, Scope};
use prickle::server::store::keys::{Holder, KeyStore, NewKey};
use prickle::server::store::{self, Store};
use prickle::server::{self};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::caller::Caller;

/// What is set on a test's room; times are shrunk so that tests need not wait for them.
#[derive(Debug, Clone)]
pub struct Shape {
    pub server: server::Options,
    pub store: store::Options,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            server: server::Options {
                ping: Duration::from_millis(200),
                grace: Duration::from_secs(1),
                // A test calls as fast as it can, and with wrong keys as often as it likes.
                rate: None,
                sign_ins: 100_000,
                ..server::Options::default()
            },
            store: store::Options { keys_reread: Duration::from_millis(50), ..store::Options::default() },
        }
    }
}

/// A running room. It is a [`Caller`] of itself.
pub struct Room {
    pub db: PathBuf,
    pub store: Store,
    pub shape: Shape,
    caller: Caller,
    stop: CancellationToken,
    serving: Option<JoinHandle<std::io::Result<()>>>,
    /// Kept so that the database outlives the room, not the test.
    folder: Option<TempDir>,
}

impl Deref for Room {
    type Target = Caller;
    fn deref(&self) -> &Caller {
        &self.caller
    }
}

impl Room {
    pub async fn open() -> Self {
        Self::with(Shape::default()).await
    }

    pub async fn with(shape: Shape) -> Self {
        let folder = TempDir::new().unwrap();
        let db = folder.path().join("room.db");
        Self::on(db, shape, Some(folder), 0).await
    }

    async fn on(db: PathBuf, shape: Shape, folder: Option<TempDir>, port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let store = Store::open(&db, shape.store.clone()).unwrap();
        let stop = CancellationToken::new();
        let serving =
            tokio::spawn(server::serve(listener, store.clone(), shape.server.clone(), stop.clone()));
        Self { db, store, shape, caller: Caller::new(&url), stop, serving: Some(serving), folder }
    }

    pub fn caller(&self) -> Caller {
        self.caller.clone()
    }

    pub fn address(&self) -> std::net::SocketAddr {
        self.url.strip_prefix("http://").unwrap().parse().unwrap()
    }

    /// A key, made as another process would make it. `who`: the owner for a person, else `OWNER/NAME`; no
    /// projects: all of them.
    pub fn key(&self, kind: &str, who: &str, projects: &[&str]) -> String {
        make_key(&self.db, kind, who, projects)
    }

    /// Revokes the newest key, as another process would.
    pub fn revoke_newest(&self) {
        let mut keys = KeyStore::open(&self.db).unwrap();
        let newest = keys.list().unwrap().iter().map(|row| row.id).max().unwrap();
        keys.revoke(newest, chrono::Utc::now()).unwrap();
    }

    /// Tells the room to stop, without waiting for it.
    pub fn begin_to_stop(&self) {
        self.stop.cancel();
    }

    /// Waits until the room has stopped, after [`Room::begin_to_stop`].
    pub async fn stopped(&mut self) {
        self.serving.take().unwrap().await.unwrap().unwrap();
    }

    /// Stops the room in order, and opens it again on the same database and port.
    pub async fn restart(mut self) -> Self {
        self.begin_to_stop();
        self.stopped().await;
        self.reopen().await
    }

    /// Opens a room that has stopped again, on the same database and port.
    pub async fn reopen(mut self) -> Self {
        let port = self.address().port();
        let (db, shape, folder) = (self.db.clone(), self.shape.clone(), self.folder.take());
        drop(self);
        Self::on(db, shape, folder, port).await
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// A key in the database `db`. A woken run's key is for the task `t-1`.
pub fn make_key(db: &std::path::Path, kind: &str, who: &str, projects: &[&str]) -> String {
    let kind: Kind = kind.parse().unwrap();
    let holder = match who.parse() {
        Ok(agent) => Holder::Agent(agent),
        Err(_) => Holder::Owner(who.parse().unwrap()),
    };
    let scope = match projects {
        [] => Scope::All,
        some => Scope::Some(some.iter().map(|p| p.parse().unwrap()).collect()),
    };
    let task = (kind == Kind::Execution).then(|| "t-1".to_owned());
    let key = NewKey { kind, holder, scope, task, label: None };
    KeyStore::open(db).unwrap().create(&key, chrono::Utc::now()).unwrap().as_str().to_owned()
}
