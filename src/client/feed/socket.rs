//! One connection to a room's feed, from its first packet to its last.

use std::time::Duration;

use chrono::Utc;
use futures_util::{FutureExt, SinkExt, StreamExt};
use reqwest::header::{AUTHORIZATION, HeaderValue, RETRY_AFTER, USER_AGENT};
use rustls::pki_types::ServerName;
use serde::Deserialize;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Bytes, Error, Message, Utf8Bytes};
use tokio_util::either::Either;

use super::order::{Broken, Order};
use super::{Options, Out};
use crate::client::Access;
use crate::client::http::{AGENT, Http};
use crate::client::words::{self, Trouble};
use crate::picture::News;
use crate::wire::Time;
use crate::wire::feed::{FRAME_MAX, Frame, OtherFrame};
use crate::wire::id::Slug;
use crate::wire::pulse::Pulse;

type Socket = WebSocketStream<Either<TcpStream, TlsStream<TcpStream>>>;

/// Events that follow one within this time are read together, a little more often than a screen is drawn: to be woken
/// for each of a thousand a second costs more than they do. The first one after a silence waits for nothing.
const GATHER: Duration = Duration::from_millis(12);
/// So many in that time are a rush, of which nobody reads each: in it more is gathered.
const RUSH: u32 = 8;
/// The time in a rush.
const RUSH_GATHER: Duration = Duration::from_millis(48);
/// So many at once are a flood, which is read as fast as it comes.
const FLOOD: u32 = 64;

/// When to look for what follows an event.
#[derive(Default)]
struct Pace {
    /// How many came since the last look, and until when they gather.
    gathering: Option<(u32, Instant)>,
    rush: bool,
}

impl Pace {
    /// An event has come.
    fn event(&mut self) {
        let time = if self.rush { RUSH_GATHER } else { GATHER };
        let (events, _) = self.gathering.get_or_insert_with(|| (0, Instant::now() + time));
        *events += 1;
    }

    /// The next message, whether it has come already or is still to come.
    async fn next(&mut self, socket: &mut Socket) -> Option<Result<Message, Error>> {
        if let Some((events, until)) = self.gathering {
            if let Some(message) = socket.next().now_or_never() {
                return message;
            }
            if events < FLOOD {
                tokio::time::sleep_until(until).await;
            }
            self.gathering = None;
            self.rush = events >= RUSH;
        }
        socket.next().await
    }
}

/// When the room was last heard, by the watcher's clock.
#[derive(Debug, Default)]
pub(super) struct Life {
    heard: Option<Time>,
    /// When we last listened.
    awake: Option<Time>,
    /// We have slept, or were stopped: what waited for us meanwhile says nothing of now, only an answer does.
    slept: bool,
}

impl Life {
    pub(super) fn heard_at(&self) -> Option<Time> {
        self.heard
    }

    /// We listen again, as we do at least once in the time after which a connection counts as dead.
    fn wakes(&mut self, options: &Options) {
        let now = Utc::now();
        let long = |last: Time| (now - last).to_std().is_ok_and(|gap| gap >= options.dead);
        self.slept |= self.awake.replace(now).is_some_and(long);
    }

    /// The room was heard; `answer`: to what we had just asked.
    fn hears(&mut self, answer: bool) {
        self.slept &= !answer;
        if !self.slept {
            self.heard = self.awake;
        }
    }
}

/// Why a connection ended, or was none.
pub(super) enum End {
    /// Nobody listens to the news any more.
    Gone,
    /// Something was left out: a new picture is needed.
    Gap,
    /// It may come back by itself.
    Lost(String),
    /// It may, but not before this time.
    Later(String, Duration),
    /// It will not.
    Refused(String),
}

impl From<Trouble> for End {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Lost(why) => Self::Lost(why),
            Trouble::Key(why) | Trouble::Refused(why) => Self::Refused(why),
        }
    }
}

/// Connects and tells what the room says until the connection ends. Also says how long it stood.
pub(super) async fn visit(
    access: &Access,
    project: &Slug,
    options: &Options,
    order: &mut Order,
    out: &Out,
    life: &mut Life,
) -> (End, Option<Duration>) {
    order.begin();
    let connecting = connect(access, project, order.after());
    let mut socket = match tokio::time::timeout(options.connect, connecting).await {
        Ok(Ok(socket)) => socket,
        // A room that was known will be itself again: a certificate is renewed, a hotel's sign-in page gives way.
        Ok(Err(Failure::Untrusted(why))) if order.after().is_some() => return (End::Lost(why), None),
        Ok(Err(failure)) => return (explain(failure, access, project, options).await, None),
        Err(_) => return (End::Lost(format!("no answer for {}", words::length(options.connect))), None),
    };
    let since = Instant::now();
    let end = listen(&mut socket, (access, project), options, order, out, life).await;
    if matches!(end, End::Gone | End::Gap | End::Lost(_)) {
        // A word of farewell where the room still hears it; it may take no time.
        let _ = tokio::time::timeout(Duration::from_millis(100), socket.close(None)).await;
    }
    (end, Some(since.elapsed()))
}

/// Why no connection came about.
enum Failure {
    Words(String),
    /// What answers can't show that it is the room.
    Untrusted(String),
    Handshake(Error),
}

async fn connect(access: &Access, project: &Slug, after: Option<String>) -> Result<Socket, Failure> {
    let (host, port) = access.server.target();
    let addresses: Vec<_> = match tokio::net::lookup_host((host.as_str(), port)).await {
        Ok(found) => found.collect(),
        Err(_) => return Err(Failure::Words(format!("the name {host} is not known"))),
    };
    let stream = TcpStream::connect(addresses.as_slice()).await.map_err(|e| Failure::Words(words::io(&e)))?;
    let _ = stream.set_nodelay(true);
    let stream = if access.server.is_encrypted() {
        let name = ServerName::try_from(host.clone())
            .map_err(|_| Failure::Words(format!("{host} is no name that a certificate could be for")))?;
        let connector = TlsConnector::from(access.trust.config().map_err(Failure::Untrusted)?);
        let stream = connector.connect(name, stream).await;
        Either::Right(stream.map_err(|e| match words::distrust(&e) {
            Some(why) => Failure::Untrusted(why),
            None => Failure::Words(words::io(&e)),
        })?)
    } else {
        Either::Left(stream)
    };
    let mut url = access.server.socket_url(&format!("/v1/projects/{project}/feed"));
    if let Some(after) = after {
        url = format!("{url}?after={after}");
    }
    let mut request = url.into_client_request().map_err(Failure::Handshake)?;
    request.headers_mut().insert(AUTHORIZATION, access.token.header());
    request.headers_mut().insert(USER_AGENT, HeaderValue::from_static(AGENT));
    // A room keeps to FRAME_MAX; four times that is room for a newer one without being a way to fill memory.
    let config = WebSocketConfig::default()
        .read_buffer_size(32 * 1024)
        .max_message_size(Some(4 * FRAME_MAX))
        .max_frame_size(Some(4 * FRAME_MAX));
    let (socket, _) = tokio_tungstenite::client_async_with_config(request, stream, Some(config))
        .await
        .map_err(Failure::Handshake)?;
    Ok(socket)
}

/// Says what a failed connection means. A room that does not show the project is asked which it would.
async fn explain(failure: Failure, access: &Access, project: &Slug, options: &Options) -> End {
    let answer = match failure {
        Failure::Words(why) => return End::Lost(why),
        Failure::Untrusted(why) => return End::Refused(words::untrusted(access, &why)),
        Failure::Handshake(Error::Http(answer)) => answer,
        Failure::Handshake(error) => return End::Lost(words::socket(&error)),
    };
    let status = answer.status().as_u16();
    if status == 404 {
        let http = Http::new(access, options.connect);
        return match http {
            Ok(http) => http.missing(project).await.into(),
            Err(error) => End::Lost(error.to_string()),
        };
    }
    let body = answer.body().as_deref().unwrap_or_default();
    let later = answer.headers().get(RETRY_AFTER).and_then(|value| words::retry_after(value.to_str().ok()?));
    match (words::status(status, body, access, Some(project.as_str())).into(), later) {
        (End::Lost(why), Some(wait)) => End::Later(why, wait),
        (end, _) => end,
    }
}

async fn listen(
    socket: &mut Socket,
    (access, project): (&Access, &Slug),
    options: &Options,
    order: &mut Order,
    out: &Out,
    life: &mut Life,
) -> End {
    let mut ping = tokio::time::interval_at(Instant::now() + options.ping, options.ping);
    ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut dead = Instant::now() + options.dead;
    let mut pace = Pace::default();
    loop {
        tokio::select! {
            // In this order: a flood of messages must not silence us, and what has come already counts more
            // than that it came late (the whole process may have been stopped).
            biased;
            _ = ping.tick() => {
                life.wakes(options);
                let sent = tokio::time::timeout_at(dead, socket.send(Message::Ping(Bytes::new()))).await;
                if let Ok(Err(error)) = sent {
                    return End::Lost(words::socket(&error));
                }
            }
            message = pace.next(socket) => {
                life.wakes(options);
                let text = match message {
                    Some(Ok(Message::Text(text))) => {
                        life.hears(false);
                        text
                    }
                    Some(Ok(Message::Close(frame))) => {
                        return words::close(frame.as_ref(), access, project.as_str()).into();
                    }
                    Some(Ok(Message::Binary(_))) => {
                        return End::Lost("the room sent something that is no frame of a pulse feed".into());
                    }
                    Some(Ok(sign)) => {
                        life.hears(matches!(sign, Message::Pong(_)));
                        dead = Instant::now() + options.dead;
                        continue;
                    }
                    Some(Err(error)) => return End::Lost(words::socket(&error)),
                    None => return End::Lost("the connection broke off".into()),
                };
                match tell(text, options, order, out).await {
                    Ok(true) => pace.event(),
                    Ok(false) => {}
                    Err(end) => return end,
                }
                // Counted from when we were ready to listen, not from when the room spoke: while the
                // reader keeps us waiting, the silence is ours.
                dead = Instant::now() + options.dead;
            }
            () = tokio::time::sleep_until(dead) => {
                return End::Lost(format!("no answer for {}", words::length(options.dead)));
            }
        }
    }
}

/// Tells what a frame means, and whether it was an event of the room.
async fn tell(text: Utf8Bytes, options: &Options, order: &mut Order, out: &Out) -> Result<bool, End> {
    let frame = read(&text).map_err(End::Lost)?;
    let event = frame.seq().is_some();
    out.frame(&text).await.map_err(|_| End::Gone)?;
    let mut news: Vec<News> = Vec::new();
    let kept = order.hear(frame, text.len(), &mut news);
    for news in news {
        out.tell(news).await.map_err(|_| End::Gone)?;
    }
    kept.map(|()| event).map_err(|broken| match broken {
        Broken::Gap => End::Gap,
        // It would come again as it is.
        Broken::TooLarge => End::Refused(format!(
            "the room's picture has more than {} MiB, which is more than is taken in; ask who runs the room",
            options.picture_max >> 20
        )),
        Broken::NoHello => End::Lost("what answers there did not greet like a prickle room".into()),
    })
}

/// Reads a frame. One odd pulse must not cost a watcher the rest of the room: in a picture it is left out, and
/// an event that can't be read is kept as one of an unknown type, by its number.
fn read(text: &str) -> Result<Frame, String> {
    let frame = Frame::parse(text).ok().or_else(|| {
        let mut value: Value = serde_json::from_str(text).ok()?;
        match value.get("type")?.as_str()? {
            "snapshot" => {
                let pulses = value.get_mut("pulses")?.as_array_mut()?;
                pulses.retain(|pulse| Pulse::deserialize(pulse).is_ok());
                serde_json::from_value(value).ok()
            }
            "pulse" | "gone" => {
                let other: OtherFrame = serde_json::from_value(value).ok()?;
                other.seq.is_some().then(|| Frame::Other(Box::new(other)))
            }
            _ => None,
        }
    });
    frame.ok_or_else(|| "the room sent something that is no frame of a pulse feed".to_owned())
}
