//! The screen: one loop that draws, waits, and takes in what came.
//!
//! [`model`] is everything shown, [`update`] the only one to change it, [`view`] a pure function of it. Only this
//! file, [`session`] and [`terminal`] touch the terminal; slow things are the client's, and reach the loop as news.

mod choice;
pub mod clashes;
pub mod entry;
pub mod event;
pub mod filter;
pub mod keys;
pub mod list;
pub mod model;
mod notify;
pub mod outside;
pub mod runs;
mod seen;
pub mod session;
mod sixteen;
pub mod terminal;
pub mod theme;
pub mod update;
pub mod view;

use std::io;
use std::time::{Duration, Instant};

use crossterm::event::Event;
use futures_util::{Stream, StreamExt};
use ratatui::backend::Backend;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tokio::sync::mpsc;

use self::model::Model;
use self::outside::Outside;
use self::runs::ask::{self, Answer, Export, Question};
use self::terminal::Screen;
use self::update::Effect;
use crate::client::feed::Feed;
use crate::client::http::Me;
use crate::wire::agent::Agents;

/// Shortest time between two pictures.
const FRAME: Duration = Duration::from_millis(16);
/// Most news and keys taken in before the next picture.
const DRAIN: usize = 1024;

/// What reaches the loop beside news and keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signal {
    /// Whose key watches, once the room has told it.
    Key(Box<Me>),
    /// Where the room is by now.
    Server(String),
    /// How far the owner's agents have come on their way into the room.
    Agents(Box<Agents>),
    /// What the room says of the run records.
    Runs(Box<Answer>),
    /// What was done for the user elsewhere.
    Done(String),
    /// Something that the user should know.
    Notice(String),
    /// A signal with this number asks us to end.
    End(i32),
    /// SIGTSTP: stop, as Ctrl-Z does.
    Suspend,
    /// SIGCONT: someone else may have written to the terminal meanwhile.
    Continue,
    /// The terminal is gone.
    Hangup,
}

/// Why the loop ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// The user quit.
    Quit,
    /// The user quit while the room would not have them: why, in words, since the screen that said it is gone.
    Refused(String),
    /// A signal with this number; the terminal's loss counts as SIGHUP.
    Signal(i32),
}

/// What the loop needs of the real terminal; a test passes its own.
pub struct Hooks<'a, B> {
    /// Columns and rows now.
    pub size: Box<dyn FnMut() -> (u16, u16) + Send + 'a>,
    /// Give the terminal back, stop, take it again; `false` where nobody could bring us back.
    pub suspend: Box<dyn FnMut() -> io::Result<bool> + Send + 'a>,
    /// Write these bytes ahead of the next picture.
    pub beside: fn(&mut B, &[u8]) -> io::Result<()>,
    /// Told before each picture whether nobody is to be seen in a room that is there.
    pub alone: Box<dyn FnMut(bool) + Send + 'a>,
    /// Told before each picture what the room has to be asked about the run records.
    pub ask: Box<dyn FnMut(Vec<Question>) + Send + 'a>,
    /// Has run records written into a file; `false` where others are being written still.
    pub export: Box<dyn FnMut(Export) -> bool + Send + 'a>,
    /// Take the terminal again if a stop from outside has lost it.
    pub retake: Box<dyn FnMut() -> io::Result<()> + Send + 'a>,
}

/// Runs the screen until it is quit. `feed` is `None` for a picture that stands still.
pub async fn run<B, I>(
    model: &mut Model,
    feed: Option<&mut Feed>,
    input: I,
    signals: mpsc::Receiver<Signal>,
    screen: &mut Screen<B>,
    outside: &mut Outside,
    mut hooks: Hooks<'_, B>,
) -> io::Result<Ended>
where
    B: Backend,
    io::Error: From<B::Error>,
    I: Stream<Item = io::Result<Event>> + Unpin,
{
    let ended = watch(model, feed, input, signals, screen, outside, &mut hooks).await?;
    let beside = outside.take();
    if !beside.is_empty() && ended != Ended::Signal(1) {
        // There was no picture any more for what was copied last to go out with.
        (hooks.beside)(screen.backend_mut(), &beside)?;
        screen.flush()?;
    }
    Ok(ended)
}

async fn watch<B, I>(
    model: &mut Model,
    mut feed: Option<&mut Feed>,
    mut input: I,
    mut signals: mpsc::Receiver<Signal>,
    screen: &mut Screen<B>,
    outside: &mut Outside,
    hooks: &mut Hooks<'_, B>,
) -> io::Result<Ended>
where
    B: Backend,
    io::Error: From<B::Error>,
    I: Stream<Item = io::Result<Event>> + Unpin,
{
    let mut drawn: Option<Instant> = None;
    let mut pending = true;
    let mut lasts = None;
    // What has woken us.
    let mut news = None;
    let mut input_open = true;
    let mut failures = 0;
    loop {
        let frame_due = drawn.map_or(Duration::ZERO, |at| FRAME.saturating_sub(at.elapsed()));
        if pending && frame_due.is_zero() {
            let size = (hooks.size)();
            if size != model.size {
                update::resize(model, size.0, size.1);
            }
            // What came since the last picture is taken in at once: a thousand reports a second wake nobody one by one.
            let more = std::iter::from_fn(|| feed.as_deref_mut()?.try_next()).take(DRAIN);
            update::heard_all(model, news.take().into_iter().chain(more));
            update::pass(model);
            let mut picture = Buffer::empty(Rect::new(0, 0, size.0, size.1));
            (hooks.alone)(!model.is_old() && model.picture.is_whole() && model.picture.agents().len() == 0);
            (hooks.ask)(ask::wanted(model));
            lasts = view::draw(model, &mut picture);
            outside.look(model);
            let beside = outside.take();
            if !beside.is_empty() {
                (hooks.beside)(screen.backend_mut(), &beside)?;
            }
            screen.show(picture)?;
            if !beside.is_empty() {
                screen.flush()?; // where the picture is the old one, nothing else was written
            }
            drawn = Some(Instant::now());
            pending = false;
        }
        let wait = if pending { Some(frame_due) } else { update::stays(model, lasts) };
        let mut effect = None;
        tokio::select! {
            event = input.next(), if input_open => match event {
                Some(Ok(event)) => {
                    failures = 0;
                    outside.event(&event);
                    effect = update::event(model, &event);
                }
                // A terminal that is gone is noticed elsewhere; one odd answer of it is no reason to end.
                Some(Err(error)) => {
                    failures += 1;
                    if failures > 10 {
                        return Err(error);
                    }
                }
                None => input_open = false,
            },
            heard = next(feed.as_deref_mut()), if !pending => match heard {
                Some(heard) => news = Some(heard),
                None => feed = None,
            },
            signal = signals.recv() => match signal {
                Some(Signal::End(number)) => return Ok(Ended::Signal(number)),
                Some(Signal::Hangup) => return Ok(Ended::Signal(1)),
                Some(Signal::Suspend) => effect = Some(Effect::Suspend),
                Some(Signal::Continue) => {
                    (hooks.retake)()?;
                    screen.forget();
                    outside.forget();
                }
                Some(Signal::Notice(notice)) => update::notice(model, notice),
                Some(Signal::Key(me)) => update::key(model, *me),
                Some(Signal::Runs(answer)) => update::runs(model, *answer),
                Some(Signal::Done(said)) => model.did = Some(said),
                Some(Signal::Server(server)) => update::server(model, server),
                Some(Signal::Agents(agents)) => update::agents(model, *agents),
                None => return Ok(Ended::Quit),
            },
            () = sleep(wait) => {}
        }
        pending = true;
        if let Some(trouble) = feed.as_deref_mut().and_then(Feed::trouble) {
            update::notice(model, trouble);
        }
        #[allow(clippy::collapsible_match, reason = "a guard can't take the export")]
        match effect {
            Some(Effect::Quit) => return Ok(Ended::Quit),
            Some(Effect::Retry) => {
                if let Some(feed) = feed.as_deref() {
                    feed.retry_now();
                }
            }
            Some(Effect::Copy(text)) => {
                match outside.copy(&text) {
                    // Whether it arrives, no terminal tells.
                    Ok(()) => model.did = Some("sent to the clipboard".into()),
                    Err(why) => update::notice(model, why),
                }
            }
            Some(Effect::Export(export)) => {
                if !(hooks.export)(*export) {
                    let why = "an export is still being written, and one waits: try again";
                    update::notice(model, why.into());
                }
            }
            Some(Effect::Suspend) => {
                if (hooks.suspend)()? {
                    screen.forget();
                    outside.forget();
                } else {
                    let why = "no shell with job control here: nothing could bring this back";
                    update::notice(model, why.into());
                }
            }
            None => {}
        }
    }
}

/// The feed's next news; never, where there is no feed.
async fn next(feed: Option<&mut Feed>) -> Option<crate::picture::Heard> {
    match feed {
        Some(feed) => feed.next().await,
        None => std::future::pending().await,
    }
}

async fn sleep(wait: Option<Duration>) {
    match wait {
        Some(wait) => tokio::time::sleep(wait).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use chrono::{FixedOffset, TimeDelta};
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
    use futures_util::stream;
    use ratatui::backend::CrosstermBackend;
    use serde_json::json;

    use super::model::{Look, Watch};
    use super::outside::Wishes;
    use super::theme::{Glyphs, Theme};
    use super::*;
    use crate::picture::Picture;
    use crate::words::Zone;

    #[derive(Clone, Default)]
    struct Terminal(Arc<Mutex<Vec<u8>>>);

    impl Write for Terminal {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn what_was_copied_right_before_the_end_reaches_the_terminal() {
        let utc = FixedOffset::east_opt(0).unwrap();
        let look = Look { theme: Theme::mono(), glyphs: Glyphs::Ascii, layout: None, zone: Zone::Fixed(utc) };
        let watch = Watch::Running(TimeDelta::zero());
        let mut model = Model::new(Picture::new("site"), String::new(), None, watch, look);
        let now = chrono::Utc::now();
        let pulse = json!({"agent_id": "acme/a", "owner": "acme", "project": "site", "availability": "working",
            "doing": "x", "task_id": null, "branch": null, "files": [], "last_decision": null,
            "updated_at": now});
        for mut news in [
            json!({"news": "live", "epoch": "e", "seq": 1, "server_time": now, "resumed": false}),
            json!({"news": "snapshot", "seq": 1, "pulses": [pulse]}),
        ] {
            news["at"] = json!(now);
            update::heard(&mut model, serde_json::from_value(news).unwrap());
        }
        let terminal = Terminal::default();
        let mut screen = Screen::new(CrosstermBackend::new(terminal.clone()));
        let mut outside = Outside::new(Wishes::default(), None);
        let hooks = Hooks {
            size: Box::new(|| (80, 24)),
            suspend: Box::new(|| Ok(true)),
            beside: |backend: &mut CrosstermBackend<Terminal>, bytes| backend.write_all(bytes),
            alone: Box::new(|_| {}),
            ask: Box::new(|_| {}),
            export: Box::new(|_| false),
            retake: Box::new(|| Ok(())),
        };
        let key = |key| Ok(Event::Key(KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE)));
        let (_open, signals) = mpsc::channel(1);
        let input = stream::iter(['Y', 'q'].map(key));
        let ended = run(&mut model, None, input, signals, &mut screen, &mut outside, hooks).await;
        assert_eq!(ended.unwrap(), Ended::Quit);
        let written = String::from_utf8(terminal.0.lock().unwrap().clone()).unwrap();
        assert!(written.contains("\x1b]52;c;"), "{written:?}");
    }
}
