//! The room's log: one line a request on stderr. Whatever other people sent stays on that line and can't
//! steer a terminal, and no token is ever in it.

use std::borrow::Cow;
use std::io::{self, Write};
use std::time::Instant;

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use percent_encoding::percent_decode_str;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use super::auth::KeyNote;
use crate::wire::id::{TOKEN_MARK, without_tokens};

/// What is logged unless the filter says otherwise: rmcp would add three lines a request.
const QUIET: &str = "info,rmcp=warn,hyper=warn,h2=warn";

/// Characters of a path that are logged at most.
const PATH_SHOWN: usize = 200;

/// Writes the log of this process to stderr from now on. `filter`: directives as `RUST_LOG` takes them
/// (`debug`, `prickle=trace`), in addition to the ones that keep other crates quiet.
///
/// Fails with a sentence where the filter can't be read, or where the process has a log already.
pub fn to_stderr(filter: &str) -> Result<(), String> {
    let directives = if filter.is_empty() { QUIET.to_owned() } else { format!("{QUIET},{filter}") };
    let filter = EnvFilter::try_new(&directives).map_err(|e| format!("{filter:?} is no log filter: {e}"))?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .with_target(false)
        .with_writer(Stderr)
        .try_init()
        .map_err(|e| e.to_string())
}

/// The middleware that writes a request's line once it is answered.
pub(super) async fn each_request(mut request: Request, next: Next) -> Response {
    let began = Instant::now();
    let key = KeyNote::default();
    request.extensions_mut().insert(key.clone());
    let method = request.method().clone();
    let path: String = shown(request.uri().path()).chars().take(PATH_SHOWN).collect();
    let response = next.run(request).await;
    let status = response.status().as_u16();
    let ms = began.elapsed().as_millis();
    if let Some(key) = key.get() {
        tracing::info!(%method, %path, status, ms, key, "request");
    } else {
        tracing::info!(%method, %path, status, ms, "request");
    }
    response
}

/// A path as it came, unless that hides a key.
fn shown(path: &str) -> Cow<'_, str> {
    let meant = percent_decode_str(path).decode_utf8_lossy();
    if meant.contains(TOKEN_MARK) { without_tokens(&meant).into() } else { path.into() }
}

struct Stderr;

impl<'a> MakeWriter<'a> for Stderr {
    type Writer = OneLine<io::Stderr>;

    fn make_writer(&'a self) -> Self::Writer {
        OneLine(io::stderr())
    }
}

/// Writes each event as one line of plain text, whichever crate it came from and however it formatted.
///
/// The subscriber hands over one event a write.
struct OneLine<W>(W);

impl<W: Write> Write for OneLine<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        // A log that nobody takes (a closed pipe, a full disk) must not end what it tells of: the subscriber
        // answers an error with a panic, in whichever thread the event was.
        let _ = self.0.write_all(line(text.strip_suffix('\n').unwrap_or(&text)).as_bytes());
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// An event as one line without tokens.
fn line(event: &str) -> String {
    let mut line = String::with_capacity(event.len() + 1);
    push_plain(&mut line, &without_tokens(event));
    line.push('\n');
    line
}

/// Appends `text` with everything escaped that is neither plain ASCII nor a letter or digit of some script.
fn push_plain(line: &mut String, text: &str) {
    for c in text.chars() {
        if c == ' ' || c.is_ascii_graphic() || (!c.is_ascii() && c.is_alphanumeric()) {
            line.push(c);
        } else {
            line.extend(c.escape_default());
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn one_event_is_one_plain_line() {
        let mut out = Vec::new();
        OneLine(&mut out).write_all("a \u{1b}[2J\u{9b}31m b\nc\r \u{202e}d é 名\n".as_bytes()).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "a \\u{1b}[2J\\u{9b}31m b\\nc\\r \\u{202e}d é 名\n");
    }

    #[test]
    fn a_path_is_shown_as_it_came_unless_a_key_is_hidden_in_it() {
        for path in ["/v1/me", "/v1/projects/%1b%5b31m/pulse", "/100%", "/%ff%fe"] {
            assert_eq!(shown(path), path);
        }
        for path in ["/x/prk_AAAA", "/x/%70rk_AAAA", "/x/prk%5fAAAA", "/x/prk_%41%41"] {
            assert_eq!(shown(path), "/x/prk_...");
        }
    }

    #[test]
    fn no_token_reaches_the_log() {
        let text = line("GET /v1/prk_AAAA-bbbb_CCCC then prk_dddd.");
        assert_eq!(text, "GET /v1/prk_... then prk_....\n");
    }
}
