//! A room whose every answer is written in the test: real sockets, scripted words.
#![allow(dead_code, clippy::unwrap_used, clippy::missing_panics_doc)]

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// What no text that a person sees may hold.
pub const SECRET: &str = "prk_SecretSecretSecretSecretSecretSecretSecr";

/// Nothing in these tests takes longer than this, unless it fails.
pub const DEADLINE: Duration = Duration::from_secs(10);

type Answer = Arc<dyn Fn(&Seen) -> Option<Response> + Send + Sync>;

/// A request as the room saw it.
#[derive(Debug, Clone)]
pub struct Seen {
    pub method: String,
    pub path: String,
    pub query: String,
    pub authorization: String,
    pub body: String,
}

/// A watcher at the door, let in.
pub struct Visit {
    pub seen: Seen,
    socket: WebSocket,
}

impl Visit {
    /// The number that the watcher wants to resume after.
    pub fn after(&self) -> Option<&str> {
        self.seen.query.strip_prefix("after=")
    }

    pub async fn say(&mut self, frame: Value) {
        self.text(frame.to_string()).await;
    }

    pub async fn text(&mut self, text: impl Into<String>) {
        self.message(Message::Text(text.into().into())).await;
    }

    pub async fn message(&mut self, message: Message) {
        self.socket.send(message).await.unwrap();
    }

    pub async fn close(mut self, code: u16, reason: &str) {
        let frame = CloseFrame { code, reason: reason.into() };
        self.message(Message::Close(Some(frame))).await;
        while let Some(Ok(_)) = self.socket.recv().await {}
    }

    /// The next message of the watcher, however long it takes; `None` when it has gone.
    pub async fn next(&mut self) -> Option<Message> {
        self.socket.recv().await.and_then(Result::ok)
    }

    /// The next message of the watcher, which must not take long; `None` when it has gone.
    pub async fn hear(&mut self) -> Option<Message> {
        let heard = tokio::time::timeout(DEADLINE, self.next()).await;
        heard.expect("the watcher says nothing and does not go")
    }
}

#[derive(Clone)]
struct Shared {
    seen: Arc<Mutex<Vec<Seen>>>,
    answer: Arc<Mutex<Option<Answer>>>,
    visits: mpsc::UnboundedSender<Visit>,
}

/// The room. Dropping it closes its port and cuts every connection off.
pub struct FakeRoom {
    pub address: SocketAddr,
    visits: mpsc::UnboundedReceiver<Visit>,
    shared: Shared,
    task: JoinHandle<()>,
}

impl FakeRoom {
    pub async fn open() -> Self {
        Self::at("127.0.0.1:0".parse().unwrap()).await
    }

    pub async fn at(address: SocketAddr) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, visits) = mpsc::unbounded_channel();
        let shared = Shared { seen: Arc::default(), answer: Arc::default(), visits: sender };
        let router = Router::new().fallback(door).with_state(shared.clone());
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, visits, shared, task }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Answers from now on; a request that gets `None` is let in.
    pub fn answer(&self, answer: impl Fn(&Seen) -> Option<Response> + Send + Sync + 'static) {
        *self.shared.answer.lock().unwrap() = Some(Arc::new(answer));
    }

    /// Answers the feed with this, and everything else with 404.
    pub fn refuse(&self, status: u16, body: &str) {
        let body = body.to_owned();
        self.answer(move |seen| Some(answer(if seen.path.ends_with("/feed") { status } else { 404 }, &body)));
    }

    /// The next watcher that comes.
    pub async fn visit(&mut self) -> Visit {
        let visit = tokio::time::timeout(DEADLINE, self.visits.recv()).await;
        visit.expect("no watcher comes").unwrap()
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().unwrap().clone()
    }
}

impl Drop for FakeRoom {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn door(State(shared): State<Shared>, request: Request) -> Response {
    use axum::extract::FromRequestParts;
    let (mut parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    let header = |name: &str| parts.headers.get(name).map(|v| v.to_str().unwrap().to_owned());
    let seen = Seen {
        method: parts.method.to_string(),
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        authorization: header("authorization").unwrap_or_default(),
        body: String::from_utf8(body.to_vec()).unwrap(),
    };
    shared.seen.lock().unwrap().push(seen.clone());
    let script = shared.answer.lock().unwrap().clone();
    if let Some(response) = script.and_then(|script| script(&seen)) {
        return response;
    }
    match WebSocketUpgrade::from_request_parts(&mut parts, &()).await {
        Ok(upgrade) => upgrade.on_upgrade(move |socket| async move {
            let _ = shared.visits.send(Visit { seen, socket });
        }),
        Err(no) => no.into_response(),
    }
}

pub fn answer(status: u16, body: &str) -> Response {
    let kind = if body.starts_with('{') { "application/problem+json" } else { "text/plain" };
    Response::builder().status(status).header("content-type", kind).body(body.to_owned().into()).unwrap()
}

pub fn hello(epoch: &str, seq: u64, resumed: bool) -> Value {
    json!({"type": "hello", "epoch": epoch, "seq": seq, "server_time": "2026-11-30T14:32:00Z", "resumed": resumed})
}

pub fn pulse(agent: &str, doing: &str) -> Value {
    json!({"agent_id": agent, "owner": agent.split('/').next(), "project": "website-v2",
           "availability": "working", "doing": doing, "task_id": null, "branch": null, "files": [],
           "last_decision": null, "updated_at": "2026-11-30T14:32:00Z"})
}

pub fn snapshot(seq: u64, pulses: &[Value], part: u32, last: bool) -> Value {
    json!({"type": "snapshot", "seq": seq, "pulses": pulses, "part": part, "last": last})
}

pub fn event(seq: u64) -> Value {
    json!({"type": "pulse", "seq": seq, "at": "2026-11-30T14:32:00Z",
           "pulse": pulse("acme/builder", &format!("step {seq}"))})
}
