//! The room's clock: every moment that the room stamps comes from here.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{SubsecRound, TimeDelta, Utc};

use crate::wire::Time;

/// The machine's clock, moved by an offset that all clones share.
///
/// The demo makes the earlier calls of its story with the clock set back, and then lets it run true.
#[derive(Debug, Clone, Default)]
pub struct Clock {
    offset_ms: Arc<AtomicI64>,
}

impl Clock {
    /// Now, in whole milliseconds: the database keeps no finer ones, and what was answered before a restart
    /// must read the same after it.
    pub fn now(&self) -> Time {
        let offset = TimeDelta::milliseconds(self.offset_ms.load(Ordering::Relaxed));
        let now = Utc::now().trunc_subsecs(3);
        now.checked_add_signed(offset).unwrap_or(now)
    }

    /// From now on the clock differs by `offset` from the machine's; negative is earlier, zero is true.
    pub fn set_offset(&self, offset: TimeDelta) {
        self.offset_ms.store(offset.num_milliseconds(), Ordering::Relaxed);
    }
}
