//! Whether a connection is in use, so that one that is not can be closed: an answered ping is no use of it.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use axum::body::Body;
use axum::response::Response;
use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};
use tokio::time::Instant;

/// What goes on over one connection.
#[derive(Debug, Clone)]
pub(super) struct Usage(Arc<Mutex<State>>);

#[derive(Debug, Clone, Copy)]
pub(super) struct State {
    /// Requests that are not answered to their end.
    pub open: usize,
    /// There was a request.
    pub begun: bool,
    /// The last beginning or end of one; at first, of the connection.
    pub since: Instant,
}

/// One request, until its answer is sent or given up.
#[derive(Debug)]
pub(super) struct Using(Usage);

impl Usage {
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(State { open: 0, begun: false, since: Instant::now() })))
    }

    pub fn state(&self) -> State {
        *self.lock()
    }

    pub fn begin(&self) -> Using {
        let mut state = self.lock();
        *state = State { open: state.open + 1, begun: true, since: Instant::now() };
        Using(self.clone())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Using {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        *state = State { open: state.open.saturating_sub(1), since: Instant::now(), ..*state };
    }
}

impl Using {
    /// The request is answered once this is sent.
    pub fn until_sent(self, response: Response) -> Response {
        response.map(|body| Body::new(Held { body, _using: self }))
    }
}

/// A body that holds a request open.
struct Held {
    body: Body,
    _using: Using,
}

impl HttpBody for Held {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
