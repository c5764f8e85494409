//! The feed: one WebSocket a watcher, told everything that happens in a project from where it left off.
//!
//! A connection is three things at once: `hear` waits for signs of life, `tell` says what there is to say,
//! `dismissed` waits for a reason to end it. The first that is over ends all three.

mod ear;
mod parts;
mod voice;

use std::io;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch as latest;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout, timeout_at};

use self::ear::Ear;
use self::voice::{Frame, Voice};
use super::Room;
use super::auth::{Signed, project};
use super::problem::Problem;
use super::store::{Behind, Picture, RunSent, Start, Subscription};
use crate::rules::{self, Caller};
use crate::wire::feed::FRAME_MAX;
use crate::wire::id::Slug;

/// What is said before it is sent, in bytes, and read of old events at a time: what goes out together.
const TOGETHER: usize = 64 * 1024;

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
    mut request: Request,
) -> Result<Response, Problem> {
    let name = name.map(|Path(name)| name).unwrap_or_default();
    let project = project(&room, &caller, &name).await?;
    // A place that can't be read is no place: the watcher gets the whole picture.
    let after = asked.ok().and_then(|Query(asked)| place(&asked.after?));
    let answer = upgraded(&request).ok_or_else(|| {
        Problem::new(StatusCode::UPGRADE_REQUIRED, "A feed is a WebSocket: ask for an upgrade to one.")
    })?;
    let upgrade = hyper::upgrade::on(&mut request);
    let place = room.limits.feed(&caller.owner)?;
    let tasks = room.stop.tasks.clone();
    tasks.spawn(async move {
        let _place = place;
        match upgrade.await {
            Ok(socket) => watch(socket, room, caller, project, after).await,
            Err(error) => tracing::debug!(%error, %project, "the watcher went before its feed began"),
        }
    });
    Ok(answer)
}

/// The answer that begins a WebSocket, if the request asks for one and its connection can become one.
fn upgraded(request: &Request) -> Option<Response> {
    request.extensions().get::<OnUpgrade>()?;
    tungstenite::handshake::server::create_response_with_body(request, Body::empty).ok()
}

fn place(text: &str) -> Option<(String, u64)> {
    let (epoch, seq) = text.rsplit_once('.')?;
    Some((epoch.to_owned(), seq.parse().ok()?))
}

/// Why a feed ends.
#[derive(Debug, Clone, Copy)]
enum End {
    /// The watcher said goodbye.
    Left,
    /// Its connection broke.
    Gone,
    /// Not a sign of life for too long.
    Silent,
    /// The room ends it: the close code and what it says.
    Closed(u16, &'static str),
}

impl End {
    /// Why, as the metrics name it.
    fn reason(self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::Gone => "gone",
            Self::Silent => "silent",
            Self::Closed(4401, _) => "revoked",
            Self::Closed(1012, _) => "restarting",
            Self::Closed(..) => "later",
        }
    }
}

/// Its key is no longer good.
const REVOKED: End = End::Closed(4401, "the key was revoked");
/// The room stops.
const RESTARTING: End = End::Closed(1012, "the room restarts");
/// There are as many watchers as the room can tell.
const LATER: End = End::Closed(1013, "try again later");

async fn watch(
    socket: Upgraded,
    room: Room,
    caller: Arc<Caller>,
    project: Slug,
    after: Option<(String, u64)>,
) {
    let (read, write) = tokio::io::split(TokioIo::new(socket));
    let (mut ear, mut voice) = (Ear::new(read), Voice::new(write));
    // Only the newest answer counts: a watcher that asks often and reads nothing fills no queue.
    let (answer, answers) = latest::channel(Vec::new());
    let teller = Teller { room: &room, caller: &caller, project: &project };
    let end = tokio::select! {
        end = hear(&mut ear, &answer, &room) => end,
        end = teller.tell(&mut voice, answers, after) => end,
        end = dismissed(&room, caller.key) => end,
    };
    tracing::info!(%project, key = caller.key, ?end, "feed ended");
    room.metrics().feed_ended(end.reason());
    let reply = Frame::Control(answer.borrow().as_slice().into());
    let _ = timeout(room.options.farewell, async {
        match end {
            End::Gone | End::Silent => return Ok(()), // nobody to say it to
            End::Left => voice.end(reply).await?,
            End::Closed(code, reason) => {
                voice.end(Frame::close(code, reason)).await?;
                // Until the watcher has answered: to close on unread bytes of its would take our close frame
                // with it.
                while !ear.hear().await?.over {}
            }
        }
        voice.hang_up().await
    })
    .await;
}

/// Hears a watcher until it leaves or falls silent. What it says means nothing but that it lives.
async fn hear(ear: &mut Ear<impl AsyncRead + Unpin>, answers: &latest::Sender<Vec<u8>>, room: &Room) -> End {
    let silence = room.options.silence;
    loop {
        let until = Instant::now() + silence;
        match timeout_at(until, ear.hear()).await {
            Ok(Ok(heard)) => {
                let over = heard.over;
                if over || !heard.answer.is_empty() {
                    answers.send_replace(heard.answer);
                }
                if over {
                    return End::Left;
                }
            }
            Ok(Err(_)) => return End::Gone,
            // The room itself stood still: what the watcher said meanwhile, or would have, is still to come. To
            // let all of them go at once would only call for a storm.
            Err(_) if until.elapsed() > silence / 5 => {}
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
            return REVOKED;
        }
        tokio::select! {
            () = room.stop.soon.cancelled() => return RESTARTING,
            changed = reread.changed() => if changed.is_err() { return RESTARTING },
        }
    }
}

/// What a watcher is told, and in which order.
struct Teller<'a> {
    room: &'a Room,
    caller: &'a Caller,
    project: &'a Slug,
}

impl Teller<'_> {
    async fn tell<W: AsyncWrite + Unpin>(
        &self,
        voice: &mut Voice<W>,
        answers: latest::Receiver<Vec<u8>>,
        after: Option<(String, u64)>,
    ) -> End {
        let Ok(_one_of_so_many) = self.room.watchers.try_acquire() else { return LATER };
        match self.told(voice, answers, after).await {
            Ok(end) => end,
            Err(_broken) => End::Gone,
        }
    }

    async fn told<W: AsyncWrite + Unpin>(
        &self,
        voice: &mut Voice<W>,
        mut answers: latest::Receiver<Vec<u8>>,
        after: Option<(String, u64)>,
    ) -> io::Result<End> {
        let after = after.as_ref().map(|(epoch, seq)| (epoch.as_str(), *seq));
        let mut place = self.room.store.subscribe(self.project, after);
        voice.say(hello(&place));
        self.room.metrics().frames.add(1);
        if let Start::Snapshot(picture) = &place.start {
            self.show(voice, picture).await?;
        }
        let mut refusing = self.room.store.refusing();
        if refusing.borrow_and_update().is_some() {
            voice.say(state(*refusing.borrow()));
        }
        voice.flush().await?;
        let period = self.room.options.ping;
        let mut ping = interval_at(Instant::now() + period, period);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let sees_runs = rules::reads_runs(self.caller);
        loop {
            let went = tokio::select! {
                texts = place.events.next(TOGETHER) => texts.map(|texts| {
                    self.room.metrics().frames.add(texts.len());
                    texts.into_iter().for_each(|text| voice.say(Frame::Text(text)));
                }),
                run = place.runs.recv(), if sees_runs => match run {
                    Ok(run) => { self.run(voice, run); Ok(()) }
                    Err(RecvError::Lagged(_)) => Err(Behind),
                    // Its sender is the room that `place.events` holds.
                    Err(RecvError::Closed) => return Ok(RESTARTING),
                },
                Ok(()) = answers.changed() => {
                    voice.say(Frame::Control(answers.borrow_and_update().as_slice().into()));
                    Ok(())
                }
                Ok(()) = refusing.changed() => {
                    voice.say(state(*refusing.borrow_and_update()));
                    Ok(())
                }
                _ = ping.tick() => { voice.say(Frame::ping()); Ok(()) }
            };
            if let Err(Behind) = went {
                self.room.metrics().lags.add(1);
                // The room as it is now, instead of everything in between. It also says to read records anew.
                place = self.room.store.subscribe(self.project, None);
                if let Start::Snapshot(picture) = &place.start {
                    self.show(voice, picture).await?;
                }
            }
            voice.flush().await?;
        }
    }

    /// The whole room, part by part; what comes last is still to be flushed.
    async fn show<W: AsyncWrite + Unpin>(
        &self,
        voice: &mut Voice<W>,
        picture: &Arc<Picture>,
    ) -> io::Result<()> {
        for frame in parts::frames(Arc::clone(picture), self.room.options.part_size.min(FRAME_MAX)) {
            voice.say(frame);
            self.room.metrics().frames.add(1);
            if voice.waiting() >= TOGETHER {
                voice.flush().await?;
            }
        }
        Ok(())
    }

    fn run<W: AsyncWrite + Unpin>(&self, voice: &mut Voice<W>, run: RunSent) {
        if run.owner == self.caller.owner {
            voice.say(Frame::Text(run.text));
            self.room.metrics().frames.add(1);
        }
    }
}

/// How the room itself is: whether it takes reports.
fn state(refusing: Option<&str>) -> Frame {
    Frame::Text(serde_json::json!({ "type": "room", "refusing": refusing }).to_string().into())
}

fn hello(place: &Subscription) -> Frame {
    let hello = serde_json::json!({
        "type": "hello",
        "epoch": &*place.epoch,
        "seq": place.seq,
        "server_time": place.server_time,
        "resumed": matches!(place.start, Start::Resumed),
    });
    Frame::Text(hello.to_string().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_an_epoch_and_a_number() {
        assert_eq!(place("ab.c.12"), Some(("ab.c".into(), 12)));
        for none in ["", "12", "ab.", "ab.x", "ab.-1", "ab.99999999999999999999"] {
            assert_eq!(place(none), None, "{none}");
        }
    }
}
