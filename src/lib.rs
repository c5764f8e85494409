//! prickle: watch the coding agents of a team live, and run the small room that they report to.
//!
//! # Layout
//! - [`wire`]: what is said between room, client and agent. Pure data; uses nothing of the others.
//! - [`shown`], [`rules`], [`hint`], [`change`], [`pattern`], [`conflict`], [`trouble`], [`picture`], [`words`],
//!   [`warning`], [`alarm`], [`summary`], [`ledger`], [`columns`], [`written`]: what prickle knows. Pure: no I/O, no
//!   async.
//! - [`server`]: the room. [`client`]: any room, ours or a hosted one. The two agree only through [`wire`].
//! - [`tui`]: the screen. [`report`]: the same without a screen. [`demo`]: a made-up cast in a real room.
//! - [`config`]: files, environment and flags. [`cli`]: one match arm a command.
//!
//! This is the inside of the `prickle` program, not a library with a promised interface.

pub mod alarm;
pub mod change;
pub mod cli;
pub mod client;
pub mod columns;
pub mod config;
pub mod conflict;
pub mod demo;
pub mod hint;
pub mod ledger;
pub mod pattern;
pub mod picture;
pub mod report;
pub mod rules;
pub mod server;
pub mod shown;
pub mod summary;
pub mod trouble;
pub mod tui;
pub mod warning;
pub mod wire;
pub mod words;
pub mod written;
