//! What the benches of the screen share: tables of what was seen beside what is promised.
#![allow(dead_code, reason = "each program uses its part")]

use std::fmt::Display;
use std::time::Duration;

/// What was seen and promised.
#[derive(Default)]
pub struct Table {
    pub broken: bool,
}

impl Table {
    pub fn title(text: &str) {
        println!("\n{text}");
    }

    /// A figure without a promise.
    pub fn seen(what: &str, seen: impl Display) {
        println!("  {what:<62} {:>12}", seen.to_string());
    }

    pub fn promised(&mut self, what: &str, seen: impl Display, promise: &str, kept: bool) {
        self.broken |= !kept;
        let verdict = if kept { "kept" } else { "BROKEN" };
        println!("  {what:<62} {:>12}  {promise:<14} {verdict}", seen.to_string());
    }

    pub fn time(&mut self, what: &str, seen: Duration, most: Duration) {
        self.promised(what, format!("{seen:.0?}"), &format!("<= {most:?}"), seen <= most);
    }

    pub fn most(&mut self, what: &str, seen: u64, most: u64, unit: &str) {
        let promise = format!("<= {most} {unit}");
        self.promised(what, format!("{seen} {unit}").trim_end(), promise.trim_end(), seen <= most);
    }
}

/// `--name NUMBER` of this program's arguments.
pub fn asked(name: &str, otherwise: usize) -> usize {
    let mut arguments = std::env::args().skip_while(|argument| argument.strip_prefix("--") != Some(name));
    arguments.nth(1).map_or(otherwise, |text| text.parse().unwrap_or_else(|e| panic!("--{name} {text}: {e}")))
}

/// The scenarios that were asked for by name; all of them where none was.
pub fn wanted(name: &str) -> bool {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_name =
        |at: &usize| !arguments[*at].starts_with("--") && (*at == 0 || !arguments[at - 1].starts_with("--"));
    let names: Vec<&str> = (0..arguments.len()).filter(is_name).map(|at| arguments[at].as_str()).collect();
    names.is_empty() || names.contains(&name)
}
