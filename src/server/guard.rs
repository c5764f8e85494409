//! What every request must pass before a route looks at it: that it was meant for this room, and that no web
//! page sent it. A browser can be talked into calling a server on its own machine (DNS rebinding); it then
//! names a foreign host, or says which page it comes from.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::problem::Problem;

/// Which names this room answers to, and which web pages may call it.
#[derive(Debug)]
pub(super) struct Guard {
    bound: IpAddr,
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl Guard {
    /// `hosts`: names, with or without a port, beside the loopback names and `bound`. `origins`: as browsers
    /// write them, `https://board.example`.
    pub fn new(bound: IpAddr, hosts: &[String], origins: &[String]) -> Self {
        let lower = |texts: &[String]| texts.iter().map(|t| t.to_ascii_lowercase()).collect();
        Self { bound, hosts: lower(hosts), origins: lower(origins) }
    }

    /// Under HTTP/2 the host stands in the URI; where a request has both, both must be right.
    fn meant_for_us(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let mut named = false;
        let headers = headers.get_all(HOST).into_iter().map(|value| value.to_str().ok()?.parse().ok());
        for authority in uri.authority().map(|a| Some(a.clone())).into_iter().chain(headers) {
            named = true;
            if !authority.is_some_and(|a| self.is_ours(&a)) {
                return false;
            }
        }
        named
    }

    fn is_ours(&self, authority: &Authority) -> bool {
        let whole = authority.as_str().to_ascii_lowercase();
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
        let host = host.strip_suffix('.').unwrap_or(&host);
        let address = host.parse::<IpAddr>().ok();
        host == "localhost"
            || address.is_some_and(|ip| ip.is_loopback() || (ip == self.bound && !ip.is_unspecified()))
            || self.hosts.iter().any(|allowed| *allowed == host || *allowed == whole)
    }

    fn no_web_page(&self, headers: &HeaderMap) -> bool {
        headers.get_all(ORIGIN).into_iter().all(|origin| {
            origin.to_str().is_ok_and(|o| self.origins.iter().any(|allowed| allowed.eq_ignore_ascii_case(o)))
        })
    }
}

/// The middleware: 403 before anything is read or done.
pub(super) async fn guard(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let why = if !guard.meant_for_us(request.uri(), request.headers()) {
        "This room does not answer to the name that the request's Host header gives it: \
         call it by a loopback name or by the address it listens on, or start it with --allow-host NAME."
    } else if !guard.no_web_page(request.headers()) {
        "This room takes no calls from web pages: send the request without an Origin header."
    } else {
        return next.run(request).await;
    };
    let problem = Problem::new(StatusCode::FORBIDDEN, why);
    if request.uri().path().starts_with("/v1/") { problem.into_response() } else { problem.plain() }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn guard() -> Guard {
        let bound = "192.168.7.4".parse().unwrap();
        Guard::new(
            bound,
            &["Room.example".into(), "board.example:8443".into()],
            &["https://Board.example".into()],
        )
    }

    fn hosts(texts: &[&str]) -> HeaderMap {
        texts.iter().map(|t| (HOST, t.parse().unwrap())).collect()
    }

    #[test]
    fn a_room_answers_to_its_own_names_only() {
        let ours = [
            "localhost",
            "LOCALHOST:1",
            "localhost.",
            "127.0.0.1:9",
            "127.8.8.8",
            "[::1]:7766",
            "192.168.7.4",
            "room.example:1",
            "board.example:8443",
        ];
        for name in ours {
            assert!(guard().meant_for_us(&Uri::from_static("/mcp"), &hosts(&[name])), "{name}");
        }
        let foreign = [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "192.168.7.5",
            "0.0.0.0",
            "board.example",
            "evil@localhost@evil.example",
            "",
        ];
        for name in foreign {
            assert!(!guard().meant_for_us(&Uri::from_static("/mcp"), &hosts(&[name])), "{name}");
        }
    }

    #[test]
    fn no_name_a_second_name_and_the_uri_s_name_all_count() {
        assert!(!guard().meant_for_us(&Uri::from_static("/mcp"), &HeaderMap::new()));
        assert!(!guard().meant_for_us(&Uri::from_static("/mcp"), &hosts(&["localhost", "evil.example"])));
        assert!(guard().meant_for_us(&Uri::from_static("http://localhost:1/mcp"), &HeaderMap::new()));
        assert!(!guard().meant_for_us(&Uri::from_static("http://evil.example/mcp"), &hosts(&["localhost"])));
    }

    #[test]
    fn any_web_page_is_foreign_unless_it_is_named() {
        let from =
            |texts: &[&str]| -> HeaderMap { texts.iter().map(|t| (ORIGIN, t.parse().unwrap())).collect() };
        assert!(guard().no_web_page(&from(&[])));
        assert!(guard().no_web_page(&from(&["https://board.example"])));
        for page in
            ["null", "http://localhost", "http://board.example", "https://board.example.evil.example", ""]
        {
            assert!(!guard().no_web_page(&from(&[page])), "{page}");
        }
        assert!(!guard().no_web_page(&from(&["https://board.example", "https://evil.example"])));
    }
}
