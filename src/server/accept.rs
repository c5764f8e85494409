//! The accept loop. `axum::serve` has none of what a room needs here: a time-out for a request's header,
//! small socket buffers, a write deadline, TLS, and a stop that is over in time.

use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

use super::Options;
use super::complaint::Complaint;
use super::limits::Peer;
use super::socket::Impatient;
use super::tls::{self, Tls};

/// How a room's connections learn that it stops.
#[derive(Debug, Clone, Default)]
pub(super) struct Stop {
    /// Finish what has begun, begin nothing.
    pub soon: CancellationToken,
    /// Let go.
    pub now: CancellationToken,
    /// Everything that still holds a connection.
    pub tasks: TaskTracker,
    /// How many connections there have been.
    pub taken: Arc<AtomicU64>,
}

/// Serves `app` on `listener` until `stop.soon`; the listener is closed on return, connections may live on.
pub(super) async fn accept(listener: TcpListener, app: Router, options: Arc<Options>, stop: Stop) {
    let no_room = Complaint::default();
    loop {
        let accepted = tokio::select! {
            biased;
            () = stop.soon.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                stop.taken.fetch_add(1, Ordering::Relaxed);
                if no_room.settle() {
                    tracing::info!("connections are taken again");
                }
                let peer = Peer(peer.ip());
                let connection = connection(stream, peer, app.clone(), Arc::clone(&options), stop.clone());
                stop.tasks.spawn(connection);
            }
            Err(error) if only_that_connection(&error) => {}
            Err(error) => {
                // Out of file descriptors or memory: the connection waits in the backlog, the room lives.
                if let Some(unsaid) = no_room.raise() {
                    tracing::warn!(%error, unsaid, "no new connection can be taken now; trying again");
                }
                sleep(options.accept_pause).await;
            }
        }
    }
}

fn only_that_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::Interrupted
    )
}

/// Bytes that are encrypted before the peer takes them. Unlike a text that is sent in the clear, they are nobody
/// else's: a thousand watchers that stop reading would keep a thousand times the library's 64 KiB.
const ENCRYPTED_AHEAD: usize = 16 * 1024;

/// What a connection's requests are read from: TCP itself, or TLS on it.
type Io = Either<Impatient, TlsStream<Impatient>>;

async fn connection(stream: TcpStream, peer: Peer, app: Router, options: Arc<Options>, stop: Stop) {
    let Some(tls) = &options.tls else {
        let stream = Impatient::new(stream, options.stall, options.send_buffer);
        return requests(Either::Left(stream), peer, app, &options, &stop).await;
    };
    let handshake = tokio::select! {
        handshake = timeout(options.header_timeout, handshake(stream, tls, &options)) => handshake,
        () = stop.soon.cancelled() => return,
    };
    match handshake {
        Ok(Ok(encrypted @ Either::Right(_))) => requests(encrypted, peer, app, &options, &stop).await,
        Ok(Ok(clear)) => requests(clear, peer, tls::says_https(), &options, &stop).await,
        Ok(Err(error)) => tracing::debug!(%error, "a connection was given up in its TLS handshake"),
        Err(_late) => {}
    }
}

async fn handshake(stream: TcpStream, tls: &Tls, options: &Options) -> io::Result<Io> {
    let clear = tls::in_the_clear(&stream).await?;
    let stream = Impatient::new(stream, options.stall, options.send_buffer);
    if clear {
        return Ok(Either::Left(stream));
    }
    let encrypted = tls.acceptor().accept_with(stream, |tls| tls.set_buffer_limit(Some(ENCRYPTED_AHEAD)));
    Ok(Either::Right(encrypted.await?))
}

async fn requests(io: Io, peer: Peer, app: Router, options: &Options, stop: &Stop) {
    let begun = Arc::new(AtomicBool::new(false));
    let service = {
        let begun = Arc::clone(&begun);
        hyper::service::service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(peer);
            begun.store(true, Ordering::Relaxed);
            answer(app.clone(), request)
        })
    };
    let builder = protocol(options);
    let mut served = pin!(builder.serve_connection_with_upgrades(TokioIo::new(io), service));
    // hyper's own time-out starts only once it knows which HTTP it speaks; a peer that never says so must go too.
    let mut first = pin!(sleep(options.header_timeout));
    let mut waiting = true;
    let mut stopping = false;
    loop {
        tokio::select! {
            _ended = &mut served => return, // a broken connection is the peer's affair
            () = &mut first, if waiting => {
                waiting = false;
                if !begun.load(Ordering::Relaxed) {
                    return;
                }
            }
            () = stop.soon.cancelled(), if !stopping => {
                stopping = true;
                served.as_mut().graceful_shutdown();
            }
            () = stop.now.cancelled() => return,
        }
    }
}

async fn answer(app: Router, request: Request<Incoming>) -> Result<Response, Infallible> {
    app.oneshot(request.map(Body::new)).await
}

fn protocol(options: &Options) -> Builder<TokioExecutor> {
    const STREAMS: u32 = 64;
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(options.header_timeout);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        .keep_alive_interval(options.header_timeout)
        .keep_alive_timeout(options.silence);
    builder
}
