//! Where a room is, and the key to it: a key goes to the one address that it belongs to, and is never shown.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use reqwest::Url;
use reqwest::header::HeaderValue;

use super::tls::Trust;

/// A server of rooms and a key to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// Where the rooms are.
    pub server: Server,
    /// The key that belongs to this address.
    pub token: Token,
    /// Who may say that a server which answers there over https is the one that is meant.
    pub trust: Trust,
}

impl Access {
    /// With the roots that this machine trusts.
    pub fn new(server: Server, token: Token) -> Self {
        Self { server, token, trust: Trust::default() }
    }
}

/// Why a text is no address of a server. `Display` says what would be right; it never repeats the text,
/// which may hold a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadServer {
    /// No `http` or `https` URL.
    #[error("must be an address like http://127.0.0.1:7766 or https://room.example.org")]
    NoUrl,
    /// A user or password stands in the address.
    #[error("must not hold a user or password; a key goes into a file that --token-file names")]
    Secret,
    /// More than an address.
    #[error("must end after the host, port and folder: no '?' and no '#'")]
    Surplus,
}

/// A server's address, spelled in one way: lower-case host, no default port, no slash at the end.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Server(Url);

impl Server {
    /// Where a room of this machine listens unless told otherwise.
    pub const LOCAL: &str = crate::wire::LOCAL_ROOM;

    /// [`Self::LOCAL`].
    pub fn local() -> Self {
        match Self::LOCAL.parse() {
            Ok(server) => server,
            Err(_) => unreachable!("the constant is a URL"),
        }
    }

    /// This machine, on a port of the user's choice.
    pub fn local_at(port: u16) -> Self {
        let mut server = Self::local();
        // An http URL with a host takes any port.
        let _ = server.0.set_port(Some(port));
        server
    }

    /// Host and port, as the screen names a server.
    pub fn host(&self) -> String {
        let host = self.0.host_str().unwrap_or_default();
        self.0.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// Whether the traffic is encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// Whether the address is this machine itself, so that plain HTTP shows the key to nobody else.
    pub fn is_loopback(&self) -> bool {
        let host = self.0.host_str().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback())
    }

    /// The port, also where the address leaves it out.
    pub fn port(&self) -> u16 {
        self.0.port_or_known_default().unwrap_or(443)
    }

    /// Name and port to connect to.
    pub(super) fn target(&self) -> (String, u16) {
        let host = self.0.host_str().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        (host, self.port())
    }

    /// The URL of `path` (which begins with a slash) on this server.
    pub(super) fn url(&self, path: &str) -> String {
        format!("{self}{path}")
    }

    /// The URL of `path` on this server, for a WebSocket.
    pub(super) fn socket_url(&self, path: &str) -> String {
        self.url(path).replacen("http", "ws", 1)
    }
}

impl FromStr for Server {
    type Err = BadServer;

    fn from_str(text: &str) -> Result<Self, BadServer> {
        let url = Url::parse(text.trim()).map_err(|_| BadServer::NoUrl)?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
            return Err(BadServer::NoUrl);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(BadServer::Secret);
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(BadServer::Surplus);
        }
        Ok(Self(url))
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str().trim_end_matches('/'))
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that can't be a key. It says nothing of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be one word of letters, digits and signs, as `prickle key create` writes it")]
pub struct BadToken;

/// A key's secret. Neither `Debug` nor `Display` shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Box<str>);

impl Token {
    /// The secret itself: for a request's header and for the credentials file, nothing else.
    pub fn secret(&self) -> &str {
        &self.0
    }

    /// The value of an `Authorization` header, marked so that libraries do not log it.
    pub(super) fn header(&self) -> HeaderValue {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", self.0))
            .unwrap_or_else(|_| unreachable!("a token is visible ASCII"));
        value.set_sensitive(true);
        value
    }
}

impl FromStr for Token {
    type Err = BadToken;

    /// White space round it is dropped: a file ends with a newline.
    fn from_str(text: &str) -> Result<Self, BadToken> {
        const LONGEST: usize = 4096;
        let text = text.trim();
        let fits = (1..=LONGEST).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
        if fits { Ok(Self(text.into())) } else { Err(BadToken) }
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(a key)")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn one_server_has_one_spelling() {
        for text in ["http://127.0.0.1:7766", "http://127.0.0.1:7766/", " HTTP://127.0.0.1:7766 "] {
            assert_eq!(text.parse::<Server>().unwrap().to_string(), "http://127.0.0.1:7766", "{text}");
        }
        let hosted: Server = "https://Room.Example.org:443/team/".parse().unwrap();
        assert_eq!(hosted.to_string(), "https://room.example.org/team");
        assert_eq!(hosted.url("/v1/me"), "https://room.example.org/team/v1/me");
        assert_eq!(hosted.socket_url("/x"), "wss://room.example.org/team/x");
        assert_eq!(hosted.target(), ("room.example.org".into(), 443));
        assert_eq!(Server::local().target(), ("127.0.0.1".into(), 7766));
    }

    #[test]
    fn what_is_no_address_is_refused_without_repeating_it() {
        for (text, why) in [
            ("127.0.0.1:7766", BadServer::NoUrl),
            ("localhost:7766", BadServer::NoUrl),
            ("ftp://x", BadServer::NoUrl),
            ("", BadServer::NoUrl),
            ("http://me:prk_secret@127.0.0.1:7766", BadServer::Secret),
            ("http://127.0.0.1:7766/?token=prk_secret", BadServer::Surplus),
        ] {
            let error = text.parse::<Server>().unwrap_err();
            assert_eq!(error, why, "{text}");
            assert!(!error.to_string().contains("secret"));
        }
    }

    #[test]
    fn only_this_machine_is_loopback() {
        for (text, loopback) in [
            ("http://127.0.0.1:1", true),
            ("http://127.9.9.9", true),
            ("http://[::1]:7766", true),
            ("http://[::ffff:127.0.0.1]:7766", true),
            ("http://localhost:7766", true),
            ("http://localhost.example.org", false),
            ("http://127.0.0.1.example.org", false),
            ("http://10.0.0.5:7766", false),
            ("http://[2001:db8::1]", false),
        ] {
            assert_eq!(text.parse::<Server>().unwrap().is_loopback(), loopback, "{text}");
        }
    }

    #[test]
    fn a_token_is_never_shown() {
        let token: Token = " prk_secret\n".parse().unwrap();
        assert_eq!(token.secret(), "prk_secret");
        let access = Access::new(Server::local(), token.clone());
        for shown in
            [format!("{token:?}"), format!("{token}"), format!("{access:?}"), format!("{:?}", token.header())]
        {
            assert!(!shown.contains("secret"), "{shown}");
        }
        for bad in ["", " ", "two words", "prk_é", "prk_\u{7f}x"] {
            assert_eq!(bad.parse::<Token>().unwrap_err(), BadToken, "{bad:?}");
        }
    }
}
