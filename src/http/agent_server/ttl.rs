//! Reads and shows the ttl of a thread as the wire has it: in minutes.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::clock::Micros;
use crate::domain::threads::ttl::{Ttl, TtlStrategy};
use crate::domain::time::rfc3339_with_offset;
use crate::domain::{Error, Result};
use crate::http::checkpoints::pruning::StrategyBody;
use crate::http::threads::ttl::ttl_of;

#[derive(Deserialize, ToSchema)]
#[schema(as = AgentServerTtl)]
pub struct TtlBody {
    /// Minutes without a change, above 0.
    ttl: f64,
    /// What becomes of the thread then. Default `delete`.
    strategy: Option<StrategyBody>,
}

/// What a thread shows of its ttl.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AgentServerThreadTtl)]
pub struct TtlView {
    #[schema(value_type = StrategyBody)]
    strategy: TtlStrategy,
    ttl_minutes: f64,
    /// As long as nobody changes the thread.
    expires_at: String,
}

impl TryFrom<TtlBody> for Ttl {
    type Error = Error;

    fn try_from(body: TtlBody) -> Result<Self> {
        ttl_of(body.ttl, body.strategy)
    }
}

impl TtlView {
    pub fn of(ttl: Ttl, updated_at: Micros) -> Self {
        Self {
            strategy: ttl.strategy,
            ttl_minutes: ttl.minutes(),
            expires_at: rfc3339_with_offset(ttl.expires_at(updated_at)),
        }
    }
}
