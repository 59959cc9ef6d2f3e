//! Decides who a caller is and what it may touch. Covers keys, tokens, tokens of other issuers, and the part of them that a server holds in
//! memory. Protects a server without keys. The room `http` passes it the texts of the headers.

pub mod authenticator;
mod credentials;
mod holder;
pub mod issuers;
mod jwks;
mod jwt;
pub mod keys;
mod lookups;
pub mod loopback;
pub mod operators;
pub mod scram;
pub mod secret;
pub mod signed_url;
mod token_text;
pub mod tokens;

use crate::domain::clock::Micros;
use crate::domain::time::rfc3339;

/// Why a request is turned away before anything is looked up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("{0}")]
    Unauthorized(&'static str),
    #[error("the token expired at {}; ask whoever made it for a new one", rfc3339(*.at))]
    TokenExpired { at: Micros },
    #[error("the key expired at {}; make another one", rfc3339(*.at))]
    KeyExpired { at: Micros },
    #[error("the token was revoked, or what it was made with; ask whoever made it for a new one")]
    TokenRevoked,
    /// The keys of an issuer cannot be had, and none that are known fit.
    #[error("the keys of the token's issuer cannot be read now; try again")]
    IssuerAway,
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
    /// It may be the key of somebody, made just now.
    #[error("the key is not known yet, and too many unknown keys were looked up; try again")]
    TooManyLookups,
}
