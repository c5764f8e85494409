//! The one table of keys: it feeds what a key does, the footer, the help, the README and the names in the settings.

mod names;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::model::View;

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
    /// To the next agent with a failure or a clash that needs you.
    NextNeedsYou,
    /// To the one before.
    LastNeedsYou,
    /// Another view.
    Show(View),
    /// The other pane takes the keys.
    OtherPane,
    /// The detail beside or below the list is shown, or not.
    Detail,
    /// What is selected gets the whole screen.
    Open,
    /// One level back.
    Back,
    /// A filter is typed.
    Filter,
    /// The list's next order.
    Sort,
    /// The same order the other way round.
    Reverse,
    /// The list's next headings.
    Group,
    /// The picture stands still, or goes on.
    Freeze,
    /// The command, or the message, into the clipboard.
    Copy,
    /// The row as JSON into the clipboard.
    CopyRow,
    /// A failure or a clash no longer counts as needing you.
    Seen,
    /// The days that run records are of.
    Period,
    /// What is listed of the run records into a file.
    Export,
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

/// When a key counts in its views, and the footer names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Always.
    Always,
    /// Where there is something to move among.
    Rows,
    /// Where a row is selected, in the list.
    Row,
    /// The same, where it is to be seen which row that is.
    Shown,
    /// Where the list is on the screen.
    List,
    /// Where the selected row has something to copy.
    Copies,
    /// Where the selected row needs somebody, or did until it was marked as seen.
    Marked,
    /// Where something is the watcher's to mend.
    NeedsYou,
    /// Where there is a level to go back to.
    Inside,
    /// Where there is more than one theme.
    Themes,
    /// While the room does not answer.
    Offline,
    /// In the help.
    Helped,
    /// Behind no help.
    Unhelped,
    /// Behind no help, in a room with agents.
    Looking,
}

/// A group of the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Moving about.
    Move,
    /// Seeing more or less.
    Look,
    /// What the list holds, and how.
    List,
    /// Taking something along.
    Take,
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
            KeyCode::Char(' ') => "Space".into(),
            KeyCode::Char(c) => c.to_string(),
            KeyCode::F(n) => format!("F{n}"),
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
    /// What the settings call it. Rows of one name are one key in several views.
    pub name: &'static str,
    /// The keys that do it unless the settings say otherwise.
    pub keys: &'static [Key],
    /// What they do.
    pub action: Action,
    /// In which views.
    pub at: &'static [View],
    /// When.
    pub when: When,
    /// Its words in the footer, long and short; none: only the help names it.
    pub foot: Option<(&'static str, &'static str)>,
    /// Its words in the help and the README.
    pub help: &'static str,
    /// Its place in the help.
    pub group: Group,
}

const EVERYWHERE: &[View] = &[View::Room, View::Clashes, View::Runs, View::Activity];
const ROOM: &[View] = &[View::Room];
const CLASHES: &[View] = &[View::Clashes];
const RUNS: &[View] = &[View::Runs];
const ACTIVITY: &[View] = &[View::Activity];
const BUT_ROOM: &[View] = &[View::Clashes, View::Runs, View::Activity];
const BUT_CLASHES: &[View] = &[View::Room, View::Runs, View::Activity];
const BUT_RUNS: &[View] = &[View::Room, View::Clashes, View::Activity];
const BUT_ACTIVITY: &[View] = &[View::Room, View::Clashes, View::Runs];
const OF_AGENTS: &[View] = &[View::Room, View::Activity];

macro_rules! bind {
    ($name:literal, [$($key:expr),+], $action:expr, $at:ident, $when:ident, $foot:expr, $help:literal, $group:ident) => {
        Binding {
            name: $name,
            keys: &[$($key),+],
            action: { use Action::*; $action },
            at: $at,
            when: When::$when,
            foot: $foot,
            help: $help,
            group: Group::$group,
        }
    };
}

/// Every key. The footer names them in this order.
#[rustfmt::skip]
#[allow(clippy::enum_glob_use)]
pub const TABLE: &[Binding] = &[
    bind!("retry", [key('r')], Retry, EVERYWHERE, Offline, Some(("retry now", "now")), "connect now", Leave),
    bind!("back", [named(KeyCode::Esc), key('h'), named(KeyCode::Left), named(KeyCode::Backspace)], Back, EVERYWHERE, Inside, Some(("back", "back")), "one level back", Look),
    bind!("next", [key('n')], NextNeedsYou, EVERYWHERE, NeedsYou, Some(("next that needs you", "needs you")), "next that needs you", Move),
    bind!("previous", [key('N')], LastNeedsYou, EVERYWHERE, NeedsYou, None, "the one before", Move),
    bind!("open", [named(KeyCode::Enter), key('l'), named(KeyCode::Right)], Open, ROOM, Row, Some(("open", "open")), "open the agent", Look),
    bind!("open", [named(KeyCode::Enter), key('l'), named(KeyCode::Right)], Open, CLASHES, Row, Some(("both agents", "both")), "open the clash", Look),
    bind!("open", [named(KeyCode::Enter), key('l'), named(KeyCode::Right)], Open, RUNS, Row, Some(("runs", "runs")), "open the runs, the run", Look),
    bind!("open", [named(KeyCode::Enter), key('l'), named(KeyCode::Right)], Open, ACTIVITY, Row, Some(("agent", "agent")), "open the agent", Look),
    bind!("group", [key('o')], Group, RUNS, List, Some(("group", "group")), "group: next headings", List),
    bind!("sort", [key('s')], Sort, RUNS, List, Some(("sort", "sort")), "sort: next order", List),
    bind!("reverse", [key('S')], Reverse, RUNS, List, None, "reverse the order", List),
    bind!("period", [key('d')], Period, RUNS, List, Some(("days", "days")), "days: today, 7, 30, all", List),
    bind!("filter", [key('/')], Filter, BUT_RUNS, List, Some(("filter", "filter")), "filter, like s:idle", List),
    bind!("filter", [key('/')], Filter, RUNS, List, Some(("filter", "filter")), "filter, like a:builder", List),
    bind!("filter", [key('/')], Filter, EVERYWHERE, Helped, Some(("search keys", "search keys")), "filter, like s:idle", List),
    bind!("sort", [key('s')], Sort, ROOM, List, None, "sort: next order", List),
    bind!("reverse", [key('S')], Reverse, ROOM, List, None, "reverse the order", List),
    bind!("group", [key('o')], Group, ROOM, List, None, "group: next headings", List),
    bind!("export", [key('e')], Export, RUNS, Row, Some(("export", "export")), "export what is listed as CSV", Take),
    bind!("seen", [key('x')], Seen, CLASHES, Marked, Some(("seen", "seen")), "mark as seen, here only", List),
    bind!("copy", [key('y')], Copy, CLASHES, Copies, Some(("copy message", "copy")), "copy the command or the message", Take),
    bind!("freeze", [key('f')], Freeze, ACTIVITY, Looking, Some(("freeze", "freeze")), "freeze the picture", Look),
    bind!("room", [key('1')], Show(View::Room), BUT_ROOM, Looking, Some(("room", "room")), "the Room", Look),
    bind!("clashes", [key('2')], Show(View::Clashes), BUT_CLASHES, Looking, Some(("clashes", "clashes")), "the Clashes", Look),
    bind!("runs", [key('3')], Show(View::Runs), BUT_RUNS, Looking, Some(("runs", "runs")), "the Runs", Look),
    bind!("runs", [key('3')], Show(View::Runs), BUT_RUNS, Unhelped, None, "the Runs", Look),
    bind!("activity", [key('4')], Show(View::Activity), BUT_ACTIVITY, Looking, Some(("activity", "activity")), "the Activity", Look),
    bind!("copy", [key('y')], Copy, BUT_CLASHES, Copies, Some(("copy command", "copy")), "copy the command or the message", Take),
    bind!("seen", [key('x')], Seen, OF_AGENTS, Marked, Some(("seen", "seen")), "mark as seen, here only", List),
    bind!("down", [key('j'), named(KeyCode::Down)], Down, EVERYWHERE, Rows, None, "one line down", Move),
    bind!("up", [key('k'), named(KeyCode::Up)], Up, EVERYWHERE, Rows, None, "one line up", Move),
    bind!("half-down", [ctrl('d')], HalfDown, EVERYWHERE, Rows, None, "half a page down", Move),
    bind!("half-up", [ctrl('u')], HalfUp, EVERYWHERE, Rows, None, "half a page up", Move),
    bind!("page-down", [named(KeyCode::PageDown)], PageDown, EVERYWHERE, Rows, None, "a page down", Move),
    bind!("page-up", [named(KeyCode::PageUp)], PageUp, EVERYWHERE, Rows, None, "a page up", Move),
    bind!("top", [key('g'), named(KeyCode::Home)], Top, EVERYWHERE, Rows, None, "first", Move),
    bind!("end", [key('G'), named(KeyCode::End)], End, EVERYWHERE, Rows, None, "last", Move),
    bind!("pane", [named(KeyCode::Tab), named(KeyCode::BackTab)], OtherPane, BUT_ACTIVITY, Rows, None, "other pane", Look),
    bind!("detail", [key('p')], Detail, BUT_ACTIVITY, Looking, None, "detail on, off", Look),
    bind!("freeze", [key('f')], Freeze, BUT_ACTIVITY, Looking, None, "freeze the picture", Look),
    bind!("copy-row", [key('Y')], CopyRow, EVERYWHERE, Shown, None, "copy the row as JSON", Take),
    bind!("theme", [key('t')], NextTheme, EVERYWHERE, Themes, None, "next theme", Look),
    bind!("quit", [key('q')], Quit, EVERYWHERE, Always, Some(("quit", "quit")), "quit", Leave),
    bind!("quit-always", [ctrl('c')], Quit, EVERYWHERE, Always, None, "quit always", Leave),
    bind!("suspend", [ctrl('z')], Suspend, EVERYWHERE, Always, None, "suspend", Leave),
    bind!("help", [key('?')], Help, EVERYWHERE, Always, Some(("help", "help")), "this help", Look),
];

/// The keys in use, which the settings may have changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keys {
    /// Those of each row of [`TABLE`].
    bound: Vec<Vec<Key>>,
}

impl Default for Keys {
    fn default() -> Self {
        Self { bound: TABLE.iter().map(|binding| binding.keys.to_vec()).collect() }
    }
}

impl Keys {
    /// Every row of the table with its keys.
    pub fn rows(&self) -> impl Iterator<Item = (&'static Binding, &[Key])> {
        TABLE.iter().zip(self.bound.iter().map(Vec::as_slice))
    }

    /// The first key of an action, as it is spelled.
    pub fn name_of(&self, action: Action) -> String {
        let mut rows = self.rows().filter(|(binding, _)| binding.action == action);
        rows.find_map(|(_, keys)| keys.first()).map_or_else(String::new, |key| key.name())
    }

    /// What a key press does where `now` says which rows count.
    pub fn action(&self, event: KeyEvent, now: impl Fn(&Binding) -> bool) -> Option<Action> {
        if event.kind == KeyEventKind::Release {
            return None; // some terminals tell both; a toggle must not bounce
        }
        let does =
            |(binding, keys): &(&Binding, &[Key])| keys.iter().any(|k| k.matches(event)) && now(binding);
        self.rows().find(does).map(|(binding, _)| binding.action)
    }
}

/// The table without what repeats a key for another view.
fn named_once() -> impl Iterator<Item = &'static Binding> {
    let first = |place: usize| !TABLE[..place].iter().any(|other| other.name == TABLE[place].name);
    (0..TABLE.len()).filter(move |place| first(*place)).map(|place| &TABLE[place])
}

/// What the settings call a row; nothing, where they have no say.
fn changeable(binding: &Binding) -> &'static str {
    if binding.name == names::FIXED { "" } else { binding.name }
}

/// The table of keys as plain text, for a help without a screen.
pub fn listed() -> String {
    let mut out = String::from("Keys, and what [keys] in config.toml calls them:\n");
    for binding in named_once() {
        let keys: Vec<String> = binding.keys.iter().map(|k| k.name()).collect();
        let line = format!("  {:<18} {:<32} {}", keys.join(" "), binding.help, changeable(binding));
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// The README's table of keys.
pub fn markdown() -> String {
    let mut out = String::from("| key | does | name in `[keys]` |\n| --- | --- | --- |\n");
    for binding in named_once() {
        let keys: Vec<String> = binding.keys.iter().map(|k| format!("`{}`", k.name())).collect();
        let name = Some(changeable(binding)).filter(|name| !name.is_empty());
        let name = name.map_or_else(String::new, |name| format!(" `{name}`"));
        out.push_str(&format!("| {} | {} |{name} |\n", keys.join(" "), binding.help));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_one_view_no_key_stands_twice() {
        for view in EVERYWHERE {
            let rows = TABLE.iter().filter(|b| b.at.contains(view));
            let keys: Vec<(Key, &str)> = rows.flat_map(|b| b.keys.iter().map(|key| (*key, b.name))).collect();
            for (i, (key, name)) in keys.iter().enumerate() {
                // Rows of one name are one key at different times.
                let other = keys[i + 1..].iter().find(|(other, named)| other == key && named != name);
                assert_eq!(other, None, "{view:?}: {}", key.name());
            }
        }
    }

    #[test]
    fn rows_of_one_name_are_one_key() {
        for binding in TABLE {
            for other in TABLE.iter().filter(|other| other.name == binding.name) {
                assert_eq!((binding.keys, binding.action), (other.keys, other.action), "{}", binding.name);
            }
        }
    }

    #[test]
    fn only_presses_and_repeats_act() {
        let keys = Keys::default();
        let action = |event, now: fn(&Binding) -> bool| keys.action(event, now);
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
