//! The body while there is nobody to show: nobody came yet, or the room was never reached.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::paint::Canvas;
use super::{Parts, text};
use crate::picture::Connection;
use crate::shown;
use crate::tui::model::{Here, Layout, Model};
use crate::tui::theme::Theme;
use crate::wire::agent::Standing;
use crate::wire::id::is_slug;
use crate::wire::{LOCAL_ROOM, Time};

/// Draws the page with its next step.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model, parts: &Parts) {
    let theme = &model.look.theme;
    let narrow = model.layout() == Layout::Cards;
    let project = text(model, &model.picture.project);
    let title = if narrow { Line::from(Span::styled(project.clone(), theme.focus)) } else { Line::from("") };
    let area = ratatui::layout::Rect { y: 1, height: 1, ..canvas.area() };
    canvas.rule(area, 0, &title, &Line::from(""));
    let body = ratatui::layout::Rect { y: 2, height: parts.footer.y.saturating_sub(2), ..canvas.area() };
    let page = |much: Much| {
        let width = usize::from(area.width).saturating_sub(2);
        let out = if much == Much::Command { Vec::new() } else { vec![Line::default()] };
        let mut page = Page { out, width, narrow, theme };
        write(&mut page, model, &project, much);
        page.out
    };
    // Where rows are few the next step is worth more than the rest.
    let mut out = page(Much::All);
    for less in [Much::Step, Much::Command] {
        if out.len() > usize::from(body.height) {
            out = page(less);
        }
    }
    let glyphs = model.look.glyphs;
    let lines: Vec<Line<'static>> = out
        .into_iter()
        .map(|line| {
            line.spans
                .into_iter()
                .map(|s| Span::styled(glyphs.tell(&s.content).into_owned(), s.style))
                .collect()
        })
        .collect();
    canvas.lines(body, &lines, 0);
}

/// What the page says to do next, as it is to be pasted; `None` while there is nothing to do but wait.
pub fn next_step(model: &Model) -> Option<String> {
    let project = text(model, &model.picture.project);
    let nobody = newest(model).is_none();
    match &model.picture.connection {
        Connection::Live if model.picture.is_whole() => Some(match (model.first.here, nobody) {
            (Some(_), true) => connect(model, &project),
            (Some(_), false) => SAY.to_owned(),
            (None, true) => key(model, &project),
            (None, false) => pulse(model, &project),
        }),
        Connection::Offline { .. } => Some(serve(model)),
        Connection::Live | Connection::Connecting | Connection::Refused { .. } => None,
    }
}

/// Lets an agent into this machine's own room.
fn connect(model: &Model, project: &str) -> String {
    let named = if model.first.named { format!(" --project {project}") } else { String::new() };
    format!("prickle connect claude-code{named}")
}

/// Makes an agent's key where the room runs.
fn key(model: &Model, project: &str) -> String {
    // It goes into a shell: what is no handle is left for the reader to fill in.
    let owner = model.owner.as_deref().filter(|owner| is_slug(owner)).unwrap_or("OWNER");
    format!(
        "export PRICKLE_TOKEN=\"$(prickle key create --kind client --agent {owner}/builder --project {project})\""
    )
}

/// Reports a first pulse to a room elsewhere.
fn pulse(model: &Model, project: &str) -> String {
    let there = match shown::line(&model.server) {
        server if model.server != LOCAL_ROOM => format!(" --server {server}"),
        _ => String::new(),
    };
    format!("prickle pulse --project {project} --doing \"trying prickle\"{there}")
}

/// Starts the room that was never reached.
fn serve(model: &Model) -> String {
    match model.server.strip_prefix("http://").filter(|_| model.server != LOCAL_ROOM) {
        Some(address) => format!("prickle serve --addr {}", shown::line(address)),
        None => "prickle serve".into(),
    }
}

/// How much of the page there is room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Much {
    /// The next step's command.
    Command,
    /// The next step.
    Step,
    /// Everything.
    All,
}

fn write(page: &mut Page<'_>, model: &Model, project: &str, much: Much) {
    let server = shown::line(&model.server);
    match &model.picture.connection {
        Connection::Live if model.picture.is_whole() => match model.first.here {
            Some(here) => own(page, model, here, project, much),
            None => elsewhere(page, model, project, much),
        },
        Connection::Live | Connection::Connecting => {
            page.say(&format!("Asking {server} for the room {project}."), page.theme.muted);
        }
        Connection::Offline { why, .. } => {
            page.say(
                &format!("The room at {server} does not answer: {}.", shown::line(why)),
                page.theme.text,
            );
            page.blank();
            page.step("Start it, where it is to run", &serve(model));
            page.step("A full room to look at", "prickle demo");
        }
        Connection::Refused { why, .. } => page.say(&shown::line(why), page.theme.text),
    }
}

/// This machine's own room.
fn own(page: &mut Page<'_>, model: &Model, here: Here, project: &str, much: Much) {
    let host = shown::line(model.server.trim_start_matches("http://"));
    let agent = newest(model);
    let named = if model.first.named { format!(" --project {project}") } else { String::new() };
    let connect = connect(model, project);
    let pulse = format!("prickle pulse --doing \"trying prickle\"{named}");
    if much == Much::Command {
        return page.command(if agent.is_none() { &connect } else { SAY });
    }
    page.say(&format!("This is your room {project}. Nobody is in it yet."), page.theme.text);
    if much == Much::Step || page.narrow {
        page.blank();
        match agent {
            None => {
                page.say("In another terminal, in the folder of your project:", page.theme.text);
                page.blank();
                page.step("Let an agent in", &connect);
            }
            Some(agent) if agent.key_first_used_at.is_none() => {
                page.step("Start it by step 3 of prickle connect, and say", SAY);
            }
            Some(_) => page.step("It has called the room. Say to it", SAY),
        }
        if !page.narrow {
            list(page, model, project, agent);
        }
        return;
    }
    if here.ends {
        page.say(&format!("It runs here, on {host}, until an hour after its last use"), page.theme.muted);
        page.say("(prickle serve keeps it open for good).", page.theme.muted);
    } else {
        page.say(&format!("It runs here, on {host}."), page.theme.muted);
    }
    page.blank();
    page.say("In another terminal, in the folder of your project:", page.theme.text);
    page.blank();
    page.beside("  1  Let an agent in", &connect);
    page.beside("", "also: codex  grok  other");
    page.blank();
    page.beside("  2  Start it there and say", SAY);
    page.blank();
    page.beside("No agent at hand?", &pulse);
    page.beside("A full room to look at", "prickle demo");
    page.blank();
    list(page, model, project, agent);
}

/// A room that others run, or that was named.
fn elsewhere(page: &mut Page<'_>, model: &Model, project: &str, much: Much) {
    let server = shown::line(&model.server);
    let (key, pulse) = (key(model, project), pulse(model, project));
    if much == Much::Command {
        return page.command(&key);
    }
    page.say(&format!("This is the room {project}. Nobody is in it yet."), page.theme.text);
    if !page.narrow {
        page.say(&format!("It runs on {server}."), page.theme.muted);
    }
    page.blank();
    page.say("In another terminal, where the room runs:", page.theme.text);
    page.blank();
    page.step("1  Make a key for an agent", &key);
    page.step("2  Report its first pulse", &pulse);
    if !page.narrow && much == Much::All {
        page.step("A full room to look at", "prickle demo");
    }
    if !page.narrow && model.first.agents.is_some() {
        list(page, model, project, newest(model));
    }
}

/// The owner's agent that was let in last: the one that is waited for.
fn newest(model: &Model) -> Option<&Standing> {
    model.first.agents.iter().flat_map(|answer| &answer.agents).max_by_key(|agent| agent.key_made_at)
}

/// How far the agent has come, as a list that fills in by itself; the first step that is missing says what to do.
fn list(page: &mut Page<'_>, model: &Model, project: &str, agent: Option<&Standing>) {
    let minute = |at: Time| model.look.zone.minute(at);
    let you =
        model.owner.as_deref().map_or(String::new(), |owner| format!(", you are {}", text(model, owner)));
    let open = model.first.here.map_or_else(|| "yes".to_owned(), |here| minute(here.open));
    page.check(true, "room open", &format!("{open}{you}"));
    let Some(agent) = agent else { return page.check(false, "an agent's key", "not yet: let an agent in") };
    let who = text(model, agent.agent_id.as_str());
    page.check(true, &who, &format!("{}, its key was made", minute(agent.key_made_at)));
    let called = match (agent.tools_listed_at, agent.key_first_used_at) {
        (Some(at), _) => Some((at, "it has read the list of tools")),
        (None, at) => at.map(|at| (at, "without asking for the tools")),
    };
    match called {
        Some((at, how)) => {
            page.check(true, "it called the room", &format!("{}, {how}", minute(at)));
            page.check(false, "its first pulse", "not yet: tell it to report");
        }
        None => page.check(false, "it called the room", "not yet: start it by step 3 of prickle connect"),
    }
    if let Some(elsewhere) = agent.elsewhere.first() {
        let there = shown::line(&elsewhere.project);
        page.blank();
        page.step(
            &format!("{who} reported to {there}, not to {project}:"),
            &format!("prickle watch {there}"),
        );
    }
}

struct Page<'a> {
    out: Vec<Line<'static>>,
    width: usize,
    narrow: bool,
    theme: &'a Theme,
}

/// What makes an agent report.
pub const SAY: &str = "Report your pulse to prickle.";
/// Columns of what stands before a command on the same row.
const LABEL: usize = 34;
/// Columns of what a row of the list is about.
const ITEM: usize = 22;

impl Page<'_> {
    fn blank(&mut self) {
        self.out.push(Line::default());
    }

    fn say(&mut self, said: &str, style: Style) {
        for part in shown::wrap(said, self.width) {
            self.out.push(Line::from(Span::styled(format!(" {part}"), style)));
        }
    }

    /// A step and its command, alone on its line so that it can be taken whole; too long, it is broken as a shell
    /// joins it again.
    fn step(&mut self, what: &str, command: &str) {
        self.say(what, self.theme.text);
        self.command(command);
        self.blank();
    }

    fn command(&mut self, command: &str) {
        let indent = if self.narrow { "" } else { "   " };
        let parts = shown::wrap(command, self.width.saturating_sub(indent.len() + 2).max(1));
        let last = parts.len().saturating_sub(1);
        for (i, part) in parts.iter().enumerate() {
            // What is said to an agent is no shell's.
            let joint = if i < last && command != SAY { " \\" } else { "" };
            self.out.push(Line::from(Span::styled(format!(" {indent}{part}{joint}"), self.theme.hint)));
        }
    }

    /// What to do and its command on one row, where the command fits whole; else below each other.
    fn beside(&mut self, what: &str, command: &str) {
        let (text, hint) = (self.theme.text, self.theme.hint);
        if LABEL + shown::width(command) > self.width || shown::width(what) + 2 > LABEL {
            if !what.is_empty() {
                self.say(what, text);
            }
            for part in shown::wrap(command, self.width.saturating_sub(6)) {
                self.out.push(Line::from(Span::styled(format!("      {part}"), hint)));
            }
            return;
        }
        let what = format!(" {what}{}", " ".repeat(LABEL.saturating_sub(shown::width(what))));
        self.out.push(Line::from(vec![Span::styled(what, text), Span::styled(command.to_owned(), hint)]));
    }

    /// A row of the list: done or not, what, and when or what to do.
    fn check(&mut self, done: bool, what: &str, more: &str) {
        let (sign, style) = if done { ("✓", self.theme.text) } else { ("·", self.theme.hint) };
        let gap = " ".repeat(ITEM.saturating_sub(shown::width(what)).max(2));
        let more = shown::wrap(more, self.width.saturating_sub(ITEM + 3).max(20));
        for (i, part) in more.iter().enumerate() {
            let line = match i {
                0 => vec![
                    Span::styled(format!(" {sign} {what}{gap}"), style),
                    Span::styled(part.clone(), style),
                ],
                _ => vec![Span::styled(format!("{}{part}", " ".repeat(ITEM + 3)), style)],
            };
            self.out.push(Line::from(line));
        }
    }
}
