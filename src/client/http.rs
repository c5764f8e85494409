//! The questions that are asked of a room once: who am I, which rooms, the picture, the runs.

use std::time::Duration;

use reqwest::header::{AUTHORIZATION, RETRY_AFTER};
use reqwest::redirect::Policy;
use rustls::ClientConfig;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::words::{self, Trouble};
use super::{Access, CallError, tls};
use crate::wire::agent::Agents;
use crate::wire::feed::Snapshot;
use crate::wire::id::{AgentId, RunId, Slug};
use crate::wire::query::{By, RunQuery};
use crate::wire::run::{AgentRun, RunPage};
use crate::wire::sums::RunSummary;

/// How prickle names itself to a server.
pub(super) const AGENT: &str = concat!("prickle/", env!("CARGO_PKG_VERSION"));

/// The largest answer that is read. A picture of ten thousand agents takes about 20 MB.
const ANSWER_MAX: usize = 64 * 1024 * 1024;

/// Longest wait that a room which asks to slow down is waited for; then it is asked once more.
pub(super) const WAIT_MAX: Duration = Duration::from_secs(5);

/// Whose key this is: `GET /v1/me`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Me {
    /// What the key may do, as `prickle key create --kind` names it.
    pub kind: String,
    /// The person or team behind it.
    pub owner: String,
    /// The agent that it speaks for; a person's key speaks for none.
    pub agent_id: Option<AgentId>,
    /// The rooms that it was made for; `None`: all.
    pub projects: Option<Vec<String>>,
    /// The task of a woken run.
    #[serde(default)]
    pub task_id: Option<String>,
}

/// Asks one server with one key.
#[derive(Debug, Clone)]
pub struct Http {
    client: reqwest::Client,
    access: Access,
    patience: Duration,
}

impl Http {
    /// A client that waits `patience` for each whole answer.
    pub fn new(access: &Access, patience: Duration) -> Result<Self, CallError> {
        let client = client(access, patience)?;
        Ok(Self { client, access: access.clone(), patience })
    }

    /// Whose key this is.
    pub async fn me(&self) -> Result<Me, CallError> {
        self.read("/v1/me", None).await
    }

    /// The rooms that the key may see.
    pub async fn projects(&self) -> Result<Vec<String>, CallError> {
        #[derive(Deserialize)]
        struct Projects {
            projects: Vec<String>,
        }
        Ok(self.read::<Projects>("/v1/projects", None).await?.projects)
    }

    /// The room as it is now.
    pub async fn snapshot(&self, project: &Slug) -> Result<Snapshot, CallError> {
        parse(&self.snapshot_text(project).await?)
    }

    /// The room as it is now, as the server wrote it; it can be read as a [`Snapshot`].
    pub async fn snapshot_text(&self, project: &Slug) -> Result<String, CallError> {
        let path = format!("/v1/projects/{project}/pulse");
        let text = match self.ask(&path, &[]).await? {
            Answer::Text(text) => text,
            Answer::Other(404, ..) => return Err(self.missing(project).await.into()),
            Answer::Other(status, body, wait) => {
                return Err(words::refused(status, &body, &self.access, Some(project.as_str()), wait));
            }
        };
        parse::<Snapshot>(&text)?;
        Ok(text)
    }

    /// A page of the owner's run records; the next one begins at its `next_cursor`.
    pub async fn runs(&self, query: &RunQuery) -> Result<RunPage, CallError> {
        self.read_runs("/v1/runs", query.pairs(), query).await
    }

    /// What the owner's run records come to; `tz` cuts the days.
    pub async fn run_summary(&self, by: By, tz: &str, query: &RunQuery) -> Result<RunSummary, CallError> {
        let mut pairs = query.pairs();
        pairs.push(("by", by.as_str().to_owned()));
        if by == By::Day {
            pairs.push(("tz", tz.to_owned()));
        }
        self.read_runs("/v1/runs/summary", pairs, query).await
    }

    /// One of the owner's run records.
    pub async fn run(&self, run: &RunId) -> Result<AgentRun, CallError> {
        self.read(&format!("/v1/runs/{run}"), None).await
    }

    /// How far the owner's agents have come in a room; only a person's key is told.
    pub async fn agents(&self, project: &Slug) -> Result<Agents, CallError> {
        self.read_with("/v1/agents", &[("project", project.as_str())], Some(project.as_str())).await
    }

    /// Why the room answers that there is no `project`, with the rooms that the key does see.
    pub(super) async fn missing(&self, project: &Slug) -> Trouble {
        let host = self.access.server.host();
        match self.projects().await {
            Ok(seen) if seen.iter().any(|slug| slug == project.as_str()) => {
                Trouble::Lost(format!("the room lists {project} and does not show it"))
            }
            Ok(seen) if seen.is_empty() => Trouble::Refused(format!(
                "this key sees no {project} and no other room at {host}; {}",
                words::new_key(&self.access, project.as_str(), words::PERSON)
            )),
            Ok(seen) => Trouble::Refused(format!(
                "this key sees no {project} at {host}; it sees {}",
                words::safe(&seen.join(", "), 200)
            )),
            Err(CallError::Unauthorized(why)) => Trouble::Key(why),
            Err(CallError::Unreachable(why) | CallError::Untrusted(why) | CallError::Busy { why, .. }) => {
                Trouble::Lost(why)
            }
            Err(CallError::Refused(_)) => words::status(404, &[], &self.access, None),
        }
    }

    /// A room that the key may not see is told like one that is not there, and so is a room without records.
    async fn read_runs<T: DeserializeOwned>(
        &self,
        path: &str,
        pairs: Vec<(&'static str, String)>,
        query: &RunQuery,
    ) -> Result<T, CallError> {
        match (self.ask(path, &borrowed(&pairs)).await?, &query.project) {
            (Answer::Text(text), _) => parse(&text),
            (Answer::Other(404, ..), Some(project)) => Err(self.missing(project).await.into()),
            (Answer::Other(status, body, wait), _) => {
                Err(words::refused(status, &body, &self.access, None, wait))
            }
        }
    }

    async fn read<T: DeserializeOwned>(&self, path: &str, of: Option<&str>) -> Result<T, CallError> {
        self.read_with(path, &[], of).await
    }

    async fn read_with<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &[(&str, &str)],
        of: Option<&str>,
    ) -> Result<T, CallError> {
        match self.ask(path, query).await? {
            Answer::Text(text) => parse(&text),
            Answer::Other(status, body, wait) => Err(words::refused(status, &body, &self.access, of, wait)),
        }
    }

    /// Asks, and once more where the room soon has time.
    async fn ask(&self, path: &str, query: &[(&str, &str)]) -> Result<Answer, CallError> {
        match self.ask_once(path, query).await? {
            Answer::Other(429, _, Some(wait)) if wait <= WAIT_MAX => {
                tokio::time::sleep(wait).await;
                self.ask_once(path, query).await
            }
            answer => Ok(answer),
        }
    }

    async fn ask_once(&self, path: &str, query: &[(&str, &str)]) -> Result<Answer, CallError> {
        let lost = |error: &reqwest::Error| words::request(error, &self.access, self.patience);
        let request = self.client.get(self.access.server.url(path)).query(query);
        let request = request.header(AUTHORIZATION, self.access.token.header());
        let mut response = request.send().await.map_err(|e| lost(&e))?;
        let status = response.status();
        let wait = response.headers().get(RETRY_AFTER);
        let wait = wait.and_then(|value| words::retry_after(value.to_str().ok()?));
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|e| lost(&e))? {
            body.extend_from_slice(&chunk);
            if body.len() > ANSWER_MAX {
                let host = self.access.server.host();
                return Err(CallError::Unreachable(format!("{host}: the answer is too long to be a room's")));
            }
        }
        if !status.is_success() {
            return Ok(Answer::Other(status.as_u16(), body, wait));
        }
        String::from_utf8(body).map(Answer::Text).map_err(|_| no_room())
    }
}

enum Answer {
    Text(String),
    /// Status, body, and how long the room asks to wait.
    Other(u16, Vec<u8>, Option<Duration>),
}

/// An HTTP client that never carries a key elsewhere: it follows no redirect and uses no proxy, because a
/// proxy would read what goes over plain HTTP to this machine.
pub(super) fn client(access: &Access, patience: Duration) -> Result<reqwest::Client, CallError> {
    let failed = CallError::Unreachable;
    let tls = if access.server.is_encrypted() {
        let none = |why: String| CallError::Untrusted(words::untrusted(access, &why));
        ClientConfig::clone(&*access.trust.config().map_err(none)?)
    } else {
        tls::nobody().map_err(|_| failed("this machine can't encrypt".into()))?
    };
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(Policy::none())
        .no_proxy()
        .timeout(patience)
        .user_agent(AGENT)
        .build()
        .map_err(|_| failed("this machine makes no connections".into()))
}

fn borrowed<'a>(pairs: &'a [(&'static str, String)]) -> Vec<(&'a str, &'a str)> {
    pairs.iter().map(|(name, value)| (*name, value.as_str())).collect()
}

fn parse<T: DeserializeOwned>(text: &str) -> Result<T, CallError> {
    serde_json::from_str(text).map_err(|_| no_room())
}

fn no_room() -> CallError {
    CallError::Unreachable("what answers there is no prickle room".into())
}

impl From<Trouble> for CallError {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Lost(why) => Self::Unreachable(why),
            Trouble::Key(why) => Self::Unauthorized(why),
            Trouble::Refused(why) => Self::Refused(why),
        }
    }
}
