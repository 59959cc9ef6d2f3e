//! Defines the settings of the LangGraph Agent Server wire.

use clap::Args;

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

    /// Channels of states that SDKs and UIs of LangGraph may update though their reducer is not a `DeltaChannel`, as `name=rule`, by
    /// comma: `last` sets the value, `messages` adds messages by id, `merge` merges objects, where null removes. Name the rule that the
    /// graph has.
    #[arg(long, env = "THREADKEEP_STATE_UPDATE_CHANNELS", value_delimiter = ',', value_parser = channel)]
    pub state_update_channels: Vec<(String, ChannelRule)>,
}

/// How a channel takes in an update.
#[derive(Debug, Clone, Copy)]
pub enum ChannelRule {
    Last,
    Messages,
    Merge,
}

/// A channel with its rule.
fn channel(text: &str) -> Result<(String, ChannelRule), String> {
    let (name, rule) =
        text.split_once('=').ok_or("a channel is named with its rule, as name=rule")?;
    let rule = match rule {
        "last" => ChannelRule::Last,
        "messages" => ChannelRule::Messages,
        "merge" => ChannelRule::Merge,
        _ => return Err(format!("the rule of {name:?} is last, messages or merge")),
    };
    let is_internal = ["__", "branch:", "join:"].iter().any(|it| name.starts_with(it));
    if name.is_empty() || name.contains('\0') || is_internal {
        return Err(format!("{name:?} is no channel of a state"));
    }
    Ok((name.to_owned(), rule))
}

/// The name of a graph.
fn graph(text: &str) -> Result<String, String> {
    super::name("graph", text)
}
