//! `prickle pulse`: one `update_pulse` from a shell or a hook.

use std::io::Write;

use serde_json::{Map, Value, json};

use super::{PulseArgs, Reach, local, room};
use crate::client::{CallError, mcp};
use crate::config::Config;
use crate::shown;
use crate::wire::id::Slug;
use crate::wire::pulse::Pulse;
use crate::words;

pub(super) fn run(args: &PulseArgs, reach: &Reach) -> anyhow::Result<()> {
    let config = Config::load(reach)?.with_project(args.project.clone()).as_agent();
    room::warn(&config);
    let config = local::ready_to_speak(config)?;
    room::run(send(args, &config))
}

async fn send(args: &PulseArgs, config: &Config) -> anyhow::Result<()> {
    let project = room::project(config).await?;
    let access = config.access().map_err(super::Environment)?;
    let report = arguments(args, &project);
    let sent = local::ask(config, &access, async |access| {
        mcp::call(access, "update_pulse", report.clone(), room::PATIENCE).await
    });
    let value = match sent.await {
        Ok(value) => value,
        Err(CallError::Refused(text)) => anyhow::bail!(text),
        Err(error) => return Err(room::no_answer(config, error).into()),
    };
    let line = if args.json { shown::json(&value.to_string()) } else { holds(&value)? };
    writeln!(std::io::stdout(), "{line}")?;
    Ok(())
}

/// The call's arguments: what was left out on the command line is left out.
fn arguments(args: &PulseArgs, project: &Slug) -> Map<String, Value> {
    let mut call = Map::new();
    call.insert("project".into(), json!(project));
    call.insert("doing".into(), json!(args.doing));
    let texts = [
        ("availability", &args.availability),
        ("task_id", &args.task),
        ("branch", &args.branch),
        ("last_decision", &args.decision),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            call.insert(name.into(), json!(text));
        }
    }
    if !args.files.is_empty() {
        call.insert("files".into(), json!(args.files));
    }
    if let Some(kind) = &args.intent {
        call.insert("intent".into(), json!({ "kind": kind, "paths": args.paths, "areas": args.areas }));
    }
    call
}

/// What the room now holds, in one line.
fn holds(result: &Value) -> anyhow::Result<String> {
    let pulse: Option<Pulse> =
        result.get("pulse").cloned().map(serde_json::from_value).transpose()?.flatten();
    let Some(pulse) = pulse else {
        return Ok("The room took it and holds no pulse of this agent.".into());
    };
    let mut line = format!("{} is {} in {}", pulse.agent_id, pulse.availability.as_str(), pulse.project);
    if !pulse.doing.is_empty() {
        line = format!("{line}: {}", pulse.doing);
    }
    if let Some(intent) = pulse.intent {
        let grounds = [&intent.paths[..], &intent.areas[..]].concat().join(", ");
        let grounds = if grounds.is_empty() { words::target(&intent) } else { grounds };
        let until = room::zone().minute(intent.expires_at);
        line = format!("{line} (about to {} {grounds} until {until})", intent.kind.as_str());
    }
    Ok(shown::line(&line))
}
