//! `config.toml` and `.prickle.toml`, read by hand so that a fault is said with its line, its value and what
//! is allowed instead.

use std::borrow::Cow;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::DeValue;

use crate::alarm::How;
use crate::client::{BadServer, Server};
use crate::shown;
use crate::wire::id::Slug;
use crate::written::{Remapped, excerpt, line, parse};

/// How wide the terminal draws the characters whose width Unicode leaves open.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Ambiguous {
    /// One column: nearly everywhere.
    #[default]
    Narrow,
    /// Two columns: some East Asian set-ups.
    Wide,
}

/// How many colours the terminal is taken to have, whatever it says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Colors {
    /// 16 million
    Truecolor,
    /// The 256 of xterm
    #[value(name = "256")]
    Indexed,
    /// The 16 that the terminal's user has chosen
    #[value(name = "16")]
    Sixteen,
    /// None: bold and plain
    None,
}

impl Colors {
    /// Reads a name of them.
    fn named(name: &str) -> Option<Self> {
        <Self as clap::ValueEnum>::from_str(name, false).ok()
    }
}

/// What `config.toml` says; a setting that it leaves out, or says wrong, is `None`.
#[derive(Debug, Clone, Default)]
pub(super) struct Settings {
    pub(super) server: Option<Server>,
    pub(super) token_file: Option<PathBuf>,
    pub(super) project: Option<Slug>,
    pub(super) theme: Option<String>,
    pub(super) ambiguous: Option<Ambiguous>,
    pub(super) stale_minutes: Option<u32>,
    pub(super) local_port: Option<u16>,
    pub(super) ca: Option<PathBuf>,
    pub(super) colors: Option<Colors>,
    pub(super) title: Option<bool>,
    pub(super) notify: Option<How>,
    pub(super) keys: Vec<Remapped>,
}

/// What the local room's port must be.
pub(super) const LOCAL_PORT: &str = "must be a free port, a whole number from 0 to 65535 (0: any free one)";

/// Every setting's name, and what it must be.
const SETTINGS: [(&str, &str); 12] = [
    ("server", "must be a room's address in quotes, like \"http://127.0.0.1:7766\""),
    ("token_file", "must be a file's path in quotes; the file holds the key"),
    ("project", "must be a room's name in quotes, like \"website-v2\""),
    ("theme", "must be a theme's name in quotes"),
    ("ambiguous", "must be \"narrow\" or \"wide\""),
    ("stale_minutes", "must be a whole number of minutes from 1 to 1440"),
    ("local_port", LOCAL_PORT),
    ("ca", "must be a file's path in quotes; the file holds certificates (PEM) to trust for the server"),
    ("colors", "must be \"truecolor\", \"256\", \"16\" or \"none\""),
    ("title", "must be true or false"),
    ("notify", NOTIFY),
    ("keys", "must be a table: [keys] on a line of its own, then lines like down = [\"j\", \"down\"]"),
];

/// What `notify` must be.
const NOTIFY: &str = "must be \"off\", \"bell\", \"osc9\", or a command as a list, like \
                      [\"sh\", \"-c\", \"notify-send prickle \\\"$PRICKLE_TEXT\\\"\"]";

/// What the keys of an action must be.
const KEYS: &str = "must be a key's name, or a list of them, like [\"j\", \"down\"]";

/// Reads `config.toml`; none is as good as an empty one. Faults come beside what could be read.
pub(super) fn settings(path: &Path) -> (Settings, Vec<String>) {
    let mut settings = Settings::default();
    let file = shown::line(&path.display().to_string());
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return (settings, Vec::new()),
        Err(error) if error.kind() == ErrorKind::InvalidData => {
            return (settings, vec![format!("{file} is not UTF-8")]);
        }
        Err(error) => return (settings, vec![format!("{file} can't be read ({})", error.kind())]),
    };
    let table = match parse(&file, &text) {
        Ok(table) => table,
        Err(fault) => return (settings, vec![fault]),
    };
    let mut faults = Vec::new();
    for (name, value) in table.get_ref() {
        let known = SETTINGS.iter().find(|(known, _)| known == name.get_ref());
        let Some((_, must)) = known else {
            let names: Vec<&str> = SETTINGS.iter().map(|(name, _)| *name).collect();
            let found = shown::line(name.get_ref());
            let line = line(&text, name.span());
            faults.push(format!(
                "{file}, line {line}: there is no setting {found}; there are {}",
                names.join(", ")
            ));
            continue;
        };
        if let ("keys", DeValue::Table(actions)) = (name.get_ref().as_ref(), value.get_ref()) {
            for (action, keys) in actions {
                match remapped(&file, &text, action, keys) {
                    Ok(keys) => settings.keys.push(keys),
                    Err(fault) => faults.push(fault),
                }
            }
            continue;
        }
        if let Err(hidden) = settings.set(name.get_ref(), value.get_ref()) {
            let line = line(&text, value.span());
            let is = if hidden { String::new() } else { format!(" = {}", excerpt(&text, value)) };
            faults.push(format!("{file}, line {line}: {}{is} {must}", name.get_ref()));
        }
    }
    (settings, faults)
}

impl Settings {
    /// Takes one setting. The error says whether the value had better not be repeated.
    fn set(&mut self, name: &str, value: &DeValue<'_>) -> Result<(), bool> {
        let number = || value.as_integer().and_then(|n| u32::from_str_radix(n.as_str(), n.radix()).ok());
        if name == "stale_minutes" {
            self.stale_minutes = Some(number().filter(|m| (1..=1440).contains(m)).ok_or(false)?);
            return Ok(());
        }
        if name == "local_port" {
            self.local_port = Some(number().and_then(|port| port.try_into().ok()).ok_or(false)?);
            return Ok(());
        }
        if name == "title" {
            self.title = Some(value.as_bool().ok_or(false)?);
            return Ok(());
        }
        if name == "notify" {
            self.notify = Some(how(value).ok_or(false)?);
            return Ok(());
        }
        let text = value.as_str().ok_or(false)?;
        match name {
            "server" => {
                self.server = Some(text.parse().map_err(|e| e != BadServer::NoUrl || text.contains('@'))?);
            }
            "token_file" if !text.is_empty() => self.token_file = Some(text.into()),
            "ca" if !text.is_empty() => self.ca = Some(text.into()),
            "project" => self.project = Some(text.parse().map_err(|_| false)?),
            "theme" if !text.is_empty() => self.theme = Some(text.into()),
            "colors" => self.colors = Some(Colors::named(text).ok_or(false)?),
            "ambiguous" if text == "narrow" => self.ambiguous = Some(Ambiguous::Narrow),
            "ambiguous" if text == "wide" => self.ambiguous = Some(Ambiguous::Wide),
            _ => return Err(false),
        }
        Ok(())
    }
}

/// How a person is to be called.
fn how(value: &DeValue<'_>) -> Option<How> {
    if let Some(words) = value.as_array() {
        let words: Option<Vec<String>> =
            words.iter().map(|word| word.get_ref().as_str().map(str::to_owned)).collect();
        return words
            .filter(|words| words.first().is_some_and(|program| !program.is_empty()))
            .map(How::Command);
    }
    match value.as_str()? {
        "off" => Some(How::Off),
        "bell" => Some(How::Bell),
        "osc9" => Some(How::Osc9),
        _ => None,
    }
}

/// One line of `[keys]`.
fn remapped(
    file: &str,
    text: &str,
    action: &Spanned<Cow<'_, str>>,
    keys: &Spanned<DeValue<'_>>,
) -> Result<Remapped, String> {
    let place = |span| format!("{file}, line {}", line(text, span));
    let key = |value: &Spanned<DeValue<'_>>| {
        value.get_ref().as_str().map(|name| (name.to_owned(), place(value.span())))
    };
    let named = match keys.get_ref().as_array() {
        Some(list) => list.iter().map(key).collect(),
        None => key(keys).map(|one| vec![one]),
    };
    let Some(named) = named else {
        let action = shown::line(action.get_ref());
        return Err(format!("{}: {action} = {} {KEYS}", place(keys.span()), excerpt(text, keys)));
    };
    Ok(Remapped { action: action.get_ref().to_string(), keys: named, place: place(action.span()) })
}

/// Reads a repository's `.prickle.toml`: its project. All else in it is ignored, and said so.
pub(super) fn repository(path: &Path, text: &str, warnings: &mut Vec<String>) -> Option<Slug> {
    let file = shown::line(&path.display().to_string());
    let table = match parse(&file, text) {
        Ok(table) => table,
        Err(fault) => {
            warnings.push(format!("{fault}; the file is ignored"));
            return None;
        }
    };
    let mut project = None;
    let mut others = Vec::new();
    for (name, value) in table.get_ref() {
        if name.get_ref() != "project" {
            others.push(shown::line(name.get_ref()));
            continue;
        }
        project = value.get_ref().as_str().and_then(|text| text.parse().ok());
        if project.is_none() {
            let line = line(text, value.span());
            let value = excerpt(text, value);
            let must = SETTINGS[2].1;
            warnings.push(format!("{file}, line {line}: project = {value} {must}, and is ignored"));
        }
    }
    if !others.is_empty() {
        let others = others.join(", ");
        warnings.push(format!("{file} may hold only project; {others} in it is ignored"));
    }
    project
}
