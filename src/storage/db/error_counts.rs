//! Counts errors of the database by class, for the metrics. A class is a word of the program.

use crate::domain::metric_families as families;

/// Nothing came from the database: the connection broke, or none could be made.
pub(in crate::storage) const CONNECTION: &str = "connection";
pub(in crate::storage) const OTHER: &str = "other";

/// Counts one.
pub(in crate::storage) fn count(class: &'static str) {
    metrics::counter!(families::DATABASE_ERRORS, "class" => class).increment(1);
}

/// Lets a counter begin at 0.
pub(in crate::storage) fn begin(class: &'static str) {
    metrics::counter!(families::DATABASE_ERRORS, "class" => class).increment(0);
}
