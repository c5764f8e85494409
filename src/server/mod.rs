//! The room: a server that agents report to and people watch.
//!
//! `accept` takes connections (`socket` is one of them), `guard` and `auth` decide who gets in, `mcp` is
//! for agents, `feed`, `rooms` and `runs` for those who watch; `store` keeps everything.

mod accept;
mod auth;
mod body;
pub mod clock;
mod feed;
mod guard;
pub mod log;
mod mcp;
mod problem;
mod rooms;
mod runs;
mod socket;
pub mod store;

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use accept::Stop;
use guard::Guard;
use problem::Problem;
pub use socket::hold_many;
use store::Store;

/// What can be set on a room. Tests shrink the times.
#[derive(Debug, Clone)]
pub struct Options {
    /// Names, with or without a port, that requests may call this room by, beside the loopback names and
    /// the address it listens on.
    pub allow_hosts: Vec<String>,
    /// Web pages that may call it, as browsers name them in `Origin`: `https://board.example`.
    pub allow_origins: Vec<String>,
    /// A feed's watcher is pinged this often.
    pub ping: Duration,
    /// A watcher that has sent nothing for this long, not even an answer to a ping, is gone.
    pub silence: Duration,
    /// A write of which the peer has taken nothing for this long ends its connection.
    pub stall: Duration,
    /// A request's header must be there within this time; an unused connection is closed after it.
    pub header_timeout: Duration,
    /// A request's body must be there within this time.
    pub body_timeout: Duration,
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
    /// Bytes that a part of a feed's snapshot is filled up to; at most [`crate::wire::feed::FRAME_MAX`].
    pub part_size: usize,
    /// Feeds at a time, of all owners together; who comes then is asked to try later.
    pub watchers: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            allow_hosts: Vec::new(),
            allow_origins: Vec::new(),
            ping: Duration::from_secs(10),
            silence: Duration::from_secs(25),
            stall: Duration::from_secs(25),
            header_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(15),
            linger: Duration::from_secs(2),
            farewell: Duration::from_millis(500),
            grace: Duration::from_millis(1500),
            accept_pause: Duration::from_millis(100),
            send_buffer: 64 * 1024,
            part_size: 64 * 1024, // a slow watcher has all of one sooner, and a ping waits for one
            watchers: 10_000,     // each keeps about 10 KB here and up to twice `send_buffer` in the kernel
        }
    }
}

/// What every route can reach.
#[derive(Clone)]
pub(crate) struct Room {
    store: Store,
    options: Arc<Options>,
    stop: Stop,
    /// Feeds that may still begin.
    watchers: Arc<Semaphore>,
}

/// Runs a room on `listener` until `shutdown`, then ends it in order: no new connections, watchers are told
/// that it restarts, calls that have begun are answered, the store is closed. That takes 2 seconds at most
/// beyond what the database needs.
///
/// Fails only if the listener has no address.
pub async fn serve(
    listener: TcpListener,
    store: Store,
    options: Options,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let bound = listener.local_addr()?.ip();
    let stop = Stop { soon: shutdown, ..Stop::default() };
    let watchers = Arc::new(Semaphore::new(options.watchers.min(Semaphore::MAX_PERMITS)));
    let room = Room { store, options: Arc::new(options), stop: stop.clone(), watchers };
    let app = router(&room, bound).map_err(io::Error::other)?;

    accept::accept(listener, app, Arc::clone(&room.options), stop.clone()).await;

    stop.tasks.close();
    if timeout(room.options.grace, stop.tasks.wait()).await.is_err() {
        tracing::warn!(open = stop.tasks.len(), "connections did not end in time and are cut");
        stop.now.cancel();
        stop.tasks.wait().await;
    }
    room.store.close().await;
    Ok(())
}

fn router(room: &Room, bound: IpAddr) -> serde_json::Result<Router> {
    let guard = Arc::new(Guard::new(bound, &room.options.allow_hosts, &room.options.allow_origins));
    // The last layer added is the first that a request meets.
    let mcp = Router::new()
        .route_service("/mcp", mcp::service(room.store.clone())?)
        .layer(from_fn_with_state(room.clone(), body::bounded))
        .layer(from_fn_with_state(room.clone(), auth::signed));
    Ok(Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/v1/me", get(rooms::me))
        .route("/v1/projects", get(rooms::projects))
        .route("/v1/projects/{project}/pulse", get(rooms::pulse))
        .route("/v1/projects/{project}/feed", get(feed::feed))
        .route("/v1/runs", get(runs::page))
        .merge(mcp)
        .fallback(async || Problem::nothing_here())
        .method_not_allowed_fallback(async || {
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "This path is only for reading: use GET.")
        })
        .layer(from_fn_with_state(guard, guard::guard))
        .layer(from_fn(log::each_request))
        .with_state(room.clone()))
}
