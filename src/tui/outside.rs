//! What reaches beyond the screen: the terminal's title, its clipboard, and calls for a person who looks elsewhere.
//!
//! All of it is bytes for the terminal, which go out with the next picture, or work for [`notify`](super::notify).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use crossterm::event::Event;
use tokio::sync::mpsc;

use super::model::{Model, Watch};
use crate::alarm::{Alarm, Alarms, How};
use crate::shown;

/// Columns of the longest title.
const TITLE_MAX: usize = 120;
/// Bytes of the longest text for the clipboard: terminals with a limit take 100,000 bytes of base64.
const COPY_MAX: usize = 74_994;

/// How far the settings let the screen reach.
#[derive(Debug, Clone, Default)]
pub struct Wishes {
    /// The terminal's title may be set.
    pub title: bool,
    /// How a person is called.
    pub notify: How,
}

/// What the world outside the screen was told, and is still to be told.
#[derive(Debug, Default)]
pub struct Outside {
    wishes: Wishes,
    /// The title that is set.
    title: String,
    alarms: Alarms,
    /// Whether somebody looks at the terminal, if it tells.
    focused: Option<bool>,
    /// For the terminal, whole sequences only.
    bytes: Vec<u8>,
    /// What runs the command.
    commands: Option<mpsc::Sender<Alarm>>,
}

impl Outside {
    /// Nothing told yet. `commands` is what runs the command, where the settings name one.
    pub fn new(wishes: Wishes, commands: Option<mpsc::Sender<Alarm>>) -> Self {
        Self { wishes, commands, ..Self::default() }
    }

    /// The terminal may tell whether somebody looks at it.
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::FocusGained => self.focused = Some(true),
            Event::FocusLost => self.focused = Some(false),
            _ => {}
        }
    }

    /// Looks at what is to be shown: whether the title is still true, and whether somebody has to be called.
    pub fn look(&mut self, model: &Model) {
        if self.wishes.title {
            let title = title(model);
            if title != self.title {
                self.say("0", &title);
                self.title = title;
            }
        }
        if self.wishes.notify != How::Off {
            let picture = model.present();
            let now = picture.room_time(model.watch.now());
            // Also while somebody looks: what they have seen begin is not to be told later.
            let begun = self.alarms.look(picture, model.owner.as_deref(), now);
            if self.focused != Some(true) {
                self.call(model, begun);
            }
        }
    }

    fn call(&mut self, model: &Model, begun: Vec<Alarm>) {
        let Some(first) = begun.first() else { return };
        match &self.wishes.notify {
            How::Off => {}
            How::Bell => self.bytes.push(0x07),
            How::Osc9 => {
                let more = begun.len() - 1;
                let more = if more > 0 { format!(" · and {more} more") } else { String::new() };
                let text = format!("{}{more}", first.text);
                self.say("9", &model.look.glyphs.tell(&text));
            }
            How::Command(_) => {
                for alarm in begun {
                    // Of very many at once the first say enough.
                    let _ = self.commands.as_ref().map(|commands| commands.try_send(alarm));
                }
            }
        }
    }

    /// Gives a text to the clipboard as one safe line: a line end in it would start the command that it is pasted
    /// into. The error says why not.
    pub fn copy(&mut self, text: &str) -> Result<(), String> {
        let text = shown::line(text);
        if text.len() > COPY_MAX {
            return Err(format!("too long for a terminal's clipboard: {} kB", text.len() / 1000));
        }
        let coded = STANDARD.encode(text);
        self.say("52;c", &coded);
        Ok(())
    }

    /// The terminal was given back meanwhile, and with it its title.
    pub fn forget(&mut self) {
        self.title.clear();
    }

    /// What is to be written to the terminal now.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// An operating system command. BEL ends it, which terminals of every age know.
    fn say(&mut self, command: &str, safe: &str) {
        self.bytes.extend_from_slice(format!("\x1b]{command};{safe}\x07").as_bytes());
    }
}

/// The terminal's title: what needs a person first, since titles are cut at their end.
fn title(model: &Model) -> String {
    let mut line = model.summary(model.present(), model.watch.now()).line();
    if model.replay || matches!(model.watch, Watch::Still(_)) {
        line.push_str(" · recording");
    }
    let line = model.look.glyphs.tell(&line).into_owned();
    shown::cut(&line, TITLE_MAX, model.look.glyphs.end()).into_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use chrono::{FixedOffset, TimeDelta};

    use super::*;
    use crate::alarm::What;
    use crate::picture::Picture;
    use crate::tui::model::Look;
    use crate::tui::theme::{Glyphs, Theme};
    use crate::words::Zone;

    fn copied(text: &str) -> Result<Vec<u8>, String> {
        let mut outside = Outside::default();
        outside.copy(text)?;
        Ok(outside.take())
    }

    #[test]
    fn a_text_for_the_clipboard_is_one_safe_line() {
        assert_eq!(copied("claude auth login").unwrap(), b"\x1b]52;c;Y2xhdWRlIGF1dGggbG9naW4=\x07");
        assert_eq!(copied("料金").unwrap(), b"\x1b]52;c;5paZ6YeR\x07");
        let hostile = copied("ls\nrm -r x\r\u{1b}]52;c;aGk=\u{7}\u{202e}").unwrap();
        let coded = hostile.strip_prefix(b"\x1b]52;c;").unwrap().strip_suffix(b"\x07").unwrap();
        assert_eq!(STANDARD.decode(coded).unwrap(), "ls·rm -r x··<U+202E>".as_bytes());
    }

    /// What three alarms at once lead to; the second value are those that a command is told.
    fn called(notify: How) -> (Vec<u8>, Vec<String>) {
        let utc = FixedOffset::east_opt(0).unwrap();
        let look = Look { theme: Theme::mono(), glyphs: Glyphs::Ascii, layout: None, zone: Zone::Fixed(utc) };
        let watch = Watch::Running(TimeDelta::zero());
        let model = Model::new(Picture::new("site"), String::new(), None, watch, look);
        let alarm = |name: &str| {
            let (agent, text) = (format!("acme/{name}").parse().unwrap(), format!("acme/{name}: “out”"));
            Alarm { what: What::Failed, agent, project: "site".into(), text }
        };
        let (commands, mut told) = mpsc::channel(8);
        let mut outside = Outside::new(Wishes { title: false, notify }, Some(commands));
        outside.call(&model, Vec::new());
        assert_eq!(outside.take(), b"");
        outside.call(&model, ["a", "b", "c"].map(alarm).into());
        let told = std::iter::from_fn(|| told.try_recv().ok()).map(|alarm| alarm.agent.to_string()).collect();
        (outside.take(), told)
    }

    #[test]
    fn many_alarms_at_once_are_one_call_to_a_person_and_one_each_to_a_program() {
        assert_eq!(called(How::Off), (b"".into(), vec![]));
        assert_eq!(called(How::Bell), (b"\x07".into(), vec![]));
        assert_eq!(called(How::Osc9), (b"\x1b]9;acme/a: ?out?, and 2 more\x07".into(), vec![]));
        let names = ["acme/a", "acme/b", "acme/c"].map(str::to_owned).into();
        assert_eq!(called(How::Command(vec!["x".into()])), (b"".into(), names));
    }

    #[test]
    fn a_text_that_a_terminal_would_cut_is_refused() {
        assert_eq!(copied(&"a".repeat(COPY_MAX)).unwrap().len(), 100_000);
        assert_eq!(
            copied(&"a".repeat(COPY_MAX + 1)).unwrap_err(),
            "too long for a terminal's clipboard: 74 kB"
        );
    }
}
