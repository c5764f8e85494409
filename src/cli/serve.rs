//! `prickle serve`: a room on this machine, until a signal ends it.

use std::io::{ErrorKind, Write};
use std::net::SocketAddr;

use anyhow::Context;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::{Environment, ServeArgs, addresses};
use crate::config::{Folders, Surroundings};
use crate::server::store::{self, Store};
use crate::server::{self, log};

pub(super) fn run(args: ServeArgs, insecure: bool) -> anyhow::Result<()> {
    let filter = std::env::var("PRICKLE_LOG").unwrap_or_default();
    log::to_stderr(&filter).map_err(|e| Environment(format!("PRICKLE_LOG: {e}; try PRICKLE_LOG=debug")))?;
    if let Err(error) = server::hold_many() {
        tracing::warn!(%error, "the room can hold only as many connections as it was started with");
    }
    let runtime = tokio::runtime::Runtime::new().context("can't start the room's threads")?;
    runtime.block_on(room(args, insecure))
}

async fn room(args: ServeArgs, insecure: bool) -> anyhow::Result<()> {
    // Before the database: a room that can't listen leaves it untouched.
    let listener = listen(&args.addr, insecure).await?;
    let at = listener.local_addr().context("the listener has no address")?;
    let stopped = on_signal()?;
    let database = match args.db {
        Some(path) => path,
        None => Folders::find(&Surroundings::real())?.database(),
    };
    let store = Store::open(&database, store::Options::default()).map_err(|e| Environment(e.to_string()))?;
    tracing::info!(%at, database = %database.display(), "the room is open");
    let mut out = std::io::stdout();
    writeln!(out, "listening on http://{at}").and_then(|()| out.flush()).context("can't write to stdout")?;
    let options = server::Options {
        allow_hosts: args.allow_hosts,
        allow_origins: args.allow_origins,
        ..server::Options::default()
    };
    server::serve(listener, store, options, stopped).await?;
    tracing::info!("the room is closed");
    Ok(())
}

/// Binds the first of `addr`'s addresses that this machine has. Only loopback ones, unless `insecure`: without
/// TLS, tokens and what teams write cross a network in the clear.
async fn listen(addr: &str, insecure: bool) -> anyhow::Result<TcpListener> {
    let found = addresses(addr)?;
    let open = found.iter().find(|a| !a.ip().is_loopback());
    if let Some(open) = open.filter(|_| insecure) {
        tracing::warn!(address = %open.ip(), "other machines reach this room in the clear, keys included");
    } else if let Some(open) = open {
        let port = open.port();
        return Err(Environment(format!(
            "--addr {addr}: {} can be reached from other machines, and this room has no TLS to protect its keys; \
             use --addr 127.0.0.1:{port} and a tunnel or a reverse proxy with TLS for others, or --insecure to do without",
            open.ip()
        ))
        .into());
    }
    let mut last = None;
    for address in &found {
        match TcpListener::bind(address).await {
            Ok(listener) => return Ok(listener),
            // A name may stand for an address of a family that this machine does without.
            Err(error) if error.kind() == ErrorKind::AddrNotAvailable => last = Some((address, error)),
            Err(error) => return Err(Environment(cannot_listen(address, &error)).into()),
        }
    }
    let why = last.map_or_else(
        || format!("--addr {addr} names no address to listen on; try 127.0.0.1:7766"),
        |(address, error)| cannot_listen(address, &error),
    );
    Err(Environment(why).into())
}

fn cannot_listen(address: &SocketAddr, error: &std::io::Error) -> String {
    let (host, port) = (address.ip(), address.port());
    let host = if host.is_ipv6() { format!("[{host}]") } else { host.to_string() };
    let cause = match error.kind() {
        ErrorKind::AddrInUse => format!("port {port} is taken by another program, perhaps by another room"),
        ErrorKind::PermissionDenied => format!("only the system's administrator may use port {port}"),
        _ => error.to_string(),
    };
    let free = if port < 1024 { 7766 } else { port.checked_add(1).unwrap_or(7766) };
    format!(
        "can't listen on {address}: {cause}; choose another port with --addr {host}:{free}, \
         or let the system choose one with --addr {host}:0"
    )
}

/// Cancelled by SIGTERM and SIGINT: both are the wish of whoever runs the room, so the exit code is 0.
fn on_signal() -> anyhow::Result<CancellationToken> {
    let mut term = signal(SignalKind::terminate()).context("can't wait for SIGTERM")?;
    let mut int = signal(SignalKind::interrupt()).context("can't wait for SIGINT")?;
    let stopped = CancellationToken::new();
    let stop = stopped.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = term.recv() => tracing::info!("SIGTERM: closing the room"),
            _ = int.recv() => tracing::info!("SIGINT: closing the room"),
        }
        stop.cancel();
    });
    Ok(stopped)
}
