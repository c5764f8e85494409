//! The cast of the demo and its story: what nine made-up agents of three owners report, and when.

use chrono::TimeDelta;
use serde_json::{Value, json};

use super::runs;

/// The demo's room.
pub const PROJECT: &str = "website-v2";
/// Whose window the demo is.
pub const OWNER: &str = "acme";
/// The story begins again after this long.
pub const PERIOD: TimeDelta = TimeDelta::seconds(90);

/// One report of one agent: the arguments of its call, without the project.
#[derive(Debug, Clone)]
pub struct Call {
    /// Before the demo began, or within the story after it began.
    pub at: TimeDelta,
    /// Whose.
    pub agent: &'static str,
    /// `update_pulse`, or `report_run`, which gets a `run_id` of its own at each call.
    pub tool: &'static str,
    /// What it says.
    pub says: Value,
    /// What the demo's panel tells beforehand.
    pub tells: Option<&'static str>,
}

fn call(at: TimeDelta, agent: &'static str, says: Value) -> Call {
    Call { at, agent, tool: "update_pulse", says, tells: None }
}

fn builder() -> Value {
    json!({"doing": "Removing the old session middleware", "task_id": "auth-cleanup",
        "branch": "refactor/drop-sessions", "files": ["src/auth/session.rs", "src/auth/mod.rs"],
        "intent": {"kind": "remove", "paths": ["src/auth/**"]}})
}

fn fixer(intent: bool) -> Value {
    let mut says = json!({"doing": "Fixing the redirect loop after login", "task_id": "login-redirect",
        "branch": "fix/login-redirect",
        "files": ["src/auth/login.rs", "src/auth/redirect.rs", "tests/login.rs"],
        "last_decision": "Keep the old cookie name until the next release."});
    if intent {
        says["intent"] = json!({"kind": "change", "paths": ["src/auth/login.rs"]});
    } else {
        says["doing"] = "Waiting until the session code is gone".into();
        says["availability"] = "idle".into();
    }
    says
}

fn docs(doing: &str) -> Value {
    json!({"doing": doing, "task_id": "pricing-ja", "branch": "docs/ja-pricing",
        "files": ["content/pricing/ja.md"]})
}

fn failure(class: &str, step: &str, task: &str) -> Value {
    json!({"run_failure": {"class": class, "step": step}, "task_id": task})
}

fn cleared(task: &str) -> Value {
    json!({"clear_run_failure": true, "task_id": task})
}

/// What was reported before the demo began, oldest first; `at` is how long ago.
pub fn earlier() -> Vec<Call> {
    let (m, s, h) = (TimeDelta::minutes, TimeDelta::seconds, TimeDelta::hours);
    let planner = |doing: &str, availability: &str| {
        json!({"availability": availability, "doing": doing, "task_id": "nav-plan", "branch": "plan/nav",
            "last_decision": "Three menus, not five: the fifth had one entry."})
    };
    vec![
        call(
            TimeDelta::days(1),
            "orbit/watcher",
            json!({"availability": "offline", "doing": "Watching the build"}),
        ),
        call(
            h(3) + m(12),
            "orbit/deployer",
            json!({"availability": "working", "doing": "Deploying the preview"}),
        ),
        call(h(3) + m(11), "orbit/deployer", json!({"availability": "asleep", "doing": ""})),
        call(m(90), "acme/builder", json!({"doing": "Reading the session code", "task_id": "auth-cleanup"})),
        call(m(89), "acme/builder", failure("provider", "claude_code_service", "auth-cleanup")),
        call(m(51), "acme/builder", cleared("auth-cleanup")),
        call(
            m(47),
            "acme/reviewer",
            json!({"doing": "Reviewing the navigation plan", "task_id": "nav-review", "branch": "review/nav",
                "files": ["docs/nav.md", "src/nav/menu.rs"],
                "last_decision": "Keep the menu one level deep until the search page exists."}),
        ),
        call(m(30), "acme/reviewer", failure("auth", "claude_code_sign_in", "nav-review")),
        call(m(27), "lumen/docs", docs("Reading the pricing page")),
        call(m(26), "acme/planner", planner("Counting the menus", "working")),
        call(
            m(24),
            "lumen/fixer",
            json!({"doing": "Reproducing the redirect loop", "branch": "fix/login-redirect",
            "task_id": "login-redirect"}),
        ),
        call(
            m(22),
            "orbit/tester",
            json!({"availability": "away", "doing": "Running the smoke tests",
            "task_id": "smoke-tests", "branch": "main"}),
        ),
        call(m(14), "orbit/tester", failure("rate_limit", "codex_usage_limit", "smoke-tests")),
        call(m(9), "lumen/styler", json!({"availability": "online", "doing": "Ready for the next task"})),
        call(m(6), "acme/planner", planner("Waiting for the nav review", "idle")),
        call(m(2) + s(10), "acme/builder", builder()),
        call(m(1) + s(15), "lumen/fixer", fixer(true)),
        call(s(12), "lumen/docs", docs("Translating the pricing page 料金ページ")),
    ]
}

/// What goes on while somebody looks; `at` is the time into the story, which then begins again.
pub fn story() -> Vec<Call> {
    let told = |call: Call, tells: &'static str| Call { tells: Some(tells), ..call };
    let beat = |seconds: i64, agent: &'static str, says: Value, tells: &'static str| Call {
        tells: (!tells.is_empty()).then_some(tells),
        ..call(TimeDelta::seconds(seconds), agent, says)
    };
    vec![
        beat(20, "lumen/fixer", fixer(false), "lumen/fixer gets out of the way, and the clash ends"),
        beat(
            32,
            "acme/reviewer",
            cleared("nav-review"),
            "acme/reviewer is signed in again: its failure is cleared",
        ),
        beat(
            33,
            "acme/reviewer",
            json!({"doing": "Reviewing the navigation plan again", "task_id": "nav-review", "branch": "review/nav",
                "files": ["docs/nav.md"]}),
            "",
        ),
        beat(
            46,
            "orbit/indexer",
            json!({"doing": "Building the search index", "task_id": "search-index", "branch": "feat/search",
                "intent": {"kind": "add", "paths": ["src/search/**"]}}),
            "orbit/indexer joins the room",
        ),
        told(
            runs::one(TimeDelta::seconds(53), "acme/reviewer", "nav-review", [48_210, 3_904, 11, 20_400, 0]),
            "a run of acme/reviewer ends, and nav-review has used more: press 3",
        ),
        beat(
            63,
            "lumen/styler",
            failure("timeout", "task_time_limit", "hero-css"),
            "a run of lumen/styler runs out of time",
        ),
        beat(74, "lumen/styler", cleared("hero-css"), "lumen/styler runs again"),
        beat(
            76,
            "orbit/indexer",
            json!({"availability": "offline", "doing": "The search index is built"}),
            "",
        ),
        beat(78, "lumen/docs", docs("Translating the pricing page 料金ページ"), ""),
        beat(79, "acme/builder", builder(), ""),
        beat(
            84,
            "lumen/fixer",
            fixer(true),
            "lumen/fixer is back at src/auth/login.rs, and the clash begins again",
        ),
        beat(
            88,
            "acme/reviewer",
            failure("auth", "claude_code_sign_in", "nav-review"),
            "acme/reviewer is signed out",
        ),
    ]
}

/// Everyone who ever reports, each once.
pub fn agents() -> Vec<&'static str> {
    let calls = runs::earlier().into_iter().chain(earlier()).chain(story());
    let mut names: Vec<&str> = calls.map(|call| call.agent).collect();
    names.sort_unstable();
    names.dedup();
    names
}
