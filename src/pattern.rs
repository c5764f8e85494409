//! Path patterns of other people, and whether two of them can name one file.
//!
//! What a text means: `*` is any part of one name, `**` any folders (none included), `?` one letter, `[a-z]`
//! and `[!x]` one of some letters, `{a,b}` either; `\` takes a sign's meaning away, and separates folders
//! elsewhere. A path without wildcards covers itself and all below it. Because folders may really be named
//! `[id]` or `{slug}`, brackets and braces are read literally too: a text stands for everything that any of
//! its readings does.
//!
//! Paths are taken from the repository's root: a `./` or `/` before them means nothing, so an absolute path of
//! somebody's machine is a path of that name in the repository and meets nothing else. What `..` leads out of
//! the repository names nothing. Accents are compared composed (NFC). A difference of case alone is told
//! apart: on some machines it is one file.

use std::fmt;

mod meeting;
mod name;
mod reading;

use meeting::Symbol;
pub use meeting::{Budget, Spent};
use name::Part;

/// Steps that one pair of patterns may cost, a few nanoseconds each: whatever the patterns, far under a
/// millisecond.
pub const PAIR_STEPS: u32 = 40_000;
/// The same for what two patterns share, which is asked of one pair at a time, when a person looks.
const GROUND_STEPS: u32 = 200_000;

/// Whether two patterns can name one file; the later, the surer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Overlap {
    /// They can't.
    No,
    /// Only where case does not count.
    CaseOnly,
    /// They are too intricate to tell, so they may.
    May,
    /// They can.
    Yes,
}

/// A path, or a pattern of paths, as somebody wrote it.
#[derive(Clone, PartialEq, Eq)]
pub struct Pattern {
    text: Box<str>,
    readings: Vec<Vec<Part>>,
    /// The readings in small letters, where that makes a difference.
    folded: Option<Vec<Vec<Part>>>,
    /// It stands for so much that some of it was left open.
    open: bool,
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pattern({:?})", self.text)
    }
}

impl Pattern {
    /// Reads `text`. Every text is a pattern, if perhaps of nothing.
    pub fn new(text: &str) -> Self {
        let (readings, open) = reading::readings(text);
        let small = |parts: &Vec<Part>| parts.iter().map(Part::folded).collect();
        let cased = |c: char| !c.is_ascii() || c.is_ascii_uppercase() || c == '[';
        let folded = text.contains(cased).then(|| readings.iter().map(small).collect::<Vec<Vec<Part>>>());
        let folded = folded.filter(|folded| *folded != readings);
        Self { text: text.into(), readings, folded, open }
    }

    /// The text as it was sent.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The one path that it is, if it can be read as a plain path.
    pub fn path(&self) -> Option<String> {
        self.readings.iter().find_map(|parts| {
            let (last, names) = parts.split_last()?;
            let plain =
                |part: &Part| if let Part::Plain(name) = part { Some(name.to_string()) } else { None };
            let names: Option<Vec<String>> = names.iter().map(plain).collect();
            (*last == Part::Below).then_some(names?.join("/"))
        })
    }

    /// Where its files lie: for each reading the folders and the file that stand before the first wildcard, in
    /// small letters, each with a `/` behind it. Two patterns overlap only if a stem of one begins with a stem
    /// of the other.
    pub fn stems(&self) -> Vec<Box<str>> {
        let mut stems: Vec<Box<str>> = Vec::new();
        for parts in self.folded.as_ref().unwrap_or(&self.readings) {
            let mut stem = String::new();
            for part in parts {
                let Part::Plain(name) = part else { break };
                stem.push_str(name);
                stem.push('/');
            }
            stems.push(stem.into());
        }
        stems.sort_unstable();
        stems.dedup();
        stems
    }

    /// Whether both can name one file, within a pair's bound.
    pub fn overlap(&self, other: &Self) -> Overlap {
        self.overlap_within(other, &mut Budget::of(PAIR_STEPS))
    }

    /// The same within a bound that many pairs share; beyond it they [`Overlap::May`].
    pub fn overlap_within(&self, other: &Self, budget: &mut Budget) -> Overlap {
        if self.readings.is_empty() || other.readings.is_empty() {
            return Overlap::No;
        }
        if self.text == other.text {
            return Overlap::Yes;
        }
        let mut share = budget.share(PAIR_STEPS);
        let found = self.compared(other, &mut share);
        budget.give_back(&share);
        found.unwrap_or(Overlap::May)
    }

    fn compared(&self, other: &Self, budget: &mut Budget) -> Result<Overlap, Spent> {
        if any_meet(&self.readings, &other.readings, budget)? {
            return Ok(if self.open || other.open { Overlap::May } else { Overlap::Yes });
        }
        if self.folded.is_none() && other.folded.is_none() {
            return Ok(Overlap::No);
        }
        let ours = self.folded.as_ref().unwrap_or(&self.readings);
        let theirs = other.folded.as_ref().unwrap_or(&other.readings);
        Ok(if any_meet(ours, theirs, budget)? { Overlap::CaseOnly } else { Overlap::No })
    }

    /// What both name, as narrow as one pattern can say it: the narrower of the two as it was sent, where one
    /// covers the other. `None` where they don't overlap.
    pub fn ground(&self, other: &Self) -> Option<String> {
        if self.overlap(other) == Overlap::No {
            return None;
        }
        let shorter = if other.text.len() < self.text.len() { other } else { self };
        let mut budget = Budget::of(GROUND_STEPS);
        for ours in &self.readings {
            for theirs in &other.readings {
                match meeting::common(ours, theirs, &mut budget) {
                    Ok(None) => {}
                    Ok(Some(parts)) if parts == *ours && parts == *theirs => {
                        return Some(shorter.text().into());
                    }
                    Ok(Some(parts)) if parts == *ours && self.readings.len() == 1 => {
                        return Some(self.text().into());
                    }
                    Ok(Some(parts)) if parts == *theirs && other.readings.len() == 1 => {
                        return Some(other.text().into());
                    }
                    Ok(Some(parts)) => return Some(said(&parts)),
                    Err(Spent) => return Some(shorter.text().into()),
                }
            }
        }
        // Only their case differs, or too much of them was left open.
        Some(shorter.text().into())
    }
}

fn any_meet(ours: &[Vec<Part>], theirs: &[Vec<Part>], budget: &mut Budget) -> Result<bool, Spent> {
    for a in ours {
        for b in theirs {
            if meeting::meets(a, b, budget)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

fn said(parts: &[Part]) -> String {
    // A gap within a gap says nothing more, and what is below goes without saying.
    let mut names: Vec<String> = Vec::new();
    for part in parts {
        if let Some(text) = part.text().filter(|text| !(part.wild() && names.last() == Some(text))) {
            names.push(text);
        }
    }
    if names.is_empty() { "/".into() } else { names.join("/") }
}
