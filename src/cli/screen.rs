//! Opens the screen on a room and runs it until it is quit: what `watch` and `demo` share.

use std::io::IsTerminal;

use anyhow::Context;
use crossterm::event::EventStream;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use super::{Environment, Stopped};
use crate::client::feed::Feed;
use crate::tui::model::Model;
use crate::tui::{self, Ended, Hooks, Signal, terminal};

/// Whether a full screen can be drawn and driven: a terminal on both sides.
pub(super) fn is_possible() -> bool {
    std::io::stdout().is_terminal() && std::io::stdin().is_terminal()
}

/// Refuses terminals that cannot move their cursor.
pub(super) fn check_terminal() -> Result<(), Environment> {
    match std::env::var("TERM").as_deref() {
        Ok("dumb") | Ok("") | Err(_) => Err(Environment(
            "this terminal (TERM is dumb or not set) cannot show a screen; \
             prickle watch --plain tells the room in sentences"
                .into(),
        )),
        Ok(_) => Ok(()),
    }
}

/// Runs the screen. Ends with [`Stopped`] where a signal ended it. `who` finds out whose key watches.
pub(super) async fn open(
    mut model: Model,
    feed: Option<&mut Feed>,
    who: impl Future<Output = Option<String>> + Send + 'static,
) -> anyhow::Result<()> {
    let (sender, signals) = mpsc::channel(8);
    listen(&sender).context("cannot listen for signals")?;
    tokio::spawn(async move {
        if let Some(owner) = who.await {
            let _ = sender.send(Signal::Owner(owner)).await;
        }
        sender.closed().await; // without a sender the loop would take the channel for closed
    });
    // Colours are the theme's business: without this, NO_COLOR makes crossterm write resets that end reverse.
    crossterm::style::force_color_output(true);
    let mut screen = terminal::enter().context("cannot take over the terminal")?;
    #[cfg(debug_assertions)]
    panic_on_request();
    let hooks = Hooks {
        size: Box::new(terminal::size),
        suspend: Box::new(|| {
            let can = terminal::can_suspend();
            if can {
                terminal::suspend()?;
            }
            Ok(can)
        }),
    };
    let ended = tui::run(&mut model, feed, EventStream::new(), signals, &mut screen, hooks).await;
    terminal::restore();
    match ended {
        Ok(Ended::Quit) => Ok(()),
        Ok(Ended::Signal(number)) => Err(Stopped(number).into()),
        Err(error) if is_gone(&error) => Err(Stopped(1).into()),
        Err(error) => Err(error).context("the screen broke"),
    }
}

/// Whether a write failed because the terminal is no longer there.
fn is_gone(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::BrokenPipe) || error.raw_os_error() == Some(5)
}

/// Everything that ends or interrupts the loop from outside.
fn listen(sender: &mpsc::Sender<Signal>) -> std::io::Result<()> {
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

/// Debug builds only: lets a test see that the terminal is given back after a panic in a task.
#[cfg(debug_assertions)]
fn panic_on_request() {
    if std::env::var_os("PRICKLE_DEBUG_PANIC").is_some() {
        tokio::spawn(async {
            tokio::time::sleep(std::time::Duration::from_millis(300)).await;
            panic!("asked to by PRICKLE_DEBUG_PANIC");
        });
    }
}
