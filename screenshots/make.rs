//! Makes the pictures in this folder: the real binary in a pseudo-terminal, on a recorded room.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a tool, not the program")]
//!
//! ```text
//! cargo run --example screenshots               make them anew (PNG too where rsvg-convert is installed)
//! cargo run --example screenshots -- --check    fail where one is no longer what the program shows
//! cargo run --example screenshots -- runs        only those whose names begin so
//! cargo run --example screenshots -- --record   record the two rooms anew first, from the demo's cast
//! ```

mod own;
mod record;
mod running;
mod shoot;
mod svg;

use std::path::Path;
use std::process::{Command, ExitCode};

use shoot::{Of, Shot};

/// The recorded rooms. Their time is the demo's story at 14:32 on a Monday.
const ROOM: &str = "tests/fixtures/website-v2.jsonl";
const EMPTY: &str = "tests/fixtures/empty.jsonl";
const LIVE: &str = "2026-11-30T14:32:10Z";
const OFFLINE: &str = "2026-11-30T14:32:18Z";

/// Every picture.
#[rustfmt::skip]
const SHOTS: &[Shot] = &[
    Shot { light: true, ..shot("room-light", ROOM, LIVE, (120, 32), "", &[]) },
    shot("room", ROOM, LIVE, (120, 32), "", &[]),
    shot("room-80", ROOM, LIVE, (80, 24), "gjjjj", &[]),
    shot("side-pane", ROOM, LIVE, (38, 24), "", &[]),
    shot("zones", ROOM, LIVE, (45, 12), "", &[]),
    shot("clashes", ROOM, LIVE, (120, 30), "2", &[]),
    runs("runs", (120, 30), "3", &["auth-cleanup"]),
    runs("runs-task", (120, 24), "3jjj\r", &["auth-cleanup", "", "", "", "reported"]),
    runs("runs-38", (38, 24), "3", &["nav-review"]),
    shot("activity", ROOM, LIVE, (100, 24), "4", &[]),
    shot("filter", ROOM, LIVE, (80, 15), "/s:working f:src/", &[]),
    shot("agent", ROOM, LIVE, (38, 24), "\r", &[]),
    shot("offline", ROOM, OFFLINE, (80, 24), "gjjjj", &[]),
    shot("help", ROOM, LIVE, (80, 24), "?", &[]),
    shot("ascii", ROOM, LIVE, (60, 15), "gjjjj", &["--ascii"]),
    shot("theme-dark", ROOM, LIVE, (100, 28), "", &["--theme", "dark", "--colors", "truecolor"]),
    shot("theme-light", ROOM, LIVE, (100, 28), "", &["--theme", "light", "--colors", "truecolor"]),
    shot("theme-high-contrast", ROOM, LIVE, (100, 28), "", &["--theme", "high-contrast", "--colors", "truecolor"]),
    shot("empty", EMPTY, LIVE, (80, 24), "", &[]),
    Shot { of: Of::Own, ..shot("first-run", EMPTY, LIVE, (80, 24), "", &[]) },
];

/// A picture: its name, what it is of, when, how large, after which keys, with which arguments.
const fn shot(
    name: &'static str,
    room: &'static str,
    at: &'static str,
    size: (u16, u16),
    keys: &'static str,
    args: &'static [&'static str],
) -> Shot {
    Shot { name, of: Of::Recording(room, at), size, keys, shows: &[], args, light: false }
}

/// A picture of the run records of the demo's room: after which keys, and what the screen holds after each.
const fn runs(
    name: &'static str,
    size: (u16, u16),
    keys: &'static str,
    shows: &'static [&'static str],
) -> Shot {
    Shot { name, of: Of::Running(record::NOON), size, keys, shows, args: &[], light: false }
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("screenshots: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> anyhow::Result<bool> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let check = arguments.iter().any(|a| a == "--check");
    if arguments.iter().any(|a| a == "--record") {
        record::run(Path::new(ROOM), Path::new(EMPTY))?;
    }
    let binary = shoot::binary()?;
    let mut good = true;
    let named = |shot: &&Shot| {
        let mut names = arguments.iter().filter(|argument| !argument.starts_with("--")).peekable();
        names.peek().is_none() || names.any(|name| shot.name.starts_with(name.as_str()))
    };
    for shot in SHOTS.iter().filter(named) {
        let screen = shot.take(&binary)?;
        // What was erased behind a text may be blanks or nothing, as it came about.
        let text: String = screen.contents().lines().map(|line| format!("{}\n", line.trim_end())).collect();
        let picture = svg::draw(&screen, shot.light);
        let path = |ending: &str| format!("screenshots/{}.{ending}", shot.name);
        if check {
            for (ending, made) in [("txt", &text), ("svg", &picture)] {
                let kept = std::fs::read_to_string(path(ending)).unwrap_or_default();
                if kept != *made {
                    good = false;
                    println!("{} is not what the program shows now; make it anew:", path(ending));
                    println!("  cargo run --release --example screenshots\n{text}");
                }
            }
            continue;
        }
        std::fs::write(path("txt"), &text)?;
        std::fs::write(path("svg"), &picture)?;
        let png =
            Command::new("rsvg-convert").args(["--zoom", "2", "-o", &path("png"), &path("svg")]).status();
        match png {
            Ok(status) if status.success() => println!("{}: svg, png, txt", shot.name),
            Ok(_) => anyhow::bail!("rsvg-convert could not draw {}", path("svg")),
            Err(_) => println!("{}: svg, txt; no png without rsvg-convert (Debian: librsvg2-bin)", shot.name),
        }
    }
    if check && good {
        println!("{} pictures are what the program shows", SHOTS.len());
    }
    Ok(good)
}
