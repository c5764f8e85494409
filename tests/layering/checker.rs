//! The layering test's own test: small wrong files, each with what must be said of it, and right ones
//! of which nothing may be said.

use super::{MAY_USE, MOST_LINES, allowed, faults_in, listed};

/// File, code after a good first line, and what must be said of it.
#[test]
fn a_wrong_file_is_told_with_line_import_and_rule() {
    let cases: &[(&str, &str, &str)] = &[
        (
            "src/client/feed.rs",
            "use crate::server::store::Store;",
            ":2: `crate::server::store::Store`: client may use wire",
        ),
        (
            "src/server/feed.rs",
            "fn f() { crate::client::connect(); }",
            ":2: `crate::client::connect`: server may use wire",
        ),
        (
            "src/server/feed.rs",
            "use crate::{\n    wire::Pulse,\n    client::mcp,\n};",
            ":4: `crate::client::mcp`",
        ),
        (
            "src/wire/pulse.rs",
            "use super::super::shown::Line;",
            ":2: `super::super::shown::Line`: wire may use nothing of ours",
        ),
        ("src/hint.rs", "use super::tui;", ":2: `super::tui`: hint may use wire"),
        (
            "src/tui/mod.rs",
            "macro_rules! m { () => { $crate::server::run() } }",
            ":2: `crate::server::run`: tui may use",
        ),
        (
            "src/tui/mod.rs",
            "fn f() { println!(\"{}\", crate::server::name()); }",
            ":2: `crate::server::name`: tui may use",
        ),
        ("src/main.rs", "use prickle::server;", ":2: `prickle::server`: main may use cli"),
        ("src/config.rs", "use crate::*;", ":2: `crate::*`: name the module"),
        (
            "src/config.rs",
            "#[cfg(test)]\nmod tests {\n    use crate::cli::Cli;\n}",
            ":4: `crate::cli::Cli`: config may use",
        ),
        (
            "src/novel.rs",
            "use crate::wire::Pulse;",
            ":2: `crate::wire::Pulse`: novel has no place in the picture",
        ),
        (
            "src/report/plain.rs",
            "use ratatui::text::Line;",
            ":2: `ratatui::text::Line`: ratatui is used under src/tui/ only",
        ),
        ("src/cli.rs", "use ratatui as screen;", ":2: `ratatui`: ratatui is used under src/tui/ only"),
        (
            "src/server/mod.rs",
            "fn f(c: &rusqlite::Connection) {}",
            ":2: `rusqlite::Connection`: rusqlite is used under src/server/store/ only",
        ),
        (
            "src/server/mod.rs",
            "use ::reqwest::Client;",
            ":2: `reqwest::Client`: reqwest is used under src/client/ only",
        ),
        (
            "src/demo.rs",
            "use rmcp::model::Tool;",
            ":2: `rmcp::model::Tool`: rmcp is used under src/server/ and src/client/ only",
        ),
        (
            "src/client/mcp.rs",
            "use rmcp::{ServerHandler, model};",
            ":2: `rmcp::ServerHandler`: ServerHandler is the other side's half",
        ),
        (
            "src/server/mcp.rs",
            "use rmcp::transport::streamable_http_client::X;",
            ":2: `rmcp::transport::streamable_http_client::X`",
        ),
        (
            "src/server/runs.rs",
            "const Q: &str = \"SELECT * FROM runs\";",
            ":2: SQL in \"SELECT * FROM runs\"",
        ),
        ("src/server/runs.rs", "const Q: &str = r#\"\n  DELETE FROM runs\"#;", ":2: SQL in r#\""),
        ("src/rules.rs", "fn f() { let now = chrono::Utc::now(); }", ":2: `chrono::Utc::now`: rules is pure"),
        ("src/picture.rs", "use std::{collections::BTreeMap, fs};", ":2: `std::fs`: picture is pure"),
        ("src/shown.rs", "async fn f() {}", ":2: async code: shown is pure"),
        (
            "src/tui/view/room.rs",
            "use super::super::update::update;",
            ":2: `super::super::update::update`: a view is a function of",
        ),
        (
            "src/tui/view/mod.rs",
            "use crate::client::FeedEvent;",
            ":2: `crate::client::FeedEvent`: a view is a function of",
        ),
        ("src/tui/view/room.rs", "fn draw(model: &mut Model) {}", ":2: `&mut Model`: only src/tui/update.rs"),
        (
            "src/tui/keys.rs",
            "fn f<'a>(model: &'a mut crate::tui::Model) {}",
            ":2: `&mut Model`: only src/tui/update.rs",
        ),
        ("src/server/utils.rs", "", ":1: a module named utils: name it after"),
    ];
    for (file, code, told) in cases {
        let faults = faults_in(file, &format!("//! Says what it is for.\n{code}\n"));
        let said = listed(&faults);
        assert!(
            faults.len() == 1 && said.contains(&format!("{file}{told}")),
            "{file}: {code}\nshould say {told}\nsaid{said}"
        );
    }
}

#[test]
fn a_right_file_has_no_fault() {
    let cases: &[(&str, &str)] = &[
        ("src/lib.rs", "pub mod server;\npub use server::store;"),
        (
            "src/client/feed.rs",
            "use crate::wire::feed::Frame;\nuse super::mcp;\nuse tokio_tungstenite::connect_async;",
        ),
        (
            "src/client/feed.rs",
            "// crate::server is not used\n/// Unlike [`crate::server`].\nconst S: &str = \"crate::server::x\";",
        ),
        (
            "src/server/store/runs.rs",
            "use rusqlite::Connection;\nconst Q: &str = \"SELECT 1\";\nuse super::writer;",
        ),
        ("src/tui/update.rs", "use super::model::Model;\nfn update(model: &mut Model) {}"),
        (
            "src/tui/view/room.rs",
            "use crate::tui::model::Model;\nuse super::super::theme;\nuse ratatui::Frame;\nfn draw(model: &Model) {}",
        ),
        (
            "src/hint.rs",
            "#[cfg(test)]\nmod tests {\n    use super::*;\n    use std::fs;\n    fn f() { let s = \"SELECT 1\"; }\n}",
        ),
        (
            "src/picture.rs",
            "use crate::change;\nuse std::collections::BTreeMap;\nuse chrono::{DateTime, Utc};",
        ),
    ];
    for (file, code) in cases {
        let faults = faults_in(file, &format!("//! Says what it is for.\n{code}\n"));
        assert!(faults.is_empty(), "{file}: {code}\nshould be fine, said{}", listed(&faults));
    }
}

#[test]
fn a_file_is_measured_by_its_code() {
    let of = |lines: usize| {
        let code = "// why\n/// what\nconst A: u8 = 0;\n\n".repeat(lines);
        let tests = "#[cfg(test)]\nmod tests {\n".to_owned() + &"    fn f() {}\n".repeat(300) + "}\n";
        faults_in("src/hint.rs", &format!("//! Says what it is for.\n{code}{tests}"))
    };
    assert!(of(MOST_LINES).is_empty(), "{}", listed(&of(MOST_LINES)));
    let told = listed(&of(MOST_LINES + 1));
    assert!(told.contains("src/hint.rs:1: 501 lines of code: a file has at most 500"), "{told}");
}

#[test]
fn a_file_without_an_opening_sentence_is_told() {
    for text in ["use std::fmt;\n", "//!\nuse std::fmt;\n", "//! feed\n", "\n//! Late.\n", ""] {
        let told = listed(&faults_in("src/server/mod.rs", text));
        assert!(told.contains("src/server/mod.rs:1: opens with"), "{text:?}: {told}");
    }
}

#[test]
fn the_picture_has_no_circle() {
    // Down the rows of MAY_USE a module only names rows above it; so nothing can come back to itself.
    for (at, (name, _)) in MAY_USE.iter().enumerate() {
        let above: Vec<&str> = MAY_USE[..at].iter().map(|(name, _)| *name).collect();
        let up: Vec<&str> = allowed(name).unwrap().into_iter().filter(|used| !above.contains(used)).collect();
        // The shells below cli stand before it; PURE stands before all shells.
        assert!(up.is_empty(), "{name} may use {up:?}, which stand below it");
    }
}
