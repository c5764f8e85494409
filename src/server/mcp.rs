//! The room's two tools over MCP. rmcp speaks the protocol, in both of its eras; what a call means is decided
//! in `wire::schema` and by the store.

use std::sync::Arc;

use axum::http::request::Parts;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest, CustomResult,
    ErrorCode, Implementation, JsonObject, ListToolsResult, PaginatedRequestParams, ServerCapabilities,
    ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};

use super::body::BODY_MAX;
use super::store::{CallError, Store};
use crate::rules::{Caller, Refusal};
use crate::wire::schema;

/// The service behind `/mcp`. It keeps no session: a restart of the room costs its callers nothing.
pub(super) type Service = StreamableHttpService<Mcp, NeverSessionManager>;

/// One POST's handler; rmcp makes one for every request.
#[derive(Clone)]
pub(super) struct Mcp {
    store: Store,
    tools: Arc<[Tool; 2]>,
}

const UPDATE_PULSE: &str = "update_pulse";
const REPORT_RUN: &str = "report_run";

/// What an agent is told before it has looked at a tool. Codex shows it as the description of the tool group.
const INSTRUCTIONS: &str = "The room in which your team's people and agents see what everybody is at. \
    Say what you are doing with update_pulse: when you start, when it changes, when you are done, and \
    before you edit files, with an intent that names them.";

// Some clients cut the limits out of a schema before the model sees it: they stand here, too.

const UPDATE_PULSE_SAYS: &str = "Show your team what you are doing in one project. Call it when you begin, \
    turn to something else, or stop, and before you edit: the intent then warns others whose work yours \
    would undo.\n\
    Always send project (the room's name, like website-v2) and doing (one sentence, at most 200 characters; \
    \"\" if there is nothing to say). As it applies: availability (online, working, idle, asleep, away, \
    offline; working if you leave it out), task_id (1 to 64 letters, digits, _ or -), branch (at most 200 \
    characters), files (at most 50 paths, each at most 300 characters), last_decision (at most 500 \
    characters), intent: {kind: add, change, remove, rename, revert or migrate; paths: at most 20, from the \
    repository's root, patterns like src/** allowed, each 1 to 300 characters; areas: at most 10 names of \
    parts of the project, lower-case letters, digits, _ and -, each at most 40 characters}.\n\
    A call replaces everything you said before: leave out what no longer holds, never send null. An intent \
    ends by itself after a while; send it again if it still holds.\n\
    If you were started for a task, send only project, availability, that task_id and an intent. \
    run_failure and clear_run_failure are for the program that starts agents, not for agents.";

const REPORT_RUN_SAYS: &str = "For the program that starts agents, not for agents: keep the record of one \
    finished run of a task. Send all of project, run_id (the launch's own UUID), task_id (1 to 64 letters, \
    digits, _ or -), input_tokens, output_tokens, turns, duration_ms (each a whole number from 0 to \
    2147483647) and exit_code (0 to 255). A number that nobody measured is null; 0 means that it was \
    counted and came to nothing. Sending the same report again is harmless and returns the first record; a \
    different report under the same run_id is refused. Only people of the agent's owner can read records.";

/// The MCP service of the room that `store` keeps. Fails only if a schema built into the program is no JSON.
pub(super) fn service(store: Store) -> serde_json::Result<Service> {
    let tools = Arc::new([
        tool(
            UPDATE_PULSE,
            "Show what you are doing",
            UPDATE_PULSE_SAYS,
            schema::UPDATE_PULSE_INPUT,
            schema::UPDATE_PULSE_OUTPUT,
        )?,
        tool(
            REPORT_RUN,
            "Keep a run's record",
            REPORT_RUN_SAYS,
            schema::REPORT_RUN_INPUT,
            schema::REPORT_RUN_OUTPUT,
        )?,
    ]);
    // Host and Origin are checked by `guard`, for all routes alike; bodies are bounded by `body`.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(BODY_MAX)
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let handler = Mcp { store, tools };
    Ok(StreamableHttpService::new(move || Ok(handler.clone()), Arc::default(), config))
}

fn tool(
    name: &'static str,
    title: &'static str,
    says: &'static str,
    input: &str,
    output: &str,
) -> serde_json::Result<Tool> {
    let input: JsonObject = serde_json::from_str(input)?;
    let output: JsonObject = serde_json::from_str(output)?;
    // Codex refuses to call a tool that doesn't say all four when nobody is there to be asked.
    let harmless =
        ToolAnnotations::new().read_only(false).destructive(false).idempotent(true).open_world(false);
    Ok(Tool::new(name, says, Arc::new(input))
        .with_title(title)
        .with_raw_output_schema(Arc::new(output))
        .with_annotations(harmless))
}

impl ServerHandler for Mcp {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("prickle", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools.iter().find(|tool| tool.name == name).cloned()
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.store.tools_listed(&*caller(&context)?);
        Ok(ListToolsResult::with_all_items(self.tools.to_vec()))
    }

    /// What rmcp could not read as one of MCP's requests; its own answer would repeat the method as it came.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method == "tools/call" {
            let why = "A tools/call has params with the tool's name, and its arguments as an object.";
            return Err(ErrorData::invalid_params(why, None));
        }
        let why =
            format!("This room has no method {}, or not with such params.", schema::head(&request.method));
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, why, None))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let caller = caller(&context)?;
        let arguments = call.arguments.unwrap_or_default();
        let (tool, answer) = match call.name.as_ref() {
            UPDATE_PULSE => (UPDATE_PULSE, self.update_pulse(caller, &arguments).await),
            REPORT_RUN => (REPORT_RUN, self.report_run(caller, &arguments).await),
            other => {
                let shown = schema::head(other);
                let why = format!("Unknown tool: {shown}. There are {UPDATE_PULSE} and {REPORT_RUN}.");
                return Err(ErrorData::invalid_params(why, None));
            }
        };
        self.store.metrics().call(tool, &answer);
        match answer {
            // The same JSON twice: some clients show a model only the one, some only the other.
            Ok(result) => Ok(CallToolResult::structured(result).into()),
            // A refusal is for the model to read and put right, so it is a result, no protocol error. The room's own
            // trouble is, too: clients show a model no protocol error, and the same call may succeed later.
            Err(no) => Ok(CallToolResult::error(vec![ContentBlock::text(no.to_string())]).into()),
        }
    }
}

impl Mcp {
    async fn update_pulse(&self, caller: Arc<Caller>, arguments: &JsonObject) -> Result<Value, CallError> {
        let report = schema::update_pulse(arguments).map_err(refused)?;
        let pulse = self.store.update_pulse(caller, report).await?;
        Ok(json!({ "pulse": pulse }))
    }

    async fn report_run(&self, caller: Arc<Caller>, arguments: &JsonObject) -> Result<Value, CallError> {
        let report = schema::report_run(arguments).map_err(refused)?;
        let run = self.store.report_run(caller, report).await?;
        Ok(json!({ "run": run }))
    }
}

/// Who calls, as `auth::signed` left it at the request.
fn caller(context: &RequestContext<RoleServer>) -> Result<Arc<Caller>, ErrorData> {
    let caller = context.extensions.get::<Parts>().and_then(|parts| parts.extensions.get::<Arc<Caller>>());
    caller.cloned().ok_or_else(|| ErrorData::internal_error("the call came unsigned", None))
}

fn refused(faults: Vec<schema::Fault>) -> CallError {
    Refusal::from(faults).into()
}
