//! The README is true: its table of keys is the program's, and the commands that start everything stand in it.

#![allow(clippy::unwrap_used)]

use prickle::tui::keys;

fn readme() -> String {
    std::fs::read_to_string("README.md").unwrap()
}

#[test]
fn the_table_of_keys_is_the_programs() {
    let readme = readme();
    let table = readme.split("-->\n").find(|part| part.starts_with("| key | does |")).unwrap();
    let table = table.split("<!--").next().unwrap();
    assert_eq!(table, keys::markdown(), "put the right side into README.md");
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
