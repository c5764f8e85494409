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
            if let Err(fault) = call(&command, &alarm, PATIENCE).await
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
async fn call(command: &[String], alarm: &Alarm, patience: Duration) -> Result<(), String> {
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
    match tokio::time::timeout(patience, group.0.wait()).await {
        Err(_) => Err(format!("still running after {} s, and killed", patience.as_secs_f32())),
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rustix::process::test_kill_process;

    use super::*;
    use crate::alarm::What;

    fn alarm(text: &str) -> Alarm {
        let agent = "acme/a".parse().unwrap();
        Alarm { what: What::Failed, agent, project: "site".into(), text: text.into() }
    }

    fn shell(script: &str) -> Vec<String> {
        ["sh", "-c", script].map(str::to_owned).into()
    }

    #[tokio::test]
    async fn a_command_that_does_not_end_is_killed_with_all_that_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("started");
        let script = format!("sleep 1000 & echo $! > {}; wait", file.display());
        let fault = call(&shell(&script), &alarm(""), Duration::from_millis(500)).await;
        assert_eq!(fault.unwrap_err(), "still running after 0.5 s, and killed");
        let id: i32 = std::fs::read_to_string(file).unwrap().trim().parse().unwrap();
        let id = Pid::from_raw(id).unwrap();
        // Killed, it is init's to reap; until then it is a process without life.
        let alive = || {
            let stat =
                std::fs::read_to_string(format!("/proc/{}/stat", id.as_raw_nonzero())).unwrap_or_default();
            test_kill_process(id).is_ok() && !stat.contains(") Z ")
        };
        let until = std::time::Instant::now() + Duration::from_secs(10);
        while alive() {
            assert!(std::time::Instant::now() < until, "it lives on");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    #[tokio::test]
    async fn one_runs_at_a_time_and_of_too_many_the_first_count() {
        let folder = tempfile::tempdir().unwrap();
        let (gate, log) = (folder.path().join("gate"), folder.path().join("log"));
        // Each waits for the gate, says what it was told, and would complain of company.
        let script = format!(
            "mkdir {0}.lock || echo crowd >> {1}; while ! test -e {0}; do sleep 0.01; done; \
             echo \"$PRICKLE_TEXT\" >> {1}; rmdir {0}.lock",
            gate.display(),
            log.display()
        );
        let (screen, mut told) = mpsc::channel(1);
        let commands = spawn(shell(&script), screen);
        commands.send(alarm("0")).await.unwrap();
        while commands.capacity() < WAITING {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let taken = (1..=20).filter(|n| commands.try_send(alarm(&n.to_string())).is_ok()).count();
        assert_eq!(taken, WAITING);
        std::fs::write(&gate, "").unwrap();
        drop(commands);
        assert_eq!(told.recv().await, None, "nothing fails");
        assert_eq!(std::fs::read_to_string(log).unwrap(), "0\n1\n2\n3\n4\n5\n6\n7\n8\n");
    }
}
