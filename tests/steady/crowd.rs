//! A crowded room: so many agents, and what each of them says.
#![allow(dead_code, reason = "each program uses its part")]

use chrono::TimeDelta;
use prickle::wire::Time;
use serde_json::{Value, json};

/// The id of the agent `n` of a crowd: a hundred to an owner.
pub fn id(n: usize) -> String {
    format!("team-{:03}/agent-{n:05}", n / 100)
}

/// What it says at `said`: most work, some are quiet, one in fifty has failed, one in ten has an intent on files
/// of its own, and one in a hundred would undo what its neighbour does.
pub fn pulse(n: usize, said: Time, doing: &str) -> Value {
    let availability = ["working", "working", "working", "online", "idle", "asleep"][n * 7 % 6];
    let owner = format!("team-{:03}", n / 100);
    let mut pulse = json!({
        "agent_id": id(n), "owner": owner, "project": "website-v2", "availability": availability,
        "doing": doing, "task_id": "auth-cleanup", "branch": format!("feat/part-{n}"),
        "files": [format!("src/part-{n}/mod.rs"), format!("src/part-{n}/form.rs")],
        "last_decision": null, "updated_at": said,
    });
    if n % 50 == 3 {
        pulse["run_failure"] = json!({"class": "auth", "step": "codex_sign_in"});
    }
    if n % 10 == 5 {
        let (kind, of) = if n % 100 == 95 { ("remove", n - 10) } else { ("change", n) };
        let expires_at = said + TimeDelta::minutes(90);
        pulse["intent"] = json!({"kind": kind, "paths": [format!("src/part-{of}/**")], "areas": [], "expires_at": expires_at});
    }
    pulse
}

/// What one does in the crowd's room, another each time.
pub fn doing(n: usize, step: usize) -> String {
    const WORDS: [&str; 6] = ["Writing", "Reading", "Moving", "Testing", "Removing", "Naming"];
    format!("{} step {step} of the pricing page 料金, section {}", WORDS[step % WORDS.len()], n % 17)
}
