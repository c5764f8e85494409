//! The list of agents as it stands: which of them, in which order, under which headings.
//!
//! It is kept beside the picture and follows what happens there: a report costs nothing unless somebody comes or
//! goes, or the order or the filter asks for what was reported. What of it is drawn is found by place.

mod order;
mod standing;

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use self::order::rank;
pub use self::order::{Grouping, Order};
pub use self::standing::{Call, Presence, Standing};
use super::filter::Filter;
use super::model::Model;
use crate::picture::Agent;
use crate::shown;
use crate::wire::Time;
use crate::wire::id::{AgentId, is_slug};
use crate::wire::pulse::Pulse;

/// The place of an agent that is not shown.
const NOWHERE: u32 = u32::MAX;

/// A heading, and where what stands under it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// The owner, state, branch or task as it came; `None`: agents without one.
    pub name: Option<String>,
    /// The place of the first agent under it.
    pub first: usize,
}

/// The list: what the watcher asked for, and what that comes to.
#[derive(Debug, Clone, Default)]
pub struct List {
    filter: Filter,
    order: Order,
    reversed: bool,
    grouping: Grouping,
    /// Everyone in the room, by owner and name.
    members: Vec<AgentId>,
    standing: Vec<Standing>,
    /// Where each member stands among those that are shown, or [`NOWHERE`].
    places: Vec<u32>,
    /// Who is shown, in order.
    shown: Vec<u32>,
    headings: Vec<Heading>,
    /// Shown though the filter no longer lets it through: whoever was looking at it goes on doing so.
    kept: Option<AgentId>,
    /// Columns of the longest name, and of the longest name with its owner.
    widest: (usize, usize),
    needing: usize,
    /// The happenings that it contains; `None`: it is to be made anew.
    looked: Option<u64>,
    conflicts: u64,
    owner: Option<String>,
    /// When each member's claim gets old, if it still does; and the same by time.
    gets_old: Vec<Option<Time>>,
    ages: BTreeSet<(Time, u32)>,
}

/// What there is to do about what has happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Nothing,
    Arrange,
    Enrol,
}

impl List {
    /// The filter in force.
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// The order in force, and whether it is the other way round.
    pub fn order(&self) -> (Order, bool) {
        (self.order, self.reversed)
    }

    /// What the headings are.
    pub fn grouping(&self) -> Grouping {
        self.grouping
    }

    /// How many are shown.
    pub fn len(&self) -> usize {
        self.shown.len()
    }

    /// Whether nobody is shown.
    pub fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    /// How many the filter lets through.
    pub fn matched(&self) -> usize {
        self.shown.len() - usize::from(self.kept.is_some())
    }

    /// How many there are in the room.
    pub fn total(&self) -> usize {
        self.members.len()
    }

    /// Who stands at a place.
    pub fn nth(&self, place: usize) -> Option<&AgentId> {
        self.shown.get(place).map(|member| &self.members[*member as usize])
    }

    /// The same with how it stands.
    pub fn at(&self, place: usize) -> Option<(&AgentId, Standing)> {
        let member = *self.shown.get(place)? as usize;
        Some((&self.members[member], self.standing[member]))
    }

    /// Who is shown, in order, with how they stand.
    pub fn iter(&self) -> impl Iterator<Item = (&AgentId, Standing)> {
        self.shown.iter().map(|member| (&self.members[*member as usize], self.standing[*member as usize]))
    }

    /// Where an agent stands; `None`: it is not shown.
    pub fn place(&self, id: &AgentId) -> Option<usize> {
        let place = *self.places.get(self.member(id)?)?;
        (place != NOWHERE).then_some(place as usize)
    }

    /// How many of those at these places need the watcher.
    pub fn needing_at(&self, places: Range<usize>) -> usize {
        let members = self.shown.get(places).unwrap_or_default();
        members.iter().filter(|member| self.standing[**member as usize].needs_you).count()
    }

    /// How many of those at these places failed, and how many only clash: the watcher's, or others'.
    pub fn calls_at(&self, places: Range<usize>, yours: bool) -> [usize; 2] {
        let members = self.shown.get(places).unwrap_or_default();
        count_calls(members.iter().map(|member| self.standing[*member as usize]), yours)
    }

    /// The same of the watcher's that are not shown.
    pub fn calls_hidden(&self) -> [usize; 2] {
        let members = self.standing.iter().zip(&self.places);
        count_calls(members.filter(|(_, place)| **place == NOWHERE).map(|(standing, _)| *standing), true)
    }

    /// How many need the watcher, shown or not.
    pub fn needing(&self) -> usize {
        self.needing
    }

    /// How many need the watcher and are not shown.
    pub fn needing_hidden(&self) -> usize {
        if self.filter.is_empty() { 0 } else { self.needing - self.needing_at(0..self.len()) }
    }

    /// Columns that the longest name of the room takes, as the rows show it.
    pub fn widest(&self) -> usize {
        if self.grouping == Grouping::Owner { self.widest.0 } else { self.widest.1 }
    }

    /// The rows with their headings; where `apart`, a blank row before each heading but the first.
    pub fn rows(&self, apart: bool) -> Rows<'_> {
        Rows { list: self, apart }
    }

    /// Lets through only what the filter asks for. Nobody is kept for its having been selected.
    pub(super) fn filter_by(&mut self, filter: Filter) {
        self.filter = filter;
        self.kept = None;
        self.places.clear();
        self.looked = None;
    }

    /// Another order.
    pub(super) fn sort_by(&mut self, order: Order, reversed: bool) {
        (self.order, self.reversed, self.looked) = (order, reversed, None);
    }

    /// Other headings.
    pub(super) fn group_by(&mut self, grouping: Grouping) {
        (self.grouping, self.looked) = (grouping, None);
    }

    /// The picture is another one, or is judged by something else.
    pub(super) fn forget(&mut self) {
        self.looked = None;
    }

    /// Who is to be selected after the one at `place`, who has left: the one below it, else the one above.
    pub(super) fn heir(&self, model: &Model, place: usize) -> Option<AgentId> {
        let above = self.shown.iter().take(place).rev();
        let mut others = self.shown.iter().skip(place + 1).chain(above).map(|m| &self.members[*m as usize]);
        let there = |id: &&AgentId| {
            model.picture.agent(id).is_some_and(|agent| self.filter.matches_agent(model, agent))
        };
        others.find(there).cloned()
    }

    /// Takes in what has happened in the model's picture since the last time. Whether anybody may stand elsewhere.
    pub(super) fn follow(&mut self, model: &Model) -> bool {
        let due = self.due(model);
        self.looked = Some(model.picture.touches());
        self.conflicts = model.picture.conflicts_version();
        if due == Due::Enrol {
            self.enrol(model);
        }
        if due >= Due::Arrange {
            self.arrange(model);
        }
        due >= Due::Arrange
    }

    fn due(&mut self, model: &Model) -> Due {
        let Some(looked) = self.looked.filter(|_| self.owner == model.owner) else { return Due::Enrol };
        let Some(touched) = model.picture.touched(looked) else { return Due::Enrol };
        let mut due = Due::Nothing;
        if self.filter.meets() && self.conflicts != model.picture.conflicts_version()
            || self.kept.as_ref().is_some_and(|kept| model.selected.as_ref() != Some(kept))
        {
            due = Due::Arrange;
        }
        let old: Vec<u32> = self.ages.range(..=(model.now(), u32::MAX)).map(|(_, member)| *member).collect();
        let old: Vec<AgentId> = old.into_iter().map(|member| self.members[member as usize].clone()).collect();
        for id in touched.chain(&old) {
            due = due.max(self.look_at(model, id));
            if due == Due::Enrol {
                break;
            }
        }
        due
    }

    /// Whether a report may move its agent.
    fn moves(&self, member: usize, pulse: &Pulse) -> bool {
        if matches!(self.order, Order::Report | Order::State) {
            return true;
        }
        let place = self.places[member];
        let number = self.headings.partition_point(|heading| heading.first <= place as usize).checked_sub(1);
        let (_, name) = self.grouping.heading(&self.members[member], pulse);
        place != NOWHERE
            && number.is_some_and(|n| self.headings[n].name.as_deref().unwrap_or_default() != name)
    }

    /// Takes in how an agent stands by now.
    fn look_at(&mut self, model: &Model, id: &AgentId) -> Due {
        let (member, agent) = match (self.member(id), model.picture.agent(id)) {
            (Some(member), Some(agent)) => (member, agent),
            (None, None) => return Due::Nothing,
            _ => return Due::Enrol,
        };
        let was = std::mem::replace(&mut self.standing[member], Standing::of(model, agent));
        let is = self.standing[member];
        self.needing = self.needing + usize::from(is.needs_you) - usize::from(was.needs_you);
        self.follow_age(member, gets_old(model, agent));
        let shown = self.places[member] != NOWHERE && self.kept.as_ref() != Some(id);
        let sorts = self.order == Order::NeedsYou && was.urgency() != is.urgency();
        let filtered = !self.filter.is_empty() && self.filter.matches_agent(model, agent) != shown;
        if sorts || filtered || self.moves(member, &agent.pulse) { Due::Arrange } else { Due::Nothing }
    }

    fn follow_age(&mut self, member: usize, at: Option<Time>) {
        let number = u32::try_from(member).unwrap_or(NOWHERE);
        if let Some(was) = std::mem::replace(&mut self.gets_old[member], at) {
            self.ages.remove(&(was, number));
        }
        self.ages.extend(at.map(|at| (at, number)));
    }

    fn member(&self, id: &AgentId) -> Option<usize> {
        self.members.binary_search(id).ok()
    }

    /// Makes out who there is and how they stand.
    fn enrol(&mut self, model: &Model) {
        let selected = self.kept_of(model);
        self.members.clear();
        self.standing.clear();
        self.widest = (0, 0);
        self.owner.clone_from(&model.owner);
        self.gets_old.clear();
        let wide = |text: &str| if is_slug(text) { text.len() } else { shown::width(&shown::line(text)) };
        for (id, agent) in model.picture.agents() {
            let name = wide(id.name());
            let owner = id.as_str().len() - id.name().len();
            self.widest = (self.widest.0.max(name), self.widest.1.max(owner + name));
            self.members.push(id.clone());
            self.standing.push(Standing::of(model, agent));
            self.gets_old.push(gets_old(model, agent));
        }
        self.ages = self.gets_old.iter().zip(0..).filter_map(|(at, member)| Some(((*at)?, member))).collect();
        self.needing = self.standing.iter().filter(|standing| standing.needs_you).count();
        // Who was selected and shown may stay.
        self.places = vec![NOWHERE; self.members.len()];
        if let Some(member) = selected.and_then(|id| self.member(&id)) {
            self.places[member] = 0;
        }
    }

    /// The selected agent, if it is shown.
    fn kept_of(&self, model: &Model) -> Option<AgentId> {
        model.selected.as_ref().filter(|id| self.place(id).is_some()).cloned()
    }

    /// Makes out who is shown, in which order, under which headings.
    fn arrange(&mut self, model: &Model) {
        let selected = self.kept_of(model);
        self.kept = None;
        self.shown.clear();
        self.headings.clear();
        // The picture has the same agents in the same order.
        let agents: Vec<&Agent> = model.picture.agents().map(|(_, agent)| agent).collect();
        let mut shown: Vec<u32> = Vec::with_capacity(agents.len());
        for ((member, agent), id) in (0..).zip(&agents).zip(&self.members) {
            if !self.filter.is_empty() && !self.filter.matches_agent(model, agent) {
                if selected.as_ref() != Some(id) {
                    continue;
                }
                self.kept.clone_from(&selected);
            }
            shown.push(member);
        }
        let agent = |member: &u32| agents[*member as usize];
        match self.order {
            Order::Owner => {}
            Order::NeedsYou => shown.sort_by_key(|member| self.standing[*member as usize].urgency()),
            Order::Report => shown.sort_by_key(|member| Reverse(agent(member).pulse.updated_at)),
            Order::State => shown.sort_by_key(|member| rank(&agent(member).pulse.availability)),
            Order::Name => {
                let name = |member: &u32| self.members[*member as usize].name();
                shown.sort_by(|a, b| name(a).cmp(name(b)));
            }
        }
        if self.reversed {
            shown.reverse();
        }
        self.shown = if self.grouping == Grouping::None {
            shown
        } else {
            let heading =
                |member: &u32| self.grouping.heading(&self.members[*member as usize], &agent(member).pulse);
            let mut groups: Vec<((usize, &str), Vec<u32>)> = Vec::new();
            let mut known: HashMap<(usize, &str), usize> = HashMap::new();
            for member in shown {
                let heading = heading(&member);
                let group = *known.entry(heading).or_insert_with(|| {
                    groups.push((heading, Vec::new()));
                    groups.len() - 1
                });
                groups[group].1.push(member);
            }
            // By name so are the headings; else where the first of theirs stands.
            if matches!(self.order, Order::Owner | Order::Name) {
                groups.sort_by(|(a, _), (b, _)| {
                    let names = if self.reversed { b.1.cmp(a.1) } else { a.1.cmp(b.1) };
                    let ranks = a.0.cmp(&b.0);
                    let turned = self.reversed && self.grouping == Grouping::Availability;
                    if turned { ranks.reverse() } else { ranks }.then(names)
                });
            }
            let nameless = matches!(self.grouping, Grouping::Branch | Grouping::Task);
            let mut first = 0;
            for ((rank, name), members) in &groups {
                let name = (!nameless || *rank == 0).then(|| (*name).to_owned());
                self.headings.push(Heading { name, first });
                first += members.len();
            }
            groups.into_iter().flat_map(|(_, members)| members).collect()
        };
        self.places.fill(NOWHERE);
        for (place, member) in (0..).zip(&self.shown) {
            self.places[*member as usize] = place;
        }
    }
}

fn count_calls(all: impl Iterator<Item = Standing>, yours: bool) -> [usize; 2] {
    let mut counts = [0; 2];
    for call in all.filter(|standing| standing.needs_you == yours).filter_map(|standing| standing.call) {
        counts[call as usize] += 1;
    }
    counts
}

/// When what an agent claims gets old, if it still does.
fn gets_old(model: &Model, agent: &Agent) -> Option<Time> {
    model.picture.gets_old(agent).filter(|at| *at > model.now())
}

/// A row of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Row<'a> {
    /// Before a heading, where there is room.
    Blank,
    /// A heading.
    Heading(&'a Heading),
    /// An agent.
    Agent(&'a AgentId),
}

/// The rows of a list, found by their number.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    list: &'a List,
    apart: bool,
}

impl<'a> Rows<'a> {
    /// How many there are.
    pub fn len(&self) -> usize {
        let headings = self.list.headings.len();
        self.list.len() + headings + if self.apart { headings.saturating_sub(1) } else { 0 }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The row of a heading.
    fn heading(&self, number: usize) -> usize {
        self.list.headings[number].first + number * if self.apart { 2 } else { 1 }
    }

    /// The row of the agent at a place.
    pub fn of(&self, place: usize) -> usize {
        let headings = self.list.headings.partition_point(|heading| heading.first <= place);
        match headings.checked_sub(1) {
            Some(number) => self.heading(number) + 1 + place - self.list.headings[number].first,
            None => place,
        }
    }

    /// How many agents stand above a row.
    pub fn agents_above(&self, row: usize) -> usize {
        match self.heading_above(row) {
            Some(number) => {
                let next = self.list.headings.get(number + 1).map_or(self.list.len(), |next| next.first);
                let first = self.list.headings[number].first;
                (first + (row - self.heading(number)).saturating_sub(1)).min(next)
            }
            None => row.min(self.list.len()),
        }
    }

    /// The heading that a row stands under, or is.
    pub fn heading_over(&self, row: usize) -> Option<&'a Heading> {
        self.heading_above(row).map(|number| &self.list.headings[number])
    }

    /// The number of the last heading at or above a row.
    fn heading_above(&self, row: usize) -> Option<usize> {
        let numbers: usize = {
            let (mut low, mut high) = (0, self.list.headings.len());
            while low < high {
                let middle = usize::midpoint(low, high);
                if self.heading(middle) <= row { low = middle + 1 } else { high = middle }
            }
            low
        };
        numbers.checked_sub(1)
    }

    /// A row by its number.
    pub fn get(&self, row: usize) -> Option<Row<'a>> {
        if row >= self.len() {
            return None;
        }
        let Some(number) = self.heading_above(row) else { return self.list.nth(row).map(Row::Agent) };
        let heading = &self.list.headings[number];
        let Some(under) = (row - self.heading(number)).checked_sub(1) else {
            return Some(Row::Heading(heading));
        };
        let end = self.list.headings.get(number + 1).map_or(self.list.len(), |next| next.first);
        let place = heading.first + under;
        if place >= end { Some(Row::Blank) } else { self.list.nth(place).map(Row::Agent) }
    }
}
