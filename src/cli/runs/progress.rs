//! How far a long export is, for somebody who waits.

use std::io::Write;

use crate::report::runs::table;
use crate::{columns, shown};

/// A line on the terminal of somebody who waits, while the records go elsewhere. It is taken back at the end, however
/// that comes.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// How many there will be; `None`: nobody waits.
    pub(super) total: Option<u64>,
    /// Whether the line stands there.
    told: bool,
}

impl Progress {
    /// So many are written.
    pub(super) fn tell(&mut self, written: u64) {
        let Some(total) = self.total.filter(|total| written < *total) else { return };
        let _ = write!(std::io::stderr(), "\r{} …", of(written, total));
        self.told = true;
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(total) = self.total.filter(|_| self.told) {
            let blank = " ".repeat(shown::width(&of(total, total)) + 2);
            let _ = write!(std::io::stderr(), "\r{blank}\r");
        }
    }
}

/// `12,000 of 1,000,000 runs`.
fn of(written: u64, total: u64) -> String {
    let whole = |n| columns::whole(i64::try_from(n).unwrap_or(i64::MAX));
    format!("{} of {}", whole(written), table::count(total, "run"))
}
