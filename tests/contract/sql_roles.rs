//! Roles for direct SQL.
