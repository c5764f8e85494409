//! A room that speaks https, and its client, over real sockets: certificates good and bad, old and renewed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "tls/clients.rs"]
mod clients;
mod common;
#[path = "tls/door.rs"]
mod door;
#[path = "tls/paper.rs"]
mod paper;
#[path = "tls/serving.rs"]
mod serving;
#[path = "tls/trust.rs"]
mod trust;
