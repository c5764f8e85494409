//! What JSON Schema can't say: who may send which field, and what a call makes of an agent's pulse.
//!
//! Pure functions: the pulse before, the caller, the call and the time give the pulse after and its event, or
//! a refusal. The room's writer only applies what is decided here.

mod caller;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use serde_json::Value;

pub use self::caller::{BadKind, Caller, Kind, Scope};
use crate::wire::id::Slug;
use crate::wire::pulse::{Availability, Intent, IntentReport, Pulse, PulseReport, RunFailure};
use crate::wire::run::RunReport;
use crate::wire::schema::Fault;
use crate::wire::{More, Time};

/// An agent's pulse as the room keeps it: what is said of it, and what only the room knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// What everybody sees, a standing failure included.
    pub pulse: Arc<Pulse>,
    /// The task whose run failed; never sent out.
    pub failure_task: Option<String>,
    /// When the standing failure was reported.
    pub failure_at: Option<Time>,
}

/// What an `update_pulse` comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The agent's pulse from now on; `None` where it has none.
    pub after: Option<Standing>,
    /// The `at` of the event that the call makes; `None` where nothing changed, and then nothing is stored.
    pub event: Option<Time>,
}

/// Why a call is not taken, and what would be. `Display` is for the agent: one sentence for each fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// All that is wrong; never empty.
    pub faults: Vec<Fault>,
}

impl From<Vec<Fault>> for Refusal {
    fn from(faults: Vec<Fault>) -> Self {
        Self { faults }
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        Self { faults: vec![fault] }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, fault) in self.faults.iter().enumerate() {
            let space = if i == 0 { "" } else { " " };
            write!(f, "{space}{fault}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Refusal {}

/// The answer for a project that the token may not enter, and, word for word, for one that does not exist.
/// `own` are the projects that the token may enter; the room may have many, so only the first are named.
pub fn no_such_project(project: &str, own: &[Slug]) -> Refusal {
    const NAMED: usize = 20;
    let names: Vec<&str> = own.iter().take(NAMED).map(Slug::as_str).collect();
    let more = own.len().saturating_sub(NAMED);
    let must = match (names.len(), more) {
        (0, _) => {
            "must be a project of this token, and it has none yet: `prickle key create … --project NAME` \
                   makes one on the room's machine"
                .to_owned()
        }
        (1, _) => format!("must be this token's project, {}", names[0]),
        (_, 0) => format!("must be one of this token's projects, {}", names.join(", ")),
        (_, more) => format!("must be one of this token's projects, {} and {more} more", names.join(", ")),
    };
    Fault::new("project", must, &Value::from(project)).into()
}

/// Decides an `update_pulse` whose arguments have passed the schema and whose project the caller may enter.
///
/// `before` is the agent's pulse in that project, `holds` how long an intent lasts.
pub fn pulse(
    caller: &Caller,
    before: Option<&Standing>,
    report: &PulseReport,
    now: Time,
    holds: Duration,
) -> Result<Outcome, Refusal> {
    let Some(agent) = caller.agent.as_ref().filter(|_| caller.kind.sends_pulses()) else {
        let must = format!(
            "is for agents, and this token is {}: use an agent's key, made by \
             `prickle key create --kind client --agent OWNER/NAME`",
            caller.kind.described()
        );
        return Err(Fault::bare("update_pulse", must).into());
    };
    let faults = faults(caller, report);
    if !faults.is_empty() {
        return Err(faults.into());
    }
    let blank = |availability| Pulse {
        agent_id: agent.clone(),
        owner: caller.owner.to_string(),
        project: report.project.to_string(),
        availability,
        doing: String::new(),
        task_id: None,
        branch: None,
        files: Vec::new(),
        last_decision: None,
        updated_at: now,
        run_failure: None,
        intent: None,
        more: More::new(),
    };
    if report.clear_run_failure {
        return Ok(cleared(before, report.task_id.as_deref(), now));
    }
    match (&report.run_failure, &report.doing) {
        (Some(failure), None) => {
            let pulse = before.map_or_else(|| blank(Availability::Offline), |b| Pulse::clone(&b.pulse));
            Ok(failed(before, pulse, failure, report.task_id.clone(), now))
        }
        (failure, doing) => {
            let mut pulse = blank(report.availability.clone().unwrap_or(Availability::Working));
            pulse.task_id.clone_from(&report.task_id);
            pulse.intent = report.intent.as_ref().map(|intent| stamped(intent, now, holds));
            // What a woken run may send beside these is empty, and its blanks are not kept as texts.
            if caller.kind != Kind::Execution {
                pulse.doing = doing.clone().unwrap_or_default();
                pulse.branch.clone_from(&report.branch);
                pulse.files = report.files.clone().unwrap_or_default();
                pulse.last_decision.clone_from(&report.last_decision);
            }
            // A failure survives every report: only a later one or a clear changes it.
            let (failure_task, failure_at) = if let Some(failure) = failure {
                pulse.run_failure = Some(failure.clone());
                (report.task_id.clone(), Some(now))
            } else {
                pulse.run_failure = before.and_then(|b| b.pulse.run_failure.clone());
                (before.and_then(|b| b.failure_task.clone()), before.and_then(|b| b.failure_at))
            };
            let after = Standing { pulse: Arc::new(pulse), failure_task, failure_at };
            Ok(Outcome { after: Some(after), event: Some(now) })
        }
    }
}

/// The runner's word that a run failed: changes nothing but the failure.
///
/// The same failure again is no news, unless the agent has reported since: then the failure is now newer
/// than the claim, which changes how the claim reads, and only an event can say so.
fn failed(
    before: Option<&Standing>,
    mut pulse: Pulse,
    failure: &RunFailure,
    task: Option<String>,
    now: Time,
) -> Outcome {
    let same = |b: &&Standing| {
        b.pulse.run_failure.as_ref() == Some(failure)
            && b.failure_task == task
            && b.failure_at.is_some_and(|at| b.pulse.updated_at <= at)
    };
    if let Some(standing) = before.filter(same) {
        return Outcome { after: Some(standing.clone()), event: None };
    }
    pulse.run_failure = Some(failure.clone());
    let after = Standing { pulse: Arc::new(pulse), failure_task: task, failure_at: Some(now) };
    Outcome { after: Some(after), event: Some(now) }
}

/// The runner's word that a later run of the task ended well: clears the failure of that task only.
fn cleared(before: Option<&Standing>, task: Option<&str>, now: Time) -> Outcome {
    let Some(standing) = before else { return Outcome { after: None, event: None } };
    if standing.pulse.run_failure.is_none() || standing.failure_task.as_deref() != task {
        return Outcome { after: Some(standing.clone()), event: None };
    }
    let mut pulse = Pulse::clone(&standing.pulse);
    pulse.run_failure = None;
    let after = Standing { pulse: Arc::new(pulse), failure_task: None, failure_at: None };
    Outcome { after: Some(after), event: Some(now) }
}

fn stamped(intent: &IntentReport, now: Time, holds: Duration) -> Intent {
    let holds = TimeDelta::from_std(holds).unwrap_or(TimeDelta::MAX);
    Intent {
        kind: intent.kind.clone(),
        paths: intent.paths.clone(),
        areas: intent.areas.clone(),
        expires_at: now.checked_add_signed(holds).unwrap_or(now),
        more: More::new(),
    }
}

/// All that is wrong with a report, from this caller.
fn faults(caller: &Caller, report: &PulseReport) -> Vec<Fault> {
    let mut faults = Vec::new();
    zeros(report, &mut faults);
    let failure = report.run_failure.is_some();
    if !caller.kind.sends_failures() {
        let must = format!(
            "may be sent only with a runner device's key or a client key, and this token is {}; leave it out",
            caller.kind.described()
        );
        if failure {
            faults.push(Fault::bare("run_failure", must.clone()));
        }
        if report.clear_run_failure {
            faults.push(Fault::bare("clear_run_failure", must));
        }
    } else if failure && report.clear_run_failure {
        faults.push(Fault::bare(
            "run_failure and clear_run_failure",
            "can't come in one call; send the one or the other",
        ));
        return faults;
    }
    if caller.kind == Kind::Execution {
        woken(caller, report, &mut faults);
    } else if report.clear_run_failure {
        alone(report, "clear_run_failure", &mut faults);
    } else if report.doing.is_none() {
        if failure {
            alone(report, "run_failure without doing", &mut faults);
        } else {
            faults.push(Fault::bare(
                "doing",
                "is required: say in at most 200 characters what you are doing; an empty string is fine",
            ));
        }
    }
    faults
}

/// Refuses U+0000, the one character that is no text.
fn zeros(report: &PulseReport, faults: &mut Vec<Fault>) {
    let mut check = |field: &dyn Fn() -> String, text: &str| {
        if text.contains('\0') {
            faults.push(Fault::new(field(), "must not hold the character U+0000", &Value::from(text)));
        }
    };
    let single =
        [("doing", &report.doing), ("branch", &report.branch), ("last_decision", &report.last_decision)];
    for (name, text) in single {
        check(&|| name.to_owned(), text.as_deref().unwrap_or_default());
    }
    let paths = report.intent.as_ref().map(|intent| &intent.paths);
    for (name, texts) in [("files", report.files.as_ref()), ("intent.paths", paths)] {
        for (i, text) in texts.into_iter().flatten().enumerate() {
            check(&|| format!("{name}[{i}]"), text);
        }
    }
}

/// The fields of a report that were sent, beside the project, the task and the two of failures.
fn sent(report: &PulseReport) -> Vec<(&'static str, Value)> {
    let text = |text: &Option<String>| text.as_ref().map(|t| Value::from(t.as_str()));
    let all = [
        ("availability", report.availability.as_ref().map(|a| Value::from(a.as_str()))),
        ("doing", text(&report.doing)),
        ("branch", text(&report.branch)),
        ("files", report.files.as_ref().map(|f| Value::from(f.as_slice()))),
        ("last_decision", text(&report.last_decision)),
        ("intent", report.intent.as_ref().map(|_| Value::Object(More::new()))),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// A runner's word comes with the project and the task, and nothing else.
fn alone(report: &PulseReport, what: &str, faults: &mut Vec<Fault>) {
    for (name, value) in sent(report) {
        let must = format!("must be left out: {what} comes with only project and task_id");
        faults.push(Fault::new(name, must, &value));
    }
}

/// A woken run speaks of its availability, its own task and an intent for that task.
fn woken(caller: &Caller, report: &PulseReport, faults: &mut Vec<Fault>) {
    let own = caller.task.as_deref().unwrap_or_default();
    for (name, value) in sent(report) {
        let empty = match &value {
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            _ => false,
        };
        if !empty && !matches!(name, "availability" | "intent") {
            let must = "must be empty or left out: a woken run reports only availability, its task_id and an \
                        intent for that task";
            faults.push(Fault::new(name, must, &value));
        }
    }
    match &report.task_id {
        Some(task) if task != own => {
            let must = format!("must be this woken run's own task, {own}");
            faults.push(Fault::new("task_id", must, &Value::from(task.as_str())));
        }
        None if report.intent.is_some() => {
            faults.push(Fault::bare("task_id", format!("must come with a woken run's intent: send {own}")));
        }
        _ => {}
    }
}

/// Decides whether the caller may report runs at all; whether a `run_id` was used before only the store knows.
pub fn run(caller: &Caller, _report: &RunReport) -> Result<(), Refusal> {
    if caller.kind.reports_runs() {
        return Ok(());
    }
    let must = format!(
        "is for a runner device's key, a client key or the runner's tasks key, and this token is {}; \
         agents need not call it",
        caller.kind.described()
    );
    Err(Fault::bare("report_run", must).into())
}

/// Whether the caller may read records of runs: its owner's agents', no others.
pub fn reads_runs(caller: &Caller) -> bool {
    caller.kind.reads_runs()
}
