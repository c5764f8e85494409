//! Everything the screen shows, and nothing about how. Only `update` changes it.

use chrono::{TimeDelta, Utc};

use super::keys::When;
use super::theme::{Glyphs, Theme};
use crate::conflict::Level;
use crate::picture::{Agent, Connection, Picture};
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

/// The Room view's layouts.
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

/// The screen's state.
#[derive(Debug, Clone)]
pub struct Model {
    /// The room.
    pub picture: Picture,
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
    /// The selected agent; follows the agent, not the row.
    pub selected: Option<AgentId>,
    /// Whether a key was ever pressed: a side pane without a keyboard shows no selection.
    pub touched: bool,
    /// The pane with the keys.
    pub pane: Pane,
    /// First row of the list on the screen (cards: first card).
    pub list_top: usize,
    /// First line of the detail on the screen.
    pub detail_top: usize,
    /// Whether the help is open, and its first line on the screen.
    pub help: Option<usize>,
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
            server,
            owner,
            watch,
            look,
            themes: Vec::new(),
            size: (0, 0),
            selected: None,
            touched: false,
            pane: Pane::List,
            list_top: 0,
            detail_top: 0,
            help: None,
            notice: None,
            did: None,
            first: First::default(),
            panel: None,
            replay: false,
        }
    }

    /// The watcher's time.
    pub fn local(&self) -> Time {
        self.watch.now()
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

    /// Whether an agent's failure, or a clash that it is in, is this watcher's to mend.
    pub fn needs_you(&self, agent: &Agent) -> bool {
        let pulse = &agent.pulse;
        let mine = self.owner.as_ref().is_none_or(|me| *me == pulse.owner);
        mine && (pulse.run_failure.is_some() || self.clashes(&pulse.agent_id))
    }

    /// Whether an agent would undo another's work, or the other way round.
    pub fn clashes(&self, id: &AgentId) -> bool {
        self.picture.in_the_way(id, self.picture.room_time(self.local())) == Some(Level::Clash)
    }

    /// Whether the picture is of the past.
    pub fn is_old(&self) -> bool {
        !matches!(self.picture.connection, Connection::Live)
    }

    /// Whether a condition of the key table holds now.
    pub fn holds(&self, when: When) -> bool {
        match when {
            When::Always => true,
            When::Agents => self.help.is_some() || self.picture.agents().next().is_some(),
            When::List => self.help.is_none() && self.pane != Pane::Open && self.selection().is_some(),
            // In cards a selection is a level of its own: without it the pane is left to the corner of the eye.
            When::Inside => {
                self.help.is_some()
                    || self.pane != Pane::List
                    || (self.touched && self.layout() == Layout::Cards)
            }
            When::NeedsYou => {
                self.help.is_none() && self.picture.agents().any(|(_, agent)| self.needs_you(agent))
            }
            When::Themes => self.themes.len() > 1,
            When::Offline => {
                !self.replay
                    && matches!(
                        self.picture.connection,
                        Connection::Offline { .. } | Connection::Refused { .. }
                    )
            }
        }
    }
}
