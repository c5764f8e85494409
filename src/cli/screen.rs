//! Opens the screen on a room: refuses terminals that can't show it, and makes an exit code of how it ended.

use anyhow::Context;

use super::{Environment, Stopped, room};
use crate::alarm::How;
use crate::client::feed::Feed;
use crate::config::Config;
use crate::tui::Ended;
use crate::tui::model::Model;
use crate::tui::outside::Wishes;
use crate::tui::session::{self, Asker};

/// Refuses terminals that cannot move their cursor.
pub(super) fn check_terminal() -> Result<(), Environment> {
    if session::can_draw() {
        return Ok(());
    }
    Err(Environment(
        "this terminal (TERM is dumb or not set) can't show a screen; \
         prickle watch --plain tells the room in sentences"
            .into(),
    ))
}

/// How far a screen may reach that shows no living room: nobody is called for what is made up, or over.
pub(super) fn title_only(config: Option<&Config>) -> Wishes {
    // The console of Linux has no title.
    let console = std::env::var("TERM").is_ok_and(|term| term.starts_with("linux"));
    Wishes { title: config.is_none_or(|config| config.title) && !console, notify: How::Off }
}

/// How far a screen may reach that shows a living room.
pub(super) fn wishes(config: &Config) -> Wishes {
    Wishes { notify: config.notify.clone(), ..title_only(Some(config)) }
}

/// Runs the screen. Ends with [`Stopped`] where a signal ended it. `ask` is what asks the room beside it.
pub(super) async fn open<F>(
    model: Model,
    feed: Option<&mut Feed>,
    wishes: Wishes,
    ask: impl FnOnce(Asker) -> F,
) -> anyhow::Result<()>
where
    F: Future<Output = ()> + Send + 'static,
{
    let complaint = model.notice.clone();
    let ended = session::open(model, feed, wishes, ask).await.context("the screen broke")?;
    // The first key took it from the screen; here it can be read, and copied.
    complaint.iter().for_each(|complaint| room::note(complaint));
    match ended {
        Ended::Quit => Ok(()),
        Ended::Refused(why) => Err(Environment(why).into()),
        Ended::Signal(number) => Err(Stopped(number).into()),
    }
}
