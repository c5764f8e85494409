//! The room told in whole sentences, one a change: for screen readers, logs and pipes.
//!
//! The subject comes first, no sign stands for a word, and a value never spreads over two lines.

use chrono::TimeDelta;

use crate::change::{self, Change};
use crate::conflict::Level;
use crate::picture::{Claim, Connection, Happening, Heard, News, Picture};
use crate::warning::{self, Tense};
use crate::wire::Time;
use crate::wire::feed::Frame;
use crate::wire::id::AgentId;
use crate::wire::pulse::{Intent, Pulse, RunFailure};
use crate::wire::run::Run;
use crate::words::{self, Zone};
use crate::{hint, shown};

/// What is told later than this is told with its own time.
const LATE: TimeDelta = TimeDelta::seconds(5);

/// Turns news into lines.
#[derive(Debug)]
pub struct Plain {
    picture: Picture,
    host: String,
    owner: Option<String>,
    zone: Zone,
    /// Until when claims have been looked at for getting old, in the room's time.
    looked: Option<Time>,
    /// The outage that has been told of: since when, and the reasons that were given.
    offline: Option<(Time, Vec<String>)>,
    /// When the room was last reached, in its time.
    live_since: Option<Time>,
    /// How long it was not, and what was missed, until all of that has come.
    catching: Option<(TimeDelta, Vec<String>)>,
}

/// After a reconnect claims are judged only when what was missed has had this long to come in.
const SETTLE: TimeDelta = TimeDelta::seconds(1);

impl Plain {
    /// Nothing told yet of the room that `picture` knows nothing of yet, at `host`. `owner` is whose failures
    /// come with their remedy.
    pub fn new(picture: Picture, host: &str, owner: Option<String>, zone: Zone) -> Self {
        Self {
            picture,
            host: host.to_owned(),
            owner,
            zone,
            looked: None,
            offline: None,
            live_since: None,
            catching: None,
        }
    }

    /// The lines that some news are worth, without line ends.
    pub fn heard(&mut self, heard: Heard) -> Vec<String> {
        let local = heard.at;
        let first = !self.picture.is_whole();
        let run = match &heard.news {
            News::Run { agent_id, run } => Some(run_sentence(agent_id, run)),
            _ => None,
        };
        let unknown = match &heard.news {
            News::Event { frame: Frame::Other(other) } => Some(format!(
                "The room sent something new that this prickle does not know: {}.",
                shown::line(&other.kind)
            )),
            _ => None,
        };
        let event = match &heard.news {
            News::Event { frame: Frame::Pulse { pulse, .. } } => {
                Some(self.picture.agent(&pulse.agent_id).map(|a| (*a.pulse).clone()))
            }
            _ => None,
        };
        let old = matches!(heard.news, News::Snapshot { .. }).then(|| self.picture.clone());
        let news = heard.news.clone();
        let happened = self.picture.happened();
        self.picture.apply(heard);
        let now = self.picture.room_time(local);
        let mut said = Vec::new();
        let mut before = Vec::new();
        self.connection(local, &news, &mut before);
        match (&news, old) {
            (News::Snapshot { .. }, _) if first => self.begin(now, &mut said),
            (News::Snapshot { .. }, Some(old)) => {
                let pulses: Vec<Pulse> = self.picture.agents().map(|(_, a)| (*a.pulse).clone()).collect();
                for pulse in pulses {
                    let before = old.agent(&pulse.agent_id).map(|a| (*a.pulse).clone());
                    self.report(before.as_ref(), &pulse, None, now, &mut said);
                }
                let gone = old.agents().filter(|(id, _)| self.picture.agent(id).is_none());
                said.extend(gone.map(|(id, _)| format!("{} left the room.", shown::line(id.as_str()))));
            }
            (News::Event { frame: Frame::Pulse { at, pulse, .. } }, _) => {
                self.report(event.flatten().as_ref(), pulse, Some(*at), now, &mut said);
            }
            (News::Event { frame: Frame::Gone { agent_id, .. } }, _) => {
                said.push(format!("{} left the room.", shown::line(agent_id.as_str())));
            }
            _ => {}
        }
        // Those that stood already are part of the state that was told first.
        if !first {
            self.clashes(happened, now, &mut said);
        }
        said.extend(run);
        said.extend(unknown);
        self.looked.get_or_insert(now);
        said.splice(0..0, before);
        let said = self.caught_up(said);
        let stamp = self.zone.second(now);
        said.into_iter().map(|line| format!("{stamp} {line}")).collect()
    }

    /// How much was missed is told before what it was, so all of it is waited for, or for the next loss.
    fn caught_up(&mut self, said: Vec<String>) -> Vec<String> {
        let Some((after, missed)) = &mut self.catching else { return said };
        missed.extend(said);
        if self.picture.connection == Connection::Live && self.picture.is_behind() {
            return Vec::new();
        }
        let caught = self.picture.log().rev().find_map(|happening| match happening {
            Happening::Outage { missed, to, .. } => {
                Some(missed.filter(|missed| *missed > 0 && self.live_since == Some(*to)))
            }
            _ => None,
        });
        let caught = caught
            .flatten()
            .map_or(String::new(), |missed| format!(" {} caught up with.", words::count(missed, "change")));
        let live = format!("Live again after {}.{caught}", words::span(*after));
        let missed = std::mem::take(missed);
        self.catching = None;
        std::iter::once(live).chain(missed).collect()
    }

    /// The lines for claims that have got old and clashes that have run out since the last look; `local` is the
    /// watcher's time.
    pub fn tick(&mut self, local: Time) -> Vec<String> {
        let now = self.picture.room_time(local);
        let settled = self.live_since.is_some_and(|since| now - since >= SETTLE);
        if self.picture.connection != Connection::Live || !settled || self.catching.is_some() {
            return Vec::new();
        }
        let happened = self.picture.happened();
        self.picture.pass(now);
        let mut over = Vec::new();
        self.clashes(happened, now, &mut over);
        let over = over.into_iter().map(|line| format!("{} {line}", self.zone.second(now)));
        let Some(before) = self.looked.replace(now) else { return over.collect() };
        let was_stale = |agent: &crate::picture::Agent| self.picture.claim(agent, before).stale;
        let aged = self.picture.agents().filter(|(_, a)| self.picture.claim(a, now).stale && !was_stale(a));
        let aged = aged.map(|(id, agent)| {
            let claim = self.picture.claim(agent, now);
            let silent = words::span(TimeDelta::minutes(claim.age.num_minutes()));
            let (id, said) = (shown::line(id.as_str()), shown::line(claim.availability.as_str()));
            format!("{} {id} has said nothing for {silent}. It last said: {said}.", self.zone.second(now))
        });
        over.chain(aged).collect()
    }

    /// When the next claim gets old or the next intent runs out, from `local` on.
    pub fn next_tick(&self, local: Time) -> Option<TimeDelta> {
        if self.picture.connection != Connection::Live {
            return None;
        }
        let now = self.picture.room_time(local);
        let change = self.picture.next_change(now).map(|at| (at - now).max(SETTLE));
        // Some got old while nothing was heard.
        let stale = |at| self.picture.counts(at).stale;
        let untold = self.looked.is_some_and(|at| stale(now) > stale(at)).then_some(SETTLE);
        change.into_iter().chain(untold).min()
    }

    /// What the log has been told of clashes since it had been told `happened` things.
    fn clashes(&self, happened: u64, now: Time, said: &mut Vec<String>) {
        let new = usize::try_from(self.picture.happened() - happened).unwrap_or(usize::MAX);
        let mut told: Vec<&Happening> = self.picture.log().rev().take(new).collect();
        told.reverse();
        let late = |at: &Time| {
            if now - *at > LATE { format!(" at {}", self.zone.second(*at)) } else { String::new() }
        };
        for happening in told {
            match happening {
                Happening::Clash { at, clash } => {
                    said.push(format!("Clash{}: {}.", late(at), warning::told(clash, Tense::Present)));
                }
                Happening::ClashOver(ended) => {
                    said.push(format!("Clash over{}: {}.", late(&ended.at), warning::no_longer(ended)));
                }
                _ => {}
            }
        }
    }

    fn connection(&mut self, local: Time, news: &News, said: &mut Vec<String>) {
        match news {
            News::Lost { why, .. } => {
                let why = shown::line(why);
                match &mut self.offline {
                    None => {
                        said.push(format!("Offline: {why}. Trying again until it works."));
                        let since = match &self.picture.connection {
                            Connection::Offline { since, .. } => *since,
                            _ => local,
                        };
                        self.offline = Some((since, vec![why]));
                    }
                    Some((_, told)) if told.contains(&why) => {}
                    Some((_, told)) => {
                        said.push(format!("Still offline: {why}."));
                        told.push(why);
                    }
                }
            }
            News::Room { refusing: Some(why) } => {
                said.push(format!(
                    "The room takes no reports now: {}.",
                    shown::line(&words::brief(why, 200))
                ));
            }
            News::Room { refusing: None } => said.push("The room takes reports again.".to_owned()),
            News::Refused { why } => said.push(format!("Refused: {}", shown::line(why))),
            News::Live { server_time, .. } => {
                self.live_since = Some(*server_time);
                // It stands last, or before an outage that has just ended.
                let apart = self.picture.log().rev().take(2).find_map(|happening| match happening {
                    Happening::Clock { at, ahead } if at == server_time => Some(words::clocks(*ahead)),
                    _ => None,
                });
                said.extend(
                    apart.map(|apart| format!("This machine's clock is {apart}, which ages are told by.")),
                );
                let Some((since, _)) = self.offline.take() else { return };
                self.catching = Some((local - since, Vec::new()));
            }
            _ => {}
        }
    }

    /// The state of the room in the first lines.
    fn begin(&self, now: Time, said: &mut Vec<String>) {
        let counts = self.picture.counts(now);
        let project = shown::line(&self.picture.project);
        let agents = words::count(counts.agents as u64, "agent");
        let host = shown::line(&self.host);
        said.push(format!(
            "Watching {project} on {host}. {agents}, {} working, {} failed.",
            counts.working, counts.failed
        ));
        for (id, agent) in self.picture.agents() {
            if let Some(failure) = &agent.pulse.run_failure {
                said.push(self.failed(id, &agent.pulse.owner, failure, None));
            }
        }
        let clashes = self.picture.conflicts(now).into_iter().filter(|c| c.level == Level::Clash);
        said.extend(clashes.map(|clash| format!("Clash: {}.", warning::told(clash, Tense::Present))));
        for (_, agent) in self.picture.agents() {
            let held = agent.pulse.intent.as_ref().filter(|intent| intent.holds(now));
            if let Some(intent) = held {
                said.push(self.intends(&agent.pulse, intent));
            }
        }
    }

    /// What a new pulse says that the last did not, a line for each thing that stands alone; with its time where
    /// `now` it is late. `at`: when it was reported; a picture does not say.
    fn report(
        &self,
        before: Option<&Pulse>,
        after: &Pulse,
        at: Option<Time>,
        now: Time,
        said: &mut Vec<String>,
    ) {
        let late = at.filter(|at| now - *at > LATE);
        let id = shown::line(after.agent_id.as_str());
        let told = |what: &str| late.map_or(String::new(), |at| format!(" {what} {}.", self.zone.second(at)));
        let (so, then) = (told("It said so at"), told("That was at"));
        let mut state = false;
        let mut extra = String::new();
        for change in change::between(before, after, at) {
            match change {
                Change::Failed(failure) => {
                    said.push(self.failed(&after.agent_id, &after.owner, failure, late));
                }
                Change::Cleared => said.push(format!("{id} runs again. The failure was cleared.{then}")),
                Change::Intends { intent, .. } => {
                    said.push(format!("{}{so}", self.intends(after, intent)));
                }
                Change::IntendsNothing => said.push(format!("{id} has withdrawn its intent.{so}")),
                Change::Availability { .. } | Change::Doing(_) => state = true,
                Change::Branch(Some(branch)) => extra.push_str(&format!(" Branch {}.", shown::line(branch))),
                Change::Branch(None) => extra.push_str(" On no branch."),
                Change::Task(Some(task)) => extra.push_str(&format!(" Task {}.", shown::line(task))),
                Change::Task(None) => extra.push_str(" On no task."),
                Change::Files(files) => {
                    let names: Vec<String> = files.iter().map(|f| shown::line(f)).collect();
                    let files = if names.is_empty() {
                        "No files".into()
                    } else {
                        format!("Files: {}", names.join(", "))
                    };
                    extra.push_str(&format!(" {files}."));
                }
                Change::Decided(decision) => extra.push_str(&format!(" It decided: {}", sentence(decision))),
            }
        }
        if state || !extra.is_empty() {
            let claim = shown::line(after.availability.as_str());
            let doing =
                if after.doing.is_empty() { ".".into() } else { format!(": {}", sentence(&after.doing)) };
            said.push(format!("{id} is {claim}{doing}{extra}{so}"));
        }
    }

    /// The time stands before the remedy, whose command ends the line so that it can be taken whole.
    fn failed(&self, id: &AgentId, owner: &str, failure: &RunFailure, late: Option<Time>) -> String {
        let hint = hint::of(failure);
        let (id, title) = (shown::line(id.as_str()), shown::line(&hint::title(failure)));
        let remedy = if self.owner.as_ref().is_none_or(|me| me == owner) {
            match hint.command {
                Some(command) => format!("{} {command}", hint.advice),
                None => hint.advice.to_owned(),
            }
        } else {
            let to_do = hint.teammate.to_do(None);
            format!("{}{}. {to_do}", shown::line(owner), hint.teammate.told)
        };
        let when = late.map_or(String::new(), |at| format!(" at {}", self.zone.second(at)));
        format!("Failed{when}: {id}, {title}. {}", remedy.trim_end())
    }

    fn intends(&self, pulse: &Pulse, intent: &Intent) -> String {
        let id = shown::line(pulse.agent_id.as_str());
        let paths = intent.paths.iter().map(|p| shown::line(p));
        let areas = intent.areas.iter().map(|a| format!("area {}", shown::line(a)));
        let named: Vec<String> = paths.chain(areas).collect();
        let named = if named.is_empty() { "nothing named".into() } else { named.join(", ") };
        let kind = shown::line(intent.kind.as_str());
        format!("{id} is about to {kind} {named} until {}.", self.zone.minute(intent.expires_at))
    }
}

/// Other people's text with a full stop where it has no end of its own.
fn sentence(text: &str) -> String {
    let text = shown::line(text);
    if text.ends_with(['.', '!', '?', '…', '。']) { text } else { format!("{text}.") }
}

fn run_sentence(agent: &AgentId, run: &Run) -> String {
    let exit = run.exit_code.map_or("exit code not known".into(), |code| format!("exit {code}"));
    let tokens = |n: i64| format!("{n} {}", if n == 1 { "token" } else { "tokens" });
    let tokens = match (run.input_tokens, run.output_tokens) {
        (Some(input), Some(output)) => format!("{} in and {output} out", tokens(input)),
        (Some(input), None) => format!("{} in, out not known", tokens(input)),
        (None, Some(output)) => format!("tokens in not known, {output} out"),
        (None, None) => "tokens not known".into(),
    };
    let time = match run.duration_ms {
        None => "time not known".into(),
        Some(1..1000) => "less than a second".into(),
        Some(ms) => words::span(TimeDelta::milliseconds(ms)),
    };
    let (agent, task) = (shown::line(agent.as_str()), shown::line(&run.task_id));
    format!("Run of {agent} on {task}: {exit}, {tokens}, {time}.")
}

/// The room at one moment as a small table: `watch --once`.
pub fn once(picture: &Picture, local: Time) -> String {
    let now = picture.room_time(local);
    let counts = picture.counts(now);
    let stale = if counts.stale > 0 { format!(", {} stale", counts.stale) } else { String::new() };
    let failed = if counts.failed > 0 { format!("{} failed, ", counts.failed) } else { String::new() };
    let clashes = match picture.count_of(Level::Clash) {
        0 => String::new(),
        1 => "1 clash, ".into(),
        clashes => format!("{clashes} clashes, "),
    };
    let heard = picture.heard_until();
    let old = heard.map_or(String::new(), |at| format!(" as of {}", Zone::Local.moment(at, now)));
    let state = match counts.agents {
        0 => "nobody is in it yet".into(),
        agents => format!("{failed}{clashes}{} of {agents} working{stale}", counts.working),
    };
    let mut out = format!("{}{old}: {state}\n", shown::line(&picture.project));
    let rows: Vec<[String; 3]> = picture
        .agents()
        .map(|(id, agent)| {
            let claim: Claim<'_> = picture.claim(agent, now);
            let told = match &agent.pulse.run_failure {
                Some(failure) => hint::title(failure),
                None => agent.pulse.doing.clone(),
            };
            [shown::line(id.as_str()), words::claim_and_age(&claim), shown::line(&told)]
        })
        .collect();
    let wide = |column: usize| rows.iter().map(|row| shown::width(&row[column])).max().unwrap_or(0);
    let (first, second) = (wide(0), wide(1));
    for ([id, claim, told], (_, agent)) in rows.iter().zip(picture.agents()) {
        let mark = match picture.in_the_way(&agent.pulse.agent_id, now) {
            _ if agent.pulse.run_failure.is_some() => "!",
            Some(level @ (Level::Clash | Level::Risk)) => warning::mark(level),
            Some(Level::Note) | None => " ",
        };
        let gap = |text: &str, columns: usize| " ".repeat(columns - shown::width(text));
        let line = format!("{mark} {id}{}  {claim}{}  {told}", gap(id, first), gap(claim, second));
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::{Value, json};

    fn plain() -> Plain {
        let utc = chrono::FixedOffset::east_opt(0).unwrap();
        Plain::new(Picture::new("website-v2"), "127.0.0.1:7766", Some("acme".into()), Zone::Fixed(utc))
    }

    fn tell(plain: &mut Plain, at: &str, mut news: Value) -> Vec<String> {
        news["at"] = json!(format!("2026-11-30T{at}Z"));
        plain.heard(serde_json::from_value(news).unwrap())
    }

    fn live(at: &str, resumed: bool, seq: u64) -> Value {
        json!({"news": "live", "epoch": "e", "seq": seq, "server_time": format!("2026-11-30T{at}Z"), "resumed": resumed})
    }

    fn pulse(at: &str, more: &Value) -> Value {
        let mut pulse = json!({"agent_id": "lumen/fixer", "owner": "lumen", "project": "website-v2",
            "availability": "working", "doing": "", "task_id": null, "branch": null, "files": [],
            "last_decision": null, "updated_at": format!("2026-11-30T{at}Z")});
        for (name, value) in more.as_object().unwrap() {
            pulse[name] = value.clone();
        }
        pulse
    }

    fn event(at: &str, seq: u64, pulse: &Value) -> Value {
        json!({"news": "event", "frame": {"type": "pulse", "seq": seq, "at": format!("2026-11-30T{at}Z"), "pulse": pulse}})
    }

    #[test]
    fn tells_the_state_then_each_change_then_an_outage_in_two_lines() {
        let mut p = plain();
        assert!(tell(&mut p, "14:30:40", json!({"news": "connecting"})).is_empty());
        assert!(tell(&mut p, "14:30:40", live("14:30:40", false, 7)).is_empty());
        let failed = pulse("13:45:00", &json!({"run_failure": {"class": "auth", "step": "codex_sign_in"}}));
        assert_eq!(
            tell(&mut p, "14:30:40", json!({"news": "snapshot", "seq": 7, "pulses": [failed]})),
            [
                "14:30:40 Watching website-v2 on 127.0.0.1:7766. 1 agent, 0 working, 1 failed.",
                "14:30:40 Failed: lumen/fixer, Codex is signed out. lumen must sign in to Codex."
            ]
        );
        let more = json!({"doing": "Fixing\nthe loop", "branch": "fix/login", "run_failure":
            {"class": "auth", "step": "codex_sign_in"}, "intent": {"kind": "change", "paths": ["src/a.rs"],
            "areas": ["auth"], "expires_at": "2026-11-30T15:01:10Z"}});
        let now = pulse("14:31:10", &more);
        assert_eq!(
            tell(&mut p, "14:31:10", event("14:31:10", 8, &now)),
            [
                "14:31:10 lumen/fixer is about to change src/a.rs, area auth until 15:01.",
                "14:31:10 lumen/fixer is working: Fixing·the loop. Branch fix/login."
            ]
        );
        let again = pulse("14:31:20", &more);
        assert!(
            tell(&mut p, "14:31:20", event("14:31:20", 9, &again)).is_empty(),
            "nothing new, nothing said"
        );
        assert_eq!(
            tell(&mut p, "14:31:30", event("14:31:30", 10, &again)),
            ["14:31:30 Failed: lumen/fixer, Codex is signed out. lumen must sign in to Codex."],
            "by its runner: once more"
        );
        let lost = |ms: u64| json!({"news": "lost", "why": "connection refused", "retry_in": ms});
        assert_eq!(
            tell(&mut p, "14:33:20", lost(500)),
            ["14:33:20 Offline: connection refused. Trying again until it works."]
        );
        assert!(tell(&mut p, "14:33:21", lost(1000)).is_empty());
        assert!(tell(&mut p, "14:34:02", live("14:34:02", true, 12)).is_empty(), "all of it is waited for");
        assert!(tell(&mut p, "14:34:02", event("14:32:30", 11, &pulse("14:32:30", &more))).is_empty());
        let idle = pulse(
            "14:33:31",
            &json!({"availability": "idle", "doing": "Fixing\nthe loop", "branch": "fix/login"}),
        );
        assert_eq!(
            tell(&mut p, "14:34:02", event("14:33:31", 12, &idle)),
            [
                "14:34:02 Live again after 42 seconds. 1 change caught up with.",
                "14:34:02 lumen/fixer runs again. The failure was cleared. That was at 14:33:31.",
                "14:34:02 lumen/fixer has withdrawn its intent. It said so at 14:33:31.",
                "14:34:02 lumen/fixer is idle: Fixing·the loop. It said so at 14:33:31."
            ]
        );
    }

    #[test]
    fn a_failure_told_late_keeps_its_command_at_the_end_of_the_line() {
        let mut p = plain();
        p.owner = Some("lumen".into());
        tell(&mut p, "14:00:00", live("14:00:00", false, 1));
        let fixer = pulse("14:00:00", &json!({}));
        tell(&mut p, "14:00:00", json!({"news": "snapshot", "seq": 1, "pulses": [fixer]}));
        let failed = pulse("14:00:00", &json!({"run_failure": {"class": "auth", "step": "codex_sign_in"}}));
        assert_eq!(
            tell(&mut p, "14:10:00", event("14:05:00", 2, &failed)),
            [
                "14:10:00 Failed at 14:05:00: lumen/fixer, Codex is signed out. On the runner's machine: codex login"
            ]
        );
    }

    #[test]
    fn who_left_while_nothing_was_heard_is_told() {
        let mut p = plain();
        tell(&mut p, "14:00:00", live("14:00:00", false, 1));
        let fixer = pulse("14:00:00", &json!({}));
        tell(&mut p, "14:00:00", json!({"news": "snapshot", "seq": 1, "pulses": [fixer]}));
        tell(&mut p, "14:01:00", json!({"news": "lost", "why": "connection reset", "retry_in": 500}));
        tell(&mut p, "14:02:00", live("14:02:00", false, 9));
        assert_eq!(
            tell(&mut p, "14:02:00", json!({"news": "snapshot", "seq": 9, "pulses": []})),
            ["14:02:00 lumen/fixer left the room."]
        );
    }

    #[test]
    fn a_claim_that_gets_old_is_said_once() {
        let mut p = plain();
        tell(&mut p, "14:00:00", live("14:00:00", false, 1));
        tell(
            &mut p,
            "14:00:00",
            json!({"news": "snapshot", "seq": 1, "pulses": [pulse("14:00:00", &json!({}))]}),
        );
        let at = |text: &str| format!("2026-11-30T{text}Z").parse::<Time>().unwrap();
        assert_eq!(p.next_tick(at("14:05:00")), Some(TimeDelta::minutes(10)));
        assert!(p.tick(at("14:14:59")).is_empty());
        assert_eq!(
            p.tick(at("14:15:00")),
            ["14:15:00 lumen/fixer has said nothing for 15 minutes. It last said: working."]
        );
        assert!(p.tick(at("14:16:00")).is_empty());
        assert_eq!(p.next_tick(at("14:16:00")), None);
    }

    #[test]
    fn a_claim_that_got_old_during_an_outage_is_said_after_what_was_missed() {
        let at = |text: &str| format!("2026-11-30T{text}Z").parse::<Time>().unwrap();
        let mut p = plain();
        tell(&mut p, "14:00:00", live("14:00:00", false, 1));
        let other = pulse("14:00:00", &json!({"agent_id": "lumen/docs"}));
        let snapshot = [pulse("14:00:00", &json!({})), other];
        tell(&mut p, "14:00:00", json!({"news": "snapshot", "seq": 1, "pulses": snapshot}));
        tell(&mut p, "14:10:00", json!({"news": "lost", "why": "reset", "retry_in": 500}));
        assert_eq!(p.next_tick(at("14:20:00")), None);
        assert!(p.tick(at("14:20:00")).is_empty());
        tell(&mut p, "14:30:00", live("14:30:00", true, 2));
        assert!(p.tick(at("14:30:00")).is_empty(), "what was missed is on its way");
        tell(&mut p, "14:30:00", event("14:29:00", 2, &pulse("14:29:00", &json!({}))));
        assert_eq!(p.next_tick(at("14:30:00")), Some(SETTLE));
        assert_eq!(
            p.tick(at("14:30:01")),
            ["14:30:01 lumen/docs has said nothing for 30 minutes. It last said: working."]
        );
        assert_eq!(p.next_tick(at("14:30:01")), Some(TimeDelta::seconds(839)));
    }

    #[test]
    fn a_look_at_an_old_picture_says_how_old_it_is() {
        let at = "2026-11-30T14:00:00Z".parse::<Time>().unwrap();
        let mut p = plain();
        tell(&mut p, "14:00:00", live("14:00:00", false, 1));
        let fixer = pulse("14:00:00", &json!({}));
        tell(&mut p, "14:00:00", json!({"news": "snapshot", "seq": 1, "pulses": [fixer]}));
        assert!(once(&p.picture, at).starts_with("website-v2: 1 of 1 working\n"));
        tell(&mut p, "14:00:00", json!({"news": "lost", "why": "reset", "retry_in": 500}));
        let told = format!("website-v2 as of {}: 1 of 1 working\n", Zone::Local.second(at));
        assert!(once(&p.picture, at).starts_with(&told));
    }

    #[test]
    fn case_d08_what_is_not_known_of_a_run_is_said_and_is_no_zero() {
        let mut p = plain();
        let mut said = |[input, output, lasted, exit]: [Option<i64>; 4]| {
            let run = json!({"run_id": "x", "project": "website-v2", "task_id": "nav", "input_tokens": input,
                "output_tokens": output, "turns": null, "duration_ms": lasted, "exit_code": exit,
                "source": "client_reported", "reported_at": "2026-11-30T14:50:11Z"});
            let news = json!({"news": "run", "agent_id": "acme/reviewer", "run": run});
            let lines = tell(&mut p, "14:50:11", news);
            assert_eq!(lines.len(), 1, "{lines:?}");
            lines[0].strip_prefix("14:50:11 Run of acme/reviewer on nav: ").unwrap().to_owned()
        };
        assert_eq!(said([None; 4]), "exit code not known, tokens not known, time not known.");
        assert_eq!(said([Some(0); 4]), "exit 0, 0 tokens in and 0 out, 0 seconds.");
        assert_eq!(
            said([None, None, Some(250_000), Some(0)]),
            "exit 0, tokens not known, 4 minutes 10 seconds."
        );
        assert_eq!(
            said([None, Some(0), Some(812), None]),
            "exit code not known, tokens in not known, 0 out, less than a second."
        );
        assert_eq!(
            said([Some(1), None, Some(61_000), Some(137)]),
            "exit 137, 1 token in, out not known, 1 minute 1 second."
        );
    }

    #[test]
    fn a_clash_is_a_line_when_it_begins_and_when_it_is_over() {
        let mut p = plain();
        let intent = |kind: &str, path: &str, until: &str| {
            json!({"intent": {"kind": kind, "paths": [path], "areas": [],
                "expires_at": format!("2026-11-30T{until}Z")}})
        };
        let by = |agent: &str, mut pulse: Value| {
            pulse["agent_id"] = agent.into();
            pulse["owner"] = agent.split('/').next().into();
            pulse
        };
        let remove = by("acme/builder", pulse("14:30:00", &intent("remove", "src/auth/**", "15:00:00")));
        let change = pulse("14:31:10", &intent("change", "src/auth/login.rs", "15:01:10"));
        tell(&mut p, "14:31:00", live("14:31:00", false, 7));
        tell(&mut p, "14:31:00", json!({"news": "snapshot", "seq": 7, "pulses": [remove]}));
        let clash =
            "Clash: acme/builder is about to remove src/auth/** while lumen/fixer changes src/auth/login.rs.";
        let said = tell(&mut p, "14:31:10", event("14:31:10", 8, &change));
        assert_eq!(said.last().unwrap(), &format!("14:31:10 {clash}"));
        let idle = pulse("14:41:15", &json!({"availability": "idle"}));
        assert_eq!(
            tell(&mut p, "14:41:15", event("14:41:15", 9, &idle)),
            [
                "14:41:15 lumen/fixer has withdrawn its intent.",
                "14:41:15 lumen/fixer is idle.",
                "14:41:15 Clash over: lumen/fixer no longer changes src/auth/login.rs."
            ]
        );
        // Another that begins unheard is told late, and runs out by itself.
        tell(&mut p, "14:42:00", json!({"news": "lost", "why": "reset", "retry_in": 1}));
        tell(&mut p, "14:50:00", live("14:50:00", true, 10));
        let again = pulse("14:45:00", &intent("change", "src/auth", "15:15:00"));
        let said = tell(&mut p, "14:50:00", event("14:45:00", 10, &again));
        assert!(
            said.last().unwrap().starts_with("14:50:00 Clash at 14:45:00: acme/builder is about"),
            "{said:?}"
        );
        let at = |clock: &str| format!("2026-11-30T{clock}Z").parse::<Time>().unwrap();
        let wait = p.next_tick(at("14:58:00")).unwrap();
        assert!(wait <= TimeDelta::minutes(2), "{wait}");
        assert!(p.tick(at("14:59:59")).iter().all(|line| !line.contains("Clash")));
        let over = p.tick(at("15:00:00"));
        assert!(
            over.contains(
                &"15:00:00 Clash over: acme/builder's intent to remove src/auth/** ran out.".into()
            ),
            "{over:?}"
        );

        // Whoever begins to watch is told what is so.
        let mut p = plain();
        tell(&mut p, "14:32:00", live("14:32:00", false, 8));
        let first =
            tell(&mut p, "14:32:00", json!({"news": "snapshot", "seq": 8, "pulses": [remove, change]}));
        assert_eq!(first[1], format!("14:32:00 {clash}"));
    }

    #[test]
    fn one_look_shows_who_would_undo_whom() {
        let mut picture = Picture::new("website-v2");
        let at: Time = "2026-11-30T14:01:00Z".parse().unwrap();
        let heard = |news: Value| {
            let mut news = news;
            news["at"] = json!(at);
            serde_json::from_value::<Heard>(news).unwrap()
        };
        let says = |id: &str, intent: Value| {
            let mut pulse = json!({"agent_id": id, "owner": id.split('/').next(), "project": "website-v2",
                "availability": "working", "doing": "x", "task_id": null, "branch": null, "files": [],
                "last_decision": null, "updated_at": "2026-11-30T14:00:00Z"});
            pulse["intent"] = intent;
            pulse
        };
        let intends = |kind: &str, path: &str| json!({"kind": kind, "paths": [path], "areas": [], "expires_at": "2026-11-30T15:00:00Z"});
        picture.apply(heard(
            json!({"news": "live", "epoch": "e", "seq": 1, "server_time": at, "resumed": false}),
        ));
        let pulses = [
            says("acme/a", intends("remove", "src/**")),
            says("acme/b", intends("migrate", "docs/**")),
            says("lumen/c", intends("change", "src/a.rs")),
            says("lumen/d", intends("change", "docs/b.md")),
            says("lumen/e", intends("change", "x")),
        ];
        picture.apply(heard(json!({"news": "snapshot", "seq": 1, "pulses": pulses})));
        let told = once(&picture, at);
        let marks: Vec<&str> = told.lines().skip(1).map(|line| line.split(' ').next().unwrap()).collect();
        assert_eq!(marks, ["≠", "~", "≠", "~", ""], "{told}");
        assert!(told.starts_with("website-v2: 1 clash, 5 of 5 working\n"), "{told}");
    }
}
