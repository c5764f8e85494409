//! Other people's text made safe to show: the only way text gets from the wire to a screen.
//!
//! Agents write these texts, and a terminal obeys what it is sent. So nothing that a terminal could obey, and
//! nothing invisible, passes: escape sequences (7- and 8-bit, with their body) and control characters become
//! `·`; bidi controls and zero-width characters, which could make two different texts look alike, become
//! `<U+202E>` and the like. What a script needs stays: right-to-left letters, CJK, combining marks, and joiners
//! between letters that join. Emoji sequences, whose width terminals disagree on, are reduced to their base.
//!
//! [`line()`] makes a text safe, [`json()`] a JSON text; the others measure, cut and wrap texts that are safe already.

use std::borrow::Cow;
use std::fmt::Write;
use std::iter::Peekable;
use std::str::Chars;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthChar;

mod json;

pub use json::json;

/// Stands for something that was taken out.
const REMOVED: char = '·';
/// More combining marks on one letter than any script uses are taken out: they would run over other lines.
const MARKS_MAX: usize = 6;

/// A text as one safe line.
pub fn line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut before: Option<char> = None;
    let mut marks = 0;
    while let Some(c) = chars.next() {
        match c {
            ' '..='~' => out.push(c),
            '\r' if chars.peek() == Some(&'\n') => continue, // one line end, one sign
            '\u{1b}' => {
                escape(&mut chars);
                out.push(REMOVED);
            }
            '\u{9b}' => {
                control_sequence(&mut chars);
                out.push(REMOVED);
            }
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => {
                control_string(&mut chars);
                out.push(REMOVED);
            }
            _ if c.is_control() => out.push(REMOVED),
            '\u{200c}' | '\u{200d}' => {
                let next = chars.peek().copied();
                if before.is_some_and(joins) && next.is_some_and(joins) {
                    out.push(c);
                } else if c == '\u{200d}' && before.is_some_and(pictograph) && next.is_some_and(pictograph) {
                    chars.next(); // 👩‍💻 becomes 👩
                    continue;
                } else {
                    code(&mut out, c);
                }
            }
            // Which of two forms of a sign is drawn, and how wide, differs from terminal to terminal.
            '\u{fe0e}' | '\u{fe0f}' | '\u{20e3}' if before.is_some_and(has_forms) => continue,
            '\u{1f3fb}'..='\u{1f3ff}' if before.is_some_and(pictograph) => continue,
            '\u{1f1e6}'..='\u{1f1ff}' => out.push(flag_letter(c)),
            // Three columns by Unicode's table, and something else in every terminal.
            _ if ignorable(c) || c.width() > Some(2) => code(&mut out, c),
            _ if c.width() == Some(0) => {
                marks += 1;
                if before.is_none() {
                    out.push(REMOVED); // a mark needs something of its own to stand on
                }
                if marks <= MARKS_MAX {
                    out.push(c);
                }
                before = before.or(Some(REMOVED));
                continue;
            }
            _ => out.push(c),
        }
        before = Some(c);
        marks = 0;
    }
    out
}

/// Writes an invisible character so that it can be seen.
fn code(out: &mut String, c: char) {
    // Writing into a String cannot fail.
    let _ = write!(out, "<U+{:04X}>", u32::from(c));
}

/// Skips what follows ESC.
fn escape(chars: &mut Peekable<Chars<'_>>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            control_sequence(chars);
        }
        Some(']' | 'P' | '_' | '^' | 'X') => {
            chars.next();
            control_string(chars);
        }
        _ => {
            while chars.next_if(|c| (' '..='/').contains(c)).is_some() {}
            chars.next_if(|c| ('0'..='~').contains(c));
        }
    }
}

/// Skips the parameters and the final byte of a control sequence.
fn control_sequence(chars: &mut Peekable<Chars<'_>>) {
    while chars.next_if(|c| (' '..='?').contains(c)).is_some() {}
    chars.next_if(|c| ('@'..='~').contains(c));
}

/// Skips a control string up to its end. One without an end keeps its text, so that nothing is hidden by it.
fn control_string(chars: &mut Peekable<Chars<'_>>) {
    let mut ahead = chars.clone();
    while let Some(c) = ahead.next() {
        let ended = match c {
            '\u{7}' | '\u{9c}' => true,
            '\u{1b}' => ahead.next_if_eq(&'\\').is_some(),
            _ => false,
        };
        if ended {
            *chars = ahead;
            return;
        }
    }
}

/// Letters of scripts in which U+200C and U+200D change how a word is written.
fn joins(c: char) -> bool {
    matches!(c,
        '\u{620}'..='\u{6ff}' | '\u{700}'..='\u{7ff}' | '\u{840}'..='\u{8ff}' | '\u{900}'..='\u{dff}'
        | '\u{f00}'..='\u{109f}' | '\u{1780}'..='\u{17b3}' | '\u{17b6}'..='\u{17ff}' | '\u{1820}'..='\u{18aa}'
        | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
}

fn pictograph(c: char) -> bool {
    matches!(c, '\u{a9}' | '\u{ae}' | '\u{200d}' | '\u{203c}'..='\u{2049}' | '\u{2100}'..='\u{2bff}'
        | '\u{3030}'..='\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{fe0f}' | '\u{1f000}'..='\u{1faff}')
}

/// Signs that a variation selector or an enclosing keycap may follow.
fn has_forms(c: char) -> bool {
    pictograph(c) || c.is_ascii_digit() || matches!(c, '#' | '*')
}

/// The letter of a regional indicator: a flag is two of them, drawn in one to four columns.
fn flag_letter(c: char) -> char {
    u8::try_from(u32::from(c) - 0x1f1e6).map_or(REMOVED, |n| char::from(b'A' + n))
}

/// Unicode's `Default_Ignorable_Code_Point`, and what else has no shape of its own.
fn ignorable(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// How many columns a terminal gives a safe text.
pub fn width(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// A safe text cut to at most `columns`, on the edge of a letter, with `end` (`…`) where something is missing.
pub fn cut<'a>(text: &'a str, columns: usize, end: &str) -> Cow<'a, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let end = if width(end) <= columns { end } else { "" };
    let room = columns - width(end);
    let mut used = 0;
    let mut at = 0;
    for (i, letter) in text.grapheme_indices(true) {
        used += width(letter);
        if used > room {
            break;
        }
        at = i + letter.len();
    }
    Cow::Owned(format!("{}{end}", text[..at].trim_end()))
}

/// A safe text cut in its middle: a name's two ends tell more than its beginning.
pub fn cut_middle<'a>(text: &'a str, columns: usize, gap: &str) -> Cow<'a, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let room = columns.saturating_sub(width(gap));
    let head = cut(text, room - room / 2, "").into_owned();
    let mut tail = String::new();
    let mut used = 0;
    for letter in text.graphemes(true).rev() {
        used += width(letter);
        if used > room / 2 {
            break;
        }
        tail.insert_str(0, letter);
    }
    cut(&format!("{head}{gap}{tail}"), columns, "").into_owned().into()
}

/// A safe text in lines of at most `columns`, broken between words; a word that is too long is broken anywhere.
/// At least one line, and never one that is wider, unless a single letter is.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split_word_bounds() {
        let wide = width(word);
        if used + wide <= columns {
            push(&mut lines, word);
            used += wide;
            continue;
        }
        if word.trim().is_empty() {
            lines.push(String::new()); // the blank that the line break stands for
            used = 0;
            continue;
        }
        // Punctuation stays with its word: go back to the last blank of this line.
        let carried = lines.last_mut().and_then(|last| last.rfind(' ').map(|at| last.split_off(at + 1)));
        if let Some(carried) = carried {
            used = width(&carried);
            lines.push(carried);
            if used + wide <= columns {
                push(&mut lines, word);
                used += wide;
                continue;
            }
        }
        if wide <= columns {
            lines.push(word.to_owned()); // a long path breaks behind a slash
            used = wide;
            continue;
        }
        for letter in word.graphemes(true) {
            let wide = width(letter);
            if used + wide > columns && used > 0 {
                lines.push(String::new());
                used = 0;
            }
            push(&mut lines, letter);
            used += wide;
        }
    }
    for text in &mut lines {
        text.truncate(text.trim_end().len());
    }
    if lines.len() > 1 && lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

fn push(lines: &mut [String], text: &str) {
    let first = lines.len() == 1;
    if let Some(last) = lines.last_mut()
        && (first || !last.is_empty() || text != " ")
    {
        last.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn case_a01_escape_sequences_go_with_their_body() {
        for (from, to) in [
            ("\u{1b}]52;c;aGVsbG8=\u{7}hi", "·hi"),
            ("\u{1b}]0;title\u{1b}\\hi", "·hi"),
            ("\u{9d}8;;http://x\u{9c}hi", "·hi"),
            ("\u{1b}P+q544e\u{1b}\\hi", "·hi"),
            ("\u{1b}_x\u{1b}\\hi", "·hi"),
            ("\u{1b}chi", "·hi"),
            ("\u{1b}[31;1mhi\u{9b}2Jho", "·hi·ho"),
            ("\u{1b}(Bhi", "·hi"),
            ("a\u{7}b\u{8}c\u{0}", "a·b·c·"),
            ("\u{1b}", "·"),
            ("\u{1b}[", "·"),
            ("\u{1b}]52;c;never ended", "·52;c;never ended"),
        ] {
            assert_eq!(line(from), to, "{from:?}");
        }
    }

    #[test]
    fn case_a05_what_could_make_two_texts_look_alike_is_seen() {
        let shown =
            ["src/\u{202e}cod.exe", "src/a\u{200b}.rs", "src/a.rs", "src/a\u{ad}.rs", "src/\u{2066}a.rs"];
        assert_eq!(line(shown[0]), "src/<U+202E>cod.exe");
        assert_eq!(line(shown[1]), "src/a<U+200B>.rs");
        let all: std::collections::BTreeSet<String> = shown.iter().map(|t| line(t)).collect();
        assert_eq!(all.len(), shown.len());
        for c in "\u{202a}\u{202e}\u{2066}\u{2069}\u{200b}\u{200e}\u{200f}\u{200c}\u{200d}\u{feff}\u{ad}\u{61c}\u{e0041}".chars() {
            assert_eq!(line(&format!("a{c}b")), format!("a<U+{:04X}>b", u32::from(c)));
        }
    }

    #[test]
    fn a_newline_never_makes_a_row() {
        assert_eq!(line("a\nb\r\nc\td\u{2028}e"), "a·b·c·d<U+2028>e");
    }

    #[test]
    fn what_a_script_needs_stays() {
        for text in ["料金ページ", "می\u{200c}خواهم", "क्\u{200d}ष", "שלום", "cafe\u{301}", "ภาษาไทย", "😀"]
        {
            assert_eq!(line(text), text);
        }
    }

    #[test]
    fn emoji_sequences_are_reduced_to_their_base() {
        assert_eq!(line("♻️ ship ⚠️ ❤️"), "♻ ship ⚠ ❤");
        assert_eq!(line("👩\u{200d}💻 👍🏽 1️⃣ 🇩🇪"), "👩 👍 1 DE");
        assert_eq!(line("👨\u{200d}👩\u{200d}👧"), "👨");
    }

    #[test]
    fn a_pile_of_marks_is_cut_down() {
        let pile = format!("a{}b", "\u{301}".repeat(100));
        assert_eq!(line(&pile).chars().count(), 2 + MARKS_MAX);
        assert_eq!(line("\u{301}x"), "·\u{301}x");
    }

    #[test]
    fn case_a11_cuts_fall_between_letters() {
        assert_eq!(cut("Removing the old", 9, "…"), "Removing…");
        assert_eq!(cut("料金ページ", 6, "…"), "料金…");
        assert_eq!(cut("料金ページ", 10, "…"), "料金ページ");
        assert_eq!(cut("abc", 0, "…"), "");
        assert_eq!(cut_middle("acme/reviewer", 10, "…"), "acme/…ewer");
        for text in ["—".repeat(200), "ー".repeat(200), "é".repeat(500), "e\u{301}".repeat(100)] {
            for columns in 0..=210 {
                assert!(width(&cut(&text, columns, "…")) <= columns);
                assert!(width(&cut_middle(&text, columns, "…")) <= columns);
                assert!(wrap(&text, columns).iter().all(|l| width(l) <= columns.max(2)));
            }
        }
    }

    #[test]
    fn wraps_between_words() {
        assert_eq!(wrap("One would undo the other.", 10), ["One would", "undo the", "other."]);
        assert_eq!(
            wrap("a/very/long/path/that/does/not/fit", 12),
            ["a/very/long/", "path/that/", "does/not/fit"]
        );
        assert_eq!(wrap("", 5), [""]);
        assert_eq!(wrap("料金ページを", 4), ["料金", "ペー", "ジを"]);
    }

    /// What others may write, the odd more often than they would.
    const ANYTHING: &str = "(\\PC|[\\x00-\\x1f\\x7f-\\x9f\u{200b}-\u{200f}\u{202a}-\u{202e}\u{2066}-\u{2069}\u{fe0f}\u{e0001}\u{1f468}\u{1f3fb}\u{1f1e6}]|\\p{M}|[ -~ -ヿ一-鿿]){0,60}";

    /// Texts of it. Made once: to read the classes again for each text takes longer than all else.
    fn anything() -> impl Strategy<Value = String> {
        prop::string::string_regex(ANYTHING).unwrap()
    }

    /// How many texts are tried: `PROPTEST_CASES` may ask for more.
    fn cases() -> u32 {
        ProptestConfig::default().cases.max(4000)
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases()) })]
        #[test]
        fn nothing_a_terminal_obeys_and_nothing_invisible_is_left(text in anything()) {
            let safe = line(&text);
            for c in safe.chars() {
                prop_assert!(!c.is_control(), "{c:?}");
                prop_assert!(!ignorable(c) || matches!(c, '\u{200c}' | '\u{200d}'), "{c:?}");
            }
            prop_assert_eq!(&line(&safe), &safe, "safe text stays as it is");
        }

        #[test]
        fn our_width_is_the_terminals(text in anything()) {
            let safe = line(&text).replace('\u{fffd}', ""); // this terminal model leaves that one out
            let mut terminal = vt100::Parser::new(std::num::NonZero::<u16>::MIN, std::num::NonZero::new(1000).unwrap_or(std::num::NonZero::<u16>::MIN), 0);
            terminal.process(safe.as_bytes());
            prop_assert_eq!(usize::from(terminal.screen().cursor_position().1), width(&safe));
        }

        #[test]
        fn wrapping_loses_no_letter(text in "[a-z /.料é]{0,80}", columns in 2usize..40) {
            let joined: String = wrap(&text, columns).concat().split_whitespace().collect();
            let whole: String = text.split_whitespace().collect();
            prop_assert_eq!(joined, whole);
        }
    }
}
