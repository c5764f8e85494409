//! What the screen's parts look like: a style for each role, and the signs with their ASCII twins.

use std::borrow::Cow;

use ratatui::style::{Color, Modifier, Style};

use crate::shown;
use crate::wire::pulse::Availability;

/// The themes' names.
pub const NAMES: [&str; 2] = ["terminal", "mono"];

/// A style for each role that a text can have. Roles, not widgets: what means the same looks the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Theme {
    /// Body text.
    pub text: Style,
    /// Ages, field names, owners, times.
    pub muted: Style,
    /// Rules.
    pub border: Style,
    /// The title of the pane that the keys go to.
    pub focus: Style,
    /// The selected row.
    pub selected: Style,
    /// The bar before the selected row.
    pub bar: Style,
    /// Failures.
    pub error: Style,
    /// What a person can do: commands, keys.
    pub hint: Style,
    /// The connection, while it is good.
    pub live: Style,
    working: Style,
    online: Style,
    idle: Style,
    absent: Style,
}

impl Theme {
    /// The theme of this name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "terminal" => Some(Self::terminal()),
            "mono" => Some(Self::mono()),
            _ => None,
        }
    }

    /// The terminal's own 16 colours on its own background: readable wherever its user can read.
    pub fn terminal() -> Self {
        let plain = Style::new();
        let dim = plain.add_modifier(Modifier::DIM);
        let bold = plain.add_modifier(Modifier::BOLD);
        Self {
            text: plain,
            muted: dim,
            border: dim,
            focus: bold,
            selected: bold,
            bar: plain.fg(Color::Cyan),
            error: bold.fg(Color::Red),
            hint: plain.fg(Color::Cyan),
            live: plain.fg(Color::Green),
            working: plain.fg(Color::Green),
            online: plain.fg(Color::Cyan),
            idle: plain,
            absent: dim,
        }
    }

    /// No colour at all, for `NO_COLOR`: bold marks, words and signs carry everything.
    pub fn mono() -> Self {
        let plain = Style::new();
        let bold = plain.add_modifier(Modifier::BOLD);
        Self {
            text: plain,
            muted: plain,
            border: plain,
            focus: bold,
            selected: bold,
            bar: bold,
            error: bold,
            hint: bold,
            live: plain,
            working: plain,
            online: plain,
            idle: plain,
            absent: plain,
        }
    }

    /// The style of an availability's sign.
    pub fn availability(&self, availability: &Availability) -> Style {
        match availability {
            Availability::Working => self.working,
            Availability::Online => self.online,
            Availability::Idle | Availability::Other(_) => self.idle,
            Availability::Asleep | Availability::Away | Availability::Offline => self.absent,
        }
    }
}

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
        '│' => "|",
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
