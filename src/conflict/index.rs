//! Who may meet whom: agents found by where their paths lie and by the areas they name.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// Which of an agent's names an entry is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Of {
    /// A path of its intent.
    Intent,
    /// A file that it reports.
    Files,
}

/// Stems and areas, and who has them. A superset of what overlaps, never less.
#[derive(Debug, Clone, Default)]
pub struct Index {
    stems: BTreeMap<Box<str>, BTreeSet<(u32, Of)>>,
    areas: BTreeMap<Box<str>, BTreeSet<u32>>,
}

/// Where one agent stands in the index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keys {
    /// What it intends lies here.
    pub intent: BTreeSet<Box<str>>,
    /// The files it reports lie here.
    pub files: BTreeSet<Box<str>>,
    /// The areas of its intent.
    pub areas: BTreeSet<Box<str>>,
}

impl Keys {
    fn stems(&self) -> impl Iterator<Item = (&Box<str>, Of)> {
        let intent = self.intent.iter().map(|stem| (stem, Of::Intent));
        intent.chain(self.files.iter().map(|stem| (stem, Of::Files)))
    }
}

impl Index {
    /// Enters an agent.
    pub fn enter(&mut self, slot: u32, keys: &Keys) {
        for (stem, of) in keys.stems() {
            self.stems.entry(stem.clone()).or_default().insert((slot, of));
        }
        for area in &keys.areas {
            self.areas.entry(area.clone()).or_default().insert(slot);
        }
    }

    /// Takes an agent out that was entered with these keys.
    pub fn leave(&mut self, slot: u32, keys: &Keys) {
        for (stem, of) in keys.stems() {
            if let Some(entries) = self.stems.get_mut(stem) {
                entries.remove(&(slot, of));
                if entries.is_empty() {
                    self.stems.remove(stem);
                }
            }
        }
        for area in &keys.areas {
            if let Some(entries) = self.areas.get_mut(area) {
                entries.remove(&slot);
                if entries.is_empty() {
                    self.areas.remove(area);
                }
            }
        }
    }

    /// Everyone who may be in the way of an agent with these keys. Files are in nobody's way but an intent's.
    pub fn near(&self, keys: &Keys) -> BTreeSet<u32> {
        let mut found = BTreeSet::new();
        for (stem, of) in keys.stems() {
            let mut take = |entries: &BTreeSet<(u32, Of)>| {
                let met = entries.iter().filter(|(_, theirs)| of == Of::Intent || *theirs == Of::Intent);
                found.extend(met.map(|(slot, _)| *slot));
            };
            let above = std::iter::once(0).chain(stem.match_indices('/').map(|(at, _)| at + 1));
            above.filter_map(|end| self.stems.get(&stem[..end])).for_each(&mut take);
            let below = (Bound::Excluded(&**stem), Bound::Unbounded);
            let below = self.stems.range::<str, _>(below).take_while(|(other, _)| other.starts_with(&**stem));
            below.for_each(|(_, entries)| take(entries));
        }
        let areas = keys.areas.iter().filter_map(|area| self.areas.get(area));
        found.extend(areas.flatten());
        found
    }
}
