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
use axum::http::Version;
use axum::response::Response;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

use super::Options;
use super::complaint::Complaint;
use super::limits::Peer;
use super::socket::Impatient;
use super::strangers::{Stranger, Strangers};
use super::tls::{self, Tls};
use super::usage::Usage;

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
pub(super) async fn accept(
    listener: TcpListener,
    app: Router,
    strangers: Arc<Strangers>,
    options: Arc<Options>,
    stop: Stop,
) {
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
                let (who, options) = (Strangers::enter(&strangers, peer), Arc::clone(&options));
                let (app, stopped) = (app.clone(), stop.clone());
                stop.tasks.spawn(async move {
                    tokio::select! {
                        () = connection(stream, (peer, &who), app, &options, &stopped) => {}
                        () = who.asked_to_leave() => {}
                    }
                });
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

/// The other end of a connection.
type Other<'a> = (Peer, &'a Stranger);

async fn connection(stream: TcpStream, other: Other<'_>, app: Router, options: &Options, stop: &Stop) {
    let Some(tls) = &options.tls else {
        let stream = Impatient::new(stream, options.stall, options.send_buffer);
        return requests(Either::Left(stream), other, app, options, stop).await;
    };
    let handshake = tokio::select! {
        handshake = timeout(options.header_timeout, handshake(stream, tls, options)) => handshake,
        () = stop.soon.cancelled() => return,
    };
    match handshake {
        Ok(Ok(encrypted @ Either::Right(_))) => requests(encrypted, other, app, options, stop).await,
        Ok(Ok(clear)) => requests(clear, other, tls::says_https(), options, stop).await,
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

async fn requests(io: Io, (peer, who): Other<'_>, app: Router, options: &Options, stop: &Stop) {
    let usage = Usage::new();
    let many = Arc::new(AtomicBool::new(false));
    let service = {
        let (usage, many, who) = (usage.clone(), Arc::clone(&many), who.clone());
        hyper::service::service_fn(move |mut request: Request<Incoming>| {
            let using = usage.begin();
            many.store(request.version() == Version::HTTP_2, Ordering::Relaxed);
            request.extensions_mut().insert(peer);
            request.extensions_mut().insert(who.clone());
            let answered = answer(app.clone(), request);
            async move { answered.await.map(|response| using.until_sent(response)) }
        })
    };
    let builder = protocol(options);
    let mut served = pin!(builder.serve_connection_with_upgrades(TokioIo::new(io), service));
    let mut look = pin!(sleep(options.header_timeout));
    let (mut stopping, mut closing) = (false, false);
    loop {
        tokio::select! {
            _ended = &mut served => return, // a broken connection is the peer's affair
            () = &mut look => {
                let state = usage.state();
                let patience = match state.open {
                    0 => Some(options.header_timeout),
                    // Whoever has no key is sent nothing that takes long.
                    _ if !who.is_known() => Some(options.body_timeout + options.stall),
                    _ => None,
                };
                let now = Instant::now();
                let until = patience.map_or_else(|| now + options.header_timeout, |wait| state.since + wait);
                if until > now {
                    look.as_mut().reset(until);
                } else if !state.begun || closing || state.open > 0 {
                    return;
                } else {
                    // hyper itself looks after HTTP/1, but a pinged connection is never unused to it.
                    closing = many.load(Ordering::Relaxed);
                    look.as_mut().reset(now + options.header_timeout);
                    if closing {
                        served.as_mut().graceful_shutdown();
                    }
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
