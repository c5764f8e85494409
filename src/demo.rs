//! A room of its own with a made-up cast that really calls it: the demo.
//!
//! Nothing here draws or pretends. The cast calls the MCP endpoint of a real room on a loopback port, its
//! earlier calls while the room's clock is set back, so that ages, failures and history are there at once.

pub mod cast;
pub mod runs;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Context;
use chrono::{TimeDelta, Utc};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use self::cast::Call;
use crate::client::feed::Source;
use crate::client::{Access, mcp};
use crate::rules::{Kind, Scope};
use crate::server;
use crate::server::clock::Clock;
use crate::server::store::keys::{Holder, KeyStore, NewKey};
use crate::server::store::{self, Store};
use crate::tui::model::Panel;
use crate::wire::Time;
use crate::wire::id::{AgentId, Slug};

/// How long one call of the cast may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running demo. Ends with [`Demo::end`]; its folder goes with it.
pub struct Demo {
    /// Where its room listens: `127.0.0.1:40113`.
    pub host: String,
    clock: Clock,
    watcher: Access,
    agents: HashMap<&'static str, Access>,
    launches: AtomicU64,
    stop: CancellationToken,
    room: JoinHandle<std::io::Result<()>>,
    _folder: TempDir,
}

impl Demo {
    /// Opens the room, lets the cast report, and comes back when everything earlier has been said. The room's
    /// clock differs from the machine's by `ahead`.
    pub async fn open(ahead: TimeDelta) -> anyhow::Result<Self> {
        let folder =
            tempfile::Builder::new().prefix("prickle-demo-").tempdir().context("no folder for the demo")?;
        let path = folder.path().join("room.db");
        let clock = Clock::default();
        let options = store::Options { clock: clock.clone(), ..store::Options::default() };
        let store = Store::open(&path, options)?;
        let mut keys = KeyStore::open(&path)?;
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.context("no loopback port for the demo")?;
        let host = listener.local_addr()?.to_string();
        let url = format!("http://{host}");
        let access = |key: &NewKey, keys: &mut KeyStore| -> anyhow::Result<Access> {
            let token = keys.create(key, Utc::now())?;
            Ok(Access::new(url.parse()?, token.as_str().parse()?))
        };
        let project: Slug = cast::PROJECT.parse()?;
        let key = |kind: Kind, holder: Holder| NewKey {
            kind,
            holder,
            scope: Scope::Some([project.clone()].into()),
            task: None,
            label: Some("demo".into()),
        };
        let watcher = access(&key(Kind::Person, Holder::Owner(cast::OWNER.parse()?)), &mut keys)?;
        let mut agents = HashMap::new();
        for name in cast::agents() {
            let agent: AgentId = name.parse()?;
            agents.insert(name, access(&key(Kind::Client, Holder::Agent(agent)), &mut keys)?);
        }
        let stop = CancellationToken::new();
        let room = tokio::spawn(server::serve(listener, store, server::Options::default(), stop.clone()));
        let launches = AtomicU64::default();
        let demo = Self { host, clock, watcher, agents, launches, stop, room, _folder: folder };
        let began = Utc::now() + ahead;
        for call in runs::earlier().into_iter().chain(cast::earlier()) {
            demo.clock.set_offset(began - call.at - Utc::now());
            demo.say(&call).await?;
        }
        demo.clock.set_offset(ahead);
        Ok(demo)
    }

    /// Makes one call of the cast, now.
    pub async fn say(&self, call: &Call) -> anyhow::Result<()> {
        let access = self.agents.get(call.agent).context("nobody of the cast has this name")?;
        let mut says: Map<String, Value> = call.says.as_object().cloned().unwrap_or_default();
        says.insert("project".into(), cast::PROJECT.into());
        if call.tool == "report_run" {
            says.insert("run_id".into(), self.launch(call).into());
        }
        mcp::call(access, call.tool, says, PATIENCE)
            .await
            .with_context(|| format!("the demo's room did not take what {} said", call.agent))?;
        Ok(())
    }

    /// A UUID for a run, another one for each launch of it; the same ones in each demo.
    fn launch(&self, call: &Call) -> String {
        let launches = self.launches.fetch_add(1, Ordering::Relaxed);
        let sum = Sha256::digest(format!("{launches} {}", call.says));
        let hex: String = sum.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        // Version 8, where the rest is the maker's own.
        format!("{}-{}-8{}-8{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..])
    }

    /// The address and key of the demo's window.
    pub fn source(&self) -> Source {
        let access = self.watcher.clone();
        Arc::new(move || Ok(access.clone()))
    }

    /// The panel that tells the story.
    pub fn panel(&self, began: Time) -> Panel {
        Panel {
            title: "Demo".into(),
            lines: vec![
                format!("A made-up cast calls a real room on {}, gone with this window.", self.host),
                "Try  n what needs you · 2 clashes · 3 what each task used · ? keys · q out".into(),
                "Your own: prickle watch, then prickle connect claude-code".into(),
            ],
            began,
            period: cast::PERIOD,
            beats: cast::story().iter().filter_map(|b| Some((b.at, b.tells?.to_owned()))).collect(),
        }
    }

    /// Lets the story go on, again and again, until it is dropped. `began` is when it began.
    pub async fn play(&self, began: Time) -> anyhow::Result<()> {
        let story = cast::story();
        for round in 0.. {
            for beat in &story {
                let due = began + cast::PERIOD * round + beat.at;
                let wait = (due - Utc::now()).to_std().unwrap_or_default();
                tokio::time::sleep(wait).await;
                self.say(beat).await?;
            }
        }
        Ok(())
    }

    /// Ends the room and takes its folder away.
    pub async fn end(self) -> anyhow::Result<()> {
        self.stop.cancel();
        self.room.await.context("the demo's room broke")??;
        Ok(())
    }
}
