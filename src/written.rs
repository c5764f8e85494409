//! What a person wrote into a TOML file: its table, and in which line of it a fault stands.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::shown;

/// A line of `[keys]`: the keys that one action is to have. Names are as they were written; what they mean is the
/// screen's to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remapped {
    /// The action's name.
    pub action: String,
    /// The keys' names, each with its place; none: the action has no key.
    pub keys: Vec<(String, String)>,
    /// Where it stands, as `FILE, line N`, safe to show.
    pub place: String,
}

/// The file's table, or its first fault: those after it often only follow from it. `file` is how the fault
/// names the file.
pub fn parse<'a>(file: &str, text: &'a str) -> Result<Spanned<DeTable<'a>>, String> {
    let (table, errors) = DeTable::parse_recoverable(text);
    let start = |error: &toml::de::Error| error.span().map_or(0, |span| span.start);
    let Some(error) = errors.iter().min_by_key(|error| start(error)) else { return Ok(table) };
    let line = line(text, start(error)..start(error));
    Err(format!("{file}, line {line} can't be read: {}", shown::line(error.message())))
}

/// The line, from 1, on which `span` begins.
pub fn line(text: &str, span: Range<usize>) -> usize {
    text.as_bytes().iter().take(span.start).filter(|b| **b == b'\n').count() + 1
}

/// A value as it stands in the file, safe to show and cut short.
pub fn excerpt(text: &str, value: &Spanned<DeValue<'_>>) -> String {
    short(text.get(value.span()).unwrap_or_default())
}

/// What somebody wrote, safe to show and cut short.
pub fn short(text: &str) -> String {
    const SHOWN: usize = 40;
    let raw = shown::line(text);
    match raw.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &raw[..end]),
        None => raw,
    }
}
