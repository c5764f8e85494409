//! `prickle runs`: what the owner's runs came to, as a table, as JSON or as CSV.

mod period;
mod progress;

use std::io::IsTerminal;

use anyhow::Context;
use chrono::Utc;
use chrono_tz::Tz;
use clap::Args;
use tokio::io::AsyncWriteExt;

use self::period::Bound;
use self::progress::Progress;
use super::{Environment, Reach, local, look, room};
use crate::client::http::{Http, Me};
use crate::config::Config;
use crate::report::runs::{self as paper, Broken, Form, Sink, table};
use crate::rules::Kind;
use crate::shown;
use crate::tui::terminal;
use crate::tui::theme::Glyphs;
use crate::wire::id::{AgentId, Slug, TASK_MAX, is_task};
use crate::wire::query::{By, GROUPS_MAX, Order, RunQuery, Sort};
use crate::words::Zone;

/// The period, unless another is asked for.
const SINCE: Bound = Bound::Days(7);

/// A width for terminals that don't tell theirs.
const WIDTH: usize = 80;

#[derive(Debug, Args)]
#[command(
    after_help = "Unknown is not zero: — nothing is known, ≥ some of it is not. JSON has null there, and of how \
                        many runs a number is known; CSV an empty cell.\n\n\
                        Examples:\n  \
                        prickle runs                                    each task of the last seven days\n  \
                        prickle runs --by day --since 4w                what each day took\n  \
                        prickle runs --by run --task nav-review --since all\n  \
                        prickle runs --sort input_tokens --limit 10     the ten that read most\n  \
                        prickle runs --by run --since all --csv > runs.csv\n\n\
                        Only a person's key is told, and only of the runs of that owner's agents.\n\
                        Exit codes: 0 fine, also without any record; 1 what was asked for is refused or can't be \
                        written; 2 usage, key or room; 130/143 stopped by a signal."
)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(super) struct RunsArgs {
    /// A row a run, task, agent, project or day
    #[arg(long, value_name = "run|task|agent|project|day", default_value = "task", value_parser = rows)]
    by: Rows,
    /// Only runs of this project
    #[arg(long, value_name = "P")]
    project: Option<Slug>,
    /// Only runs of this task
    #[arg(long, value_name = "T", value_parser = task, allow_hyphen_values = true)]
    task: Option<String>,
    /// Only runs of this agent; the name alone is one of your own
    #[arg(long, value_name = "OWNER/NAME", value_parser = agent)]
    agent: Option<Agent>,
    /// Reported since then: today, yesterday, all, a day, a moment, or 7d: seven days with today, 2w, 12h [default: 7d]
    #[arg(long, value_name = "WHEN", value_parser = period::bound)]
    since: Option<Bound>,
    /// Reported until then: through the day that is named, or before the moment
    #[arg(long, value_name = "WHEN", value_parser = period::bound)]
    until: Option<Bound>,
    /// The newest, largest or longest first, names from A to Z; by a name that JSON has, like input_tokens
    /// [default: reported_at]
    #[arg(long, value_name = "NAME")]
    sort: Option<String>,
    /// The other way round; what is not known stays last
    #[arg(long)]
    reverse: bool,
    /// At most so many rows
    #[arg(long, value_name = "N", value_parser = limit, allow_negative_numbers = true)]
    limit: Option<u32>,
    /// Write JSON: {"by":…,"rows":[…]}
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Write CSV
    #[arg(long)]
    csv: bool,
    /// Cut days and tell times in UTC, not in this machine's zone
    #[arg(long)]
    utc: bool,
}

/// What a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rows {
    Runs,
    Groups(By),
}

impl Rows {
    fn name(self) -> &'static str {
        match self {
            Self::Runs => "run",
            Self::Groups(by) => by.as_str(),
        }
    }
}

fn rows(text: &str) -> Result<Rows, String> {
    match text {
        "run" => Ok(Rows::Runs),
        _ => {
            text.parse().map(Rows::Groups).map_err(|_| "must be run, task, agent, project or day".to_owned())
        }
    }
}

fn task(text: &str) -> Result<String, String> {
    let must = || format!("must be 1 to {TASK_MAX} letters, digits, '_' or '-'");
    is_task(text).then(|| text.to_owned()).ok_or_else(must)
}

/// An agent, whole or as one of the key's owner.
#[derive(Debug, Clone)]
enum Agent {
    Whole(AgentId),
    Own(Slug),
}

fn agent(text: &str) -> Result<Agent, String> {
    let read = text.parse().map(Agent::Whole).ok().or_else(|| text.parse().map(Agent::Own).ok());
    read.ok_or_else(|| "must be OWNER/NAME, or the NAME of one of your own agents".to_owned())
}

fn limit(text: &str) -> Result<u32, String> {
    let must = || format!("must be a whole number from 1 to {}", u32::MAX);
    text.parse().ok().filter(|n| *n > 0).ok_or_else(must)
}

pub(super) fn run(args: &RunsArgs, reach: &Reach) -> anyhow::Result<()> {
    let sort = order(args)?;
    let zone = if args.utc { Zone::Named(Tz::UTC) } else { room::zone() };
    let now = Utc::now();
    let query = RunQuery {
        project: args.project.clone(),
        task: args.task.clone(),
        since: args.since.unwrap_or(SINCE).begin(zone, now),
        until: args.until.and_then(|until| until.end(zone, now)),
        sort,
        limit: args.limit,
        ..RunQuery::default()
    };
    if query.since.zip(query.until).is_some_and(|(since, until)| since >= until) {
        let left_out = if args.since.is_none() { ", which is 7d if left out" } else { "" };
        return Err(Environment(format!("--until must be later than --since{left_out}")).into());
    }
    let config = Config::load(reach)?.with_project(args.project.clone());
    room::warn(&config);
    let config = local::ready(config, None, local::Unknown::Never)?.config;
    let width = std::io::stdout().is_terminal().then(|| match terminal::size() {
        (0, _) => WIDTH,
        (columns, _) => columns.into(),
    });
    // What reads a pipe takes UTF-8.
    let ascii = width.is_some() && !look::knows_utf8();
    let tell: fn(&str) -> String =
        if ascii { |text| Glyphs::Ascii.tell(text).into_owned() } else { str::to_owned };
    room::run(self::tell(args, &config, query, table::Frame { zone, now, width, tell }))
}

/// The order that was asked for, if these rows can have it.
fn order(args: &RunsArgs) -> Result<Sort, Environment> {
    let (of, days) = match args.by {
        Rows::Runs => (&Order::OF_RECORDS[..], false),
        Rows::Groups(by) => (&Order::OF_GROUPS[..], by == By::Day),
    };
    let mut sort = match &args.sort {
        None => Sort::default(),
        Some(name) => {
            let order = Sort::parse(name, of).ok().filter(|sort| !sort.descending);
            let order = order.map(|sort| sort.order).ok_or_else(|| {
                let names: Vec<&str> = of.iter().map(|order| order.as_str()).collect();
                let (by, names) = (args.by.name(), names.join(", "));
                Environment(format!("--sort {} with --by {by} must be one of {names}", shown::line(name)))
            })?;
            // The last day is the newest.
            Sort { order, descending: order != Order::Name || days }
        }
    };
    sort.descending ^= args.reverse;
    Ok(sort)
}

async fn tell(
    args: &RunsArgs,
    config: &Config,
    mut query: RunQuery,
    frame: table::Frame,
) -> anyhow::Result<()> {
    let access = config.access().map_err(Environment)?;
    let asked = local::ask(config, &access, async |access| {
        let http = Http::new(access, room::PATIENCE)?;
        let me = http.me().await?;
        Ok((http, me))
    });
    let (http, me) = asked.await.map_err(|error| room::no_answer(config, error))?;
    if me.kind != Kind::Person.as_str() {
        return Err(not_a_person(&me).into());
    }
    query.agent = match &args.agent {
        None => None,
        Some(Agent::Own(name)) => Some(AgentId::new(&me.owner.parse()?, name)),
        Some(Agent::Whole(agent)) if agent.owner() == me.owner => Some(agent.clone()),
        Some(Agent::Whole(agent)) => {
            let (owner, mine) = (agent.owner(), &me.owner);
            anyhow::bail!("only {owner} can read what {agent} came to, and this key is {mine}'s");
        }
    };
    match args.by {
        Rows::Groups(by) => groups(args, config, by, &http, &me.owner, query, frame).await,
        Rows::Runs => records(args, config, &http, &me.owner, query, frame).await,
    }
}

/// Whose key is needed, and how to come by it.
fn not_a_person(me: &Me) -> Environment {
    let (owner, kind) = (&me.owner, &me.kind);
    let whose = match &me.agent_id {
        Some(agent) => format!("an agent's ({agent})"),
        None => format!("a {kind} key of {owner}'s"),
    };
    Environment(format!(
        "run records are for people, and this key is {whose}. Only {owner} can read them; where the room runs: \
         prickle key create --kind person --owner {owner} --all"
    ))
}

async fn groups(
    args: &RunsArgs,
    config: &Config,
    by: By,
    http: &Http,
    owner: &str,
    mut query: RunQuery,
    frame: table::Frame,
) -> anyhow::Result<()> {
    // More than a room tells at once are asked for without a limit.
    query.limit = query.limit.filter(|limit| *limit <= GROUPS_MAX);
    let summary = http.run_summary(by, frame.zone.name(), &query).await;
    let mut summary = summary.map_err(|error| room::no_answer(config, error))?;
    summary.rows.truncate(args.limit.map_or(usize::MAX, |limit| limit as usize));
    let mut out = tokio::io::stdout();
    if let Some(form) = form(args, frame) {
        paper::groups(&summary, by, form, &mut out).await.context("can't write the sums")?;
        return Ok(());
    }
    if summary.groups == 0 {
        return nothing(args, owner, &query, frame).await;
    }
    if frame.width.is_some() {
        out.write_all(title(args, owner, query.sort, frame).as_bytes()).await?;
    }
    out.write_all(table::groups(&summary, by, frame).as_bytes()).await?;
    out.flush().await?;
    Ok(())
}

async fn records(
    args: &RunsArgs,
    config: &Config,
    http: &Http,
    owner: &str,
    query: RunQuery,
    frame: table::Frame,
) -> anyhow::Result<()> {
    let form = form(args, frame);
    let mut out = tokio::io::stdout();
    // How many there are is asked where somebody waits for all of them, and where a table has none to show.
    let waits = frame.width.is_none() && std::io::stderr().is_terminal();
    let mut progress = Progress::default();
    if waits || form.is_none() {
        let all = RunQuery { sort: Sort::default(), limit: Some(1), ..query.clone() };
        let summary = http.run_summary(By::Project, frame.zone.name(), &all).await;
        let total = summary.map_err(|error| room::no_answer(config, error))?.total.runs;
        let total = u64::try_from(total).unwrap_or(0);
        if total == 0 && form.is_none() {
            return nothing(args, owner, &query, frame).await;
        }
        progress.total = waits.then(|| query.limit.map_or(total, |limit| total.min(limit.into())));
    }
    if form.is_none() && frame.width.is_some() {
        out.write_all(title(args, owner, query.sort, frame).as_bytes()).await?;
    }
    let sink = form.map_or(Sink::Table(frame), Sink::Form);
    let written = paper::records(http, &query, sink, &mut out, |written| progress.tell(written)).await;
    drop(progress);
    match written {
        Ok(_) => Ok(()),
        Err(Broken::Room { after, error }) => {
            let Environment(why) = room::no_answer(config, error);
            let so_far =
                if after == 0 { String::new() } else { format!("after {}: ", table::count(after, "run")) };
            Err(Environment(format!("{so_far}{why}")).into())
        }
        Err(broken) => Err(broken.into()),
    }
}

/// As which form rows are written; `None`: as a table.
fn form(args: &RunsArgs, frame: table::Frame) -> Option<Form> {
    let csv = args.csv.then_some(Form::Csv { shown: frame.width.is_some() });
    csv.or(args.json.then_some(Form::Json))
}

/// What a table on a terminal is about.
fn title(args: &RunsArgs, owner: &str, sort: Sort, frame: table::Frame) -> String {
    let mut about = format!("Runs of {}", shown::line(owner));
    if let Rows::Groups(by) = args.by {
        about.push_str(&format!(" by {}", by.as_str()));
    }
    if args.utc || args.by == Rows::Groups(By::Day) {
        about.push_str(&format!(" in {}", frame.zone.name()));
    }
    let hint = if args.since.is_none() { " (--since)" } else { "" };
    let about = format!("{about}, {}{hint}, {}", period(args), ordered(sort, args.by));
    format!("{}\n\n", shown::wrap(&about, frame.width.unwrap_or(WIDTH)).join("\n"))
}

/// `last 7 days`, `since yesterday until 12h`.
fn period(args: &RunsArgs) -> String {
    let until = args.until.map(|until| format!(" until {}", until.named()));
    format!("{}{}", args.since.unwrap_or(SINCE).since(), until.unwrap_or_default())
}

/// An order in words.
fn ordered(sort: Sort, by: Rows) -> String {
    let (high, low, of) = match sort.order {
        Order::Reported => ("newest", "oldest", ""),
        Order::Name if by == Rows::Groups(By::Day) => ("newest", "oldest", ""),
        Order::Name => ("Z", "A", ""),
        Order::Runs => ("most", "fewest", " runs"),
        Order::Failed => ("most", "fewest", " failed"),
        Order::Input => ("most", "fewest", " tokens in"),
        Order::Output => ("most", "fewest", " tokens out"),
        Order::Tokens => ("most", "fewest", " tokens"),
        Order::Turns => ("most", "fewest", " turns"),
        Order::Duration => ("longest", "shortest", ""),
        Order::FailedTokens => ("most", "fewest", " tokens in failed runs"),
        Order::Exit => ("highest", "lowest", " exit code"),
    };
    format!("{}{of} first", if sort.descending { high } else { low })
}

/// Says that there is no record, of what, and what to try.
async fn nothing(args: &RunsArgs, owner: &str, query: &RunQuery, frame: table::Frame) -> anyhow::Result<()> {
    let filters = [
        ("--project", query.project.as_ref().map(ToString::to_string)),
        ("--task", query.task.clone()),
        ("--agent", query.agent.as_ref().map(ToString::to_string)),
    ];
    let given: Vec<String> =
        filters.iter().filter_map(|(flag, value)| Some(format!("{flag} {}", value.as_ref()?))).collect();
    let of = if given.is_empty() { String::new() } else { format!(" with {}", given.join(" ")) };
    let next = match (query.since.is_some() || query.until.is_some(), given.is_empty()) {
        (true, _) => "--since all looks at all there are",
        (false, false) => "leave the filters out to see the others",
        (false, true) => "a runner reports one when a run ends (report_run)",
    };
    let owner = shown::line(owner);
    let said = format!("no record of a run of {owner}'s agents{of} ({}); {next}", period(args));
    if frame.width.is_none() {
        room::note(&said);
        return Ok(());
    }
    let mut out = tokio::io::stdout();
    let said = shown::wrap(&said, frame.width.unwrap_or(WIDTH)).join("\n");
    out.write_all(format!("{said}\n").as_bytes()).await?;
    out.flush().await?;
    Ok(())
}
