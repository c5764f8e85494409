//! Every path of the room, in one list: the router, the metrics and the tests are made from it, so that none of
//! them can forget one.

/// A path of the room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// Whether the room is well.
    Health,
    /// How it is doing, for Prometheus.
    Metrics,
    /// Whose key this is.
    Me,
    /// The rooms that the key may see.
    Projects,
    /// A room as it is.
    Pulse,
    /// A room from now on.
    Feed,
    /// How far an owner's agents have come.
    Agents,
    /// The records of their runs.
    Runs,
    /// What these come to.
    RunSummary,
    /// One of them.
    Run,
    /// The two tools.
    Mcp,
}

impl Route {
    /// Every route. One that is not here does not exist.
    pub const ALL: [Self; 11] = [
        Self::Health,
        Self::Metrics,
        Self::Me,
        Self::Projects,
        Self::Pulse,
        Self::Feed,
        Self::Agents,
        Self::Runs,
        Self::RunSummary,
        Self::Run,
        Self::Mcp,
    ];

    /// The path, as axum writes its parameters.
    pub fn path(self) -> &'static str {
        match self {
            Self::Health => "/healthz",
            Self::Metrics => "/metrics",
            Self::Me => "/v1/me",
            Self::Projects => "/v1/projects",
            Self::Pulse => "/v1/projects/{project}/pulse",
            Self::Feed => "/v1/projects/{project}/feed",
            Self::Agents => "/v1/agents",
            Self::Runs => "/v1/runs",
            Self::RunSummary => "/v1/runs/summary",
            Self::Run => "/v1/runs/{run_id}",
            Self::Mcp => "/mcp",
        }
    }
}
