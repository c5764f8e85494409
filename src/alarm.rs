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
        let failing = picture.failed().filter_map(|id| {
            let agent = picture.agent(id)?;
            Some((id, agent, agent.pulse.run_failure.as_ref()?))
        });
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::{Value, json};

    use super::*;

    const NOON: &str = "2026-11-30T12:00:00Z";

    /// A pulse of `who`, which has failed at `step`, and means to do `kind` to one file.
    fn pulse(who: &str, step: &str, kind: &str) -> Value {
        let mut pulse = json!({"agent_id": who, "owner": who.split('/').next(), "project": "site",
            "availability": "working", "doing": "x", "task_id": null, "branch": null, "files": [],
            "last_decision": null, "updated_at": NOON});
        if !step.is_empty() {
            pulse["run_failure"] = json!({"class": "auth", "step": step});
        }
        if !kind.is_empty() {
            pulse["intent"] =
                json!({"kind": kind, "paths": ["a.rs"], "areas": [], "expires_at": "2026-11-30T13:00:00Z"});
        }
        pulse
    }

    struct Watch(Picture, Alarms, u64);

    impl Watch {
        fn new() -> Self {
            Self(Picture::new("site"), Alarms::default(), 0)
        }

        fn hear(&mut self, mut news: Value) {
            news["at"] = NOON.into();
            self.0.apply(serde_json::from_value(news).unwrap());
        }

        fn live(&mut self, epoch: &str, resumed: bool) {
            self.hear(json!({"news": "live", "epoch": epoch, "seq": self.2, "server_time": NOON, "resumed": resumed}));
        }

        fn whole(&mut self, pulses: &[Value]) {
            self.hear(json!({"news": "snapshot", "seq": self.2, "pulses": pulses}));
        }

        fn says(&mut self, pulse: &Value) {
            self.2 += 1;
            let frame = json!({"type": "pulse", "seq": self.2, "at": NOON, "pulse": pulse});
            self.hear(json!({"news": "event", "frame": frame}));
        }

        /// `failed acme/a`, or nothing.
        fn look(&mut self, owner: Option<&str>) -> String {
            let alarms = self.1.look(&self.0, owner, NOON.parse().unwrap());
            let said = alarms.iter().map(|alarm| format!("{} {}", alarm.what.as_str(), alarm.agent));
            said.collect::<Vec<_>>().join(", ")
        }
    }

    #[test]
    fn only_what_begins_and_needs_the_owner_calls_them() {
        let mut watch = Watch::new();
        assert_eq!(watch.look(None), "");
        watch.live("e", false);
        watch.whole(&[
            pulse("acme/a", "codex_sign_in", ""),
            pulse("acme/b", "", ""),
            pulse("orbit/c", "", ""),
        ]);
        assert_eq!(watch.look(Some("acme")), "", "it stood at the first look");
        watch.says(&pulse("acme/b", "codex_sign_in", ""));
        assert_eq!(watch.look(Some("acme")), "failed acme/b");
        assert_eq!(watch.look(Some("acme")), "");
        watch.says(&pulse("acme/b", "codex_sign_in", ""));
        assert_eq!(watch.look(Some("acme")), "", "the same once more");
        watch.says(&pulse("acme/b", "claude_code_sign_in", ""));
        assert_eq!(watch.look(Some("acme")), "failed acme/b", "another failure");
        watch.says(&pulse("orbit/c", "codex_sign_in", ""));
        assert_eq!(watch.look(Some("acme")), "", "another's");
        watch.says(&pulse("acme/b", "", ""));
        watch.says(&pulse("orbit/c", "", ""));
        assert_eq!(watch.look(None), "", "good news calls nobody");
        watch.says(&pulse("orbit/c", "codex_sign_in", ""));
        assert_eq!(watch.look(None), "failed orbit/c", "without an owner everything does");
    }

    #[test]
    fn a_clash_calls_when_it_begins_and_when_it_begins_again() {
        let mut watch = Watch::new();
        watch.live("e", false);
        watch.whole(&[pulse("acme/a", "", "change"), pulse("orbit/b", "", ""), pulse("lumen/c", "", "")]);
        assert_eq!(watch.look(Some("acme")), "");
        watch.says(&pulse("orbit/b", "", "remove"));
        assert_eq!(watch.look(Some("acme")), "clash acme/a", "one's own agent, whichever would undo more");
        watch.says(&pulse("orbit/b", "", "rename"));
        assert_eq!(watch.look(Some("acme")), "", "between the same two");
        watch.says(&pulse("lumen/c", "", "change"));
        assert_eq!(watch.look(Some("acme")), "", "a clash of others");
        watch.says(&pulse("orbit/b", "", ""));
        assert_eq!(watch.look(Some("acme")), "");
        watch.says(&pulse("orbit/b", "", "remove"));
        assert_eq!(watch.look(None), "clash orbit/b, clash orbit/b");
    }

    #[test]
    fn a_connection_that_comes_back_calls_only_for_what_began_meanwhile() {
        let mut watch = Watch::new();
        watch.live("e", false);
        let (a, b) = (pulse("acme/a", "codex_sign_in", ""), pulse("acme/b", "", ""));
        watch.whole(&[a.clone(), b]);
        assert_eq!(watch.look(None), "");
        watch.hear(json!({"news": "lost", "why": "x", "retry_in": 100}));
        assert_eq!(watch.look(None), "");
        watch.2 = 7;
        watch.live("e", false);
        let b = pulse("acme/b", "codex_sign_in", "");
        watch.whole(&[a.clone(), b.clone()]);
        assert_eq!(watch.look(None), "failed acme/b");
        // Another database is another room: what stands there did not begin now.
        watch.live("f", false);
        watch.whole(&[a, b, pulse("acme/c", "codex_sign_in", "")]);
        assert_eq!(watch.look(None), "");
        watch.says(&pulse("acme/d", "codex_sign_in", ""));
        assert_eq!(watch.look(None), "failed acme/d");
    }

    #[test]
    fn what_is_told_is_safe() {
        let mut watch = Watch::new();
        watch.live("e", false);
        watch.whole(&[]);
        assert_eq!(watch.look(None), "");
        watch.says(&pulse("acme/a", "\u{1b}]0;x\u{7}\u{202e}", ""));
        let alarms = watch.1.look(&watch.0, None, NOON.parse().unwrap());
        assert!(alarms[0].text.starts_with("acme/a: "), "{:?}", alarms[0].text);
        assert!(!alarms[0].text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{:?}", alarms[0].text);
    }
}
