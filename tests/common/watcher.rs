//! A plain watcher of a room's feed.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::StreamExt;
use prickle::wire::feed::FRAME_MAX;
use serde_json::Value;
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

use super::PATIENCE;
use super::caller::Caller;

/// One open feed.
pub struct Watcher {
    pub socket: WebSocketStream<TcpStream>,
    /// Pings heard so far.
    pub pings: usize,
    /// Bytes of the last frame.
    pub last: usize,
}

/// What a feed says next.
#[derive(Debug)]
pub enum Heard {
    Frame(Value),
    Closed(u16),
    /// The connection ended without a close frame.
    Cut,
}

/// The first frames of a feed that was not resumed, put together.
#[derive(Debug)]
pub struct Picture {
    pub epoch: String,
    pub seq: u64,
    pub pulses: Vec<Value>,
    pub parts: usize,
    pub recent: Vec<Value>,
}

impl Watcher {
    /// Opens a feed; fails with the room's status where it refuses.
    pub async fn open(room: &Caller, token: &str, project: &str, after: Option<&str>) -> Result<Self, u16> {
        Self::open_slow(room, token, project, after, None).await
    }

    /// Opens a feed on a socket that takes in only about `receive_buffer` bytes unread.
    pub async fn open_slow(
        room: &Caller,
        token: &str,
        project: &str,
        after: Option<&str>,
        receive_buffer: Option<u32>,
    ) -> Result<Self, u16> {
        let host = room.url.strip_prefix("http://").unwrap();
        let query = after.map(|after| format!("?after={after}")).unwrap_or_default();
        let mut request =
            format!("ws://{host}/v1/projects/{project}/feed{query}").into_client_request().unwrap();
        if !token.is_empty() {
            request.headers_mut().insert("Authorization", format!("Bearer {token}").parse().unwrap());
        }
        let socket = TcpSocket::new_v4().unwrap();
        if let Some(bytes) = receive_buffer {
            socket.set_recv_buffer_size(bytes).unwrap();
        }
        // A room that has just gone is not there: the caller decides whether it waits for it.
        let Ok(stream) = socket.connect(host.parse::<SocketAddr>().unwrap()).await else { return Err(0) };
        match client_async(request, stream).await {
            Ok((socket, _)) => Ok(Self { socket, pings: 0, last: 0 }),
            Err(Error::Http(answer)) => Err(answer.status().as_u16()),
            Err(_) => Err(0),
        }
    }

    /// The next frame or the end; pings are answered and counted on the way.
    pub async fn hear(&mut self) -> Heard {
        timeout(PATIENCE, self.listen()).await.expect("the feed says something in time")
    }

    async fn listen(&mut self) -> Heard {
        loop {
            if let Some(heard) = self.message().await {
                return heard;
            }
        }
    }

    /// Waits for the next ping, which must come before anything else is said.
    pub async fn pinged(&mut self) {
        let said = timeout(PATIENCE, self.message()).await.expect("the feed pings in time");
        assert!(said.is_none(), "a ping was expected, not {said:?}");
    }

    /// One message; `None` for a ping, which is counted and gets its answer with the next read.
    async fn message(&mut self) -> Option<Heard> {
        match self.socket.next().await {
            Some(Ok(Message::Text(text))) => {
                assert!(text.len() <= FRAME_MAX, "a frame of {} bytes", text.len());
                self.last = text.len();
                Some(Heard::Frame(serde_json::from_str(&text).unwrap()))
            }
            Some(Ok(Message::Close(Some(close)))) => {
                // Answers the close, as the protocol wants it.
                while let Some(Ok(_)) = self.socket.next().await {}
                Some(Heard::Closed(close.code.into()))
            }
            Some(Ok(Message::Ping(_))) => {
                self.pings += 1;
                None
            }
            Some(Ok(other)) => panic!("the room sent {other:?}"),
            Some(Err(_)) | None => Some(Heard::Cut),
        }
    }

    /// Whether nothing more is said within `time`.
    pub async fn silent_for(&mut self, time: Duration) -> bool {
        timeout(time, self.listen()).await.is_err()
    }

    #[track_caller]
    pub fn frame(&mut self) -> impl Future<Output = Value> {
        let at = std::panic::Location::caller();
        async move {
            match self.hear().await {
                Heard::Frame(frame) => frame,
                other => panic!("{at}: a frame was expected, not {other:?}"),
            }
        }
    }

    /// The code the feed is closed with; frames before it don't matter.
    pub async fn closed(&mut self) -> u16 {
        loop {
            match self.hear().await {
                Heard::Frame(_) => {}
                Heard::Closed(code) => return code,
                Heard::Cut => panic!("cut without a close frame"),
            }
        }
    }

    /// Reads a fresh feed's first frames.
    pub async fn picture(&mut self) -> Picture {
        let hello = self.frame().await;
        assert_eq!(
            (hello["type"].as_str(), hello["resumed"].as_bool()),
            (Some("hello"), Some(false)),
            "{hello}"
        );
        let epoch = hello["epoch"].as_str().unwrap().to_owned();
        let first = self.frame().await;
        let picture = self.rest(epoch, first).await;
        assert_eq!(picture.seq, hello["seq"].as_u64().unwrap());
        picture
    }

    /// Reads a snapshot of which `part` is the first part, and what follows it.
    pub async fn rest(&mut self, epoch: String, mut part: Value) -> Picture {
        let seq = part["seq"].as_u64().unwrap();
        let mut pulses = Vec::new();
        let mut parts = 0;
        loop {
            assert_eq!(part["type"], "snapshot", "{part}");
            assert_eq!((part["seq"].as_u64(), part["part"].as_u64()), (Some(seq), Some(parts as u64)));
            pulses.extend(part["pulses"].as_array().unwrap().iter().cloned());
            parts += 1;
            if part["last"] == true {
                break;
            }
            part = self.frame().await;
        }
        let recent = self.frame().await;
        assert_eq!(recent["type"], "recent", "{recent}");
        let recent = recent["events"].as_array().unwrap().clone();
        Picture { epoch, seq, pulses, parts, recent }
    }

    /// Reads a resumed feed's hello: its epoch and the room's newest event.
    pub async fn resumed(&mut self) -> (String, u64) {
        let hello = self.frame().await;
        assert_eq!(
            (hello["type"].as_str(), hello["resumed"].as_bool()),
            (Some("hello"), Some(true)),
            "{hello}"
        );
        (hello["epoch"].as_str().unwrap().to_owned(), hello["seq"].as_u64().unwrap())
    }

    /// The next frame that is no run's record, which must be the event `seq`.
    pub async fn event_among_runs(&mut self, seq: u64) -> Value {
        loop {
            let frame = self.frame().await;
            if frame["type"] != "run" {
                assert_eq!(
                    (frame["type"].as_str(), frame["seq"].as_u64()),
                    (Some("pulse"), Some(seq)),
                    "{frame}"
                );
                return frame;
            }
        }
    }

    /// The next frame, which must be the event `seq`.
    pub async fn event(&mut self, seq: u64) -> Value {
        let frame = self.frame().await;
        assert_eq!((frame["type"].as_str(), frame["seq"].as_u64()), (Some("pulse"), Some(seq)), "{frame}");
        frame
    }
}
