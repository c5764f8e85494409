//! The command line: what can be typed, and one match arm a command.

mod asks;
mod connect;
mod demo;
mod exports;
mod key;
mod local;
mod look;
mod pulse;
mod room;
mod runs;
mod screen;
mod serve;
mod theme;
mod watch;

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::config::Colors;
pub use crate::config::{Environment, Reach};
use crate::tui::keys;
use crate::wire::Time;
use crate::wire::id::{AgentId, Slug, without_tokens};

/// How a watch tells the room without a terminal.
const PIPED: &str =
    "Without a terminal on stdin and stdout the room is told as plain sentences, as with --plain.";

/// A signal ended the program after it had tidied up: the exit code is 128 + its number.
#[derive(Debug, thiserror::Error)]
#[error("stopped by signal {0}")]
pub struct Stopped(pub i32);

#[derive(Debug, Parser)]
#[command(
    name = "prickle",
    version,
    about = "Watch the coding agents of a team live, and run the small room that they report to",
    after_help = "Exit codes: 0 fine, 1 no or failed, 2 usage or environment, 130/143 stopped by a signal.\n\
                  Start here: prickle demo",
    arg_required_else_help = true
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    reach: Reach,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Look at a full room with a made-up cast, on this machine alone
    Demo(DemoArgs),
    /// Watch a room
    Watch(WatchArgs),
    /// Report a pulse from a shell or a hook
    Pulse(PulseArgs),
    /// What runs came to: tokens, turns, time, by task, agent, project, day or one by one
    Runs(runs::RunsArgs),
    /// Let an agent app into the room, and say what to paste so that it reports
    Connect(ConnectArgs),
    /// Run a room
    Serve(ServeArgs),
    /// Make, list and revoke the keys of a room on this machine
    #[command(subcommand)]
    Key(KeyCommand),
    /// Look at the themes, and check one of your own
    #[command(subcommand)]
    Theme(ThemeCommand),
}

#[derive(Debug, Args)]
struct DemoArgs {
    /// Write this many frames as text instead of opening the screen
    #[arg(long, value_name = "N")]
    frames: Option<u32>,
    #[command(flatten)]
    look: Look,
}

/// How the screen looks.
#[derive(Debug, Clone, Default, Args)]
pub struct Look {
    /// Two columns, one above the other, or cards; by the terminal's width if left out
    #[arg(long, value_enum, value_name = "LAYOUT")]
    pub layout: Option<Layout>,
    /// Draw with ASCII characters only
    #[arg(long)]
    pub ascii: bool,
    /// Draw with Unicode characters, whatever locale and settings say
    #[arg(long, conflicts_with = "ascii")]
    pub unicode: bool,
    /// A theme that `prickle theme list` shows [env: PRICKLE_THEME] [default: terminal]
    #[arg(long, value_name = "NAME")]
    pub theme: Option<String>,
    /// How many colours the terminal has; by COLORTERM, TERM and NO_COLOR if left out
    #[arg(long, value_enum, value_name = "COLORS")]
    pub colors: Option<Colors>,
}

/// The Room view's layouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Layout {
    /// List and detail side by side
    Columns,
    /// List above detail
    Stacked,
    /// One card an agent, for a narrow pane
    Cards,
}

#[derive(Debug, Args)]
#[command(after_help = PIPED, after_long_help = format!("{PIPED}\n\n{}", keys::listed()))]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag")]
struct WatchArgs {
    /// The room [env: PRICKLE_PROJECT]
    project: Option<Slug>,
    /// Who you are in this machine's own room, at its first start [default: your user name]
    #[arg(long, value_name = "OWNER", conflicts_with = "replay")]
    owner: Option<Slug>,
    /// Show the room as it is now, and end
    #[arg(long)]
    once: bool,
    /// Write JSON: the feed's frames, a line each; with --once the snapshot
    #[arg(long)]
    json: bool,
    /// Write one sentence a change, for screen readers, logs and pipes
    #[arg(long, conflicts_with = "json")]
    plain: bool,
    /// Also write what is heard into a file that --replay can show again
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Show a recorded room instead of a live one
    #[arg(long, value_name = "FILE", conflicts_with = "record")]
    replay: Option<PathBuf>,
    /// Show the recorded room as it was at this moment, standing still (RFC 3339)
    #[arg(long, value_name = "TIME", requires = "replay", value_parser = moment)]
    at: Option<Time>,
    /// For pictures: the screen does not say that it shows a recording
    #[arg(long, hide = true, requires = "at")]
    as_if_live: bool,
    #[command(flatten)]
    look: Look,
}

#[derive(Debug, Args)]
struct PulseArgs {
    /// The room [env: PRICKLE_PROJECT]
    #[arg(long, value_name = "P")]
    project: Option<Slug>,
    /// What you are doing
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    // a commit's subject may begin with one
    doing: String,
    /// online, working, idle, asleep, away or offline
    #[arg(long, value_name = "A")]
    availability: Option<String>,
    /// The task
    #[arg(long, value_name = "T")]
    task: Option<String>,
    /// The branch
    #[arg(long, value_name = "B")]
    branch: Option<String>,
    /// A file you work on; may be given again
    #[arg(long = "file", value_name = "F")]
    files: Vec<String>,
    /// The last decision
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    decision: Option<String>,
    /// What you are about to do: add, change, remove, rename, revert or migrate
    #[arg(long, value_name = "KIND")]
    intent: Option<String>,
    /// A path or pattern of the intent; may be given again
    #[arg(long = "path", value_name = "P", requires = "intent")]
    paths: Vec<String>,
    /// A named area of the intent; may be given again
    #[arg(long = "area", value_name = "A", requires = "intent")]
    areas: Vec<String>,
    /// Write the room's answer as JSON
    #[arg(long)]
    json: bool,
}

/// The agent apps that are known by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum App {
    /// Claude Code
    ClaudeCode,
    /// Codex
    Codex,
    /// Grok
    Grok,
    /// Anything that speaks MCP
    Other,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Can be given again: it prints the same steps for the same key. In a terminal it then waits until \
                  the agent has reported; Ctrl-C leaves everything valid. A room of others makes the keys itself: \
                  name the room with --server and the key's file with --token-file."
)]
struct ConnectArgs {
    /// The app
    #[arg(value_enum)]
    app: App,
    /// The agent's name, if there is to be more than one of the app [default: the app's]
    #[arg(long, value_name = "N")]
    name: Option<Slug>,
    /// The room [env: PRICKLE_PROJECT; default: what the repository is called]
    #[arg(long, value_name = "P")]
    project: Option<Slug>,
    /// Who you are in this machine's own room, at its first start [default: your user name]
    #[arg(long, value_name = "OWNER")]
    owner: Option<Slug>,
    /// Show the token itself in the command to paste, instead of the file that holds it
    #[arg(long)]
    print: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "SIGTERM and SIGINT close the room in order; it then exits with 0. The log goes to stderr; \
                  PRICKLE_LOG=debug, or a filter like prickle=trace, makes it say more."
)]
struct ServeArgs {
    /// Where to listen; port 0 takes a free one and says which [default: 127.0.0.1:7766]
    #[arg(long, value_name = "HOST:PORT")]
    addr: Option<String>,
    /// The room's database; made where it is missing [default: room.db in the data folder]
    #[arg(long, value_name = "PATH")]
    db: Option<PathBuf>,
    /// A name that requests may call this room by, beside the loopback names and --addr; may be given again
    #[arg(long = "allow-host", value_name = "NAME")]
    allow_hosts: Vec<String>,
    /// A web page that may call this room, as browsers name it in Origin; may be given again
    #[arg(long = "allow-origin", value_name = "ORIGIN")]
    allow_origins: Vec<String>,
    /// Be this machine's own room, which every command starts by itself: in the background, its log in a file,
    /// until an hour after its last use
    #[arg(long)]
    local: bool,
    /// End so many seconds after the last use; with --local an hour
    #[arg(long, value_name = "SECONDS")]
    idle: Option<u64>,
    /// Close the room that runs on the database, and end
    #[arg(long, conflicts_with_all = ["addr", "allow_hosts", "allow_origins", "local", "idle"])]
    stop: bool,
    /// See whether the sums that are kept with the run records are those of the records, put right what is not, and
    /// end; with 1 where something was
    #[arg(long, conflicts_with_all = ["addr", "allow_hosts", "allow_origins", "local", "idle", "stop", "tls_cert"])]
    check: bool,
    /// Calls a second that one key may make, and four times as many at once; or off
    #[arg(long, value_name = "N|off", default_value = "50", value_parser = rate)]
    rate: Rate,
    /// Speak https with this certificate (PEM), followed by those that lead to its root; SIGHUP reads it anew
    #[arg(long, value_name = "FILE", requires = "tls_key", conflicts_with_all = ["local", "stop"])]
    tls_cert: Option<PathBuf>,
    /// The certificate's private key (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
}

/// Calls a second; `None`: any number.
#[derive(Debug, Clone, Copy)]
struct Rate(Option<u32>);

fn rate(text: &str) -> Result<Rate, String> {
    match text.parse() {
        _ if text == "off" => Ok(Rate(None)),
        Ok(1..=1_000_000) => Ok(Rate(text.parse().ok())),
        _ => Err("must be a whole number from 1 to 1000000, or off".to_owned()),
    }
}

#[derive(Debug, Subcommand)]
enum KeyCommand {
    /// Make a key; the token is written to stdout once and stored nowhere in the clear
    Create(KeyCreateArgs),
    /// List the keys, without their tokens
    List(KeyListArgs),
    /// Revoke a key by the id that `key list` shows; a running room closes its streams
    Revoke(KeyRevokeArgs),
}

#[derive(Debug, Args)]
struct KeyCreateArgs {
    /// What the key may do: person, oauth, client, project, runner-device, runner-tasks or execution
    #[arg(long, value_name = "KIND")]
    kind: String,
    /// The agent that the key speaks for, as OWNER/NAME
    #[arg(long, value_name = "OWNER/NAME", conflicts_with = "owner")]
    agent: Option<AgentId>,
    /// The person's handle, for --kind person
    #[arg(long, value_name = "OWNER")]
    owner: Option<Slug>,
    /// A room it may enter; may be given again
    #[arg(long = "project", value_name = "P")]
    projects: Vec<Slug>,
    /// Let it into every room of this database
    #[arg(long, conflicts_with = "projects")]
    all: bool,
    /// The task of a woken run, for --kind execution
    #[arg(long, value_name = "T")]
    task: Option<String>,
    /// A note of yours that `key list` shows
    #[arg(long, value_name = "L")]
    label: Option<String>,
    /// Keep the token in credentials.toml (0600) for the room that --server names, instead of writing it out
    #[arg(long)]
    save: bool,
    /// The room's database [default: room.db in the data folder]
    #[arg(long, value_name = "PATH")]
    db: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct KeyListArgs {
    /// Write JSON
    #[arg(long)]
    json: bool,
    /// The room's database [default: room.db in the data folder]
    #[arg(long, value_name = "PATH")]
    db: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct KeyRevokeArgs {
    /// The key's id
    id: i64,
    /// The room's database [default: room.db in the data folder]
    #[arg(long, value_name = "PATH")]
    db: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum ThemeCommand {
    /// List the themes; on a terminal with their colours
    List(ThemeListArgs),
    /// Say all that is wrong with a theme, and exit with 1 if anything is
    Check(ThemeCheckArgs),
}

#[derive(Debug, Args)]
struct ThemeListArgs {
    /// How many colours the terminal has; by COLORTERM, TERM and NO_COLOR if left out
    #[arg(long, value_enum, value_name = "COLORS")]
    colors: Option<Colors>,
}

#[derive(Debug, Args)]
struct ThemeCheckArgs {
    /// A theme's name, or a file [default: all themes]
    #[arg(value_name = "NAME|FILE")]
    theme: Option<String>,
}

/// Parses, runs, and says in words why it failed.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let code = if error.use_stderr() { 2 } else { 0 };
            // Clap repeats what it can't read, and that may be a key in the wrong place.
            let text = error.render().to_string();
            let shown = without_tokens(&text);
            // It prints help to stdout and faults to stderr; a closed pipe is no fault of ours.
            let _ = if shown == text { error.print() } else { write!(std::io::stderr(), "{shown}") };
            return ExitCode::from(code);
        }
    };
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => explain(&error),
    }
}

fn run(cli: Cli) -> anyhow::Result<()> {
    match cli.command {
        Command::Demo(args) => demo::run(&args),
        Command::Watch(args) => watch::run(&args, &cli.reach),
        Command::Pulse(args) => pulse::run(&args, &cli.reach),
        Command::Runs(args) => runs::run(&args, &cli.reach),
        Command::Connect(args) => connect::run(&args, &cli.reach),
        Command::Serve(args) => serve::run(args, &cli.reach),
        Command::Key(command) => key::run(command, &cli.reach),
        Command::Theme(command) => theme::run(command, &cli.reach),
    }
}

/// Says on stderr why it failed, in one line, and chooses the exit code.
fn explain(error: &anyhow::Error) -> ExitCode {
    let cause = |chain: &mut anyhow::Chain<'_>| {
        chain.any(|e| {
            e.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
        })
    };
    if cause(&mut error.chain()) {
        return ExitCode::SUCCESS; // the reader had enough
    }
    if let Some(Stopped(signal)) = error.downcast_ref() {
        return ExitCode::from(u8::try_from(128 + signal).unwrap_or(1));
    }
    let text = without_tokens(&crate::shown::line(&format!("{error:#}")));
    let _ = writeln!(std::io::stderr(), "prickle: {text}");
    let environment = error.chain().any(<dyn std::error::Error>::is::<Environment>);
    ExitCode::from(if environment { 2 } else { 1 })
}

/// A moment as RFC 3339.
fn moment(text: &str) -> Result<Time, String> {
    text.parse().map_err(|_| "must be a moment with its zone, like 2026-11-30T14:32:00Z".into())
}

/// `HOST:PORT` as addresses, or what is wrong with it.
fn addresses(text: &str) -> anyhow::Result<Vec<SocketAddr>> {
    use std::net::ToSocketAddrs;
    let found: Vec<SocketAddr> = text
        .to_socket_addrs()
        .map_err(|e| {
            Environment(format!("--addr {text} is no HOST:PORT to listen on ({e}); try 127.0.0.1:7766"))
        })?
        .collect();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_may_begin_with_a_hyphen() {
        let typed =
            ["prickle", "pulse", "--doing", "- fix the login", "--decision", "-O2 is enough", "--json"];
        let cli = Cli::try_parse_from(typed);
        assert!(matches!(cli, Ok(Cli { command: Command::Pulse(PulseArgs { doing, json: true, .. }), .. })
                if doing == "- fix the login"));
    }
}
