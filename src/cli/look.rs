//! How the screen is to look: flags, environment and locale made into a theme, signs and a layout.

use crate::config::{Ambiguous, Colors, Config};
use crate::tui::keys::Keys;
use crate::tui::model::{self, Model, Named};
use crate::tui::terminal;
use crate::tui::theme::{Depth, Glyphs, Shelf, Theme};

use super::{Layout, Look};

/// The look that flags, settings and environment ask for, and what is wrong with the asking.
pub(super) fn from(look: &Look, config: Option<&Config>) -> (model::Look, Option<String>) {
    let utf8 = knows_utf8();
    let depth = depth(look.colors, config);
    terminal::allow(depth);
    let asked = asked(look, config);
    let (theme, fault) = match asked.map(|name| (name, shelf(config).theme(name, depth))) {
        None => (None, None),
        Some((_, Ok(theme))) => (Some(theme), None),
        Some((name, Err(faults))) => (None, Some(fault(name, &faults))),
    };
    let theme = match theme.or_else(|| Shelf::default().theme("terminal", depth).ok()) {
        // A theme that never had colours knows best how to do without.
        Some(theme) if depth != Depth::None || asked.is_some_and(|name| is_colourless(name, config)) => theme,
        _ => Theme::mono(),
    };
    let wide = config.is_some_and(|config| config.ambiguous == Ambiguous::Wide);
    let look = model::Look {
        theme,
        glyphs: if look.unicode || !(look.ascii || wide || !utf8) { Glyphs::Unicode } else { Glyphs::Ascii },
        layout: look.layout.map(|layout| match layout {
            Layout::Columns => model::Layout::Columns,
            Layout::Stacked => model::Layout::Stacked,
            Layout::Cards => model::Layout::Cards,
        }),
        zone: super::room::zone(),
    };
    (look, fault)
}

/// Whether the locale's characters are all there are.
pub(super) fn knows_utf8() -> bool {
    // POSIX: the first of these that is set decides.
    let locale = variable("LC_ALL").or_else(|| variable("LC_CTYPE")).or_else(|| variable("LANG"));
    locale.is_some_and(|l| {
        let l = l.to_ascii_lowercase();
        l.contains("utf-8") || l.contains("utf8")
    })
}

/// All themes without fault, to go through with a key: the one in use first. In a terminal without colours these
/// are the themes that have none.
fn themes(look: &Look, config: Option<&Config>) -> Vec<Named> {
    let depth = depth(look.colors, config);
    let shelf = shelf(config);
    let all = shelf.names().into_iter().filter(|name| depth != Depth::None || is_colourless(name, config));
    let named = |name: String| shelf.theme(&name, depth).ok().map(|theme| Named { name, theme });
    let mut themes: Vec<Named> = all.filter_map(named).collect();
    let asked = asked(look, config).unwrap_or_default();
    let in_use = themes.iter().position(|named| named.name == asked);
    themes.rotate_left(in_use.unwrap_or(0));
    themes
}

/// Gives the screen the themes and keys that the settings ask for, and its user what is wrong with them: all of it,
/// `fault` is the theme's.
pub(super) fn dress(model: &mut Model, look: &Look, config: Option<&Config>, fault: Option<String>) {
    model.themes = themes(look, config);
    let misnamed = match Keys::with(config.map_or(&[], |config| &config.keys)) {
        Ok(keys) => {
            model.keys = keys;
            None
        }
        Err(faults) => Some(format!("{}; until then the usual keys are in use", faults.join("; "))),
    };
    let warnings = config.iter().flat_map(|config| config.warnings.clone());
    let all: Vec<String> = warnings.chain(fault).chain(misnamed).collect();
    model.notice = (!all.is_empty()).then(|| all.join("; "));
}

/// The theme that is asked for, by the flag or else the settings.
fn asked<'a>(look: &'a Look, config: Option<&'a Config>) -> Option<&'a str> {
    look.theme.as_deref().or_else(|| config.and_then(|config| config.theme.as_deref()))
}

/// The built-in themes and the user's own.
fn shelf(config: Option<&Config>) -> Shelf {
    config.map_or_else(Shelf::default, |config| Shelf::new(config.folders.themes()))
}

fn is_colourless(name: &str, config: Option<&Config>) -> bool {
    shelf(config).theme(name, Depth::True).is_ok_and(|theme| theme.is_colourless())
}

/// What is wrong with the theme that was asked for, in one line.
fn fault(name: &str, faults: &[String]) -> String {
    let first = faults.first().cloned().unwrap_or_default();
    match faults.len() {
        0 | 1 => first,
        n => format!("{first}; {} more: prickle theme check {}", n - 1, crate::shown::line(name)),
    }
}

/// How many colours the terminal has. What was typed counts over `NO_COLOR`, that over `config.toml`.
pub(super) fn depth(typed: Option<Colors>, config: Option<&Config>) -> Depth {
    let none = variable("NO_COLOR").map(|_| Colors::None);
    match typed.or(none).or_else(|| config.and_then(|config| config.colors)) {
        Some(Colors::Truecolor) => Depth::True,
        Some(Colors::Indexed) => Depth::Indexed,
        Some(Colors::Sixteen) => Depth::Sixteen,
        Some(Colors::None) => Depth::None,
        None => Depth::guess(variable("COLORTERM").as_deref(), variable("TERM").as_deref()),
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
