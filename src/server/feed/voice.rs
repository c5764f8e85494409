//! What goes to a watcher: shared texts as WebSocket frames, without a copy of their own.
//!
//! WebSocket libraries gather what they send in a buffer, which grows to the largest frame and stays: a thousand
//! watchers that stop reading amid a `recent` of 256 KiB would cost the room as many buffers. Here a
//! watcher that waits holds its place in texts that all watchers share, and the kernel takes them from there.
//! That is possible because a room's frames are not masked: a frame is a short header and the text as it is.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tungstenite::protocol::frame::coding::{Data, OpCode};
use tungstenite::protocol::frame::{CloseFrame, Frame as Control, FrameHeader};

/// Most pieces of text that are handed to the kernel at once.
const PIECES: usize = 128;
/// Longest header of a frame that is not masked.
const HEADER: usize = 10;

/// One message to a watcher.
#[derive(Debug)]
pub(super) enum Frame {
    /// A text that is a whole message.
    Text(Arc<str>),
    /// A list of texts with something round it.
    List(Box<List>),
    /// A control frame with its header.
    Control(Box<[u8]>),
}

/// Some of `texts`, with commas between them.
#[derive(Debug)]
pub(super) struct List {
    pub head: String,
    pub texts: Arc<[Arc<str>]>,
    pub part: Range<usize>,
    pub tail: String,
}

impl Frame {
    pub fn ping() -> Self {
        Self::control(Control::ping(Vec::new()))
    }

    pub fn close(code: u16, reason: &'static str) -> Self {
        Self::control(Control::close(Some(CloseFrame { code: code.into(), reason: reason.into() })))
    }

    fn control(frame: Control) -> Self {
        let mut bytes = Vec::with_capacity(frame.len());
        let _ = frame.format(&mut bytes); // writing to memory can't fail
        Self::Control(bytes.into())
    }

    /// What stands before the texts, the texts, and what stands behind them.
    fn anatomy(&self) -> (&[u8], &[Arc<str>], &[u8]) {
        match self {
            Self::Text(text) => (text.as_bytes(), &[], &[]),
            Self::Control(bytes) => (bytes, &[], &[]),
            Self::List(list) => {
                let texts = list.texts.get(list.part.clone()).unwrap_or_default();
                (list.head.as_bytes(), texts, list.tail.as_bytes())
            }
        }
    }

    fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        let (head, texts, tail) = self.anatomy();
        let commas = std::iter::once(&b""[..]).chain(std::iter::repeat(&b","[..]));
        let texts = commas.zip(texts).flat_map(|(comma, text)| [comma, text.as_bytes()]);
        std::iter::once(head).chain(texts).chain(std::iter::once(tail))
    }

    /// Bytes without the header.
    fn size(&self) -> usize {
        self.pieces().map(<[u8]>::len).sum()
    }
}

/// A frame that has its turn.
#[derive(Debug)]
struct Queued {
    header: [u8; HEADER],
    header_size: usize,
    /// Bytes with the header.
    size: usize,
    frame: Frame,
}

impl Queued {
    fn new(frame: Frame) -> Self {
        let size = frame.size();
        let mut header = [0; HEADER];
        let mut header_size = 0;
        if !matches!(frame, Frame::Control(_)) {
            let text = FrameHeader { opcode: OpCode::Data(Data::Text), ..FrameHeader::default() };
            header_size = text.len(size as u64);
            let _ = text.format(size as u64, &mut &mut header[..]); // an unmasked one fits
        }
        Self { header, header_size, size: header_size + size, frame }
    }

    fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        std::iter::once(&self.header[..self.header_size]).chain(self.frame.pieces())
    }
}

/// The sending half of a watcher's connection.
///
/// Whatever becomes of the future of a method, frames are not torn: what was begun is finished before anything
/// else is sent.
#[derive(Debug)]
pub(super) struct Voice<W> {
    out: W,
    queue: VecDeque<Queued>,
    /// Bytes in the queue, those included that have gone out.
    queued: usize,
    /// Bytes of the first frame that have gone out.
    gone: usize,
}

impl<W: AsyncWrite + Unpin> Voice<W> {
    pub fn new(out: W) -> Self {
        Self { out, queue: VecDeque::new(), queued: 0, gone: 0 }
    }

    /// Adds a frame to what the next [`Voice::flush`] sends.
    pub fn say(&mut self, frame: Frame) {
        let queued = Queued::new(frame);
        self.queued += queued.size;
        self.queue.push_back(queued);
    }

    /// Bytes that wait to be sent.
    pub fn waiting(&self) -> usize {
        self.queued - self.gone
    }

    /// Sends all that was said, in as few writes as the connection takes it.
    pub async fn flush(&mut self) -> io::Result<()> {
        while !self.queue.is_empty() {
            poll_fn(|cx| self.poll_write(cx)).await?;
        }
        self.out.flush().await
    }

    /// Says goodbye: finishes the frame that has begun, leaves out those that have not.
    pub async fn end(&mut self, last: Frame) -> io::Result<()> {
        self.queue.truncate(usize::from(self.gone > 0));
        self.queued = self.queue.iter().map(|queued| queued.size).sum();
        self.say(last);
        self.flush().await
    }

    /// Tells the other side that nothing more comes.
    pub async fn hang_up(&mut self) -> io::Result<()> {
        self.out.shutdown().await
    }

    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut slices = [IoSlice::new(&[]); PIECES];
        let mut skip = self.gone;
        let pieces = self.queue.iter().flat_map(Queued::pieces).filter_map(|piece| {
            let rest = piece.get(skip..).unwrap_or_default();
            skip = skip.saturating_sub(piece.len());
            (!rest.is_empty()).then_some(rest)
        });
        let mut count = 0;
        for (slice, piece) in slices.iter_mut().zip(pieces) {
            *slice = IoSlice::new(piece);
            count += 1;
        }
        match Pin::new(&mut self.out).poll_write_vectored(cx, &slices[..count]) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Ready(Ok(0)) => Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
            Poll::Ready(Ok(bytes)) => {
                self.advance(bytes);
                Poll::Ready(Ok(()))
            }
        }
    }

    fn advance(&mut self, bytes: usize) {
        self.gone += bytes;
        while let Some(first) = self.queue.front().filter(|first| first.size <= self.gone) {
            self.gone -= first.size;
            self.queued -= first.size;
            self.queue.pop_front();
        }
        if self.queue.is_empty() {
            self.queue.shrink_to(PIECES / 8);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use futures_util::FutureExt;
    use proptest::prelude::*;
    use tungstenite::Message;
    use tungstenite::protocol::{Role, WebSocket, WebSocketConfig};

    use super::*;

    /// A connection that takes as many bytes at a time as it is told, and then none.
    #[derive(Debug, Default)]
    struct Narrow {
        takes: VecDeque<usize>,
        taken: Vec<u8>,
        writes: usize,
    }

    impl AsyncWrite for Narrow {
        fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
            self.poll_write_vectored(cx, &[IoSlice::new(buf)])
        }

        fn poll_write_vectored(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bufs: &[IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            let Some(takes) = self.takes.pop_front() else { return Poll::Pending };
            let all: Vec<u8> = bufs.iter().flat_map(|buf| buf.iter().copied()).take(takes).collect();
            self.taken.extend(&all);
            self.writes += 1;
            Poll::Ready(Ok(all.len()))
        }

        fn is_write_vectored(&self) -> bool {
            true
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    /// What a client of another make reads from these bytes.
    fn read(bytes: &[u8]) -> Vec<Message> {
        let stream = io::Cursor::new(bytes.to_vec());
        let config = WebSocketConfig::default().max_frame_size(None).max_message_size(None);
        let mut client = WebSocket::from_raw_socket(stream, Role::Client, Some(config));
        std::iter::from_fn(|| client.read().ok()).collect()
    }

    fn list(count: usize, length: usize) -> (Frame, String) {
        let texts: Arc<[Arc<str>]> = (0..count).map(|n| Arc::from(format!("{n}").repeat(length))).collect();
        let part = count / 3..count;
        let text = format!("[{}]", texts[part.clone()].join(","));
        (Frame::List(Box::new(List { head: "[".into(), texts, part, tail: "]".into() })), text)
    }

    #[test]
    fn frames_of_every_length_are_read_as_they_were_said() {
        for length in [0, 1, 125, 126, 127, 65_535, 65_536, 300_000] {
            let mut voice = Voice::new(Narrow { takes: [usize::MAX; 64].into(), ..Narrow::default() });
            let text = "x".repeat(length);
            voice.say(Frame::Text(text.as_str().into()));
            let (frame, joined) = list(length.min(2000), 2);
            voice.say(frame);
            voice.say(Frame::ping());
            voice.flush().now_or_never().unwrap().unwrap();
            assert_eq!(voice.waiting(), 0);
            let said = [Message::text(text), Message::text(joined), Message::Ping(Vec::new().into())];
            assert_eq!(read(&voice.out.taken), said, "{length}");
        }
    }

    #[test]
    fn what_has_queued_up_goes_out_in_one_write() {
        let mut voice = Voice::new(Narrow { takes: [usize::MAX; 64].into(), ..Narrow::default() });
        for n in 0..PIECES / 2 {
            voice.say(Frame::Text(n.to_string().into()));
        }
        voice.flush().now_or_never().unwrap().unwrap();
        assert_eq!((voice.out.writes, read(&voice.out.taken).len()), (1, PIECES / 2));
    }

    #[test]
    fn a_watcher_that_waits_holds_shared_texts_and_no_copies() {
        let mut voice = Voice::new(Narrow { takes: [70_000].into(), ..Narrow::default() });
        let text: Arc<str> = "x".repeat(200_000).into();
        voice.say(Frame::Text(Arc::clone(&text)));
        assert!(voice.flush().now_or_never().is_none());
        assert_eq!((Arc::strong_count(&text), voice.waiting()), (2, 130_010));
    }

    proptest! {
        /// However little the connection takes at a time, and wherever it is ended.
        #[test]
        fn no_frame_is_torn_by_another(
            lengths in prop::collection::vec(0..3000_usize, 1..20),
            takes in prop::collection::vec(1..4000_usize, 0..30),
        ) {
            let mut voice = Voice::new(Narrow { takes: takes.into(), ..Narrow::default() });
            let mut said = Vec::new();
            for (n, length) in lengths.iter().enumerate() {
                let (frame, text) = match n % 3 {
                    0 => { let text = "x".repeat(*length); (Frame::Text(text.as_str().into()), Message::text(text)) }
                    1 => { let (frame, text) = list(length / 50, 3); (frame, Message::text(text)) }
                    _ => (Frame::ping(), Message::Ping(Vec::new().into())),
                };
                voice.say(frame);
                said.push(text);
                let _ = voice.flush().now_or_never();
            }
            voice.out.takes = vec![usize::MAX; 100].into();
            voice.end(Frame::close(1012, "bye")).now_or_never().unwrap().unwrap();
            let mut heard = read(&voice.out.taken);
            prop_assert!(matches!(heard.pop(), Some(Message::Close(Some(close))) if u16::from(close.code) == 1012));
            prop_assert_eq!(&heard[..], &said[..heard.len()]);
        }
    }
}
