//! When two agents would undo each other's work: what they intend, and the files they report, judged by kind.
//!
//! [`level()`] is the table. [`Radar`] holds a room's conflicts up to date, pulse by pulse: what may meet is found
//! by where the paths lie and by the areas' names, so that a pulse costs as little in a large room as in a small
//! one. All of it is advice: nobody is held up.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chrono::TimeDelta;

use crate::pattern::{Budget, Overlap, Pattern};
use crate::wire::id::AgentId;
use crate::wire::pulse::{Availability, Intent, IntentKind, Pulse};
use crate::wire::{self, Time};

mod index;
mod radar;

pub use radar::{Radar, Turn};

/// How long files count after the report that names them.
pub const FILES_COUNT_FOR: TimeDelta = TimeDelta::minutes(30);
/// Until when an agent's files count.
pub fn files_count_until(pulse: &Pulse) -> Time {
    wire::later(pulse.updated_at, FILES_COUNT_FOR)
}

/// How long a conflict that has ended is remembered.
pub const ENDED_FOR: TimeDelta = TimeDelta::hours(1);
/// Steps that comparing two agents may cost, however many paths they name.
const STEPS: u32 = 60_000;
/// Places that one conflict lists; of the others it knows how many.
const PLACES_MAX: usize = 8;
/// More paths and files than a room takes of one agent are not looked at.
const NAMED_MAX: usize = 64;

/// How much two agents are in each other's way; the later, the worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// They meet, and nobody's work is undone.
    Note,
    /// One may undo the other's work.
    Risk,
    /// One would undo the other's work: a person should look.
    Clash,
}

/// What becomes of two intents where they overlap, by their kinds in this order: add, change, remove, rename,
/// revert, migrate. Two that add are apart: on one exact path they clash.
#[rustfmt::skip]
const TABLE: [[Level; 6]; 6] = {
    use Level::{Clash, Note, Risk};
    [
        //  add    change remove rename revert migrate
        [Note,  Note,  Clash, Clash, Clash, Risk ], // add
        [Note,  Note,  Clash, Clash, Clash, Risk ], // change
        [Clash, Clash, Note,  Clash, Risk,  Clash], // remove
        [Clash, Clash, Clash, Clash, Clash, Clash], // rename
        [Clash, Clash, Risk,  Clash, Note,  Clash], // revert
        [Risk,  Risk,  Clash, Clash, Clash, Risk ], // migrate
    ]
};

/// What becomes of two intents of these kinds where they overlap; `exact` where both name one and the same path.
///
/// A kind of a newer room may be anything, so it is a risk.
pub fn level(one: &IntentKind, other: &IntentKind, exact: bool) -> Level {
    let place = |kind: &IntentKind| IntentKind::KNOWN.iter().position(|known| *known == kind.as_str());
    match (one, other) {
        (IntentKind::Add, IntentKind::Add) if exact => Level::Clash,
        _ => place(one).zip(place(other)).map_or(Level::Risk, |(row, column)| TABLE[row][column]),
    }
}

/// Whether an intent of this kind takes away what others have: files that they merely report are at risk.
pub fn undoes(kind: &IntentKind) -> bool {
    matches!(kind, IntentKind::Remove | IntentKind::Revert | IntentKind::Rename)
}

/// Who is told first: the kind that undoes more.
fn weight(kind: &IntentKind) -> u8 {
    match kind {
        IntentKind::Remove => 6,
        IntentKind::Revert => 5,
        IntentKind::Rename => 4,
        IntentKind::Migrate => 3,
        IntentKind::Other(_) => 2,
        IntentKind::Change => 1,
        IntentKind::Add => 0,
    }
}

/// What of an agent is in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Act {
    /// What it is about to do.
    Intends,
    /// The files it reports without an intent on them.
    Reports,
}

/// One side of a conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Party {
    /// Its last pulse.
    pub pulse: Arc<Pulse>,
    /// What of it is meant.
    pub act: Act,
}

impl Party {
    /// Who it is.
    pub fn id(&self) -> &AgentId {
        &self.pulse.agent_id
    }

    /// Its intent; `None` where it only reports files.
    pub fn intent(&self) -> Option<&Intent> {
        self.pulse.intent.as_ref().filter(|_| self.act == Act::Intends)
    }

    /// Until when it counts.
    pub fn until(&self) -> Time {
        self.intent().map_or_else(|| files_count_until(&self.pulse), |intent| intent.expires_at)
    }
}

/// Where two agents meet: what each of them named, as it was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Both named this area.
    Area(Box<str>),
    /// The paths overlap.
    Paths {
        /// What the first named.
        first: Box<str>,
        /// What the second named.
        second: Box<str>,
        /// How surely they overlap; never [`Overlap::No`].
        overlap: Overlap,
    },
}

impl Place {
    /// What they share, as narrow as one pattern can say it; of others' text.
    pub fn ground(&self) -> String {
        match self {
            Self::Area(name) => name.to_string(),
            Self::Paths { first, second, .. } => {
                Pattern::new(first).ground(&Pattern::new(second)).unwrap_or_else(|| first.to_string())
            }
        }
    }
}

/// Who is in whose way, by which of their acts, how much, and since when: where one of these is another, something has
/// begun that is to be told, counted and marked anew.
pub type Which = (AgentId, Act, AgentId, Act, Level, Time);

/// Two agents in each other's way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// How much.
    pub level: Level,
    /// The one that would undo more.
    pub first: Party,
    /// The other.
    pub second: Party,
    /// Where they meet, the worst first, at most eight.
    pub places: Vec<Place>,
    /// How many more places there are.
    pub more: usize,
    /// Since when it is so: the later of the two said what it said then.
    pub since: Time,
}

/// Whether two agents are on one branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Branches {
    /// One of them did not say.
    Unknown,
    /// On this one both.
    Same,
    /// On two: it would show at the merge.
    Two,
}

impl Conflict {
    /// Until when it holds if nobody says anything: the first of the two runs out then.
    pub fn until(&self) -> Time {
        self.first.until().min(self.second.until())
    }

    /// Both sides.
    pub fn parties(&self) -> [&Party; 2] {
        [&self.first, &self.second]
    }

    /// Whether the agent is one of the two.
    pub fn is_of(&self, id: &AgentId) -> bool {
        self.parties().iter().any(|party| party.id() == id)
    }

    /// Whether one of the two is this owner's.
    pub fn concerns(&self, owner: &str) -> bool {
        self.parties().iter().any(|party| party.pulse.owner == owner)
    }

    /// Whether both are of one owner.
    pub fn of_one_owner(&self) -> bool {
        self.first.pulse.owner == self.second.pulse.owner
    }

    /// Whether they meet only where case does not count.
    pub fn case_only(&self) -> bool {
        self.places.iter().all(|place| matches!(place, Place::Paths { overlap: Overlap::CaseOnly, .. }))
    }

    /// Whether what they named is too intricate to be sure of.
    pub fn unsure(&self) -> bool {
        self.places.iter().all(|place| matches!(place, Place::Paths { overlap: Overlap::May, .. }))
    }

    /// Whether they are on one branch.
    pub fn branches(&self) -> Branches {
        match (&self.first.pulse.branch, &self.second.pulse.branch) {
            (Some(a), Some(b)) if a == b => Branches::Same,
            (Some(_), Some(_)) => Branches::Two,
            _ => Branches::Unknown,
        }
    }

    /// What makes it this conflict and no other.
    pub fn which(&self) -> Which {
        let (first, second) = (&self.first, &self.second);
        (first.id().clone(), first.act, second.id().clone(), second.act, self.level, self.since)
    }

    /// Whether the two still say what they said in `other`, so that nothing new is to be told.
    fn goes_on_from(&self, other: &Self) -> bool {
        self.which() == other.which()
    }
}

/// How a conflict ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum How {
    /// Its intent, or the time for which its files count, ran out.
    RanOut,
    /// It said something else.
    SaidElse,
    /// It went idle, asleep, …, and left its intent or its files.
    Went(Availability),
    /// It was taken out of the room.
    Left,
}

/// A conflict that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// As it was last.
    pub conflict: Arc<Conflict>,
    /// When, by the room's clock.
    pub at: Time,
    /// By whom.
    pub by: AgentId,
    /// How.
    pub how: How,
}

/// Conflicts that have one agent in common, told together where they are many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group<'a> {
    /// The agent that is in all of them; `None` where there is only one conflict.
    pub around: Option<&'a AgentId>,
    /// The conflicts, all of one level.
    pub conflicts: Vec<&'a Arc<Conflict>>,
}

/// From how many conflicts of one agent on they are told together.
const GROUPED_FROM: usize = 4;

/// Puts the conflicts of agents that have many of one level together, around the agent that has the most; all
/// else stays alone, in its order.
pub fn grouped<'a>(conflicts: &[&'a Arc<Conflict>]) -> Vec<Group<'a>> {
    let mut groups = Vec::new();
    for level in [Level::Clash, Level::Risk, Level::Note] {
        let of_level: Vec<&'a Arc<Conflict>> =
            conflicts.iter().copied().filter(|conflict| conflict.level == level).collect();
        let mut of: BTreeMap<&AgentId, BTreeSet<usize>> = BTreeMap::new();
        for (at, conflict) in of_level.iter().enumerate() {
            for party in conflict.parties() {
                of.entry(party.id()).or_default().insert(at);
            }
        }
        let mut by_count: BTreeSet<(usize, Reverse<&AgentId>)> =
            of.iter().map(|(id, at)| (at.len(), Reverse(*id))).collect();
        let mut taken: BTreeMap<usize, usize> = BTreeMap::new(); // conflict → group
        let mut around: Vec<&AgentId> = Vec::new();
        while let Some((_, Reverse(id))) = by_count.pop_last().filter(|most| most.0 >= GROUPED_FROM) {
            for at in of.remove(id).unwrap_or_default() {
                taken.insert(at, around.len());
                for party in of_level[at].parties().iter().filter(|party| party.id() != id) {
                    if let Some(left) = of.get_mut(party.id()) {
                        by_count.remove(&(left.len(), Reverse(party.id())));
                        left.remove(&at);
                        by_count.insert((left.len(), Reverse(party.id())));
                    }
                }
            }
            around.push(id);
        }
        let mut begun: BTreeMap<usize, usize> = BTreeMap::new(); // group → where it stands
        for (at, conflict) in of_level.iter().enumerate() {
            match taken.get(&at).map(|group| (*group, begun.get(group).copied())) {
                Some((_, Some(place))) => {
                    let group: &mut Group<'a> = &mut groups[place];
                    group.conflicts.push(conflict);
                }
                Some((group, None)) => {
                    begun.insert(group, groups.len());
                    groups.push(Group { around: Some(around[group]), conflicts: vec![conflict] });
                }
                None => groups.push(Group { around: None, conflicts: vec![conflict] }),
            }
        }
    }
    groups
}

/// What of an agent can be in others' way at one moment.
#[derive(Debug, Clone)]
struct Claims {
    pulse: Arc<Pulse>,
    /// The live intent's paths, and since when it says this.
    intent: Option<(Arc<[Pattern]>, Time)>,
    /// Whether its files count, and since when it reports these.
    files: Option<Time>,
}

/// All conflicts of two agents: of their intents, and of what each reports with what the other intends.
fn between(one: &Claims, other: &Claims) -> Vec<Conflict> {
    let mut budget = Budget::of(STEPS);
    let both = intents(one, other, &mut budget);
    let files = [(one, other), (other, one)].map(|(a, b)| reported(a, b, &mut budget));
    both.into_iter().chain(files.into_iter().flatten()).collect()
}

fn intents(one: &Claims, other: &Claims, budget: &mut Budget) -> Option<Conflict> {
    let kind = |claims: &Claims| claims.pulse.intent.as_ref().map(|intent| weight(&intent.kind));
    let order = kind(one).cmp(&kind(other)).then_with(|| other.pulse.agent_id.cmp(&one.pulse.agent_id));
    let (one, other) = if order.is_lt() { (other, one) } else { (one, other) };
    let ((paths, since), (others, others_since)) = (one.intent.as_ref()?, other.intent.as_ref()?);
    let (first, second) = (one.pulse.intent.as_ref()?, other.pulse.intent.as_ref()?);
    let judge = |exact| level(&first.kind, &second.kind, exact);
    let mut places = Vec::new();
    let areas = first.areas.iter().take(NAMED_MAX).filter(|area| second.areas.contains(area));
    places.extend(areas.map(|area| (judge(false), Place::Area(area.as_str().into()))));
    for a in paths.iter() {
        for b in others.iter() {
            let overlap = a.overlap_within(b, budget);
            let level = match overlap {
                Overlap::No => continue,
                Overlap::CaseOnly => Level::Note,
                Overlap::May | Overlap::Yes => judge(a.path().is_some_and(|path| Some(path) == b.path())),
            };
            places.push((level, Place::Paths { first: a.text().into(), second: b.text().into(), overlap }));
        }
    }
    let parties = [one, other].map(|claims| Party { pulse: Arc::clone(&claims.pulse), act: Act::Intends });
    conflict(parties, places, *since.max(others_since))
}

/// What `one` intends against the files that `other` reports without an intent on them.
fn reported(one: &Claims, other: &Claims, budget: &mut Budget) -> Option<Conflict> {
    let ((paths, since), others_since) = (one.intent.as_ref()?, other.files.as_ref()?);
    if !one.pulse.intent.as_ref().is_some_and(|intent| undoes(&intent.kind)) {
        return None;
    }
    let mut places = Vec::new();
    for file in other.pulse.files.iter().take(NAMED_MAX) {
        let file = Pattern::new(file);
        let own = other.intent.as_ref().map_or(&[][..], |(own, _)| own);
        // Only what overlaps is asked whether an intent of its own is on it.
        let mut met = paths.iter().map(|path| (path, path.overlap_within(&file, budget)));
        let Some((path, overlap)) = met.find(|(_, overlap)| *overlap != Overlap::No) else { continue };
        if own.iter().any(|own| own.overlap_within(&file, budget) >= Overlap::May) {
            continue;
        }
        let level = if overlap == Overlap::CaseOnly { Level::Note } else { Level::Risk };
        places.push((level, Place::Paths { first: path.text().into(), second: file.text().into(), overlap }));
    }
    let parties = [(one, Act::Intends), (other, Act::Reports)]
        .map(|(claims, act)| Party { pulse: Arc::clone(&claims.pulse), act });
    conflict(parties, places, *since.max(others_since))
}

fn conflict(parties: [Party; 2], mut places: Vec<(Level, Place)>, since: Time) -> Option<Conflict> {
    places.sort_by_key(|(level, _)| Reverse(*level));
    let level = places.first()?.0;
    let more = places.len().saturating_sub(PLACES_MAX);
    let places = places.into_iter().take(PLACES_MAX).map(|(_, place)| place).collect();
    let [first, second] = parties;
    Some(Conflict { level, first, second, places, more, since })
}
