//! The routes, through the router: every one, with good input and hostile, with keys and without. The storage is
//! a small double in memory, so that each failure of a storage can be had on demand.

mod accounts;
mod arguments;
mod bodies;
mod checkpoints;
mod connections;
mod differences;
mod document;
mod failures;
mod hostile;
mod identity;
mod item_history;
mod item_words;
mod jwt;
mod keyless;
mod matrix;
mod matrix_table;
mod memory;
mod memory_accounts;
mod memory_credentials;
mod memory_erasure;
mod memory_items;
mod memory_retention;
mod memory_settings;
mod metrics;
mod ownership;
mod retention;
mod server;
mod shortened;
mod store;
mod subjects;
mod threads;
mod tokens;
mod tokens_refused;
mod wire;
