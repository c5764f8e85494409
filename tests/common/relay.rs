//! A way between a watcher and its room that can be broken in the ways in which networks break.
#![allow(dead_code, clippy::unwrap_used, missing_docs)]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;

/// A relay on a port of its own. Dropping it cuts all that go through it.
pub struct Relay {
    pub address: SocketAddr,
    /// Connections that have begun.
    pub begun: Arc<AtomicUsize>,
    frozen: watch::Sender<bool>,
    cuts: watch::Sender<u64>,
    task: tokio::task::JoinHandle<()>,
}

impl Relay {
    /// To `room`; a connection on which nothing moves for `idle` is cut, as proxies do it.
    pub async fn open(room: SocketAddr, idle: Option<Duration>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let begun = Arc::new(AtomicUsize::new(0));
        let (frozen, freeze) = watch::channel(false);
        let (cuts, cut) = watch::channel(0);
        let count = Arc::clone(&begun);
        let task = tokio::spawn(async move {
            loop {
                let (near, _) = listener.accept().await.unwrap();
                count.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(carry(near, room, idle, freeze.clone(), cut.clone()));
            }
        });
        Self { address, begun, frozen, cuts, task }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// From now on nothing goes through, and nothing says so.
    pub fn freeze(&self) {
        self.frozen.send_replace(true);
    }

    pub fn thaw(&self) {
        self.frozen.send_replace(false);
    }

    /// Cuts every connection that goes through now.
    pub fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }

    pub fn begun(&self) -> usize {
        self.begun.load(Ordering::SeqCst)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.cut();
        self.task.abort();
    }
}

async fn carry(
    near: TcpStream,
    room: SocketAddr,
    idle: Option<Duration>,
    frozen: watch::Receiver<bool>,
    mut cut: watch::Receiver<u64>,
) {
    cut.mark_unchanged();
    let Ok(far) = TcpStream::connect(room).await else { return };
    let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
    let (moved, mut moving) = watch::channel(());
    let still = async {
        let Some(idle) = idle else { return std::future::pending().await };
        while timeout(idle, moving.changed()).await.is_ok() {}
    };
    tokio::select! {
        () = pipe(near_in, far_out, frozen.clone(), &moved) => {}
        () = pipe(far_in, near_out, frozen, &moved) => {}
        _ = cut.changed() => {}
        () = still => {}
    }
}

async fn pipe(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut frozen: watch::Receiver<bool>,
    moved: &watch::Sender<()>,
) {
    let mut bytes = vec![0; 16 * 1024];
    loop {
        let Ok(count @ 1..) = from.read(&mut bytes).await else { return };
        if frozen.wait_for(|frozen| !frozen).await.is_err() || to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
        moved.send_replace(());
    }
}
