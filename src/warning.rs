//! How prickle says that two agents would undo each other: the sentence, what it leads to, what to tell whom.
//!
//! All of it is safe to show and to copy: other people's texts go through [`shown::line()`].

use crate::conflict::{Act, Branches, Conflict, Ended, Group, How, Level, Party, Place};
use crate::shown;
use crate::wire::Time;
use crate::wire::pulse::IntentKind;
use crate::words::{self, Zone};

/// Whether it is so, or was when we last heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tense {
    /// It is so.
    Present,
    /// It was: the connection is gone, or it has ended.
    Past,
}

/// A level's word: `clash`, `risk`, `note`.
pub fn word(level: Level) -> &'static str {
    match level {
        Level::Clash => "clash",
        Level::Risk => "risk",
        Level::Note => "note",
    }
}

/// A level's mark, one column wide.
pub fn mark(level: Level) -> &'static str {
    match level {
        Level::Clash => "≠",
        Level::Risk => "~",
        Level::Note => "=",
    }
}

/// A kind as a verb, in three forms: `remove`, `removes`, `removed`, `removing`. A newer room's kind has none.
fn verb(kind: &IntentKind) -> Option<[&'static str; 3]> {
    Some(match kind {
        IntentKind::Add => ["adds", "added", "adding"],
        IntentKind::Change => ["changes", "changed", "changing"],
        IntentKind::Remove => ["removes", "removed", "removing"],
        IntentKind::Rename => ["renames", "renamed", "renaming"],
        IntentKind::Revert => ["reverts", "reverted", "reverting"],
        IntentKind::Migrate => ["migrates", "migrated", "migrating"],
        IntentKind::Other(_) => return None,
    })
}

fn name(party: &Party) -> String {
    shown::line(party.id().as_str())
}

fn kind(party: &Party) -> String {
    party.intent().map_or_else(String::new, |intent| shown::line(intent.kind.as_str()))
}

/// What one side named where they meet: `src/auth/**`, `src/a.rs and 2 more`, `area auth`.
fn target(conflict: &Conflict, second: bool) -> String {
    let named = |place: &Place| match place {
        Place::Area(area) => format!("area {}", shown::line(area)),
        Place::Paths { first, second: theirs, .. } => shown::line(if second { theirs } else { first }),
    };
    let mut all: Vec<String> = Vec::new();
    for named in conflict.places.iter().map(named) {
        if !all.contains(&named) {
            all.push(named);
        }
    }
    let first = all.first().cloned().unwrap_or_default();
    // Beyond what is listed it may be the same again: only what is known is counted.
    match all.len().saturating_sub(1) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// `about to remove`, `changing`: what the one is at in the eyes of the other.
fn doing(party: &Party) -> String {
    match party.intent().map(|intent| verb(&intent.kind)) {
        Some(Some([_, _, ing])) => ing.into(),
        Some(None) => format!("about to {}", kind(party)),
        None => "at work on".into(),
    }
}

/// One sentence without its full stop: `acme/builder is about to remove src/auth/** while lumen/fixer changes
/// src/auth/login.rs`.
pub fn told(conflict: &Conflict, tense: Tense) -> String {
    let (one, other) = (name(&conflict.first), name(&conflict.second));
    let (first, second) = (target(conflict, false), target(conflict, true));
    let (is, are) = if tense == Tense::Past { ("was", "were") } else { ("is", "are") };
    let said = if conflict.second.act == Act::Reports {
        let had = if tense == Tense::Past { "had reported" } else { "reported" };
        format!("{one} {is} about to {} {first} and {other} {had} {second}", kind(&conflict.first))
    } else if kind(&conflict.first) == kind(&conflict.second) && first == second {
        match (conflict.level, tense) {
            (Level::Note, Tense::Present) => {
                format!("{one} and {other} both {} {first}", kind(&conflict.first))
            }
            _ => format!("{one} and {other} {are} both about to {} {first}", kind(&conflict.first)),
        }
    } else {
        let verb = conflict.second.intent().and_then(|intent| verb(&intent.kind));
        let does = match (verb, tense) {
            (Some([does, _, _]), Tense::Present) => format!("{does} {second}"),
            (Some([_, did, _]), Tense::Past) => format!("{did} {second}"),
            (None, _) => format!("{is} about to {} {second}", kind(&conflict.second)),
        };
        format!("{one} {is} about to {} {first} while {other} {does}", kind(&conflict.first))
    };
    match doubt(conflict) {
        Some(doubt) => format!("{said} ({doubt})"),
        None => said,
    }
}

/// What makes it less than sure; `None` where nothing does.
pub fn doubt(conflict: &Conflict) -> Option<&'static str> {
    if conflict.case_only() {
        Some("they differ only by case, which some machines don't tell apart")
    } else if conflict.unsure() {
        Some("their patterns are too intricate to tell, so they may overlap")
    } else {
        None
    }
}

/// Many conflicts around one agent in one sentence: `acme/builder is about to remove src/** while 12 others are
/// at work there`. `None` for one that stands alone.
pub fn together(group: &Group<'_>, tense: Tense) -> Option<String> {
    let around = group.around?;
    let party = group.conflicts.first()?.parties().into_iter().find(|party| party.id() == around)?;
    let (is, are) = if tense == Tense::Past { ("was", "were") } else { ("is", "are") };
    let mut others: Vec<_> =
        group.conflicts.iter().flat_map(|conflict| conflict.parties()).map(Party::id).collect();
    others.retain(|id| *id != around);
    others.sort_unstable();
    others.dedup();
    let others = words::count(others.len() as u64, "other");
    let what = match party.pulse.intent.as_ref() {
        Some(intent) => format!("about to {}", words::intent(intent)),
        None => "at work".to_owned(),
    };
    Some(format!("{} {is} {what} while {others} {are} at work there", name(party)))
}

/// What it comes to: `One would undo the other`.
pub fn effect(conflict: &Conflict) -> &'static str {
    match conflict.level {
        Level::Clash => "One would undo the other",
        Level::Risk => "One may undo the other",
        Level::Note => "They meet, and neither undoes the other",
    }
}

/// Until when, and what to do: `Both hold until 15:00. Agree who goes first.`; of the past only until when.
pub fn until(conflict: &Conflict, tense: Tense, now: Time, zone: Zone) -> String {
    let until = zone.near(conflict.until(), now);
    let held = if conflict.second.act == Act::Intends {
        if tense == Tense::Past { "Their intents hold" } else { "Both hold" }
    } else {
        "It holds"
    };
    match (tense, conflict.level) {
        (Tense::Present, Level::Clash) => format!("{held} until {until}. Agree who goes first."),
        _ => format!("{held} until {until}."),
    }
}

/// What two branches mean for it; `None` where one of the two did not say.
pub fn branches(conflict: &Conflict) -> Option<String> {
    match conflict.branches() {
        Branches::Unknown => None,
        Branches::Two => Some("On two branches: it would show at the merge.".into()),
        Branches::Same => {
            let branch = conflict.first.pulse.branch.as_deref().unwrap_or_default();
            Some(format!("Both on {}.", shown::line(branch)))
        }
    }
}

/// Whose they are where they are one owner's: `both yours`, `both are of lumen`.
pub fn owners(conflict: &Conflict, me: Option<&str>) -> Option<String> {
    let owner = &conflict.first.pulse.owner;
    match conflict.of_one_owner() {
        true if me == Some(owner) => Some("both yours".into()),
        true => Some(format!("both are of {}", shown::line(owner))),
        false => None,
    }
}

/// What they share, as narrow as it is, each place once.
pub fn ground(conflict: &Conflict) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for place in &conflict.places {
        let ground = match place {
            Place::Area(area) => format!("area {}", shown::line(area)),
            Place::Paths { .. } => shown::line(&place.ground()),
        };
        if !all.contains(&ground) {
            all.push(ground);
        }
    }
    if conflict.more > 0 {
        all.push(format!("and {} more", conflict.more));
    }
    all
}

/// The only thing that a person can do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// What stands above it: `Tell your agent`, `Tell acme and lumen`.
    pub to: String,
    /// One line, ready to be pasted.
    pub text: String,
}

/// The message for one's own agent, of two the one that would undo more; where none of the two is `me`'s, the
/// one for their owners. Without `me` all are foreign.
pub fn message(conflict: &Conflict, me: Option<&str>) -> Message {
    let own = |party: &Party| me == Some(&*party.pulse.owner);
    let on = |party: &Party| {
        party.pulse.branch.as_ref().map_or(String::new(), |branch| format!(" on {}", shown::line(branch)))
    };
    let (one, other) = (&conflict.first, &conflict.second);
    let (first, second) = (target(conflict, false), target(conflict, true));
    let end = if conflict.level == Level::Note { "" } else { " Agree who goes first." };
    if own(one) {
        let does = match other.act {
            Act::Intends => format!("is {} {second}", doing(other)),
            Act::Reports => format!("has reported {second} as its own work"),
        };
        let text = format!("Before you {} {first}: {} {does}{}.{end}", kind(one), name(other), on(other));
        Message { to: to(one, own(other)), text }
    } else {
        let does = format!("{} is about to {} {first}{}", name(one), kind(one), on(one));
        if own(other) {
            let before = match other.act {
                Act::Intends => format!("Before you {} {second}", kind(other)),
                Act::Reports => format!("You reported {second}"),
            };
            return Message { to: to(other, false), text: format!("{before}: {does}.{end}") };
        }
        let whose = |party: &Party| shown::line(&party.pulse.owner);
        let whom =
            if conflict.of_one_owner() { whose(one) } else { format!("{} and {}", whose(one), whose(other)) };
        Message { to: format!("Tell {whom}"), text: format!("{}.{end}", told(conflict, Tense::Present)) }
    }
}

fn to(party: &Party, both: bool) -> String {
    if both { format!("Tell {}", name(party)) } else { "Tell your agent".into() }
}

/// How it ended: `its intent ran out`, `acme/builder said something else`, `lumen/fixer went idle`.
pub fn over(ended: &Ended) -> String {
    let by = shown::line(ended.by.as_str());
    match &ended.how {
        How::RanOut => {
            let party = ended.conflict.parties().into_iter().find(|party| *party.id() == ended.by);
            match party.map(|party| party.act) {
                Some(Act::Reports) => format!("{by} reported it too long ago"),
                _ => format!("{by}'s intent ran out"),
            }
        }
        How::SaidElse => format!("{by} said something else"),
        How::Went(availability) => format!("{by} went {}", shown::line(availability.as_str())),
        How::Left => format!("{by} left the room"),
    }
}

/// The same as a sentence of its own, without its full stop: `lumen/fixer no longer changes src/auth/login.rs`.
pub fn no_longer(ended: &Ended) -> String {
    let conflict = &ended.conflict;
    let by = shown::line(ended.by.as_str());
    let second = conflict.second.id() == &ended.by;
    let party = if second { &conflict.second } else { &conflict.first };
    let target = target(conflict, second);
    match (&ended.how, party.intent()) {
        (How::RanOut, Some(intent)) => {
            format!("{by}'s intent to {} {target} ran out", shown::line(intent.kind.as_str()))
        }
        (How::Left, _) => over(ended),
        (_, Some(intent)) => match verb(&intent.kind) {
            Some([does, _, _]) => format!("{by} no longer {does} {target}"),
            None => format!("{by} is no longer about to {} {target}", kind(party)),
        },
        (_, None) => format!("{by} no longer reports {target}"),
    }
}
