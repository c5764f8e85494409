//! Everything the screen shows, and nothing about how. Only `update` changes it.

use chrono::{TimeDelta, Utc};

use super::clashes::{Row, Rows};
use super::entry::Entry;
use super::keys::{Binding, Keys, When};
use super::list::List;
use super::runs::Runs;
use super::seen::Seen;
use super::theme::{Glyphs, Theme};
use crate::conflict::{Conflict, Level};
use crate::picture::{Agent, Connection, Picture};
use crate::summary::Summary;
use crate::wire::Time;
use crate::wire::agent::Agents;
use crate::wire::id::AgentId;
use crate::words::Zone;

/// The clock that ages are told by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watch {
    /// The machine's clock and this much more: a replayed recording lives in its own time.
    Running(TimeDelta),
    /// A moment that stands still.
    Still(Time),
}

impl Watch {
    /// The watcher's time.
    pub fn now(self) -> Time {
        match self {
            Self::Running(shift) => Utc::now() + shift,
            Self::Still(time) => time,
        }
    }
}

/// What the screen is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// Who is there and does what.
    Room,
    /// Who would undo whose work.
    Clashes,
    /// What the owner's agents used: the records of their runs.
    Runs,
    /// What happened, the newest first.
    Activity,
}

/// The layouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// List and detail side by side, from 100 columns on.
    Columns,
    /// List above detail, from 60 columns on.
    Stacked,
    /// A card an agent, for a side pane.
    Cards,
}

/// How the screen is to look.
#[derive(Debug, Clone)]
pub struct Look {
    /// A style for each role.
    pub theme: Theme,
    /// UTF-8 or ASCII.
    pub glyphs: Glyphs,
    /// A layout that the user insists on.
    pub layout: Option<Layout>,
    /// The zone of clock times.
    pub zone: Zone,
}

/// A theme and what it is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The name, safe to show.
    pub name: String,
    /// The theme.
    pub theme: Theme,
}

/// Which pane the keys go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pane {
    /// The list of agents.
    List,
    /// The selected agent beside or below the list.
    Detail,
    /// The selected agent alone on the screen.
    Open,
}

/// A panel below the room that tells a story's next event before it happens.
#[derive(Debug, Clone)]
pub struct Panel {
    /// Its title.
    pub title: String,
    /// What stands in it always.
    pub lines: Vec<String>,
    /// When the story began, by the watcher's clock.
    pub began: Time,
    /// How long it takes until it begins again.
    pub period: TimeDelta,
    /// What happens when, in order, from the beginning.
    pub beats: Vec<(TimeDelta, String)>,
}

impl Panel {
    /// The next event and how long until then.
    pub fn next(&self, now: Time) -> Option<(TimeDelta, &str)> {
        let period = self.period.num_milliseconds().max(1);
        let into = TimeDelta::milliseconds((now - self.began).num_milliseconds().rem_euclid(period));
        let ahead = self.beats.iter().find(|(at, _)| *at > into).map(|(at, text)| (*at - into, text));
        let again = || self.beats.first().map(|(at, text)| (self.period - into + *at, text));
        ahead.or_else(again).map(|(wait, text)| (wait, text.as_str()))
    }
}

/// What the page of an empty room goes by.
#[derive(Debug, Clone, Default)]
pub struct First {
    /// This machine's own room, which `prickle connect` lets agents into; `None`: another.
    pub here: Option<Here>,
    /// Its name does not follow from the folder, so that the commands have to name it.
    pub named: bool,
    /// How far the owner's agents have come.
    pub agents: Option<Agents>,
}

/// This machine's own room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Here {
    /// Since when it is open.
    pub open: Time,
    /// It ends by itself, an hour after its last use.
    pub ends: bool,
}

/// What goes on behind a picture that stands still.
#[derive(Debug, Clone)]
pub struct Behind {
    /// The room as it is by now.
    pub picture: Picture,
    /// The watcher's time at which it was told to stand still.
    pub at: Time,
    /// What had been different by then, as [`Picture::differences`] counts it.
    differences: u64,
}

/// A line that is being typed; what is typed so far counts already.
#[derive(Debug, Clone)]
pub struct Typing {
    /// The line.
    pub entry: Entry,
    /// What for.
    pub what: Typed,
}

/// What a line is typed for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Typed {
    /// The filter.
    Filter {
        /// Who was selected before; selected again as soon as the filter lets it through.
        before: Option<AgentId>,
    },
    /// The filter of the run records.
    Records,
    /// The keys to look for in the help.
    Keys,
}

/// The screen's state.
#[derive(Debug, Clone)]
pub struct Model {
    /// The room as it is shown.
    pub picture: Picture,
    /// The room as it is, while the picture stands still.
    pub behind: Option<Box<Behind>>,
    /// Where it is, for sentences about it.
    pub server: String,
    /// Whose watch this is: their agents are theirs to mend. `None`: nobody's in particular.
    pub owner: Option<String>,
    /// The clock.
    pub watch: Watch,
    /// Looks.
    pub look: Look,
    /// The themes to go through, the one in use first.
    pub themes: Vec<Named>,
    /// Columns and rows.
    pub size: (u16, u16),
    /// The view on the screen.
    pub view: View,
    /// The keys in use.
    pub keys: Keys,
    /// Whether the detail stands beside or below the list where there is room for it.
    pub detail: bool,
    /// What counts no longer as needing anybody.
    pub seen: Seen,
    /// Who is shown in which order; follows the picture.
    pub list: List,
    /// The filter's line, while it is open.
    pub typing: Option<Typing>,
    /// The selected agent; follows the agent, not the row.
    pub selected: Option<AgentId>,
    /// Whether a key has moved the Room's selection: a side pane without a keyboard shows none.
    pub touched: bool,
    /// The pane with the keys.
    pub pane: Pane,
    /// First row of the list on the screen (cards: first card).
    pub list_top: usize,
    /// The rows of the Clashes, and the selected one.
    pub clashes: Rows,
    /// First row of the Clashes on the screen.
    pub clash_top: usize,
    /// The run records.
    pub runs: Box<Runs>,
    /// The selected event, by its number; `None`: the newest, whichever that is.
    pub event: Option<u64>,
    /// The first event on the screen and how many of its rows are passed; `None`: the newest from its first row on.
    pub activity_top: Option<(u64, usize)>,
    /// First line of the detail on the screen.
    pub detail_top: usize,
    /// Whether the help is open, and its first line on the screen.
    pub help: Option<usize>,
    /// What the help's keys are looked through for; empty: all of them.
    pub searched: String,
    /// Something about the settings that the user should know; gone with the first key.
    pub notice: Option<String>,
    /// What the last key did, where the screen does not show it by itself; gone with the next one.
    pub did: Option<String>,
    /// What is known of an empty room.
    pub first: First,
    /// Demo only.
    pub panel: Option<Panel>,
    /// The news come from a recording that plays: nothing here is live.
    pub replay: bool,
}

impl Model {
    /// A screen on a picture, with nothing selected yet.
    pub fn new(picture: Picture, server: String, owner: Option<String>, watch: Watch, look: Look) -> Self {
        Self {
            picture,
            behind: None,
            server,
            owner,
            watch,
            look,
            themes: Vec::new(),
            size: (0, 0),
            view: View::Room,
            keys: Keys::default(),
            detail: true,
            seen: Seen::default(),
            list: List::default(),
            typing: None,
            selected: None,
            touched: false,
            pane: Pane::List,
            list_top: 0,
            clashes: Rows::default(),
            clash_top: 0,
            runs: Box::default(),
            event: None,
            activity_top: None,
            detail_top: 0,
            help: None,
            searched: String::new(),
            notice: None,
            did: None,
            first: First::default(),
            panel: None,
            replay: false,
        }
    }

    /// The watcher's time; of a picture that stands still, the time it is of.
    pub fn local(&self) -> Time {
        self.behind.as_ref().map_or_else(|| self.watch.now(), |behind| behind.at)
    }

    /// The room's time.
    pub fn now(&self) -> Time {
        self.picture.room_time(self.local())
    }

    /// Makes the picture stand still, or shows what has happened meanwhile.
    pub(super) fn freeze(&mut self) {
        if let Some(behind) = self.behind.take() {
            self.picture = behind.picture;
        } else {
            let (picture, at) = (self.picture.clone(), self.watch.now());
            let differences = picture.differences();
            self.behind = Some(Box::new(Behind { picture, at, differences }));
        }
    }

    /// How many differences wait to be shown since the picture was told to stand still; `None`: it was not.
    pub fn waiting(&self) -> Option<u64> {
        self.behind.as_ref().map(|behind| behind.picture.differences() - behind.differences)
    }

    /// The room as it is, also while the picture stands still.
    pub fn present(&self) -> &Picture {
        self.behind.as_ref().map_or(&self.picture, |behind| &behind.picture)
    }

    /// The same, for the news.
    pub(super) fn present_mut(&mut self) -> &mut Picture {
        self.behind.as_mut().map_or(&mut self.picture, |behind| &mut behind.picture)
    }

    /// The layout in force.
    pub fn layout(&self) -> Layout {
        self.look.layout.unwrap_or(match self.size.0 {
            100.. => Layout::Columns,
            60..100 => Layout::Stacked,
            _ => Layout::Cards,
        })
    }

    /// The selected agent, where it is still there.
    pub fn selection(&self) -> Option<(&AgentId, &Agent)> {
        let id = self.selected.as_ref()?;
        self.picture.agent(id).map(|agent| (id, agent))
    }

    /// Whether an agent's failure, or a clash that it is in, is this watcher's to mend and was not marked as seen.
    pub fn needs_you(&self, agent: &Agent) -> bool {
        self.is_mine(agent) && (self.fails(agent) || self.clashes(&agent.pulse.agent_id))
    }

    /// What a room comes to at the watcher's time `local`: the one that is shown, or the one behind it.
    pub fn summary(&self, picture: &Picture, local: Time) -> Summary {
        let now = picture.room_time(local);
        let (failed, clashes) = self.seen.standing(picture, now);
        Summary::of(picture, now).less(failed, clashes)
    }

    /// Whether an agent is the watcher's; without an owner every agent is.
    pub fn is_mine(&self, agent: &Agent) -> bool {
        self.owner.as_ref().is_none_or(|me| *me == agent.pulse.owner)
    }

    /// Whether an agent's run failed and that was not marked as seen.
    pub fn fails(&self, agent: &Agent) -> bool {
        agent.pulse.run_failure.is_some() && !self.seen.failure(agent)
    }

    /// Whether an agent would undo another's work, or the other way round, and that was not marked as seen.
    pub fn clashes(&self, id: &AgentId) -> bool {
        let mut clashes = self.picture.conflicts_of(id, self.now()).filter(|c| c.level == Level::Clash);
        clashes.any(|clash| !self.seen.clash(clash))
    }

    /// Whether a row of the Clashes has a clash that is this watcher's to settle and was not marked as seen.
    pub fn row_needs_you(&self, row: &Row) -> bool {
        let mine = |clash: &Conflict| self.owner.as_deref().is_none_or(|me| clash.concerns(me));
        let clash = row.conflict.level == Level::Clash && row.over.is_none();
        clash && row.conflicts().any(|clash| mine(clash) && !self.seen.clash(clash))
    }

    /// Whether all that a row of the Clashes stands for was marked as seen.
    pub fn row_is_seen(&self, row: &Row) -> bool {
        row.over.is_none() && row.conflicts().all(|clash| self.seen.clash(clash))
    }

    /// Whether the picture is of the past.
    pub fn is_old(&self) -> bool {
        !matches!(self.picture.connection, Connection::Live)
    }

    /// Whether a row of the key table counts now.
    pub fn holds(&self, binding: &Binding) -> bool {
        binding.at.contains(&self.view) && self.is(binding.when)
    }

    /// Whether nobody sees what is selected: in a side pane until somebody moves about in it.
    pub fn selects_unseen(&self) -> bool {
        let cards = self.view == View::Room && self.pane == Pane::List && self.layout() == Layout::Cards;
        cards && !self.touched && self.picture.agents().len() > 0
    }

    fn is(&self, when: When) -> bool {
        let looking = self.help.is_none();
        // There are records of agents that have left.
        let any = self.view == View::Runs || self.picture.agents().len() > 0;
        match when {
            When::Always => true,
            When::Looking => looking && any,
            When::Rows => !looking || (any && (self.view != View::Runs || self.has_row())),
            When::Row => looking && self.pane != Pane::Open && self.has_row(),
            When::List => looking && self.pane != Pane::Open && any && self.has_list(),
            When::Shown if self.view == View::Runs => looking && self.has_row(),
            When::Shown => self.is(When::Row) && !self.selects_unseen(),
            When::Copies => looking && !self.selects_unseen() && self.copies().is_some(),
            When::Helped => !looking,
            When::Unhelped => looking,
            When::Marked => looking && !self.selects_unseen() && self.can_be_seen(),
            // In cards a selection is a level of its own: without it the pane is left to the corner of the eye.
            When::Inside => {
                !looking
                    || self.view != View::Room
                    || self.pane != Pane::List
                    || !self.list.filter().is_empty()
                    || (self.touched && self.layout() == Layout::Cards)
            }
            When::NeedsYou => looking && self.list.needing() > 0,
            When::Themes => self.themes.len() > 1,
            When::Offline => {
                !self.replay
                    && matches!(
                        self.present().connection,
                        Connection::Offline { .. } | Connection::Refused { .. }
                    )
            }
        }
    }
}
