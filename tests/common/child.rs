//! A room in a process of its own: the real binary, which can be killed and started again on its port.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::PATIENCE;
use super::caller::Caller;

/// `prickle serve`, running.
pub struct Served {
    pub db: PathBuf,
    pub port: u16,
    pub log: PathBuf,
    more: Vec<String>,
    child: Child,
}

/// How a room is started, where it is not the plain way.
#[derive(Debug, Default)]
pub struct How<'a> {
    /// 0: a free one.
    pub port: u16,
    /// A program and its arguments that end by running the words after them.
    pub by: Vec<&'a str>,
    /// Further arguments of `prickle serve`.
    pub more: Vec<&'a str>,
    /// Where the database is; `room.db` in the folder if left out.
    pub db: Option<PathBuf>,
}

/// The real binary, with a home of its own.
pub fn prickle(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prickle"));
    command.env_clear().env("HOME", home).env("PRICKLE_HOME", home.join("prickle")).env("LANG", "C.UTF-8");
    // A test that names no server would start its machine's own room, which outlives it: only tests/local.rs may.
    command.env("PRICKLE_LOCAL_PORT", "none: name a server");
    command
}

impl Served {
    /// Starts a room in `folder`, on `port` or, for 0, a free one; returns once it says that it listens.
    pub fn start(folder: &Path, port: u16) -> Self {
        Self::start_how(folder, How { port, ..How::default() })
    }

    /// The same, with at most `descriptors` files and sockets open.
    pub fn start_with(folder: &Path, port: u16, descriptors: Option<u64>) -> Self {
        Self::start_as(folder, port, descriptors, &[])
    }

    /// The same, with more flags.
    pub fn start_as(folder: &Path, port: u16, descriptors: Option<u64>, flags: &[&str]) -> Self {
        let limited = descriptors.map(|most| format!("ulimit -n {most}; exec \"$0\" \"$@\""));
        let by = limited.iter().flat_map(|script| ["/bin/sh", "-c", script]).collect();
        Self::start_how(folder, How { port, by, more: flags.to_vec(), ..How::default() })
    }

    /// The same, in any way that a test needs.
    pub fn start_how(folder: &Path, how: How) -> Self {
        let db = how.db.unwrap_or_else(|| folder.join("room.db"));
        let log = folder.join("serve.log");
        let errors = File::options().create(true).append(true).open(&log).unwrap();
        let mut command = prickle(folder);
        if let [first, rest @ ..] = &how.by[..] {
            let program = command.get_program().to_owned();
            let mut wrapped = Command::new(first);
            wrapped.args(rest).arg(program).env_clear();
            wrapped.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
            command = wrapped;
        }
        let more: Vec<String> = how.more.iter().map(ToString::to_string).collect();
        let mut child = command
            .args(["serve", "--addr", &format!("127.0.0.1:{}", how.port), "--db"])
            .arg(&db)
            .args(&more)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .unwrap();
        let out = child.stdout.take().unwrap();
        let (said, hear) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                let _ = said.send(line);
            }
        });
        let first = hear.recv_timeout(PATIENCE).unwrap_or_else(|_| {
            let _ = child.kill();
            panic!("serve did not say where it listens; its log: {}", std::fs::read_to_string(&log).unwrap())
        });
        let scheme = if more.iter().any(|flag| flag == "--tls-cert") { "https" } else { "http" };
        let port = first.strip_prefix(&format!("listening on {scheme}://127.0.0.1:"));
        let port = port.and_then(|port| port.parse().ok());
        let port = port.unwrap_or_else(|| panic!("the first line is {first:?}"));
        Self { db, port, log, more, child }
    }

    pub fn caller(&self) -> Caller {
        Caller::new(&format!("http://127.0.0.1:{}", self.port))
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// SIGKILL: no chance to tidy up.
    pub fn kill9(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts it again, on the same database and port, with the same further arguments.
    pub fn again(&mut self) {
        let folder = self.db.parent().unwrap().to_owned();
        let more = self.more.iter().map(String::as_str).collect();
        let again = Self::start_how(&folder, How { port: self.port, more, ..How::default() });
        drop(std::mem::replace(self, again));
    }

    /// Waits until it has ended by itself, and returns the exit code.
    pub fn ended(&mut self, patience: Duration) -> Option<i32> {
        let until = Instant::now() + patience;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(Instant::now() < until, "it runs on: {}", std::fs::read_to_string(&self.log).unwrap());
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Sends a signal that may be heeded, and returns the exit code.
    pub fn stop(&mut self, signal: rustix::process::Signal) -> Option<i32> {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, signal).unwrap();
        self.child.wait().unwrap().code()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
