//! The body while there is nobody to show: nobody came yet, or the room was never reached.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::paint::Canvas;
use super::{Parts, text};
use crate::picture::Connection;
use crate::shown;
use crate::tui::model::{Layout, Model};
use crate::wire::LOCAL_ROOM;

/// Draws the page with its next step.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model, parts: &Parts) {
    let theme = &model.look.theme;
    let narrow = model.layout() == Layout::Cards;
    let project = text(model, &model.picture.project);
    let title = if narrow { Line::from(Span::styled(project.clone(), theme.focus)) } else { Line::from("") };
    let area = ratatui::layout::Rect { y: 1, height: 1, ..canvas.area() };
    canvas.rule(area, 0, &title, &Line::from(""));
    let mut page =
        Page { out: vec![Line::default()], width: usize::from(area.width).saturating_sub(2), narrow };
    let server = shown::line(&model.server);
    let owner = model.owner.as_deref().map_or("OWNER".into(), |owner| text(model, owner));
    let key = format!(
        "export PRICKLE_TOKEN=\"$(prickle key create --kind client --agent {owner}/builder --project {project})\""
    );
    let there = if model.server == LOCAL_ROOM { String::new() } else { format!(" --server {server}") };
    let pulse = format!("prickle pulse --project {project} --doing \"trying prickle\"{there}");
    let serve = match model.server.strip_prefix("http://").filter(|_| model.server != LOCAL_ROOM) {
        Some(address) => format!("prickle serve --addr {}", shown::line(address)),
        None => "prickle serve".into(),
    };
    match &model.picture.connection {
        Connection::Live if model.picture.is_whole() => {
            page.say(&format!("This is the room {project}. Nobody is in it yet."), theme.text);
            if !narrow {
                page.say(&format!("It runs on {server}."), theme.muted);
            }
            page.blank();
            page.say("In another terminal, where the room runs:", theme.text);
            page.blank();
            page.step("1  Make a key for an agent", &key, theme.text, theme.hint);
            page.step("2  Report its first pulse", &pulse, theme.text, theme.hint);
            if !narrow {
                page.say("This page gives way to the room by itself.", theme.muted);
                page.blank();
                page.step("A full room to look at", "prickle demo", theme.text, theme.hint);
            }
        }
        Connection::Live | Connection::Connecting => {
            page.say(&format!("Asking {server} for the room {project}."), theme.muted);
        }
        Connection::Offline { why, .. } => {
            page.say(&format!("The room at {server} does not answer: {}.", shown::line(why)), theme.text);
            page.blank();
            page.step("Start it, where it is to run", &serve, theme.text, theme.hint);
            page.step("A full room to look at", "prickle demo", theme.text, theme.hint);
        }
        Connection::Refused { why, .. } => page.say(&shown::line(why), theme.text),
    }
    let glyphs = model.look.glyphs;
    let lines: Vec<Line<'static>> = page
        .out
        .into_iter()
        .map(|line| {
            line.spans
                .into_iter()
                .map(|s| Span::styled(glyphs.tell(&s.content).into_owned(), s.style))
                .collect()
        })
        .collect();
    let body = ratatui::layout::Rect { y: 2, height: parts.footer.y.saturating_sub(2), ..canvas.area() };
    canvas.lines(body, &lines, 0);
}

struct Page {
    out: Vec<Line<'static>>,
    width: usize,
    narrow: bool,
}

impl Page {
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
    fn step(&mut self, what: &str, command: &str, text: Style, hint: Style) {
        self.say(what, text);
        let indent = if self.narrow { "" } else { "   " };
        let parts = shown::wrap(command, self.width - indent.len() - 2);
        let last = parts.len() - 1;
        for (i, part) in parts.iter().enumerate() {
            let joint = if i < last { " \\" } else { "" };
            self.out.push(Line::from(Span::styled(format!(" {indent}{part}{joint}"), hint)));
        }
        self.blank();
    }
}
