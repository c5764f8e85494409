//! The README is true: its table of keys is the program's, and the commands that start everything stand in it.

#![allow(clippy::unwrap_used)]

use prickle::tui::keys;

fn readme() -> String {
    std::fs::read_to_string("README.md").unwrap()
}

/// As the screens' own, it is written anew with `INSTA_UPDATE=always`.
#[test]
fn the_table_of_keys_is_the_programs() {
    let readme = readme();
    let table = readme.split("-->\n").find(|part| part.starts_with("| key | does |")).unwrap();
    let table = table.split("<!--").next().unwrap();
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        // The other test reads it at the same time.
        std::fs::write("target/README.md", readme.replace(table, &keys::markdown())).unwrap();
        return std::fs::rename("target/README.md", "README.md").unwrap();
    }
    assert_eq!(table, keys::markdown(), "put the right side into README.md: INSTA_UPDATE=always does");
}

#[test]
fn both_commands_stand_there_and_every_picture_exists() {
    let readme = readme();
    for command in ["cargo run --release -- demo", "cargo test"] {
        assert!(readme.contains(command), "{command}");
    }
    let pictures: Vec<&str> =
        readme.split("](screenshots/").skip(1).map(|rest| rest.split(')').next().unwrap()).collect();
    assert!(pictures.len() >= 5, "{pictures:?}");
    for picture in pictures {
        assert!(std::path::Path::new("screenshots").join(picture).exists(), "{picture}");
    }
    assert!(readme.lines().count() <= 350);
}
