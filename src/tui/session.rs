//! The loop on the real terminal, from taking it over to giving it back: what `watch` and `demo` share.

use std::io::{self, IsTerminal, Write};

use crossterm::event::EventStream;
use ratatui::backend::CrosstermBackend;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};

use super::model::Model;
use super::outside::{Outside, Wishes};
use super::runs::ask::{Export, Question};
use super::{Ended, Hooks, Signal, notify, terminal};
use crate::alarm::How;
use crate::client::feed::Feed;
use crate::picture::Connection;

/// Whether a full screen can be drawn and driven: a terminal on both sides.
pub fn is_possible() -> bool {
    io::stdout().is_terminal() && io::stdin().is_terminal()
}

/// Whether the terminal can move its cursor, as far as it says.
pub fn can_draw() -> bool {
    std::env::var("TERM").is_ok_and(|term| !term.is_empty() && term != "dumb")
}

/// The screen, for what asks the room beside it.
#[derive(Debug)]
pub struct Asker {
    /// Where the answers go.
    pub answers: mpsc::Sender<Signal>,
    /// Whether nobody is to be seen in the room.
    pub alone: watch::Receiver<bool>,
    /// What the screen needs to know of the run records.
    pub questions: watch::Receiver<Vec<Question>>,
    /// Run records that are to be written into a file.
    pub exports: mpsc::Receiver<Export>,
}

/// Runs the screen until it is quit or a signal ends it, and reaches beyond it as far as `wishes` go. `ask` is what asks the room beside it: whose key watches,
/// and how far the agents have come while none is to be seen.
pub async fn open<F>(
    mut model: Model,
    feed: Option<&mut Feed>,
    wishes: Wishes,
    ask: impl FnOnce(Asker) -> F,
) -> io::Result<Ended>
where
    F: Future<Output = ()> + Send + 'static,
{
    let (answers, signals) = mpsc::channel(8);
    listen(&answers)?;
    let (tell_alone, alone) = watch::channel(false);
    let (tell_questions, questions) = watch::channel(Vec::new());
    let (tell_export, exports) = mpsc::channel(1);
    let commands = match &wishes.notify {
        How::Command(command) => Some(notify::spawn(command.clone(), answers.clone())),
        How::Off | How::Bell | How::Osc9 => None,
    };
    let asking = ask(Asker { answers: answers.clone(), alone, questions, exports });
    tokio::spawn(async move {
        // Without a sender the loop would take the channel for closed.
        tokio::select! {
            () = answers.closed() => {}
            () = async { asking.await; std::future::pending().await } => {}
        }
    });
    terminal::reach(wishes.title, wishes.notify != How::Off);
    let mut outside = Outside::new(wishes, commands);
    let mut screen = terminal::enter()?;
    let hooks = Hooks {
        #[cfg(debug_assertions)]
        size: panic_on_request(),
        #[cfg(not(debug_assertions))]
        size: Box::new(terminal::size),
        suspend: Box::new(|| {
            let can = terminal::can_suspend();
            if can {
                terminal::suspend()?;
            }
            Ok(can)
        }),
        alone: Box::new(move |alone| {
            tell_alone.send_if_modified(|known| std::mem::replace(known, alone) != alone);
        }),
        ask: Box::new(move |questions| {
            tell_questions.send_if_modified(|known| {
                let new = *known != questions;
                *known = questions;
                new
            });
        }),
        export: Box::new(move |export| tell_export.try_send(export).is_ok()),
        beside: |backend: &mut CrosstermBackend<_>, bytes| backend.write_all(bytes),
        retake: Box::new(terminal::retake),
    };
    let ended =
        super::run(&mut model, feed, EventStream::new(), signals, &mut screen, &mut outside, hooks).await;
    terminal::restore();
    match ended {
        Ok(Ended::Quit) => Ok(match &model.present().connection {
            Connection::Refused { why, .. } => Ended::Refused(why.clone()),
            _ => Ended::Quit,
        }),
        // The terminal is gone: that is its hang-up, whichever of the two was noticed first.
        Err(error) if is_gone(&error) => Ok(Ended::Signal(1)),
        ended => ended,
    }
}

/// Whether a write failed because the terminal is no longer there.
fn is_gone(error: &io::Error) -> bool {
    let lost = rustix::io::Errno::IO.raw_os_error();
    error.kind() == io::ErrorKind::BrokenPipe || error.raw_os_error() == Some(lost)
}

/// Everything that ends or interrupts the loop from outside.
fn listen(sender: &mpsc::Sender<Signal>) -> io::Result<()> {
    let ends = [(SignalKind::hangup(), 1), (SignalKind::interrupt(), 2), (SignalKind::terminate(), 15)];
    for (kind, number) in ends {
        let mut signal = signal(kind)?;
        let sender = sender.clone();
        tokio::spawn(async move {
            while signal.recv().await.is_some() {
                let _ = sender.send(Signal::End(number)).await;
            }
        });
    }
    // SIGTSTP and SIGCONT have the numbers of this machine's kernel.
    let stops =
        [(rustix::process::Signal::TSTP, Signal::Suspend), (rustix::process::Signal::CONT, Signal::Continue)];
    for (kind, meaning) in stops {
        let mut signal = signal(SignalKind::from_raw(kind.as_raw()))?;
        let sender = sender.clone();
        tokio::spawn(async move {
            while signal.recv().await.is_some() {
                let _ = sender.send(meaning.clone()).await;
            }
        });
    }
    let sender = sender.clone();
    terminal::watch_for_hangup(move || {
        let _ = sender.try_send(Signal::Hangup);
    });
    Ok(())
}

/// Debug builds only: `PRICKLE_DEBUG_PANIC`, set to `task` or `draw`, lets a test see that the terminal is given
/// back after a panic there. Returns what tells the terminal's size before each picture.
#[cfg(debug_assertions)]
fn panic_on_request() -> Box<dyn FnMut() -> (u16, u16) + Send> {
    const NAME: &str = "PRICKLE_DEBUG_PANIC";
    let place = std::env::var(NAME).unwrap_or_default();
    if place == "task" {
        tokio::spawn(async {
            tokio::time::sleep(std::time::Duration::from_millis(300)).await;
            panic!("asked to by {NAME}");
        });
    }
    let mut pictures = 0;
    Box::new(move || {
        pictures += 1;
        assert!(place != "draw" || pictures < 2, "asked to by {NAME}");
        terminal::size()
    })
}
