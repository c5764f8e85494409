//! What the screen's parts look like: a style for each role, and the signs with their ASCII twins.
//!
//! A theme is a file ([`shelf`], [`read`]); what it wants is given in the colours that the terminal has
//! ([`colour`]).

pub mod colour;
mod glyphs;
mod read;
mod shelf;
mod swatch;

use ratatui::style::{Color, Modifier, Style};

pub use self::colour::Depth;
pub use self::glyphs::Glyphs;
pub use self::shelf::{BUILT_IN, Shelf};
use crate::wire::pulse::Availability;

macro_rules! roles {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// A style for each role that a text can have. Roles, not widgets: what means the same looks the same.
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        pub struct Theme {
            $($(#[doc = $doc])+ pub $name: Style,)+
        }

        /// The roles' names, as themes write them.
        pub const ROLES: &[&str] = &[$(stringify!($name)),+];

        impl Theme {
            /// Each role with its style, in the order of [`ROLES`].
            pub fn roles(&self) -> Vec<(&'static str, Style)> {
                vec![$((stringify!($name), self.$name)),+]
            }

            /// The styles of all roles, in the same order.
            fn styles(&mut self) -> Vec<&mut Style> {
                vec![$(&mut self.$name),+]
            }
        }
    };
}

roles! {
    /// Body text. Its background, if it has one, is the whole screen's.
    text,
    /// Ages, field names, owners, times.
    muted,
    /// Rules.
    border,
    /// The title of the pane that the keys go to.
    focus,
    /// The selected row.
    selected,
    /// The bar before the selected row.
    bar,
    /// The sign of who works.
    working,
    /// The sign of who is there and free.
    online,
    /// The sign of who waits.
    idle,
    /// The sign of who sleeps until it is called.
    asleep,
    /// The sign of who comes back later.
    away,
    /// The sign of who is gone.
    offline,
    /// Failures.
    error,
    /// Two who would undo each other's work.
    clash,
    /// Two who might.
    risk,
    /// Two who should know of each other.
    note,
    /// What a person can do: commands, keys.
    hint,
    /// The connection, while it is good.
    live,
}

impl Theme {
    /// The terminal's own 16 colours on its own background: readable wherever its user can read.
    pub fn terminal() -> Self {
        Self::built_in("terminal")
    }

    /// No colour at all, for `NO_COLOR`: bold marks, words and signs carry everything.
    pub fn mono() -> Self {
        Self::built_in("mono")
    }

    fn built_in(name: &str) -> Self {
        // That each of them is without fault is a test.
        Shelf::default().theme(name, Depth::True).unwrap_or_default()
    }

    /// The style of an availability's sign.
    pub fn availability(&self, availability: &Availability) -> Style {
        match availability {
            Availability::Working => self.working,
            Availability::Online => self.online,
            Availability::Idle | Availability::Other(_) => self.idle,
            Availability::Asleep => self.asleep,
            Availability::Away => self.away,
            Availability::Offline => self.offline,
        }
    }

    /// Whether it does without any colour.
    pub fn is_colourless(&self) -> bool {
        let none = |colour: Option<Color>| colour.is_none_or(|c| c == Color::Reset);
        self.roles().iter().all(|(_, style)| none(style.fg) && none(style.bg))
    }

    /// What every cell has that no role has coloured: nothing, where the theme leaves the terminal's background.
    pub fn ground(&self) -> Option<Style> {
        let colours = Style { add_modifier: Modifier::empty(), sub_modifier: Modifier::empty(), ..self.text };
        self.text.bg.map(|_| colours)
    }
}
