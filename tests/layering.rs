//! Holds the picture of who may use whom: fails on an import in the wrong direction, on an outside
//! crate where it does not belong, on a file that has grown too long and on one that does not say
//! what it is for.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "layering/checker.rs"]
mod checker;
#[path = "layering/reading.rs"]
mod reading;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use reading::{Named, Reading};

/// What prickle knows: no I/O, no async, the time is an argument. Shells may use all of it.
const PURE: &[&str] = &[
    "wire", "shown", "rules", "pattern", "conflict", "hint", "ledger", "change", "trouble", "picture",
    "words", "warning", "alarm", "summary", "columns", "written",
];

/// The picture. A module may use itself and what stands beside it here, nothing else of ours.
const MAY_USE: &[(&str, &[&str])] = &[
    ("wire", &[]),
    ("shown", &["wire"]),
    ("rules", &["wire"]),
    ("pattern", &["wire"]),
    ("conflict", &["wire", "pattern"]),
    ("hint", &["wire"]),
    ("ledger", &["wire"]),
    ("change", &["wire"]),
    ("trouble", &["wire", "hint"]),
    ("picture", &["wire", "change", "conflict", "trouble"]),
    ("words", &["wire", "shown", "hint", "change", "picture"]),
    ("warning", &["wire", "shown", "pattern", "conflict", "words"]),
    ("alarm", &["wire", "shown", "hint", "conflict", "picture", "warning"]),
    ("summary", &["wire", "shown", "conflict", "picture"]),
    ("columns", &["wire", "shown", "ledger", "words"]),
    ("written", &["shown"]),
    // What a watcher makes of a room is no business of the room's.
    ("server", &["wire", "shown", "rules", "ledger"]),
    ("client", &["PURE"]),
    // Run records are written as the room hands them over, a page at a time.
    ("report", &["PURE", "client"]),
    ("tui", &["PURE", "client"]),
    ("runner", &["PURE", "client"]),
    ("demo", &["PURE", "server", "client", "tui"]),
    // What the settings come to is a room and a key, as the client takes them.
    ("config", &["PURE", "client"]),
    ("cli", &["PURE", "config", "server", "client", "tui", "report", "runner", "demo"]),
    ("main", &["cli"]),
];

/// Outside crates that belong to one corner only, with the folders that may name them.
const BELONGS: &[(&str, &[&str])] = &[
    ("ratatui", &["src/tui/"]),
    ("crossterm", &["src/tui/", "src/cli/"]), // the commands hand the terminal's events to the loop
    ("axum", &["src/server/"]),
    ("hyper", &["src/server/"]),
    ("hyper_util", &["src/server/"]),
    ("tower", &["src/server/"]),
    ("rusqlite", &["src/server/store/"]),
    ("tokio_tungstenite", &["src/client/"]),
    ("tungstenite", &["src/server/feed", "src/client/"]),
    ("reqwest", &["src/client/"]),
    ("rmcp", &["src/server/", "src/client/"]),
];

/// The two halves of `rmcp`: names of one half, and the folder that may not use them.
const HALVES: &[(&str, &[&str])] = &[
    ("src/client/", &["ServerHandler", "RoleServer", "streamable_http_server"]),
    ("src/server/", &["ClientHandler", "RoleClient", "streamable_http_client"]),
];

/// Starts of SQL statements, as they stand in string literals.
const SQL: &[&str] = &[
    "SELECT ",
    "INSERT INTO ",
    "INSERT OR ",
    "UPDATE ",
    "DELETE FROM ",
    "CREATE TABLE ",
    "CREATE INDEX ",
    "ALTER TABLE ",
    "PRAGMA ",
    "BEGIN IMMEDIATE",
    "SAVEPOINT ",
];

/// File names that say nothing about what is inside.
const EMPTY_NAMES: &[&str] =
    &["util", "utils", "helper", "helpers", "manager", "handler", "handlers", "types", "common"];

/// The most lines of code in one file of `src`; blank lines, comments and tests are not counted.
const MOST_LINES: usize = 500;

#[derive(Debug)]
struct Fault {
    file: String,
    line: usize,
    what: String,
    rule: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}", self.file, self.line, self.what, self.rule)
    }
}

/// `src/tui/view/mod.rs` is the module `tui::view`; the two roots are the empty path.
fn module_of(file: &str) -> Vec<String> {
    let inner = file.trim_start_matches("src/").trim_end_matches(".rs").trim_end_matches("/mod");
    match inner {
        "lib" | "main" => Vec::new(),
        _ => inner.split('/').map(str::to_owned).collect(),
    }
}

/// The row of the picture that a file stands in.
fn layer_of(file: &str) -> &str {
    let inner = file.trim_start_matches("src/");
    inner.split('/').next().unwrap_or(inner).trim_end_matches(".rs")
}

/// The path from the crate's root on, or none where the path is no path of ours.
fn from_root(named: &Named) -> Option<Vec<String>> {
    let mut base = match named.segments[0].as_str() {
        "crate" | "prickle" => Vec::new(),
        "self" | "super" => named.module.clone(),
        _ => return None,
    };
    let mut rest = &named.segments[usize::from(named.segments[0] != "super")..];
    while rest.first().is_some_and(|segment| segment == "super") {
        base.pop();
        rest = &rest[1..];
    }
    base.extend(rest.iter().filter(|segment| *segment != "self").cloned());
    Some(base)
}

fn allowed(layer: &str) -> Option<Vec<&'static str>> {
    let (_, listed) = MAY_USE.iter().find(|(name, _)| *name == layer)?;
    Some(
        listed
            .iter()
            .flat_map(|name| if *name == "PURE" { PURE } else { std::slice::from_ref(name) })
            .copied()
            .collect(),
    )
}

/// Everything that is wrong with one file of `src`.
fn faults_in(file: &str, text: &str) -> Vec<Fault> {
    let reading = Reading::of(&module_of(file), text).unwrap_or_else(|e| panic!("{file} is no Rust: {e}"));
    let layer = layer_of(file);
    let mut faults = Vec::new();
    let mut fault = |line: usize, what: String, rule: String| {
        faults.push(Fault { file: file.to_owned(), line, what, rule });
    };

    for named in &reading.paths {
        let written = format!("`{}`", named.segments.join("::"));
        if let Some(target) = from_root(named) {
            if let Some(rule) = forbidden_import(file, layer, &target) {
                fault(named.line, written, rule);
            }
        } else if let Some(rule) = forbidden_crate(file, &named.segments) {
            fault(named.line, written, rule);
        } else if PURE.contains(&layer) && !reading.in_test(named.line) && is_outer_world(&named.segments) {
            fault(
                named.line,
                written,
                format!("{layer} is pure: no I/O, no async, and the time is an argument"),
            );
        }
    }
    for line in &reading.waits {
        if PURE.contains(&layer) && !reading.in_test(*line) {
            fault(*line, "async code".to_owned(), format!("{layer} is pure: no I/O, no async"));
        }
    }
    for (line, string) in &reading.strings {
        if !file.starts_with("src/server/store/")
            && !reading.in_test(*line)
            && SQL.iter().any(|start| string.contains(start))
        {
            fault(*line, format!("SQL in {string}"), "SQL stands under src/server/store/ only".to_owned());
        }
    }
    for line in &reading.mutable_models {
        let may = file == "src/tui/mod.rs" || file.starts_with("src/tui/update");
        if file.starts_with("src/tui/") && !may && !reading.in_test(*line) {
            fault(*line, "`&mut Model`".to_owned(), "only src/tui/update.rs changes the model".to_owned());
        }
    }
    let lines = reading.code_lines();
    if lines > MOST_LINES {
        fault(
            1,
            format!("{lines} lines of code"),
            format!("a file has at most {MOST_LINES}: split it by idea"),
        );
    }
    faults.extend(opening_fault(file, text));
    faults.extend(name_fault(file));
    faults
}

fn forbidden_import(file: &str, layer: &str, target: &[String]) -> Option<String> {
    if file == "src/lib.rs" {
        return None;
    }
    let Some(may) = allowed(layer) else {
        return Some(format!("{layer} has no place in the picture yet: give it a row in MAY_USE"));
    };
    let Some(to) = target.first().filter(|segment| *segment != "*") else {
        return Some("name the module, not the whole crate".to_owned());
    };
    if to != layer && !may.contains(&to.as_str()) {
        let listed = if may.is_empty() { "nothing of ours".to_owned() } else { may.join(", ") };
        return Some(format!("{layer} may use {listed}"));
    }
    let in_view = file.starts_with("src/tui/view");
    let changes =
        to == "client" || (to == "tui" && target.get(1).is_some_and(|m| m == "update" || m == "terminal"));
    (in_view && changes)
        .then(|| "a view is a function of model and theme: no client, update or terminal".to_owned())
}

fn forbidden_crate(file: &str, segments: &[String]) -> Option<String> {
    let (name, folders) = BELONGS.iter().find(|(name, _)| segments[0] == *name)?;
    if !folders.iter().any(|folder| file.starts_with(folder)) {
        return Some(format!("{name} is used under {} only", folders.join(" and ")));
    }
    let (_, names) = HALVES.iter().find(|(folder, _)| *name == "rmcp" && file.starts_with(folder))?;
    let other = segments.iter().find(|segment| names.contains(&segment.as_str()))?;
    Some(format!("{other} is the other side's half of rmcp"))
}

fn is_outer_world(segments: &[String]) -> bool {
    let pair = |at: usize| (segments[at].as_str(), segments.get(at + 1).map_or("", String::as_str));
    let last = segments.len().saturating_sub(2);
    matches!(
        pair(0),
        ("tokio" | "futures_util", _) | ("std", "fs" | "io" | "net" | "process" | "env" | "thread")
    ) || matches!(pair(last), ("Utc" | "Local" | "SystemTime" | "Instant", "now"))
}

fn opening_fault(file: &str, text: &str) -> Option<Fault> {
    let first = text.lines().next().unwrap_or_default();
    let says = first.strip_prefix("//!").is_some_and(|rest| rest.split_whitespace().count() >= 3);
    (!says).then(|| Fault {
        file: file.to_owned(),
        line: 1,
        what: format!("opens with {first:?}"),
        rule: "the first line is a `//!` sentence that says what the file is for".to_owned(),
    })
}

fn name_fault(file: &str) -> Option<Fault> {
    let name = module_of(file).into_iter().find(|segment| EMPTY_NAMES.contains(&segment.as_str()))?;
    Some(Fault {
        file: file.to_owned(),
        line: 1,
        what: format!("a module named {name}"),
        rule: "name it after what it is about".to_owned(),
    })
}

/// Every `.rs` file under a folder of the crate, as a path from its root with `/`, sorted.
fn sources(folder: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found: Vec<PathBuf> = Vec::new();
    let mut folders = vec![root.join(folder)];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            continue;
        };
        for path in entries.map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    let named = |path: &PathBuf| path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
    found.iter().map(|path| (named(path), fs::read_to_string(path).unwrap())).collect()
}

fn listed(faults: &[Fault]) -> String {
    let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
    format!("\n  {}", lines.join("\n  "))
}

#[test]
fn every_import_goes_down_the_picture() {
    let files = sources("src");
    assert!(files.iter().any(|(file, _)| file == "src/lib.rs"), "no sources found");
    let faults: Vec<Fault> = files.iter().flat_map(|(file, text)| faults_in(file, text)).collect();
    assert!(faults.is_empty(), "{} faults:{}", faults.len(), listed(&faults));
}

#[test]
fn every_file_beside_src_says_what_it_is_for() {
    let folders = ["tests", "benches", "examples", "screenshots"];
    let faults: Vec<Fault> = folders
        .iter()
        .flat_map(|folder| sources(folder))
        .filter_map(|(file, text)| opening_fault(&file, &text))
        .collect();
    assert!(faults.is_empty(), "{} faults:{}", faults.len(), listed(&faults));
}
