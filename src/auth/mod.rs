//! Who asks and what they may touch: keys, the set of them that a server holds in memory, and the protection of
//! a server without any. Knows no HTTP type; the front door hands it the texts of the headers.

pub mod gate;
pub mod loopback;
pub mod scram;
pub mod secret;

/// Why a request is turned away before anything is looked up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("{0}")]
    Unauthorized(&'static str),
    #[error(
        "without keys the server answers only when Host is 127.0.0.1, [::1] or localhost with its own port"
    )]
    ForbiddenHost,
    #[error("without keys the server answers no requests that come from another site")]
    ForbiddenOrigin,
    #[error(
        "without keys the server answers no forwarded requests; make a key to run behind a proxy"
    )]
    ForbiddenForwarding,
    #[error("the keys could not be read for a while; try again")]
    Stale,
}
