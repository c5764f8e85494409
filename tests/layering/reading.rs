//! A Rust file as the layering test sees it: its paths, strings and lines of code, read as tokens, so
//! that comments and strings never count as code and code inside macros does.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use proc_macro2::{Delimiter, Group, LexError, TokenStream, TokenTree};

/// One path of the code, as it is written: `crate::wire::Pulse`, also where it stands in a group.
pub struct Named {
    pub line: usize,
    pub segments: Vec<String>,
    /// The module that the path stands in, which `self` and `super` start from.
    pub module: Vec<String>,
}

/// What a file's tokens tell.
#[derive(Default)]
pub struct Reading {
    lines: BTreeSet<usize>,
    tests: Vec<RangeInclusive<usize>>,
    pub paths: Vec<Named>,
    pub strings: Vec<(usize, String)>,
    /// `async`, `await` and their lines.
    pub waits: Vec<usize>,
    /// Lines with the type `&mut Model`.
    pub mutable_models: Vec<usize>,
}

impl Reading {
    /// Reads the file of a module (its path from the crate's root).
    pub fn of(module: &[String], text: &str) -> Result<Self, LexError> {
        let mut reading = Self::default();
        reading.walk(&trees(text.parse()?), module);
        Ok(reading)
    }

    pub fn in_test(&self, line: usize) -> bool {
        self.tests.iter().any(|range| range.contains(&line))
    }

    pub fn code_lines(&self) -> usize {
        self.lines.iter().filter(|line| !self.in_test(**line)).count()
    }

    fn walk(&mut self, tokens: &[TokenTree], module: &[String]) {
        // Where an item under `#[cfg(test)]` began, until its end is seen.
        let mut test_from = None;
        let mut i = 0;
        while i < tokens.len() {
            let line = line_of(&tokens[i]);
            if let Some((group, after)) = attribute(tokens, i) {
                let inside = trees(group.stream());
                if !is_word(inside.first(), "doc") {
                    if group.stream().to_string().replace(' ', "").starts_with("cfg(test") {
                        test_from = test_from.or(Some(line));
                    }
                    self.mark(&tokens[i..after]);
                    self.walk(&inside, module);
                }
                i = after;
                continue;
            }
            self.mark(&tokens[i..=i]);
            match &tokens[i] {
                TokenTree::Ident(word) if *word == "mod" => {
                    if let (Some(TokenTree::Ident(name)), Some(TokenTree::Group(body))) =
                        (tokens.get(i + 1), tokens.get(i + 2))
                    {
                        let inner = [module, &[name.to_string()]].concat();
                        self.mark(&tokens[i + 1..=i + 2]);
                        self.walk(&trees(body.stream()), &inner);
                        self.end_of_item(&mut test_from, body.span_close().end().line);
                        i += 2;
                    }
                }
                TokenTree::Ident(word) => {
                    if *word == "async" || *word == "await" {
                        self.waits.push(line);
                    }
                    if *word == "use" || *word == "return" || *word == "in" || *word == "as" {
                        // Words that may stand before a path with a leading `::`.
                        i += 1;
                        continue;
                    }
                    let imported = i > 0 && is_word(tokens.get(i - 1), "use");
                    let end = self.path(tokens, i, &[], module, imported);
                    if is_word(tokens.get(end - 1), "Model") && follows_mutable_reference(&tokens[..i]) {
                        self.mutable_models.push(line);
                    }
                    i = end;
                    continue;
                }
                TokenTree::Group(group) => {
                    self.walk(&trees(group.stream()), module);
                    if group.delimiter() == Delimiter::Brace {
                        self.end_of_item(&mut test_from, group.span_close().end().line);
                    }
                }
                TokenTree::Punct(punct) => {
                    if punct.as_char() == ';' {
                        self.end_of_item(&mut test_from, line);
                    }
                }
                TokenTree::Literal(literal) => self.strings.push((line, literal.to_string())),
            }
            i += 1;
        }
    }

    fn end_of_item(&mut self, test_from: &mut Option<usize>, line: usize) {
        if let Some(first) = test_from.take() {
            self.tests.push(first..=line);
        }
    }

    /// Reads the path that starts at `tokens[i]`, groups and all; gives the index behind it.
    fn path(
        &mut self,
        tokens: &[TokenTree],
        mut i: usize,
        before: &[String],
        module: &[String],
        imported: bool,
    ) -> usize {
        let line = line_of(&tokens[i]);
        let mut segments = before.to_vec();
        loop {
            segments.push(tokens[i].to_string());
            self.mark(&tokens[i..=i]);
            i += 1;
            if !is_punct(tokens.get(i), ':') || !is_punct(tokens.get(i + 1), ':') {
                break;
            }
            match tokens.get(i + 2) {
                Some(TokenTree::Ident(_)) => i += 2,
                Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                    self.mark(&tokens[i + 2..=i + 2]);
                    self.branches(&trees(group.stream()), &segments, module);
                    return i + 3;
                }
                Some(TokenTree::Punct(star)) if star.as_char() == '*' => {
                    segments.push("*".to_owned());
                    i += 3;
                    break;
                }
                _ => break,
            }
        }
        if segments.len() > 1 || imported {
            self.paths.push(Named { line, segments, module: module.to_vec() });
        }
        i
    }

    /// The inside of `a::{…}`.
    fn branches(&mut self, tokens: &[TokenTree], before: &[String], module: &[String]) {
        let mut i = 0;
        let mut at_start = true;
        while i < tokens.len() {
            self.mark(&tokens[i..=i]);
            match &tokens[i] {
                TokenTree::Ident(_) if at_start => {
                    at_start = false;
                    i = self.path(tokens, i, before, module, false);
                    continue;
                }
                TokenTree::Punct(star) if at_start && star.as_char() == '*' => {
                    let segments = [before, &["*".to_owned()]].concat();
                    self.paths.push(Named { line: line_of(&tokens[i]), segments, module: module.to_vec() });
                }
                TokenTree::Punct(comma) => at_start = comma.as_char() == ',',
                _ => {}
            }
            i += 1;
        }
    }

    fn mark(&mut self, tokens: &[TokenTree]) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => {
                    self.lines.insert(group.span_open().start().line);
                    self.lines.insert(group.span_close().end().line);
                }
                other => self.lines.extend(other.span().start().line..=other.span().end().line),
            }
        }
    }
}

fn trees(tokens: TokenStream) -> Vec<TokenTree> {
    tokens.into_iter().collect()
}

fn line_of(token: &TokenTree) -> usize {
    token.span().start().line
}

fn is_word(token: Option<&TokenTree>, word: &str) -> bool {
    matches!(token, Some(TokenTree::Ident(ident)) if ident == word)
}

fn is_punct(token: Option<&TokenTree>, wanted: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted)
}

/// The group of an attribute that starts at `i` (doc comments are such), and the index behind it.
fn attribute(tokens: &[TokenTree], i: usize) -> Option<(&Group, usize)> {
    if !is_punct(tokens.get(i), '#') {
        return None;
    }
    let at = if is_punct(tokens.get(i + 1), '!') { i + 2 } else { i + 1 };
    match tokens.get(at) {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Bracket => Some((group, at + 1)),
        _ => None,
    }
}

/// Whether the tokens end in `&mut` or `&'a mut`.
fn follows_mutable_reference(before: &[TokenTree]) -> bool {
    match before {
        [.., amp, word] if is_punct(Some(amp), '&') => is_word(Some(word), "mut"),
        [.., amp, tick, TokenTree::Ident(_), word] if is_punct(Some(amp), '&') => {
            is_punct(Some(tick), '\'') && is_word(Some(word), "mut")
        }
        _ => false,
    }
}
