//! Holds what a server is started with: the settings that more than one room reads.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::auth::issuers::Issuers;
use crate::domain::agentrail::OtherUser;
use crate::domain::checkpoints::channel_rule::ChannelRule;
use crate::domain::store::embedding::Embedder;
use crate::domain::tenants::journal::Journal;
use crate::domain::tenants::rates::Rates;
use crate::domain::threads::graphs::DefaultGraph;

/// What the person who starts the server decides; see the settings of these names.
#[derive(Debug, Clone)]
pub struct Settings {
    pub memory: DifferenceMemory,
    pub retention_interval: Duration,
    pub audit_keep_days: u32,
    /// Of tenants whose quota does not say.
    pub rates: Rates,
    /// Local programs need no key once every key was revoked.
    pub keyless: bool,
    /// How long after its last commit a process is taken to work on its thread.
    pub busy_for: Duration,
    /// Fields of the metadata of checkpoints that threads show.
    pub thread_metadata_keys: Vec<String>,
}

/// What the server may hold in memory for differences; see the settings of these names.
#[derive(Debug, Clone, Copy)]
pub struct DifferenceMemory {
    pub recent_bytes_max: u64,
    pub expanded_bytes_max: u32,
}

/// Who else is asked.
#[derive(Default)]
pub struct Outside {
    /// Of tokens.
    pub issuers: Issuers,
    /// Makes vectors.
    pub embedder: Embedder,
    pub browsers: Browsers,
    pub facts: Facts,
    pub agentrail_other_user: OtherUser,
    pub agent_server: AgentServer,
    /// Keeps revocations and erasures beside the backups.
    pub journal: Journal,
}

/// What the routes of the LangGraph Agent Server show; see the settings of these names.
#[derive(Debug, Clone, Default)]
pub struct AgentServer {
    /// None of the routes is answered.
    pub is_off: bool,
    /// Graphs that have an assistant though no thread names them.
    pub assistants: Vec<String>,
    pub default_graph: Option<DefaultGraph>,
    /// Channels that updates of states may write to, with what each makes of a value.
    pub state_update_channels: Arc<HashMap<String, ChannelRule>>,
}

/// What pages of other origins have to do with this server.
#[derive(Debug, Clone, Default)]
pub struct Browsers {
    /// Where signed addresses lead to: a host of its own for what agents wrote.
    pub files_origin: Option<String>,
    /// Front ends that may call the API, the drive and the Agent Server.
    pub cors_origins: Vec<String>,
    pub has_console: bool,
}

impl From<Issuers> for Outside {
    fn from(issuers: Issuers) -> Self {
        Self { issuers, ..Self::default() }
    }
}

/// What this server uses beside its database, as `GET /v1/info` tells it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Facts {
    pub has_encryption: bool,
    pub has_object_store: bool,
    pub has_redis: bool,
}
