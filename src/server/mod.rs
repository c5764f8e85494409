//! The room: a server that agents report to and people watch.
//!
//! `accept` takes connections (`socket` is one of them, `tls` encrypts it), `guard` and `auth` decide who gets in, `mcp` is
//! for agents, `feed`, `rooms` and `runs` for those who watch; `store` keeps everything.

mod accept;
mod agents;
mod auth;
mod body;
pub mod clock;
mod complaint;
pub mod descriptors;
mod feed;
mod guard;
mod limits;
pub mod local;
pub mod log;
mod mcp;
mod metrics;
mod problem;
mod rooms;
pub mod routes;
mod runs;
mod socket;
pub mod store;
mod strangers;
pub mod tls;
mod usage;

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{MethodRouter, any_service, get};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use accept::Stop;
use guard::Guard;
use limits::Limits;
use metrics::Metrics;
use problem::Problem;
use routes::Route;
use store::Store;
use strangers::Strangers;

/// What can be set on a room. Tests shrink the times.
#[derive(Debug, Clone)]
pub struct Options {
    /// Names, with or without a port, that requests may call this room by, beside the loopback names and
    /// the address it listens on.
    pub allow_hosts: Vec<String>,
    /// Web pages that may call it, as browsers name them in `Origin`: `https://board.example`.
    pub allow_origins: Vec<String>,
    /// The certificate to encrypt with; without one everything goes in the clear.
    pub tls: Option<tls::Tls>,
    /// A feed's watcher is pinged this often.
    pub ping: Duration,
    /// A watcher that has sent nothing for this long, not even an answer to a ping, is gone.
    pub silence: Duration,
    /// A write of which the peer has taken nothing for this long ends its connection.
    pub stall: Duration,
    /// A request's header must be there within this time; an unused connection is closed after it, also one whose
    /// pings are answered.
    pub header_timeout: Duration,
    /// A request's body must be there within this time.
    pub body_timeout: Duration,
    /// Calls a second that one key may make on `/mcp`, and four times as many at once; `None`: any number. What else
    /// takes the database counts too: a page of run records, a room that memory does not know.
    pub rate: Option<u32>,
    /// Sign-ins a minute with unknown keys that one address may make.
    pub sign_ins: u32,
    /// Feeds that one owner's keys may hold open together.
    pub feeds: usize,
    /// How long the rest of a body that was refused is still taken in, so that the refusal gets through.
    pub linger: Duration,
    /// How long a closing feed waits for its watcher to take the close frame and answer it.
    pub farewell: Duration,
    /// How long a stopping room waits for what has begun.
    pub grace: Duration,
    /// How long no connection is taken after the system had no room for one.
    pub accept_pause: Duration,
    /// Bytes that the kernel keeps for one slow reader.
    pub send_buffer: usize,
    /// The room ends once nobody has been connected for this long. `None`: it stays.
    pub idle: Option<Duration>,
    /// Bytes that a part of a feed's snapshot is filled up to; at most [`crate::wire::feed::FRAME_MAX`].
    pub part_size: usize,
    /// Feeds at a time, of all owners together; who comes then is asked to try later. At most three in four of the
    /// descriptors that the process may have.
    pub watchers: usize,
    /// Connections from one address, at a time, that have not shown a good key; for one more the oldest is closed. At
    /// most one in four of the descriptors that the process may have.
    pub strangers: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            allow_hosts: Vec::new(),
            allow_origins: Vec::new(),
            tls: None,
            ping: Duration::from_secs(10),
            silence: Duration::from_secs(25),
            stall: Duration::from_secs(25),
            header_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(15),
            rate: Some(50),
            sign_ins: 20,
            feeds: 2048,
            linger: Duration::from_secs(2),
            farewell: Duration::from_millis(500),
            grace: Duration::from_millis(1500),
            accept_pause: Duration::from_millis(100),
            send_buffer: 64 * 1024,
            idle: None,
            part_size: 64 * 1024, // a slow watcher has all of one sooner, and a ping waits for one
            watchers: 10_000,     // each keeps about 10 KB here and up to twice `send_buffer` in the kernel
            strangers: 1024,
        }
    }
}

/// What every route can reach.
#[derive(Clone)]
pub(crate) struct Room {
    store: Store,
    options: Arc<Options>,
    limits: Arc<Limits>,
    stop: Stop,
    /// Feeds that may still begin.
    watchers: Arc<Semaphore>,
}

impl Room {
    fn new(store: Store, mut options: Options, stop: Stop) -> Self {
        if let Some(all) = descriptors::allowed() {
            options.watchers = options.watchers.min(all - all / 4);
            options.strangers = options.strangers.min(all / 4);
        }
        let limits = Arc::new(Limits::new(&options, Arc::clone(store.metrics())));
        let watchers = Arc::new(Semaphore::new(options.watchers.min(Semaphore::MAX_PERMITS)));
        Self { store, options: Arc::new(options), limits, stop, watchers }
    }

    fn metrics(&self) -> &Metrics {
        self.store.metrics()
    }
}

/// Runs a room on `listener` until `shutdown`, then ends it in order: no new connections, watchers are told
/// that it restarts, calls that have begun are answered, the store is closed. That takes 2 seconds at most
/// beyond what the database needs.
///
/// Ends as well once somebody has taken its database away, and fails then with what was taken; besides only if the
/// listener has no address.
pub async fn serve(
    listener: TcpListener,
    store: Store,
    options: Options,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let bound = listener.local_addr()?.ip();
    let stop = Stop { soon: shutdown, ..Stop::default() };
    let room = Room::new(store, options, stop.clone());
    let app = router(&room, bound).map_err(io::Error::other)?;

    let alone = stop.clone();
    let strangers = Arc::new(Strangers::new(room.options.strangers, Arc::clone(room.store.metrics())));
    let accepting = accept::accept(listener, app, strangers, Arc::clone(&room.options), stop.clone());
    let mut fine = Ok(());
    tokio::select! {
        () = accepting => {}
        lost = room.store.lost() => {
            fine = Err(io::Error::other(lost));
            stop.soon.cancel();
        }
        () = left_alone(&alone, room.options.idle) => {
            tracing::info!("nobody has used the room for long: closing it");
            // Who comes from now on had better wait for the next room than call this one.
            let _ = local::withdraw(room.store.path());
            stop.soon.cancel();
        }
    }

    stop.tasks.close();
    if timeout(room.options.grace, stop.tasks.wait()).await.is_err() {
        tracing::warn!(open = stop.tasks.len(), "connections did not end in time and are cut");
        stop.now.cancel();
        stop.tasks.wait().await;
    }
    room.store.close().await;
    fine
}

/// Waits until nobody has been connected for `idle`; for ever, if there is no such time.
async fn left_alone(stop: &Stop, idle: Option<Duration>) {
    /// How often is looked in that time. What came and went in between is counted.
    const LOOKS: u32 = 60;
    let Some(idle) = idle else { return std::future::pending().await };
    let mut taken = 0;
    let mut last = Instant::now();
    while last.elapsed() < idle {
        sleep((idle / LOOKS).max(Duration::from_millis(1))).await;
        let now = stop.taken.load(Ordering::Relaxed);
        if now != taken || !stop.tasks.is_empty() {
            (taken, last) = (now, Instant::now());
        }
    }
}

fn router(room: &Room, bound: IpAddr) -> serde_json::Result<Router> {
    let guard = Arc::new(Guard::new(bound, &room.options.allow_hosts, &room.options.allow_origins));
    // The last layer added is the first that a request meets.
    let mut routes = Router::new();
    for route in Route::ALL {
        routes = routes.route(route.path(), endpoint(route, room)?);
    }
    Ok(routes
        .fallback(async || Problem::nothing_here())
        .method_not_allowed_fallback(async || {
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "This path is only for reading: use GET.")
        })
        .layer(from_fn_with_state(guard, guard::guard))
        .layer(from_fn_with_state(room.clone(), metrics::each_request))
        .layer(from_fn(log::each_request))
        .with_state(room.clone()))
}

/// What answers at a route.
fn endpoint(route: Route, room: &Room) -> serde_json::Result<MethodRouter<Room>> {
    Ok(match route {
        Route::Health => get(rooms::health),
        Route::Metrics => get(metrics::page),
        Route::Me => get(rooms::me),
        Route::Projects => get(rooms::projects),
        Route::Pulse => get(rooms::pulse),
        Route::Feed => get(feed::feed),
        Route::Agents => get(agents::agents),
        Route::Runs => get(runs::page),
        Route::RunSummary => get(runs::summary),
        Route::Run => get(runs::one),
        Route::Mcp => any_service(mcp::service(room.store.clone())?)
            .layer(from_fn_with_state(room.clone(), body::bounded))
            .layer(from_fn_with_state(room.clone(), auth::signed)),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::time::Instant;

    use axum::body::{Body, to_bytes};
    use axum::extract::Request;
    use tower::ServiceExt;

    use super::*;
    use crate::rules::{Kind, Scope};
    use store::CallError;
    use store::keys::{Holder, KeyStore, NewKey};

    #[tokio::test]
    async fn a_room_that_has_broken_down_does_not_say_that_it_is_well() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("room.db");
        let store = Store::open(&path, store::Options::default()).unwrap();
        let room = Room::new(store.clone(), Options::default(), Stop::default());
        let app = router(&room, "127.0.0.1".parse().unwrap()).unwrap();
        let health = async || {
            let asked = Request::get("/healthz").header("host", "localhost").body(Body::empty()).unwrap();
            let answer = app.clone().oneshot(asked).await.unwrap();
            let status = answer.status().as_u16();
            (status, String::from_utf8(to_bytes(answer.into_body(), 1000).await.unwrap().to_vec()).unwrap())
        };
        assert_eq!(health().await, (200, "ok\n".to_owned()));

        let key = NewKey {
            kind: Kind::Client,
            holder: Holder::Agent("acme/builder".parse().unwrap()),
            scope: Scope::All,
            task: None,
            label: None,
        };
        let token = KeyStore::open(&path).unwrap().create(&key, chrono::Utc::now()).unwrap();
        let caller = store.authenticate(token.as_str()).unwrap();
        store.break_down();
        let until = Instant::now() + Duration::from_secs(10);
        while store.works() {
            assert!(Instant::now() < until, "the writing thread lives on");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let (status, why) = health().await;
        assert_eq!((status, why.lines().count()), (503, 1), "{why}");
        assert!(why.contains("restarted"), "{why}");
        let told = store.synchronous().await.unwrap_err();
        assert!(matches!(&told, CallError::Storage(why) if why.contains("restart it")), "{told}");
        assert!(store.alive(caller.key), "what is in memory is still answered");
        // Closed in order, it is something else.
        store.close().await;
        assert!(store.synchronous().await.unwrap_err().to_string().contains("stopping"));
    }
}
