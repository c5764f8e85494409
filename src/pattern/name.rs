//! One name of a path with its letters, read: what it can be, and what it shares with another.

use unicode_normalization::UnicodeNormalization;

use super::meeting::{self, Budget, Spent, Symbol};

/// One name of a path, or a gap between names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// `**`: any folders, none included.
    Any,
    /// What a plain path covers beside itself: all below it. Not said when the path is said.
    Below,
    /// A name without wildcards.
    Plain(Box<str>),
    /// A name with wildcards. Brackets may be part of a real name, so there may be two ways to read it, the
    /// literal first.
    Wild(Vec<Vec<Token>>),
}

/// One letter of a name, or a gap between letters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token {
    /// This letter.
    Char(char),
    /// `?`: one letter.
    One,
    /// `*`: any letters, none included.
    Star,
    /// `[a-z]`, `[!x]`: one letter of these, or none of these.
    Class(Box<Class>),
}

/// The letters between brackets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Class {
    /// It is all but these letters.
    pub negated: bool,
    /// From, to, both included.
    pub ranges: Vec<(char, char)>,
    /// As it was written.
    pub text: Box<str>,
}

impl Class {
    fn holds(&self, c: char) -> bool {
        self.ranges.iter().any(|(from, to)| (*from..=*to).contains(&c)) != self.negated
    }

    /// In doubt they do: two that leave letters out nearly always leave some in.
    fn meets(&self, other: &Self) -> bool {
        match (self.negated, other.negated) {
            (true, true) => true,
            (false, false) => {
                let apart = |(a, b): &(char, char), (c, d): &(char, char)| a.max(c) > b.min(d);
                self.ranges.iter().any(|x| other.ranges.iter().any(|y| !apart(x, y)))
            }
            (true, false) => other.meets(self),
            (false, true) => self
                .ranges
                .iter()
                .any(|(from, to)| from <= to && !other.ranges.iter().any(|(a, b)| a <= from && to <= b)),
        }
    }

    /// With every letter in both cases. Where letters are left out the other case of each may be meant.
    fn folded(&self) -> Token {
        if self.negated {
            return Token::One;
        }
        let mut ranges = self.ranges.clone();
        for (from, to) in &self.ranges {
            let cut = |low: char, high: char| {
                let (from, to) = (*from.max(&low), *to.min(&high));
                (from <= to).then_some((from, to))
            };
            let lower = |(a, b): (char, char)| (a.to_ascii_lowercase(), b.to_ascii_lowercase());
            let upper = |(a, b): (char, char)| (a.to_ascii_uppercase(), b.to_ascii_uppercase());
            ranges.extend(cut('A', 'Z').map(lower));
            ranges.extend(cut('a', 'z').map(upper));
            if !to.is_ascii() {
                return Token::One; // other scripts have cases too, and no two ranges of them side by side
            }
        }
        Token::Class(Box::new(Self { negated: false, ranges, text: self.text.clone() }))
    }
}

impl Symbol for Token {
    fn wild(&self) -> bool {
        *self == Self::Star
    }

    fn meets(&self, other: &Self, _: &mut Budget) -> Result<bool, Spent> {
        Ok(match (self, other) {
            (Self::Char(a), Self::Char(b)) => a == b,
            (Self::Char(c), Self::Class(class)) | (Self::Class(class), Self::Char(c)) => class.holds(*c),
            (Self::Class(a), Self::Class(b)) => a.meets(b),
            _ => true,
        })
    }

    fn covers(&self, other: &Self, _: &mut Budget) -> Result<bool, Spent> {
        Ok(match (self, other) {
            (Self::One, _) => true,
            (Self::Class(class), Self::Char(c)) => class.holds(*c),
            _ => self == other,
        })
    }

    fn common(&self, other: &Self, budget: &mut Budget) -> Result<Option<Self>, Spent> {
        Ok(match (self, other) {
            (Self::Char(_), _) | (_, Self::One) => self.meets(other, budget)?.then(|| self.clone()),
            (_, Self::Char(_)) | (Self::One, _) => self.meets(other, budget)?.then(|| other.clone()),
            // What two classes share has no short name: the shorter of them is wide enough.
            (Self::Class(a), Self::Class(b)) if b.text.len() < a.text.len() => Some(other.clone()),
            _ => Some(self.clone()),
        })
    }
}

impl Part {
    /// The ways in which the name can be read; a gap has none.
    fn ways(&self) -> Vec<Vec<Token>> {
        match self {
            Self::Any | Self::Below => Vec::new(),
            Self::Plain(name) => vec![name.chars().map(Token::Char).collect()],
            Self::Wild(ways) => ways.clone(),
        }
    }

    /// With all letters small, for a comparison that leaves case out of account.
    pub fn folded(&self) -> Self {
        let fold = |token: &Token| match token {
            Token::Char(c) if c.is_ascii() => vec![Token::Char(c.to_ascii_lowercase())],
            Token::Char(c) => c.to_lowercase().map(Token::Char).collect(),
            Token::Class(class) => vec![class.folded()],
            Token::One | Token::Star => vec![token.clone()],
        };
        match self {
            Self::Any | Self::Below => self.clone(),
            Self::Plain(name) => Self::Plain(name.to_lowercase().nfc().collect::<String>().into()),
            Self::Wild(ways) => {
                Self::Wild(ways.iter().map(|way| way.iter().flat_map(fold).collect()).collect())
            }
        }
    }

    /// As a person writes it; `None` for what goes without saying.
    pub fn text(&self) -> Option<String> {
        match self {
            Self::Any => Some("**".into()),
            Self::Below => None,
            Self::Plain(name) => Some(name.to_string()),
            Self::Wild(ways) => {
                let mut text = String::new();
                for token in ways.first()? {
                    match token {
                        Token::Char(c) => text.push(*c),
                        Token::One => text.push('?'),
                        Token::Star => text.push('*'),
                        Token::Class(class) => text.push_str(&class.text),
                    }
                }
                Some(text)
            }
        }
    }
}

impl Symbol for Part {
    fn wild(&self) -> bool {
        matches!(self, Self::Any | Self::Below)
    }

    fn meets(&self, other: &Self, budget: &mut Budget) -> Result<bool, Spent> {
        if let (Self::Plain(a), Self::Plain(b)) = (self, other) {
            return Ok(a == b);
        }
        for a in self.ways() {
            for b in other.ways() {
                if meeting::meets(&a, &b, budget)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn covers(&self, other: &Self, budget: &mut Budget) -> Result<bool, Spent> {
        let ours = self.ways();
        for b in other.ways() {
            let mut covered = false;
            for a in &ours {
                covered = covered || meeting::covers(a, &b, budget)?;
            }
            if !covered {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn common(&self, other: &Self, budget: &mut Budget) -> Result<Option<Self>, Spent> {
        for a in self.ways() {
            for b in other.ways() {
                if let Some(tokens) = meeting::common(&a, &b, budget)? {
                    return Ok(Some(named(vec![tokens])));
                }
            }
        }
        Ok(None)
    }
}

/// A name without wildcards is plain.
pub fn named(ways: Vec<Vec<Token>>) -> Part {
    let letters = |way: &Vec<Token>| {
        way.iter().map(|t| if let Token::Char(c) = t { Some(*c) } else { None }).collect::<Option<String>>()
    };
    match &ways[..] {
        [way] => letters(way).map_or_else(|| Part::Wild(ways.clone()), |name| Part::Plain(name.into())),
        _ => Part::Wild(ways),
    }
}
