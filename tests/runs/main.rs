//! The room's run records: pages in every order, sums that know what they don't know, and who may read them.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/database.rs"]
mod database;
mod kept;
mod model;
mod pages;
mod reading;
mod summaries;
mod words;
