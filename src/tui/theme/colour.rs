//! Colours as themes name them, and what becomes of them in a terminal that has fewer.

use ratatui::style::Color;

/// The names of the 16 colours that every terminal has, in its own order.
pub const NAMES: [&str; 16] = [
    "black",
    "red",
    "green",
    "yellow",
    "blue",
    "magenta",
    "cyan",
    "white",
    "bright-black",
    "bright-red",
    "bright-green",
    "bright-yellow",
    "bright-blue",
    "bright-magenta",
    "bright-cyan",
    "bright-white",
];

/// The same, as the screen's library calls them.
const SIXTEEN: [Color; 16] = [
    Color::Black,
    Color::Red,
    Color::Green,
    Color::Yellow,
    Color::Blue,
    Color::Magenta,
    Color::Cyan,
    Color::Gray,
    Color::DarkGray,
    Color::LightRed,
    Color::LightGreen,
    Color::LightYellow,
    Color::LightBlue,
    Color::LightMagenta,
    Color::LightCyan,
    Color::White,
];

/// What xterm shows for the 16 where nobody chose others; only to find which of them is like another colour.
const XTERM: [(u8, u8, u8); 16] = [
    (0, 0, 0),
    (205, 0, 0),
    (0, 205, 0),
    (205, 205, 0),
    (0, 0, 238),
    (205, 0, 205),
    (0, 205, 205),
    (229, 229, 229),
    (127, 127, 127),
    (255, 0, 0),
    (0, 255, 0),
    (255, 255, 0),
    (92, 92, 255),
    (255, 0, 255),
    (0, 255, 255),
    (255, 255, 255),
];

/// How many colours the terminal has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// None: bold and plain.
    None,
    /// The 16 that its user chose.
    Sixteen,
    /// The 256 of xterm.
    Indexed,
    /// 16 million.
    True,
}

impl Depth {
    /// What the terminal says of itself in `COLORTERM` and `TERM`. A terminal that says nothing has 16: a colour
    /// that it does not know might make it blink.
    pub fn guess(colorterm: Option<&str>, term: Option<&str>) -> Self {
        let term = term.unwrap_or_default();
        // Those whose name alone says it; ssh passes TERM on, and COLORTERM seldom.
        let known = ["alacritty", "foot", "wezterm", "xterm-ghostty", "xterm-kitty"];
        let is = |name: &&str| {
            term.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        if matches!(colorterm, Some("truecolor" | "24bit"))
            || term.ends_with("-direct")
            || known.iter().any(is)
        {
            Self::True
        } else if term.contains("256col") {
            Self::Indexed
        } else {
            Self::Sixteen
        }
    }
}

/// A colour, and what stands for it where there are fewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Colour {
    /// In a terminal that has it.
    pub best: Color,
    /// Among 256; else the one most like it.
    pub indexed: Option<Color>,
    /// Among 16; else the one most like it.
    pub sixteen: Option<Color>,
}

impl Colour {
    /// A colour as it is written: `default`, one of [`NAMES`], 0 to 255, or `#rrggbb`.
    pub fn read(text: &str) -> Option<Self> {
        let best = if text == "default" {
            Color::Reset
        } else if let Some(at) = NAMES.iter().position(|name| *name == text) {
            SIXTEEN[at]
        } else if let Some(hex) = text.strip_prefix('#') {
            // The number's own reader would take a sign.
            let digits = hex.len() == 6 && hex.bytes().all(|b| b.is_ascii_hexdigit());
            let [_, r, g, b] = u32::from_str_radix(hex, 16).ok().filter(|_| digits)?.to_be_bytes();
            Color::Rgb(r, g, b)
        } else {
            let digits = text.bytes().all(|b| b.is_ascii_digit());
            index(text.parse().ok().filter(|_| digits)?)
        };
        Some(Self { best, indexed: None, sixteen: None })
    }

    /// The fewest colours that a terminal must have to show the colour itself.
    pub fn needs(self) -> Depth {
        match self.best {
            Color::Rgb(..) => Depth::True,
            Color::Indexed(_) => Depth::Indexed,
            Color::Reset => Depth::None,
            _ => Depth::Sixteen,
        }
    }

    /// What a terminal with so many colours is given.
    pub fn at(self, depth: Depth) -> Color {
        let like = |from: usize, to: usize| match rgb(self.best) {
            Some(wanted) if self.needs() > depth => nearest(wanted, from, to),
            _ => self.best,
        };
        match depth {
            Depth::None => Color::Reset,
            Depth::Sixteen => self.sixteen.unwrap_or_else(|| like(0, 16)),
            // The first 16 are the user's: nobody knows what they look like.
            Depth::Indexed => self.indexed.unwrap_or_else(|| like(16, 256)),
            Depth::True => self.best,
        }
    }
}

/// The colour with this number among the 256.
fn index(n: u8) -> Color {
    SIXTEEN.get(usize::from(n)).copied().unwrap_or(Color::Indexed(n))
}

/// The place of a colour among the 16.
pub(super) fn place(colour: Color) -> Option<u8> {
    SIXTEEN.iter().position(|known| *known == colour).and_then(|at| at.try_into().ok())
}

/// Red, green and blue, each 0 to 255, where they are known for certain: the 16 are what the user chose.
pub fn rgb(colour: Color) -> Option<(u8, u8, u8)> {
    match colour {
        Color::Rgb(r, g, b) => Some((r, g, b)),
        Color::Indexed(n) => Some(shown(n)),
        _ => None,
    }
}

/// What xterm shows for one of its 256.
fn shown(n: u8) -> (u8, u8, u8) {
    const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let step = |n: u8| STEPS[usize::from(n % 6)];
    match n {
        0..16 => XTERM[usize::from(n)],
        16..232 => (step((n - 16) / 36), step((n - 16) / 6), step(n - 16)),
        232.. => (8 + (n - 232) * 10, 8 + (n - 232) * 10, 8 + (n - 232) * 10),
    }
}

/// The one of the numbered colours that is most like `wanted`.
fn nearest(wanted: (u8, u8, u8), from: usize, to: usize) -> Color {
    let distance = |n: &u8| {
        let (r, g, b) = shown(*n);
        let square = |a: u8, b: u8| (i32::from(a) - i32::from(b)).pow(2);
        // Eyes tell shades of green best.
        2 * square(r, wanted.0) + 4 * square(g, wanted.1) + 3 * square(b, wanted.2)
    };
    let among = (from..to).filter_map(|n| u8::try_from(n).ok());
    index(among.min_by_key(distance).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_colour_is_a_name_a_number_or_six_digits() {
        let best = |text| Colour::read(text).map(|colour| colour.best);
        assert_eq!(best("default"), Some(Color::Reset));
        assert_eq!(best("red"), Some(Color::Red));
        assert_eq!(best("white"), Some(Color::Gray));
        assert_eq!(best("bright-white"), Some(Color::White));
        assert_eq!(best("1"), Some(Color::Red));
        assert_eq!(best("255"), Some(Color::Indexed(255)));
        assert_eq!(best("#0aFf80"), Some(Color::Rgb(10, 255, 128)));
        for wrong in
            ["", "#", "#12", "#zzz", "#zzzzzz", "#+12345", "#1234567", "256", "-1", "+1", "Red", "re d"]
        {
            assert_eq!(best(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn fewer_colours_take_the_one_most_alike() {
        let at = |text: &str, depth| Colour::read(text).map(|colour| colour.at(depth));
        assert_eq!(at("#ff0000", Depth::True), Some(Color::Rgb(255, 0, 0)));
        assert_eq!(at("#ff0000", Depth::Indexed), Some(Color::Indexed(196)));
        assert_eq!(at("#ff0000", Depth::Sixteen), Some(Color::LightRed));
        assert_eq!(at("#808080", Depth::Indexed), Some(Color::Indexed(244)));
        assert_eq!(at("244", Depth::Sixteen), Some(Color::DarkGray));
        assert_eq!(at("cyan", Depth::Sixteen), Some(Color::Cyan));
        assert_eq!(at("cyan", Depth::True), Some(Color::Cyan));
        assert_eq!(at("#ff0000", Depth::None), Some(Color::Reset));
        assert_eq!(at("default", Depth::Sixteen), Some(Color::Reset));
    }
}
