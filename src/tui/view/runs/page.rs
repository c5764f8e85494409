//! What stands in place of the table: whose key is needed, that the room is being asked, that there is nothing.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::columns;
use crate::picture::Connection;
use crate::shown;
use crate::tui::keys::Action;
use crate::tui::model::Model;
use crate::tui::runs::listed::{self, Listed};
use crate::tui::runs::{Period, Reader};
use crate::tui::view::paint::Canvas;
use crate::tui::view::{Parts, copies, key, text};
use crate::wire::id::is_slug;

/// Columns of the widest sentence.
const WIDTH_MAX: usize = 76;

/// Draws the page.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model, parts: &Parts) {
    let lines = lines(model, usize::from(parts.list.width));
    // With few rows no blank is spent above the sentence.
    let top = usize::from(lines.len() > usize::from(parts.list.height));
    canvas.lines(parts.list, &lines, top);
}

fn lines(model: &Model, width: usize) -> Vec<Line<'static>> {
    let theme = &model.look.theme;
    let mut out = vec![Line::default()];
    let mut say = |said: &str, style: Style| {
        let parts = shown::wrap(&text(model, said), width.saturating_sub(2).clamp(8, WIDTH_MAX));
        out.extend(parts.into_iter().map(|part| Line::from(Span::styled(format!(" {part}"), style))));
    };
    match &model.runs.reader {
        Reader::Recording => {
            say("A recording holds no run records, and there is no room here to ask for them.", theme.text);
        }
        Reader::Other(agent) => {
            let owner = model.owner.as_deref().unwrap_or("its owner");
            let key = agent.as_ref().map_or_else(String::new, |agent| format!(" ({agent})"));
            let of = if agent.is_some() { "an agent's key" } else { "a key that is no person's" };
            say(
                &format!(
                    "Run records are for people, and this window watches with {of}{key}. Only {owner} can read \
                     them, with a person's key. Where the room runs:"
                ),
                theme.text,
            );
            say("", theme.text);
            let command = key_needed(model).unwrap_or_default();
            let copies = copies(model, "it");
            out.extend(
                whole(&command, width).into_iter().map(|part| Line::from(Span::styled(part, theme.hint))),
            );
            if let Some(last) = out.last_mut()
                && command.len() + 3 + copies.len() + 6 <= width.min(WIDTH_MAX + 2)
            {
                last.spans.push(Span::styled(format!("    {copies}"), theme.muted));
            }
        }
        Reader::Person => {
            let said = person(model);
            said.into_iter().for_each(|(said, style)| say(&said, style));
        }
        Reader::Unknown => {
            let said = waiting(model);
            say(&said, theme.muted);
        }
    }
    out
}

/// The command that makes the key which is needed; `None`: it is there, or no key would help.
pub fn key_needed(model: &Model) -> Option<String> {
    // It goes into a shell: what is no handle is left for the reader to fill in.
    let owner = model.owner.as_deref().filter(|owner| is_slug(owner)).unwrap_or("OWNER");
    let command = || format!("prickle key create --kind person --owner {owner} --all");
    matches!(model.runs.reader, Reader::Other(_)).then(command)
}

/// A command whole: from the first column on where it is too long, and wrapped at the edge alone.
fn whole(command: &str, width: usize) -> Vec<String> {
    let lead = if command.len() + 3 <= width { "   " } else { "" };
    let letters: Vec<char> = format!("{lead}{command}").chars().collect();
    letters.chunks(width.max(1)).map(|part| part.iter().collect()).collect()
}

/// What is said to a person where no row is.
fn person(model: &Model) -> Vec<(String, Style)> {
    let theme = &model.look.theme;
    let runs = &model.runs;
    let Some(rows) = listed::listed(model) else {
        return vec![match &runs.trouble {
            Some(why) => (format!("The room does not tell: {why}"), theme.error),
            None => (waiting(model), theme.muted),
        }];
    };
    let key = |action| key(model, action).unwrap_or_default();
    if !runs.filter.is_empty() {
        let what = if matches!(rows, Listed::Groups(_)) { runs.by.as_str() } else { "run" };
        let among = listed::looked_through(model).map_or_else(String::new, |seen| {
            format!(
                " among the {} that were looked through",
                columns::whole(i64::try_from(seen).unwrap_or(i64::MAX))
            )
        });
        let said =
            format!("No {what} matches {}{among}. {} shows all.", runs.filter.text(), key(Action::Back));
        return vec![(said, theme.text)];
    }
    let days = match runs.period {
        Period::Today => " today",
        Period::Week => " in the last 7 days",
        Period::Month => " in the last 30 days",
        Period::All => "",
    };
    let more = match runs.period {
        Period::All => {
            "A run's record is what whoever launched an agent reports of it when it has ended: tokens, turns, time \
             and exit code. What prickle wakes is recorded by itself."
                .to_owned()
        }
        _ => format!("{} looks at other days.", key(Action::Period)),
    };
    vec![(format!("No runs reported{days}."), theme.focus), (String::new(), theme.text), (more, theme.muted)]
}

/// What is waited for.
pub(super) fn waiting(model: &Model) -> String {
    match &model.picture.connection {
        Connection::Offline { .. } | Connection::Refused { .. } => {
            "The room does not answer; it is asked as soon as it does.".to_owned()
        }
        Connection::Live | Connection::Connecting => "asking the room …".to_owned(),
    }
}
