//! What is said between room, client and agent: pure data, and the one place that checks a call's arguments.
//!
//! The room is strict: it takes a call only after [`schema`] has checked it. A client is tolerant: names
//! that this version does not know are kept as they came (`Other`), unknown members are kept in `more`,
//! so that a newer room never empties an older watcher's screen.

pub mod agent;
pub mod feed;
pub mod id;
pub mod pulse;
pub mod query;
pub mod run;
pub mod schema;
pub mod sums;

/// Members that this version has no field for, kept as they came.
pub type More = serde_json::Map<String, serde_json::Value>;

/// Where a room is unless something else is said: this machine, on a port of its own.
pub const LOCAL_ROOM: &str = "http://127.0.0.1:7766";

/// A moment, always in UTC; on the wire RFC 3339.
pub type Time = chrono::DateTime<chrono::Utc>;

/// So much later than `time`, or the end of time: what others send may lie on it.
pub fn later(time: Time, by: chrono::TimeDelta) -> Time {
    let end = if by < chrono::TimeDelta::zero() { Time::MIN_UTC } else { Time::MAX_UTC };
    time.checked_add_signed(by).unwrap_or(end)
}

/// Declares an enum of wire names that keeps a name it does not know.
macro_rules! open_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$vdoc])* #[doc = concat!("`", $text, "`")] $variant,)+
            /// A name of a newer room, as it came. Other people's text: make it safe before showing it.
            Other(Box<str>),
        }

        impl $name {
            /// Every name this version knows, in the contract's order.
            pub const KNOWN: &'static [&'static str] = &[$($text),+];

            /// The name as it stands on the wire.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)+
                    Self::Other(name) => name,
                }
            }
        }

        impl From<&str> for $name {
            fn from(name: &str) -> Self {
                match name {
                    $($text => Self::$variant,)+
                    other => Self::Other(other.into()),
                }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let name = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                Ok(Self::from(name.as_ref()))
            }
        }
    };
}
pub(crate) use open_enum;
