//! How the screen is to look: flags, environment and locale made into a theme, signs and a layout.

use crate::tui::model;
use crate::tui::theme::{Glyphs, Theme};
use crate::words::Zone;

use super::{Layout, Look};

/// The look that flags and environment ask for.
pub(super) fn from(look: &Look) -> model::Look {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let colourless = variable("NO_COLOR").is_some();
    // POSIX: the first of these that is set decides.
    let locale = variable("LC_ALL").or_else(|| variable("LC_CTYPE")).or_else(|| variable("LANG"));
    let utf8 = locale.is_some_and(|l| {
        let l = l.to_ascii_lowercase();
        l.contains("utf-8") || l.contains("utf8")
    });
    model::Look {
        theme: if colourless { Theme::mono() } else { Theme::terminal() },
        glyphs: if look.ascii || !utf8 { Glyphs::Ascii } else { Glyphs::Unicode },
        layout: look.layout.map(|layout| match layout {
            Layout::Columns => model::Layout::Columns,
            Layout::Stacked => model::Layout::Stacked,
            Layout::Cards => model::Layout::Cards,
        }),
        zone: Zone::Local,
    }
}
