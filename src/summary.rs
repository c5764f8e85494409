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

/// How many things need `owner`: their failed agents, and clashes with one of theirs. Without an owner, the room's.
pub fn needs_you(picture: &Picture, owner: Option<&str>, now: Time) -> usize {
    let mine = |whose: &str| owner.is_none_or(|owner| owner == whose);
    let failed = picture
        .agents()
        .filter(|(_, agent)| agent.pulse.run_failure.is_some() && mine(&agent.pulse.owner))
        .count();
    let clashes = match owner {
        None => picture.count_of(Level::Clash),
        Some(owner) => {
            let all = picture.conflicts(now).into_iter();
            all.filter(|conflict| conflict.level == Level::Clash && conflict.concerns(owner)).count()
        }
    };
    failed + clashes
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

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
    fn what_needs_an_owner_are_their_failures_and_the_clashes_with_them() {
        const NOON: &str = "2026-11-30T12:00:00Z";
        let now: Time = NOON.parse().unwrap();
        let pulse = |who: &str, kind: Option<&str>| {
            let mut pulse = json!({"agent_id": who, "owner": who.split('/').next(), "project": "site",
                "availability": "working", "doing": "x", "task_id": null, "branch": null, "files": [],
                "last_decision": null, "updated_at": NOON});
            match kind {
                Some(kind) => {
                    pulse["intent"] = json!({"kind": kind, "paths": ["a.rs"], "areas": [],
                        "expires_at": "2026-11-30T13:00:00Z"});
                }
                None => pulse["run_failure"] = json!({"class": "auth", "step": "codex_sign_in"}),
            }
            pulse
        };
        let pulses = [
            pulse("acme/a", None),
            pulse("acme/b", Some("remove")),
            pulse("orbit/c", None),
            pulse("lumen/d", Some("change")),
        ];
        let mut picture = Picture::new("site");
        for mut news in [
            json!({"news": "live", "epoch": "e", "seq": 4, "server_time": NOON, "resumed": false}),
            json!({"news": "snapshot", "seq": 4, "pulses": pulses}),
        ] {
            news["at"] = NOON.into();
            picture.apply(serde_json::from_value(news).unwrap());
        }
        let need = |owner| needs_you(&picture, owner, now);
        assert_eq!(
            [need(Some("acme")), need(Some("orbit")), need(Some("lumen")), need(Some("nobody"))],
            [2, 1, 1, 0]
        );
        assert_eq!(need(None), 3, "the room's");
    }

    #[test]
    fn without_a_connection_nothing_is_counted() {
        let offline = summary(State::Offline("connection refused".into()));
        assert_eq!(offline.line(), "website-v2 offline (connection refused)");
        assert_eq!(summary(State::Connecting).line(), "website-v2 connecting");
        assert_eq!(summary(State::Refused).line(), "website-v2 refused");
    }
}
