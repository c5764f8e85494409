//! Request bodies within bounds: of a size that the largest report fits in, and there in time.

use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::StreamExt;
use tokio::time::timeout;

use super::Room;
use super::problem::Problem;

/// Largest body in bytes. The largest legal pulse, with every character escaped, is about half of it.
pub(super) const BODY_MAX: usize = 512 * 1024;

/// Reads the whole body before the route runs, or refuses with 413 or 408. What is read never exceeds the limit.
pub(super) async fn bounded(State(room): State<Room>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let announced = parts.headers.get(CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<u64>().ok());
    let limit = room.options.body_timeout;
    if announced.is_some_and(|n| n > BODY_MAX as u64) {
        return too_large(body, room.options.linger);
    }
    let mut stream = body.into_data_stream();
    let mut whole = Vec::new();
    let read = timeout(limit, async {
        while let Some(chunk) = stream.next().await {
            let chunk = chunk.map_err(|_| Unread::Broken)?;
            if whole.len() + chunk.len() > BODY_MAX {
                return Err(Unread::TooLarge);
            }
            whole.extend_from_slice(&chunk);
        }
        Ok(())
    });
    match read.await.unwrap_or(Err(Unread::Slow)) {
        Ok(()) => {
            let json = parts
                .headers
                .get(CONTENT_TYPE)
                .is_some_and(|t| t.as_bytes().starts_with(b"application/json"));
            let mut response = next.run(Request::from_parts(parts, Body::from(whole))).await;
            // rmcp calls a broken message a wrong media type, which a client would look for in its headers.
            if json && response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE {
                *response.status_mut() = StatusCode::BAD_REQUEST;
            }
            response
        }
        Err(Unread::TooLarge) => too_large(Body::from_stream(stream), room.options.linger),
        Err(Unread::Slow) => {
            let why = format!("The request's body did not arrive within {} seconds.", limit.as_secs());
            Problem::new(StatusCode::REQUEST_TIMEOUT, why).plain()
        }
        Err(Unread::Broken) => {
            Problem::new(StatusCode::BAD_REQUEST, "The request's body broke off before its end.").plain()
        }
    }
}

enum Unread {
    TooLarge,
    Slow,
    Broken,
}

/// Answers at once, and lets the rest of the body run into nothing for a while: a connection that is closed
/// on a sender takes the answer with it.
pub(super) fn refuse(problem: Problem, rest: Body, patience: Duration) -> Response {
    if !rest.is_end_stream() {
        tokio::spawn(timeout(patience, async move {
            let mut rest = rest.into_data_stream();
            while let Some(Ok(_)) = rest.next().await {}
        }));
    }
    problem.plain()
}

fn too_large(rest: Body, patience: Duration) -> Response {
    let why = format!(
        "The request's body is larger than {} KiB, more than any report that this room takes: \
         shorten its lists and texts.",
        BODY_MAX / 1024
    );
    refuse(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, why), rest, patience)
}
