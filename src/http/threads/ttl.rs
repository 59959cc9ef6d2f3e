//! Reads and shows the ttl of a thread.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::clock::Micros;
use crate::domain::threads::details::TTL;
use crate::domain::threads::ttl::{Ttl, TtlStrategy};
use crate::domain::time::rfc3339;
use crate::domain::{Error, Result};
use crate::http::checkpoints::pruning::StrategyBody;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ThreadTtl)]
pub struct TtlBody {
    /// Minutes without a change, above 0, at most 52,560,000.
    minutes: f64,
    /// What becomes of the thread then. Default `delete`.
    strategy: Option<StrategyBody>,
}

/// What a thread shows of its ttl.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ShownThreadTtl)]
pub struct TtlOut {
    minutes: f64,
    #[schema(value_type = StrategyBody)]
    strategy: TtlStrategy,
    /// As long as nobody changes the thread. The sweep comes a little later.
    #[schema(format = DateTime)]
    expires_at: String,
}

impl TryFrom<TtlBody> for Ttl {
    type Error = Error;

    fn try_from(body: TtlBody) -> Result<Self> {
        ttl_of(body.minutes, body.strategy)
    }
}

/// The ttl that a caller asks for.
///
/// # Errors
/// As [`Ttl::of_minutes`].
pub fn ttl_of(minutes: f64, strategy: Option<StrategyBody>) -> Result<Ttl> {
    Ttl::of_minutes(TTL, minutes, strategy.map_or(TtlStrategy::Delete, Into::into))
}

impl TtlOut {
    pub fn of(ttl: Ttl, updated_at: Micros) -> Self {
        Self {
            minutes: ttl.minutes(),
            strategy: ttl.strategy,
            expires_at: rfc3339(ttl.expires_at(updated_at)),
        }
    }
}
