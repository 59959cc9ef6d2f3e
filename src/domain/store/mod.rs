//! Defines items, namespaces, the ranking of searches and change feeds, and runs the calls on them.

pub mod batch;
pub mod changing;
pub mod commit;
pub mod embedding;
pub mod feed;
pub mod feeds;
pub mod file_head;
pub mod history;
pub mod indexing;
pub mod item;
pub mod key;
pub mod namespace;
pub mod namespace_settings;
pub mod ranking;
pub mod rules;
pub mod service;
pub mod storage;
pub mod subscription;
pub mod text_opened;
pub mod text_search;
pub mod vector;
pub mod word_walks;
pub mod words;
