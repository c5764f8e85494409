//! A picture as JSON, as the room itself would write it.

use crate::picture::Picture;
use crate::wire::Time;
use crate::wire::feed::Snapshot;

/// The picture at the watcher's `local` time as the room itself would write it; `None` before the first picture.
pub fn snapshot(picture: &Picture, local: Time) -> Option<Snapshot> {
    let (epoch, seq) = picture.position()?;
    let now = picture.room_time(local);
    let pulses = picture.agents().map(|(_, agent)| {
        let mut pulse = (*agent.pulse).clone();
        pulse.intent = pulse.intent.filter(|intent| intent.holds(now));
        pulse
    });
    Some(Snapshot {
        project: picture.project.clone(),
        epoch: epoch.to_owned(),
        seq,
        server_time: now,
        pulses: pulses.collect(),
    })
}
