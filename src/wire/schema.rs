//! The contract's four schemas, verbatim, and the one check of a call's arguments against them.
//!
//! The check is written by hand because agents learn the limits only from its sentences: some clients strip
//! them from the schema before the model sees it. A property test holds it against the schemas themselves.

use serde_json::{Map, Value};

use super::id::{RunId, SLUG_MAX, Slug, TASK_MAX, is_slug, is_task, without_tokens};
use super::pulse::{
    Availability, FailureClass, FailureStep, IntentKind, IntentReport, PulseReport, RunFailure,
};
use super::run::RunReport;

/// Input schema of `update_pulse`.
pub const UPDATE_PULSE_INPUT: &str = include_str!("schema/update_pulse.input.json");
/// Output schema of `update_pulse`.
pub const UPDATE_PULSE_OUTPUT: &str = include_str!("schema/update_pulse.output.json");
/// Input schema of `report_run`.
pub const REPORT_RUN_INPUT: &str = include_str!("schema/report_run.input.json");
/// Output schema of `report_run`.
pub const REPORT_RUN_OUTPUT: &str = include_str!("schema/report_run.output.json");

/// Longest `doing`, in code points.
pub const DOING_MAX: usize = 200;
/// Longest `branch`, in code points.
pub const BRANCH_MAX: usize = 200;
/// Most `files`.
pub const FILES_MAX: usize = 50;
/// Longest path in `files` and `intent.paths`, in code points.
pub const PATH_MAX: usize = 300;
/// Longest `last_decision`, in code points.
pub const DECISION_MAX: usize = 500;
/// Most `intent.paths`.
pub const INTENT_PATHS_MAX: usize = 20;
/// Most `intent.areas`.
pub const INTENT_AREAS_MAX: usize = 10;
/// Longest area name.
pub const AREA_MAX: usize = 40;
/// Largest number of tokens, turns or milliseconds.
pub const COUNT_MAX: i64 = 2_147_483_647;
/// Largest exit code.
pub const EXIT_MAX: i64 = 255;

/// One thing that is wrong with a call, in words: `field` must be so, and what it is instead.
///
/// `Display` is one line for the agent that called. It may hold the caller's own text, cut short and with
/// control characters escaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Where, as a path: `intent.paths[3]`.
    pub field: String,
    /// What is required there, with its limit.
    pub must: String,
    /// What stands there instead, ready to print; empty where naming it adds nothing.
    pub is: String,
}

impl Fault {
    /// A fault at `field`, which `must` be so, and whose value is `value`.
    pub fn new(field: impl Into<String>, must: impl Into<String>, value: &Value) -> Self {
        Self { field: field.into(), must: must.into(), is: excerpt(value) }
    }

    /// A fault for which the value does not matter.
    pub fn bare(field: impl Into<String>, must: impl Into<String>) -> Self {
        Self { field: field.into(), must: must.into(), is: String::new() }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.field, self.must)?;
        if self.is.is_empty() { f.write_str(".") } else { write!(f, "; it is {}.", self.is) }
    }
}

/// Most characters of a caller's text that a refusal repeats.
const SHOWN: usize = 40;

/// A caller's text as a refusal repeats it: the first 40 characters, everything but plain text escaped, no key.
pub fn head(text: &str) -> String {
    without_tokens(text).chars().take(SHOWN).flat_map(char::escape_debug).collect()
}

/// A value as a fault quotes it: JSON, cut short and made safe.
fn excerpt(value: &Value) -> String {
    match value {
        Value::String(text) => {
            let count = text.chars().count();
            let head = head(text);
            if count > SHOWN { format!("{count} characters, \"{head}…\"") } else { format!("\"{head}\"") }
        }
        Value::Array(items) => format!("an array of {}", items.len()),
        Value::Object(_) => "an object".into(),
        other => {
            let text = other.to_string();
            if text.len() > SHOWN { format!("{}…", &text[..SHOWN]) } else { text }
        }
    }
}

/// Arguments being read: the faults found so far, and how to ask for each member.
struct Reader<'a> {
    at: String,
    members: &'a Map<String, Value>,
    faults: Vec<Fault>,
}

impl<'a> Reader<'a> {
    fn new(at: impl Into<String>, members: &'a Map<String, Value>) -> Self {
        Self { at: at.into(), members, faults: Vec::new() }
    }

    fn path(&self, name: &str) -> String {
        if self.at.is_empty() { name.to_owned() } else { format!("{}.{name}", self.at) }
    }

    fn fault(&mut self, name: &str, must: impl Into<String>, value: &Value) {
        let field = self.path(name);
        self.faults.push(Fault::new(field, must, value));
    }

    /// The member, or a fault where it is required and left out.
    fn get(&mut self, name: &str, required: bool) -> Option<&'a Value> {
        let value = self.members.get(name);
        if value.is_none() && required {
            let field = self.path(name);
            self.faults.push(Fault::bare(field, "is required"));
        }
        value
    }

    fn text(&mut self, name: &str, value: &'a Value, max: usize) -> Option<&'a str> {
        self.check(name, value, &format!("must be a string of at most {max} characters"), |v| {
            v.as_str().filter(|t| t.chars().count() <= max)
        })
    }

    fn check<T>(
        &mut self,
        name: &str,
        value: &'a Value,
        must: &str,
        read: impl Fn(&'a Value) -> Option<T>,
    ) -> Option<T> {
        let found = read(value);
        if found.is_none() {
            let null = if value.is_null() { ", or be left out" } else { "" };
            self.fault(name, format!("{must}{null}"), value);
        }
        found
    }

    fn one_of<T: for<'n> From<&'n str>>(
        &mut self,
        name: &str,
        value: &'a Value,
        known: &[&str],
    ) -> Option<T> {
        self.check(name, value, &format!("must be one of {}", known.join(", ")), |v| {
            v.as_str().filter(|t| known.contains(t)).map(T::from)
        })
    }

    fn texts(
        &mut self,
        name: &str,
        value: &'a Value,
        max: usize,
        of: &str,
        good: impl Fn(&str) -> bool,
    ) -> Option<Vec<String>> {
        let items = self.check(name, value, &format!("must be an array of at most {max} strings"), |v| {
            v.as_array().filter(|items| items.len() <= max)
        })?;
        let mut texts = Vec::with_capacity(items.len());
        for (i, item) in items.iter().enumerate() {
            match item.as_str().filter(|t| good(t)) {
                Some(text) => texts.push(text.to_owned()),
                None => self.fault(&format!("{name}[{i}]"), format!("must be {of}"), item),
            }
        }
        (texts.len() == items.len()).then_some(texts)
    }

    fn project(&mut self) -> Option<Slug> {
        let value = self.get("project", true)?;
        let must = format!(
            "must be a project's slug: 1 to {SLUG_MAX} lower-case letters, digits and single hyphens"
        );
        let text = self.check("project", value, &must, |v| v.as_str().filter(|t| is_slug(t)))?;
        text.parse().ok()
    }

    fn task(&mut self, required: bool) -> Option<String> {
        let value = self.get("task_id", required)?;
        let must = format!("must be 1 to {TASK_MAX} letters, digits, '_' or '-'");
        self.check("task_id", value, &must, |v| v.as_str().filter(|t| is_task(t))).map(str::to_owned)
    }

    /// A required number that may be null. `Some(None)` is null.
    #[expect(clippy::option_option, reason = "a fault, null and a number are three things")]
    fn count(&mut self, name: &str, max: i64) -> Option<Option<i64>> {
        let value = self.get(name, true)?;
        self.check(
            name,
            value,
            &format!("must be a whole number from 0 to {max}, or null where it is not known"),
            |v| {
                if v.is_null() { Some(None) } else { whole(v).filter(|n| (0..=max).contains(n)).map(Some) }
            },
        )
    }

    /// Refuses members that are none of `known`. A body has room for 100,000 of them: only some are named.
    fn only(&mut self, known: &[&str]) {
        const NAMED: usize = 10;
        let others = || self.members.iter().filter(|(name, _)| !known.contains(&name.as_str()));
        let more = others().count().saturating_sub(NAMED);
        for (name, value) in others().take(NAMED) {
            let field = self.path(&head(name));
            let must = format!("is no member here; there are {}", known.join(", "));
            self.faults.push(Fault::new(field, must, value));
        }
        if more > 0 {
            self.faults.push(Fault::bare(format!("{more} more members"), "are none of these either"));
        }
    }
}

/// A number without a fraction, however it is written: 1200, 1200.0, 1.2e3.
fn whole(value: &Value) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, reason = "bounded to what an f64 holds exactly")]
    value.as_i64().or_else(|| value.as_f64().filter(|f| f.fract() == 0.0 && f.abs() < 9e15).map(|f| f as i64))
}

/// Checks the arguments of `update_pulse`: every fault at once, or the report.
pub fn update_pulse(arguments: &Map<String, Value>) -> Result<PulseReport, Vec<Fault>> {
    let mut r = Reader::new("", arguments);
    let project = r.project();
    let availability = r
        .get("availability", false)
        .and_then(|v| r.one_of::<Availability>("availability", v, Availability::KNOWN));
    let doing = r.get("doing", false).and_then(|v| r.text("doing", v, DOING_MAX)).map(str::to_owned);
    let task_id = r.task(false);
    let branch = r.get("branch", false).and_then(|v| r.text("branch", v, BRANCH_MAX)).map(str::to_owned);
    let files = r.get("files", false).and_then(|v| {
        let of = format!("a string of at most {PATH_MAX} characters");
        r.texts("files", v, FILES_MAX, &of, |t| t.chars().count() <= PATH_MAX)
    });
    let last_decision = r
        .get("last_decision", false)
        .and_then(|v| r.text("last_decision", v, DECISION_MAX))
        .map(str::to_owned);
    let run_failure = r.get("run_failure", false).and_then(|v| failure(&mut r, v));
    let clear = r
        .get("clear_run_failure", false)
        .and_then(|v| r.check("clear_run_failure", v, "must be true", |v| v.as_bool().filter(|b| *b)));
    let intent = r.get("intent", false).and_then(|v| intent(&mut r, v));
    match project {
        Some(project) if r.faults.is_empty() => Ok(PulseReport {
            project,
            availability,
            doing,
            task_id,
            branch,
            files,
            last_decision,
            run_failure,
            clear_run_failure: clear == Some(true),
            intent,
        }),
        _ => Err(r.faults),
    }
}

fn failure(outer: &mut Reader<'_>, value: &Value) -> Option<RunFailure> {
    let Some(members) = value.as_object() else {
        outer.fault("run_failure", "must be an object with class and step", value);
        return None;
    };
    let mut r = Reader::new("run_failure", members);
    let class = r.get("class", true).and_then(|v| r.one_of::<FailureClass>("class", v, FailureClass::KNOWN));
    let step = r.get("step", true).and_then(|v| r.one_of::<FailureStep>("step", v, FailureStep::KNOWN));
    r.only(&["class", "step"]);
    outer.faults.append(&mut r.faults);
    Some(RunFailure { class: class?, step: step?, more: super::More::new() })
}

fn intent(outer: &mut Reader<'_>, value: &Value) -> Option<IntentReport> {
    let Some(members) = value.as_object() else {
        outer.fault("intent", "must be an object with kind, paths and areas, or be left out", value);
        return None;
    };
    let mut r = Reader::new("intent", members);
    let kind = r.get("kind", true).and_then(|v| r.one_of::<IntentKind>("kind", v, IntentKind::KNOWN));
    let paths = r.get("paths", false).map(|v| {
        let of = format!("a path of 1 to {PATH_MAX} characters");
        r.texts("paths", v, INTENT_PATHS_MAX, &of, |t| (1..=PATH_MAX).contains(&t.chars().count()))
    });
    let areas = r.get("areas", false).map(|v| {
        let of = format!(
            "an area's name: 1 to {AREA_MAX} lower-case letters, digits, '_' or '-', none of these two first"
        );
        r.texts("areas", v, INTENT_AREAS_MAX, &of, is_area)
    });
    r.only(&["kind", "paths", "areas"]);
    outer.faults.append(&mut r.faults);
    Some(IntentReport {
        kind: kind?,
        paths: paths.unwrap_or(Some(Vec::new()))?,
        areas: areas.unwrap_or(Some(Vec::new()))?,
    })
}

fn is_area(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    text.len() <= AREA_MAX
        && text.bytes().enumerate().all(|(i, b)| plain(b) || (i > 0 && (b == b'_' || b == b'-')))
        && !text.is_empty()
}

/// Checks the arguments of `report_run`: every fault at once, or the report.
pub fn report_run(arguments: &Map<String, Value>) -> Result<RunReport, Vec<Fault>> {
    const MEMBERS: [&str; 8] = [
        "project",
        "run_id",
        "task_id",
        "input_tokens",
        "output_tokens",
        "turns",
        "duration_ms",
        "exit_code",
    ];
    let mut r = Reader::new("", arguments);
    let project = r.project();
    let run_id = r.get("run_id", true).and_then(|v| {
        r.check("run_id", v, "must be a UUID", |v| v.as_str().and_then(|t| t.parse::<RunId>().ok()))
    });
    let task_id = r.task(true);
    let input_tokens = r.count("input_tokens", COUNT_MAX);
    let output_tokens = r.count("output_tokens", COUNT_MAX);
    let turns = r.count("turns", COUNT_MAX);
    let duration_ms = r.count("duration_ms", COUNT_MAX);
    let exit_code = r.count("exit_code", EXIT_MAX);
    r.only(&MEMBERS);
    let read = || {
        Some(RunReport {
            project: project?,
            run_id: run_id?,
            task_id: task_id?,
            input_tokens: input_tokens?,
            output_tokens: output_tokens?,
            turns: turns?,
            duration_ms: duration_ms?,
            exit_code: exit_code?,
        })
    };
    if r.faults.is_empty() { read().ok_or(r.faults) } else { Err(r.faults) }
}
