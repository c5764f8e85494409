//! The feed's frames, and the snapshot that a client can also ask for over HTTP.
//!
//! The room writes each frame once, as text, for all its watchers. [`Frame::parse`] is the client's side: it
//! keeps a frame of a type that it does not know, with its `seq`, so that a newer room leaves no false gap.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Time;
use super::id::AgentId;
use super::pulse::Pulse;
use super::run::Run;

/// Largest frame a room sends, in bytes.
pub const FRAME_MAX: usize = 256 * 1024;

/// The whole room at one moment: `GET /v1/projects/{project}/pulse`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The room.
    pub project: String,
    /// The database the `seq` belongs to.
    pub epoch: String,
    /// The last event that the picture contains; 0 before the first.
    pub seq: u64,
    /// The room's clock.
    pub server_time: Time,
    /// Every agent's pulse, in the order of their ids; an intent that has run out is left out.
    pub pulses: Vec<Pulse>,
}

/// One message of the feed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", remote = "Self")]
pub enum Frame {
    /// Always the first.
    Hello {
        /// The database the `seq`s belong to.
        epoch: String,
        /// The room's newest event.
        seq: u64,
        /// The room's clock.
        server_time: Time,
        /// Whether what was missed follows, instead of a snapshot.
        resumed: bool,
    },
    /// One part of the room at `seq`; the new picture counts from the last part on.
    Snapshot {
        /// The last event that the picture contains.
        seq: u64,
        /// Some of the pulses.
        pulses: Vec<Pulse>,
        /// 0, 1, 2, …
        #[serde(default)]
        part: u32,
        /// Whether the picture is whole now.
        last: bool,
    },
    /// The newest events before the snapshot, oldest first: history, already contained in the picture.
    Recent {
        /// Frames as they were sent when they happened; one that can't be read is left out.
        #[serde(deserialize_with = "lenient")]
        events: Vec<Frame>,
    },
    /// One agent's new pulse, whole.
    Pulse {
        /// The event's number in the project.
        seq: u64,
        /// When the room took it.
        at: Time,
        /// The pulse.
        pulse: Box<Pulse>,
    },
    /// An agent was taken out of the room.
    Gone {
        /// The event's number in the project.
        seq: u64,
        /// When.
        at: Time,
        /// Who.
        agent_id: AgentId,
    },
    /// A run's record, only for the agent's owner; outside of the sequence.
    Run {
        /// Whose.
        agent_id: AgentId,
        /// The record.
        run: Box<Run>,
    },
    /// How the room itself is; outside of the sequence, when it changes, and at the beginning if it is not well.
    Room {
        /// Why it takes no reports now, in a few words; null: it takes them.
        #[serde(default)]
        refusing: Option<String>,
    },
    /// A frame of a newer room.
    #[serde(untagged, skip_deserializing)]
    Other(Box<OtherFrame>),
}

/// A frame of a type that this version does not know, kept whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherFrame {
    /// Its type, as it came.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its number, if it is an event of the room.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// All else.
    #[serde(flatten)]
    pub more: super::More,
}

/// A message that is no frame: not JSON, or a known type whose members are of the wrong kind.
#[derive(Debug, thiserror::Error)]
#[error("the room sent something that is no frame of a pulse feed: {0}")]
pub struct BadFrame(#[from] serde_json::Error);

const KNOWN: [&str; 7] = ["hello", "snapshot", "recent", "pulse", "gone", "run", "room"];

impl Frame {
    /// Reads one message of the feed.
    pub fn parse(text: &str) -> Result<Self, BadFrame> {
        // Nearly all frames are pulses, and looking at the type first makes three copies of one.
        match serde_json::from_str(text) {
            Ok(Event { kind, seq, at, pulse }) if kind == "pulse" => Ok(Self::Pulse { seq, at, pulse }),
            _ => Ok(serde_json::from_str(text)?),
        }
    }

    /// The event's number in the project; `None` for frames outside of the sequence.
    pub fn seq(&self) -> Option<u64> {
        match self {
            Self::Pulse { seq, .. } | Self::Gone { seq, .. } => Some(*seq),
            Self::Other(other) => other.seq,
            Self::Hello { .. }
            | Self::Snapshot { .. }
            | Self::Recent { .. }
            | Self::Run { .. }
            | Self::Room { .. } => None,
        }
    }
}

/// What a pulse frame is, if it is one.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    seq: u64,
    at: Time,
    pulse: Box<Pulse>,
}

impl Serialize for Frame {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Frame {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let value = Value::deserialize(deserializer)?;
        // A known type with broken members is an error, not a frame of a newer room.
        let known = value.get("type").and_then(Value::as_str).is_some_and(|t| KNOWN.contains(&t));
        if known {
            Self::deserialize(value).map_err(D::Error::custom)
        } else {
            serde_json::from_value(value).map(|other| Self::Other(Box::new(other))).map_err(D::Error::custom)
        }
    }
}

/// Frames of which one that can't be read is left out.
pub(crate) fn lenient<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<Frame>, D::Error> {
    let values = Vec::<Value>::deserialize(deserializer)?;
    Ok(values.into_iter().filter_map(|value| serde_json::from_value(value).ok()).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::wire::pulse::{Availability, IntentKind};

    #[test]
    fn a_newer_rooms_names_and_members_are_kept() {
        let text = r#"{"type":"pulse","seq":4,"at":"2026-11-30T14:32:00Z","pulse":{"agent_id":"acme/builder",
            "owner":"acme","project":"website-v2","availability":"dreaming","doing":"x","task_id":null,
            "branch":null,"files":[],"last_decision":null,"updated_at":"2026-11-30T14:32:00Z",
            "intent":{"kind":"fold","paths":["a"],"areas":[],"expires_at":"2026-11-30T15:02:00Z","risk":9},
            "mood":"fine"}}"#;
        let Frame::Pulse { pulse, seq: 4, .. } = Frame::parse(text).unwrap() else { panic!("a pulse") };
        assert_eq!(pulse.availability, Availability::Other("dreaming".into()));
        assert_eq!(pulse.more["mood"], "fine");
        let intent = pulse.intent.as_ref().unwrap();
        assert_eq!(intent.kind, IntentKind::Other("fold".into()));
        assert_eq!(intent.more["risk"], 9);
        let looked_at_first: Frame = serde_json::from_str(text).unwrap();
        assert_eq!(Frame::parse(text).unwrap(), looked_at_first);
    }

    #[test]
    fn a_frame_of_an_unknown_type_keeps_its_place_in_the_sequence() {
        let frame = Frame::parse(r#"{"type":"poke","seq":7,"who":"acme/builder"}"#).unwrap();
        assert_eq!(frame.seq(), Some(7));
        assert_eq!(serde_json::to_string(&frame).unwrap(), r#"{"type":"poke","seq":7,"who":"acme/builder"}"#);
    }

    #[test]
    fn a_known_type_with_broken_members_is_an_error() {
        for text in
            ["", "[]", "7", r#"{"seq":1}"#, r#"{"type":"pulse","seq":1}"#, r#"{"type":"hello","seq":"x"}"#]
        {
            assert!(Frame::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn one_odd_event_does_not_cost_the_others_of_the_history() {
        let text = r#"{"type":"recent","events":[{"type":"pulse"},{"type":"poke","seq":3}]}"#;
        let Frame::Recent { events } = Frame::parse(text).unwrap() else { panic!("recent") };
        assert_eq!(events.len(), 1);
    }
}
