//! The one table of keys: it feeds what a key does, the footer, the help and the README.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// What a key can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// One line down.
    Down,
    /// One line up.
    Up,
    /// To the first.
    Top,
    /// To the last.
    End,
    /// Half a page down.
    HalfDown,
    /// Half a page up.
    HalfUp,
    /// A page down.
    PageDown,
    /// A page up.
    PageUp,
    /// To the next agent with a failure that needs you.
    NextNeedsYou,
    /// To the one before.
    LastNeedsYou,
    /// The other pane takes the keys.
    OtherPane,
    /// The agent gets the whole screen.
    Open,
    /// One level back.
    Back,
    /// The next theme.
    NextTheme,
    /// Try the connection now.
    Retry,
    /// Help on or off.
    Help,
    /// Stop the job; `fg` brings it back.
    Suspend,
    /// End.
    Quit,
}

/// Where a key counts, and where the footer names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Everywhere.
    Always,
    /// Where there are agents to move among.
    Agents,
    /// In the list.
    List,
    /// Where something is the watcher's to mend.
    NeedsYou,
    /// Where there is a level to go back to.
    Inside,
    /// Where there is more than one theme.
    Themes,
    /// While the room does not answer.
    Offline,
}

/// A group of the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Moving about.
    Move,
    /// Seeing more or less.
    Look,
    /// The program.
    Leave,
}

/// A key as it is pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key(KeyModifiers, KeyCode);

const fn key(c: char) -> Key {
    Key(KeyModifiers::NONE, KeyCode::Char(c))
}
const fn ctrl(c: char) -> Key {
    Key(KeyModifiers::CONTROL, KeyCode::Char(c))
}
const fn named(code: KeyCode) -> Key {
    Key(KeyModifiers::NONE, code)
}

impl Key {
    /// The key's name, as the help, the footer and the README spell it.
    pub fn name(self) -> String {
        let name = match self.1 {
            KeyCode::Char(c) => c.to_string(),
            KeyCode::Up => "↑".into(),
            KeyCode::Down => "↓".into(),
            KeyCode::Left => "←".into(),
            KeyCode::Right => "→".into(),
            KeyCode::PageUp => "PgUp".into(),
            KeyCode::PageDown => "PgDn".into(),
            KeyCode::BackTab => "Shift-Tab".into(),
            KeyCode::Backspace => "Backspace".into(),
            other => format!("{other:?}"),
        };
        if self.0.contains(KeyModifiers::CONTROL) { format!("Ctrl-{name}") } else { name }
    }

    fn matches(self, event: KeyEvent) -> bool {
        // Shift stands in the character itself already.
        let modifiers = event.modifiers - KeyModifiers::SHIFT;
        modifiers == self.0 && event.code == self.1
    }
}

/// One row of the table.
#[derive(Debug)]
pub struct Binding {
    /// The keys that do it.
    pub keys: &'static [Key],
    /// What they do.
    pub action: Action,
    /// Where.
    pub when: When,
    /// Its words in the footer, long and short; none: only the help names it.
    pub foot: Option<(&'static str, &'static str)>,
    /// Its words in the help and the README.
    pub help: &'static str,
    /// Its place in the help.
    pub group: Group,
}

macro_rules! bind {
    ([$($key:expr),+], $action:ident, $when:ident, $foot:expr, $help:literal, $group:ident) => {
        Binding { keys: &[$($key),+], action: Action::$action, when: When::$when, foot: $foot, help: $help, group: Group::$group }
    };
}

/// Every key. The footer names them in this order.
#[rustfmt::skip]
pub const TABLE: &[Binding] = &[
    bind!([key('r')], Retry, Offline, Some(("retry now", "now")), "connect now", Leave),
    bind!([named(KeyCode::Esc), key('h'), named(KeyCode::Left), named(KeyCode::Backspace)], Back, Inside, Some(("back", "back")), "one level back", Look),
    bind!([key('n')], NextNeedsYou, NeedsYou, Some(("next that needs you", "needs you")), "next that needs you", Move),
    bind!([key('N')], LastNeedsYou, NeedsYou, None, "the one before", Move),
    bind!([named(KeyCode::Enter), key('l'), named(KeyCode::Right)], Open, List, Some(("open", "open")), "open the agent", Look),
    bind!([key('j'), named(KeyCode::Down)], Down, Agents, None, "one line down", Move),
    bind!([key('k'), named(KeyCode::Up)], Up, Agents, None, "one line up", Move),
    bind!([ctrl('d')], HalfDown, Agents, None, "half a page down", Move),
    bind!([ctrl('u')], HalfUp, Agents, None, "half a page up", Move),
    bind!([named(KeyCode::PageDown)], PageDown, Agents, None, "a page down", Move),
    bind!([named(KeyCode::PageUp)], PageUp, Agents, None, "a page up", Move),
    bind!([key('g'), named(KeyCode::Home)], Top, Agents, None, "first", Move),
    bind!([key('G'), named(KeyCode::End)], End, Agents, None, "last", Move),
    bind!([named(KeyCode::Tab), named(KeyCode::BackTab)], OtherPane, Agents, None, "other pane", Look),
    bind!([key('t')], NextTheme, Themes, None, "next theme", Look),
    bind!([key('q')], Quit, Always, Some(("quit", "quit")), "quit", Leave),
    bind!([ctrl('c')], Quit, Always, None, "quit always", Leave),
    bind!([ctrl('z')], Suspend, Always, None, "suspend", Leave),
    bind!([key('?')], Help, Always, Some(("help", "help")), "this help", Look),
];

/// What a key press does where `now` says which conditions hold.
pub fn action(event: KeyEvent, now: impl Fn(When) -> bool) -> Option<Action> {
    if event.kind == KeyEventKind::Release {
        return None; // some terminals tell both; a toggle must not bounce
    }
    TABLE.iter().find(|b| now(b.when) && b.keys.iter().any(|k| k.matches(event))).map(|b| b.action)
}

/// The README's table of keys.
pub fn markdown() -> String {
    let mut out = String::from("| key | does |\n| --- | --- |\n");
    for binding in TABLE {
        let keys: Vec<String> = binding.keys.iter().map(|k| format!("`{}`", k.name())).collect();
        out.push_str(&format!("| {} | {} |\n", keys.join(" "), binding.help));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_stands_twice() {
        let keys: Vec<Key> = TABLE.iter().flat_map(|b| b.keys.iter().copied()).collect();
        for (i, key) in keys.iter().enumerate() {
            assert!(!keys[i + 1..].contains(key), "{}", key.name());
        }
    }

    #[test]
    fn only_presses_and_repeats_act() {
        let mut event = KeyEvent::new(KeyCode::Char('?'), KeyModifiers::NONE);
        assert_eq!(action(event, |_| true), Some(Action::Help));
        event.kind = KeyEventKind::Repeat;
        assert_eq!(action(event, |_| true), Some(Action::Help));
        event.kind = KeyEventKind::Release;
        assert_eq!(action(event, |_| true), None);
        let alt = KeyEvent::new(KeyCode::Char('q'), KeyModifiers::ALT);
        assert_eq!(action(alt, |_| true), None, "Esc and then q within a blink is not a quit");
        let shifted = KeyEvent::new(KeyCode::Char('G'), KeyModifiers::SHIFT);
        assert_eq!(action(shifted, |_| true), Some(Action::End));
    }
}
