//! The rows of the Clashes, made once per change: who would undo whose work, many of one agent as one row that can
//! be unfolded, and what has ended.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::model::Model;
use crate::conflict::{Act, Conflict, ENDED_FOR, Ended, Group, Level, grouped};
use crate::wire::id::AgentId;
use crate::wire::{Time, later};

/// What a row is about. It stays the same however the rows move.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id {
    level: Level,
    /// When it ended; `None`: it goes on.
    ended: Option<Time>,
    who: Who,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Who {
    /// Two agents in the order of their names, and what of each is meant.
    Two([(AgentId, Act); 2]),
    /// All of this agent.
    Around(AgentId),
}

/// The parts of the list, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// Clashes and risks.
    Now,
    /// Notes.
    Notes,
    /// What ended in the last hour.
    Ended,
}

/// One row: a conflict, or many of one agent.
#[derive(Debug, Clone)]
pub struct Row {
    /// The conflict; of many, the first.
    pub conflict: Arc<Conflict>,
    /// The others of many.
    others: Vec<Arc<Conflict>>,
    /// The agent that all of many have in common.
    pub around: Option<AgentId>,
    /// How it ended; of many, how the first did.
    pub over: Option<Arc<Ended>>,
    /// Stands below the row of many that it is one of.
    pub member: bool,
    /// Of many: its members stand below.
    pub unfolded: bool,
}

impl Row {
    fn one(conflict: &Arc<Conflict>) -> Self {
        let conflict = Arc::clone(conflict);
        Self { conflict, others: Vec::new(), around: None, over: None, member: false, unfolded: false }
    }

    /// All that it stands for.
    pub fn conflicts(&self) -> impl ExactSizeIterator<Item = &Arc<Conflict>> + Clone {
        let all = 0..self.others.len() + 1;
        all.map(|at| at.checked_sub(1).map_or(&self.conflict, |at| &self.others[at]))
    }

    /// The same as what is told together.
    pub fn group(&self) -> Group<'_> {
        Group { around: self.around.as_ref(), conflicts: self.conflicts().collect() }
    }

    /// Which part of the list it belongs to.
    pub fn section(&self) -> Section {
        match (&self.over, self.conflict.level) {
            (Some(_), _) => Section::Ended,
            (None, Level::Note) => Section::Notes,
            (None, Level::Risk | Level::Clash) => Section::Now,
        }
    }

    /// What it is about.
    pub fn id(&self) -> Id {
        let who = match &self.around {
            Some(id) => Who::Around(id.clone()),
            None => Who::Two(two(&self.conflict).map(|(id, act)| (id.clone(), act))),
        };
        Id { level: self.conflict.level, ended: self.ended(), who }
    }

    fn ended(&self) -> Option<Time> {
        self.over.as_ref().map(|over| over.at)
    }

    fn is(&self, id: &Id) -> bool {
        let same = match (&id.who, &self.around) {
            (Who::Around(id), Some(around)) => id == around,
            (Who::Two(ids), None) => is_of(&self.conflict, ids),
            _ => false,
        };
        same && self.conflict.level == id.level && self.ended() == id.ended
    }

    /// How near it is to what `id` was about and is no more: the less, the nearer.
    fn nearness(&self, id: &Id) -> Option<u8> {
        // What has ended does not go on.
        if id.ended.is_some() && self.ended() != id.ended {
            return None;
        }
        let about = match &id.who {
            Who::Two(ids) => self.conflicts().any(|conflict| is_of(conflict, ids)),
            Who::Around(id) => self.conflicts().any(|conflict| conflict.is_of(id)),
        };
        let level = u8::from(self.conflict.level != id.level);
        let over = u8::from(self.over.is_some() && id.ended.is_none());
        about.then_some(over * 4 + level * 2 + u8::from(self.around.is_some()))
    }
}

fn two(conflict: &Conflict) -> [(&AgentId, Act); 2] {
    let mut two = conflict.parties().map(|party| (party.id(), party.act));
    two.sort_unstable();
    two
}

fn is_of(conflict: &Conflict, ids: &[(AgentId, Act); 2]) -> bool {
    let [a, b] = two(conflict);
    (a.0, a.1, b.0, b.1) == (&ids[0].0, ids[0].1, &ids[1].0, ids[1].1)
}

/// The rows as they were last made, the worst first, and the selected one.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    all: Vec<Row>,
    /// Where the selected one stands.
    at: usize,
    /// What it is about; `None`: there never was one.
    chosen: Option<Id>,
    /// The watcher selected it.
    held: bool,
    /// Many whose members are shown.
    unfolded: BTreeSet<Id>,
    /// What they were made of; `None`: to be made.
    made: Option<Made>,
}

/// What the rows were made of, and the times between which they stay so.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Made {
    version: u64,
    from: Time,
    until: Option<Time>,
    /// The filter, and how often an agent had changed, which may be another for it.
    filter: Option<(String, u64)>,
}

/// So far is looked for a neighbour that is still there.
const NEIGHBOURS: usize = 200;

impl Rows {
    /// The rows.
    pub fn all(&self) -> &[Row] {
        &self.all
    }

    /// Where the selected one stands.
    pub fn place(&self) -> usize {
        self.at
    }

    /// The selected one.
    pub fn chosen(&self) -> Option<&Row> {
        self.all.get(self.at)
    }

    /// Whether the selected one was selected by a key.
    pub(super) fn is_held(&self) -> bool {
        self.held
    }

    /// Selects by place, for a key.
    pub(super) fn hold(&mut self, place: usize) {
        self.held = true;
        self.choose(place);
    }

    /// Selects by place; beyond the last it is the last.
    pub(super) fn choose(&mut self, place: usize) {
        self.at = place.min(self.all.len().saturating_sub(1));
        self.chosen = self.all.get(self.at).map(Row::id);
    }

    /// Shows the members of the selected many, or no longer; `false` where it is none.
    pub(super) fn fold(&mut self) -> bool {
        let Some(row) = self.all.get(self.at).filter(|row| row.around.is_some()) else { return false };
        self.held = true;
        let id = row.id();
        if !self.unfolded.remove(&id) {
            self.unfolded.insert(id);
        }
        self.made = None;
        true
    }

    /// From one of many that is selected back to their row; `false` where it is none.
    pub(super) fn fold_up(&mut self) -> bool {
        let Some(row) = self.all.get(self.at) else { return false };
        if !row.member && !row.unfolded {
            return false;
        }
        let head = self.all[..=self.at].iter().rposition(|row| !row.member);
        self.choose(head.unwrap_or(self.at));
        self.fold()
    }

    /// Makes the rows anew where something has changed by `now`, the room's time. The selection stays with what it
    /// is about: it follows it into what has ended; where that is gone too, it goes to the next row below that is
    /// still there, else above. Returns where the row at `top` stands now.
    pub(super) fn keep(&mut self, model: &Model, top: usize) -> usize {
        let (picture, filter, now) = (&model.picture, model.list.filter(), model.now());
        let version = picture.conflicts_version();
        let key = (!filter.is_empty()).then(|| (filter.text().to_owned(), picture.touches()));
        let holds = |made: &Made| {
            let lasts = made.from <= now && made.until.is_none_or(|until| now < until);
            made.version == version && lasts && made.filter == key
        };
        if self.made.as_ref().is_some_and(holds) {
            return top;
        }
        let mut conflicts = picture.conflicts(now);
        conflicts.retain(|conflict| filter.is_empty() || filter.matches_conflict(model, conflict));
        let ended = picture.ended(now);
        let ended: Vec<&Arc<Ended>> = ended
            .filter(|ended| filter.is_empty() || filter.matches_conflict(model, &ended.conflict))
            .collect();
        let ends = conflicts.iter().map(|conflict| conflict.until());
        let until =
            ends.chain(ended.iter().map(|ended| later(ended.at, ENDED_FOR))).filter(|at| *at > now).min();
        let mut rows = Vec::with_capacity(conflicts.len() + ended.len());
        for group in grouped(&conflicts) {
            self.enter(&mut rows, group.around, group.conflicts.into_iter().map(Row::one).collect());
        }
        for together in ended.chunk_by(|a, b| {
            (a.at, &a.by, &a.how, a.conflict.level) == (b.at, &b.by, &b.how, b.conflict.level)
        }) {
            let over =
                |ended: &&Arc<Ended>| Row { over: Some(Arc::clone(ended)), ..Row::one(&ended.conflict) };
            let members: Vec<Row> = together.iter().map(over).collect();
            // What one agent's word has ended is told as it was told while it went on.
            match together {
                [first, _, _, _, ..] => self.enter(&mut rows, Some(&first.by), members),
                _ => members.into_iter().for_each(|row| self.enter(&mut rows, None, vec![row])),
            }
        }
        let old = std::mem::replace(&mut self.all, rows);
        self.made = Some(Made { version, from: now, until, filter: key });
        self.unfolded.retain(|id| self.all.iter().any(|row| row.is(id)));
        let place = |row: &Row| {
            let id = row.id();
            self.all.iter().position(|row| row.is(&id))
        };
        let near = |from: usize| {
            let below = old.iter().skip(from).take(NEIGHBOURS).find_map(place);
            below.or_else(|| old.iter().take(from).rev().take(NEIGHBOURS).find_map(place))
        };
        let at = self.chosen.as_ref().and_then(|id| {
            let exact = self.all.iter().position(|row| row.is(id));
            let nearest = || {
                let all = self.all.iter().enumerate();
                let near = all.filter_map(|(at, row)| row.nearness(id).map(|near| (near, at)));
                near.min().map(|(_, at)| at)
            };
            exact.or_else(nearest).or_else(|| near(self.at))
        });
        let top = if top == 0 { 0 } else { near(top).unwrap_or(top) };
        let at = at.unwrap_or(if self.chosen.is_some() { self.at } else { 0 });
        self.choose(at);
        top
    }

    fn enter(&self, rows: &mut Vec<Row>, around: Option<&AgentId>, members: Vec<Row>) {
        let Some(around) = around else { return rows.extend(members) };
        let Some((first, others)) = members.split_first() else { return };
        let mut head = first.clone();
        head.others = others.iter().map(|row| Arc::clone(&row.conflict)).collect();
        head.around = Some(around.clone());
        head.unfolded = self.unfolded.contains(&head.id());
        let unfolded = head.unfolded;
        rows.push(head);
        if unfolded {
            rows.extend(members.into_iter().map(|row| Row { member: true, ..row }));
        }
    }
}
