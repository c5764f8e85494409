//! A plain HTTP client of a room: calls its tools as JSON-RPC written out by hand, reads its pages.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

/// The handshake era that most clients speak.
pub const OLD_ERA: &str = "2025-06-18";
/// The era without a handshake.
pub const NEW_ERA: &str = "2026-07-28";

/// Where a room is, and a connection pool of one's own.
#[derive(Debug, Clone)]
pub struct Caller {
    pub url: String,
    http: reqwest::Client,
}

/// What a tool call came to.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The structured result.
    Done(Value),
    /// The text of a result with `isError`.
    Refused(String),
    /// A JSON-RPC error: code and message.
    Protocol(i64, String),
    /// Another status than 200, and the body.
    Http(u16, String),
    /// No answer: the connection broke.
    Broken(String),
}

impl Answer {
    #[track_caller]
    pub fn done(self) -> Value {
        match self {
            Self::Done(value) => value,
            other => panic!("a result was expected, not {other:?}"),
        }
    }

    #[track_caller]
    pub fn refused(self) -> String {
        match self {
            Self::Refused(text) => text,
            other => panic!("a refusal was expected, not {other:?}"),
        }
    }
}

impl Caller {
    pub fn new(url: &str) -> Self {
        let http = reqwest::Client::builder().no_proxy().timeout(super::PATIENCE).build().unwrap();
        Self { url: url.to_owned(), http }
    }

    /// A request on `path`, to be added to.
    pub fn request(&self, method: reqwest::Method, token: &str, path: &str) -> reqwest::RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.url));
        if token.is_empty() { request } else { request.bearer_auth(token) }
    }

    /// Status and body of a page; a body that is no JSON comes as a string.
    pub async fn get(&self, token: &str, path: &str) -> (u16, Value) {
        let answer = self.request(reqwest::Method::GET, token, path).send().await.unwrap();
        let status = answer.status().as_u16();
        let text = answer.text().await.unwrap();
        (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    /// A POST to `/mcp` that holds `body`, with the headers of the old era.
    pub fn post(&self, token: &str, body: impl Into<reqwest::Body>) -> reqwest::RequestBuilder {
        self.request(reqwest::Method::POST, token, "/mcp")
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream")
            .header("MCP-Protocol-Version", OLD_ERA)
            .body(body)
    }

    /// The JSON-RPC answer to a request in the old era.
    pub async fn rpc(&self, token: &str, method: &str, params: Value) -> Value {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let answer = self.post(token, body.to_string()).send().await.unwrap();
        assert_eq!(answer.status(), 200, "{method}");
        answer.json().await.unwrap()
    }

    /// The JSON-RPC answer to a request of the new era, which carries all it needs by itself.
    pub async fn rpc_new(&self, token: &str, method: &str, mut params: Value) -> Value {
        let name = params["name"].as_str().map(str::to_owned);
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": NEW_ERA,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        });
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let mut request = self
            .request(reqwest::Method::POST, token, "/mcp")
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream")
            .header("MCP-Protocol-Version", NEW_ERA)
            .header("Mcp-Method", method)
            .body(body.to_string());
        if let Some(name) = name {
            request = request.header("Mcp-Name", name);
        }
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 200, "{method}");
        answer.json().await.unwrap()
    }

    /// Calls a tool. Whatever comes back is held against the contract before it is returned.
    pub async fn call(&self, token: &str, tool: &str, arguments: Value) -> Answer {
        let params = json!({"name": tool, "arguments": arguments});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let answer = match self.post(token, body.to_string()).send().await {
            Ok(answer) => answer,
            Err(error) => return Answer::Broken(error.to_string()),
        };
        let status = answer.status().as_u16();
        match answer.text().await {
            Err(error) => Answer::Broken(error.to_string()),
            Ok(text) if status != 200 => Answer::Http(status, text),
            Ok(text) => judge(tool, &serde_json::from_str(&text).unwrap()),
        }
    }

    /// [`Caller::call`] to `update_pulse`; must succeed. Returns the pulse.
    pub async fn pulse(&self, token: &str, arguments: Value) -> Value {
        self.call(token, "update_pulse", arguments).await.done()["pulse"].take()
    }

    /// [`Caller::call`] to `report_run`; must succeed. Returns the record.
    pub async fn run(&self, token: &str, arguments: Value) -> Value {
        self.call(token, "report_run", arguments).await.done()["run"].take()
    }
}

/// A tool's answer, after everything that must hold for every answer has been checked.
pub fn judge(tool: &str, answer: &Value) -> Answer {
    if let Some(error) = answer.get("error") {
        return Answer::Protocol(
            error["code"].as_i64().unwrap(),
            error["message"].as_str().unwrap().to_owned(),
        );
    }
    let result = &answer["result"];
    let text = result["content"][0]["text"].as_str().expect("every result has a text");
    if result["isError"] == true {
        assert!(result.get("structuredContent").is_none(), "{result}");
        assert!(!text.is_empty());
        return Answer::Refused(text.to_owned());
    }
    let structured = &result["structuredContent"];
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), *structured, "the text says the same");
    OUTPUTS.check(tool, structured);
    Answer::Done(structured.clone())
}

/// The contract's output schemas.
struct Outputs {
    update_pulse: jsonschema::Validator,
    report_run: jsonschema::Validator,
}

static OUTPUTS: LazyLock<Outputs> = LazyLock::new(|| {
    let read = |text| {
        let schema = serde_json::from_str(text).unwrap();
        jsonschema::options().should_validate_formats(true).build(&schema).unwrap()
    };
    Outputs {
        update_pulse: read(prickle::wire::schema::UPDATE_PULSE_OUTPUT),
        report_run: read(prickle::wire::schema::REPORT_RUN_OUTPUT),
    }
});

impl Outputs {
    fn check(&self, tool: &str, structured: &Value) {
        let validator = match tool {
            "update_pulse" => &self.update_pulse,
            "report_run" => &self.report_run,
            other => panic!("no tool {other}"),
        };
        let faults: Vec<String> =
            validator.iter_errors(structured).map(|e| format!("{}: {e}", e.instance_path())).collect();
        assert!(faults.is_empty(), "{tool} returned what its schema forbids: {faults:?} in {structured}");
    }
}

/// A run's report in which every number is known, to be varied.
pub fn run_report(run_id: &str) -> Value {
    json!({"project": "website-v2", "run_id": run_id, "task_id": "t-1", "input_tokens": 1200,
        "output_tokens": 340, "turns": 3, "duration_ms": 91000, "exit_code": 0})
}

/// `base` with the members of `more` set.
pub fn with(base: &Value, more: Value) -> Value {
    let mut merged = base.as_object().unwrap().clone();
    let Value::Object(more) = more else { panic!("members are wanted") };
    merged.extend(more);
    Value::Object(merged)
}

/// `base` without the member `name`.
pub fn without(base: &Value, name: &str) -> Value {
    let members: Map<String, Value> = base
        .as_object()
        .unwrap()
        .iter()
        .filter(|(n, _)| *n != name)
        .map(|(n, v)| (n.clone(), v.clone()))
        .collect();
    Value::Object(members)
}
