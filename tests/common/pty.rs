//! A program in a real terminal: started, typed at, resized, and read back as the cells that it drew.
//!
//! Nothing runs in the background: the terminal takes in what the program wrote only while somebody waits for
//! something, so that what is seen stands still until the next wait. A wait ends between two pictures, never in
//! the middle of one.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::missing_panics_doc)]

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use filedescriptor::FileDescriptor;
use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::Termios;

/// How long to wait for anything before it counts as missing.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// What a picture of the program ends with: it hides the cursor after each.
const PICTURE_END: &[u8] = b"\x1b[?25l";

/// A terminal with a program in it. Dropping it ends the program.
pub struct Terminal {
    /// Both are `None` once the terminal has been closed.
    master: Option<Box<dyn MasterPty + Send>>,
    wire: Option<FileDescriptor>,
    /// The terminal's modes before the program came.
    first_modes: Termios,
    child: Box<dyn Child + Send + Sync>,
    parser: vt100::Parser,
    raw: Vec<u8>,
    /// Nothing more will come: the program's side is closed.
    silent: bool,
}

impl Terminal {
    /// Starts a program with exactly this environment in a terminal of `columns` and `rows`, which may be 0.
    /// It works in its `HOME`.
    pub fn start(argv: &[&str], env: &[(&str, &str)], columns: u16, rows: u16) -> Self {
        Self::start_as(argv, env, columns, rows, true)
    }

    /// The same, without making it the program's controlling terminal: no signal comes from it.
    pub fn start_uncontrolled(argv: &[&str], env: &[(&str, &str)], columns: u16, rows: u16) -> Self {
        Self::start_as(argv, env, columns, rows, false)
    }

    fn start_as(argv: &[&str], env: &[(&str, &str)], columns: u16, rows: u16, controls: bool) -> Self {
        let pair = native_pty_system().openpty(size(columns, rows)).expect("a terminal");
        let mut command = CommandBuilder::from_argv(argv.iter().map(Into::into).collect());
        command.env_clear();
        env.iter().for_each(|(name, value)| command.env(name, value));
        command.set_controlling_tty(controls);
        let wire = FileDescriptor::dup(&pair.master.as_raw_fd().expect("a descriptor")).unwrap();
        let first_modes = rustix::termios::tcgetattr(&wire).unwrap();
        let child = pair.slave.spawn_command(command).unwrap_or_else(|e| panic!("{argv:?}: {e}"));
        let parser = vt100::Parser::new(at_least_one(rows), at_least_one(columns), 0);
        let (master, wire) = (Some(pair.master), Some(wire));
        Self { master, wire, first_modes, child, parser, raw: Vec::new(), silent: false }
    }

    /// The program's process id.
    pub fn id(&self) -> u32 {
        self.child.process_id().expect("a process")
    }

    /// The process group in the terminal's foreground: under a shell with job control, the job.
    pub fn foreground(&self) -> i32 {
        self.master.as_ref().and_then(|m| m.process_group_leader()).expect("a foreground group")
    }

    /// Types.
    pub fn send(&mut self, keys: &str) {
        self.wire.as_mut().expect("an open terminal").write_all(keys.as_bytes()).unwrap();
    }

    /// Makes the terminal so many columns and rows; the program is told by a signal.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        self.take_in();
        self.parser.screen_mut().set_size(at_least_one(rows), at_least_one(columns));
        self.master.as_ref().expect("an open terminal").resize(size(columns, rows)).unwrap();
    }

    /// Empties the screen behind the program's back: what is on it afterwards was drawn afterwards.
    pub fn wipe(&mut self) {
        self.take_in();
        self.parser.process(b"\x1b[m\x1b[2J");
    }

    /// The terminal's modes, as its programs have set them.
    pub fn modes(&self) -> Termios {
        rustix::termios::tcgetattr(self.wire.as_ref().expect("an open terminal")).unwrap()
    }

    /// Its modes before the program came.
    pub fn first_modes(&self) -> &Termios {
        &self.first_modes
    }

    /// Closes the terminal, as the end of a window or of an ssh connection does.
    pub fn close(&mut self) {
        self.take_in();
        self.wire = None;
        self.master = None;
        self.silent = true;
    }

    /// The screen's cells.
    pub fn screen(&self) -> &vt100::Screen {
        self.parser.screen()
    }

    /// The screen's rows, without blanks at their ends.
    pub fn rows(&self) -> Vec<String> {
        let screen = self.screen();
        let columns = screen.size().1.get();
        screen.rows(0, columns).map(|row| row.trim_end().to_owned()).collect()
    }

    /// The screen's text.
    pub fn text(&self) -> String {
        self.rows().join("\n")
    }

    /// Every byte that the program has written.
    pub fn raw(&self) -> &[u8] {
        &self.raw
    }

    /// The same as text.
    pub fn raw_text(&self) -> String {
        String::from_utf8_lossy(&self.raw).into_owned()
    }

    /// Waits until `text` is on the screen.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) {
        self.wait_until(text, |terminal| terminal.text().contains(text));
    }

    /// Waits until all of `texts` are on the screen at once.
    #[track_caller]
    pub fn wait_for_all(&mut self, texts: &[&str]) {
        self.wait_until(&format!("{texts:?}"), |terminal| {
            let screen = terminal.text();
            texts.iter().all(|text| screen.contains(text))
        });
    }

    /// Waits until `text` is not on the screen.
    #[track_caller]
    pub fn wait_without(&mut self, text: &str) {
        self.wait_until(&format!("no {text}"), |terminal| !terminal.text().contains(text));
    }

    /// Waits until `holds` of a whole picture, and fails with the screen where it does not come to hold.
    #[track_caller]
    pub fn wait_until(&mut self, what: &str, mut holds: impl FnMut(&Self) -> bool) {
        self.wait_anyhow(what, |terminal| terminal.is_between_pictures() && holds(terminal));
    }

    /// The same of a picture that may be half drawn, or drawn over by others.
    #[track_caller]
    pub fn wait_anyhow(&mut self, what: &str, mut holds: impl FnMut(&Self) -> bool) {
        let until = Instant::now() + PATIENCE;
        loop {
            self.take_in();
            if holds(self) {
                return;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let raw = self.raw_text();
                let tail: String = raw.chars().skip(raw.chars().count().saturating_sub(400)).collect();
                let ended = self.child.try_wait().unwrap();
                panic!(
                    "not within {PATIENCE:?}: {what}; the program: {ended:?}; its last bytes: {tail:?}; \
                     the screen:\n{}",
                    self.text()
                );
            }
            self.listen(left.min(Duration::from_millis(20)));
        }
    }

    /// Waits until the program has ended and all that it wrote has been taken in.
    #[track_caller]
    pub fn wait_exit(&mut self) -> ExitStatus {
        let until = Instant::now() + PATIENCE;
        loop {
            let ended = self.child.try_wait().unwrap();
            self.take_in();
            if let Some(ended) = ended {
                return ended;
            }
            assert!(Instant::now() < until, "it does not end; the screen:\n{}", self.text());
            self.listen(Duration::from_millis(20));
        }
    }

    /// Whether the program is not in the middle of drawing.
    fn is_between_pictures(&self) -> bool {
        // Where only the title or a bell was due, that stands alone.
        !self.screen().alternate_screen() || self.raw.ends_with(PICTURE_END) || self.raw.ends_with(b"\x07")
    }

    /// Takes in what is there.
    fn take_in(&mut self) {
        while self.listen(Duration::ZERO) {}
    }

    /// Waits for more of the program, at most so long; says whether something came.
    fn listen(&mut self, wait: Duration) -> bool {
        let Some(wire) = self.wire.as_mut().filter(|_| !self.silent) else {
            // Only the program's end can still be waited for.
            std::thread::sleep(wait.min(Duration::from_millis(5)));
            return false;
        };
        let wait = Timespec::try_from(wait).unwrap();
        let mut fds = [PollFd::from_borrowed_fd(wire.as_fd(), PollFlags::IN)];
        if !poll(&mut fds, Some(&wait)).is_ok_and(|ready| ready > 0) {
            return false;
        }
        let mut bytes = [0; 16 * 1024];
        match wire.read(&mut bytes) {
            Ok(count) if count > 0 => {
                self.raw.extend_from_slice(&bytes[..count]);
                self.parser.process(&bytes[..count]);
                true
            }
            // EIO: nobody holds the other side.
            _ => {
                self.silent = true;
                false
            }
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn size(columns: u16, rows: u16) -> PtySize {
    PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 }
}

fn at_least_one(n: u16) -> NonZeroU16 {
    NonZeroU16::new(n).unwrap_or(NonZeroU16::MIN)
}
