//! Who calls: the bearer token of a request, looked up once, visible in the signature of every route.

use std::sync::{Arc, OnceLock};

use axum::extract::{FromRequestParts, Request, State};
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::Response;

use super::limits::Peer;
use super::problem::Problem;
use super::strangers::Stranger;
use super::{Room, body};
use crate::rules::{self, Caller};
use crate::wire::id::Slug;

/// The id of the key that a request was signed with, for the line that the log keeps of it.
#[derive(Debug, Clone, Default)]
pub(super) struct KeyNote(Arc<OnceLock<i64>>);

impl KeyNote {
    pub fn get(&self) -> Option<i64> {
        self.0.get().copied()
    }
}

/// The caller of a route that any key may use.
pub(super) struct Signed(pub Arc<Caller>);

impl FromRequestParts<Room> for Signed {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, room: &Room) -> Result<Self, Problem> {
        sign_in(room, &parts.headers, &parts.extensions).await.map(Self)
    }
}

/// The caller of a route that exists only for people: what their agents' runs came to, and how far they have come.
pub(super) struct Person(pub Arc<Caller>);

impl FromRequestParts<Room> for Person {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, room: &Room) -> Result<Self, Problem> {
        let Signed(caller) = Signed::from_request_parts(parts, room).await?;
        if rules::reads_runs(&caller) { Ok(Self(caller)) } else { Err(Problem::nothing_here()) }
    }
}

/// The middleware of `/mcp`, whose service is not ours and finds the caller among the request's extensions.
pub(super) async fn signed(State(room): State<Room>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let caller = match sign_in(&room, &parts.headers, &parts.extensions).await {
        Ok(caller) => room.limits.call(caller.key).map(|()| caller),
        Err(problem) => Err(problem),
    };
    match caller {
        Ok(caller) => {
            parts.extensions.insert(caller);
            next.run(Request::from_parts(parts, body)).await
        }
        Err(problem) => body::refuse(problem, body, room.options.linger),
    }
}

async fn sign_in(room: &Room, headers: &HeaderMap, extensions: &Extensions) -> Result<Arc<Caller>, Problem> {
    let refuse = |why: &str| Problem::new(StatusCode::UNAUTHORIZED, why);
    let token = match headers.get(AUTHORIZATION) {
        None => {
            return Err(refuse(
                "This room needs a key: send one as \"Authorization: Bearer prk_…\"; \
                 `prickle key create` makes one on the room's machine.",
            ));
        }
        Some(value) => value.to_str().ok().and_then(bearer).ok_or_else(|| {
            refuse("The Authorization header must read \"Bearer\", a space and a key that begins with prk_.")
        })?,
    };
    if token.starts_with("${") {
        return Err(refuse(
            "What came as the key is the name of a variable: it is not set where this client was started. \
             Set it there, as `prickle connect` says, and start the client from that shell.",
        ));
    }
    let caller = match room.store.known(token) {
        Some(caller) => caller,
        None => stranger(room, token, extensions.get::<Peer>().copied()).await?.ok_or_else(|| {
            refuse(
                "This room does not know the key, or it was revoked: make a new one with `prickle key create` \
                 on the room's machine and put it where this client keeps its key.",
            )
        })?,
    };
    if let Some(stranger) = extensions.get::<Stranger>() {
        stranger.shows_a_key();
    }
    if let Some(note) = extensions.get::<KeyNote>() {
        let _ = note.0.set(caller.key);
    }
    Ok(caller)
}

/// Looks up a key that memory does not know. Whoever sends many such keys is not looked up for any more; one that
/// turns out to be new counts for nothing. Behind one address there may be others with a new key, though: a few may
/// wait until memory would know it.
async fn stranger(room: &Room, token: &str, peer: Option<Peer>) -> Result<Option<Arc<Caller>>, Problem> {
    if let Err(wait) = room.limits.sign_in(peer) {
        let found = match room.limits.patience() {
            Some(_place) => room.store.known_soon(token).await,
            None => None,
        };
        return found.map(Some).ok_or_else(|| room.limits.too_many_keys(wait));
    }
    let found = room.store.look_up(token).await.map_err(|_| Problem::broken())?;
    if found.is_some() {
        room.limits.signed_in(peer);
    }
    Ok(found)
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.trim().split_once(' ')?;
    let token = token.trim_start();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// The project of a path, if the caller may see it. One that is not there and one that it may not see get the
/// same answer. What must be looked up counts as a call: all look-ups wait for each other.
pub(super) async fn project(room: &Room, caller: &Caller, name: &str) -> Result<Slug, Problem> {
    if let Ok(slug) = name.parse() {
        if room.store.must_look_up(caller, &slug) {
            room.limits.call(caller.key)?;
        }
        if room.store.enters(caller, &slug).await.map_err(|_| Problem::broken())? {
            return Ok(slug);
        }
    }
    Err(Problem::new(StatusCode::NOT_FOUND, room.store.no_such_project(caller, name).to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_bearer_token_signs_in() {
        for good in ["Bearer prk_a", "bearer prk_a", "BEARER   prk_a", " Bearer prk_a "] {
            assert_eq!(bearer(good), Some("prk_a"), "{good}");
        }
        for bad in ["", "Bearer", "Bearer ", "prk_a", "Basic prk_a", "Bearerprk_a"] {
            assert_eq!(bearer(bad), None, "{bad}");
        }
    }
}
