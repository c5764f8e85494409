//! `prickle serve`: a room on this machine, until a signal ends it.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{ErrorKind, IsTerminal, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::{Environment, Reach, ServeArgs, addresses};
use crate::config::{Config, Folders, Surroundings};
use crate::server::local::{self, Found, Notice};
use crate::server::store::{self, Claim, Store};
use crate::server::tls::Tls;
use crate::server::{self, descriptors, log};

/// How long after its last use the local room ends.
const ALONE: Duration = Duration::from_hours(1);

pub(super) fn run(args: ServeArgs, reach: &Reach) -> anyhow::Result<()> {
    let database = match &args.db {
        Some(path) => std::path::absolute(path)?,
        None => Folders::find(&Surroundings::real())?.database(),
    };
    if args.check {
        return check(&database);
    }
    if args.stop {
        return super::local::stop(&database);
    }
    if !args.local {
        super::local::take_over(&database)?;
    }
    if args.local {
        // Ctrl-C in the terminal that happens to start it, and that terminal's end, are not meant for it.
        let _ = rustix::process::setsid();
    }
    let filter = std::env::var("PRICKLE_LOG").unwrap_or_default();
    log::to_stderr(&filter).map_err(|e| Environment(format!("PRICKLE_LOG: {e}; try PRICKLE_LOG=debug")))?;
    let runtime = tokio::runtime::Runtime::new().context("can't start the room's threads")?;
    runtime.block_on(room(args, &database, reach))
}

/// Holds the kept sums against the records. Anything that differed is an error, also when it is put right: something
/// has written to the database that should not have.
fn check(database: &Path) -> anyhow::Result<()> {
    /// So many records take a while.
    const MANY: u64 = 100_000;
    if !database.exists() {
        let path = database.display();
        return Err(Environment(format!("there is no database at {path}; name one with --db")).into());
    }
    let claim = Claim::take(database).map_err(|e| Environment(e.to_string()))?;
    let begins = |records: u64| {
        let mut stderr = std::io::stderr();
        if records >= MANY && stderr.is_terminal() {
            let _ = writeln!(stderr, "adding up {records} records anew…");
        }
    };
    let found = claim.check(begins).map_err(|e| Environment(e.to_string()))?;
    let named = |count: u64, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
    let held = format!("{}, {}", named(found.records, "record"), named(found.tasks, "task"));
    if found.differed > 0 {
        anyhow::bail!("{held}: {} differed and were put right", named(found.differed, "sum"));
    }
    writeln!(std::io::stdout(), "{held}: the sums agree").context("can't write to stdout")
}

async fn room(args: ServeArgs, database: &Path, reach: &Reach) -> anyhow::Result<()> {
    let descriptors = descriptors::raise();
    let tls = args.tls_cert.as_deref().zip(args.tls_key.as_deref()).map(|(cert, key)| Tls::open(cert, key));
    let tls = tls.transpose().map_err(|e| Environment(e.to_string()))?;
    let addr = match args.addr {
        Some(addr) => addr,
        None => Config::load_leniently(reach)?.local_address()?,
    };
    let claim = || Claim::take(database).map_err(|e| Environment(e.to_string()));
    // A room that can't listen leaves the database untouched. For the local room the lock decides, not the port:
    // of two that are started at once, the one without the lock must find the other, not its port taken.
    let before = local::find(database);
    let claimed = args.local.then(claim).transpose()?;
    let listener = match listen(&addr, args.local, tls.is_some(), reach.insecure).await {
        Ok(listener) => listener,
        Err(error) => {
            if claimed.is_some() && matches!(before, Ok(Found::Nobody { stopped: true })) {
                let _ = local::stay_closed(database); // that it was told to end is still so
            }
            return Err(error);
        }
    };
    let at = listener.local_addr().context("the listener has no address")?;
    let claimed = claimed.map_or_else(claim, Ok)?;
    let store =
        Store::open_claimed(claimed, store::Options::default()).map_err(|e| Environment(e.to_string()))?;
    let idle = args.idle.or(args.local.then_some(ALONE.as_secs()));
    let scheme = if tls.is_some() { "https" } else { "http" };
    let notice = Notice {
        address: format!("{scheme}://{}", by_name(at, &args.allow_hosts, tls.is_some())),
        pid: std::process::id(),
        epoch: store.epoch().to_string(),
        opened_at: store.clock().now(),
        idle,
        background: args.local,
        stopped: false,
    };
    local::announce(database, &notice).context("the lock can't be written")?;
    let stopped = on_signal({
        let (database, notice) = (database.to_owned(), Notice { stopped: true, ..notice });
        move || {
            let _ = local::announce(&database, &notice); // only those who would start it anew are told less
        }
    })?;
    if let Some(tls) = &tls {
        renew_on_hangup(tls.clone())?;
    }
    if args.local {
        keep_log(&Folders::find(&Surroundings::real())?.room_log());
        let _ = std::env::set_current_dir("/"); // the folder that it was started in may go
    }
    let descriptors = descriptors.map_or_else(|| "any number".to_owned(), |most| most.to_string());
    tracing::info!(%at, database = %database.display(), descriptors, "the room is open");
    let mut out = std::io::stdout();
    writeln!(out, "listening on {scheme}://{at}")
        .and_then(|()| out.flush())
        .context("can't write to stdout")?;
    let options = server::Options {
        allow_hosts: args.allow_hosts,
        allow_origins: args.allow_origins,
        idle: idle.map(Duration::from_secs),
        rate: args.rate.0,
        tls,
        ..server::Options::default()
    };
    server::serve(listener, store, options, stopped).await?;
    tracing::info!("the room is closed");
    Ok(())
}

/// The address for those on this machine: with TLS by the name that the certificate is for, if one was told.
fn by_name(at: SocketAddr, names: &[String], encrypted: bool) -> String {
    match names.first().filter(|_| encrypted) {
        Some(name) if name.contains(':') => name.clone(),
        Some(name) => format!("{name}:{}", at.port()),
        None => reachable(at).to_string(),
    }
}

fn reachable(at: SocketAddr) -> SocketAddr {
    let ip = match at.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, at.port())
}

/// Sends what goes to stderr into a file of the user's alone from now on; nobody reads the local room's stderr.
fn keep_log(path: &Path) {
    /// The log of before makes room from this size on, in bytes.
    const LONG: u64 = 4 * 1024 * 1024;
    let open = || {
        if let Some(folder) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        if std::fs::metadata(path).is_ok_and(|log| log.len() > LONG) {
            std::fs::rename(path, path.with_extension("log.old"))?;
        }
        OpenOptions::new().append(true).create(true).mode(0o600).open(path)
    };
    // A room without a log is better than none.
    let log = open().or_else(|_| OpenOptions::new().write(true).open("/dev/null"));
    if let Ok(log) = log {
        let _ = rustix::stdio::dup2_stderr(log);
    }
}

/// Binds the first of `addr`'s addresses that this machine has. Only loopback ones, unless `encrypted` or
/// `insecure`: without TLS, tokens and what teams write cross a network in the clear.
async fn listen(addr: &str, local: bool, encrypted: bool, insecure: bool) -> anyhow::Result<TcpListener> {
    let found = addresses(addr)?;
    let open = found.iter().find(|a| !a.ip().is_loopback()).filter(|_| !encrypted);
    if let Some(open) = open.filter(|_| insecure) {
        tracing::warn!(address = %open.ip(), "other machines reach this room in the clear, keys included");
    } else if let Some(open) = open {
        let port = open.port();
        return Err(Environment(format!(
            "--addr {addr}: {} can be reached from other machines, and this room has no TLS to protect its keys; \
             give it a certificate with --tls-cert and --tls-key, or use --addr 127.0.0.1:{port} and a tunnel or a \
             reverse proxy with TLS for others, or --insecure to do without",
            open.ip()
        ))
        .into());
    }
    let mut last = None;
    for address in &found {
        match bind(address, local).await {
            Ok(listener) => return Ok(listener),
            // A name may stand for an address of a family that this machine does without.
            Err(error) if error.kind() == ErrorKind::AddrNotAvailable => last = Some((address, error)),
            Err(error) if local && error.kind() == ErrorKind::AddrInUse => {
                return Err(Environment(taken(address)).into());
            }
            Err(error) => return Err(Environment(cannot_listen(address, &error)).into()),
        }
    }
    let why = last.map_or_else(
        || format!("--addr {addr} names no address to listen on; try 127.0.0.1:7766"),
        |(address, error)| cannot_listen(address, &error),
    );
    Err(Environment(why).into())
}

/// A local room whose database was taken away lets go of its port within a second: its successor waits for that.
async fn bind(address: &SocketAddr, local: bool) -> std::io::Result<TcpListener> {
    const LETS_GO: Duration = Duration::from_millis(1500);
    let until = Instant::now() + LETS_GO;
    loop {
        match TcpListener::bind(address).await {
            Err(error) if local && error.kind() == ErrorKind::AddrInUse && Instant::now() < until => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            bound => return bound,
        }
    }
}

/// Somebody else has the local room's port: it may be anybody, so no key goes there.
fn taken(address: &SocketAddr) -> String {
    let free = address.port().checked_add(1).unwrap_or(7766);
    format!(
        "port {} is taken by another program, so this machine's own room can't open there, and no key was sent; \
         if it is a room of yours, name it: --server http://{address}; \
         else choose another port: PRICKLE_LOCAL_PORT={free}, or local_port = {free} in config.toml",
        address.port()
    )
}

/// Whether this machine's own room listens there.
fn is_own(address: &SocketAddr) -> bool {
    let database = Folders::find(&Surroundings::real()).map(|folders| folders.database());
    let found = database.ok().and_then(|database| local::find(&database).ok());
    matches!(found, Some(Found::Room(notice)) if notice.address.ends_with(&format!("//{address}")))
}

fn cannot_listen(address: &SocketAddr, error: &std::io::Error) -> String {
    let (host, port) = (address.ip(), address.port());
    let host = if host.is_ipv6() { format!("[{host}]") } else { host.to_string() };
    let cause = match error.kind() {
        ErrorKind::AddrInUse if is_own(address) => {
            format!("this machine's own room has port {port}; prickle serve --stop closes it, or")
        }
        ErrorKind::AddrInUse => format!("port {port} is taken by another program, perhaps by another room;"),
        ErrorKind::PermissionDenied => format!("only the system's administrator may use port {port};"),
        _ => format!("{error};"),
    };
    let free = if port < 1024 { 7766 } else { port.checked_add(1).unwrap_or(7766) };
    format!(
        "can't listen on {address}: {cause} choose another port with --addr {host}:{free}, \
         or let the system choose one with --addr {host}:0"
    )
}

/// Reads the certificate anew at each SIGHUP: it is renewed while the room runs. A bad one changes nothing.
fn renew_on_hangup(tls: Tls) -> anyhow::Result<()> {
    let mut hangup = signal(SignalKind::hangup()).context("can't wait for SIGHUP")?;
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            match tls.reload() {
                Ok(()) => tracing::info!("SIGHUP: the certificate was read anew"),
                Err(error) => tracing::warn!("SIGHUP: the room keeps its certificate, as {error}"),
            }
        }
    });
    Ok(())
}

/// Cancelled by SIGTERM and SIGINT, after `first` was done: both are the wish of whoever runs the room, so the exit
/// code is 0.
fn on_signal(first: impl FnOnce() + Send + 'static) -> anyhow::Result<CancellationToken> {
    let mut term = signal(SignalKind::terminate()).context("can't wait for SIGTERM")?;
    let mut int = signal(SignalKind::interrupt()).context("can't wait for SIGINT")?;
    let stopped = CancellationToken::new();
    let stop = stopped.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = term.recv() => tracing::info!("SIGTERM: closing the room"),
            _ = int.recv() => tracing::info!("SIGINT: closing the room"),
        }
        first();
        stop.cancel();
    });
    Ok(stopped)
}
