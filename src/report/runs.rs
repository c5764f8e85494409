//! Run records on paper: as a table, as JSON and as CSV. Records come from the room a page at a time and are written as
//! they come, so that a million of them take no more memory than a thousand.

pub mod sheet;
pub mod table;

use std::io;
use std::time::Duration;

use serde::Serialize;
use tokio::io::{AsyncWrite, AsyncWriteExt};

use crate::client::CallError;
use crate::client::http::Http;
use crate::shown;
use crate::wire::query::{By, PAGE_MAX, RunQuery};
use crate::wire::run::{AgentRun, RunPage};
use crate::wire::sums::RunSummary;

/// How often one page is asked for while the room has no time for it.
const TRIES: u32 = 10;
/// The longest that is waited between two of these; the room may ask for less.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// How rows are written for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// One document, `{"by":…,"rows":[…]}`, each row on a line of its own, with the room's own names.
    Json,
    /// RFC 4180, the first line the names. What is not known is an empty cell.
    Csv {
        /// Whether a terminal shows it: then other people's texts are made safe, else they are whole.
        shown: bool,
    },
}

/// Why not all records were written.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    /// The room stopped answering.
    #[error("{error}")]
    Room {
        /// How many records had been written by then.
        after: u64,
        /// What it said.
        error: CallError,
    },
    /// They could not be written.
    #[error("can't write the records")]
    Write(#[from] io::Error),
}

/// How records are written.
#[derive(Debug)]
pub enum Sink {
    /// For programs.
    Form(Form),
    /// For people.
    Table(table::Frame),
}

/// Writes the records that `query` asks for, in its order; its `limit` may be any number, and none is all of them. They
/// are written page by page as the room hands them over, and `told` hears after each page how many there are by then. A
/// room that asks to slow down is waited for. Gives how many were written.
///
/// Of JSON, what was written before an error is no whole document.
pub async fn records(
    http: &Http,
    query: &RunQuery,
    sink: Sink,
    out: &mut (impl AsyncWrite + Unpin),
    mut told: impl FnMut(u64),
) -> Result<u64, Broken> {
    let mut writer = match sink {
        Sink::Form(Form::Json) => Writer::Json(Document::new("run", None)),
        Sink::Form(Form::Csv { shown }) => Writer::Csv { begun: false, shown },
        Sink::Table(frame) => Writer::Table(table::Records::new(frame)),
    };
    let mut query = query.clone();
    let mut left = query.limit;
    let mut written = 0;
    loop {
        query.limit = Some(left.map_or(PAGE_MAX, |left| left.min(PAGE_MAX)));
        let page = page(http, &query).await.map_err(|error| Broken::Room { after: written, error })?;
        out.write_all(&writer.page(&page.runs)?).await?;
        written += page.runs.len() as u64;
        left = left.map(|left| left.saturating_sub(u32::try_from(page.runs.len()).unwrap_or(u32::MAX)));
        let on = left != Some(0) && !page.runs.is_empty();
        query.cursor = page.next_cursor.filter(|_| on);
        if query.cursor.is_none() {
            out.write_all(&writer.end()).await?;
        }
        out.flush().await?;
        told(written);
        if query.cursor.is_none() {
            return Ok(written);
        }
    }
}

/// One page. A room that has no time is asked again when it has.
pub async fn page(http: &Http, query: &RunQuery) -> Result<RunPage, CallError> {
    let mut tries = 1;
    loop {
        match http.runs(query).await {
            Err(CallError::Busy { wait: Some(wait), .. }) if tries < TRIES => {
                tokio::time::sleep(wait.min(WAIT_MAX)).await;
                tries += 1;
            }
            answer => return answer,
        }
    }
}

/// Writes what the groups of a summary come to, as many as it has.
pub async fn groups(
    summary: &RunSummary,
    by: By,
    form: Form,
    out: &mut (impl AsyncWrite + Unpin),
) -> io::Result<()> {
    let bytes = match form {
        Form::Json => {
            let mut document = Document::new(by.as_str(), summary.tz.clone());
            let mut text = document.rows(&summary.rows)?;
            text.push_str(document.end());
            text.into_bytes()
        }
        Form::Csv { shown } => sheet::groups(&summary.rows, by, shown)?,
    };
    out.write_all(&bytes).await?;
    out.flush().await
}

/// What makes the bytes of records, page by page.
enum Writer {
    Json(Document),
    Csv { begun: bool, shown: bool },
    Table(table::Records),
}

impl Writer {
    /// The next records; the first time also what stands before them.
    fn page(&mut self, runs: &[AgentRun]) -> io::Result<Vec<u8>> {
        match self {
            Self::Json(document) => document.rows(runs).map(String::into_bytes),
            Self::Csv { begun, shown } => sheet::records(runs, !std::mem::replace(begun, true), *shown),
            Self::Table(table) => Ok(table.page(runs).into_bytes()),
        }
    }

    /// What stands behind the last.
    fn end(&self) -> Vec<u8> {
        match self {
            Self::Json(document) => document.end().into(),
            Self::Csv { .. } => Vec::new(),
            Self::Table(table) => table.end().into_bytes(),
        }
    }
}

/// A JSON document while it is being written.
struct Document {
    by: &'static str,
    tz: Option<String>,
    begun: bool,
    rows: bool,
}

impl Document {
    fn new(by: &'static str, tz: Option<String>) -> Self {
        Self { by, tz, begun: false, rows: false }
    }

    /// The next rows; the first time also what stands before them.
    fn rows(&mut self, rows: &[impl Serialize]) -> io::Result<String> {
        let mut text = String::new();
        if !std::mem::replace(&mut self.begun, true) {
            text = format!("{{\"by\":\"{}\",", self.by);
            if let Some(tz) = &self.tz {
                text.push_str(&format!("\"tz\":{},", shown::json(&serde_json::to_string(tz)?)));
            }
            text.push_str("\"rows\":[");
        }
        for row in rows {
            text.push_str(if std::mem::replace(&mut self.rows, true) { ",\n" } else { "\n" });
            text.push_str(&shown::json(&serde_json::to_string(row)?));
        }
        Ok(text)
    }

    /// What stands behind the last.
    fn end(&self) -> &'static str {
        if self.rows { "\n]}\n" } else { "]}\n" }
    }
}
