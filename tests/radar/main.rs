//! The undo radar: which patterns can name one file, and which intents would undo each other.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod patterns;
#[path = "../common/pulses.rs"]
mod pulses;
mod undo;
