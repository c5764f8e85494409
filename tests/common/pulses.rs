//! Pulses and news as a room tells them, on the day of the recorded room.
#![allow(dead_code, reason = "each test uses its part")]
#![allow(clippy::unwrap_used, missing_docs)]

use chrono::TimeDelta;
use prickle::picture::Heard;
use prickle::wire::Time;
use serde_json::{Value, json};

/// While the recorded room is connected.
pub const LIVE: &str = "2026-11-30T14:32:10Z";

/// A moment, whole as in [`LIVE`] or as the clock shows it on that day: `14:32:10`.
pub fn time(at: &str) -> Time {
    if at.contains('T') { at.parse().unwrap() } else { format!("2026-11-30T{at}Z").parse().unwrap() }
}

pub fn with(mut pulse: Value, more: &Value) -> Value {
    for (name, value) in more.as_object().unwrap() {
        pulse[name] = value.clone();
    }
    pulse
}

/// A pulse of `at`, of an agent that works and says nothing but `more`.
pub fn pulse(agent: &str, at: &str, more: &Value) -> Value {
    let pulse = json!({"agent_id": agent, "owner": agent.split('/').next(), "project": "website-v2",
        "availability": "working", "doing": "", "task_id": null, "branch": null, "files": [],
        "last_decision": null, "updated_at": time(at)});
    with(pulse, more)
}

/// A pulse of `at`; its intent, as `kind path #area`, holds for half an hour.
pub fn said(agent: &str, at: &str, intent: &str, files: &[&str]) -> Value {
    let mut pulse = pulse(agent, at, &json!({"files": files}));
    if let Some((kind, names)) = intent.split_once(' ') {
        let (areas, paths): (Vec<&str>, Vec<&str>) = names.split(' ').partition(|name| name.starts_with('#'));
        let areas: Vec<&str> = areas.iter().map(|area| &area[1..]).collect();
        let ends = time(at) + TimeDelta::minutes(30);
        pulse["intent"] = json!({"kind": kind, "paths": paths, "areas": areas, "expires_at": ends});
    }
    pulse
}

/// The connection stands, at the event `seq`.
pub fn live(at: &str, seq: u64, resumed: bool) -> Value {
    json!({"news": "live", "epoch": "e", "seq": seq, "server_time": time(at), "resumed": resumed})
}

/// The room takes an agent's pulse.
pub fn event(seq: u64, at: &str, pulse: &Value) -> Value {
    json!({"news": "event", "frame": {"type": "pulse", "seq": seq, "at": time(at), "pulse": pulse}})
}

/// News as they are heard at `at`.
pub fn heard(at: &str, mut news: Value) -> Heard {
    news["at"] = json!(time(at));
    serde_json::from_value(news).unwrap()
}
