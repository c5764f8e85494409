//! What changes the screen's state: news from the room, keys, the terminal's size. Pure: no I/O, no waiting.

mod activity;
mod clashes;
mod room;
mod runs;
mod typing;

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use crossterm::event::{Event, KeyEvent};

use super::filter::Filter;
use super::keys::Action;
use super::model::{Model, Pane, View, Watch};
use super::runs::Reader;
use super::runs::ask::{Answer, Export};
use super::view;
use crate::client::http::Me;
use crate::conflict::{Conflict, Level};
use crate::picture::{Connection, Heard, News};
use crate::shown;
use crate::wire::agent::Agents;

/// What the loop has to do, since only it touches the terminal and the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Try the connection now.
    Retry,
    /// Give this text, safe to show, to the clipboard.
    Copy(String),
    /// Write these run records into a file.
    Export(Box<Export>),
    /// Give the terminal back and stop the job.
    Suspend,
    /// End.
    Quit,
}

/// News from the room.
pub fn heard(model: &mut Model, heard: Heard) {
    take_in(model, heard);
    keep_in_sight(model);
}

/// All the news that came at once. Where things stand on the screen is settled once for all of them.
pub fn heard_all(model: &mut Model, news: impl IntoIterator<Item = Heard>) {
    let mut any = false;
    for heard in news {
        any = true;
        take_in(model, heard);
    }
    if any {
        keep_in_sight(model);
    }
}

fn take_in(model: &mut Model, heard: Heard) {
    // A record may be one of those that are shown, and nobody knows what an outage has missed.
    if matches!(heard.news, News::Run { .. } | News::Live { .. }) {
        model.runs.stir();
    }
    model.present_mut().apply(heard);
}

/// Time has passed: what runs out, runs out.
pub fn pass(model: &mut Model) {
    let local = model.watch.now();
    let present = model.present_mut();
    let now = present.room_time(local);
    present.pass(now);
    let now = model.now();
    model.seen.settle(&model.picture, now);
    if room::follow(model) {
        keep_in_sight(model);
    } else if model.view == View::Clashes {
        clashes::keep_in_sight(model);
    }
}

/// Whose key watches: whose records it may read, and whose agents are the watcher's to mend.
pub fn key(model: &mut Model, me: Me) {
    let person = me.kind == "person";
    model.runs.reader = if person { Reader::Person } else { Reader::Other(me.agent_id) };
    owner(model, me.owner);
}

/// What the room says of the run records.
pub fn runs(model: &mut Model, answer: Answer) {
    runs::take(model, answer);
    keep_in_sight(model);
}

/// Whose key watches, which the room may tell only after the first picture.
pub fn owner(model: &mut Model, owner: String) {
    model.owner = Some(owner);
    room::follow(model);
    if !model.touched && model.pane == Pane::List && !chosen_needs_you(model) {
        room::choose(model);
    }
    keep_in_sight(model);
}

/// Selects the agent that would be undone in the worst clash, for who has come to see what a clash is.
pub fn look_at_clash(model: &mut Model) {
    let clash = model.picture.conflicts(model.now()).into_iter().next();
    if let Some(clash) = clash.filter(|clash| clash.level == Level::Clash) {
        model.selected = Some(clash.second.id().clone());
    }
    keep_in_sight(model);
}

/// Where the room is by now: this machine's own may have moved.
pub fn server(model: &mut Model, server: String) {
    model.server = server;
}

/// How far the owner's agents have come, for as long as none is to be seen.
pub fn agents(model: &mut Model, agents: Agents) {
    model.first.agents = Some(agents);
}

/// Something that the user should know, until the next key.
pub fn notice(model: &mut Model, notice: String) {
    model.notice = Some(notice);
}

/// A key or another event of the terminal.
pub fn event(model: &mut Model, event: &Event) -> Option<Effect> {
    match event {
        Event::Key(key) if model.typing.is_some() => typing::press(model, *key),
        Event::Key(key) => press(model, *key),
        Event::Paste(text) => {
            typing::paste(model, text);
            None
        }
        Event::Resize(columns, rows) => {
            resize(model, *columns, *rows);
            None
        }
        _ => None,
    }
}

/// The terminal has this size now.
pub fn resize(model: &mut Model, columns: u16, rows: u16) {
    model.size = (columns, rows);
    keep_in_sight(model);
}

fn press(model: &mut Model, key: KeyEvent) -> Option<Effect> {
    room::follow(model);
    let action = model.keys.action(key, |binding| model.holds(binding))?;
    model.notice = None;
    model.did = None;
    let first = model.selects_unseen();
    if first && (action == Action::Open || moves(action)) {
        room::choose(model); // where the eye falls by now
    }
    match action {
        Action::Quit => return Some(Effect::Quit),
        Action::Suspend => return Some(Effect::Suspend),
        Action::Retry => return Some(Effect::Retry),
        Action::Help => {
            model.help = if model.help.is_some() { None } else { Some(0) };
            model.searched.clear();
        }
        Action::Back => back(model),
        // Behind the help nothing moves that nobody sees.
        Action::OtherPane if model.help.is_some() => {}
        Action::Show(View::Runs) => runs::show(model),
        Action::Show(view) => show(model, view),
        Action::Open if model.view == View::Clashes && clashes::fold(model) => {}
        Action::Open if model.view == View::Activity => activity::open(model),
        Action::Open if model.view == View::Runs && runs::open(model) => {}
        Action::Open => {
            model.pane = Pane::Open;
            model.detail_top = 0;
        }
        Action::OtherPane => {
            model.pane = match model.pane {
                Pane::List if view::shows_detail(model) => Pane::Detail,
                Pane::List | Pane::Detail => Pane::List,
                Pane::Open => Pane::Open,
            };
        }
        Action::Detail => model.detail = !model.detail,
        Action::Freeze => {
            model.freeze();
            model.list.forget();
        }
        Action::Copy => return model.copies().map(Effect::Copy),
        Action::CopyRow => return model.row().map(|row| Effect::Copy(shown::json(&row))),
        Action::Seen => mark_as_seen(model),
        Action::Filter => typing::open(model),
        Action::Sort if model.view == View::Runs => runs::sort(model),
        Action::Reverse if model.view == View::Runs => runs::reverse(model),
        Action::Group if model.view == View::Runs => runs::group(model),
        Action::Period => runs::period(model),
        Action::Export => return runs::export(model),
        Action::Sort => room::sort(model),
        Action::Reverse => room::reverse(model),
        Action::Group => room::group(model),
        Action::NextTheme => next_theme(model),
        // Where nothing seems selected the first that needs the watcher is the next.
        Action::NextNeedsYou | Action::LastNeedsYou if first && chosen_needs_you(model) => {}
        Action::NextNeedsYou => needs_you(model, 1),
        Action::LastNeedsYou => needs_you(model, -1),
        Action::Down => step(model, 1, first),
        Action::Up => step(model, -1, first),
        Action::HalfDown => step(model, page(model) / 2, false),
        Action::HalfUp => step(model, -page(model) / 2, false),
        Action::PageDown => step(model, page(model), false),
        Action::PageUp => step(model, -page(model), false),
        Action::Top => step(model, isize::MIN / 2, false),
        Action::End => step(model, isize::MAX / 2, false),
    }
    // Only what moves it brings the selection of a side pane to light.
    let listed = model.view == View::Room && model.pane == Pane::List && model.help.is_none();
    model.touched |= listed && moves(action);
    keep_in_sight(model);
    None
}

fn chosen_needs_you(model: &Model) -> bool {
    model.selection().is_some_and(|(_, agent)| model.needs_you(agent))
}

/// Whether an action moves a selection.
fn moves(action: Action) -> bool {
    matches!(
        action,
        Action::Down
            | Action::Up
            | Action::HalfDown
            | Action::HalfUp
            | Action::PageDown
            | Action::PageUp
            | Action::Top
            | Action::End
            | Action::NextNeedsYou
            | Action::LastNeedsYou
    )
}

/// One level back: out of the help, out of what was opened, to the Room, to all of its agents, and there to a pane
/// without selection.
fn back(model: &mut Model) {
    if model.help.is_some() && !model.searched.is_empty() {
        model.searched.clear();
    } else if model.help.is_some() {
        model.help = None;
    } else if model.pane != Pane::List {
        // Beside the list the detail begins with what matters, however far it was read alone.
        if model.pane == Pane::Open {
            model.detail_top = 0;
        }
        model.pane = Pane::List;
    } else if model.view == View::Clashes && clashes::fold_up(model) {
        // What was unfolded is a level of its own.
    } else if model.view == View::Runs && runs::back(model) {
        // A filter of the records, or the records themselves.
    } else if model.view != View::Runs && !model.list.filter().is_empty() {
        model.list.filter_by(Filter::default());
    } else if model.view != View::Room {
        show(model, View::Room);
    } else {
        model.touched = false;
        model.list_top = 0;
    }
}

/// The next that needs the watcher, or the one before: in the list on the screen, or else in the Room.
fn needs_you(model: &mut Model, by: isize) {
    let found = match model.view {
        View::Clashes => clashes::needs_you(model, by),
        View::Activity if model.pane == Pane::List => activity::needs_you(model, by),
        View::Runs => false,
        View::Room | View::Activity => {
            room::needs_you(model, by);
            true
        }
    };
    if !found {
        show(model, View::Room);
        if !model.selection().is_some_and(|(_, agent)| model.needs_you(agent)) {
            room::needs_you(model, by);
        }
    }
}

/// From `here` on the next of so many places for which this holds, or the one before; round at the ends.
fn next_round(count: usize, here: usize, by: isize, holds: impl FnMut(&usize) -> bool) -> Option<usize> {
    if by > 0 {
        (here + 1..count).chain(0..count.min(here + 1)).find(holds)
    } else {
        (0..count.min(here)).rev().chain((here..count).rev()).find(holds)
    }
}

/// Marks what is selected as seen, or no longer.
fn mark_as_seen(model: &mut Model) {
    let now = model.now();
    match model.view {
        View::Clashes => clashes::mark_as_seen(model),
        View::Activity if model.pane == Pane::List => {}
        View::Runs => {}
        View::Room | View::Activity => {
            let Some((id, agent)) = model.selection() else { return };
            let (id, agent) = (id.clone(), agent.clone());
            let clashes = model.picture.conflicts_of(&id, now).filter(|c| c.level == Level::Clash);
            let clashes: Vec<Arc<Conflict>> = clashes.cloned().collect();
            let fresh = model.fails(&agent) || clashes.iter().any(|clash| !model.seen.clash(clash));
            if agent.pulse.run_failure.is_some() && model.seen.failure(&agent) != fresh {
                model.seen.turn_failure(&agent);
            }
            for clash in clashes {
                if model.seen.clash(&clash) != fresh {
                    model.seen.turn_clash(&clash);
                }
            }
        }
    }
    model.seen.tidy(&model.picture, now);
    model.list.forget();
}

/// Another view, its list in front.
fn show(model: &mut Model, view: View) {
    model.view = view;
    model.pane = Pane::List;
    model.detail_top = 0;
}

fn page(model: &Model) -> isize {
    isize::try_from(view::page(model)).unwrap_or(1).max(2)
}

/// Moves what the keys move at present: the help, the detail, or the selection.
fn step(model: &mut Model, by: isize, first: bool) {
    if let Some(top) = model.help {
        model.help = Some(top.saturating_add_signed(by).min(view::help_end(model)));
        return;
    }
    if model.pane != Pane::List {
        model.detail_top = model.detail_top.saturating_add_signed(by).min(view::detail_end(model));
        return;
    }
    match model.view {
        View::Room => room::step(model, by, first),
        View::Clashes => clashes::step(model, by),
        View::Runs => runs::step(model, by),
        View::Activity => activity::step(model, by),
    }
}

/// Puts on the theme after the one in use, and says its name for the settings.
fn next_theme(model: &mut Model) {
    if model.themes.is_empty() {
        return;
    }
    model.themes.rotate_left(1);
    model.look.theme = model.themes[0].theme.clone();
    model.did = Some(format!("theme {}", model.themes[0].name));
}

/// Scrolls as little as needed for the selection, and never past the ends.
fn keep_in_sight(model: &mut Model) {
    room::follow(model);
    if model.pane == Pane::Detail && !view::shows_detail(model) {
        model.pane = Pane::List; // the screen got too small for both
    }
    match model.view {
        View::Room => model.list_top = view::list_top(model),
        View::Clashes => clashes::keep_in_sight(model),
        View::Runs => runs::keep_in_sight(model),
        View::Activity => activity::keep_in_sight(model),
    }
    if model.detail_top > 0 {
        model.detail_top = model.detail_top.min(view::detail_end(model)); // which takes laying it out
    }
    if let Some(top) = model.help {
        model.help = Some(top.min(view::help_end(model)));
    }
}

/// How long the screen stays as it is if nothing is heard, where its ages and countdowns do so for `lasts`.
pub fn stays(model: &Model, lasts: Option<TimeDelta>) -> Option<Duration> {
    if matches!(model.watch, Watch::Still(_)) {
        return None;
    }
    let local = model.watch.now();
    let now = model.present().room_time(local);
    // Of ten thousand agents one gets stale every few milliseconds, and nobody sees a quarter second.
    let counts = model.present().next_change(now).map(|at| (at - now).max(TimeDelta::milliseconds(250)));
    let second = model.panel.is_some()
        || model.replay
        || matches!(model.picture.connection, Connection::Offline { .. })
        || view::caught_up(model).is_some();
    let second =
        second.then(|| TimeDelta::milliseconds(1000 - i64::from(local.timestamp_subsec_millis().min(999))));
    // While the picture stands still, only what is outside of it goes on.
    let seen = lasts.into_iter().chain(second).filter(|_| model.behind.is_none());
    let next = counts.into_iter().chain(seen).min();
    next.and_then(|wait| wait.max(TimeDelta::milliseconds(20)).to_std().ok())
}
