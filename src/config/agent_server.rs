//! Defines the settings of the LangGraph Agent Server wire.

use clap::Args;

/// As the labels of threads have them.
const GRAPH_BYTES_MAX: usize = 256;

/// What SDKs and UIs of LangGraph find at the root of the address.
#[derive(Debug, Args)]
pub struct AgentServer {
    /// Answer none of the routes of the LangGraph Agent Server (`/threads`, `/store`, `/assistants`, `/runs`, `/ok`, `/info`, `/`).
    #[arg(long, env = "THREADKEEP_NO_AGENT_SERVER")]
    pub no_agent_server: bool,

    /// Graphs that have an assistant though no thread names them, by comma.
    #[arg(long, env = "THREADKEEP_ASSISTANTS", value_delimiter = ',', value_parser = graph)]
    pub assistants: Vec<String>,

    /// The graph that threads without one show to SDKs and UIs of LangGraph, which else hide them. It has an assistant.
    #[arg(long, env = "THREADKEEP_DEFAULT_GRAPH_ID", value_parser = graph)]
    pub default_graph_id: Option<String>,
}

/// The name of a graph.
fn graph(text: &str) -> Result<String, String> {
    if text.is_empty() || text.len() > GRAPH_BYTES_MAX || text.contains('\0') {
        return Err(format!("the name of a graph has 1 to {GRAPH_BYTES_MAX} bytes, without NUL"));
    }
    Ok(text.to_owned())
}
