//! Runs SQL of both engines: rows and dialects, migrations, and errors of the database.

pub mod access;
pub mod damage;
pub(in crate::storage) mod database_error;
pub(in crate::storage) mod error_counts;
pub(in crate::storage) mod migrations;
pub(in crate::storage) mod sql_row;
