//! The codes of the 16 colours as every terminal knows them.
//!
//! The screen's library writes them all as `38;5;1`, which is red where 256 colours are known; a terminal that
//! knows but 16 may read a 5, to blink, and a 1, to be bold. There it has to be `31`.

use std::io::{self, Write};

/// The longest code that is looked into; none of ours comes near.
const LONGEST: usize = 64;

/// A writer that shortens the codes of the 16 on their way to `inner`, if it is to.
#[derive(Debug)]
pub struct Sixteen<W> {
    inner: W,
    shortens: bool,
    /// The beginning of a code, whose end is still to come.
    held: Vec<u8>,
}

impl<W: Write> Sixteen<W> {
    /// On top of a writer that should be a buffered one.
    pub fn new(inner: W, shortens: bool) -> Self {
        Self { inner, shortens, held: Vec::new() }
    }

    fn take(&mut self, byte: u8) -> io::Result<()> {
        if self.held.is_empty() && byte != 0x1b {
            return self.inner.write_all(&[byte]);
        }
        self.held.push(byte);
        let goes_on = match self.held.len() {
            1 => true,
            2 => byte == b'[',
            n => n < LONGEST && !(0x40..=0x7e).contains(&byte),
        };
        if goes_on {
            return Ok(());
        }
        let code = std::mem::take(&mut self.held);
        self.inner.write_all(short(&code).as_deref().unwrap_or(&code))
    }
}

impl<W: Write> Write for Sixteen<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.shortens {
            return self.inner.write(bytes);
        }
        bytes.iter().try_for_each(|byte| self.take(*byte))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// The same code with short colours; `None` where it is none of colours.
fn short(code: &[u8]) -> Option<Vec<u8>> {
    let inside = code.strip_prefix(b"\x1b[")?.strip_suffix(b"m")?;
    let inside = std::str::from_utf8(inside).ok()?;
    let mut parts = inside.split(';');
    let mut out: Vec<String> = Vec::new();
    while let Some(part) = parts.next() {
        let ahead: Vec<&str> = parts.clone().take(2).collect();
        let colour = match ahead[..] {
            ["5", n] if part == "38" || part == "48" => n.parse::<u8>().ok().filter(|n| *n < 16),
            _ => None,
        };
        if let Some(n) = colour {
            let ground = if part == "38" { 30 } else { 40 };
            out.push((if n < 8 { ground + n } else { ground + 52 + n }).to_string());
            parts.nth(1);
        } else {
            out.push(part.to_owned());
        }
    }
    Some(format!("\x1b[{}m", out.join(";")).into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes out, however it was cut up on the way in.
    fn told(text: &str, shortens: bool) -> String {
        let mut all: Vec<Vec<u8>> = Vec::new();
        for piece in [1, 2, 3, text.len()] {
            let mut out = Sixteen::new(Vec::new(), shortens);
            text.as_bytes().chunks(piece).for_each(|bytes| assert!(out.write_all(bytes).is_ok()));
            all.push(out.inner);
        }
        assert!(all.iter().all(|one| *one == all[0]));
        String::from_utf8_lossy(&all[0]).into_owned()
    }

    #[test]
    fn only_the_sixteen_get_short() {
        assert_eq!(told("a\x1b[38;5;1mé\x1b[1mb", true), "a\x1b[31mé\x1b[1mb");
        assert_eq!(told("\x1b[38;5;9;48;5;15m", true), "\x1b[91;107m");
        assert_eq!(told("\x1b[38;5;0;49m", true), "\x1b[30;49m");
        assert_eq!(told("\x1b[48;5;7m\x1b[39;48;5;8m", true), "\x1b[47m\x1b[39;100m");
        for same in ["\x1b[38;5;16m", "\x1b[38;2;5;1;2m", "\x1b[m", "\x1b[2;5;1H", "\x1b[?25l", "\x1b7x"] {
            assert_eq!(told(same, true), same);
        }
        assert_eq!(told("\x1b[38;5;1m", false), "\x1b[38;5;1m");
    }
}
