//! The write-ahead log under a day's load, in full: `cargo bench --bench wal`, or with another number of pulses than
//! two million behind `--`.
//!
//! Starts the real binary as built for release and prints what was seen. Ends with 1 if the log grew beyond 64 MiB
//! or was still there after a clean stop.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, missing_docs)]

#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../tests/storage/wal.rs"]
mod wal;

use std::process::ExitCode;
use std::time::Instant;

const MOST: u64 = 64 * 1024 * 1024;

fn main() -> ExitCode {
    let pulses = std::env::args().find_map(|arg| arg.parse().ok()).unwrap_or(2_000_000);
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let began = Instant::now();
    let seen = runtime.block_on(wal::under_load(folder.path(), pulses, 2));
    println!("pulses                        {pulses}");
    println!(
        "pulses a second               {:.0}",
        f64::from(u32::try_from(pulses).unwrap()) / began.elapsed().as_secs_f64()
    );
    println!("log at its largest, bytes     {}   <= {MOST}", seen.largest);
    println!("log after a clean stop        {}   = 0", seen.left);
    println!("events kept                   {}", seen.kept);
    println!("database, bytes               {}", seen.database);
    ExitCode::from(u8::from(seen.largest > MOST || seen.left > 0))
}
