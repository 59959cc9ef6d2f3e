//! Lists why a batch of writes can fail, by the answer to its members.

use super::error::Obstacle;

/// Why a whole batch failed. Nothing of it is durable, but for `ConnectionLost`.
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    /// Serialization failure or deadlock: send it again.
    #[error("the database asks for a retry: {0}")]
    Retry(String),
    /// No connection could be had; nothing was sent.
    #[error("no connection: {0}")]
    Unavailable(String),
    /// The connection broke after the statement was sent: it may be durable or not.
    #[error("the connection broke: {0}")]
    ConnectionLost(String),
    /// Something outside of the server is in the way, such as a full disk. Nothing was written.
    #[error("{detail}")]
    Obstacle { kind: Obstacle, detail: String },
    /// The statement was refused; one member is at fault.
    #[error("the statement failed: {0}")]
    Statement(String),
}
