//! `prickle pulse`.

pub(super) fn run(args: super::PulseArgs, reach: &super::Reach) -> anyhow::Result<()> {
    anyhow::bail!("not yet")
}
