//! `prickle connect`: lets an agent app into the room, and says what to paste so that it reports.
//!
//! A server that is merely added is never called. So there are three steps: the server, the lines that make the
//! agent report without being asked, and the permission to do so without asking.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{App, ConnectArgs, Environment, Reach, local, room};
use crate::client::CallError;
use crate::client::http::Http;
use crate::config::Config;
use crate::shown;
use crate::wire::agent::Standing;
use crate::wire::id::{AgentId, Slug};
use crate::words::Zone;

/// How often the room is asked how far the agent has come.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// The same when it takes long.
const LOOK_SELDOM: Duration = Duration::from_secs(5);

pub(super) fn run(args: &ConnectArgs, reach: &Reach) -> anyhow::Result<()> {
    let config = Config::load(reach)?.with_project(args.project.clone());
    room::warn(&config);
    if config.is_local() && reach.token_file.is_some() {
        let text = "--token-file names a key, but in this machine's own room connect makes the agent's key itself; \
                    leave it out, or name the room of the key with --server";
        return Err(Environment(text.into()).into());
    }
    let mut connected = if config.is_local() { here(args, config)? } else { elsewhere(args, &config)? };
    let mut out = std::io::stdout();
    out.write_all(connected.steps(args).as_bytes())?;
    out.flush()?;
    match connected.watcher.take() {
        Some(watcher) if out.is_terminal() => {
            room::run(follow(watcher, &connected.agent, &connected.project))
        }
        _ => Ok(()),
    }
}

/// An agent that may report now.
struct Connected {
    agent: AgentId,
    project: Slug,
    /// Where MCP clients find the room.
    url: String,
    /// The file with its key.
    key: PathBuf,
    /// The key itself, if it is to be shown.
    token: Option<String>,
    /// The certificates that the room is trusted by, where the machine's own do not do.
    ca: Option<PathBuf>,
    /// The key was made here, so this command can make one for another agent too.
    made: bool,
    /// The room's name does not follow from the folder.
    named: bool,
    /// What asks the room as the agent's owner; only where there is a key of theirs.
    watcher: Option<room::Asker>,
}

/// In this machine's own room: the key is made, or let into the project. The environment may hold an agent's key, as
/// in the shell of an agent that was connected before; here it is the user who speaks.
fn here(args: &ConnectArgs, config: Config) -> anyhow::Result<Connected> {
    let config = config.with_saved_key();
    let config = local::ready(config, args.owner.as_ref(), local::Unknown::Make)?.config;
    let project = config.project().unwrap_or_else(Slug::fallback);
    let mut keys = local::keys(&config)?;
    let owner = local::whose(&config, &keys)?;
    let agent = AgentId::new(&owner, &name(args)?);
    let label = format!("prickle connect {}", args.app.word());
    let key = local::agent_key(&config, &mut keys, &agent, &project, &label)?;
    let watcher = Some(room::Asker::new(local::source(&config)));
    let url = format!("{}/mcp", config.server);
    let named = project != *config.folder_project();
    let token = read(&config.with_key_in(key.clone()), args.print)?;
    Ok(Connected { agent, project, url, key, token, ca: None, made: true, named, watcher })
}

/// In a room of others, who made the key: `--token-file` names it.
fn elsewhere(args: &ConnectArgs, config: &Config) -> anyhow::Result<Connected> {
    let server = config.server.clone();
    let Some(key) = config.key_file() else {
        let text = format!(
            "whoever runs the room at {server} makes the agent's key (there: prickle key create --kind client \
             --agent OWNER/NAME --project P); put it into a file and name that with --token-file"
        );
        return Err(Environment(text).into());
    };
    if args.name.is_some() || args.owner.is_some() {
        let text = format!("the key in {} says whose it is: leave out --name and --owner", path_text(&key));
        return Err(Environment(text).into());
    }
    let access = config.access().map_err(Environment)?;
    let asked = async {
        let me = Http::new(&access, room::PATIENCE)?.me().await?;
        Ok::<_, CallError>(me)
    };
    let me = room::runtime()?.block_on(asked).map_err(|e| room::no_answer(config, e))?;
    let Some(agent) = me.agent_id else {
        let text = format!(
            "the key in {} is {}'s own; an agent reports with a key of its own (there: prickle key create \
             --kind client --agent {}/{} --project P)",
            path_text(&key),
            shown::line(&me.owner),
            shown::line(&me.owner),
            name(args)?
        );
        return Err(Environment(text).into());
    };
    let project = room::runtime()?.block_on(room::project(config))?;
    if let Some(seen) = me.projects.filter(|seen| !seen.iter().any(|seen| seen == project.as_str())) {
        let text = format!(
            "the key in {} is for {}, not for {project}; name one of these with --project",
            path_text(&key),
            shown::line(&seen.join(", "))
        );
        return Err(Environment(text).into());
    }
    let url = format!("{server}/mcp");
    let ca = config.ca_file().map(Path::to_owned).filter(|_| server.is_encrypted());
    Ok(Connected {
        agent,
        project,
        url,
        key: key.clone(),
        token: read(config, args.print)?,
        ca,
        made: false,
        named: false,
        watcher: None,
    })
}

fn name(args: &ConnectArgs) -> anyhow::Result<Slug> {
    match &args.name {
        Some(name) => Ok(name.clone()),
        None => Ok(args.app.name().parse()?),
    }
}

fn read(config: &Config, print: bool) -> anyhow::Result<Option<String>> {
    if !print {
        return Ok(None);
    }
    let access = config.access().map_err(Environment)?;
    Ok(Some(access.token.secret().to_owned()))
}

impl Connected {
    /// What is printed: a sentence, then the steps, each with lines that can be taken as they are.
    fn steps(&self, args: &ConnectArgs) -> String {
        let Self { agent, project, url, .. } = self;
        let file = path_text(&self.key);
        let private = if self.made { ", which only you can read" } else { "" };
        let mut text = format!("{agent} may now report to {project}.\nIts key is in {file}{private}.\n\n");
        let secret = match &self.token {
            Some(token) => token.clone(),
            None => format!("$(cat {})", quoted(&self.key)),
        };
        let mut variables = vec![format!("PRICKLE_TOKEN=\"{secret}\"")];
        let trust = self.ca.as_deref().and_then(|ca| Some((args.app.trusts_by()?, whole(ca))));
        variables.extend(trust.map(|(variable, ca)| format!("{variable}={ca}")));
        let bearer = "Bearer ${PRICKLE_TOKEN}";
        let add = match args.app {
            // Added twice it is an error, and this command may well be given twice.
            App::ClaudeCode => format!(
                "claude mcp remove prickle --scope local 2>/dev/null; claude mcp add-json --scope local prickle \
                 '{{\"type\":\"http\",\"url\":\"{url}\",\"headers\":{{\"Authorization\":\"{bearer}\"}}}}'"
            ),
            App::Codex => format!("codex mcp add prickle --url {url} --bearer-token-env-var PRICKLE_TOKEN"),
            App::Grok => {
                format!("grok mcp add --transport http prickle {url} --header 'Authorization: {bearer}'")
            }
            App::Other => format!(
                "{{\"mcpServers\":{{\"prickle\":{{\"type\":\"http\",\"url\":\"{url}\",\
                 \"headers\":{{\"Authorization\":\"{bearer}\"}}}}}}}}"
            ),
        };
        let first = match args.app {
            App::ClaudeCode => "In your project's folder:",
            App::Codex | App::Grok => {
                "Once for all folders (it takes the place of a prickle that was added before):"
            }
            App::Other => {
                "The key in the environment of the app, and the server in its MCP settings (most take this):"
            }
        };
        text.push_str(&format!("1. {first}\n\n"));
        variables.iter().for_each(|variable| text.push_str(&format!("  export {variable}\n")));
        text.push_str(&format!("  {add}\n\n"));
        text.push_str(&format!(
            "2. So that it reports without being asked, add to {}:\n\n  \
             Before you edit and whenever your work changes, call prickle's update_pulse\n  \
             with project \"{project}\": what you are doing, branch, files, and an intent\n  \
             (kind and paths).\n\n",
            args.app.instructions(&std::env::current_dir().unwrap_or_default())
        ));
        // Whole, as a later shell has no such variable.
        let with = variables.join(" ");
        let (third, start) = match args.app {
            App::ClaudeCode => (
                "Start it, so that it need not ask each time, now and later",
                format!("{with} claude --allowedTools mcp__prickle__update_pulse"),
            ),
            App::Codex => {
                ("Start it, now and later; Codex does not ask before this tool", format!("{with} codex"))
            }
            App::Grok => (
                "Start it, so that it need not ask each time, now and later",
                format!("{with} grok --allow 'MCPTool(prickle__update_pulse)'"),
            ),
            App::Other => {
                ("Start it in that environment, let it call the tool update_pulse, and say", SAY.to_owned())
            }
        };
        text.push_str(&format!("3. {third}:\n\n  {start}\n\n"));
        if args.app != App::Other {
            text.push_str(&format!("It reports by itself from now on; at once if you say: {SAY}\n"));
        }
        text.push_str("One key is one agent. ");
        text.push_str(&if self.made {
            let (app, next) = (args.app.word(), next(agent.name()));
            let named = if self.named { format!(" --project {project}") } else { String::new() };
            format!("A second session at the same time:\nprickle connect {app} --name {next}{named}\n")
        } else {
            "A second session at the same time needs a key of its own.\n".to_owned()
        });
        text
    }
}

/// What makes an agent report.
const SAY: &str = "Report your pulse to prickle.";

/// A name for one more agent beside `name`: `codex`, `codex-2`, `codex-3`.
fn next(name: &str) -> String {
    match name.rsplit_once('-').and_then(|(stem, n)| Some((stem, n.parse::<u32>().ok()?))) {
        Some((stem, n)) => format!("{stem}-{}", n.saturating_add(1)),
        None => format!("{name}-2"),
    }
}

impl App {
    /// As it is typed.
    fn word(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Grok => "grok",
            Self::Other => "other",
        }
    }

    /// The agent's name, unless another is given.
    fn name(self) -> &'static str {
        match self {
            Self::Other => "agent",
            app => app.word(),
        }
    }

    /// The variable that names a file of certificates to trust beside the machine's. Grok's takes their place, and
    /// of the others nothing is known.
    fn trusts_by(self) -> Option<&'static str> {
        match self {
            Self::ClaudeCode => Some("NODE_EXTRA_CA_CERTS"),
            Self::Codex => Some("CODEX_CA_CERTIFICATE"),
            Self::Grok | Self::Other => None,
        }
    }

    /// The file whose lines the app follows in the project of `folder`.
    fn instructions(self, folder: &Path) -> &'static str {
        let root = folder.ancestors().find(|dir| dir.join(".git").exists()).unwrap_or(folder);
        match self {
            // It reads AGENTS.md only where there is no CLAUDE.md: a new one would silence the other.
            Self::ClaudeCode if !root.join("CLAUDE.md").exists() && root.join("AGENTS.md").exists() => {
                "AGENTS.md"
            }
            Self::ClaudeCode => "CLAUDE.md",
            Self::Codex | Self::Grok => "AGENTS.md",
            Self::Other => "what it reads first, often AGENTS.md",
        }
    }
}

/// Says how far the agent has come, until its first pulse. Everything is done already: a room that can't tell is
/// no fault of this command, but is said.
async fn follow(mut watcher: room::Asker, agent: &AgentId, project: &Slug) -> anyhow::Result<()> {
    let mut out = std::io::stdout();
    let mut told = Told::default();
    let mut pause = LOOK_AGAIN;
    loop {
        let answer = match watcher.room().await {
            Ok((_, http)) => http.agents(project).await,
            Err(error) => Err(error),
        };
        match answer {
            Ok(answer) => {
                // A key that was made a moment ago may not be listed yet.
                let standing = answer.agents.into_iter().find(|standing| standing.agent_id == *agent);
                let (text, done) = told.next(standing.as_ref(), room::zone());
                write!(out, "{text}")?;
                out.flush()?;
                if done {
                    return Ok(());
                }
            }
            Err(error) => {
                if told.waiting {
                    writeln!(out)?;
                }
                room::note(&format!("no longer waiting: {error}. What was printed stays valid."));
                return Ok(());
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause + pause / 20).min(LOOK_SELDOM);
    }
}

/// What was said of an agent's way so far.
#[derive(Debug, Default)]
struct Told {
    waiting: bool,
    listed: bool,
}

impl Told {
    /// What is to be said now, and whether that was all.
    fn next(&mut self, agent: Option<&Standing>, zone: Zone) -> (String, bool) {
        let mut text = String::new();
        let pulse = agent.and_then(|agent| agent.pulse.as_ref());
        let listed = agent.and_then(|agent| agent.tools_listed_at);
        if !std::mem::replace(&mut self.waiting, true) {
            if let Some(pulse) = pulse {
                return (format!("It last reported at {}.\n", zone.minute(pulse.updated_at)), true);
            }
            text.push_str("Waiting for its first pulse (Ctrl-C to stop waiting) …");
        }
        if let Some(at) = listed.filter(|_| !std::mem::replace(&mut self.listed, listed.is_some())) {
            text.push_str(&format!(" it listed the tools at {} …", zone.minute(at)));
        }
        if let Some(pulse) = pulse {
            text.push_str(&format!(" first pulse at {}. Done.\n", zone.minute(pulse.updated_at)));
        }
        (text, pulse.is_some())
    }
}

/// A path as people write it.
fn path_text(path: &Path) -> String {
    shown::line(&at_home(path).unwrap_or_else(|| path.display().to_string()))
}

/// `~/…` for what is in the user's home.
fn at_home(path: &Path) -> Option<String> {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty())?;
    let rest = path.strip_prefix(home).ok()?.to_str()?;
    Some(format!("~/{rest}"))
}

/// A path as a shell takes it as a word of its own.
fn quoted(path: &Path) -> String {
    at_home(path).filter(|text| is_plain(text)).unwrap_or_else(|| whole(path))
}

/// A path as a shell takes it anywhere, also behind a `=`, where not every shell knows `~`.
fn whole(path: &Path) -> String {
    let text = path.display().to_string();
    if is_plain(&text) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// Whether a shell takes every character for itself.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || b"/._-~".contains(&b))
}
