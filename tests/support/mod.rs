//! Real servers for tests.

pub mod postgres;
