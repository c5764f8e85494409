//! How a pattern's text is read: as a plain path, with wildcards, with braces, with escapes; one text, some readings.

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::name::{Class, Part, Token, named};

/// More alternatives of braces are not told apart: what follows them may be anything.
const READINGS_MAX: usize = 32;
/// A text longer than any room takes is read so far, and may go on in any way.
const CHARS_MAX: usize = 1024;
/// What stands for any rest of a text.
const GOES_ON: &str = "*/**";
/// What has a meaning of its own in a pattern, so that `\` before it takes that away.
const SIGNS: &str = "*?[]{},!\\";

/// All that a text can mean, the plainest first, and whether something of it had to be left open.
pub fn readings(text: &str) -> (Vec<Vec<Part>>, bool) {
    // Most texts are plain paths, and a large room has tens of thousands.
    if text.is_ascii() && !text.is_empty() && text.len() <= CHARS_MAX && !text.contains(is_sign) {
        return (plain(text).into_iter().collect(), false);
    }
    let composed: Vec<char> = if is_nfc_quick(text.chars()) == IsNormalized::Yes {
        text.chars().take(CHARS_MAX + 1).collect()
    } else {
        text.nfc().take(CHARS_MAX + 1).collect()
    };
    if composed.is_empty() {
        return (Vec::new(), false);
    }
    let cut = composed.len() > CHARS_MAX;
    let signs = |c: &char| is_sign(*c);
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

fn is_sign(c: char) -> bool {
    SIGNS.contains(c)
}

/// A path without any sign, with all below it; `None` if it leads out of the repository.
fn plain(text: &str) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    for name in text.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(Part::Plain(name.into())),
        }
    }
    parts.push(Part::Below);
    Some(parts)
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
