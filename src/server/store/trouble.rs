//! What the database did not do, as the log is told of it.

use crate::server::complaint::Complaint;

/// The trouble of one database. A full disk would otherwise fill its log, too.
#[derive(Debug, Default)]
pub(super) struct Trouble(Complaint);

impl Trouble {
    /// Says that `what` has happened, unless the log has been told of trouble within the minute.
    pub(super) fn say(&self, error: &rusqlite::Error, what: &str) {
        if let Some(unsaid) = self.0.raise() {
            tracing::error!(%error, unsaid, "{what}");
        }
    }

    /// A call was stored: says that the trouble is over, if the log knows of any.
    pub(super) fn over(&self) {
        if self.0.settle() {
            tracing::info!("the database takes calls again");
        }
    }
}
