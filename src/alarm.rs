//! What is worth calling a person for who looks elsewhere: a failure or a clash that needs them, once, when it
//! begins.

use std::collections::{BTreeMap, BTreeSet};

use crate::conflict::{Conflict, Level, Party, Which};
use crate::picture::{Picture, Since};
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

/// Tells what is new from what stood already. What begins again is new: a failure that is reported once more by its
/// runner, whoever has seen to the last one, and a clash whose two mean something else than before.
#[derive(Debug, Clone, Default)]
pub struct Alarms {
    /// The database, and what had been heard of its agents, at the last look; `None` before the first.
    looked: Option<(String, u64)>,
    failures: BTreeMap<AgentId, (RunFailure, Option<Since>)>,
    /// Each agent's clashes.
    clashes: BTreeMap<AgentId, BTreeSet<Which>>,
}

impl Alarms {
    /// What has begun since the last look and needs `owner`, or anybody where there is no owner. Nothing at the
    /// first look at a room: what stands then did not begin now. What an agent itself reports while its failure
    /// stands begins nothing, and neither does a connection that comes back. `now` is the room's time.
    pub fn look(&mut self, picture: &Picture, owner: Option<&str>, now: Time) -> Vec<Alarm> {
        let Some((epoch, _)) = picture.position().filter(|_| picture.is_whole()) else { return Vec::new() };
        let touches = picture.touches();
        if self.looked.as_ref().is_some_and(|(e, t)| (e.as_str(), *t) == (epoch, touches)) {
            return Vec::new();
        }
        let before = self.looked.replace((epoch.to_owned(), touches));
        let known = before.filter(|(before, _)| before == epoch);
        let touched = known.as_ref().and_then(|(_, since)| picture.touched(*since));
        let touched: BTreeSet<AgentId> = match touched {
            Some(touched) => touched.cloned().collect(),
            None => self.everyone(picture, now),
        };
        let failed = touched.iter().filter_map(|id| self.failed(picture, id, owner));
        let mut begun: Vec<Alarm> = failed.collect();
        // Both of its two may have been heard of.
        let clashes: BTreeMap<Which, &Conflict> =
            touched.iter().flat_map(|id| self.clashed(picture, id, now)).collect();
        let clashes = clashes.into_values().filter(|clash| owner.is_none_or(|owner| clash.concerns(owner)));
        begun.extend(clashes.map(|clash| {
            let own = clash.parties().into_iter().find(|party| owner == Some(party.pulse.owner.as_str()));
            let text = warning::told(clash, Tense::Present);
            alarm(What::Clash, own.unwrap_or(&clash.first).id(), picture, text)
        }));
        if known.is_some() { begun } else { Vec::new() }
    }

    /// Everyone with whom something stands, or stood.
    fn everyone(&self, picture: &Picture, now: Time) -> BTreeSet<AgentId> {
        let clashes = picture.conflicts(now).into_iter().filter(|conflict| conflict.level == Level::Clash);
        let parties = clashes.flat_map(|clash| clash.parties().map(Party::id));
        let before = self.failures.keys().chain(self.clashes.keys());
        picture.failed().chain(parties).chain(before).cloned().collect()
    }

    fn failed(&mut self, picture: &Picture, id: &AgentId, owner: Option<&str>) -> Option<Alarm> {
        let failing = picture.agent(id).and_then(|agent| Some((agent, agent.pulse.run_failure.as_ref()?)));
        let Some((agent, failure)) = failing else {
            self.failures.remove(id);
            return None;
        };
        let was = self.failures.insert(id.clone(), (failure.clone(), agent.failed));
        let goes_on = was.is_some_and(|(was, since)| was == *failure && may_be_one(since, agent.failed));
        if goes_on || owner.is_some_and(|owner| owner != agent.pulse.owner) {
            return None;
        }
        let name = shown::line(id.as_str());
        let text = format!("{name}: {}", shown::line(&hint::title(failure)));
        Some(alarm(What::Failed, id, picture, text))
    }

    /// An agent's clashes that were not known of it.
    fn clashed<'a>(
        &mut self,
        picture: &'a Picture,
        id: &AgentId,
        now: Time,
    ) -> BTreeMap<Which, &'a Conflict> {
        let clashes = picture.conflicts_of(id, now).filter(|conflict| conflict.level == Level::Clash);
        let mut clashes: BTreeMap<Which, &Conflict> =
            clashes.map(|clash| (clash.which(), clash.as_ref())).collect();
        let was = if clashes.is_empty() {
            self.clashes.remove(id)
        } else {
            self.clashes.insert(id.clone(), clashes.keys().cloned().collect())
        };
        clashes.retain(|which, _| !was.as_ref().is_some_and(|was| was.contains(which)));
        clashes
    }
}

/// Whether a failure that is told to stand `since` then is the one that stood before: of one that was there already at
/// the first look, history may tell only afterwards when it began.
fn may_be_one(was: Option<Since>, since: Option<Since>) -> bool {
    match (was, since) {
        (Some(Since::Before(look)), Some(Since::At(at))) => at <= look,
        _ => was == since,
    }
}

fn alarm(what: What, agent: &AgentId, picture: &Picture, text: String) -> Alarm {
    Alarm { what, agent: agent.clone(), project: shown::line(&picture.project), text }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use chrono::TimeDelta;
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

        /// The agent itself reports.
        fn says(&mut self, pulse: &Value) {
            let mut pulse = pulse.clone();
            pulse["updated_at"] = json!(self.clock());
            self.runner_says(&pulse);
        }

        /// Its runner does.
        fn runner_says(&mut self, pulse: &Value) {
            let at = self.clock();
            self.2 += 1;
            let frame = json!({"type": "pulse", "seq": self.2, "at": at, "pulse": pulse});
            self.hear(json!({"news": "event", "frame": frame}));
        }

        /// A second after what was said last.
        fn clock(&self) -> Time {
            NOON.parse::<Time>().unwrap() + TimeDelta::seconds(i64::try_from(self.2).unwrap() + 1)
        }

        /// `failed acme/a`, or nothing.
        fn look(&mut self, owner: Option<&str>) -> String {
            let alarms = self.1.look(&self.0, owner, self.clock());
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
        assert_eq!(watch.look(Some("acme")), "", "its own report says nothing of failures");
        watch.runner_says(&pulse("acme/b", "codex_sign_in", ""));
        assert_eq!(watch.look(Some("acme")), "failed acme/b", "it has failed once more");
        let again = json!({"type": "pulse", "seq": watch.2, "at": NOON, "pulse": pulse("acme/b", "", "")});
        watch.hear(json!({"news": "recent", "events": [again]}));
        assert_eq!(watch.look(Some("acme")), "", "history begins nothing");
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
        watch.says(&pulse("orbit/b", "", "remove"));
        assert_eq!(watch.look(Some("acme")), "", "it only holds longer");
        watch.says(&pulse("orbit/b", "", "rename"));
        assert_eq!(watch.look(Some("acme")), "clash acme/a", "another between the same two");
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
    fn a_failure_that_stood_is_not_new_once_history_tells_when_it_began() {
        let mut watch = Watch::new();
        watch.2 = 3;
        watch.live("e", false);
        let failed = pulse("acme/a", "codex_sign_in", "");
        watch.whole(std::slice::from_ref(&failed));
        assert_eq!(watch.look(None), "");
        let began = json!({"type": "pulse", "seq": 3, "at": "2026-11-30T11:00:00Z", "pulse": failed});
        watch.hear(json!({"news": "recent", "events": [began]}));
        assert_eq!(watch.look(None), "");
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
