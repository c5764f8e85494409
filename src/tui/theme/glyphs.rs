//! The signs that the screen uses, with their ASCII twins.

use std::borrow::Cow;

use crate::shown;

/// Which characters the terminal can be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Glyphs {
    /// UTF-8, ambiguous characters one column wide.
    Unicode,
    /// ASCII only.
    Ascii,
}

impl Glyphs {
    /// What stands where a text was cut.
    pub fn end(self) -> &'static str {
        match self {
            Self::Unicode => "…",
            Self::Ascii => "..",
        }
    }

    /// A safe text in these characters; its width may change, so this comes before measuring.
    pub fn tell(self, text: &str) -> Cow<'_, str> {
        if self == Self::Unicode || text.is_ascii() {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        for c in text.replace(" · ", ", ").chars() {
            match twin(c) {
                Some(twin) => out.push_str(twin),
                None if c.is_ascii() => out.push(c),
                None => (0..shown::width(c.encode_utf8(&mut [0; 4]))).for_each(|_| out.push('?')),
            }
        }
        Cow::Owned(out)
    }
}

/// The ASCII twin of each sign that the screen uses.
fn twin(c: char) -> Option<&'static str> {
    Some(match c {
        '●' => "*",
        '○' => ".",
        '◌' => "o",
        '×' => "x",
        '≠' | '█' => "#",
        '…' => "..",
        '—' | '–' | '─' => "-",
        '≥' => ">=",
        '·' => ",",
        '▌' | '›' => ">",
        '→' => "->",
        '│' | '▏' => "|",
        '┬' | '┴' | '┌' | '┐' | '└' | '┘' | '✓' => "+",
        '↑' => "up",
        '↓' => "down",
        '←' => "left",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ascii_keeps_the_columns_of_other_peoples_text() {
        let text = "Translating 料金 · é ● x…";
        assert_eq!(Glyphs::Ascii.tell(text), "Translating ????, ? * x..");
        assert_eq!(Glyphs::Unicode.tell(text), text);
        assert_eq!(Glyphs::Ascii.tell("5–16 of 40"), "5-16 of 40");
    }
}
