//! A room without a screen: lines for pipes, logs and scripts.

pub mod json;
pub mod plain;
pub mod runs;

use std::io;

use tokio::io::{AsyncWriteExt, Stdout};

/// Standard output, a line at a time. A reader that is slow holds up only the writing, not the program.
#[derive(Debug)]
pub struct Lines {
    stdout: Stdout,
}

impl Lines {
    /// The process's own.
    pub fn stdout() -> Self {
        Self { stdout: tokio::io::stdout() }
    }

    /// Writes `line`, which holds no line end, and hands it over at once. A reader that has gone is an error
    /// of kind `BrokenPipe`.
    pub async fn write(&mut self, line: &str) -> io::Result<()> {
        self.stdout.write_all(format!("{line}\n").as_bytes()).await?;
        self.stdout.flush().await
    }
}

/// Waits until nobody reads what is written any more. A pipe's writer otherwise learns it only when it
/// writes, and a quiet room may give it nothing to write for hours.
#[cfg(unix)]
pub async fn reader_gone() {
    use rustix::event::{PollFd, PollFlags, poll};
    let (sender, gone) = tokio::sync::oneshot::channel();
    // The thread ends with the process. With no events asked for, only a lost reader ends the wait; a plain
    // file never does.
    std::thread::spawn(move || {
        let stdout = io::stdout();
        loop {
            let mut watched = [PollFd::new(&stdout, PollFlags::empty())];
            match poll(&mut watched, None) {
                Ok(_) if watched[0].revents().intersects(PollFlags::ERR | PollFlags::HUP) => break,
                Err(rustix::io::Errno::INTR) => {}
                _ => return,
            }
        }
        let _ = sender.send(());
    });
    if gone.await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Waits for ever where the system can't tell.
#[cfg(not(unix))]
pub async fn reader_gone() {
    std::future::pending().await
}
