//! A trouble that lasts is said once a minute, not once a call; and once that it is over.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often a trouble that goes on is said again.
const EVERY: Duration = Duration::from_mins(1);

/// One kind of trouble of a room, and what the log has been told of it.
#[derive(Debug)]
pub(super) struct Complaint {
    every: Duration,
    told: Mutex<Told>,
}

#[derive(Debug, Default)]
struct Told {
    last: Option<Instant>,
    /// How often it came up since the log was told.
    since: u64,
    /// The log was told of the trouble, and not yet of its end.
    owed: bool,
}

impl Default for Complaint {
    fn default() -> Self {
        Self { every: EVERY, told: Mutex::default() }
    }
}

impl Complaint {
    /// It came up again. Where the log is due to hear of it: how often it came up unsaid.
    pub fn raise(&self) -> Option<u64> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if told.last.is_some_and(|last| now.duration_since(last) < self.every) {
            told.since += 1;
            return None;
        }
        let unsaid = std::mem::take(&mut told.since);
        (told.last, told.owed) = (Some(now), true);
        Some(unsaid)
    }

    /// It did not come up where it would have. Whether the log is due to hear that it is over.
    pub fn settle(&self) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut told.owed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lasting_trouble_is_said_once_in_a_while_and_once_that_it_is_over() {
        let complaint = Complaint::default();
        assert!(!complaint.settle(), "what never was is not over");
        assert_eq!(complaint.raise(), Some(0));
        assert_eq!((complaint.raise(), complaint.raise()), (None, None));
        assert!(complaint.settle());
        assert!(!complaint.settle(), "its end is said once");
        // It comes and goes within the minute: neither is said again.
        assert_eq!(complaint.raise(), None);
        assert!(!complaint.settle());
    }

    #[test]
    fn after_a_while_it_is_said_again_with_how_often_it_came_up() {
        let complaint = Complaint { every: Duration::ZERO, ..Complaint::default() };
        assert_eq!(complaint.raise(), Some(0));
        let complaint = Complaint { every: Duration::from_hours(1), ..complaint };
        assert_eq!((complaint.raise(), complaint.raise()), (None, None));
        let complaint = Complaint { every: Duration::ZERO, ..complaint };
        assert_eq!(complaint.raise(), Some(2));
    }
}
