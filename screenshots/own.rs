//! A fresh machine for one picture: a home of its own whose room is opened, with an agent that has come half of
//! its way. What is another at each run, the clock and the port, is set to what the other pictures have.

use std::path::Path;
use std::process::Command;

use anyhow::Context;

/// An empty home with the repository `website-v2` in it. Its room is closed at the end.
pub struct Machine<'a> {
    binary: &'a Path,
    home: tempfile::TempDir,
}

impl<'a> Machine<'a> {
    pub fn new(binary: &'a Path) -> anyhow::Result<Self> {
        let machine = Self { binary, home: tempfile::tempdir()? };
        std::fs::create_dir_all(machine.folder().join(".git"))?;
        Ok(machine)
    }

    /// Where its user works.
    pub fn folder(&self) -> std::path::PathBuf {
        self.home.path().join("website-v2")
    }

    pub fn environment(&self) -> Vec<(&'static str, String)> {
        let files = self.home.path().join("prickle").display().to_string();
        vec![("PRICKLE_HOME", files), ("PRICKLE_LOCAL_PORT", "0".into()), ("USER", "acme".into())]
    }

    fn run(&self, args: &[&str]) -> anyhow::Result<String> {
        let mut command = Command::new(self.binary);
        command.args(args).current_dir(self.folder()).env_clear().envs(self.environment());
        let ran = command.output()?;
        anyhow::ensure!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
        Ok(String::from_utf8(ran.stdout)?)
    }

    /// Lets an agent in, which asks for the tools as its app does when it starts.
    pub fn connect(&self) -> anyhow::Result<()> {
        let steps = self.run(&["connect", "claude-code", "--print"])?;
        let between = |from: &str, to: &str| {
            let rest = steps.split(from).nth(1)?;
            rest.split(to).next().map(str::to_owned)
        };
        let token = between("PRICKLE_TOKEN=\"", "\"").context("connect printed no token")?;
        let url = between("\"url\":\"", "\"").context("connect printed no address")?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let asked = runtime.block_on(async {
            let request = reqwest::Client::builder().no_proxy().build()?.post(url).bearer_auth(token);
            let accept = "application/json, text/event-stream";
            let request = request.header("accept", accept).header("content-type", "application/json");
            request.body(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).send().await
        });
        anyhow::ensure!(asked?.status().is_success(), "the room listed no tools");
        Ok(())
    }

    /// The screen with the other pictures' time and the usual port.
    pub fn steady(screen: &vt100::Screen) -> vt100::Screen {
        let (rows, cols) = screen.size();
        let drawn = screen.contents_formatted();
        let mut text = String::with_capacity(drawn.len());
        let mut rest = drawn.as_str();
        while let Some(c) = rest.chars().next() {
            if let Some(after) = minute(rest) {
                text.push_str("14:32");
                rest = after;
            } else if let Some(after) = rest.strip_prefix("127.0.0.1:") {
                text.push_str("127.0.0.1:7766");
                rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
            } else {
                text.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
        let mut terminal = vt100::Parser::new(rows, cols, 0);
        terminal.process(text.as_bytes());
        terminal.screen().clone()
    }
}

/// What stands behind a clock time that `text` begins with.
fn minute(text: &str) -> Option<&str> {
    let (clock, rest) = text.split_at_checked(5)?;
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    let (hour, minute) = clock.split_once(':')?;
    (hour.len() == 2 && digits(hour) && digits(minute)).then_some(rest)
}

impl Drop for Machine<'_> {
    fn drop(&mut self) {
        let _ = self.run(&["serve", "--stop"]);
    }
}
