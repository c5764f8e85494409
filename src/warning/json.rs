//! A conflict as JSON, for who wants to do more with it than read it.

use serde_json::{Value, json as object};

use super::word;
use crate::conflict::{Act, Conflict, Ended, How, Party, Place};

/// `{"level", "since", "until", "places", "first", "second"}`: the level's word, two times, where they meet (each
/// `{"area"}` or `{"first", "second", "ground"}`, as it was sent), and both pulses as they came. `"reported"` says
/// that the second only reports what the first would undo; `"more"` counts the places left out, where there are
/// such; `"ended"` says when, by whom and how it ended (`ran_out`, `said_else`, `left`, or what its agent went).
///
/// Not made safe to show: that is `shown::json`'s.
pub fn json(conflict: &Conflict, ended: Option<&Ended>) -> Value {
    let place = |place: &Place| match place {
        Place::Area(area) => object!({"area": area}),
        Place::Paths { first, second, .. } => {
            object!({"first": first, "second": second, "ground": place.ground()})
        }
    };
    let pulse = |party: &Party| serde_json::to_value(&*party.pulse).unwrap_or_default();
    let mut told = object!({
        "level": word(conflict.level),
        "since": conflict.since,
        "until": ended.map_or(conflict.until(), |ended| ended.at),
        "reported": conflict.second.act == Act::Reports,
        "places": conflict.places.iter().map(place).collect::<Vec<_>>(),
        "first": pulse(&conflict.first),
        "second": pulse(&conflict.second),
    });
    if conflict.more > 0 {
        told["more"] = conflict.more.into();
    }
    if let Some(ended) = ended {
        let how = match &ended.how {
            How::RanOut => "ran_out",
            How::SaidElse => "said_else",
            How::Went(availability) => availability.as_str(),
            How::Left => "left",
        };
        told["ended"] = object!({"at": ended.at, "by": ended.by, "how": how});
    }
    told
}
