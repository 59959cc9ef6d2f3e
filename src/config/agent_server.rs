//! Defines the settings of the LangGraph Agent Server wire.

use clap::Args;

/// What SDKs and UIs of LangGraph find at the root of the address.
#[derive(Debug, Args)]
pub struct AgentServer {
    /// Answer none of the routes of the LangGraph Agent Server (`/threads`, `/store`, `/assistants`, `/runs`, `/ok`, `/info`, `/`).
    #[arg(long, env = "THREADKEEP_NO_AGENT_SERVER")]
    pub no_agent_server: bool,
}
