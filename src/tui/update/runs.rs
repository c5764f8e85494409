//! The Runs: which records are meant, what came of the questions, and which row is selected.

use crate::tui::model::{Model, Pane, View};
use crate::tui::runs::ask::{self, Answer};
use crate::tui::runs::filter::RunFilter;
use crate::tui::runs::listed::{self, Listed};
use crate::tui::runs::{GroupKey, Period, order};
use crate::tui::update::Effect;
use crate::tui::view;
use crate::wire::query::{By, Order};

/// An answer of the room, where it is still asked for.
pub fn take(model: &mut Model, answer: Answer) {
    let asked = ask::still_asked(model, &answer);
    let at = model.now();
    ask::take(&mut model.runs, answer, asked, at);
}

/// Shows them; from one's own agent that is opened, those of its task.
pub fn show(model: &mut Model) {
    let task = ask::task_in_front(model).filter(|_| model.pane == Pane::Open);
    super::show(model, View::Runs);
    model.runs.close();
    if let Some(task) = task {
        model.runs.by = By::Task;
        model.runs.period = Period::All; // the line that led here counts them all
        model.runs.filter = RunFilter::default();
        model.runs.groups.id = Some(task.clone());
        model.runs.opened = Some(task);
    }
    // Records of other rooms come in without a word.
    model.runs.stir();
}

/// Opens the selected group; `false` where a record is selected, or nothing.
pub fn open(model: &mut Model) -> bool {
    let Some(key) = listed::group(model).map(GroupKey::from) else { return false };
    model.runs.close();
    model.runs.opened = Some(key);
    true
}

/// One level back; `false` where there is none.
pub fn back(model: &mut Model) -> bool {
    if !model.runs.filter.is_empty() {
        model.runs.filter = RunFilter::default();
        return true;
    }
    let inside = model.runs.opened.is_some();
    model.runs.close();
    inside
}

/// The next order of the list in front, the largest first; names from the first on.
pub fn sort(model: &mut Model) {
    let orders = model.runs.orders();
    let sort = model.runs.sort_mut();
    let place = orders.iter().position(|order| *order == sort.order).map_or(0, |place| place + 1);
    sort.order = orders[place % orders.len()];
    sort.descending = sort.order != Order::Name;
    told(model);
}

/// The same order the other way round.
pub fn reverse(model: &mut Model) {
    let sort = model.runs.sort_mut();
    sort.descending = !sort.descending;
    told(model);
}

fn told(model: &mut Model) {
    model.did = Some(format!("sorted {}", order(model.runs.sort())));
}

/// The next thing to sum by.
pub fn group(model: &mut Model) {
    let place = By::ALL.iter().position(|by| *by == model.runs.by).unwrap_or(0);
    model.runs.by = By::ALL[(place + 1) % By::ALL.len()];
    model.runs.close();
    model.runs.groups.id = None;
    (model.runs.groups.place, model.runs.groups.top) = (0, 0);
    model.did = Some(format!("runs by {}", model.runs.by.as_str()));
}

/// The next period.
pub fn period(model: &mut Model) {
    model.runs.period = model.runs.period.next();
    let the = if matches!(model.runs.period, Period::Week | Period::Month) { "the " } else { "" };
    model.did = Some(format!("runs of {the}{}", model.runs.period.words()));
}

/// What is to be written into a file.
pub fn export(model: &mut Model) -> Option<Effect> {
    let export = listed::listed(model).and_then(|rows| ask::export(model, &rows))?;
    model.did = Some("exporting …".into());
    Some(Effect::Export(Box::new(export)))
}

/// Moves the selection.
pub fn step(model: &mut Model, by: isize) {
    let Some(rows) = listed::listed(model) else { return };
    let here = listed::row(model, &rows).unwrap_or(0);
    let there = here.saturating_add_signed(by).min(rows.len().saturating_sub(1));
    let select = at(&rows, there);
    select.put(model, there);
}

/// What a row is known by.
enum Id {
    Group(Option<GroupKey>),
    Record(Option<String>),
}

fn at(rows: &Listed<'_>, row: usize) -> Id {
    match rows {
        Listed::Groups(groups) => Id::Group(groups.get(row).map(|group| GroupKey::from(*group))),
        Listed::Records(records) => Id::Record(records.get(row).map(|run| run.run.run_id.clone())),
    }
}

impl Id {
    fn put(self, model: &mut Model, row: usize) {
        let changed = match self {
            Self::Group(id) => {
                let groups = &mut model.runs.groups;
                groups.place = row;
                std::mem::replace(&mut groups.id, id.clone()) != id
            }
            Self::Record(id) => {
                let records = &mut model.runs.records;
                records.place = row;
                std::mem::replace(&mut records.id, id.clone()) != id
            }
        };
        if changed {
            model.detail_top = 0;
        }
    }
}

/// The selection follows what it is on, wherever that is by now; where it is gone, what is in its place is selected.
pub fn keep_in_sight(model: &mut Model) {
    let Some(rows) = listed::listed(model) else {
        if model.runs.opened.is_none() || model.pane == Pane::Open {
            model.pane = Pane::List; // there is nothing to be read alone
        }
        return;
    };
    let last = rows.len().saturating_sub(1);
    let place = if model.runs.opened.is_some() { model.runs.records.place } else { model.runs.groups.place };
    let row = listed::row(model, &rows).unwrap_or(place.min(last));
    if rows.is_empty() {
        model.pane = Pane::List;
        return; // a filter that lets nothing through takes nobody's place away
    }
    let select = at(&rows, row);
    let top = view::runs_top(model, row, rows.len());
    select.put(model, row);
    match model.runs.opened {
        Some(_) => model.runs.records.top = top,
        None => model.runs.groups.top = top,
    }
}
