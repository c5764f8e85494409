//! Makes the pictures in this folder: the real binary in a pseudo-terminal, on a recorded room.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a tool, not the program")]
//!
//! ```text
//! cargo run --example screenshots               make them anew (PNG too where rsvg-convert is installed)
//! cargo run --example screenshots -- --check    fail where one is no longer what the program shows
//! cargo run --example screenshots -- --record   record the two rooms anew first, from the demo's cast
//! ```

mod own;
mod record;
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

/// Every picture: its name, what it is of, when, how large, after which keys.
const SHOTS: &[Shot] = &[
    Shot {
        name: "clash",
        of: Of::Recording(ROOM, LIVE),
        size: (100, 28),
        keys: "g",
        args: &[],
        light: false,
    },
    Shot { name: "room", of: Of::Recording(ROOM, LIVE), size: (120, 32), keys: "", args: &[], light: false },
    Shot {
        name: "room-light",
        of: Of::Recording(ROOM, LIVE),
        size: (120, 32),
        keys: "",
        args: &[],
        light: true,
    },
    Shot {
        name: "room-80",
        of: Of::Recording(ROOM, LIVE),
        size: (80, 24),
        keys: "gjjjj",
        args: &[],
        light: false,
    },
    Shot {
        name: "side-pane",
        of: Of::Recording(ROOM, LIVE),
        size: (38, 24),
        keys: "",
        args: &[],
        light: false,
    },
    Shot {
        name: "agent",
        of: Of::Recording(ROOM, LIVE),
        size: (38, 24),
        keys: "\r",
        args: &[],
        light: false,
    },
    Shot {
        name: "offline",
        of: Of::Recording(ROOM, OFFLINE),
        size: (80, 24),
        keys: "gjjjj",
        args: &[],
        light: false,
    },
    Shot { name: "help", of: Of::Recording(ROOM, LIVE), size: (80, 24), keys: "?", args: &[], light: false },
    Shot {
        name: "ascii",
        of: Of::Recording(ROOM, LIVE),
        size: (60, 15),
        keys: "gjjjj",
        args: &["--ascii"],
        light: false,
    },
    Shot { name: "empty", of: Of::Recording(EMPTY, LIVE), size: (80, 24), keys: "", args: &[], light: false },
    Shot { name: "first-run", of: Of::Own, size: (80, 24), keys: "", args: &[], light: false },
];

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
    for shot in SHOTS {
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
