//! How the room is doing, as Prometheus reads it: counts since it opened, and a few sizes.
//!
//! Own code: the format is a page long, the crate `prometheus-client` writes only its successor, and here the type
//! of a label keeps the promise that no owner, agent or project is in one: what anyone sends is no `&'static str`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::Room;
use super::routes::Route;
use super::store::CallError;

/// What a room counts.
#[derive(Debug)]
pub(crate) struct Metrics {
    opened: Instant,
    calls: Counts<2>,
    requests: Counts<2>,
    refused: Counts<1>,
    feeds_ended: Counts<1>,
    pub(super) frames: Count,
    pub(super) lags: Count,
    pub(super) events: Count,
    pub(super) look_ups: Count,
    batches: Histogram,
    commits: Histogram,
}

const TOOLS: [&str; 2] = ["update_pulse", "report_run"];
const OUTCOMES: [&str; 3] = ["ok", "refused", "storage"];
/// What a limit may be of.
const LIMITS: [&str; 4] = ["calls", "sign_ins", "feeds", "connections"];
/// Why a feed may end.
const ENDS: [&str; 6] = ["left", "gone", "silent", "revoked", "restarting", "later"];
/// What is no route of ours.
const ELSEWHERE: &str = "other";

impl Default for Metrics {
    fn default() -> Self {
        let pairs = TOOLS.iter().flat_map(|tool| OUTCOMES.iter().map(|outcome| [*tool, *outcome]));
        Self {
            opened: Instant::now(),
            calls: Counts::of(["tool", "outcome"], pairs),
            requests: Counts::of(["route", "status"], []),
            refused: Counts::of(["limit"], LIMITS.map(|limit| [limit])),
            feeds_ended: Counts::of(["reason"], ENDS.map(|reason| [reason])),
            frames: Count::default(),
            lags: Count::default(),
            events: Count::default(),
            look_ups: Count::default(),
            batches: Histogram::of(&[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0]),
            commits: Histogram::of(&[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0]),
        }
    }
}

impl Metrics {
    /// A call to a tool was answered.
    pub fn call<T>(&self, tool: &'static str, answer: &Result<T, CallError>) {
        let outcome = match answer {
            Ok(_) => "ok",
            Err(CallError::Refused(_)) => "refused",
            Err(CallError::Storage(_)) => "storage",
        };
        self.calls.add([tool, outcome]);
    }

    /// A request was answered. `path`: the route's, if it is one of ours.
    pub fn request(&self, path: Option<&str>, status: u16) {
        let route = path.and_then(|path| Route::ALL.into_iter().map(Route::path).find(|ours| *ours == path));
        let class = match status / 100 {
            1 => "1xx",
            2 => "2xx",
            3 => "3xx",
            4 => "4xx",
            _ => "5xx",
        };
        self.requests.add([route.unwrap_or(ELSEWHERE), class]);
    }

    /// Somebody wanted more than there is of `limit`.
    pub fn refused(&self, limit: &'static str) {
        self.refused.add([limit]);
    }

    /// A feed ended.
    pub fn feed_ended(&self, reason: &'static str) {
        self.feeds_ended.add([reason]);
    }

    /// A batch of this many calls was committed, which took so long.
    pub fn batch(&self, calls: usize, took: Duration) {
        self.batches.note(u32::try_from(calls).map_or(f64::INFINITY, f64::from));
        self.commits.note(took.as_secs_f64());
    }

    /// All of it in Prometheus's text format, version 0.0.4, with what is asked for on the spot: open feeds, and
    /// the bytes of the database and of its log.
    fn text(&self, feeds_open: usize, sizes: [u64; 2]) -> String {
        let mut page = Page(String::new());
        page.head("prickle_build_info", "gauge", "The program that runs the room.");
        page.line("prickle_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1);
        page.one(
            "prickle_uptime_seconds",
            "gauge",
            "Since the room opened.",
            self.opened.elapsed().as_secs(),
        );
        page.counts("prickle_calls_total", "Calls to the tools, by what they came to.", &self.calls);
        page.one("prickle_events_total", "counter", "Pulses that were stored.", self.events.get());
        page.one("prickle_feeds_open", "gauge", "Feeds that are open.", feeds_open as u64);
        page.counts("prickle_feeds_ended_total", "Feeds that have ended, by why.", &self.feeds_ended);
        page.one(
            "prickle_frames_sent_total",
            "counter",
            "Frames that were sent to feeds.",
            self.frames.get(),
        );
        let lags = "Times that a watcher was too slow and got a new picture.";
        page.one("prickle_feed_lags_total", "counter", lags, self.lags.get());
        page.counts("prickle_requests_total", "Requests, by route and class of status.", &self.requests);
        page.counts("prickle_limited_total", "Requests and connections that a limit refused.", &self.refused);
        let look_ups = "Keys and rooms that memory did not know and the database was asked for.";
        page.one("prickle_look_ups_total", "counter", look_ups, self.look_ups.get());
        page.histogram("prickle_batch_calls", "Calls that were committed together.", &self.batches);
        page.histogram("prickle_commit_seconds", "How long a commit took.", &self.commits);
        page.one("prickle_database_bytes", "gauge", "Size of the database file.", sizes[0]);
        page.one("prickle_wal_bytes", "gauge", "Size of the database's write-ahead log.", sizes[1]);
        page.0
    }
}

/// The middleware that counts a request once it is answered.
pub(super) async fn each_request(State(room): State<Room>, request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().cloned();
    let response = next.run(request).await;
    room.metrics().request(route.as_ref().map(MatchedPath::as_str), response.status().as_u16());
    response
}

/// `GET /metrics`.
pub(super) async fn page(State(room): State<Room>) -> Response {
    let text = room.metrics().text(room.limits.open_feeds(), room.store.sizes().await);
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}

/// One number.
#[derive(Debug, Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    pub fn add(&self, more: usize) {
        self.0.fetch_add(more as u64, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Numbers by the values of their labels.
#[derive(Debug)]
struct Counts<const N: usize> {
    labels: [&'static str; N],
    by: Mutex<BTreeMap<[&'static str; N], u64>>,
}

impl<const N: usize> Counts<N> {
    /// `known`: values that are shown before the first count, so that the first is seen as a change.
    fn of(labels: [&'static str; N], known: impl IntoIterator<Item = [&'static str; N]>) -> Self {
        let by = known.into_iter().map(|values| (values, 0)).collect();
        Self { labels, by: Mutex::new(by) }
    }

    fn add(&self, values: [&'static str; N]) {
        *lock(&self.by).entry(values).or_default() += 1;
    }
}

/// How often a number was how large.
#[derive(Debug)]
struct Histogram {
    bounds: &'static [f64],
    seen: Mutex<Seen>,
}

#[derive(Debug)]
struct Seen {
    /// One more than there are bounds: what is beyond them all.
    counts: Vec<u64>,
    sum: f64,
}

impl Histogram {
    fn of(bounds: &'static [f64]) -> Self {
        Self { bounds, seen: Mutex::new(Seen { counts: vec![0; bounds.len() + 1], sum: 0.0 }) }
    }

    fn note(&self, value: f64) {
        let mut seen = lock(&self.seen);
        let place = self.bounds.partition_point(|bound| *bound < value);
        if let Some(count) = seen.counts.get_mut(place) {
            *count += 1;
        }
        seen.sum += value;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is written so far. Writing to a `String` can't fail; names, helps and labels hold nothing to escape.
struct Page(String);

impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn line(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        let labels: Vec<String> = labels.iter().map(|(name, value)| format!("{name}=\"{value}\"")).collect();
        let _ = match labels.join(",") {
            none if none.is_empty() => writeln!(self.0, "{name} {value}"),
            some => writeln!(self.0, "{name}{{{some}}} {value}"),
        };
    }

    fn one(&mut self, name: &str, kind: &str, help: &str, value: u64) {
        self.head(name, kind, help);
        self.line(name, &[], value);
    }

    fn counts<const N: usize>(&mut self, name: &str, help: &str, counts: &Counts<N>) {
        self.head(name, "counter", help);
        for (values, count) in &*lock(&counts.by) {
            let labels: Vec<_> = counts.labels.into_iter().zip(*values).collect();
            self.line(name, &labels, count);
        }
    }

    fn histogram(&mut self, name: &str, help: &str, histogram: &Histogram) {
        self.head(name, "histogram", help);
        let seen = lock(&histogram.seen);
        let bucket = format!("{name}_bucket");
        let mut upto = 0;
        let bounds = histogram.bounds.iter().map(ToString::to_string).chain(["+Inf".to_owned()]);
        for (bound, count) in bounds.zip(&seen.counts) {
            upto += count;
            self.line(&bucket, &[("le", &bound)], upto);
        }
        self.line(&format!("{name}_sum"), &[], seen.sum);
        self.line(&format!("{name}_count"), &[], upto);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Refusal;

    #[test]
    fn a_page_says_what_was_counted() {
        let metrics = Metrics::default();
        metrics.call("update_pulse", &Ok(()));
        metrics.call("update_pulse", &Ok(()));
        metrics.call::<()>("report_run", &Err(CallError::Refused(Refusal { faults: Vec::new() })));
        metrics.call::<()>("report_run", &Err(CallError::Storage(String::new())));
        metrics.request(Some("/v1/projects/{project}/feed"), 101);
        metrics.request(Some("/v1/projects/secret/feed"), 404);
        metrics.request(None, 404);
        metrics.refused("calls");
        metrics.feed_ended("left");
        metrics.frames.add(7);
        for (calls, ms) in [(1, 1), (3, 2), (512, 30), (600, 6000)] {
            metrics.batch(calls, Duration::from_millis(ms));
        }
        let text = metrics.text(2, [4096, 0]);
        for line in [
            "prickle_calls_total{tool=\"update_pulse\",outcome=\"ok\"} 2",
            "prickle_calls_total{tool=\"update_pulse\",outcome=\"refused\"} 0",
            "prickle_calls_total{tool=\"report_run\",outcome=\"refused\"} 1",
            "prickle_calls_total{tool=\"report_run\",outcome=\"storage\"} 1",
            "prickle_requests_total{route=\"/v1/projects/{project}/feed\",status=\"1xx\"} 1",
            "prickle_requests_total{route=\"other\",status=\"4xx\"} 2",
            "prickle_limited_total{limit=\"calls\"} 1",
            "prickle_limited_total{limit=\"feeds\"} 0",
            "prickle_feeds_ended_total{reason=\"left\"} 1",
            "prickle_feeds_open 2",
            "prickle_frames_sent_total 7",
            "prickle_batch_calls_bucket{le=\"1\"} 1",
            "prickle_batch_calls_bucket{le=\"2\"} 1",
            "prickle_batch_calls_bucket{le=\"4\"} 2",
            "prickle_batch_calls_bucket{le=\"512\"} 3",
            "prickle_batch_calls_bucket{le=\"+Inf\"} 4",
            "prickle_batch_calls_sum 1116",
            "prickle_batch_calls_count 4",
            "prickle_commit_seconds_bucket{le=\"0.001\"} 1",
            "prickle_commit_seconds_bucket{le=\"0.0025\"} 2",
            "prickle_commit_seconds_bucket{le=\"5\"} 3",
            "prickle_database_bytes 4096",
            "prickle_wal_bytes 0",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} in {text}");
        }
        assert!(!text.contains("secret"));
    }
}
