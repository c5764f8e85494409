//! `prickle demo`: the made-up cast's room on the screen, or a few frames of it as text.

use std::io::Write;
use std::time::Duration;

use anyhow::Context;
use chrono::{TimeDelta, Utc};

use super::{DemoArgs, look, screen, watch};
use crate::client::feed::{self, Feed};
use crate::config::{Config, Reach};
use crate::demo::{Demo, cast};
use crate::picture::{Happening, News, Picture};
use crate::tui::model::{Model, Watch};
use crate::tui::{session, update, view};
use crate::wire::id::Slug;

/// How long the first picture may take.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) fn run(args: &DemoArgs) -> anyhow::Result<()> {
    let on_screen = args.frames.is_none() && session::is_possible();
    if on_screen {
        screen::check_terminal()?;
    }
    let runtime = tokio::runtime::Runtime::new().context("cannot start")?;
    runtime.block_on(async {
        let demo = Demo::open(TimeDelta::zero()).await?;
        let began = Utc::now();
        let (source, project): (_, Slug) = (demo.source(), cast::PROJECT.parse()?);
        let mut feed = Feed::spawn(demo.source(), project.clone(), feed::Options::default());
        // The demo runs whatever the settings are; only their look concerns it.
        let config = Config::load_leniently(&Reach::default()).ok();
        let (look, fault) = look::from(&args.look, config.as_ref());
        let picture = Picture::new(cast::PROJECT);
        let owner = Some(cast::OWNER.to_owned());
        let watch = Watch::Running(TimeDelta::zero());
        let mut model = Model::new(picture, format!("http://{}", demo.host), owner, watch, look);
        model.panel = Some(demo.panel(began));
        look::dress(&mut model, &args.look, config.as_ref(), fault);
        complete(&mut model, &mut feed).await?;
        update::look_at_clash(&mut model);
        let result = if on_screen {
            let shown = tokio::select! {
                shown = screen::open(model, Some(&mut feed), screen::title_only(config.as_ref()), |screen| watch::ask(source, project, screen)) => shown,
                broken = demo.play(began) => broken,
            };
            crate::tui::terminal::restore();
            if shown.is_ok() {
                farewell()?;
            }
            shown
        } else {
            frames(&mut model, &mut feed, &demo, args.frames.unwrap_or(3)).await
        };
        drop(feed);
        demo.end().await?;
        result
    })
}

/// Takes in news until the picture is whole, so that nobody looks at an empty list.
async fn complete(model: &mut Model, feed: &mut Feed) -> anyhow::Result<()> {
    let whole = async {
        let told = |happening: &Happening| matches!(happening, Happening::Reported { .. });
        while !model.picture.is_whole() || !model.picture.log().any(told) {
            let heard = feed.next().await.context("the demo's feed ended")?;
            update::heard(model, heard);
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(PATIENCE, whole).await.context("the demo's room does not answer")?
}

/// Writes frames as text: the first picture, then one after each thing that the panel would tell.
async fn frames(model: &mut Model, feed: &mut Feed, demo: &Demo, count: u32) -> anyhow::Result<()> {
    let number = |name: &str, default: u16| -> u16 {
        std::env::var(name).ok().and_then(|v| v.parse().ok()).filter(|n| *n > 0).unwrap_or(default)
    };
    let size = (number("COLUMNS", 100), number("LINES", 30));
    model.panel = None;
    let mut out = std::io::stdout().lock();
    let story = cast::story();
    let mut beats = story.iter().cycle();
    for frame in 0..count {
        if frame > 0 {
            let mut told = String::new();
            while told.is_empty() {
                let Some(beat) = beats.next() else { break };
                demo.say(beat).await?;
                told = beat.tells.unwrap_or_default().to_owned();
                let mut heard_of = false;
                while !heard_of {
                    let heard = tokio::time::timeout(PATIENCE, feed.next()).await.ok().flatten();
                    let heard = heard.context("the demo's room fell silent")?;
                    heard_of = matches!(heard.news, News::Event { .. } | News::Run { .. });
                    update::heard(model, heard);
                }
            }
            writeln!(out, "\n{told}:\n")?;
        }
        update::resize(model, size.0, size.1);
        out.write_all(view::as_text(model).as_bytes())?;
    }
    out.flush()?;
    Ok(())
}

/// What stays in the terminal.
fn farewell() -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "That was prickle's demo: a made-up cast in a real room, gone now.")?;
    writeln!(out, "A room of your own, in your project's folder:  prickle watch")?;
    writeln!(out, "Let an agent into it:                          prickle connect claude-code")?;
    Ok(())
}
