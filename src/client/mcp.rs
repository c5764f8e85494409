//! One tool call, made as an agent makes it: over MCP, in the newest protocol that the room speaks.

use std::error::Error;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, Implementation, ProtocolVersion,
};
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt, ServiceError};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::{StreamableHttpClientTransportConfig, StreamableHttpError};
use serde_json::{Map, Value};

use super::words::{self, Trouble};
use super::{Access, CallError, http};

/// Longest refusal that is shown, in characters: every field at fault has its sentence.
const REFUSAL_MAX: usize = 4000;

/// Calls `tool` with `arguments` and gives its structured result. Waits `patience` for all of it, and once more after a
/// room that soon has time said when.
///
/// A result that says it is an error is [`CallError::Refused`] with the room's text.
pub async fn call(
    access: &Access,
    tool: &str,
    arguments: Map<String, Value>,
    patience: Duration,
) -> Result<Value, CallError> {
    let late = |_| CallError::Unreachable(format!("no answer for {}", words::length(patience)));
    let converse = async || {
        let conversation = converse(access, tool, arguments.clone(), patience);
        tokio::time::timeout(patience, conversation).await.map_err(late)?
    };
    let result = match converse().await {
        // It refused before it did anything.
        Err(CallError::Busy { wait: Some(wait), .. }) if wait <= http::WAIT_MAX => {
            tokio::time::sleep(wait).await;
            converse().await?
        }
        result => result?,
    };
    let text = || {
        let texts: Vec<&str> =
            result.content.iter().filter_map(|block| Some(block.as_text()?.text.as_str())).collect();
        texts.join(" ")
    };
    if result.is_error == Some(true) {
        return Err(CallError::Refused(words::safe(&text(), REFUSAL_MAX)));
    }
    match result.structured_content {
        Some(value) => Ok(value),
        // Before structured results a room wrote the same as text.
        None => serde_json::from_str(&text()).map_err(|_| strange()),
    }
}

async fn converse(
    access: &Access,
    tool: &str,
    arguments: Map<String, Value>,
    patience: Duration,
) -> Result<CallToolResult, CallError> {
    let project = arguments.get("project").and_then(Value::as_str).unwrap_or("PROJECT").to_owned();
    let project = project.as_str();
    let mut config = StreamableHttpClientTransportConfig::with_uri(access.server.url("/mcp"));
    config = config.auth_header(access.token.secret());
    let transport = StreamableHttpClientTransport::with_client(http::client(access, patience)?, config);
    let me = Implementation::new("prickle", env!("CARGO_PKG_VERSION"));
    let lifecycle = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::V_2025_11_25),
    };
    let service = ClientConfig::new(ClientCapabilities::default(), me)
        .serve_with_lifecycle(transport, lifecycle)
        .await
        .map_err(|error| greeting(error, access, project, patience))?;
    let request = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
    let answer = service.call_tool(request).await.map_err(|error| calling(&error, access, project, patience));
    let _ = service.cancel().await;
    answer
}

/// Why no conversation began.
fn greeting(error: ClientInitializeError, access: &Access, project: &str, patience: Duration) -> CallError {
    match error {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => {
            greeting(*fallback, access, project, patience)
        }
        ClientInitializeError::TransportError { error, .. } => {
            transport(error.error.as_ref(), access, project, patience)
        }
        ClientInitializeError::JsonRpcError(error) => refusal(&error.message, access),
        ClientInitializeError::NoCompatibleProtocolVersion { .. } => {
            CallError::Unreachable("the room speaks no version of MCP that this prickle knows".into())
        }
        _ => strange(),
    }
}

/// Why the call failed.
fn calling(error: &ServiceError, access: &Access, project: &str, patience: Duration) -> CallError {
    match error {
        ServiceError::McpError(error) => refusal(&error.message, access),
        ServiceError::TransportSend(error) => transport(error.error.as_ref(), access, project, patience),
        ServiceError::TransportClosed => CallError::Unreachable("the connection broke off".into()),
        _ => strange(),
    }
}

fn transport(error: &(dyn Error + 'static), access: &Access, project: &str, patience: Duration) -> CallError {
    type Http = StreamableHttpError<reqwest::Error>;
    let mut cause = Some(error);
    while let Some(inner) = cause {
        match inner.downcast_ref::<Http>() {
            Some(Http::AuthRequired(_)) => return unknown_key(access, project),
            Some(Http::InsufficientScope(_)) => return words::status(403, &[], access, None).into(),
            Some(Http::HttpStatus(found)) => {
                // Where the room has trouble instead, the call may have been done.
                let wait = found.retry_after.as_deref().filter(|_| found.status == 429);
                return words::refused(found.status, &[], access, None, wait.and_then(words::retry_after));
            }
            Some(Http::Client(error)) => return words::request(error, access, patience),
            Some(Http::UnexpectedServerResponse(text)) => {
                return match answered(text) {
                    Some((401, _)) => unknown_key(access, project),
                    Some((status, body)) => words::refused(status, body.as_bytes(), access, None, None),
                    None => strange(),
                };
            }
            _ => cause = inner.source(),
        }
    }
    strange()
}

fn unknown_key(access: &Access, project: &str) -> CallError {
    CallError::Unauthorized(words::unknown_key(access, None, project, words::AGENT))
}

/// The status and body of an answer as the transport words it: `HTTP 403 Forbidden: the body`.
fn answered(text: &str) -> Option<(u16, &str)> {
    let (status, body) = text.strip_prefix("HTTP ")?.split_once(':')?;
    Some((status.get(..3)?.parse().ok()?, body))
}

fn refusal(message: &str, access: &Access) -> CallError {
    match words::own_words(message.as_bytes(), access) {
        Some(said) => Trouble::Refused(format!("the room says: {said}")).into(),
        None => strange(),
    }
}

fn strange() -> CallError {
    CallError::Unreachable("what answers there does not speak like a prickle room".into())
}
