//! Defines sessions: append-only streams, small documents and counters under one key, for agents that are not LangGraph. A stream holds
//! opaque JSON text; nothing here looks into it.

pub mod change;
pub mod commit;
pub mod ledger;
pub mod loading;
pub mod name;
pub mod reading;
pub mod service;
mod steps;
pub mod storage;
pub mod tokens;

use bytes::Bytes;

use self::name::SessionName;
use super::clock::Micros;

/// What was not found.
pub const SESSION: &str = "session";
pub const DOCUMENT: &str = "document";

/// A session as listings show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub name: SessionName,
    pub user: Option<String>,
    pub agent: Option<String>,
    pub title: Option<String>,
    pub created_at: Micros,
    pub updated_at: Micros,
}

/// An entry of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub seq: i64,
    pub id: Option<String>,
    /// Exact JSON text.
    pub data: Bytes,
    pub at: Micros,
}

/// A stream as a list of them shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream {
    pub stream: String,
    pub head: i64,
    pub updated_at: Micros,
}

/// A document without its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    pub name: String,
    pub version: i64,
    pub updated_at: Micros,
    /// Of its UTF-8.
    pub size_bytes: i64,
}

/// A document with what is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    pub document: Document,
    /// UTF-8, but for lone surrogates, which have three bytes.
    pub text: Bytes,
}
