//! How many files and sockets this process may have open. Each watcher needs one, and the usual soft limit of 1,024
//! is there for old programs, not for servers.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit to the hard one; says how many there may be now, `None` for any number.
///
/// Where the system refuses, what it was remains: a room also works with less.
pub fn raise() -> Option<u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised =
        current != maximum && setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok();
    if raised { maximum } else { current }
}

/// How many files and sockets this process may have open now; `None`: any number.
pub(super) fn allowed() -> Option<usize> {
    getrlimit(Resource::Nofile).current.map(|most| usize::try_from(most).unwrap_or(usize::MAX))
}
