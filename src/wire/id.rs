//! The names things go by: slugs, agents, tasks and runs, parsed once and then trusted.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Longest slug, in characters.
pub const SLUG_MAX: usize = 39;
/// Longest task id, in characters.
pub const TASK_MAX: usize = 64;

/// What every key of a room begins with, so that people and secret scanners know it.
pub const TOKEN_MARK: &str = "prk_";

/// `text` with all that stands behind a [`TOKEN_MARK`] cut out, for where texts of others are repeated: someone
/// put a key where it does not belong, and a log or an answer must not carry it further.
pub fn without_tokens(text: &str) -> String {
    let secret = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let mut pieces = text.split(TOKEN_MARK);
    let mut rest = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        rest.push_str(TOKEN_MARK);
        rest.push_str("...");
        rest.push_str(piece.trim_start_matches(secret));
    }
    rest
}

/// Why a text is no such name. `Display` says what would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadId {
    /// Not a slug.
    #[error("must be 1 to 39 lower-case letters, digits and single hyphens, like website-v2")]
    Slug,
    /// Not `owner/name`.
    #[error("must be OWNER/NAME, both lower-case letters, digits and single hyphens, like acme/builder")]
    Agent,
    /// Not a task id.
    #[error("must be 1 to 64 letters, digits, '_' or '-', like auth-cleanup")]
    Task,
    /// Not a UUID as RFC 9562 writes it.
    #[error("must be a UUID, like 4f7c2a9e-3b1d-4c8e-9a6f-0d2e5b7c1a3f")]
    Run,
}

/// Whether `text` is a slug: `^[a-z0-9]+(?:-[a-z0-9]+)*$`, at most [`SLUG_MAX`] long.
pub fn is_slug(text: &str) -> bool {
    text.len() <= SLUG_MAX
        && text.split('-').all(|part| {
            !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        })
}

/// Whether `text` is a task id: `^[A-Za-z0-9_-]+$`, at most [`TASK_MAX`] long.
pub fn is_task(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= TASK_MAX
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// Whether `text` is a run's UUID in either case, the nil UUID, or the max UUID in lower case.
pub fn is_run(text: &str) -> bool {
    const NIL: &str = "00000000-0000-0000-0000-000000000000";
    const MAX: &str = "ffffffff-ffff-ffff-ffff-ffffffffffff";
    if text == NIL || text == MAX {
        return true;
    }
    let b = text.as_bytes();
    b.len() == 36
        && b.iter().enumerate().all(|(i, c)| match i {
            8 | 13 | 18 | 23 => *c == b'-',
            14 => (b'1'..=b'8').contains(c),
            19 => matches!(c, b'8' | b'9' | b'a' | b'b' | b'A' | b'B'),
            _ => c.is_ascii_hexdigit(),
        })
}

/// A slug: the handle of an owner or the name of a project.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Slug(Box<str>);

impl Slug {
    /// The slug as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The nearest slug to a free text (a folder's or user's name): other characters become hyphens.
    /// `None` where nothing usable is left.
    pub fn near(text: &str) -> Option<Self> {
        let lower = text.to_lowercase();
        let parts: Vec<&str> =
            lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|p| !p.is_empty()).collect();
        let mut joined = parts.join("-");
        joined.truncate(SLUG_MAX);
        Self::from_str(joined.trim_end_matches('-')).ok()
    }

    /// The room of a folder that has no name of its own.
    pub fn fallback() -> Self {
        Self("default".into())
    }
}

impl FromStr for Slug {
    type Err = BadId;
    fn from_str(text: &str) -> Result<Self, BadId> {
        if is_slug(text) { Ok(Self(text.into())) } else { Err(BadId::Slug) }
    }
}

impl TryFrom<String> for Slug {
    type Error = BadId;
    fn try_from(text: String) -> Result<Self, BadId> {
        text.parse()
    }
}

impl From<Slug> for String {
    fn from(slug: Slug) -> Self {
        slug.0.into()
    }
}

impl fmt::Display for Slug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An agent: `owner/name`.
///
/// [`FromStr`] is strict. Deserializing keeps whatever a room said, so that one odd name never costs a
/// watcher the rest of the picture; such a text is other people's and must be made safe to be shown.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AgentId(Arc<str>);

impl AgentId {
    /// The agent `name` of `owner`.
    pub fn new(owner: &Slug, name: &Slug) -> Self {
        Self(format!("{owner}/{name}").into())
    }

    /// `owner/name` as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What stands before the slash; nothing where there is none.
    pub fn owner(&self) -> &str {
        self.0.split_once('/').map_or("", |(owner, _)| owner)
    }

    /// What stands behind the slash; all of it where there is none.
    pub fn name(&self) -> &str {
        self.0.split_once('/').map_or(&self.0, |(_, name)| name)
    }
}

impl FromStr for AgentId {
    type Err = BadId;
    fn from_str(text: &str) -> Result<Self, BadId> {
        match text.split_once('/') {
            Some((owner, name)) if is_slug(owner) && is_slug(name) => Ok(Self(text.into())),
            _ => Err(BadId::Agent),
        }
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A run's UUID, kept in lower case: two spellings of one UUID are one run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct RunId(Box<str>);

impl RunId {
    /// The UUID in lower case.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for RunId {
    type Err = BadId;
    fn from_str(text: &str) -> Result<Self, BadId> {
        if is_run(text) { Ok(Self(text.to_ascii_lowercase().into())) } else { Err(BadId::Run) }
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_in_a_text_is_cut_out() {
        assert_eq!(
            without_tokens("GET /v1/prk_AAAA-bbbb_CCCC then prk_dd."),
            "GET /v1/prk_... then prk_...."
        );
        assert_eq!(without_tokens("no key"), "no key");
    }

    #[test]
    fn slugs_are_what_the_pattern_says() {
        for good in ["a", "website-v2", "0", &"a".repeat(39)] {
            assert!(is_slug(good), "{good}");
        }
        for bad in ["", "-", "a-", "-a", "a--b", "A", "a_b", "é", "a\n", &"a".repeat(40)] {
            assert!(!is_slug(bad), "{bad:?}");
        }
    }

    #[test]
    fn a_free_text_has_a_nearest_slug() {
        assert_eq!(Slug::near("Website V2").map(String::from).as_deref(), Some("website-v2"));
        assert_eq!(Slug::near("_ü_"), None);
        assert_eq!(Slug::near(&"ab ".repeat(30)).map(|s| s.as_str().len()), Some(38));
    }

    #[test]
    fn two_spellings_of_a_uuid_are_one_run() {
        let lower: Result<RunId, _> = "4f7c2a9e-3b1d-4c8e-9a6f-0d2e5b7c1a3f".parse();
        let upper: Result<RunId, _> = "4F7C2A9E-3B1D-4C8E-9A6F-0D2E5B7C1A3F".parse();
        assert!(lower.is_ok());
        assert_eq!(lower, upper);
    }
}
