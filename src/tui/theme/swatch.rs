//! A theme as it looks, in lines for a terminal: each role's name in the role's own style.

use ratatui::style::{Color, Modifier, Style};

use super::Theme;

/// One column before, between and behind the names.
const GAP: usize = 1;

impl Theme {
    /// Lines of at most `columns` columns with escape codes in them, each line whole in itself.
    pub fn swatch(&self, columns: usize) -> Vec<String> {
        let ground = codes(self.ground().unwrap_or_default());
        let blank = |count: usize| format!("{ground}{}\x1b[0m", " ".repeat(count));
        let mut lines: Vec<(String, usize)> = Vec::new();
        for (name, style) in self.roles() {
            let wide = name.len() + GAP;
            let (mut line, used) = match lines.pop() {
                Some((line, used)) if used + wide <= columns => (line, used),
                full => {
                    lines.extend(full);
                    (blank(GAP), GAP)
                }
            };
            line.push_str(&format!("{}{name}\x1b[0m{}", codes(style), blank(GAP)));
            lines.push((line, used + wide));
        }
        // What is painted has straight edges.
        let widest = lines.iter().map(|(_, used)| *used).max().unwrap_or_default();
        lines.into_iter().map(|(line, used)| line + &blank(widest - used)).collect()
    }
}

/// What turns a style on; nothing for none.
fn codes(style: Style) -> String {
    let modifiers = [
        (Modifier::BOLD, "1"),
        (Modifier::DIM, "2"),
        (Modifier::ITALIC, "3"),
        (Modifier::UNDERLINED, "4"),
        (Modifier::REVERSED, "7"),
    ];
    let set = modifiers.iter().filter(|(modifier, _)| style.add_modifier.contains(*modifier));
    let mut codes: Vec<String> = set.map(|(_, code)| (*code).to_owned()).collect();
    codes.extend(style.fg.and_then(|colour| code(colour, 30)));
    codes.extend(style.bg.and_then(|colour| code(colour, 40)));
    if codes.is_empty() { String::new() } else { format!("\x1b[{}m", codes.join(";")) }
}

/// A colour's code; the 16 have short ones, which older terminals know too. `ground` is 30 or 40.
fn code(colour: Color, ground: u8) -> Option<String> {
    let far = ground + 8;
    Some(match colour {
        Color::Reset => return None,
        Color::Rgb(r, g, b) => format!("{far};2;{r};{g};{b}"),
        Color::Indexed(n) => format!("{far};5;{n}"),
        named => {
            let at = super::colour::place(named)?;
            (if at < 8 { ground + at } else { ground + 60 + at - 8 }).to_string()
        }
    })
}
