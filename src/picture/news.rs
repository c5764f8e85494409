//! What reaches a picture: news, and when each was heard.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::wire::Time;
use crate::wire::feed::Frame;
use crate::wire::id::AgentId;
use crate::wire::pulse::Pulse;
use crate::wire::run::Run;

/// Something that a watcher has learnt, in the order it learnt it.
///
/// The client's feed task makes these from a connection; a recording holds them line by line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "news", rename_all = "snake_case")]
pub enum News {
    /// A connection is being tried.
    Connecting,
    /// The room has said hello.
    Live {
        /// Which database its numbers belong to.
        epoch: String,
        /// The room's newest event.
        seq: u64,
        /// The room's clock.
        server_time: Time,
        /// Whether what was missed follows as events, instead of a new picture.
        resumed: bool,
    },
    /// The whole room at `seq`: it replaces the old picture.
    Snapshot {
        /// The last event it contains.
        seq: u64,
        /// Every agent's pulse.
        pulses: Vec<Pulse>,
    },
    /// What happened before the snapshot, oldest first; the snapshot contains it already.
    Recent {
        /// Pulse, gone and unknown frames.
        #[serde(deserialize_with = "crate::wire::feed::lenient")]
        events: Vec<Frame>,
    },
    /// The next event of the room: a pulse, gone or unknown frame. Without gap and without repetition.
    Event {
        /// The event.
        frame: Frame,
    },
    /// A run's record, for the owner's eyes.
    Run {
        /// Whose.
        agent_id: AgentId,
        /// The record.
        run: Box<Run>,
    },
    /// How the room itself is.
    Room {
        /// Why it takes no reports now, in a few words of its own; `None`: it takes them.
        refusing: Option<String>,
    },
    /// The connection is gone; it will be tried again.
    Lost {
        /// Why, in words, safe to show.
        why: String,
        /// When it will be tried again, from now.
        #[serde(with = "millis")]
        retry_in: Duration,
        /// When the last sign of life came, by the watcher's clock; `None`: it is not known, or there was no
        /// connection.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        heard_at: Option<Time>,
    },
    /// The room will not have us; trying again is of no use until something is changed.
    Refused {
        /// Why and what to do, in words, safe to show.
        why: String,
    },
}

/// News, and when it was heard by the watcher's own clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heard {
    /// The watcher's clock.
    pub at: Time,
    /// What was heard.
    #[serde(flatten)]
    pub news: News,
}

mod millis {
    //! A duration as whole milliseconds.
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_millis)
    }
}
