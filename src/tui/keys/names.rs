//! Keys by their names, as `[keys]` in the settings has them: read, held against what a terminal can tell, and put in
//! place of the usual ones.

use crossterm::event::{KeyCode, KeyModifiers};

use super::{Binding, Key, Keys, TABLE};
use crate::written::{Remapped, short};

/// The key that always quits, whatever the settings say.
pub(super) const FIXED: &str = "quit-always";

/// The keys that have a name, beside letters and signs.
const NAMED: &[(&str, KeyCode)] = &[
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pgup", KeyCode::PageUp),
    ("pgdn", KeyCode::PageDown),
    ("enter", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("tab", KeyCode::Tab),
    ("shift-tab", KeyCode::BackTab),
    ("space", KeyCode::Char(' ')),
    ("backspace", KeyCode::Backspace),
    ("insert", KeyCode::Insert),
    ("delete", KeyCode::Delete),
];

/// Keys that others take on the way, or that mean another one to a terminal.
const TAKEN: &[(char, &str)] = &[
    ('c', "always quits"),
    ('s', "stops many terminals' output"),
    ('q', "lets many terminals' output go on"),
    ('b', "is tmux's"),
    ('a', "is screen's"),
    ('\\', "kills the program in many terminals"),
    ('i', "is tab to a terminal"),
    ('m', "is enter to a terminal"),
    ('[', "is esc to a terminal"),
];

impl Keys {
    /// The usual keys, but for the actions that the settings name. Each fault says its place, the value and what is
    /// right.
    pub fn with(changes: &[Remapped]) -> Result<Self, Vec<String>> {
        let mut keys = Self::default();
        let mut faults = Vec::new();
        // Where each changed key of an action stands, to say it of one that is taken already.
        let mut changed = Vec::new();
        for Remapped { action, keys: names, place } in changes {
            if action == FIXED || !TABLE.iter().any(|binding| binding.name == action) {
                let known = names_of_actions().join(", ");
                faults.push(format!("{place}: there is no action {}; there are {known}", short(action)));
                continue;
            }
            let mut new: Vec<Key> = Vec::new();
            for (name, place) in names {
                match read(name) {
                    Ok(key) if new.contains(&key) => {}
                    Ok(key) => {
                        new.push(key);
                        changed.push((action, key, name, place));
                    }
                    Err(why) => faults.push(format!("{place}: {action} = {}: {why}", short(name))),
                }
            }
            for (binding, keys) in TABLE.iter().zip(&mut keys.bound) {
                if binding.name == action {
                    keys.clone_from(&new);
                }
            }
        }
        for (action, key, name, place) in changed {
            if let Some(other) = keys.other(action, key) {
                let name = short(name);
                faults.push(format!(
                    "{place}: {action} = {name}: that is the key of {other} too; give {other} another"
                ));
            }
        }
        if faults.is_empty() { Ok(keys) } else { Err(faults) }
    }

    /// Another action that has the key in a view of this one.
    fn other(&self, action: &str, key: Key) -> Option<&'static str> {
        let own = || TABLE.iter().filter(|binding| binding.name == action);
        let meets =
            |other: &Binding| own().any(|binding| binding.at.iter().any(|view| other.at.contains(view)));
        let mut rows = self.rows();
        rows.find(|(other, keys)| other.name != action && keys.contains(&key) && meets(other))
            .map(|(other, _)| other.name)
    }
}

/// Every action that can have other keys.
fn names_of_actions() -> Vec<&'static str> {
    super::named_once().map(|binding| binding.name).filter(|name| *name != FIXED).collect()
}

/// A key by its name; the error says what is right instead.
fn read(name: &str) -> Result<Key, String> {
    let mut letters = name.chars();
    if let (Some(only), None) = (letters.next(), letters.next()) {
        return match only {
            '↑' => Ok(Key(KeyModifiers::NONE, KeyCode::Up)),
            '↓' => Ok(Key(KeyModifiers::NONE, KeyCode::Down)),
            '←' => Ok(Key(KeyModifiers::NONE, KeyCode::Left)),
            '→' => Ok(Key(KeyModifiers::NONE, KeyCode::Right)),
            c if c.is_control() => Err(known()),
            c => Ok(Key(KeyModifiers::NONE, KeyCode::Char(c))),
        };
    }
    let name = name.to_ascii_lowercase();
    if let Some((_, code)) = NAMED.iter().find(|(known, _)| *known == name) {
        return Ok(Key(KeyModifiers::NONE, *code));
    }
    if let Some(number) = name.strip_prefix('f').and_then(|n| n.parse().ok()).filter(|n| (1..=12).contains(n))
    {
        return Ok(Key(KeyModifiers::NONE, KeyCode::F(number)));
    }
    if name.starts_with("alt-") || name.starts_with("meta-") {
        return Err("to a terminal, Alt is Esc and then the key; take the key alone, or with ctrl-".into());
    }
    let mut letters = name.strip_prefix("ctrl-").unwrap_or_default().chars();
    match (letters.next(), letters.next()) {
        (Some(letter), None) => match TAKEN.iter().find(|(taken, _)| *taken == letter) {
            Some((_, why)) => Err(format!("that key {why}; take another")),
            None if letter.is_ascii_lowercase() => Ok(Key(KeyModifiers::CONTROL, KeyCode::Char(letter))),
            None => Err(known()),
        },
        _ => Err(known()),
    }
}

/// What keys there are.
fn known() -> String {
    let names: Vec<&str> = NAMED.iter().map(|(name, _)| *name).collect();
    format!(
        "there is no such key; there are letters (a capital for Shift) and signs, ctrl- with a letter, {}, f1 to f12",
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_key_of_the_table_can_be_named_as_it_is_shown() {
        for key in TABLE.iter().filter(|b| b.name != FIXED).flat_map(|binding| binding.keys) {
            assert_eq!(read(&key.name()).as_ref(), Ok(key), "{}", key.name());
        }
        for (name, code) in NAMED {
            let key = Key(KeyModifiers::NONE, *code);
            assert_eq!((read(name), read(&key.name())), (Ok(key), Ok(key)), "{name}");
        }
        assert_eq!(read("F12").unwrap().name(), "F12");
    }
}
