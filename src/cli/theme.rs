//! `prickle theme`: what themes there are, and what is wrong with one.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::bail;

use super::{Environment, ThemeCheckArgs, ThemeCommand, ThemeListArgs, look};
use crate::config::{Config, Folders, Reach, Surroundings};
use crate::shown;
use crate::tui::terminal;
use crate::tui::theme::{Depth, Shelf};

pub(super) fn run(command: ThemeCommand, reach: &Reach) -> anyhow::Result<()> {
    match command {
        ThemeCommand::List(args) => list(&args, reach),
        ThemeCommand::Check(args) => check(args),
    }
}

/// The themes' names; on a terminal each with its roles as they look.
fn list(args: &ThemeListArgs, reach: &Reach) -> anyhow::Result<()> {
    let config = Config::load_leniently(reach).ok();
    let (shelf, folder) = shelf()?;
    let mut out = std::io::stdout().lock();
    let depth = look::depth(args.colors, config.as_ref());
    let (own, unread) = shelf.own();
    let mut faults: Vec<String> = unread.into_iter().collect();
    let on_terminal = out.is_terminal();
    let columns = usize::from(terminal::size().0).saturating_sub(1);
    for name in shelf.names() {
        let theme = shelf.theme(&name, depth);
        if !on_terminal {
            writeln!(out, "{name}")?;
        } else if own.contains(&name) {
            writeln!(
                out,
                "{name}  {}",
                shown::line(&folder.join(format!("{name}.toml")).display().to_string())
            )?;
        } else {
            writeln!(out, "{name}")?;
        }
        match theme {
            Ok(theme) if on_terminal => {
                for line in theme.swatch(columns) {
                    writeln!(out, "  {line}")?;
                }
            }
            Ok(_) => {}
            Err(mut found) => faults.append(&mut found),
        }
    }
    if let Some(first) = faults.first() {
        let mut err = std::io::stderr().lock();
        writeln!(err, "prickle: {first}; prickle theme check says all that is wrong")?;
    }
    Ok(())
}

/// Every fault of one theme, or of all.
fn check(args: ThemeCheckArgs) -> anyhow::Result<()> {
    let (shelf, folder) = shelf()?;
    let mut out = std::io::stdout().lock();
    let mut faults = Vec::new();
    if args.theme.is_none() {
        faults.extend(shelf.own().1);
    }
    let themes = args.theme.map_or_else(|| shelf.names(), |named| vec![named]);
    for named in &themes {
        // A name can't look like this.
        let is_file = named.contains(std::path::is_separator) || Path::new(named).extension().is_some();
        let theme =
            if is_file { shelf.file(Path::new(named), Depth::True) } else { shelf.theme(named, Depth::True) };
        match theme {
            Ok(_) => writeln!(out, "{}: fine", shown::line(named))?,
            Err(mut found) => faults.append(&mut found),
        }
    }
    for fault in &faults {
        writeln!(out, "{fault}")?;
    }
    out.flush()?;
    match faults.len() {
        0 => Ok(()),
        count => {
            let s = if count == 1 { "" } else { "s" };
            bail!("{count} fault{s}; your own themes are in {}", shown::line(&folder.display().to_string()))
        }
    }
}

/// All themes, and the folder of the user's own.
fn shelf() -> Result<(Shelf, PathBuf), Environment> {
    let folder = Folders::find(&Surroundings::real())?.themes();
    Ok((Shelf::new(folder.clone()), folder))
}
