//! A service that fails for several owners at about the same time: one trouble, not a failure of each.

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;

use crate::hint;
use crate::wire::Time;
use crate::wire::id::AgentId;
use crate::wire::pulse::RunFailure;

/// The most time between one failure of a trouble and the next.
pub const WITHIN: TimeDelta = TimeDelta::minutes(15);

/// One service's trouble: never without an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// The service, by its vendor's app: `Claude`.
    pub service: &'static str,
    /// Who still has it, and since when, in the order in which it began.
    pub agents: Vec<(AgentId, Time)>,
}

impl Trouble {
    /// How many owners still have it.
    pub fn owners(&self) -> usize {
        owners(&self.agents)
    }

    /// Since when those have it who still do.
    pub fn since(&self) -> Option<Time> {
        self.agents.first().map(|(_, at)| *at)
    }

    /// Whether an agent is one of them.
    pub fn has(&self, id: &AgentId) -> bool {
        self.agents.iter().any(|(agent, _)| agent == id)
    }
}

fn owners(agents: &[(AgentId, Time)]) -> usize {
    agents.iter().map(|(id, _)| id.owner()).collect::<BTreeSet<_>>().len()
}

/// The troubles there are, one a service, by the failures that stand, each with the moment it began; the most owners first. It
/// takes two owners to make one, and a `known` one lasts until the last of its agents is over it.
pub fn follow<'a>(
    known: &[Trouble],
    standing: impl IntoIterator<Item = (&'a AgentId, &'a RunFailure, Time)>,
) -> Vec<Trouble> {
    let mut services: BTreeMap<&'static str, Vec<(AgentId, Time)>> = BTreeMap::new();
    for (id, failure, at) in standing {
        if let Some(service) = hint::service(failure) {
            services.entry(service).or_default().push((id.clone(), at));
        }
    }
    let mut found = Vec::new();
    for (service, mut all) in services {
        let old = known.iter().find(|trouble| trouble.service == service);
        all.sort_by(|one, other| (one.1, &one.0).cmp(&(other.1, &other.0)));
        let runs = all.chunk_by(|before, after| after.1 - before.1 <= WITHIN);
        let shared = runs.filter(|run| {
            let known = || run.iter().any(|(id, _)| old.is_some_and(|old| old.has(id)));
            owners(run) > 1 || known()
        });
        let agents = shared.flatten().cloned().collect::<Vec<_>>();
        if !agents.is_empty() {
            found.push(Trouble { service, agents });
        }
    }
    found.sort_by_key(|trouble| std::cmp::Reverse(trouble.owners()));
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::wire::More;

    /// Troubles of failures given as agent, class/step and minute of the hour, told as `Claude 14:01 a/x a/y`.
    fn told(known: &[Trouble], standing: &[(&str, &str, u32)]) -> (Vec<Trouble>, Vec<String>) {
        let standing: Vec<(AgentId, RunFailure, Time)> = standing
            .iter()
            .map(|(id, failure, minute)| {
                let (class, step) = failure.split_once('/').unwrap();
                let failure = RunFailure { class: class.into(), step: step.into(), more: More::new() };
                (id.parse().unwrap(), failure, format!("2026-11-30T14:{minute:02}:00Z").parse().unwrap())
            })
            .collect();
        let found = follow(known, standing.iter().map(|(id, failure, at)| (id, failure, *at)));
        let told = found.iter().map(|trouble| {
            let agents: Vec<&str> = trouble.agents.iter().map(|(id, _)| id.as_str()).collect();
            format!("{} {} {}", trouble.service, trouble.since().unwrap().format("%H:%M"), agents.join(" "))
        });
        let told = told.collect();
        (found, told)
    }

    const CLAUDE: &str = "provider/claude_code_service";

    #[test]
    fn it_takes_two_owners_and_one_service_within_a_quarter_of_an_hour() {
        let alone = |standing: &[(&str, &str, u32)]| told(&[], standing).1;
        assert_eq!(alone(&[("a/x", CLAUDE, 0), ("b/y", CLAUDE, 15)]), ["Claude 14:00 a/x b/y"]);
        assert!(alone(&[("a/x", CLAUDE, 0), ("b/y", CLAUDE, 16)]).is_empty(), "too far apart");
        assert!(alone(&[("a/x", CLAUDE, 0), ("a/y", CLAUDE, 0)]).is_empty(), "one owner");
        assert!(
            alone(&[("a/x", CLAUDE, 0), ("b/y", "provider/codex_service", 0)]).is_empty(),
            "two services"
        );
        assert!(alone(&[("a/x", "auth/codex_sign_in", 0), ("b/y", "auth/codex_sign_in", 0)]).is_empty());
    }

    #[test]
    fn a_used_up_allowance_is_no_trouble_of_the_service() {
        let grok = |class: &str| told(&[], &[("a/x", class, 1), ("b/y", class, 2)]).1;
        assert_eq!(grok("provider/grok_service"), ["Grok 14:01 a/x b/y"]);
        assert!(grok("rate_limit/grok_service").is_empty());
    }

    #[test]
    fn a_long_trouble_is_one_and_who_is_far_from_all_others_has_a_failure_of_their_own() {
        let standing = [("d/w", CLAUDE, 50), ("a/x", CLAUDE, 0), ("b/y", CLAUDE, 10), ("c/z", CLAUDE, 20)];
        assert_eq!(told(&[], &standing).1, ["Claude 14:00 a/x b/y c/z"]);
        let more = [&standing[..], &[("e/v", CLAUDE, 51), ("f/u", "x/codex_service", 0)]].concat();
        let more = [&more[..], &[("g/t", "x/codex_service", 0)]].concat();
        assert_eq!(
            told(&[], &more).1,
            ["Claude 14:00 a/x b/y c/z d/w e/v", "Codex 14:00 f/u g/t"],
            "the most owners first"
        );
    }

    #[test]
    fn it_lasts_until_the_last_is_over_it() {
        let (both, _) = told(&[], &[("a/x", CLAUDE, 0), ("b/y", CLAUDE, 5)]);
        let apart = [("a/x", CLAUDE, 0), ("b/y", CLAUDE, 40)];
        assert_eq!(told(&both, &apart).1, ["Claude 14:00 a/x b/y"], "one of them failed again");
        let (last, said) = told(&both, &[("b/y", CLAUDE, 5)]);
        assert_eq!(said, ["Claude 14:05 b/y"]);
        let (again, said) = told(&last, &[("b/y", CLAUDE, 40)]);
        assert_eq!((again[0].owners(), said), (1, vec!["Claude 14:40 b/y".to_owned()]), "it failed again");
        assert!(told(&again, &[]).0.is_empty());
        assert!(told(&again, &[("c/z", CLAUDE, 41)]).0.is_empty(), "another one's alone is not it");
        assert!(told(&both, &[("b/y", "x/codex_service", 5)]).0.is_empty(), "nor is another service's");
    }
}
