//! What keeping the sums costs those who report: `cargo bench --bench report`, or another number of reports for each
//! turn than 6000 behind `--`.
//!
//! Two rooms as built for release take the same reports over HTTP from sixteen connections, in turns; in one of them
//! the sums are not kept. Ends with 1 if the other takes less than 70 % of what this one takes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, missing_docs)]

#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../tests/common/records.rs"]
mod records;
#[path = "common/mod.rs"]
mod tables;

use std::collections::HashMap;
use std::process::ExitCode;
use std::time::Instant;

use chrono::Utc;
use common::caller::Caller;
use common::room::Room;
use records::{AGENTS, Due, Load, OWNER, PROJECTS};
use rusqlite::Connection;
use serde_json::json;
use tables::Table;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

const CONNECTIONS: usize = 16;
const TURNS: usize = 8;
/// Per cent.
const LEAST: f64 = 70.0;

/// A room, and whoever reports to it.
struct House {
    room: Room,
    keys: HashMap<&'static str, String>,
    callers: Vec<Caller>,
}

impl House {
    async fn open() -> Self {
        let room = Room::open().await;
        let key = |name: &'static str| (name, room.key("client", &format!("{OWNER}/{name}"), &PROJECTS));
        let keys = AGENTS.into_iter().map(key).collect();
        let callers = (0..CONNECTIONS).map(|_| Caller::new(&room.url)).collect(); // a pool each
        Self { room, keys, callers }
    }

    /// Reports a second, while all connections report.
    async fn takes(&self, due: &[Due]) -> f64 {
        let mut bodies: Vec<Vec<(String, String)>> = vec![Vec::new(); CONNECTIONS];
        for (n, one) in due.iter().enumerate() {
            bodies[n % CONNECTIONS].push((self.keys[one.agent].clone(), call(one)));
        }
        let mut all = JoinSet::new();
        let began = Instant::now();
        for (caller, bodies) in self.callers.iter().cloned().zip(bodies) {
            all.spawn(async move {
                for (key, body) in bodies {
                    let answer = caller.post(&key, body).send().await.unwrap();
                    assert_eq!(answer.status(), 200);
                    let text = answer.text().await.unwrap();
                    assert!(text.contains("structuredContent"), "{text}");
                }
            });
        }
        all.join_all().await;
        f64::from(u32::try_from(due.len()).unwrap()) / began.elapsed().as_secs_f64()
    }
}

fn call(due: &Due) -> String {
    let run = &due.report;
    let arguments = json!({"project": run.project, "run_id": run.run_id.as_str(), "task_id": run.task_id,
        "input_tokens": run.input_tokens, "output_tokens": run.output_tokens, "turns": run.turns,
        "duration_ms": run.duration_ms, "exit_code": run.exit_code});
    let params = json!({"name": "report_run", "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string()
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    f64::midpoint(all[(all.len() - 1) / 2], all[all.len() / 2])
}

fn main() -> ExitCode {
    let each = std::env::args().find_map(|argument| argument.parse().ok()).unwrap_or(6000);
    let runtime = Runtime::new().unwrap();
    let (mut with, mut without, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    runtime.block_on(async {
        let (sums, plain) = (House::open().await, House::open().await);
        Connection::open(&plain.room.db).unwrap().execute_batch("DROP TRIGGER run_is_summed").unwrap();
        let load = Load { records: (each * (TURNS + 1)) as u64, ..Load::of(0) };
        let due: Vec<Due> = records::due(load, Utc::now()).collect();
        for (turn, due) in due.chunks(each).enumerate() {
            // Who comes first changes.
            let (a, b) = if turn % 2 == 0 {
                let a = sums.takes(due).await;
                (a, plain.takes(due).await)
            } else {
                let b = plain.takes(due).await;
                (sums.takes(due).await, b)
            };
            if turn > 0 {
                with.push(a);
                without.push(b);
                ratios.push(a / b);
            }
        }
    });
    let mut table = Table::default();
    Table::title(&format!(
        "report_run over HTTP, {CONNECTIONS} connections, {TURNS} turns of {each} reports"
    ));
    Table::seen("reports a second with the sums", format!("{:.0}", median(with)));
    Table::seen("reports a second without them", format!("{:.0}", median(without)));
    let per_cent = (median(ratios) * 100.0).floor();
    let kept = per_cent >= LEAST;
    table.promised("with, of without", format!("{per_cent:.0} %"), &format!(">= {LEAST} %"), kept);
    ExitCode::from(u8::from(table.broken))
}
