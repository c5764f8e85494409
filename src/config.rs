//! Files, environment and flags made into one [`Config`]: the only reader of them.
//!
//! Flags count over the environment, that over the nearest `.prickle.toml` (which may hold only `project`),
//! that over the user's `config.toml`. A key goes only to the address that it was given for: one from
//! `config.toml` to that file's server, one from `credentials.toml` to the server that it stands under. The same
//! holds for a CA.

mod ca;
mod credentials;
mod file;
mod project;
mod reach;
mod surroundings;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::ca::Ca;
pub use self::credentials::Place;
use self::file::Settings;
pub use self::file::{Ambiguous, Colors};
pub use self::reach::{Environment, Reach};
pub use self::surroundings::{Folders, Surroundings, zone};
pub use crate::alarm::How;
use crate::client::Trust;
use crate::client::words::{self, Trouble};
pub use crate::client::{Access, Server, Token};
use crate::shown;
use crate::wire::id::{AgentId, Slug};
pub use crate::written::Remapped;

/// Where the key for the server is read from, each time that it is needed.
#[derive(Debug, Clone)]
enum KeyPlace {
    /// `PRICKLE_TOKEN`.
    Variable(Token),
    /// A file, and how the user named it.
    File { path: PathBuf, named: &'static str },
    /// `credentials.toml`, under the server's address.
    Saved,
}

/// All settings of one command.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where files are.
    pub folders: Folders,
    /// The server of the room.
    pub server: Server,
    /// The theme's name, from `PRICKLE_THEME` or `config.toml`.
    pub theme: Option<String>,
    /// How many colours the terminal has, if `config.toml` says.
    pub colors: Option<Colors>,
    /// How wide the terminal draws characters of ambiguous width.
    pub ambiguous: Ambiguous,
    /// After how many minutes of silence a claim to work is doubted.
    pub stale_minutes: u32,
    /// Whether the terminal's title may be set.
    pub title: bool,
    /// How a person is called who is needed while looking elsewhere.
    pub notify: How,
    /// The actions that are to have other keys.
    pub keys: Vec<Remapped>,
    /// What is wrong but stops nothing; one line each, safe to show.
    pub warnings: Vec<String>,
    insecure: bool,
    /// No setting names a server: the room is this machine's own.
    local: bool,
    /// Where it listens, or what is wrong with what was said of it: a fault for those alone who need it.
    local_port: Result<u16, String>,
    project: Option<Slug>,
    /// What the folder is called that the command was started in, or the repository around it.
    folder_project: Slug,
    /// The user's name as an owner's handle.
    user: Option<Slug>,
    key: KeyPlace,
    ca: Option<Ca>,
    /// The kind of key to make where there is none, as `prickle key create --kind` takes it.
    whose: String,
}

impl Config {
    /// Reads all settings. A fault in `config.toml` is an error that names file, line, value and what is
    /// allowed.
    pub fn load(reach: &Reach) -> Result<Self, Environment> {
        Self::read(reach, &Surroundings::real())
    }

    /// As [`Self::load`], but a fault in `config.toml` becomes a warning and its setting keeps its default:
    /// for `watch`, which had better show the room than a complaint.
    pub fn load_leniently(reach: &Reach) -> Result<Self, Environment> {
        Self::read_leniently(reach, &Surroundings::real())
    }

    /// [`Self::load`] in the given surroundings.
    pub fn read(reach: &Reach, around: &Surroundings) -> Result<Self, Environment> {
        let (config, faults) = Self::gather(reach, around)?;
        if faults.is_empty() { Ok(config) } else { Err(Environment(faults.join("; "))) }
    }

    /// [`Self::load_leniently`] in the given surroundings.
    pub fn read_leniently(reach: &Reach, around: &Surroundings) -> Result<Self, Environment> {
        let (mut config, faults) = Self::gather(reach, around)?;
        config.warnings.splice(0..0, faults);
        Ok(config)
    }

    /// The settings, and the faults of `config.toml`.
    fn gather(reach: &Reach, around: &Surroundings) -> Result<(Self, Vec<String>), Environment> {
        let folders = Folders::find(around)?;
        let (settings, faults) = file::settings(&folders.settings());
        let mut warnings = Vec::new();
        let repository = project::of_repository(&around.folder, &mut warnings);

        let asked = match (&reach.server, around.text("PRICKLE_SERVER")?) {
            (Some(text), _) => Some(server(text, "--server")?),
            (None, Some(text)) => Some(server(text, "PRICKLE_SERVER")?),
            (None, None) => None,
        };
        let local = asked.is_none() && settings.server.is_none();
        let local_port = local_port(around, &settings)?;
        let here = || local_port.as_ref().map_or_else(|_| Server::local(), |port| Server::local_at(*port));
        let configured = settings.server.clone().unwrap_or_else(here);
        let own = asked.as_ref().is_none_or(|server| *server == configured);
        let key = key_place(reach, around, &settings, &folders, own)?;
        let ca = Ca::find(reach, around, &settings, &folders, own);
        let project = match around.text("PRICKLE_PROJECT")? {
            Some(text) => Some(
                text.parse()
                    .map_err(|e| Environment(format!("PRICKLE_PROJECT is {text}, but a room's name {e}")))?,
            ),
            None => repository.or(settings.project),
        };
        let user = around.os("USER").and_then(|user| Slug::near(&user.to_string_lossy()));
        let config = Self {
            server: asked.unwrap_or(configured),
            theme: around.text("PRICKLE_THEME")?.map(str::to_owned).or(settings.theme),
            colors: settings.colors,
            ambiguous: settings.ambiguous.unwrap_or_default(),
            stale_minutes: settings.stale_minutes.unwrap_or(15),
            title: settings.title.unwrap_or(true),
            notify: settings.notify.unwrap_or_default(),
            keys: settings.keys,
            insecure: reach.insecure,
            local,
            local_port,
            project,
            folder_project: project::of_folder(&around.folder),
            whose: format!("person --owner {}", user.as_ref().map_or("OWNER", Slug::as_str)),
            user,
            warnings,
            key,
            ca,
            folders,
        };
        let mut config = config;
        config.warn_of_open_key();
        Ok((config, faults))
    }

    /// The same with the room that was named on the command line, if one was.
    #[must_use]
    pub fn with_project(mut self, given: Option<Slug>) -> Self {
        self.project = given.or(self.project);
        self
    }

    /// The same for a command that speaks as an agent: where there is no key, an agent's is to be made.
    #[must_use]
    pub fn as_agent(mut self) -> Self {
        self.whose = self.whose.replacen("person --owner", "client --agent", 1) + "/NAME";
        self
    }

    /// The same for the server at this address, with the key that is saved for it unless another was named.
    #[must_use]
    pub fn at(mut self, server: Server) -> Self {
        self.server = server;
        self
    }

    /// The same with the key in this file.
    #[must_use]
    pub fn with_key_in(mut self, path: PathBuf) -> Self {
        self.key = KeyPlace::File { path, named: "the agent's key" };
        self
    }

    /// The same with the key that is saved for the server, whatever else was named.
    #[must_use]
    pub fn with_saved_key(mut self) -> Self {
        self.key = KeyPlace::Saved;
        self
    }

    /// Whether no setting names a server, so that the room is this machine's own: it is started where it is
    /// not running, and a key to it is made where there is none.
    pub fn is_local(&self) -> bool {
        self.local
    }

    /// Where this machine's own room is to listen, as `HOST:PORT`.
    pub fn local_address(&self) -> Result<String, Environment> {
        let port = self.local_port.as_ref().map_err(|fault| Environment(fault.clone()))?;
        Ok(format!("127.0.0.1:{port}"))
    }

    /// Whether a key was named, by a flag, a variable or `config.toml`.
    pub fn names_a_key(&self) -> bool {
        !matches!(self.key, KeyPlace::Saved)
    }

    /// How the place of the key was named.
    pub fn key_place(&self) -> String {
        match &self.key {
            KeyPlace::Variable(_) => "PRICKLE_TOKEN".into(),
            KeyPlace::File { path, named } => {
                format!("{named} ({})", shown::line(&path.display().to_string()))
            }
            KeyPlace::Saved => "credentials.toml".into(),
        }
    }

    /// The file that was named for the key, if one was.
    pub fn key_file(&self) -> Option<PathBuf> {
        match &self.key {
            KeyPlace::File { path, .. } => Some(path.clone()),
            KeyPlace::Variable(_) | KeyPlace::Saved => None,
        }
    }

    /// The file of certificates that is trusted for the server beside the machine's own, if one was named.
    pub fn ca_file(&self) -> Option<&Path> {
        self.ca.as_ref().map(Ca::path)
    }

    /// The room of the folder that the command was started in: what its repository is called, else `default`.
    pub fn folder_project(&self) -> &Slug {
        &self.folder_project
    }

    /// Who uses this machine, as an owner's handle.
    pub fn user(&self) -> Option<&Slug> {
        self.user.as_ref()
    }

    /// The room to use, if one is named on the command line or in the settings.
    pub fn project(&self) -> Option<Slug> {
        self.project.clone()
    }

    /// What to do when no room was named. `seen` are the rooms that the key sees, if that is known.
    pub fn no_project(&self, seen: &[String]) -> Environment {
        let mut text = "which room? Name it in the command, in PRICKLE_PROJECT, or as project = \"…\" \
                        in .prickle.toml"
            .to_owned();
        if !seen.is_empty() {
            text.push_str("; your key sees ");
            text.push_str(&shown::line(&seen.join(", ")));
        }
        for warning in &self.warnings {
            text.push_str("; ");
            text.push_str(warning);
        }
        Environment(text)
    }

    /// Where the server is and the key to it, read now. The error is a sentence that says what to do.
    pub fn access(&self) -> Result<Access, String> {
        if !(self.server.is_encrypted() || self.server.is_loopback() || self.insecure) {
            return Err(format!(
                "{} is another machine, and plain HTTP would show the key on the way; \
                 use https:// or allow it with --insecure",
                self.server
            ));
        }
        let token = match &self.key {
            KeyPlace::Variable(token) => token.clone(),
            KeyPlace::File { path, named } => credentials::token_file(path, named)?,
            KeyPlace::Saved => {
                credentials::saved(&self.folders.credentials(), &self.server)?.ok_or_else(|| self.no_key())?
            }
        };
        let trust = match &self.ca {
            Some(ca) if self.server.is_encrypted() => ca.trust()?,
            _ => Trust::default(),
        };
        Ok(Access { server: self.server.clone(), token, trust })
    }

    /// [`Self::access`] as often as it is wanted: a key that was made meanwhile is found.
    pub fn source(&self) -> crate::client::feed::Source {
        let config = self.clone();
        Arc::new(move || config.access().map_err(Trouble::Refused))
    }

    /// Keeps `token` as this user's key for the server, in a file that only the user can read. Gives the file.
    pub fn save(&self, token: &Token) -> Result<PathBuf, Environment> {
        let path = self.folders.credentials();
        credentials::save(&path, &self.server, token).map_err(Environment)?;
        Ok(path)
    }

    /// Makes sure that a key is saved for the server that is `good`: the one that is, one of another address, or what
    /// `make` makes. Two commands that do this
    /// at once agree on one key.
    pub fn save_unless(
        &self,
        good: impl Fn(&Token, Place) -> anyhow::Result<bool>,
        make: impl FnOnce() -> anyhow::Result<Token>,
    ) -> anyhow::Result<()> {
        credentials::save_unless(&self.folders.credentials(), &self.server, good, make)
    }

    /// The key of an agent in the file of its own, replaced by the one that `make` makes unless it is `good`. Two
    /// commands that do this at once agree on one key. Gives the file.
    pub fn agent_key(
        &self,
        agent: &AgentId,
        good: impl FnOnce(&Token) -> anyhow::Result<bool>,
        make: impl FnOnce() -> anyhow::Result<Token>,
    ) -> anyhow::Result<PathBuf> {
        let path = self.folders.agent_key(agent);
        credentials::key_file(&path, good, make)?;
        Ok(path)
    }

    fn no_key(&self) -> String {
        let whose = &self.whose;
        let project = self.project.as_ref().map_or("PROJECT", Slug::as_str);
        if self.server.is_loopback() {
            let command = words::make_key(&self.server, project, whose);
            format!("there is no key for {}; make one with: {command}", self.server)
        } else {
            format!(
                "there is no key for {}; ask whoever runs it for one, and name its file with --token-file",
                self.server
            )
        }
    }

    #[cfg(unix)]
    fn warn_of_open_key(&mut self) {
        use std::os::unix::fs::PermissionsExt;
        let path = match &self.key {
            KeyPlace::Variable(_) => return,
            KeyPlace::File { path, .. } => path.clone(),
            KeyPlace::Saved => self.folders.credentials(),
        };
        if fs::metadata(&path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o077 != 0) {
            let path = shown::line(&path.display().to_string());
            self.warnings
                .push(format!("{path} holds a key that others on this machine can read: chmod 600 {path}"));
        }
    }

    #[cfg(not(unix))]
    fn warn_of_open_key(&mut self) {}
}

/// Where the key is: a flag, a variable, `config.toml`'s file if its server is meant, or the saved one.
fn key_place(
    reach: &Reach,
    around: &Surroundings,
    settings: &Settings,
    folders: &Folders,
    configured: bool,
) -> Result<KeyPlace, Environment> {
    if let Some(path) = &reach.token_file {
        return Ok(KeyPlace::File { path: around.folder.join(path), named: "--token-file" });
    }
    if let Some(text) = around.text("PRICKLE_TOKEN")? {
        let token = text.parse().map_err(|e| Environment(format!("PRICKLE_TOKEN {e}")))?;
        return Ok(KeyPlace::Variable(token));
    }
    if let Some(path) = around.os("PRICKLE_TOKEN_FILE") {
        return Ok(KeyPlace::File { path: around.folder.join(path), named: "PRICKLE_TOKEN_FILE" });
    }
    match &settings.token_file {
        Some(path) if configured => {
            Ok(KeyPlace::File { path: folders.beside(path, around), named: "token_file in config.toml" })
        }
        _ => Ok(KeyPlace::Saved),
    }
}

fn server(text: &str, named: &str) -> Result<Server, Environment> {
    text.parse().map_err(|e| {
        // An address with a password in it is not repeated.
        let shown = if matches!(e, crate::client::BadServer::NoUrl) && !text.contains('@') {
            format!(" is {}, but", shown::line(text))
        } else {
            String::new()
        };
        Environment(format!("{named}{shown} {e}"))
    })
}

/// Where the local room listens: on the usual port, unless that is taken on this machine.
fn local_port(around: &Surroundings, settings: &Settings) -> Result<Result<u16, String>, Environment> {
    Ok(match around.text("PRICKLE_LOCAL_PORT")? {
        Some(text) => text
            .parse()
            .map_err(|_| format!("PRICKLE_LOCAL_PORT is {}, but {}", shown::line(text), file::LOCAL_PORT)),
        None => Ok(settings.local_port.unwrap_or(Server::local().port())),
    })
}
