//! `prickle serve`.

pub(super) fn run(args: super::ServeArgs) -> anyhow::Result<()> {
    anyhow::bail!("not yet")
}
