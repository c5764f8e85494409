//! A failure in the detail: its title and since when, and in the watcher's voice what to do.

use ratatui::text::{Line, Span};

use super::{at_edge, banner, copies, text};
use crate::hint::{self, Hint};
use crate::picture::{Agent, Since};
use crate::tui::model::Model;
use crate::wire::id::AgentId;
use crate::wire::pulse::RunFailure;
use crate::{shown, words};

/// The most letters that a name of a newer room gets.
const NAME_MAX: usize = 80;

/// What there is room for.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    /// Columns.
    pub width: usize,
    /// Every row is dear: no blank ones, and of the commands only the first.
    pub dense: bool,
}

/// The failure's lines; none where none stands.
pub fn lines(model: &Model, id: &AgentId, agent: &Agent, room: Room) -> Vec<Line<'static>> {
    let Some(failure) = &agent.pulse.run_failure else { return Vec::new() };
    let mut out = Told { model, room, lines: Vec::new() };
    let hint = hint::of(failure);
    out.title(hint.title, agent);
    if let Some(trouble) = model.shared_trouble(id) {
        let advice = if model.is_mine(agent) { " Wait, then retry." } else { "" };
        out.say(&format!("{}{advice}", banner::reference(trouble)));
    } else if model.is_mine(agent) {
        out.say(&format!("{} {}", hint.meaning, hint.advice));
        out.commands(&hint);
    } else {
        let owner = text(model, &agent.pulse.owner);
        let branch = agent.pulse.branch.as_deref().map(|branch| text(model, branch));
        let told = format!("{owner}{}. {}", hint.teammate.told, hint.teammate.meaning);
        let next = hint.teammate.next(branch.as_deref());
        if room.dense {
            out.say(&format!("{told} {next}"));
        } else {
            out.say(&told);
            out.say(&next);
        }
    }
    out.newer(failure);
    out.lines
}

/// What the owner should know besides: the first to fall off at the end.
pub fn note(model: &Model, id: &AgentId, agent: &Agent, room: Room) -> Vec<Line<'static>> {
    let mut out = Told { model, room, lines: Vec::new() };
    let note = agent.pulse.run_failure.as_ref().map_or("", |failure| hint::of(failure).note);
    if !note.is_empty() && model.is_mine(agent) && model.shared_trouble(id).is_none() {
        out.say(note);
    }
    out.lines
}

struct Told<'m> {
    model: &'m Model,
    room: Room,
    lines: Vec<Line<'static>>,
}

impl Told<'_> {
    fn title(&mut self, title: &str, agent: &Agent) {
        let theme = &self.model.look.theme;
        let now = self.model.now();
        let since = agent.failed.unwrap_or(Since::Before(now));
        let since = Span::styled(words::since(since, now, self.model.look.zone), theme.muted);
        // What was marked as seen no longer calls.
        let style = if self.model.fails(agent) { theme.error } else { theme.muted };
        let mut line = vec![Span::styled(format!(" ! {}", text(self.model, title)), style)];
        let fits = at_edge(&mut line, self.room.width, since.clone());
        self.push(line);
        if !fits {
            self.push(vec![Span::raw("   "), since]);
        }
    }

    fn push(&mut self, spans: Vec<Span<'static>>) {
        self.lines.push(Line::from(spans));
    }

    fn blank(&mut self) {
        if !self.room.dense {
            self.lines.push(Line::default());
        }
    }

    fn say(&mut self, said: &str) {
        let said = self.model.look.glyphs.tell(said).into_owned();
        for part in shown::wrap(&said, self.room.width.saturating_sub(4)) {
            self.push(vec![Span::styled(format!("   {part}"), self.model.look.theme.text)]);
        }
    }

    /// The commands, each alone on its line, so that a double or triple click takes it.
    fn commands(&mut self, hint: &Hint) {
        if let Some(command) = hint.command {
            self.blank();
            self.alone(command, &copies(self.model, "it"));
        }
        if hint.command.is_none() || !self.room.dense {
            self.others(hint);
        }
    }

    /// A command on lines of its own, never cut and never broken inside a word: too long, it begins in the first
    /// column and is broken as a shell joins it again. What `key` does stands beside it where it fits.
    fn alone(&mut self, command: &'static str, key: &str) {
        let theme = &self.model.look.theme;
        let (wide, width) = (shown::width(command), self.room.width);
        let indent = [5, 3].into_iter().find(|indent| indent + wide < width);
        let Some(indent) = indent else {
            for part in broken(command, width) {
                self.push(vec![Span::styled(part, theme.hint)]);
            }
            return;
        };
        let mut spans = vec![Span::raw(" ".repeat(indent)), Span::styled(command, theme.hint)];
        at_edge(&mut spans, width, Span::styled(key.to_owned(), theme.muted));
        self.push(spans);
    }

    /// The other commands in two columns: what for, and the command; below each other where that is too wide.
    fn others(&mut self, hint: &Hint) {
        if hint.others.is_empty() {
            return;
        }
        self.blank();
        let theme = &self.model.look.theme;
        let (width, wide) = (self.room.width, |text: &str| shown::width(text));
        let longest = hint.others.iter().map(|(what, _)| wide(what)).max().unwrap_or(0);
        let most = hint.others.iter().map(|(_, command)| wide(command)).max().unwrap_or(0);
        let gap = if 3 + longest + 3 + most < width { 3 } else { 2 };
        for (what, command) in hint.others {
            let name = Span::styled(format!("   {what:<longest$}"), theme.muted);
            if 3 + longest + gap + wide(command) < width {
                let gap = Span::raw(" ".repeat(gap));
                self.push(vec![name, gap, Span::styled(*command, theme.hint)]);
            } else {
                if !what.is_empty() {
                    self.push(vec![name]);
                }
                self.alone(command, "");
            }
        }
    }

    /// What a newer room says of it: names that have no words here, and members beyond the two.
    fn newer(&mut self, failure: &RunFailure) {
        let cut = |text: &str| shown::cut(text, NAME_MAX, self.model.look.glyphs.end()).into_owned();
        let unknown = hint::unknown(failure).map(|name| {
            format!("The room calls it {}, which this prickle does not know.", cut(&text(self.model, &name)))
        });
        let more = failure
            .more
            .iter()
            .map(|(name, value)| cut(&text(self.model, &format!("{name}: {}", super::agent::plain(value)))));
        let all: Vec<String> = unknown.into_iter().chain(more).collect();
        all.iter().for_each(|said| self.say(said));
    }
}

/// A command in as few lines as hold it. A line that goes on below ends as a shell joins it; a page's address has
/// no blank to be broken at, and a browser does without the first part of it.
fn broken(command: &str, width: usize) -> Vec<String> {
    if shown::width(command) <= width {
        return vec![command.to_owned()];
    }
    if let Some(page) = command.strip_prefix("https://") {
        return shown::wrap(page, width);
    }
    let mut parts = shown::wrap(command, width.saturating_sub(2));
    let last = parts.len() - 1;
    parts[..last].iter_mut().for_each(|part| part.push_str(" \\"));
    parts
}
