//! A theme's file, read by hand so that a fault is said with its line, its value and what is allowed instead.
//!
//! ```toml
//! inherits = "terminal"            # what this file leaves out, and the names of its palette
//! error = "rose bold"              # a role: colour, `on` background, modifiers
//! [palette]
//! rose = ["#ff7b72", 210, "red"]   # a colour; among 256; among 16
//! ```

use std::collections::BTreeMap;

use ratatui::style::{Color, Modifier, Style};
use toml::Spanned;
use toml::de::DeValue;

use super::colour::Colour;
use super::{Depth, ROLES, Theme};
use crate::written::{excerpt, line, parse, short};

/// What a colour must be.
const COLOUR: &str = "a colour: default, black, red, green, yellow, blue, magenta, cyan, white, \
                      one of the latter eight after bright-, 0 to 255, or #rrggbb";

/// What can stand beside a role's colours. Nothing blinks.
const MODIFIERS: [(&str, Modifier); 5] = [
    ("bold", Modifier::BOLD),
    ("dim", Modifier::DIM),
    ("italic", Modifier::ITALIC),
    ("underline", Modifier::UNDERLINED),
    ("reverse", Modifier::REVERSED),
];

/// Files that were read but not yet made into a theme: one may take a name from another's palette.
#[derive(Debug, Default)]
pub(super) struct Draft {
    palette: BTreeMap<String, Colour>,
    /// By place in [`ROLES`].
    roles: BTreeMap<usize, Said>,
    /// A file was at fault: what it leaves out is not missed, since it would only follow from that.
    broken: bool,
}

/// What a file says of a role.
#[derive(Debug)]
struct Said {
    words: String,
    /// File and line, for its faults.
    at: String,
}

/// A theme's wish for what another says.
#[derive(Debug)]
pub(super) struct Heir {
    pub(super) from: String,
    pub(super) line: usize,
}

/// Reads one file.
pub(super) fn draft(file: &str, text: &str, faults: &mut Vec<String>) -> (Draft, Option<Heir>) {
    let mut draft = Draft::default();
    let mut heir = None;
    let table = match parse(file, text) {
        Ok(table) => table,
        Err(fault) => {
            faults.push(fault);
            return (draft.or_all(), None);
        }
    };
    for (name, value) in table.get_ref() {
        let at = format!("{file}, line {}", line(text, name.span()));
        let name = name.get_ref().as_ref();
        let must = |must: &str| format!("{at}: {} = {} must be {must}", short(name), excerpt(text, value));
        if name == "inherits" {
            if let Some(from) = value.get_ref().as_str() {
                heir = Some(Heir { from: from.to_owned(), line: line(text, value.span()) });
            } else {
                faults.push(must("another theme's name in quotes"));
                draft.broken = true;
            }
        } else if name == "palette" {
            match value.get_ref().as_table() {
                Some(names) => {
                    for (name, value) in names {
                        draft.colour(file, text, name, value, faults);
                    }
                }
                None => faults.push(must("a table of names and colours, under [palette]")),
            }
        } else if let Some(role) = ROLES.iter().position(|role| *role == name) {
            let words = words(value.get_ref());
            if words.is_none() {
                faults.push(must("words in quotes, like \"red bold\" or \"white on blue\""));
            }
            // It is there, whatever it is: nobody is told that it is left out.
            draft.roles.insert(role, Said { words: words.unwrap_or_else(|| "default".into()), at });
        } else {
            let roles = ROLES.join(", ");
            let name = short(name);
            faults.push(format!(
                "{at}: there is no role {name}; there are {roles}, beside inherits and [palette]"
            ));
        }
    }
    (draft, heir)
}

impl Draft {
    /// Takes one name of the palette.
    fn colour(
        &mut self,
        file: &str,
        text: &str,
        name: &Spanned<std::borrow::Cow<'_, str>>,
        value: &Spanned<DeValue<'_>>,
        faults: &mut Vec<String>,
    ) {
        let at = format!("{file}, line {}", line(text, name.span()));
        let said = excerpt(text, value);
        let name = name.get_ref().as_ref();
        let sign = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        let is_word = name.bytes().all(sign) && name.starts_with(|c: char| c.is_ascii_alphabetic());
        let taken = ["on", "default"].contains(&name) || MODIFIERS.iter().any(|(word, _)| *word == name);
        if !is_word || taken {
            let name = short(name);
            faults.push(format!(
                "{at}: {name} can't be a colour's name; take letters, digits and hyphens that mean nothing else"
            ));
            return;
        }
        let colour = shades(value.get_ref());
        if let Err(must) = &colour {
            faults.push(format!("{at}: {} = {said} must be {must}", short(name)));
        }
        let blank = Colour { best: Color::Reset, indexed: None, sixteen: None };
        self.palette.insert(name.to_owned(), colour.unwrap_or(blank));
    }

    /// This on top of what it inherits.
    pub(super) fn on(mut self, below: Self) -> Self {
        let Self { mut palette, mut roles, broken } = below;
        palette.append(&mut self.palette);
        roles.append(&mut self.roles);
        Self { palette, roles, broken: broken || self.broken }
    }

    /// The same, where what it would inherit is lost and nobody is to miss it.
    pub(super) fn or_all(mut self) -> Self {
        self.broken = true;
        self
    }

    /// The theme. `file` is the one that was asked for.
    pub(super) fn theme(&self, file: &str, depth: Depth, faults: &mut Vec<String>) -> Theme {
        let mut theme = Theme::default();
        let mut missing = Vec::new();
        for (role, style) in theme.styles().into_iter().enumerate() {
            match self.roles.get(&role) {
                Some(said) => match self.style(&said.words, depth) {
                    Ok(said) => *style = said,
                    Err(fault) => {
                        let words = short(&said.words);
                        faults.push(format!("{}: {} = \"{words}\": {fault}", said.at, ROLES[role]));
                    }
                },
                None => missing.push(ROLES[role]),
            }
        }
        if !missing.is_empty() && !self.broken {
            faults.push(format!(
                "{file} leaves out {}; write inherits = \"terminal\" at its top to take them from there",
                missing.join(", ")
            ));
        }
        // On a painted background the terminal's own text might be of the same colour.
        let text = theme.text;
        if text.bg.is_some() {
            for style in theme.styles() {
                style.bg = style.bg.or(text.bg);
                style.fg = style.fg.or(text.fg);
            }
        }
        theme
    }

    /// A role's words as a style.
    fn style(&self, words: &str, depth: Depth) -> Result<Style, String> {
        let mut style = Style::new();
        let (mut front, mut back) = (None, None);
        let mut words = words.split_whitespace();
        let mut any = false;
        while let Some(word) = words.next() {
            any = true;
            if let Some((_, modifier)) = MODIFIERS.iter().find(|(name, _)| *name == word) {
                style = style.add_modifier(*modifier);
            } else if word == "on" {
                let Some(word) = words.next() else { return Err("a background must follow on".to_owned()) };
                if back.replace(self.named(word)?).is_some() {
                    return Err("there are two backgrounds".to_owned());
                }
            } else if front.replace(self.named(word)?).is_some() {
                return Err("there are two colours; a background comes after the word on".to_owned());
            }
        }
        if !any {
            return Err("it says nothing; default is the terminal's own colour".to_owned());
        }
        let shown = |colour: Option<Colour>| colour.map(|c| c.at(depth)).filter(|c| *c != Color::Reset);
        style.fg = shown(front);
        style.bg = shown(back);
        Ok(style)
    }

    /// A colour by its name in the palette, or as it is.
    fn named(&self, word: &str) -> Result<Colour, String> {
        self.palette.get(word).copied().or_else(|| Colour::read(word)).ok_or_else(|| {
            let names: Vec<&str> = self.palette.keys().map(String::as_str).collect();
            let names = if names.is_empty() { "empty".to_owned() } else { names.join(", ") };
            format!(
                "{} is no modifier (bold, dim, italic, underline, reverse), no name of the palette ({names}), \
                 and not {COLOUR}",
                short(word)
            )
        })
    }
}

/// A colour's or a role's text; a number of the 256 need not stand in quotes.
fn words(value: &DeValue<'_>) -> Option<String> {
    let number = || value.as_integer().filter(|n| n.radix() == 10).map(|n| n.as_str().to_owned());
    value.as_str().map(str::to_owned).or_else(number)
}

/// A colour of the palette: one, or one for each depth. The error says what it must be.
fn shades(value: &DeValue<'_>) -> Result<Colour, String> {
    let read = |value: &DeValue<'_>| words(value).and_then(|text| Colour::read(&text));
    let Some(list) = value.as_array() else { return read(value).ok_or_else(|| COLOUR.to_owned()) };
    let must =
        || "one to three colours: the best, then among 256, then among 16 (a name, or 0 to 15)".to_owned();
    let all: Vec<Colour> = list.iter().filter_map(|value| read(value.get_ref())).collect();
    let (Some(best), true) = (all.first(), all.len() == list.len() && all.len() <= 3) else {
        return Err(must());
    };
    let fits = |at: usize, depth: Depth| match all.get(at) {
        Some(colour) if colour.needs() > depth => Err(must()),
        colour => Ok(colour.map(|colour| colour.best)),
    };
    Ok(Colour { indexed: fits(1, Depth::Indexed)?, sixteen: fits(2, Depth::Sixteen)?, ..*best })
}
