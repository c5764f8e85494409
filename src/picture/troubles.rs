//! The services that fail for several owners at once, as a watcher knows it.

use super::{Picture, Since};
use crate::trouble::{self, Trouble};

impl Picture {
    /// The services that fail for several owners, the most owners first.
    pub fn troubles(&self) -> &[Trouble] {
        &self.troubles
    }

    /// Of a failure that stood before we came it is not known when it began, so it is no part of a trouble.
    pub(super) fn settle_troubles(&mut self) {
        let failed = self.agents.failed().filter_map(|id| self.agents.get(id).map(|agent| (id, agent)));
        let standing = failed.filter_map(|(id, agent)| {
            let Some(Since::At(at)) = agent.failed else { return None };
            agent.pulse.run_failure.as_ref().map(|failure| (id, failure, at))
        });
        self.troubles = trouble::follow(&self.troubles, standing);
    }
}
