//! Where a command was started, with which variables, and the folders that hold prickle's files.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;

use super::Environment;
use crate::wire::id::AgentId;
use crate::words::Zone;

/// Environment variables and the folder that a command was started in.
#[derive(Debug, Clone)]
pub struct Surroundings {
    vars: BTreeMap<OsString, OsString>,
    pub(super) folder: PathBuf,
}

impl Surroundings {
    /// Those of this process.
    pub fn real() -> Self {
        let folder = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
        Self { vars: std::env::vars_os().collect(), folder }
    }

    /// Made-up ones.
    pub fn new<'a>(folder: &Path, vars: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let vars = vars.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        Self { vars, folder: folder.to_owned() }
    }

    /// A variable that is set and not empty.
    pub(super) fn os(&self, name: &str) -> Option<&OsString> {
        self.vars.get(&OsString::from(name)).filter(|value| !value.is_empty())
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<&str>, Environment> {
        let Some(value) = self.os(name) else { return Ok(None) };
        value.to_str().map(Some).ok_or_else(|| Environment(format!("{name} is not UTF-8")))
    }
}

/// The zone that clock times and days are told in: the one that `TZ` names, or else the machine's.
pub fn zone(around: &Surroundings) -> Zone {
    let named = |name: &str| name.parse().map(Zone::Named).ok();
    match around.vars.get(&OsString::from("TZ")).map(|value| value.to_string_lossy()) {
        // As the C library has it: empty is UTC, a colon says that a file is meant.
        Some(text) if text.is_empty() || text == ":" => Zone::Named(chrono_tz::Tz::UTC),
        Some(text) => {
            let file = text.trim_start_matches(':');
            named(file.rsplit_once("zoneinfo/").map_or(file, |(_, name)| name)).unwrap_or(Zone::Local)
        }
        None => iana_time_zone::get_timezone().ok().and_then(|name| named(&name)).unwrap_or(Zone::Local),
    }
}

/// Where prickle's files are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folders {
    /// `config.toml`, `credentials.toml` and themes.
    pub config: PathBuf,
    /// The room's database.
    pub data: PathBuf,
    /// Logs.
    pub state: PathBuf,
}

impl Folders {
    /// `$PRICKLE_HOME` for everything, or else the XDG folders.
    pub fn find(around: &Surroundings) -> Result<Self, Environment> {
        if let Some(home) = around.os("PRICKLE_HOME") {
            let home = around.folder.join(home);
            return Ok(Self { config: home.clone(), data: home.clone(), state: home });
        }
        let base = etcetera::choose_base_strategy().map_err(|_| {
            Environment(
                "this user has no home folder; set PRICKLE_HOME to a folder for prickle's files".into(),
            )
        })?;
        let data = base.data_dir().join("prickle");
        let state = base.state_dir().map_or_else(|| data.clone(), |dir| dir.join("prickle"));
        Ok(Self { config: base.config_dir().join("prickle"), data, state })
    }

    /// The room's database unless `--db` names another.
    pub fn database(&self) -> PathBuf {
        self.data.join("room.db")
    }

    /// Themes of the user's own, as `NAME.toml`.
    pub fn themes(&self) -> PathBuf {
        self.config.join("themes")
    }

    /// The keys that this user saved, by server.
    pub fn credentials(&self) -> PathBuf {
        self.config.join("credentials.toml")
    }

    /// The user's settings.
    pub fn settings(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    /// The key of an agent that this user let into a room, alone in a file.
    pub fn agent_key(&self, agent: &AgentId) -> PathBuf {
        // Two folders, as names may hold the sign that would part them.
        self.config.join("keys").join(agent.owner()).join(agent.name())
    }

    /// What the local room has to tell, of which nobody is there to hear.
    pub fn room_log(&self) -> PathBuf {
        self.state.join("room.log")
    }

    /// A file as `config.toml` names it: from its own folder on, or from the user's home.
    pub(super) fn beside(&self, path: &Path, around: &Surroundings) -> PathBuf {
        match path.strip_prefix("~").ok().zip(around.os("HOME")) {
            Some((rest, home)) => Path::new(home).join(rest),
            None => self.config.join(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_zone_is_the_one_that_tz_names() {
        let named = |value: &str| zone(&Surroundings::new(Path::new("."), [("TZ", value)])).name();
        for value in
            ["America/Los_Angeles", ":America/Los_Angeles", "/usr/share/zoneinfo/America/Los_Angeles"]
        {
            assert_eq!(named(value), "America/Los_Angeles", "{value}");
        }
        assert_eq!(named(""), "UTC");
        // A rule without a name: times are told by it, days are cut in UTC, and the screen says so.
        let rule = zone(&Surroundings::new(Path::new("."), [("TZ", "<-03>3")]));
        assert_eq!((rule, rule.name()), (Zone::Local, "UTC"));
    }
}
