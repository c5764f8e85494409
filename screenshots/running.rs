//! The demo's room, running, for pictures of what only a room can tell: its run records. Its clock is set to the
//! moment of the other pictures.

use anyhow::Context;
use chrono::Utc;
use prickle::demo::{Demo, cast};
use prickle::wire::Time;

/// A room with the demo's cast in it, as long as this lives.
pub struct Running {
    runtime: tokio::runtime::Runtime,
    demo: Option<Demo>,
}

impl Running {
    /// Opens it at `now`; from then on its clock goes.
    pub fn open(now: Time) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Runtime::new()?;
        let demo = runtime.block_on(Demo::open(now - Utc::now()))?;
        Ok(Self { runtime, demo: Some(demo) })
    }

    /// Where it is, for the owner of some of the cast.
    pub fn environment(&self) -> anyhow::Result<[(&'static str, String); 3]> {
        let demo = self.demo.as_ref().context("the room runs")?;
        let access = demo.source()().map_err(|trouble| anyhow::anyhow!("{trouble:?}"))?;
        let (server, token) = (format!("http://{}", demo.host), access.token.secret().to_owned());
        Ok([("PRICKLE_SERVER", server), ("PRICKLE_TOKEN", token), ("PRICKLE_PROJECT", cast::PROJECT.into())])
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(demo) = self.demo.take() {
            let _ = self.runtime.block_on(demo.end());
        }
    }
}
