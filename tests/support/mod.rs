//! Starts real servers for tests.

pub mod postgres;
