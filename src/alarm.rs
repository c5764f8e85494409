//! What is worth calling a person for who looks elsewhere: a failure or a clash that needs them, once, when it
//! begins.

use std::collections::{BTreeMap, BTreeSet};

use crate::conflict::Level;
use crate::picture::Picture;
use crate::warning::{self, Tense};
use crate::wire::Time;
use crate::wire::id::AgentId;
use crate::wire::pulse::RunFailure;
use crate::{hint, shown};

/// How a person is called.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum How {
    /// Not at all.
    #[default]
    Off,
    /// By the terminal's bell.
    Bell,
    /// By the terminal's notification (OSC 9).
    Osc9,
    /// By a program and its arguments; no shell reads them. Never empty.
    Command(Vec<String>),
}

/// What has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// An agent's run failed.
    Failed,
    /// Two agents would undo each other's work.
    Clash,
}

impl What {
    /// Its name for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Clash => "clash",
        }
    }
}

/// One thing to call a person for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alarm {
    /// What it is.
    pub what: What,
    /// The agent that it is about: of a clash the watcher's own, else the one that would undo more.
    pub agent: AgentId,
    /// The room, safe to show.
    pub project: String,
    /// What happened in one line, safe to show.
    pub text: String,
}

/// Tells what is new from what stood already.
#[derive(Debug, Clone, Default)]
pub struct Alarms {
    /// The database, its last event and the state of the conflicts at the last look; `None` before the first.
    looked: Option<(String, u64, u64)>,
    failures: BTreeMap<AgentId, RunFailure>,
    clashes: BTreeSet<(AgentId, AgentId)>,
}

impl Alarms {
    /// What has begun since the last look and needs `owner`, or anybody where there is no owner. Nothing at the
    /// first look at a room: what stands then did not begin now. The same failure that an agent reports once more
    /// has not begun, and nothing begins by a connection that comes back.
    pub fn look(&mut self, picture: &Picture, owner: Option<&str>, now: Time) -> Vec<Alarm> {
        let Some((epoch, seq)) = picture.position().filter(|_| picture.is_whole()) else { return Vec::new() };
        let version = picture.conflicts_version();
        if self.looked.as_ref().is_some_and(|(e, s, v)| (e.as_str(), *s, *v) == (epoch, seq, version)) {
            return Vec::new();
        }
        let before = self.looked.replace((epoch.to_owned(), seq, version));
        let known_room = before.as_ref().is_some_and(|(before, ..)| before == epoch);
        let mut begun = self.failed(picture, owner);
        if before.is_none_or(|(.., before)| before != version) {
            begun.extend(self.clashed(picture, owner, now));
        }
        if known_room { begun } else { Vec::new() }
    }

    fn failed(&mut self, picture: &Picture, owner: Option<&str>) -> Vec<Alarm> {
        let failing =
            picture.agents().filter_map(|(id, agent)| Some((id, agent, agent.pulse.run_failure.as_ref()?)));
        let mut begun = Vec::new();
        let mut standing = BTreeMap::new();
        for (id, agent, failure) in failing {
            let is_new = self.failures.get(id) != Some(failure);
            if is_new && owner.is_none_or(|owner| owner == agent.pulse.owner) {
                let name = shown::line(id.as_str());
                let text = format!("{name}: {}", shown::line(&hint::title(failure)));
                begun.push(alarm(What::Failed, id, picture, text));
            }
            standing.insert(id.clone(), failure.clone());
        }
        self.failures = standing;
        begun
    }

    fn clashed(&mut self, picture: &Picture, owner: Option<&str>, now: Time) -> Vec<Alarm> {
        let mut begun = Vec::new();
        let mut standing = BTreeSet::new();
        for clash in picture.conflicts(now).into_iter().filter(|conflict| conflict.level == Level::Clash) {
            let [first, second] = clash.parties();
            let pair = if first.id() <= second.id() { [first, second] } else { [second, first] };
            let pair = (pair[0].id().clone(), pair[1].id().clone());
            if !self.clashes.contains(&pair) && owner.is_none_or(|owner| clash.concerns(owner)) {
                let own = [first, second].into_iter().find(|party| owner == Some(party.pulse.owner.as_str()));
                let text = warning::told(clash, Tense::Present);
                begun.push(alarm(What::Clash, own.unwrap_or(first).id(), picture, text));
            }
            standing.insert(pair);
        }
        self.clashes = standing;
        begun
    }
}

fn alarm(what: What, agent: &AgentId, picture: &Picture, text: String) -> Alarm {
    Alarm { what, agent: agent.clone(), project: shown::line(&picture.project), text }
}
