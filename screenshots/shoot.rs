//! One picture: the real binary in a pseudo-terminal until it shows what it has to.

use std::io::{Read, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::Context;
use portable_pty::{CommandBuilder, PtySize, native_pty_system};

use crate::own::Machine;
use crate::running::Running;

/// What a picture is of.
pub struct Shot {
    pub name: &'static str,
    pub of: Of,
    pub size: (u16, u16),
    pub keys: &'static str,
    /// What the screen holds after the first key, after the second, and so on, where that has to be waited for.
    pub shows: &'static [&'static str],
    pub args: &'static [&'static str],
    pub light: bool,
}

/// Where the room comes from.
pub enum Of {
    /// A recording, at a moment of it.
    Recording(&'static str, &'static str),
    /// A fresh machine's own.
    Own,
    /// The demo's, at a moment.
    Running(&'static str),
}

/// Nothing written for so long after something was: the program has drawn what it had to.
const QUIET: Duration = Duration::from_millis(250);
/// What the last row of a whole picture holds: how to get help, or the place where letters go.
const FOOTERS: &[&str] = &["? ", "▏"];
const PATIENCE: Duration = Duration::from_secs(20);

/// Builds the binary in this example's profile, and says where it is.
pub fn binary() -> anyhow::Result<PathBuf> {
    let here = std::env::current_exe()?;
    let folder =
        here.parent().and_then(Path::parent).context("an example lies in target/PROFILE/examples")?;
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--bin", "prickle"]);
    if folder.ends_with("release") {
        cargo.arg("--release");
    }
    anyhow::ensure!(cargo.status()?.success(), "the binary does not build");
    Ok(folder.join("prickle"))
}

impl Shot {
    /// The screen after the keys.
    pub fn take(&self, binary: &Path) -> anyhow::Result<vt100::Screen> {
        let (cols, rows) = self.size;
        let size = PtySize { rows, cols, pixel_width: 0, pixel_height: 0 };
        let pty = native_pty_system().openpty(size)?;
        let mut command = CommandBuilder::new(binary);
        command.arg("watch");
        command.env_clear();
        let home = tempfile::tempdir()?;
        let mut running = None;
        let own = match self.of {
            Of::Recording(file, at) => {
                command.args(["--replay", file, "--at", at, "--as-if-live"]);
                command.cwd(std::env::current_dir()?);
                command.env("PRICKLE_HOME", home.path());
                None
            }
            Of::Own => {
                let machine = Machine::new(binary)?;
                machine.connect()?;
                command.cwd(machine.folder());
                machine.environment().iter().for_each(|(name, value)| command.env(name, value));
                Some(machine)
            }
            Of::Running(at) => {
                let room = running.insert(Running::open(at.parse()?)?);
                room.environment()?.iter().for_each(|(name, value)| command.env(name, value));
                command.env("PRICKLE_HOME", home.path());
                command.cwd(home.path());
                None
            }
        };
        command.args(self.args);
        for (name, value) in [("TERM", "xterm-256color"), ("LANG", "C.UTF-8"), ("TZ", "UTC")] {
            command.env(name, value);
        }
        let mut child = pty.slave.spawn_command(command)?;
        drop(pty.slave);
        let mut reader = pty.master.try_clone_reader()?;
        let (sender, bytes) = mpsc::channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                if sender.send(buffer[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        let mut writer = pty.master.take_writer()?;
        let (rows, cols) = (NonZero::new(rows), NonZero::new(cols));
        let (rows, cols) = rows.zip(cols).context("a picture has rows and columns")?;
        let mut terminal = vt100::Parser::new(rows, cols, 0);
        let mut settle = |until: &[&str]| -> anyhow::Result<()> {
            let deadline = Instant::now() + PATIENCE;
            loop {
                match bytes.recv_timeout(QUIET) {
                    Ok(bytes) => terminal.process(&bytes),
                    Err(_) if until.iter().any(|text| terminal.screen().contents().contains(text)) => {
                        return Ok(());
                    }
                    Err(_) => anyhow::ensure!(
                        Instant::now() < deadline,
                        "{}: no {until:?} on the screen:\n{}",
                        self.name,
                        terminal.screen().contents()
                    ),
                }
            }
        };
        settle(if own.is_some() { &["its first pulse"] } else { FOOTERS })?;
        let mut shows = self.shows.iter();
        for key in self.keys.chars() {
            write!(writer, "{key}")?;
            settle(shows.next().map_or(FOOTERS, std::slice::from_ref))?;
        }
        let screen = match own {
            Some(_) => Machine::steady(terminal.screen()),
            None => terminal.screen().clone(),
        };
        write!(writer, "\u{3}")?;
        let status = child.wait()?;
        anyhow::ensure!(status.success(), "{}: the program ended with {status:?}", self.name);
        Ok(screen)
    }
}
