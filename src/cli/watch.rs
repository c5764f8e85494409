//! `prickle watch`: the screen, sentences, one look, or the feed's frames; live or from a recording.

use std::io::{IsTerminal, Write};
use std::path::Path;

use super::{Environment, Reach, WatchArgs, room};
use crate::client::feed::{Feed, Options};
use crate::client::http::Http;
use crate::client::recording::{self, Header, Recorder, Recording};
use crate::config::Config;
use crate::picture::News;
use crate::report::{self, Lines};
use crate::wire::feed::Snapshot;
use crate::wire::id::Slug;

pub(super) fn run(args: &WatchArgs, reach: &Reach) -> anyhow::Result<()> {
    let config = Config::load_leniently(reach)?;
    if let Some(path) = &args.replay {
        return replay(args, &config, path);
    }
    if args.once {
        room::warn(&config);
        return room::run(once(args, &config));
    }
    if args.json {
        room::warn(&config);
        return room::run(async {
            tokio::select! {
                result = frames(args, &config) => result,
                () = report::reader_gone() => Ok(()),
            }
        });
    }
    if args.plain || !std::io::stdout().is_terminal() {
        room::warn(&config);
        return room::run(async {
            tokio::select! {
                result = plain(args, &config) => result,
                () = report::reader_gone() => Ok(()),
            }
        });
    }
    room::runtime()?.block_on(screen(args, &config))
}

/// The room as it is now.
async fn once(args: &WatchArgs, config: &Config) -> anyhow::Result<()> {
    if args.record.is_some() {
        let text = "--record keeps what is heard over time, and --once hears nothing more; leave one out";
        return Err(Environment(text.into()).into());
    }
    let project = room::project(config, args.project.clone()).await?;
    let access = config.access().map_err(Environment)?;
    let http = Http::new(&access, room::PATIENCE).map_err(|e| room::no_answer(config, e))?;
    if args.json {
        let text = http.snapshot_text(&project).await.map_err(|e| room::no_answer(config, e))?;
        writeln!(std::io::stdout(), "{}", report::json::line(&text))?;
        return Ok(());
    }
    let snapshot = http.snapshot(&project).await.map_err(|e| room::no_answer(config, e))?;
    table(&snapshot)
}

/// The feed's frames as the room sends them, a line each, across losses. These are said on stderr.
async fn frames(args: &WatchArgs, config: &Config) -> anyhow::Result<()> {
    let project = room::project(config, args.project.clone()).await?;
    let recorder = recorder(args, config, &project).await?;
    let (mut feed, mut frames) = Feed::spawn_with_frames(config.source(), project, Options::default());
    if let Some(recorder) = recorder {
        feed.record(recorder);
    }
    let mut out = Lines::stdout();
    let mut lost = false;
    loop {
        tokio::select! {
            biased;
            Some(frame) = frames.recv() => out.write(&report::json::line(&frame)).await?,
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
    let project = room::project(config, args.project.clone()).await?;
    let recorder = recorder(args, config, &project).await?;
    let mut feed = Feed::spawn(config.source(), project.clone(), Options::default());
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
        recording.cut(at.to_utc());
    }
    replayed(args, config, &recording)
}

// The four calls into the parts that show a room.

fn table(_snapshot: &Snapshot) -> anyhow::Result<()> {
    anyhow::bail!("not yet")
}

async fn plain(args: &WatchArgs, config: &Config) -> anyhow::Result<()> {
    let (_project, _feed) = follow(args, config).await?;
    anyhow::bail!("not yet")
}

async fn screen(args: &WatchArgs, config: &Config) -> anyhow::Result<()> {
    let (_project, _feed) = follow(args, config).await?;
    anyhow::bail!("not yet")
}

fn replayed(_args: &WatchArgs, _config: &Config, _recording: &Recording) -> anyhow::Result<()> {
    anyhow::bail!("not yet")
}
