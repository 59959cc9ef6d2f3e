//! Serves the calls on the store.

pub mod answers;
pub mod batch;
pub mod changes;
pub mod handlers;
pub mod history;
pub mod key;
pub mod largest;
pub mod settings;
pub mod vectors;
pub mod wire;
