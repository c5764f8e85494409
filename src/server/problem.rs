//! Refusals over HTTP: problem details (RFC 9457) for programs, one plain sentence where a person sees it as is.

use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::limits::whole_seconds;

/// Why a request is refused: a status, and one sentence that a person can act on.
///
/// The sentence never holds a token, nor any text of the request but names that have been checked.
#[derive(Debug, Clone)]
pub(super) struct Problem {
    status: StatusCode,
    detail: String,
    /// Seconds.
    retry_after: Option<u64>,
}

impl Problem {
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into(), retry_after: None }
    }

    /// More than is let in now, but what `wait` makes right.
    pub fn too_many(detail: impl Into<String>, wait: Duration) -> Self {
        let retry_after = Some(whole_seconds(wait));
        Self { retry_after, ..Self::new(StatusCode::TOO_MANY_REQUESTS, detail) }
    }

    /// What is not there, and what a caller may not know of, get this same answer.
    pub fn nothing_here() -> Self {
        Self::new(StatusCode::NOT_FOUND, "There is nothing at this path.")
    }

    /// The room failed, not the request; the store has told the log of the cause.
    pub fn broken() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "The room can't read its database now; its log says why. Try again later.",
        )
    }

    /// The sentence alone, as MCP clients show it to their users.
    pub fn plain(self) -> Response {
        let text = (header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        self.advised((self.status, [text], format!("{}\n", self.detail)).into_response())
    }

    /// 401 says how to sign in, 429 when to come again. No `resource_metadata`: it would start the clients'
    /// search for OAuth.
    fn advised(&self, mut response: Response) -> Response {
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer realm=\"prickle\"");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
        }
        response
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = json!({
            "type": "about:blank",
            "title": self.status.canonical_reason().unwrap_or("Refused"),
            "status": self.status.as_u16(),
            "detail": self.detail,
        });
        let kind = (header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        self.advised((self.status, [kind], body.to_string()).into_response())
    }
}
