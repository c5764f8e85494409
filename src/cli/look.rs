//! How the screen is to look: flags, environment and locale made into a theme, signs and a layout.

use crate::config::{Ambiguous, Config};
use crate::tui::model;
use crate::tui::theme::{self, Glyphs, Theme};
use crate::words::Zone;

use super::{Layout, Look};

/// The look that flags, settings and environment ask for, and what is wrong with the asking.
pub(super) fn from(look: &Look, config: Option<&Config>) -> (model::Look, Option<String>) {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let colourless = variable("NO_COLOR").is_some();
    // POSIX: the first of these that is set decides.
    let locale = variable("LC_ALL").or_else(|| variable("LC_CTYPE")).or_else(|| variable("LANG"));
    let utf8 = locale.is_some_and(|l| {
        let l = l.to_ascii_lowercase();
        l.contains("utf-8") || l.contains("utf8")
    });
    let asked = config.and_then(|config| config.theme.as_deref());
    let found = asked.map_or(Some(Theme::terminal()), Theme::named);
    let fault = found.is_none().then(|| {
        let known = theme::NAMES.join(", ");
        format!("there is no theme {}, only {known}", crate::shown::line(asked.unwrap_or_default()))
    });
    let wide = config.is_some_and(|config| config.ambiguous == Ambiguous::Wide);
    let theme = if colourless { Theme::mono() } else { found.unwrap_or_else(Theme::terminal) };
    let look = model::Look {
        theme,
        glyphs: if look.ascii || wide || !utf8 { Glyphs::Ascii } else { Glyphs::Unicode },
        layout: look.layout.map(|layout| match layout {
            Layout::Columns => model::Layout::Columns,
            Layout::Stacked => model::Layout::Stacked,
            Layout::Cards => model::Layout::Cards,
        }),
        zone: Zone::Local,
    };
    (look, fault)
}
