//! Names the statuses of threads in requests and answers.

use serde::{Deserialize, Serialize, Serializer};
use utoipa::ToSchema;

use crate::domain::threads::run_state::Status;
use crate::http::request::by_name::by_name;

/// How a thread stands, by the newest checkpoint of the root graph, its writes and the lease.
#[derive(Deserialize, ToSchema, Clone, Copy)]
#[serde(rename_all = "snake_case", remote = "Self")]
#[schema(as = ThreadStatus)]
pub enum StatusParam {
    /// Nothing is left to do.
    Idle,
    /// Somebody holds the lease; or tasks have still to run, and the last commit was less than `--busy-seconds` ago.
    Busy,
    /// It waits for an answer; or tasks have still to run and nobody runs them.
    Interrupted,
    /// A task ended with an error.
    Error,
}

by_name!(StatusParam);

impl Serialize for StatusParam {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Self::Idle => "idle",
            Self::Busy => "busy",
            Self::Interrupted => "interrupted",
            Self::Error => "error",
        })
    }
}

impl From<Status> for StatusParam {
    fn from(status: Status) -> Self {
        match status {
            Status::Idle => Self::Idle,
            Status::Busy => Self::Busy,
            Status::Interrupted => Self::Interrupted,
            Status::Error => Self::Error,
        }
    }
}

impl From<StatusParam> for Status {
    fn from(status: StatusParam) -> Self {
        match status {
            StatusParam::Idle => Self::Idle,
            StatusParam::Busy => Self::Busy,
            StatusParam::Interrupted => Self::Interrupted,
            StatusParam::Error => Self::Error,
        }
    }
}
