//! The Runs on the screen: what is asked of the room, what its answers look like, what the keys do with them.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;
#[path = "runs_view/honest.rs"]
mod honest;
#[path = "runs_view/keys.rs"]
mod keys;
#[path = "runs_view/ledger.rs"]
mod ledger;
#[path = "runs_view/pictures.rs"]
mod pictures;
#[path = "runs_view/real.rs"]
mod real;
#[path = "common/screen.rs"]
mod screen;
