//! A room in one line, what needs a person first: for the header, the terminal's title and a status line.

use crate::conflict::Level;
use crate::picture::{Connection, Picture};
use crate::shown;
use crate::wire::Time;

/// How the room is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Not yet.
    Connecting,
    /// The counts are of now.
    Live,
    /// Not at present: why, safe to show.
    Offline(String),
    /// Not until something is changed.
    Refused,
}

/// What a room comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The room's name, safe to show.
    pub project: String,
    /// How it is reached; unless live, the counts are old.
    pub state: State,
    /// Agents, whatever they say.
    pub agents: usize,
    /// Of these, those whose claim to be working is fresh.
    pub working: usize,
    /// Those whose claim is too old to be taken at its word.
    pub stale: usize,
    /// Those with a failure standing.
    pub failed: usize,
    /// Clashes.
    pub clashes: usize,
    /// There are more agents in each other's way than are looked at: `clashes` is the least there are.
    pub crowded: bool,
}

impl Summary {
    /// Of a picture at `now`, the room's time.
    pub fn of(picture: &Picture, now: Time) -> Self {
        let counts = picture.counts(now);
        Self {
            project: shown::line(&picture.project),
            state: match &picture.connection {
                Connection::Connecting => State::Connecting,
                Connection::Live => State::Live,
                Connection::Offline { why, .. } => State::Offline(shown::line(why)),
                Connection::Refused { .. } => State::Refused,
            },
            agents: counts.agents,
            working: counts.working,
            stale: counts.stale,
            failed: counts.failed,
            clashes: picture.count_of(Level::Clash),
            crowded: picture.crowded(),
        }
    }

    /// The same with so many failures and clashes that somebody has marked as seen counted no longer.
    #[must_use]
    pub fn less(self, failed: usize, clashes: usize) -> Self {
        let (failed, clashes) = (self.failed.saturating_sub(failed), self.clashes.saturating_sub(clashes));
        Self { failed, clashes, ..self }
    }

    /// `! 2 failed`, if any has.
    pub fn failures(&self) -> Option<String> {
        (self.failed > 0).then(|| format!("! {} failed", self.failed))
    }

    /// `≠ 1 clash`, if there is one.
    pub fn clashing(&self) -> Option<String> {
        let least = if self.crowded { "≥ " } else { "" };
        let noun = if self.clashes == 1 { "clash" } else { "clashes" };
        (self.clashes > 0).then(|| format!("≠ {least}{} {noun}", self.clashes))
    }

    /// `3 of 9 working`.
    pub fn at_work(&self) -> String {
        format!("{} of {} working", self.working, self.agents)
    }

    /// `! 2 failed · ≠ 1 clash · 3 of 9 working · website-v2`; without a connection no counts, which would be
    /// taken for the present: `website-v2 offline (connection refused)`.
    pub fn line(&self) -> String {
        let project = &self.project;
        match &self.state {
            State::Connecting => format!("{project} connecting"),
            State::Offline(why) => format!("{project} offline ({why})"),
            State::Refused => format!("{project} refused"),
            State::Live => {
                let working = if self.agents == 0 { "no agents yet".into() } else { self.at_work() };
                let parts = [self.failures(), self.clashing(), Some(working), Some(project.clone())];
                parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(state: State) -> Summary {
        let project = "website-v2".into();
        Summary { project, state, agents: 9, working: 3, stale: 1, failed: 2, clashes: 1, crowded: false }
    }

    #[test]
    fn what_needs_a_person_comes_first() {
        let live = summary(State::Live);
        assert_eq!(live.line(), "! 2 failed · ≠ 1 clash · 3 of 9 working · website-v2");
        let crowd = Summary { failed: 0, clashes: 2000, crowded: true, ..live.clone() };
        assert_eq!(crowd.line(), "≠ ≥ 2000 clashes · 3 of 9 working · website-v2");
        let calm = Summary { failed: 0, clashes: 0, ..live.clone() };
        assert_eq!(calm.line(), "3 of 9 working · website-v2");
        let empty = Summary { agents: 0, working: 0, ..calm };
        assert_eq!(empty.line(), "no agents yet · website-v2");
    }

    #[test]
    fn without_a_connection_nothing_is_counted() {
        let offline = summary(State::Offline("connection refused".into()));
        assert_eq!(offline.line(), "website-v2 offline (connection refused)");
        assert_eq!(summary(State::Connecting).line(), "website-v2 connecting");
        assert_eq!(summary(State::Refused).line(), "website-v2 refused");
    }
}
