//! What comes from a watcher. It means nothing but that the watcher lives: only the protocol's own questions
//! (a ping, a close) want an answer.

use std::collections::VecDeque;
use std::io::{self, Read, Write};

use tokio::io::{AsyncRead, AsyncReadExt};
use tungstenite::protocol::{Role, WebSocket, WebSocketConfig};
use tungstenite::{Error, Message};

/// Read at a time from a watcher, which says little: a larger buffer would be kept for each.
const READ_BUFFER: usize = 1024;
/// Largest message of a watcher.
const HEARD_MAX: usize = 16 * 1024;

/// The receiving half of a watcher's connection.
///
/// The library reads here and never writes: its answers are handed out, for the one who sends to put between
/// two frames.
pub(super) struct Ear<R> {
    from: R,
    protocol: WebSocket<Between>,
}

/// What was heard.
pub(super) struct Heard {
    /// A control frame to be sent; empty if none.
    pub answer: Vec<u8>,
    /// The watcher has said goodbye.
    pub over: bool,
}

impl<R: AsyncRead + Unpin> Ear<R> {
    pub fn new(from: R) -> Self {
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BUFFER)
            .write_buffer_size(0)
            .max_message_size(Some(HEARD_MAX))
            .max_frame_size(Some(HEARD_MAX));
        let protocol = WebSocket::from_raw_socket(Between::default(), Role::Server, Some(config));
        Self { from, protocol }
    }

    /// Waits for a sign of life; fails once the connection has ended or what comes is no WebSocket. If the wait
    /// is given up, nothing is lost.
    pub async fn hear(&mut self) -> io::Result<Heard> {
        let mut bytes = [0; READ_BUFFER];
        let count = self.from.read(&mut bytes).await?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.protocol.get_mut().heard.extend(&bytes[..count]);
        let mut over = false;
        loop {
            match self.protocol.read() {
                Ok(Message::Close(_)) => over = true,
                Ok(_) => {}
                Err(Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) if over => break,
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        Ok(Heard { answer: std::mem::take(&mut self.protocol.get_mut().answers), over })
    }
}

/// Stands for the connection before the library.
#[derive(Default)]
struct Between {
    heard: VecDeque<u8>,
    answers: Vec<u8>,
}

impl Read for Between {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self.heard.read(buf)? {
            0 => Err(io::ErrorKind::WouldBlock.into()),
            count => Ok(count),
        }
    }
}

impl Write for Between {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.answers.extend(buf);
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use tungstenite::protocol::CloseFrame;

    use super::*;

    /// What a watcher sends that says this.
    fn sent(messages: impl IntoIterator<Item = Message>) -> Vec<u8> {
        let mut client = WebSocket::from_raw_socket(Between::default(), Role::Client, None);
        messages.into_iter().for_each(|message| client.send(message).unwrap());
        std::mem::take(&mut client.get_mut().answers)
    }

    /// What a watcher reads in these bytes.
    fn read(bytes: Vec<u8>) -> Message {
        let between = Between { heard: bytes.into(), answers: Vec::new() };
        WebSocket::from_raw_socket(between, Role::Client, None).read().unwrap()
    }

    async fn heard(mut bytes: &[u8]) -> io::Result<Heard> {
        Ear::new(&mut bytes).hear().await
    }

    #[tokio::test]
    async fn a_ping_and_a_close_want_an_answer_and_nothing_else_does() {
        let pinged = heard(&sent([Message::Ping("x".into())])).await.unwrap();
        assert_eq!((read(pinged.answer), pinged.over), (Message::Pong("x".into()), false));
        for message in [Message::text("hello?"), Message::binary(vec![1, 2]), Message::Pong("x".into())] {
            let heard = heard(&sent([message])).await.unwrap();
            assert_eq!((heard.answer, heard.over), (Vec::new(), false));
        }
        let close = CloseFrame { code: 1000.into(), reason: "".into() };
        let closed = heard(&sent([Message::Close(Some(close.clone()))])).await.unwrap();
        assert_eq!((read(closed.answer), closed.over), (Message::Close(Some(close)), true));
    }

    #[tokio::test]
    async fn what_comes_in_pieces_is_heard_when_it_is_whole() {
        let bytes = sent([Message::text("x".repeat(3000)), Message::Ping("y".into())]);
        let mut from = &bytes[..];
        let mut ear = Ear::new(&mut from);
        let mut answers = Vec::new();
        while let Ok(heard) = ear.hear().await {
            answers.extend(heard.answer);
        }
        assert_eq!(read(answers), Message::Pong("y".into()));
    }

    #[tokio::test]
    async fn what_is_no_websocket_ends_it() {
        let large = sent([Message::binary(vec![0; HEARD_MAX + 1])]);
        for bytes in [&[0x81, 0x01, b'x'], &[0xff; 20][..], &large] {
            let mut from = bytes;
            let mut ear = Ear::new(&mut from);
            let end = loop {
                match ear.hear().await {
                    Ok(heard) => assert_eq!((heard.answer, heard.over), (Vec::new(), false)),
                    Err(end) => break end,
                }
            };
            assert_eq!(end.kind(), io::ErrorKind::Other, "refused, not just over: {end}");
        }
    }
}
