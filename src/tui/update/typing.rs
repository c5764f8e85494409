//! The line for the filter, and the help's for looking a key up: while it is open every key goes into it, and what is
//! typed counts at once.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::{Effect, keep_in_sight, step};
use crate::tui::entry::Entry;
use crate::tui::filter::Filter;
use crate::tui::list::List;
use crate::tui::model::{Model, Typed, Typing, View};
use crate::tui::runs::Runs;
use crate::tui::runs::filter::RunFilter;

/// Opens the line on what was typed into it before.
pub fn open(model: &mut Model) {
    let (text, what) = if model.help.is_some() {
        (model.searched.as_str(), Typed::Keys)
    } else if model.view == View::Runs {
        (model.runs.filter.text(), Typed::Records)
    } else {
        (model.list.filter().text(), Typed::Filter { before: model.selected.clone() })
    };
    model.typing = Some(Typing { entry: Entry::new(text), what });
}

/// A key while the line is open.
pub fn press(model: &mut Model, key: KeyEvent) -> Option<Effect> {
    let typing = model.typing.as_mut()?;
    if key.kind == KeyEventKind::Release {
        return None;
    }
    model.did = None;
    let entry = &mut typing.entry;
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        // These do the same everywhere.
        KeyCode::Char('c') if control => return Some(Effect::Quit),
        KeyCode::Char('z') if control => return Some(Effect::Suspend),
        KeyCode::Esc => {
            *entry = Entry::default();
            filter(model);
            model.typing = None;
        }
        // What means nothing is not left without a word; Esc takes it back.
        KeyCode::Enter if faulty(&typing.what, &model.list, &model.runs) => {}
        KeyCode::Enter => model.typing = None,
        KeyCode::Up | KeyCode::Down => {
            model.touched = true;
            step(model, if key.code == KeyCode::Up { -1 } else { 1 }, false);
            if let Some(Typing { what: Typed::Filter { before }, .. }) = &mut model.typing {
                before.clone_from(&model.selected);
            }
        }
        KeyCode::Left => entry.left(),
        KeyCode::Right => entry.right(),
        KeyCode::Home => entry.home(),
        KeyCode::End => entry.end(),
        code => {
            match code {
                KeyCode::Backspace => {
                    entry.back();
                }
                KeyCode::Delete => entry.delete(),
                KeyCode::Char('w') if control => entry.back_word(),
                KeyCode::Char('u') if control => entry.back_all(),
                KeyCode::Char('h') if control => {
                    entry.back(); // some terminals' backspace
                }
                KeyCode::Char(c) if (key.modifiers - KeyModifiers::SHIFT).is_empty() => entry.type_in(c),
                _ => return None,
            }
            filter(model);
        }
    }
    keep_in_sight(model);
    None
}

/// A text from the clipboard, which goes into the line if it is open and nowhere else.
pub fn paste(model: &mut Model, text: &str) {
    if let Some(typing) = &mut model.typing {
        typing.entry.paste(text);
        filter(model);
        keep_in_sight(model);
    }
}

/// Whether what is typed so far means nothing.
fn faulty(what: &Typed, list: &List, runs: &Runs) -> bool {
    match what {
        Typed::Filter { .. } => list.filter().fault().is_some(),
        Typed::Records => runs.filter.fault().is_some(),
        Typed::Keys => false,
    }
}

/// Filters by what is typed so far. Who was selected before comes back with the first text that lets it through.
fn filter(model: &mut Model) {
    match &model.typing {
        Some(Typing { entry, what: Typed::Filter { before } }) => {
            model.list.filter_by(Filter::new(entry.text()));
            model.selected.clone_from(before);
        }
        Some(Typing { entry, what: Typed::Records }) => {
            model.runs.filter = RunFilter::new(entry.text());
        }
        Some(Typing { entry, what: Typed::Keys }) => {
            entry.text().clone_into(&mut model.searched);
            model.help = Some(0);
        }
        None => {}
    }
}
