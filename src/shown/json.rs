//! Other people's texts as JSON, safe to show and to copy, with their value whole.

use std::fmt::Write;

use super::ignorable;

/// `text`, which is JSON, as one line with the same value: characters that could move a cursor, turn the
/// direction of writing or stand unseen are written as JSON escapes, and line ends between values as spaces.
/// In JSON such characters can stand only within strings, so that nothing else changes.
pub fn json(text: &str) -> String {
    let text = text.trim();
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => line.push(' '),
            c if hidden(c) => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    // Writing to a String can't fail.
                    let _ = write!(line, "\\u{unit:04x}");
                }
            }
            c => line.push(c),
        }
    }
    line
}

/// Controls (7- and 8-bit), and characters that are never seen themselves but change how others are.
fn hidden(c: char) -> bool {
    c.is_control() || ignorable(c)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn plain_frames_stay_as_they_are() {
        let text = r#"{"type":"pulse","doing":"料金ページ é \"q\" \n"}"#;
        assert_eq!(json(text), text);
    }

    #[test]
    fn nothing_of_others_reaches_the_terminal() {
        let text = "{\"a\":\"\u{9b}2J\u{202e}x\u{200b}\u{7f}\u{e0041}\",\n\t\"b\":1}\n";
        assert_eq!(json(text), r#"{"a":"\u009b2J\u202ex\u200b\u007f\udb40\udc41",  "b":1}"#);
        assert_eq!(
            serde_json::from_str::<Value>(&json(text)).unwrap(),
            serde_json::from_str::<Value>(text).unwrap()
        );
    }

    proptest! {
        #[test]
        fn the_value_stays_the_same(text in "\\PC*|[\\x00-\\x1f\\x7f-\\x9f\u{200b}-\u{202e}\u{e0000}-\u{e007f}]*", pretty: bool) {
            let value = serde_json::json!({ "doing": text, "files": [text, 1, null] });
            let written = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
            let line = json(&written.unwrap());
            prop_assert!(!line.chars().any(hidden));
            prop_assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), value);
        }
    }
}
