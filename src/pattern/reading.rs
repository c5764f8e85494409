//! How a pattern's text is read: as a plain path, with wildcards, with braces, with escapes; one text, some readings.

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::meeting::{self, Budget, Spent, Symbol};

/// More alternatives of braces are not told apart: what follows them may be anything.
const READINGS_MAX: usize = 32;
/// A text longer than any room takes is read so far, and may go on in any way.
const CHARS_MAX: usize = 1024;
/// What stands for any rest of a text.
const GOES_ON: &str = "*/**";
/// What has a meaning of its own in a pattern, so that `\` before it takes that away.
const SIGNS: &str = "*?[]{},!\\";

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
    negated: bool,
    ranges: Vec<(char, char)>,
    text: Box<str>,
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
fn named(ways: Vec<Vec<Token>>) -> Part {
    let letters = |way: &Vec<Token>| {
        way.iter().map(|t| if let Token::Char(c) = t { Some(*c) } else { None }).collect::<Option<String>>()
    };
    match &ways[..] {
        [way] => letters(way).map_or_else(|| Part::Wild(ways.clone()), |name| Part::Plain(name.into())),
        _ => Part::Wild(ways),
    }
}

/// All that a text can mean, the plainest first, and whether something of it had to be left open.
pub fn readings(text: &str) -> (Vec<Vec<Part>>, bool) {
    let composed: Vec<char> = if is_nfc_quick(text.chars()) == IsNormalized::Yes {
        text.chars().take(CHARS_MAX + 1).collect()
    } else {
        text.nfc().take(CHARS_MAX + 1).collect()
    };
    if composed.is_empty() {
        return (Vec::new(), false);
    }
    let cut = composed.len() > CHARS_MAX;
    let signs = |c: &char| SIGNS.contains(*c);
    let separated = |c: &char| if *c == '\\' { '/' } else { *c };
    let goes_on = if cut { GOES_ON } else { "" };
    let as_folders: Vec<char> =
        composed.iter().take(CHARS_MAX).map(separated).chain(goes_on.chars()).collect();
    let mut open = cut;
    let mut found: Vec<Vec<Part>> = Vec::new();
    let mut add = |text: &[char]| {
        for reading in paths(text) {
            if !found.contains(&reading) {
                found.push(reading);
            }
        }
    };
    add(&as_folders);
    if as_folders.contains(&'{') {
        let (texts, too_many) = alternatives(&as_folders);
        open |= too_many;
        texts.iter().for_each(|text| add(text));
    }
    if composed.windows(2).any(|pair| pair[0] == '\\' && signs(&pair[1])) {
        // Where `\` takes a sign's meaning away, it separates nothing.
        let mut escaped = Vec::with_capacity(composed.len());
        let mut rest = composed.iter().take(CHARS_MAX).peekable();
        while let Some(c) = rest.next() {
            match (c, rest.peek()) {
                ('\\', Some(next)) if signs(next) => {
                    escaped.extend(['\\', **next]);
                    rest.next();
                }
                _ => escaped.push(separated(c)),
            }
        }
        escaped.extend(goes_on.chars());
        let (texts, too_many) = alternatives(&escaped);
        open |= too_many;
        texts.iter().for_each(|text| add(text));
    }
    (found, open)
}

/// The texts that braces stand for, and whether there are too many: then each goes on in any way.
fn alternatives(text: &[char]) -> (Vec<Vec<char>>, bool) {
    // Which brace closes which, once for the whole text.
    let mut closes = vec![None; text.len()];
    let mut opened = Vec::new();
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            '\\' => at += 1,
            '{' => opened.push(at),
            '}' => {
                if let Some(start) = opened.pop() {
                    closes[start] = Some(at);
                }
            }
            _ => {}
        }
        at += 1;
    }
    let mut steps = READINGS_MAX * CHARS_MAX;
    let (mut texts, too_many) = expand(text, 0, &closes, &mut steps);
    if too_many {
        texts.iter_mut().for_each(|text| text.extend(GOES_ON.chars()));
    }
    (texts, too_many)
}

/// The texts of `text`, which begins at `base` of the whole; cut off before the group with which they get too many.
fn expand(text: &[char], base: usize, closes: &[Option<usize>], steps: &mut usize) -> (Vec<Vec<char>>, bool) {
    let mut texts = vec![Vec::new()];
    let mut at = 0;
    while at < text.len() {
        let Some(end) = closes[base + at].map(|end| end - base) else {
            let pair = if text[at] == '\\' { 2 } else { 1 };
            let piece = &text[at..(at + pair).min(text.len())];
            texts.iter_mut().for_each(|text| text.extend(piece));
            at += pair;
            continue;
        };
        let mut choices = Vec::new();
        let mut start = at + 1;
        let mut inner = start;
        let mut too_many = false;
        while inner <= end {
            if inner == end || text[inner] == ',' {
                let (found, more) = expand(&text[start..inner], base + start, closes, steps);
                too_many |= more;
                choices.extend(found);
                start = inner + 1;
            }
            inner = match text.get(inner) {
                Some('\\') => inner + 2,
                Some('{') if inner < end => closes[base + inner].map_or(inner + 1, |close| close - base + 1),
                _ => inner + 1,
            };
        }
        let cost = texts.len() * choices.len();
        if too_many || cost > READINGS_MAX || *steps < cost {
            return (texts, true);
        }
        *steps -= cost;
        texts = texts
            .iter()
            .flat_map(|before| choices.iter().map(|choice| [&before[..], &choice[..]].concat()))
            .collect();
        at = end + 1;
    }
    (texts, false)
}

/// The paths that a text without braces can mean: plain, with all below it, or with wildcards.
fn paths(text: &[char]) -> Vec<Vec<Part>> {
    let mut parts: Vec<Part> = Vec::new();
    let below = text.last() == Some(&'/');
    for name in text.split(|c| *c == '/') {
        match name {
            [] | ['.'] => {}
            ['*', '*'] => parts.push(Part::Any),
            ['.', '.'] => match parts.pop() {
                None => return Vec::new(), // out of the repository: it names nothing here
                // Up from anywhere below is anywhere below, or beside it.
                Some(Part::Any) => {
                    parts.pop();
                    parts.push(Part::Any);
                }
                Some(_) => {}
            },
            _ => parts.push(named(ways(name))),
        }
    }
    let is_plain = |part: &Part| match part {
        Part::Plain(_) => Some(part.clone()),
        Part::Wild(ways) if ways.len() > 1 => match named(vec![ways[0].clone()]) {
            plain @ Part::Plain(_) => Some(plain),
            _ => None,
        },
        _ => None,
    };
    let mut found = Vec::new();
    let plain: Option<Vec<Part>> = parts.iter().map(is_plain).collect();
    let all_plain = parts.iter().all(|part| matches!(part, Part::Plain(_)));
    if let Some(mut plain) = plain {
        plain.push(Part::Below);
        found.push(plain);
    }
    if !all_plain {
        if below && parts.last() != Some(&Part::Any) {
            parts.push(Part::Any);
        }
        found.push(parts);
    }
    found
}

/// The ways to read a name: brackets as letters first, then as a class.
fn ways(name: &[char]) -> Vec<Vec<Token>> {
    let literal = tokens(name, false);
    if !name.contains(&'[') {
        return vec![literal];
    }
    let classes = tokens(name, true);
    if classes == literal { vec![literal] } else { vec![literal, classes] }
}

fn tokens(name: &[char], brackets: bool) -> Vec<Token> {
    let mut found = Vec::with_capacity(name.len());
    let mut at = 0;
    while at < name.len() {
        match name[at] {
            '\\' if at + 1 < name.len() => {
                at += 1;
                found.push(Token::Char(name[at]));
            }
            '*' if found.last() == Some(&Token::Star) => {}
            '*' => found.push(Token::Star),
            '?' => found.push(Token::One),
            '[' if brackets => {
                if let Some((class, end)) = class(name, at) {
                    found.push(Token::Class(Box::new(class)));
                    at = end;
                } else {
                    found.push(Token::Char('['));
                }
            }
            c => found.push(Token::Char(c)),
        }
        at += 1;
    }
    found
}

/// The class that begins at `start`, and where its bracket closes; `None` where none does.
fn class(name: &[char], start: usize) -> Option<(Class, usize)> {
    let negated = matches!(name.get(start + 1), Some('!' | '^'));
    let first = start + 1 + usize::from(negated);
    let mut at = first;
    let mut ranges = Vec::new();
    let letter = |at: usize| match name.get(at)? {
        '\\' => Some((*name.get(at + 1)?, at + 2)),
        c => Some((*c, at + 1)),
    };
    loop {
        if at > first && name.get(at) == Some(&']') {
            let text = name[start..=at].iter().collect::<String>().into();
            return Some((Class { negated, ranges, text }, at));
        }
        let (from, next) = letter(at)?;
        let ranged = name.get(next) == Some(&'-') && name.get(next + 1).is_some_and(|c| *c != ']');
        let (to, next) = if ranged { letter(next + 1)? } else { (from, next) };
        ranges.push((from, to));
        at = next;
    }
}
