//! A line that is being typed: its text, and where in it the next letter goes.

use unicode_segmentation::UnicodeSegmentation;

use crate::shown;

/// More is typed by nobody, and a paste of a whole file is cut off here (in bytes).
const LONGEST: usize = 1000;

/// A line with a place in it, which always stands between two letters as they are seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    text: String,
    at: usize,
}

impl Entry {
    /// A line to go on with, the place at its end.
    pub fn new(text: &str) -> Self {
        Self { text: text.to_owned(), at: text.len() }
    }

    /// All of it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What stands before the place, and what behind it.
    pub fn halves(&self) -> (&str, &str) {
        self.text.split_at(self.at)
    }

    /// Puts in one typed letter.
    pub fn type_in(&mut self, letter: char) {
        if !letter.is_control() && self.text.len() + letter.len_utf8() <= LONGEST {
            self.text.insert(self.at, letter);
            self.at = self.edge(self.at + letter.len_utf8());
        }
    }

    /// Puts in a text from elsewhere, as one line that is safe to show.
    pub fn paste(&mut self, text: &str) {
        let text = text.trim();
        let begin: String = text.chars().take(LONGEST).collect();
        let words: Vec<&str> = begin.split(['\n', '\r', '\t']).filter(|part| !part.is_empty()).collect();
        for letter in shown::line(&words.join(" ")).chars() {
            self.type_in(letter);
        }
    }

    /// Takes away the letter before the place; `false` where there is none.
    pub fn back(&mut self) -> bool {
        let end = self.at;
        self.left();
        let begin = self.at;
        self.text.replace_range(begin..end, "");
        self.at = self.edge(begin);
        end > begin
    }

    /// Takes away the letter behind the place.
    pub fn delete(&mut self) {
        let begin = self.at;
        self.right();
        self.text.replace_range(begin..self.at, "");
        self.at = self.edge(begin);
    }

    /// Takes away the word before the place.
    pub fn back_word(&mut self) {
        let before = &self.text[..self.at];
        let begin = before
            .trim_end()
            .rfind(char::is_whitespace)
            .map_or(0, |blank| blank + before[blank..].chars().next().map_or(0, char::len_utf8));
        self.text.replace_range(begin..self.at, "");
        self.at = self.edge(begin);
    }

    /// Takes away all before the place.
    pub fn back_all(&mut self) {
        self.text.replace_range(..self.at, "");
        self.at = 0;
    }

    /// One letter to the left.
    pub fn left(&mut self) {
        self.at = self.text[..self.at].grapheme_indices(true).next_back().map_or(0, |(at, _)| at);
    }

    /// One letter to the right.
    pub fn right(&mut self) {
        self.at += self.text[self.at..].graphemes(true).next().map_or(0, str::len);
    }

    /// To the beginning.
    pub fn home(&mut self) {
        self.at = 0;
    }

    /// To the end.
    pub fn end(&mut self) {
        self.at = self.text.len();
    }

    /// The nearest edge of a letter that is not before `at`: what was put in may have become part of what follows.
    fn edge(&self, at: usize) -> usize {
        let mut edges = self.text.grapheme_indices(true).map(|(edge, _)| edge);
        edges.find(|edge| *edge >= at).unwrap_or(self.text.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_is_typed_and_mended() {
        let mut line = Entry::new("s:working");
        line.type_in(' ');
        "f:src".chars().for_each(|c| line.type_in(c));
        assert_eq!(line.halves(), ("s:working f:src", ""));
        line.back_word();
        assert_eq!(line.text(), "s:working ");
        line.home();
        line.type_in('-');
        assert_eq!(line.halves(), ("-", "s:working "));
        line.right();
        line.delete();
        assert_eq!(line.halves(), ("-s", "working "));
        line.end();
        line.left();
        line.back_all();
        assert_eq!(line.halves(), ("", " "));
        assert!(!line.back());
    }

    #[test]
    fn letters_are_taken_whole() {
        let mut line = Entry::new("xe\u{301}料");
        line.left();
        line.left();
        assert_eq!(line.halves(), ("x", "e\u{301}料"));
        line.delete();
        assert!(line.back());
        assert_eq!(line.text(), "料");
        // A mark that comes later joins the letter before it.
        let mut line = Entry::new("ex");
        line.left();
        line.type_in('\u{301}');
        assert_eq!(line.halves(), ("e\u{301}", "x"));
    }

    #[test]
    fn what_is_pasted_is_one_safe_line() {
        let mut line = Entry::default();
        line.paste("\n src/a.rs\nsrc/\u{1b}]52;c;aGk=\u{7}b\u{9b}2J\u{202e}c\t\n");
        assert_eq!(line.text(), "src/a.rs src/·b·<U+202E>c");
        line.paste(&"x".repeat(100_000));
        assert!(line.text().len() <= LONGEST);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn the_place_stays_between_letters(steps in proptest::collection::vec((0..10u8, any::<char>()), 0..60)) {
            let mut line = Entry::default();
            for (step, letter) in steps {
                match step {
                    0 => line.left(),
                    1 => line.right(),
                    2 => line.home(),
                    3 => { line.back(); }
                    4 => line.delete(),
                    5 => line.back_word(),
                    6 => line.paste(&letter.to_string()),
                    _ => line.type_in(letter),
                }
                let (before, after) = line.halves();
                let edges: Vec<usize> = line.text().grapheme_indices(true).map(|(i, _)| i).collect();
                prop_assert!(after.is_empty() || edges.contains(&before.len()), "{:?}", line);
            }
        }
    }
}
