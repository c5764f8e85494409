//! Runs the user's own command that calls them: one at a time, for a bounded time, in silence.

use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal as Kill, kill_process_group};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;

use super::Signal;
use crate::alarm::Alarm;
use crate::shown;

/// Calls that may wait for the one that is being made.
const WAITING: usize = 8;
/// How long a command may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Runs `command` for each alarm that is sent. The first time that it fails, `screen` is told.
pub fn spawn(command: Vec<String>, screen: mpsc::Sender<Signal>) -> mpsc::Sender<Alarm> {
    let (sender, mut alarms) = mpsc::channel::<Alarm>(WAITING);
    tokio::spawn(async move {
        let mut told = false;
        while let Some(alarm) = alarms.recv().await {
            if let Err(fault) = call(&command, &alarm).await
                && !std::mem::replace(&mut told, true)
            {
                let text = format!("notify = {}: {fault}", shown::line(&format!("{command:?}")));
                let _ = screen.send(Signal::Notice(text)).await;
            }
        }
    });
    sender
}

/// Runs it once, to its end. Its words go nowhere, since the screen is not its own.
async fn call(command: &[String], alarm: &Alarm) -> Result<(), String> {
    let Some((program, arguments)) = command.split_first() else { return Ok(()) };
    let child = Command::new(program)
        .args(arguments)
        .env("PRICKLE_EVENT", alarm.what.as_str())
        .env("PRICKLE_AGENT", shown::line(alarm.agent.as_str()))
        .env("PRICKLE_PROJECT", &alarm.project)
        .env("PRICKLE_TEXT", &alarm.text)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // A group of its own: the terminal's Ctrl-C and Ctrl-Z are not meant for it, and it ends with all it started.
        .process_group(0)
        .spawn()
        .map_err(|error| error.kind().to_string())?;
    let mut group = Group(child);
    match tokio::time::timeout(PATIENCE, group.0.wait()).await {
        Err(_) => Err(format!("still running after {} seconds, and killed", PATIENCE.as_secs())),
        Ok(Err(error)) => Err(error.kind().to_string()),
        Ok(Ok(status)) if !status.success() => Err(status.to_string()),
        Ok(Ok(_)) => Ok(()),
    }
}

/// A command and what it started; dropped before its end, all of it is killed. Its end is reaped by tokio.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        // Only while it has not been reaped is the number still its own.
        let id = self.0.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(id) = id {
            let _ = kill_process_group(id, Kill::KILL);
        }
    }
}
