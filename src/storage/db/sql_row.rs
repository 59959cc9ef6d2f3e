//! Defines the cells that statements of both engines take and answer.

use crate::domain::{Error, Result};

/// A value that goes into a statement or comes out of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SqlValue {
    Null,
    Integer(i64),
    Text(String),
    Bytes(Vec<u8>),
}

impl From<i64> for SqlValue {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

/// None is a null of the type bigint. An optional text is bound as an empty one, with a flag beside it where an empty one means something.
impl From<Option<i64>> for SqlValue {
    fn from(value: Option<i64>) -> Self {
        value.map_or(Self::Null, Self::Integer)
    }
}

impl From<bool> for SqlValue {
    fn from(value: bool) -> Self {
        Self::Integer(value.into())
    }
}

impl From<&str> for SqlValue {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<&[u8]> for SqlValue {
    fn from(value: &[u8]) -> Self {
        Self::Bytes(value.to_vec())
    }
}

/// One row of an answer.
#[derive(Debug, Clone)]
pub struct SqlRow(pub Vec<SqlValue>);

impl SqlRow {
    /// # Errors
    /// `Integrity` when the column holds something else, as for the next ones.
    pub fn integer(&self, at: usize) -> Result<i64> {
        match &self.0[at] {
            SqlValue::Integer(value) => Ok(*value),
            _ => Err(unexpected()),
        }
    }

    /// # Errors
    /// `Integrity`.
    pub fn boolean(&self, at: usize) -> Result<bool> {
        self.integer(at).map(|it| it != 0)
    }

    pub fn is_null(&self, at: usize) -> bool {
        self.0[at] == SqlValue::Null
    }

    /// # Errors
    /// `Integrity`.
    pub fn text(&self, at: usize) -> Result<&str> {
        match &self.0[at] {
            SqlValue::Text(value) => Ok(value),
            _ => Err(unexpected()),
        }
    }

    /// # Errors
    /// `Integrity`.
    pub fn optional_text(&self, at: usize) -> Result<Option<&str>> {
        match &self.0[at] {
            SqlValue::Text(value) => Ok(Some(value)),
            SqlValue::Null => Ok(None),
            _ => Err(unexpected()),
        }
    }

    /// None: the column has no value.
    ///
    /// # Errors
    /// `Integrity`.
    pub fn optional_integer(&self, at: usize) -> Result<Option<i64>> {
        if self.is_null(at) { Ok(None) } else { self.integer(at).map(Some) }
    }

    /// # Errors
    /// `Integrity`.
    pub fn bytes(&self, at: usize) -> Result<&[u8]> {
        self.optional_bytes(at)?.ok_or_else(unexpected)
    }

    /// # Errors
    /// `Integrity`.
    pub fn optional_bytes(&self, at: usize) -> Result<Option<&[u8]>> {
        match &self.0[at] {
            SqlValue::Bytes(value) => Ok(Some(value)),
            SqlValue::Null => Ok(None),
            _ => Err(unexpected()),
        }
    }
}

fn unexpected() -> Error {
    Error::Integrity("a column holds a value of another kind than it should".into())
}
