//! `prickle watch`.

pub(super) fn run(args: super::WatchArgs, reach: &super::Reach) -> anyhow::Result<()> {
    anyhow::bail!("not yet")
}
