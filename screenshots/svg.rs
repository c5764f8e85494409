//! A terminal's screen as an SVG: a text run for each stretch of one style, each held to its columns.

use std::fmt::Write;

use vt100::{Cell, Color, Screen};

const COLUMN: f32 = 8.4;
const ROW: f32 = 16.3; // the height of a line, so that vertical rules are whole
const PAD: f32 = 12.0;

struct Palette {
    back: &'static str,
    text: &'static str,
    dim: &'static str,
    colours: [&'static str; 8],
}

/// Two palettes as terminals ship them: readable, and not ours.
const DARK: Palette = Palette {
    back: "#16181d",
    text: "#d8dbe2",
    dim: "#838a99",
    colours: ["#3b4048", "#f2777a", "#8fc77b", "#e5c07b", "#6cb0f5", "#d291e4", "#5fc4cf", "#d8dbe2"],
};
const LIGHT: Palette = Palette {
    back: "#fbfbf8",
    text: "#26292f",
    dim: "#767c87",
    colours: ["#26292f", "#b3261e", "#3a7d1e", "#8a6100", "#1b5fb5", "#8a2fa3", "#0f7480", "#e4e4e0"],
};

/// Draws the screen.
pub fn draw(screen: &Screen, light: bool) -> String {
    let palette = if light { &LIGHT } else { &DARK };
    let (rows, columns) = screen.size();
    let (rows, columns) = (rows.get(), columns.get());
    let (wide, high) = (f32::from(columns) * COLUMN + 2.0 * PAD, f32::from(rows) * ROW + 2.0 * PAD);
    let ground = ground(screen, palette);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{wide:.0}\" height=\"{high:.0}\" viewBox=\"0 0 {wide:.0} {high:.0}\" \
         font-family=\"DejaVu Sans Mono, Menlo, Consolas, Noto Sans Mono CJK JP, monospace\" font-size=\"14\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{ground}\"/>\n"
    );
    for row in 0..rows {
        let mut column = 0;
        while column < columns {
            let Some(first) = screen.cell(row, column) else { break };
            let style = style(first, palette);
            let (start, mut text) = (column, String::new());
            // A wide letter is a run of its own: fonts disagree on how wide it is beside narrow ones.
            while let Some(cell) = screen.cell(row, column).filter(|_| column < columns) {
                let same = self::style(cell, palette) == style;
                if !same || (column > start && (cell.is_wide() || first.is_wide())) {
                    break;
                }
                // A table's columns stand where they are, however wide the font is.
                if text.ends_with("  ") && cell.has_contents() && cell.contents() != " " {
                    break;
                }
                text.push_str(if cell.has_contents() { cell.contents() } else { " " });
                column += if cell.is_wide() { 2 } else { 1 };
            }
            if style.back != ground {
                back(&mut out, row, start, column - start, &style.back);
            }
            run(&mut out, row, start, column - start, &text, &style.text);
        }
    }
    out.push_str("</svg>\n");
    out
}

/// How a cell looks, as the attributes of its text and the colour behind it.
#[derive(PartialEq)]
struct Style {
    text: String,
    back: String,
}

fn style(cell: &Cell, palette: &Palette) -> Style {
    let mut text = colour(cell.fgcolor(), palette).unwrap_or_else(|| palette.text.into());
    let mut back = colour(cell.bgcolor(), palette).unwrap_or_else(|| palette.back.into());
    if cell.inverse() {
        std::mem::swap(&mut text, &mut back);
    }
    let plain = text == palette.text;
    if cell.dim() && plain {
        text = palette.dim.into();
    }
    let weight = if cell.bold() { " font-weight=\"bold\"" } else { "" };
    let opacity = if cell.dim() && !plain { " fill-opacity=\"0.6\"" } else { "" };
    Style { text: format!("fill=\"{text}\"{weight}{opacity}"), back }
}

/// A colour as SVG has it; `None`: the terminal's own.
fn colour(colour: Color, palette: &Palette) -> Option<String> {
    // The cube and the greys of 256 colours, as xterm has them.
    let level = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
    Some(match colour {
        Color::Default => return None,
        Color::Idx(index @ 0..8) => palette.colours[usize::from(index)].into(),
        Color::Idx(8) => palette.dim.into(),
        Color::Idx(index @ 9..16) => palette.colours[usize::from(index - 8)].into(),
        Color::Idx(index @ 16..232) => {
            let step = index - 16;
            rgb(level(step / 36), level(step / 6 % 6), level(step % 6))
        }
        Color::Idx(index) => rgb(8 + 10 * (index - 232), 8 + 10 * (index - 232), 8 + 10 * (index - 232)),
        Color::Rgb(red, green, blue) => rgb(red, green, blue),
    })
}

fn rgb(red: u8, green: u8, blue: u8) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// What lies behind most of it: a theme that paints a background paints all of it.
fn ground(screen: &Screen, palette: &Palette) -> String {
    let first = screen.cell(0, 0).and_then(|cell| colour(cell.bgcolor(), palette));
    first.unwrap_or_else(|| palette.back.into())
}

fn back(out: &mut String, row: u16, column: u16, columns: u16, colour: &str) {
    let (x, y) = (PAD + f32::from(column) * COLUMN, PAD + f32::from(row) * ROW);
    let wide = f32::from(columns) * COLUMN;
    // Writing into a String cannot fail.
    let _ = writeln!(
        out,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"{ROW:.1}\" fill=\"{colour}\"/>"
    );
}

fn run(out: &mut String, row: u16, column: u16, columns: u16, text: &str, style: &str) {
    if text.trim().is_empty() {
        return;
    }
    // Blanks before and behind a text would be swallowed.
    let lead = text.len() - text.trim_start().len();
    let text = text.trim_start();
    let trail = text.len() - text.trim_end().len();
    let text = text.trim_end();
    let blanks = u16::try_from(lead + trail).unwrap_or(0);
    let x = PAD + f32::from(column + u16::try_from(lead).unwrap_or(0)) * COLUMN;
    let y = PAD + f32::from(row) * ROW + 13.0;
    let length = f32::from(columns - blanks) * COLUMN;
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    // Writing into a String cannot fail.
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" textLength=\"{length:.1}\" lengthAdjust=\"spacingAndGlyphs\" {style} xml:space=\"preserve\">{text}</text>"
    );
}
