//! Defines the names that can be read in a damaged database.

/// Names as far as they can be read in a database that may be damaged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readable<T> {
    pub names: Vec<T>,
    /// Why there may be more, once for each place.
    pub unread: Vec<String>,
}

impl<T> Default for Readable<T> {
    fn default() -> Self {
        Self { names: Vec::new(), unread: Vec::new() }
    }
}
