//! `prickle key`.

pub(super) fn run(command: super::KeyCommand, reach: &super::Reach) -> anyhow::Result<()> {
    anyhow::bail!("not yet")
}
