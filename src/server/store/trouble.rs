//! What the database did not do, as the log and the watchers are told of it.

use tokio::sync::watch;

use super::file::cause;
use crate::server::complaint::Complaint;

/// The trouble of one database. A full disk would otherwise fill its log, too.
#[derive(Debug, Default)]
pub(super) struct Trouble {
    complaint: Complaint,
    /// Why calls are not taken now, in a few words.
    refusing: watch::Sender<Option<&'static str>>,
}

impl Trouble {
    /// Says that `what` has happened, unless the log has been told of trouble within the minute.
    pub(super) fn say(&self, error: &rusqlite::Error, what: &str) {
        if let Some(unsaid) = self.complaint.raise() {
            tracing::error!(%error, unsaid, "{what}");
        }
    }

    /// The same where calls could not be taken, which watchers are told until it is over.
    pub(super) fn refuse(&self, error: &rusqlite::Error, what: &str) {
        self.say(error, what);
        self.tell(Some(cause(error)));
    }

    /// A call was stored: says that the trouble is over, if anybody knows of any.
    pub(super) fn over(&self) {
        if self.complaint.settle() {
            tracing::info!("the database takes calls again");
        }
        self.tell(None);
    }

    /// Changes whenever calls are no longer taken, for another reason, or again.
    pub(super) fn refusing(&self) -> watch::Receiver<Option<&'static str>> {
        self.refusing.subscribe()
    }

    fn tell(&self, why: Option<&'static str>) {
        self.refusing.send_if_modified(|known| std::mem::replace(known, why) != why);
    }
}
