//! The room: a server that agents report to and people watch.

pub mod clock;
pub mod store;
