//! Defines keys, credentials, tokens and what they grant.

pub mod credential;
pub mod grants;
pub mod key;
pub mod key_uses;
pub mod signing;
pub mod storage;
pub mod token;
