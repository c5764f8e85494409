//! How prickle says that two agents would undo each other: the sentence, what it leads to, what to tell whom.
//!
//! All of it is safe to show and to copy: other people's texts go through [`shown::line()`].

mod json;

use std::collections::BTreeSet;

pub use self::json::json;
use crate::conflict::{Act, Branches, Conflict, Ended, Group, How, Level, Party, Place};
use crate::shown;
use crate::wire::Time;
use crate::wire::id::AgentId;
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

/// A kind as a verb in three forms: `removes`, `removed`, `removing`. A newer room's kind has none.
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

/// What one side named where they meet, each once: `src/auth/**`, `area auth`.
pub fn named(conflict: &Conflict, second: bool) -> Vec<String> {
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
    all
}

/// The same in a sentence: `src/auth/**`, `src/a.rs and 2 more`.
fn target(conflict: &Conflict, second: bool) -> String {
    let all = named(conflict, second);
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
    halves(conflict, tense).join(" ")
}

/// The same sentence as one or two parts, each about one of them: `acme/builder is about to remove src/auth/**`,
/// `while lumen/fixer changes src/auth/login.rs`.
pub fn halves(conflict: &Conflict, tense: Tense) -> Vec<String> {
    let (one, other) = (name(&conflict.first), name(&conflict.second));
    let (first, second) = (target(conflict, false), target(conflict, true));
    let (is, are) = if tense == Tense::Past { ("was", "were") } else { ("is", "are") };
    let mut said = if conflict.second.act == Act::Reports {
        let had = if tense == Tense::Past { "had reported" } else { "reported" };
        vec![
            format!("{one} {is} about to {} {first}", kind(&conflict.first)),
            format!("and {other} {had} {second}"),
        ]
    } else if kind(&conflict.first) == kind(&conflict.second) && first == second {
        match (conflict.level, tense) {
            (Level::Note, Tense::Present) => {
                vec![format!("{one} and {other} both {} {first}", kind(&conflict.first))]
            }
            _ => vec![format!("{one} and {other} {are} both about to {} {first}", kind(&conflict.first))],
        }
    } else {
        let verb = conflict.second.intent().and_then(|intent| verb(&intent.kind));
        let does = match (verb, tense) {
            (Some([does, _, _]), Tense::Present) => format!("{does} {second}"),
            (Some([_, did, _]), Tense::Past) => format!("{did} {second}"),
            (None, _) => format!("{is} about to {} {second}", kind(&conflict.second)),
        };
        vec![
            format!("{one} {is} about to {} {first}", kind(&conflict.first)),
            format!("while {other} {does}"),
        ]
    };
    if let (Some(doubt), Some(last)) = (doubt(conflict), said.last_mut()) {
        last.push_str(&format!(" ({doubt})"));
    }
    said
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
    halves_together(group, tense).map(|halves| halves.join(" "))
}

/// The same sentence in two parts: what the one is about to do, and how many are in its way.
pub fn halves_together(group: &Group<'_>, tense: Tense) -> Option<Vec<String>> {
    let (party, others) = middle(group)?;
    let (is, are) = if tense == Tense::Past { ("was", "were") } else { ("is", "are") };
    let many = words::count(others.len() as u64, "other");
    let name = name(party);
    Some(match (party.intent(), tense) {
        (Some(intent), _) => vec![
            format!("{name} {is} about to {}", words::intent(intent)),
            format!("while {many} {are} at work there"),
        ],
        (None, Tense::Present) => vec![format!("{name} reported files"), format!("that {many} may undo")],
        (None, Tense::Past) => {
            vec![format!("{name} had reported files"), format!("that {many} might have undone")]
        }
    })
}

/// The agent that a group is around, where it can with what it intends, and all others of it.
fn middle<'a>(group: &Group<'a>) -> Option<(&'a Party, BTreeSet<&'a AgentId>)> {
    let around = group.around?;
    let parties = || group.conflicts.iter().flat_map(|conflict| conflict.parties());
    let own = || parties().filter(|party| party.id() == around);
    let party = own().find(|party| party.act == Act::Intends).or_else(|| own().next())?;
    Some((party, parties().map(Party::id).filter(|id| *id != around).collect()))
}

/// What it comes to, before the places where they meet: `One would undo the other at`.
pub fn effect(level: Level, tense: Tense) -> &'static str {
    match (level, tense) {
        (Level::Clash, Tense::Present) => "One would undo the other at",
        (Level::Clash, Tense::Past) => "One would have undone the other at",
        (Level::Risk, Tense::Present) => "One may undo the other at",
        (Level::Risk, Tense::Past) => "One might have undone the other at",
        (Level::Note, Tense::Present) => "Both are at work on",
        (Level::Note, Tense::Past) => "Both were at work on",
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

/// The message about many at once: to the agent in the middle where it is `me`'s, else about the one of them that
/// `me`'s agent is in. `None` for one that stands alone.
pub fn message_of_many(group: &Group<'_>, me: Option<&str>) -> Option<Message> {
    /// So many are named.
    const NAMED: usize = 3;
    let (party, others) = middle(group)?;
    let named: Vec<String> = others.iter().take(NAMED).map(|id| shown::line(id.as_str())).collect();
    let named = match others.len() - named.len() {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    };
    let many = words::count(others.len() as u64, "other");
    let note = group.conflicts.iter().all(|conflict| conflict.level == Level::Note);
    let end = if note { "" } else { " Agree who goes first." };
    if me == Some(&*party.pulse.owner) {
        let text = match party.intent() {
            Some(intent) => {
                format!("Before you {}: {many} are at work there, {named}.{end}", words::intent(intent))
            }
            None => format!("{many} may undo files that you reported: {named}.{end}"),
        };
        return Some(Message { to: to(party, false), text });
    }
    if let Some(own) = group.conflicts.iter().find(|conflict| me.is_some_and(|me| conflict.concerns(me))) {
        return Some(message(own, me));
    }
    let parties = group.conflicts.iter().flat_map(|conflict| conflict.parties());
    let mut owners: BTreeSet<&str> = parties.map(|party| &*party.pulse.owner).collect();
    owners.remove(&*party.pulse.owner);
    let whose = shown::line(&party.pulse.owner);
    let whom = match (owners.len(), owners.first()) {
        (1, Some(other)) => format!("{whose} and {}", shown::line(other)),
        (0, _) => whose,
        (more, _) => format!("{whose} and {more} other owners"),
    };
    let text = format!("{}: {named}.{end}", together(group, Tense::Present)?);
    Some(Message { to: format!("Tell {whom}"), text })
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
