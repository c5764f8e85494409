//! A room's conflicts, held up to date pulse by pulse.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use super::index::{Index, Keys};
use super::{Act, Claims, Conflict, ENDED_FOR, Ended, How, Level, NAMED_MAX, between, files_count_until};
use crate::pattern::Pattern;
use crate::wire::Time;
use crate::wire::id::AgentId;
use crate::wire::pulse::{Availability, Intent, Pulse};

/// More conflicts than anyone reads are not held: a room of ten thousand agents on `**` has fifty million.
const CONFLICTS_MAX: usize = 20_000;
/// Ended ones that are remembered, within their hour.
const ENDED_MAX: usize = 200;

/// Two agents, the lower slot first, and which of their acts meet.
type Key = (u32, u32, Act, Act);

/// How many of each level, notes first.
type Counts = [usize; 3];

/// One agent's conflicts.
#[derive(Debug, Clone, Default)]
struct Own {
    keys: BTreeSet<Key>,
    counts: Counts,
}

/// What has become of the conflicts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turn {
    /// One has begun, or is about something else than before.
    Began(Arc<Conflict>),
    /// One is over.
    Ended(Arc<Ended>),
}

/// A room's conflicts. Times are the room's.
#[derive(Debug, Clone, Default)]
pub struct Radar {
    slots: HashMap<AgentId, u32>,
    agents: Vec<Option<(Claims, Keys)>>,
    free: Vec<u32>,
    index: Index,
    conflicts: BTreeMap<Key, Arc<Conflict>>,
    /// The conflicts of each agent that has any.
    of: HashMap<u32, Own>,
    /// When something of an agent runs out.
    ends: BTreeSet<(Time, u32)>,
    ended: VecDeque<Arc<Ended>>,
    /// Conflicts were left out because there are too many.
    crowded: bool,
    /// How many there are of each level.
    counts: Counts,
    /// How often something of the conflicts has changed.
    version: u64,
}

impl Radar {
    /// The conflicts of a room of these pulses at `now`.
    pub fn of<'a>(pulses: impl IntoIterator<Item = &'a Arc<Pulse>>, now: Time) -> Self {
        let mut radar = Self::default();
        for pulse in pulses {
            radar.take(pulse, now);
        }
        radar
    }

    /// The live conflicts at `now`, the worst first, then the newest.
    pub fn conflicts(&self, now: Time) -> Vec<&Arc<Conflict>> {
        let mut live: Vec<&Arc<Conflict>> =
            self.conflicts.values().filter(|conflict| now < conflict.until()).collect();
        live.sort_by(|a, b| {
            let worst = (b.level, b.since).cmp(&(a.level, a.since));
            let ids = a.first.id().cmp(b.first.id()).then_with(|| a.second.id().cmp(b.second.id()));
            worst.then(ids).then(a.second.act.cmp(&b.second.act))
        });
        live
    }

    /// The live conflicts of one agent at `now`, in no order.
    pub fn of_agent(&self, id: &AgentId, now: Time) -> impl Iterator<Item = &Arc<Conflict>> {
        let keys = self.own(id).into_iter().flat_map(|own| &own.keys);
        keys.filter_map(|key| self.conflicts.get(key)).filter(move |conflict| now < conflict.until())
    }

    /// The worst of the live conflicts of one agent at `now`.
    pub fn worst(&self, id: &AgentId, now: Time) -> Option<Level> {
        let own = self.own(id)?;
        if self.next_end().is_some_and(|end| end <= now) {
            return self.of_agent(id, now).map(|conflict| conflict.level).max();
        }
        let levels = [Level::Clash, Level::Risk, Level::Note];
        levels.into_iter().find(|level| own.counts[*level as usize] > 0)
    }

    fn own(&self, id: &AgentId) -> Option<&Own> {
        self.of.get(self.slots.get(id)?)
    }

    /// Those that ended within the hour before `now`, the newest first.
    pub fn ended(&self, now: Time) -> impl Iterator<Item = &Arc<Ended>> {
        self.ended.iter().rev().filter(move |ended| now - ended.at < ENDED_FOR)
    }

    /// Whether there are more conflicts than are held.
    pub fn crowded(&self) -> bool {
        self.crowded
    }

    /// How many conflicts of a level there are, as of the last pulse or [`Radar::pass`]; costs nothing.
    pub fn count(&self, level: Level) -> usize {
        self.counts[level as usize]
    }

    /// Another number whenever something of them has changed, for who keeps what was made of the conflicts.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// When something runs out next, so that [`Radar::pass`] has something to do.
    pub fn next_end(&self) -> Option<Time> {
        self.ends.first().map(|(at, _)| *at)
    }

    /// An agent's new pulse at `now`.
    pub fn pulse(&mut self, pulse: &Arc<Pulse>, now: Time) -> Vec<Turn> {
        let mut turns = self.pass(now);
        let old = self.take_told(pulse, now);
        turns.extend(old);
        turns
    }

    /// An agent was taken out of the room at `now`.
    pub fn gone(&mut self, id: &AgentId, now: Time) -> Vec<Turn> {
        let mut turns = self.pass(now);
        if let Some(slot) = self.slots.get(id).copied() {
            let before = self.forget(slot);
            self.slots.remove(id);
            self.free.push(slot);
            turns.extend(self.tell(before, id, &How::Left, now));
        }
        turns
    }

    /// A new picture of the whole room at `now`.
    pub fn replace<'a>(&mut self, pulses: impl IntoIterator<Item = &'a Arc<Pulse>>, now: Time) -> Vec<Turn> {
        let old = std::mem::take(self);
        self.ended.clone_from(&old.ended);
        self.version = old.version + 1;
        for pulse in pulses {
            // What is still said has been said since then.
            let slot = old.slots.get(&pulse.agent_id).copied();
            let was = slot.and_then(|slot| old.agents[slot as usize].as_ref());
            let claims = claims(pulse, was, now);
            let keys = keys(&claims, was);
            self.enter(claims, keys, now);
        }
        let mut turns = Vec::new();
        let known = |conflict: &Conflict, radar: &Self| {
            let slot = |party: usize| radar.slots.get(conflict.parties()[party].id()).copied();
            let key = key((slot(0)?, conflict.first.act), (slot(1)?, conflict.second.act));
            radar.conflicts.get(&key).cloned()
        };
        for conflict in old.conflicts.values() {
            if known(conflict, self).is_some_and(|new| new.level >= conflict.level) {
                continue;
            }
            let (by, how) = self.why(conflict, now);
            let at = if how == How::RanOut { conflict.until().min(now) } else { now };
            turns.push(self.end(Arc::clone(conflict), &by, how, at));
        }
        for conflict in self.conflicts.values() {
            if !known(conflict, &old).is_some_and(|was| conflict.goes_on_from(&was)) {
                turns.push(Turn::Began(Arc::clone(conflict)));
            }
        }
        turns
    }

    /// Lets what has run out by `now` run out.
    pub fn pass(&mut self, now: Time) -> Vec<Turn> {
        let mut turns = Vec::new();
        while let Some((at, slot)) = self.ends.first().copied().filter(|(at, _)| *at <= now) {
            self.ends.remove(&(at, slot));
            if let Some(pulse) =
                self.agents[slot as usize].as_ref().map(|(claims, _)| Arc::clone(&claims.pulse))
            {
                turns.extend(self.take_told(&pulse, at));
            }
        }
        turns
    }

    /// Takes a pulse in without a word.
    fn take(&mut self, pulse: &Arc<Pulse>, now: Time) {
        let slot = self.slots.get(&pulse.agent_id).copied();
        let was = slot.and_then(|slot| self.agents[slot as usize].as_ref());
        let claims = claims(pulse, was, now);
        let keys = keys(&claims, was);
        if let Some(slot) = slot {
            self.forget(slot);
        }
        self.enter(claims, keys, now);
    }

    fn take_told(&mut self, pulse: &Arc<Pulse>, now: Time) -> Vec<Turn> {
        let slot = self.slots.get(&pulse.agent_id).copied();
        let was = slot.and_then(|slot| self.agents[slot as usize].as_ref());
        let claims = claims(pulse, was, now);
        if let (Some(slot), Some((was, _))) = (slot, was)
            && claims.says_the_same(was)
        {
            self.renew(slot, claims, now);
            return Vec::new();
        }
        let keys = keys(&claims, was);
        let how = was.map_or(How::SaidElse, |(was, _)| how(was, pulse, now));
        let before = slot.map(|slot| self.forget(slot)).unwrap_or_default();
        let slot = self.enter(claims, keys, now);
        let begun: Vec<Turn> = self
            .of
            .get(&slot)
            .into_iter()
            .flat_map(|own| &own.keys)
            .filter_map(|key| {
                let conflict = self.conflicts.get(key)?;
                let goes_on = before.get(key).is_some_and(|was| conflict.goes_on_from(was));
                (!goes_on).then(|| Turn::Began(Arc::clone(conflict)))
            })
            .collect();
        let over = before
            .into_iter()
            .filter(|(key, was)| self.conflicts.get(key).is_none_or(|conflict| conflict.level < was.level))
            .collect();
        let mut turns = self.tell(over, &pulse.agent_id, &how, now);
        turns.extend(begun);
        if self.crowded && self.conflicts.len() < CONFLICTS_MAX / 2 {
            self.rebuild(now);
        }
        turns
    }

    /// An agent says again what it said, and where: only its pulse is newer.
    fn renew(&mut self, slot: u32, claims: Claims, now: Time) {
        self.version += u64::from(self.of.contains_key(&slot));
        for key in self.of.get(&slot).into_iter().flat_map(|own| &own.keys) {
            if let Some(conflict) = self.conflicts.get_mut(key).map(Arc::make_mut) {
                let party = if *conflict.first.id() == claims.pulse.agent_id {
                    &mut conflict.first
                } else {
                    &mut conflict.second
                };
                party.pulse = Arc::clone(&claims.pulse);
            }
        }
        let new = Arc::clone(&claims.pulse);
        if let Some((was, _)) = &mut self.agents[slot as usize] {
            let was = std::mem::replace(was, claims);
            for at in ends(&was.pulse) {
                self.ends.remove(&(at, slot));
            }
        }
        self.ends.extend(ends(&new).filter(|at| *at > now).map(|at| (at, slot)));
    }

    fn tell(&mut self, over: BTreeMap<Key, Arc<Conflict>>, by: &AgentId, how: &How, at: Time) -> Vec<Turn> {
        over.into_values().map(|conflict| self.end(conflict, by, how.clone(), at)).collect()
    }

    fn end(&mut self, conflict: Arc<Conflict>, by: &AgentId, how: How, at: Time) -> Turn {
        while self.ended.len() >= ENDED_MAX || self.ended.front().is_some_and(|old| at - old.at >= ENDED_FOR)
        {
            self.ended.pop_front();
        }
        let ended = Arc::new(Ended { conflict, at, by: by.clone(), how });
        self.ended.push_back(Arc::clone(&ended));
        Turn::Ended(ended)
    }

    /// Why a conflict of the picture before is not in this one.
    fn why(&self, conflict: &Conflict, now: Time) -> (AgentId, How) {
        for party in conflict.parties() {
            let new = self.slots.get(party.id()).and_then(|slot| self.agents[*slot as usize].as_ref());
            let Some((new, _)) = new else { return (party.id().clone(), How::Left) };
            if *new.pulse != *party.pulse || party.until() <= now {
                let was = Claims { pulse: Arc::clone(&party.pulse), intent: None, files: None };
                return (party.id().clone(), how(&was, &new.pulse, now));
            }
        }
        (conflict.first.id().clone(), How::SaidElse)
    }

    /// Takes an agent's claims and conflicts out, and gives the conflicts back.
    fn forget(&mut self, slot: u32) -> BTreeMap<Key, Arc<Conflict>> {
        if let Some((claims, keys)) = self.agents[slot as usize].take() {
            self.index.leave(slot, &keys);
            for at in ends(&claims.pulse) {
                self.ends.remove(&(at, slot));
            }
        }
        let own = self.of.remove(&slot);
        self.version += u64::from(own.is_some());
        let mut found = BTreeMap::new();
        for key in own.unwrap_or_default().keys {
            let Some(conflict) = self.conflicts.remove(&key) else { continue };
            let other = if key.0 == slot { key.1 } else { key.0 };
            if let Some(theirs) = self.of.get_mut(&other) {
                theirs.keys.remove(&key);
                theirs.counts[conflict.level as usize] -= 1;
                if theirs.keys.is_empty() {
                    self.of.remove(&other);
                }
            }
            self.counts[conflict.level as usize] -= 1;
            found.insert(key, conflict);
        }
        found
    }

    /// Enters an agent that is not in, with its conflicts.
    fn enter(&mut self, claims: Claims, keys: Keys, now: Time) -> u32 {
        let slot = self.slot(&claims.pulse.agent_id);
        'near: for other in self.index.near(&keys) {
            let Some((theirs, _)) = &self.agents[other as usize] else { continue };
            for conflict in between(&claims, theirs) {
                if self.conflicts.len() >= CONFLICTS_MAX {
                    self.crowded = true;
                    self.version += 1;
                    break 'near;
                }
                let of = |id: &AgentId| if *id == claims.pulse.agent_id { slot } else { other };
                let (first, second) = (of(conflict.first.id()), of(conflict.second.id()));
                let key = key((first, conflict.first.act), (second, conflict.second.act));
                let level = conflict.level as usize;
                self.counts[level] += 1;
                for party in [slot, other] {
                    let own = self.of.entry(party).or_default();
                    own.keys.insert(key);
                    own.counts[level] += 1;
                }
                self.conflicts.insert(key, Arc::new(conflict));
                self.version += 1;
            }
        }
        self.index.enter(slot, &keys);
        self.ends.extend(ends(&claims.pulse).filter(|at| *at > now).map(|at| (at, slot)));
        self.agents[slot as usize] = Some((claims, keys));
        slot
    }

    fn slot(&mut self, id: &AgentId) -> u32 {
        if let Some(slot) = self.slots.get(id) {
            return *slot;
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.agents.push(None);
            u32::try_from(self.agents.len() - 1).unwrap_or(u32::MAX)
        });
        self.slots.insert(id.clone(), slot);
        slot
    }

    /// There is room again for conflicts that had been left out.
    fn rebuild(&mut self, now: Time) {
        self.crowded = false;
        let mut slots: Vec<u32> = self.slots.values().copied().collect();
        slots.sort_unstable(); // which of too many are held is not left to chance
        for slot in slots {
            if let Some((claims, keys)) = self.agents[slot as usize].clone() {
                self.forget(slot);
                self.enter(claims, keys, now);
            }
        }
    }
}

impl Claims {
    /// Whether nothing is different that conflicts are judged by.
    fn says_the_same(&self, was: &Self) -> bool {
        let paths = |claims: &Self| claims.intent.as_ref().map(|(paths, since)| (Arc::as_ptr(paths), *since));
        paths(self) == paths(was)
            && self.files == was.files
            && (self.files.is_none() || self.pulse.files == was.pulse.files)
            && self.pulse.owner == was.pulse.owner
    }
}

fn key(one: (u32, Act), other: (u32, Act)) -> Key {
    let ((a, a_act), (b, b_act)) = if one.0 < other.0 { (one, other) } else { (other, one) };
    (a, b, a_act, b_act)
}

/// What a pulse claims at `now`; what it has in common with what `was` known stays as old as it is.
fn claims(pulse: &Arc<Pulse>, was: Option<&(Claims, Keys)>, now: Time) -> Claims {
    let said = pulse.updated_at.min(now);
    let live = pulse.intent.as_ref().filter(|intent| intent.holds(now));
    let was_intent = was.and_then(|(was, _)| was.pulse.intent.as_ref().zip(was.intent.as_ref()));
    let intent = live.map(|live| match was_intent {
        // It may have run out unseen before it was said anew; then it was told that it had.
        Some((old, (paths, since))) if same(old, live) => (Arc::clone(paths), *since),
        _ => (live.paths.iter().take(NAMED_MAX).map(|path| Pattern::new(path)).collect(), said),
    });
    let absent =
        matches!(pulse.availability, Availability::Asleep | Availability::Away | Availability::Offline);
    let count = !absent && !pulse.files.is_empty() && now < files_count_until(pulse);
    let was_files = was.filter(|(was, _)| was.pulse.files == pulse.files);
    let files = count.then(|| was_files.and_then(|(was, _)| was.files).unwrap_or(said));
    Claims { pulse: Arc::clone(pulse), intent, files }
}

/// Where claims lie.
fn keys(claims: &Claims, was: Option<&(Claims, Keys)>) -> Keys {
    let pulse = &claims.pulse;
    let was_files = was.filter(|(was, _)| was.files.is_some() && was.pulse.files == pulse.files);
    let live = pulse.intent.iter().filter(|_| claims.intent.is_some());
    Keys {
        intent: claims.intent.iter().flat_map(|(paths, _)| paths.iter().flat_map(Pattern::stems)).collect(),
        files: match (claims.files, was_files) {
            (None, _) => BTreeSet::new(),
            (Some(_), Some((_, keys))) => keys.files.clone(),
            _ => pulse.files.iter().take(NAMED_MAX).flat_map(|file| Pattern::new(file).stems()).collect(),
        },
        areas: live.flat_map(|live| live.areas.iter().map(|area| area.as_str().into())).collect(),
    }
}

/// Whether an intent only holds longer.
fn same(old: &Intent, new: &Intent) -> bool {
    old.kind == new.kind && old.paths == new.paths && old.areas == new.areas
}

/// When something of a pulse runs out.
fn ends(pulse: &Pulse) -> impl Iterator<Item = Time> {
    let files = (!pulse.files.is_empty()).then(|| files_count_until(pulse));
    pulse.intent.iter().map(|intent| intent.expires_at).chain(files)
}

/// How what `was` claimed came to an end with this pulse.
fn how(was: &Claims, pulse: &Pulse, now: Time) -> How {
    let old = &was.pulse;
    let said_nothing = old.updated_at == pulse.updated_at;
    if said_nothing || old.intent.as_ref().is_some_and(|intent| !intent.holds(now)) {
        How::RanOut
    } else if pulse.intent.is_none() && pulse.availability != old.availability {
        How::Went(pulse.availability.clone())
    } else {
        How::SaidElse
    }
}
