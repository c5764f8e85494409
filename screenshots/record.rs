//! Records the rooms that the pictures and the screen tests show: the demo's cast in a real room, watched by the
//! real client, with the room's clock set to one afternoon; then the room ends, and the watch goes offline.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use chrono::{TimeDelta, Utc};
use prickle::client::feed::{Feed, Options};
use prickle::client::recording::{Header, Recorder};
use prickle::demo::{Demo, cast};
use prickle::picture::{Heard, News};
use prickle::wire::Time;

/// When the pictures are taken, by the room's clock.
pub const NOON: &str = "2026-11-30T14:32:07Z";

/// Writes both recordings, in place of old ones.
pub fn run(room: &Path, empty: &Path) -> anyhow::Result<()> {
    tokio::runtime::Runtime::new()?.block_on(async {
        full(room).await?;
        nobody(empty).await
    })
}

fn recorder(path: &Path) -> anyhow::Result<Recorder> {
    if path.exists() {
        std::fs::remove_file(path)?;
    }
    let header = Header { project: cast::PROJECT.into(), owner: Some(cast::OWNER.into()) };
    Ok(Recorder::create(path, &header)?)
}

async fn full(path: &Path) -> anyhow::Result<()> {
    let ahead = NOON.parse::<Time>()? - Utc::now();
    let demo = Demo::open(ahead).await?;
    let mut recorder = recorder(path)?;
    let mut feed = Feed::spawn(demo.source(), cast::PROJECT.parse()?, Options::default());
    // The recording is in the room's time, as if the watcher's clock had agreed with it.
    let mut next = async |feed: &mut Feed| -> anyhow::Result<Heard> {
        let mut heard = feed.next().await.context("the feed ended")?;
        heard.at += ahead;
        recorder.append(&heard)?;
        Ok(heard)
    };
    while !matches!(next(&mut feed).await?.news, News::Recent { .. }) {}
    tokio::time::sleep(Duration::from_secs(5)).await;
    demo.end().await?;
    let mut waits = TimeDelta::zero();
    while waits < TimeDelta::seconds(8) {
        if let News::Lost { retry_in, .. } = next(&mut feed).await?.news {
            waits = TimeDelta::from_std(retry_in)?.max(waits) * 2;
        }
    }
    Ok(())
}

async fn nobody(path: &Path) -> anyhow::Result<()> {
    use prickle::rules::{Kind, Scope};
    use prickle::server::clock::Clock;
    use prickle::server::store::keys::{Holder, KeyStore, NewKey};
    use prickle::server::store::{self, Store};

    let folder = tempfile::tempdir()?;
    let database = folder.path().join("room.db");
    let clock = Clock::default();
    let ahead = NOON.parse::<Time>()? - Utc::now();
    clock.set_offset(ahead);
    let store = Store::open(&database, store::Options { clock, ..store::Options::default() })?;
    let key = NewKey {
        kind: Kind::Person,
        holder: Holder::Owner(cast::OWNER.parse()?),
        scope: Scope::Some([cast::PROJECT.parse()?].into()),
        task: None,
        label: None,
    };
    let token = KeyStore::open(&database)?.create(&key, Utc::now())?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let access = prickle::client::Access::new(
        format!("http://{}", listener.local_addr()?).parse()?,
        token.as_str().parse()?,
    );
    let stop = tokio_util::sync::CancellationToken::new();
    let room = tokio::spawn(prickle::server::serve(
        listener,
        store,
        prickle::server::Options::default(),
        stop.clone(),
    ));
    let mut recorder = recorder(path)?;
    let mut feed =
        Feed::spawn(Arc::new(move || Ok(access.clone())), cast::PROJECT.parse()?, Options::default());
    loop {
        let mut heard = feed.next().await.context("the feed ended")?;
        heard.at += ahead;
        recorder.append(&heard)?;
        if matches!(heard.news, News::Recent { .. }) {
            break;
        }
    }
    drop(feed);
    stop.cancel();
    room.await??;
    Ok(())
}
