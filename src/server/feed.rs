//! The feed: one WebSocket a watcher, told everything that happens in a project from where it left off.
//!
//! A connection is three things at once: `hear` waits for signs of life, `tell` says what there is to say,
//! `dismissed` waits for a reason to end it. The first that is over ends all three.

use std::fmt::Write;
use std::iter::Peekable;
use std::sync::Arc;

use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::time::{MissedTickBehavior, interval_at, timeout};

use super::Room;
use super::auth::{Signed, project};
use super::problem::Problem;
use super::store::{RunSent, Sent, Start, Subscription};
use crate::rules::{self, Caller};
use crate::wire::feed::FRAME_MAX;
use crate::wire::id::Slug;
use crate::wire::pulse::Pulse;

/// Read ahead from a watcher, which says little: the default of 128 KiB would be kept for each.
const READ_BUFFER: usize = 4 * 1024;
/// Largest message of a watcher.
const HEARD_MAX: usize = 16 * 1024;
/// Queued frames go out together from this many bytes on.
const WRITE_BUFFER: usize = 16 * 1024;
/// Unsent bytes of one connection: what is being gathered, one whole frame, and the answers to pings.
const UNSENT_MAX: usize = WRITE_BUFFER + FRAME_MAX + 32 * 1024;

/// Most frames that go out before pings and run records get their turn.
const TOGETHER: usize = 128;

/// Where a watcher left off: `?after=EPOCH.SEQ`.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Asked {
    after: Option<String>,
}

/// `GET /v1/projects/{project}/feed`.
pub(super) async fn feed(
    State(room): State<Room>,
    Signed(caller): Signed,
    name: Result<Path<String>, PathRejection>,
    asked: Result<Query<Asked>, QueryRejection>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    let name = name.map(|Path(name)| name).unwrap_or_default();
    let project = project(&room, &caller, &name).await?;
    // A place that can't be read is no place: the watcher gets the whole picture.
    let after = asked.ok().and_then(|Query(asked)| place(&asked.after?));
    let upgrade = upgrade.map_err(|_| {
        Problem::new(StatusCode::UPGRADE_REQUIRED, "A feed is a WebSocket: ask for an upgrade to one.")
    })?;
    let held = (room.stop.tasks.token(), room.limits.feed(&caller.owner)?);
    Ok(upgrade
        .read_buffer_size(READ_BUFFER)
        .write_buffer_size(WRITE_BUFFER)
        .max_write_buffer_size(UNSENT_MAX)
        .max_message_size(HEARD_MAX)
        .max_frame_size(HEARD_MAX)
        .on_upgrade(async move |socket| {
            watch(socket, room, caller, project, after).await;
            drop(held);
        }))
}

fn place(text: &str) -> Option<(String, u64)> {
    let (epoch, seq) = text.rsplit_once('.')?;
    Some((epoch.to_owned(), seq.parse().ok()?))
}

/// Why a feed ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The watcher went, or its connection did.
    Left,
    /// Not a sign of life for too long.
    Silent,
    /// Its key is no longer good.
    Revoked,
    /// The room stops.
    Restarting,
    /// The room can't tell it anything more now.
    Later,
}

impl End {
    /// The close code and what it says; nothing is said to a watcher that is gone.
    fn close(self) -> Option<(u16, &'static str)> {
        match self {
            Self::Left | Self::Silent => None,
            Self::Revoked => Some((4401, "the key was revoked")),
            Self::Restarting => Some((1012, "the room restarts")),
            Self::Later => Some((1013, "try again later")),
        }
    }
}

async fn watch(
    socket: WebSocket,
    room: Room,
    caller: Arc<Caller>,
    project: Slug,
    after: Option<(String, u64)>,
) {
    let (mut sink, mut stream) = socket.split();
    let teller = Teller { room: &room, caller: &caller, project: &project };
    let end = tokio::select! {
        end = hear(&mut stream, &room) => end,
        end = teller.tell(&mut sink, after) => end,
        end = dismissed(&room, caller.key) => end,
    };
    tracing::info!(%project, key = caller.key, ?end, "feed ended");
    if let Some((code, reason)) = end.close() {
        let close = Message::Close(Some(CloseFrame { code, reason: reason.into() }));
        // Until the watcher has answered: to close on unread bytes of its would take our close frame with it.
        let _ = timeout(room.options.farewell, async {
            sink.send(close).await?;
            while stream.next().await.is_some_and(|heard| heard.is_ok()) {}
            Ok::<(), axum::Error>(())
        })
        .await;
    }
}

/// Hears a watcher until it leaves or falls silent. What it says means nothing but that it lives; pings are
/// answered below this level.
async fn hear(stream: &mut SplitStream<WebSocket>, room: &Room) -> End {
    loop {
        match timeout(room.options.silence, stream.next()).await {
            Ok(Some(Ok(Message::Close(_)) | Err(_)) | None) => return End::Left,
            Ok(Some(Ok(_))) => {}
            Err(_) => return End::Silent,
        }
    }
}

/// Waits until the key is revoked or the room stops.
async fn dismissed(room: &Room, key: i64) -> End {
    let mut reread = room.store.revoked();
    loop {
        reread.mark_unchanged();
        if !room.store.alive(key) {
            return End::Revoked;
        }
        tokio::select! {
            () = room.stop.soon.cancelled() => return End::Restarting,
            changed = reread.changed() => if changed.is_err() { return End::Restarting },
        }
    }
}

/// What a watcher is told, and in which order.
struct Teller<'a> {
    room: &'a Room,
    caller: &'a Caller,
    project: &'a Slug,
}

type Sink = SplitSink<WebSocket, Message>;

/// The watcher has missed frames: the ring is shorter than it was slow.
struct Behind;

impl Teller<'_> {
    async fn tell(&self, sink: &mut Sink, after: Option<(String, u64)>) -> End {
        match self.told(sink, after).await {
            Ok(end) => end,
            Err(_broken) => End::Left,
        }
    }

    async fn told(&self, sink: &mut Sink, after: Option<(String, u64)>) -> Result<End, axum::Error> {
        let after = after.as_ref().map(|(epoch, seq)| (epoch.as_str(), *seq));
        let mut place = self.room.store.subscribe(self.project, after).await;
        self.greet(sink, &place).await?;
        self.begin(sink, &mut place).await?;
        let period = self.room.options.ping;
        let mut ping = interval_at(tokio::time::Instant::now() + period, period);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let sees_runs = rules::reads_runs(self.caller);
        loop {
            let went = tokio::select! {
                next = place.frames.recv() => match next {
                    Ok(first) => self.pulses(sink, first, &mut place).await?,
                    Err(RecvError::Lagged(_)) => Err(Behind),
                    Err(RecvError::Closed) => return Ok(End::Later),
                },
                run = place.runs.recv(), if sees_runs => match run {
                    Ok(run) => self.run(sink, &run).await.map(Ok)?,
                    Err(RecvError::Lagged(_)) => Err(Behind),
                    Err(RecvError::Closed) => return Ok(End::Later),
                },
                _ = ping.tick() => sink.feed(Message::Ping(axum::body::Bytes::new())).await.map(Ok)?,
            };
            if let Err(Behind) = went {
                // The room as it is now, instead of everything in between. It also says to read records anew.
                place = self.room.store.subscribe(self.project, None).await;
                self.begin(sink, &mut place).await?;
            }
            sink.flush().await?;
        }
    }

    async fn greet(&self, sink: &mut Sink, place: &Subscription) -> Result<(), axum::Error> {
        let hello = serde_json::json!({
            "type": "hello",
            "epoch": &*place.epoch,
            "seq": place.seq,
            "server_time": place.server_time,
            "resumed": matches!(place.start, Start::Missed(_)),
        });
        sink.feed(Message::text(hello.to_string())).await
    }

    async fn begin(&self, sink: &mut Sink, place: &mut Subscription) -> Result<(), axum::Error> {
        match std::mem::replace(&mut place.start, Start::Missed(Vec::new())) {
            Start::Missed(frames) => {
                for frame in frames {
                    sink.feed(Message::text(&*frame)).await?;
                }
            }
            Start::Snapshot { seq, pulses, recent } => {
                for part in parts(seq, &pulses, self.room.options.part_size.min(FRAME_MAX)) {
                    sink.feed(Message::text(part)).await?;
                }
                let events = recent.join(",");
                sink.feed(Message::text(format!(r#"{{"type":"recent","events":[{events}]}}"#))).await?;
            }
        }
        sink.flush().await
    }

    /// One pulse, and with it all that has queued up behind it, in as few writes as possible.
    async fn pulses(
        &self,
        sink: &mut Sink,
        first: Sent,
        place: &mut Subscription,
    ) -> Result<Result<(), Behind>, axum::Error> {
        sink.feed(Message::text(&*first.text)).await?;
        for _ in 1..TOGETHER {
            match place.frames.try_recv() {
                Ok(next) => sink.feed(Message::text(&*next.text)).await?,
                Err(TryRecvError::Lagged(_)) => return Ok(Err(Behind)),
                // Closed is heard of again, and ends the feed, once what was fed has been flushed.
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            }
        }
        Ok(Ok(()))
    }

    async fn run(&self, sink: &mut Sink, run: &RunSent) -> Result<(), axum::Error> {
        if run.owner == self.caller.owner {
            sink.feed(Message::text(&*run.text)).await?;
        }
        Ok(())
    }
}

/// A room's pulses as snapshot frames of at most `size` bytes each, but never less than one pulse; at least one
/// frame, also for an empty room.
struct Parts<I: Iterator<Item = String>> {
    seq: u64,
    /// Each pulse as JSON.
    pulses: Peekable<I>,
    part: u32,
    size: usize,
    over: bool,
}

fn parts(seq: u64, pulses: &[Arc<Pulse>], size: usize) -> impl Iterator<Item = String> {
    // Strings, numbers and lists always have a JSON form: no pulse is lost here.
    let pulses = pulses.iter().filter_map(|pulse| serde_json::to_string(pulse).ok()).peekable();
    Parts { seq, pulses, part: 0, size, over: false }
}

impl<I: Iterator<Item = String>> Iterator for Parts<I> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        // Longest end of a frame: `],"part":4294967295,"last":false}`.
        const END: usize = 40;
        if self.over {
            return None;
        }
        let mut frame = format!(r#"{{"type":"snapshot","seq":{},"pulses":["#, self.seq);
        let empty = frame.len();
        loop {
            let room = self.size.saturating_sub(frame.len() + END);
            let Some(pulse) = self.pulses.next_if(|pulse| frame.len() == empty || pulse.len() < room) else {
                break;
            };
            if frame.len() > empty {
                frame.push(',');
            }
            frame.push_str(&pulse);
        }
        self.over = self.pulses.peek().is_none();
        let (part, last) = (self.part, self.over);
        self.part += 1;
        let _ = write!(frame, r#"],"part":{part},"last":{last}}}"#); // writing to a String can't fail
        Some(frame)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn pulses(count: usize, files: usize) -> Vec<Arc<Pulse>> {
        let one = |n: usize| {
            serde_json::from_value(serde_json::json!({
                "agent_id": format!("acme/a{n}"), "owner": "acme", "project": "p", "availability": "working",
                "files": vec!["x".repeat(300); files], "updated_at": "2026-11-30T14:32:00Z",
            }))
        };
        (0..count).map(|n| Arc::new(one(n).unwrap())).collect()
    }

    #[test]
    fn parts_hold_every_pulse_once_within_their_size() {
        for (count, size) in [(0, 1000), (1, 1000), (100, 1000), (100, 100_000), (3, 10)] {
            let parts: Vec<String> = parts(7, &pulses(count, 1), size).collect();
            let mut names = Vec::new();
            for (n, text) in parts.iter().enumerate() {
                let part: serde_json::Value = serde_json::from_str(text).unwrap();
                assert_eq!((part["type"].as_str(), part["seq"].as_u64()), (Some("snapshot"), Some(7)));
                assert_eq!(part["part"], n);
                assert_eq!(part["last"], n + 1 == parts.len());
                let pulses = part["pulses"].as_array().unwrap();
                assert!(text.len() <= size || pulses.len() == 1 || count == 0, "{} of {size}", text.len());
                names.extend(pulses.iter().map(|p| p["agent_id"].as_str().unwrap().to_owned()));
            }
            assert_eq!(names, (0..count).map(|n| format!("acme/a{n}")).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_place_is_an_epoch_and_a_number() {
        assert_eq!(place("ab.c.12"), Some(("ab.c".into(), 12)));
        for none in ["", "12", "ab.", "ab.x", "ab.-1", "ab.99999999999999999999"] {
            assert_eq!(place(none), None, "{none}");
        }
    }
}
