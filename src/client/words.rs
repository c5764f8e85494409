//! What went wrong between us and a room, as a person reads it: no type names, no key, and the room's own
//! words only when made safe.

use std::error::Error;
use std::io;
use std::time::Duration;

use rustls::CertificateError;
use rustls::pki_types::UnixTime;
use tokio_tungstenite::tungstenite;
use tungstenite::protocol::CloseFrame;

use super::{Access, CallError, Server};

/// The kind of key that watches a room, as `prickle key create` takes it.
pub(super) const PERSON: &str = "person --owner OWNER";
/// The kind of key that an agent reports with.
pub(super) const AGENT: &str = "client --agent OWNER/NAME";

/// What stands between us and the room's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// It may pass by itself: try again.
    Lost(String),
    /// The room does not take the key.
    Key(String),
    /// It will not pass by itself.
    Refused(String),
}

/// A length of time as the screen writes it, to the second: `25s`, or `400ms` below one.
pub fn length(time: Duration) -> String {
    if time < Duration::from_secs(1) {
        format!("{}ms", time.as_millis())
    } else {
        format!("{}s", time.as_secs())
    }
}

/// An I/O error on the way to a room.
pub fn io(error: &io::Error) -> String {
    use io::ErrorKind as Kind;
    if let Some(tls) = tls(error) {
        return encryption(tls);
    }
    match error.kind() {
        Kind::ConnectionRefused => "connection refused".into(),
        Kind::ConnectionReset | Kind::ConnectionAborted | Kind::BrokenPipe | Kind::UnexpectedEof => {
            "the connection broke off".into()
        }
        Kind::TimedOut => "no answer".into(),
        Kind::HostUnreachable => "the machine can't be reached".into(),
        Kind::NetworkUnreachable | Kind::NetworkDown => "no network".into(),
        Kind::AddrNotAvailable => "no such address".into(),
        Kind::PermissionDenied => "this machine does not allow the connection".into(),
        // The standard library has no kind for it.
        _ if error.to_string().starts_with("failed to lookup address") => {
            "its name can't be looked up".into()
        }
        kind => format!("the connection failed ({kind})"),
    }
}

fn tls(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}

/// Why a server's certificate does not show that it is the room, if that is what a connection failed for.
pub(super) fn distrust(error: &io::Error) -> Option<String> {
    match tls(error)? {
        rustls::Error::InvalidCertificate(error) => Some(certificate(error)),
        _ => None,
    }
}

/// The sentence on a server that can't show that it is the room.
pub(super) fn untrusted(access: &Access, why: &str) -> String {
    format!("nothing was sent to {}: {why}", access.server.host())
}

fn encryption(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidCertificate(error) => certificate(error),
        rustls::Error::InvalidMessage(_) => "what answers there does not speak TLS; try http://".into(),
        _ => "no encrypted connection could be agreed on".into(),
    }
}

/// What is wrong with a server's certificate, and whose turn it is.
fn certificate(error: &CertificateError) -> String {
    use CertificateError as E;
    match error {
        // The others: an issuer of that name is trusted, but it is another one.
        E::UnknownIssuer
        | E::BadSignature
        | E::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => "its certificate is from no issuer that this machine trusts; \
             if the room's own people made it, get their CA's certificate and name it with --ca FILE"
            .into(),
        E::NotValidForNameContext { presented, .. } if !presented.is_empty() => format!(
            "its certificate is for {}: call it so with --server",
            safe(&presented.iter().map(|name| bare(name)).collect::<Vec<_>>().join(", "), 200)
        ),
        E::NotValidForName | E::NotValidForNameContext { .. } => {
            "its certificate is not for this name; whoever runs the room has to add it (subjectAltName)".into()
        }
        E::ExpiredContext { not_after, .. } => format!(
            "its certificate expired on {}; whoever runs the room has to renew it, unless this machine's clock is wrong",
            day(*not_after)
        ),
        E::NotValidYetContext { not_before, .. } => format!(
            "its certificate holds only from {} on; is this machine's clock right?",
            day(*not_before)
        ),
        // As the verifier names it; its own type for it is not public through rustls.
        E::Other(other) if other.to_string() == "CaUsedAsEndEntity" => {
            "its certificate is an issuer's own, not a server's; whoever runs the room has to make one with CA:FALSE"
                .into()
        }
        E::Revoked => "its certificate was revoked; whoever runs the room has to renew it".into(),
        _ => "its certificate can't be used; whoever runs the room has to make a new one, \
              or name its CA's with --ca FILE if this machine does not know it"
            .into(),
    }
}

/// A name as the verifier spells it, `DnsName("room.example")` or `IpAddress(127.0.0.1)`, without its kind.
fn bare(name: &str) -> &str {
    let inner = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')')).unwrap_or(name);
    inner.trim_matches('"')
}

fn day(time: UnixTime) -> String {
    let time = i64::try_from(time.as_secs()).ok().and_then(|secs| chrono::DateTime::from_timestamp(secs, 0));
    time.map_or_else(|| "an unknown day".into(), |time| time.format("%Y-%m-%d").to_string())
}

/// An error of an HTTP request, which hides its cause some levels down.
pub(super) fn request(error: &reqwest::Error, access: &Access, waited: Duration) -> CallError {
    let mut cause: Option<&(dyn Error + 'static)> = error.source();
    while let Some(inner) = cause {
        let io = inner.downcast_ref::<io::Error>();
        if let Some(why) = io.and_then(distrust) {
            return CallError::Untrusted(untrusted(access, &why));
        }
        // An I/O error calls what is inside it no cause of its own.
        cause = io.and_then(io::Error::get_ref).map_or_else(|| inner.source(), |e| Some(e));
    }
    CallError::Unreachable(no_answer(error, waited))
}

fn no_answer(error: &reqwest::Error, waited: Duration) -> String {
    if error.is_timeout() {
        return format!("no answer for {}", length(waited));
    }
    let mut cause: Option<&(dyn Error + 'static)> = error.source();
    while let Some(inner) = cause {
        if let Some(found) = inner.downcast_ref::<io::Error>() {
            // One I/O error may wrap another that says more.
            match found.get_ref().and_then(|e| e.downcast_ref::<io::Error>()) {
                Some(deeper) => return io(deeper),
                None if found.kind() != io::ErrorKind::Other => return io(found),
                None => {}
            }
        }
        cause = inner.source();
    }
    if error.is_connect() {
        "no connection could be made".into()
    } else if error.is_body() || error.is_decode() {
        "the answer broke off".into()
    } else {
        "what answers there is no prickle room".into()
    }
}

/// Why a WebSocket ended.
pub(super) fn socket(error: &tungstenite::Error) -> String {
    use tungstenite::Error as E;
    use tungstenite::error::ProtocolError;
    match error {
        E::Io(error) => io(error),
        E::ConnectionClosed
        | E::AlreadyClosed
        | E::Protocol(
            ProtocolError::ResetWithoutClosingHandshake
            | ProtocolError::HandshakeIncomplete
            | ProtocolError::SendAfterClosing
            | ProtocolError::ReceivedAfterClosing,
        ) => "the connection broke off".into(),
        E::Capacity(_) => "the room sent more than fits one message".into(),
        E::Utf8(_) => "the room sent text that is not UTF-8".into(),
        _ => "what answers there is no prickle room".into(),
    }
}

/// What a close frame means.
pub(super) fn close(frame: Option<&CloseFrame>, access: &Access, project: &str) -> Trouble {
    let Some(frame) = frame else {
        return Trouble::Lost("the room closed the connection".into());
    };
    let code = u16::from(frame.code);
    match code {
        4401 => Trouble::Key(format!("this key was revoked; {}", new_key(access, project, PERSON))),
        1000 | 1001 => Trouble::Lost("the room went away".into()),
        1012 => Trouble::Lost("the room is restarting".into()),
        1013 => Trouble::Lost("the room asks to try again later".into()),
        _ => Trouble::Lost(match own_words(frame.reason.as_bytes(), access) {
            Some(reason) => format!("the room closed the connection: {reason} ({code})"),
            None => format!("the room closed the connection ({code})"),
        }),
    }
}

/// What an HTTP answer other than success means. `of` is the room that was asked for, if one was.
pub(super) fn status(status: u16, body: &[u8], access: &Access, of: Option<&str>) -> Trouble {
    let said = own_words(body, access);
    let host = access.server.host();
    let with = |text: String| match &said {
        Some(said) => format!("{text}: {said}"),
        None => text,
    };
    match status {
        401 => Trouble::Key(unknown_key(access, said.as_deref(), of.unwrap_or("PROJECT"), PERSON)),
        403 => Trouble::Refused(with(format!("the room at {host} refuses the request"))),
        404 => Trouble::Refused(match of {
            Some(project) => format!("the room at {host} has no {project}, or this key may not see it"),
            None => format!("what answers at {host} is no prickle room"),
        }),
        // We do ask for an upgrade: something on the way has left that out.
        426 => Trouble::Refused(format!(
            "what stands before the room at {host} lets no WebSocket through; whoever runs it has to let it pass \
             the headers Upgrade and Connection on"
        )),
        429 => Trouble::Lost(with("the room asks to slow down".into())),
        300..=399 => Trouble::Refused(format!(
            "{host} sends elsewhere, and a key goes only to the address it belongs to; \
             name the room's own address with --server"
        )),
        408 | 425 | 500..=599 => Trouble::Lost(with(format!("the room has trouble ({status})"))),
        200..=299 => Trouble::Lost("what answers there is no prickle room".into()),
        _ => Trouble::Refused(with(format!("the room at {host} refuses the request ({status})"))),
    }
}

/// How long a refused answer's `Retry-After` asks to wait. It is in seconds; the other way to write it, a date, is for
/// caches.
pub(super) fn retry_after(text: &str) -> Option<Duration> {
    text.trim().parse().ok().map(Duration::from_secs)
}

/// The same for a question that is asked once. `wait` is what the answer asked for.
pub(super) fn refused(
    code: u16,
    body: &[u8],
    access: &Access,
    of: Option<&str>,
    wait: Option<Duration>,
) -> CallError {
    match (status(code, body, access, of), code) {
        (Trouble::Lost(why), 408 | 425 | 429 | 500 | 503) => {
            let why = if own_words(body, access).is_some() { why } else { format!("{why}; try again later") };
            CallError::Busy { why, wait }
        }
        (trouble, _) => trouble.into(),
    }
}

/// The key is refused, and what to do. `whose` is the kind of key that is needed and whom it speaks for.
pub(super) fn unknown_key(access: &Access, said: Option<&str>, project: &str, whose: &str) -> String {
    let host = access.server.host();
    let next = new_key(access, project, whose);
    // Our own room says no more than this sentence; another's may have its own reasons.
    match said.filter(|_| !access.server.is_loopback()) {
        Some(said) => format!("the room at {host} does not take this key: {said}; {next}"),
        None => format!("the room at {host} does not know this key; {next}"),
    }
}

/// The command that makes a key for a room of this machine and keeps it: a person's is saved for that room's
/// address, an agent's goes into its environment, where it doesn't take the place of the person's.
pub fn make_key(server: &Server, project: &str, whose: &str) -> String {
    let command = create_key(project, whose);
    if !whose.starts_with("person") {
        return format!("export PRICKLE_TOKEN=\"$({command})\"");
    }
    let elsewhere = if *server == Server::local() { String::new() } else { format!(" --server {server}") };
    format!("{command} --save{elsewhere}")
}

fn create_key(project: &str, whose: &str) -> String {
    format!("prickle key create --kind {whose} --project {project}")
}

/// What to do without a key that works: make one where the room's database is.
pub(super) fn new_key(access: &Access, project: &str, whose: &str) -> String {
    if access.server.is_loopback() {
        format!("make one with: {}", make_key(&access.server, project, whose))
    } else {
        format!("ask whoever runs the room for one (there: {})", create_key(project, whose))
    }
}

/// What the room says of itself: the `detail` of problem details, or a short plain sentence. Cut, made safe,
/// and nothing at all if it repeats the key.
pub(super) fn own_words(body: &[u8], access: &Access) -> Option<String> {
    const LONGEST: usize = 300;
    let text = std::str::from_utf8(body).ok()?.trim();
    let text = match serde_json::from_str::<serde_json::Value>(text) {
        Ok(problem) => problem.get("detail").or_else(|| problem.get("title"))?.as_str()?.to_owned(),
        Err(_) if text.starts_with(['<', '{', '[']) => return None,
        Err(_) => text.to_owned(),
    };
    if text.is_empty() || text.contains(access.token.secret()) {
        return None;
    }
    Some(safe(&text, LONGEST))
}

/// A text of the room as one line, at most `longest` characters.
pub(super) fn safe(text: &str, longest: usize) -> String {
    let line = crate::shown::line(text);
    match line.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
