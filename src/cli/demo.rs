//! `prickle demo`.

pub(super) fn run(args: super::DemoArgs) -> anyhow::Result<()> {
    anyhow::bail!("not yet")
}
