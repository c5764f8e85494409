//! The filter's language: words, and `s:working a:name o:owner b:branch f:path t:task`, all of which must hold.
//!
//! `-` before a term inverts it, quotes keep blanks together and take a sign's meaning away. A term without capital
//! letters finds either case. What is searched is what the screen shows of a text, so that whatever can be read can
//! be found. Every text is a filter: a term that means nothing restricts nothing, and [`Filter::fault`] says so.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

use super::model::Model;
use crate::conflict::{Conflict, Level};
use crate::pattern::{Overlap, Pattern};
use crate::picture::Agent;
use crate::wire::id::AgentId;
use crate::wire::pulse::{Availability, Pulse};
use crate::{hint, shown};

/// What restricts the agents, as it was typed and as it was understood.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    text: String,
    terms: Vec<Term>,
    fault: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    inverted: bool,
    test: Test,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Test {
    Word(Needle),
    States(Vec<State>),
    Name(Needle),
    Owner(Needle),
    Branch(Needle),
    File(Needle),
    /// Files that this pattern can name.
    Files(Pattern, bool),
    Task(Needle),
}

/// What `s:` knows, beside what agents say of themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    Says(Availability),
    Failed,
    Clash,
    Risk,
    Stale,
    NeedsYou,
}

/// Every state and its word, as it is said to somebody who typed another.
const STATES: [(&str, State); 11] = [
    ("working", State::Says(Availability::Working)),
    ("online", State::Says(Availability::Online)),
    ("idle", State::Says(Availability::Idle)),
    ("asleep", State::Says(Availability::Asleep)),
    ("away", State::Says(Availability::Away)),
    ("offline", State::Says(Availability::Offline)),
    ("failed", State::Failed),
    ("clash", State::Clash),
    ("risk", State::Risk),
    ("stale", State::Stale),
    ("needs-you", State::NeedsYou),
];

/// A text to be found in others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Needle {
    text: String,
    /// Capital letters count, since there is one.
    cased: bool,
}

impl Needle {
    pub(super) fn new(text: &str) -> Self {
        let text: String = text.nfc().collect();
        Self { cased: text.chars().any(char::is_uppercase), text }
    }

    /// Whether it stands in a text of somebody else.
    pub(super) fn is_in(&self, text: &str) -> bool {
        // Most texts are plain, and in a large room there are many.
        if text.bytes().all(|b| matches!(b, b' '..=b'~')) {
            let (text, needle) = (text.as_bytes(), self.text.as_bytes());
            let mut places = text.windows(needle.len().max(1));
            return needle.is_empty()
                || if self.cased {
                    places.any(|place| place == needle)
                } else {
                    places.any(|place| place.eq_ignore_ascii_case(needle))
                };
        }
        let text: String = shown::line(text).nfc().collect();
        let text = if self.cased { text } else { text.to_lowercase().nfc().collect() };
        text.contains(&self.text)
    }

    fn is_in_any<'a>(&self, texts: impl IntoIterator<Item = &'a String>) -> bool {
        texts.into_iter().any(|text| self.is_in(text))
    }
}

impl Filter {
    /// Reads a filter. What is wrong with it restricts nothing.
    pub fn new(text: &str) -> Self {
        let mut filter = Self { text: text.trim().to_owned(), ..Self::default() };
        for word in words(text) {
            match word.test() {
                Ok(Some(test)) => filter.terms.push(Term { inverted: word.inverted, test }),
                Ok(None) => {}
                Err(fault) => filter.fault = filter.fault.or(Some(fault)),
            }
        }
        filter
    }

    /// The filter as it was typed; not made safe to show.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it was left empty.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// What of it means nothing, and what would; not made safe to show.
    pub fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    /// Whether it asks for who is in whose way, which changes without a word of the agent itself.
    pub(super) fn meets(&self) -> bool {
        let meets = |state: &State| matches!(state, State::Clash | State::Risk);
        self.terms.iter().any(|term| matches!(&term.test, Test::States(states) if states.iter().any(meets)))
    }

    /// Whether an agent of the model's picture is let through.
    pub fn matches_agent(&self, model: &Model, agent: &Agent) -> bool {
        self.holds(model, &agent.pulse, Some(agent))
    }

    /// Whether what was said by an agent, which by now is so in the model's picture, is let through.
    fn holds(&self, model: &Model, said: &Pulse, now: Option<&Agent>) -> bool {
        self.terms.iter().all(|term| term.test.holds(model, said, now) != term.inverted)
    }
}

impl Filter {
    /// Whether what an agent said at some time is let through. Its state is the one of now: an agent that has left
    /// has none.
    pub fn matches_pulse(&self, model: &Model, pulse: &Pulse) -> bool {
        self.is_empty() || self.holds(model, pulse, model.picture.agent(&pulse.agent_id))
    }

    /// Whether the news that an agent has left is let through, of which only its name is known.
    pub fn matches_gone(&self, id: &AgentId) -> bool {
        let holds = |test: &Test| match test {
            Test::Name(needle) => needle.is_in(id.name()),
            Test::Owner(needle) => needle.is_in(id.owner()),
            Test::Word(needle) => needle.is_in(id.as_str()),
            Test::States(_) | Test::Branch(_) | Test::File(_) | Test::Files(..) | Test::Task(_) => false,
        };
        self.terms.iter().all(|term| holds(&term.test) != term.inverted)
    }

    /// Whether one of two that are, or were, in each other's way is let through.
    pub fn matches_conflict(&self, model: &Model, conflict: &Conflict) -> bool {
        conflict.parties().into_iter().any(|party| self.matches_pulse(model, &party.pulse))
    }
}

impl Test {
    fn holds(&self, model: &Model, pulse: &Pulse, now: Option<&Agent>) -> bool {
        let id = &pulse.agent_id;
        let paths = || pulse.intent.iter().flat_map(|intent| &intent.paths);
        let areas = || pulse.intent.iter().flat_map(|intent| &intent.areas);
        match self {
            Self::Name(needle) => needle.is_in(id.name()),
            Self::Owner(needle) => needle.is_in(&pulse.owner),
            Self::Branch(needle) => needle.is_in_any(&pulse.branch),
            Self::Task(needle) => needle.is_in_any(&pulse.task_id),
            Self::File(needle) => needle.is_in_any(pulse.files.iter().chain(paths())),
            Self::Files(pattern, cased) => {
                pulse.files.iter().chain(paths()).any(|path| match pattern.overlap(&Pattern::new(path)) {
                    Overlap::No => false,
                    Overlap::CaseOnly => !cased,
                    Overlap::May | Overlap::Yes => true,
                })
            }
            Self::States(states) => {
                now.is_some_and(|agent| states.iter().any(|state| state.holds(model, agent)))
            }
            Self::Word(needle) => {
                let failure = pulse.run_failure.as_ref();
                needle.is_in(id.as_str())
                    || needle.is_in(&pulse.doing)
                    || needle.is_in_any(pulse.branch.iter().chain(&pulse.task_id))
                    || needle.is_in_any(pulse.files.iter().chain(paths()).chain(areas()))
                    || needle.is_in_any(&pulse.last_decision)
                    || failure.is_some_and(|failure| needle.is_in(&hint::title(failure)))
            }
        }
    }
}

impl State {
    fn holds(&self, model: &Model, agent: &Agent) -> bool {
        let claim = || model.picture.claim(agent, model.now());
        let in_the_way = || model.picture.in_the_way(&agent.pulse.agent_id, model.now());
        match self {
            // What is only said to have been is not counted as being so anywhere else, either.
            Self::Says(availability) => agent.pulse.availability == *availability && !claim().past,
            Self::Stale => claim().stale,
            Self::Failed => agent.pulse.run_failure.is_some(),
            Self::Clash => in_the_way() == Some(Level::Clash),
            Self::Risk => in_the_way() == Some(Level::Risk),
            Self::NeedsYou => model.needs_you(agent),
        }
    }
}

/// A term as it was typed, without its quotes.
#[derive(Debug, Default)]
pub(super) struct Word {
    /// A `-` stands before it.
    pub(super) inverted: bool,
    /// What stands before the first colon that was not quoted.
    pub(super) field: Option<String>,
    /// What is to be found.
    pub(super) text: String,
}

/// The terms of a text. A quote that is not closed goes to the end.
pub(super) fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut word: Option<Word> = None;
    let (mut quoted, mut was_quoted) = (false, false);
    for c in text.chars() {
        if c == '"' {
            quoted = !quoted;
            was_quoted = true;
            word.get_or_insert_default();
        } else if c.is_whitespace() && !quoted {
            words.extend(word.take());
            was_quoted = false;
        } else {
            let word = word.get_or_insert_default();
            let plain = !was_quoted && word.field.is_none();
            if c == '-' && plain && word.text.is_empty() && !word.inverted {
                word.inverted = true;
            } else if c == ':' && plain && is_field(&word.text) {
                word.field = Some(std::mem::take(&mut word.text));
            } else {
                word.text.push(c);
            }
        }
    }
    words.extend(word);
    words
}

/// Whether a colon behind this makes it a field's name: other words with a colon are words.
fn is_field(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(char::is_alphabetic) && letters.next().is_none()
        || FIELDS.iter().any(|(_, name)| *name == text)
}

/// The fields' letters, and the same written out.
const FIELDS: [(&str, &str); 6] =
    [("s", "state"), ("a", "agent"), ("o", "owner"), ("b", "branch"), ("f", "file"), ("t", "task")];

impl Word {
    /// What it asks for; nothing as long as it is not typed out.
    fn test(&self) -> Result<Option<Test>, String> {
        let Some(field) = &self.field else {
            return Ok((!self.text.is_empty()).then(|| Test::Word(Needle::new(&self.text))));
        };
        let small = field.to_lowercase();
        let Some((letter, _)) = FIELDS.iter().find(|(letter, name)| *letter == small || *name == small)
        else {
            let letters: Vec<&str> = FIELDS.iter().map(|(letter, _)| *letter).collect();
            return Err(format!("no filter {field}:  use {}", letters.join(" ")));
        };
        if self.text.is_empty() {
            return Ok(None);
        }
        let needle = Needle::new(&self.text);
        Ok(Some(match *letter {
            "s" => Test::States(states(&self.text)?),
            "a" => Test::Name(needle),
            "o" => Test::Owner(needle),
            "b" => Test::Branch(needle),
            "f" if self.text.contains(['*', '?', '[', '{']) => {
                Test::Files(Pattern::new(&self.text), needle.cased)
            }
            "f" => Test::File(needle),
            _ => Test::Task(needle),
        }))
    }
}

/// The states that a word begins.
fn states(word: &str) -> Result<Vec<State>, String> {
    let small = word.to_lowercase();
    let meant = STATES.iter().filter(|(name, _)| name.starts_with(&small));
    let meant: Vec<State> = meant.map(|(_, state)| state.clone()).collect();
    if meant.is_empty() {
        let known: Vec<&str> = STATES.iter().map(|(name, _)| *name).collect();
        return Err(format!("no state {}:  use {}", cut(word), known.join(" ")));
    }
    Ok(meant)
}

/// So much of a word as leaves room for what is said of it.
fn cut(word: &str) -> Cow<'_, str> {
    match word.char_indices().nth(20) {
        Some((end, _)) => format!("{}…", &word[..end]).into(),
        None => word.into(),
    }
}
