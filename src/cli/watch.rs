//! `prickle watch`: the screen, sentences, one look, or the feed's frames; live or from a recording.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use chrono::{TimeDelta, Utc};
use tokio::sync::{mpsc, watch};

use super::{Environment, Reach, WatchArgs, asks, exports, local, look, room, screen};
use crate::client::CallError;
use crate::client::feed::{Feed, Options, Source};
use crate::client::http::Http;
use crate::client::recording::{self, Header, Recorder, Recording};
use crate::config::Config;
use crate::picture::{Heard, News, Picture};
use crate::report::plain::Plain;
use crate::report::{self, Lines};
use crate::server::local::Notice;
use crate::shown;
use crate::tui::model::{First, Here, Model, Watch};
use crate::tui::runs::Reader;
use crate::tui::session::Asker;
use crate::tui::{Signal, session, update};
use crate::wire::feed::Snapshot;
use crate::wire::id::Slug;

/// How long until the room is asked again whose key watches.
const ASK_AGAIN: Duration = Duration::from_secs(2);
/// How long until the room is asked again how far its first agent has come.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// The same for a room that stays empty.
const LOOK_SELDOM: Duration = Duration::from_secs(10);

pub(super) fn run(args: &WatchArgs, reach: &Reach) -> anyhow::Result<()> {
    let config = Config::load_leniently(reach)?.with_project(args.project.clone());
    if let Some(path) = &args.replay {
        return replay(args, &config, path);
    }
    let full = !(args.once || args.json || args.plain) && session::is_possible();
    if full {
        screen::check_terminal()?;
    }
    let local::Ready { config, notice } = local::ready(config, args.owner.as_ref(), local::Unknown::Refuse)?;
    if args.once {
        return room::run(once(args, &config));
    }
    if args.json {
        return room::run(async {
            tokio::select! {
                result = frames(args, &config) => result,
                () = report::reader_gone() => Ok(()),
            }
        });
    }
    if !full {
        return room::run(async {
            tokio::select! {
                result = plain(args, &config) => result,
                () = report::reader_gone() => Ok(()),
            }
        });
    }
    room::runtime()?.block_on(screen(args, &config, notice))
}

/// The room as it is now.
async fn once(args: &WatchArgs, config: &Config) -> anyhow::Result<()> {
    if args.record.is_some() {
        let text = "--record keeps what is heard over time, and --once hears nothing more; leave one out";
        return Err(Environment(text.into()).into());
    }
    let project = room::project(config).await?;
    room::warn(config);
    let access = config.access().map_err(Environment)?;
    let text = local::ask(config, &access, async |access| {
        Http::new(access, room::PATIENCE)?.snapshot_text(&project).await
    });
    let text = text.await.map_err(|error| room::no_answer(config, error))?;
    if args.json {
        writeln!(std::io::stdout(), "{}", shown::json(&text))?;
        return Ok(());
    }
    let snapshot: Snapshot = serde_json::from_str(&text)?;
    table(&snapshot)
}

/// The feed's frames as the room sends them, a line each, across losses. These are said on stderr.
async fn frames(args: &WatchArgs, config: &Config) -> anyhow::Result<()> {
    let project = room::project(config).await?;
    room::warn(config);
    let recorder = recorder(args, config, &project).await?;
    let (mut feed, mut frames) = Feed::spawn_with_frames(local::source(config), project, Options::default());
    if let Some(recorder) = recorder {
        feed.record(recorder);
    }
    let mut out = Lines::stdout();
    let mut lost = false;
    loop {
        tokio::select! {
            biased;
            Some(frame) = frames.recv() => out.write(&shown::json(&frame)).await?,
            heard = feed.next() => match heard.map(|heard| heard.news) {
                Some(News::Lost { why, .. }) if !lost => {
                    room::note(&format!("offline: {why}. Trying again until it works."));
                    lost = true;
                }
                Some(News::Live { .. }) if lost => {
                    room::note("live again");
                    lost = false;
                }
                Some(News::Refused { why }) => return Err(Environment(why).into()),
                Some(_) => {}
                None => return Ok(()),
            }
        }
        if let Some(trouble) = feed.trouble() {
            room::note(&trouble);
        }
    }
}

/// Follows the room that was asked for, and records it if that was asked for too.
async fn follow(args: &WatchArgs, config: &Config) -> anyhow::Result<(Slug, Feed)> {
    let project = room::project(config).await?;
    let recorder = recorder(args, config, &project).await?;
    let mut feed = Feed::spawn(local::source(config), project.clone(), Options::default());
    if let Some(recorder) = recorder {
        feed.record(recorder);
    }
    Ok((project, feed))
}

/// The file for `--record`. Whose eyes watch is asked of the room; a room that is down can't tell.
async fn recorder(args: &WatchArgs, config: &Config, project: &Slug) -> anyhow::Result<Option<Recorder>> {
    let Some(path) = &args.record else { return Ok(None) };
    let http = config.access().ok().and_then(|access| Http::new(&access, room::COURTESY).ok());
    let owner = match http {
        Some(http) => http.me().await.ok().map(|me| me.owner),
        None => None,
    };
    let header = Header { project: project.as_str().to_owned(), owner };
    Ok(Some(Recorder::create(path, &header).map_err(|e| Environment(e.to_string()))?))
}

/// A recorded room, up to `--at`.
fn replay(args: &WatchArgs, config: &Config, path: &Path) -> anyhow::Result<()> {
    let mut recording = recording::read(path).map_err(|e| Environment(e.to_string()))?;
    if let Some(project) = args.project.as_ref().filter(|p| p.as_str() != recording.header.project) {
        let of = &recording.header.project;
        return Err(
            Environment(format!("{} is a recording of {of}, not of {project}", path.display())).into()
        );
    }
    if let Some(at) = args.at {
        recording.cut(at);
    }
    replayed(args, config, recording)
}

/// The room's state as a small table.
fn table(snapshot: &Snapshot) -> anyhow::Result<()> {
    let mut picture = Picture::new(&snapshot.project);
    let at = snapshot.server_time;
    let live =
        News::Live { epoch: snapshot.epoch.clone(), seq: snapshot.seq, server_time: at, resumed: false };
    picture.apply(Heard { at, news: live });
    let whole = News::Snapshot { seq: snapshot.seq, pulses: snapshot.pulses.clone() };
    picture.apply(Heard { at, news: whole });
    std::io::stdout().write_all(report::plain::once(&picture, at).as_bytes())?;
    Ok(())
}

/// The room in sentences, until the reader has enough.
async fn plain(args: &WatchArgs, config: &Config) -> anyhow::Result<()> {
    let (project, mut feed) = follow(args, config).await?;
    room::warn(config);
    let owner = match config.access().ok().and_then(|access| Http::new(&access, room::COURTESY).ok()) {
        Some(http) => http.me().await.ok().map(|me| me.owner),
        None => None,
    };
    let picture = picture(config, project.as_str());
    let mut plain = Plain::new(picture, &config.server.host(), owner, room::zone());
    let mut out = Lines::stdout();
    loop {
        let tick = plain.next_tick(Utc::now()).and_then(|wait| wait.max(TimeDelta::zero()).to_std().ok());
        let said = tokio::select! {
            heard = feed.next() => match heard {
                Some(Heard { news: News::Refused { why }, .. }) => return Err(Environment(why).into()),
                Some(heard) => plain.heard(heard),
                None => return Ok(()),
            },
            () = sleep(tick) => plain.tick(Utc::now()),
        };
        for line in said {
            out.write(&line).await?;
        }
        if let Some(trouble) = feed.trouble() {
            room::note(&trouble);
        }
    }
}

async fn sleep(wait: Option<Duration>) {
    match wait {
        Some(wait) => tokio::time::sleep(wait).await,
        None => std::future::pending().await,
    }
}

fn picture(config: &Config, project: &str) -> Picture {
    let mut picture = Picture::new(project);
    picture.stale_after = TimeDelta::minutes(config.stale_minutes.into());
    picture
}

async fn screen(args: &WatchArgs, config: &Config, notice: Option<Notice>) -> anyhow::Result<()> {
    let (project, mut feed) = follow(args, config).await?;
    let picture = picture(config, project.as_str());
    let watch = Watch::Running(TimeDelta::zero());
    let (look, fault) = look::from(&args.look, Some(config));
    let mut model = Model::new(picture, config.server.to_string(), None, watch, look);
    look::dress(&mut model, &args.look, Some(config), fault);
    model.first = First {
        here: notice.map(|notice| Here { open: notice.opened_at, ends: notice.idle.is_some() }),
        named: project != *config.folder_project(),
        agents: None,
    };
    let source = local::source(config);
    screen::open(model, Some(&mut feed), screen::wishes(config), |screen| ask(source, project, screen)).await
}

/// Asks the room whose key watches, until it answers; then what the screen needs to know beside what the feed tells.
pub(super) async fn ask(source: Source, project: Slug, screen: Asker) {
    let mut room = room::Asker::new(Arc::clone(&source));
    let Asker { answers, alone, questions, exports } = screen;
    loop {
        let me = match room.room().await {
            Ok((_, http)) => http.me().await,
            Err(error) => Err(error),
        };
        match me {
            Ok(me) => {
                let _ = answers.send(Signal::Key(Box::new(me))).await;
                break;
            }
            // A key may be made meanwhile, and what is wrong with one is the feed's to tell.
            Err(_) => tokio::time::sleep(ASK_AGAIN).await,
        }
    }
    let records = asks::runs(room::Asker::new(Arc::clone(&source)), questions, answers.clone());
    let files = exports::written(room::Asker::new(source), exports, answers.clone());
    tokio::join!(records, files, agents(room, project, alone, answers));
}

/// Asks how far this owner's agents have come, for as long as nobody is to be seen in the room.
async fn agents(
    mut room: room::Asker,
    project: Slug,
    mut alone: watch::Receiver<bool>,
    answers: mpsc::Sender<Signal>,
) {
    let mut pause = LOOK_AGAIN;
    while alone.wait_for(|alone| *alone).await.is_ok() {
        let answer = match room.room().await {
            Ok((access, http)) => {
                let _ = answers.send(Signal::Server(access.server.to_string())).await;
                http.agents(&project).await
            }
            Err(error) => Err(error),
        };
        match answer {
            Ok(agents) => {
                let _ = answers.send(Signal::Agents(Box::new(agents))).await;
            }
            // An agent's key is not told, and an older room does not know.
            Err(CallError::Refused(_)) => return,
            Err(_) => {}
        }
        tokio::time::sleep(pause).await;
        pause = (pause + pause / 20).min(LOOK_SELDOM);
    }
}

fn replayed(args: &WatchArgs, config: &Config, recording: Recording) -> anyhow::Result<()> {
    let project = recording.header.project.clone();
    let mut picture = picture(config, &project);
    let owner = recording.header.owner.clone();
    let first = recording.heard.first().map(|heard| heard.at);
    let last = args.at.or(recording.heard.last().map(|heard| heard.at));
    let (Some(first), Some(last)) = (first, last) else {
        return Err(Environment("nothing was recorded in that file by then".into()).into());
    };
    if args.json && !args.once {
        let mut out = std::io::stdout().lock();
        for heard in &recording.heard {
            writeln!(out, "{}", shown::json(&serde_json::to_string(heard)?))?;
        }
        return Ok(());
    }
    if args.once {
        recording.heard.into_iter().for_each(|heard| picture.apply(heard));
        if args.json {
            let snapshot = report::json::snapshot(&picture, last)
                .ok_or_else(|| Environment("no picture of the room was recorded by then".into()))?;
            let snapshot = serde_json::to_string(&snapshot)?;
            writeln!(std::io::stdout(), "{}", shown::json(&snapshot))?;
            return Ok(());
        }
        std::io::stdout().write_all(report::plain::once(&picture, last).as_bytes())?;
        return Ok(());
    }
    if args.plain || !session::is_possible() {
        let mut plain = Plain::new(picture, "a recording", owner, room::zone());
        let mut out = std::io::stdout().lock();
        for heard in recording.heard {
            for line in plain.tick(heard.at).into_iter().chain(plain.heard(heard)) {
                writeln!(out, "{line}")?;
            }
        }
        return Ok(());
    }
    screen::check_terminal()?;
    room::runtime()?.block_on(async {
        let (look, fault) = look::from(&args.look, Some(config));
        let nobody = |_| std::future::ready(());
        if args.at.is_some() {
            let mut model = Model::new(picture, "a recording".into(), owner, Watch::Still(last), look);
            model.replay = !args.as_if_live;
            model.runs.reader = Reader::Recording;
            look::dress(&mut model, &args.look, Some(config), fault);
            recording.heard.into_iter().for_each(|heard| update::heard(&mut model, heard));
            return screen::open(model, None, screen::title_only(Some(config)), nobody).await;
        }
        let shift = first - Utc::now();
        let mut feed = Feed::replay(recording.heard, shift);
        let mut model = Model::new(picture, "a recording".into(), owner, Watch::Running(shift), look);
        model.replay = true;
        model.runs.reader = Reader::Recording;
        look::dress(&mut model, &args.look, Some(config), fault);
        screen::open(model, Some(&mut feed), screen::title_only(Some(config)), nobody).await
    })
}
