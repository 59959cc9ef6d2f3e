//! Declares the rooms of threadkeep, in reading order; ARCHITECTURE.md has the map. threadkeep is memory for AI agents that outlives their
//! sandbox.

// House rule 16; here and not in Cargo.toml, because tests may.
#![warn(clippy::unwrap_used)]

pub mod config;

pub mod app;
pub mod auth;
pub mod cli;
pub mod content;
pub mod decode;
pub mod domain;
pub mod embed;
pub mod export;
pub mod http;
pub mod import;
pub mod storage;
