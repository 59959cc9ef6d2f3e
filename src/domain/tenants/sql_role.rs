//! Defines login roles of the database that read one tenant with SQL. The storage decides what they may see.

use crate::domain::clock::Micros;
use crate::domain::error::{Error, Result};

/// What PostgreSQL takes for a name without cutting it off.
const NAME_BYTES_MAX: u64 = 63;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlRole {
    /// Unique in the whole database cluster, and visible to all of its roles: so the tenant is not in it.
    pub name: String,
    pub tenant: String,
    pub created_at: Micros,
}

/// A role to be made.
#[derive(Debug, Clone)]
pub struct NewSqlRole {
    pub name: String,
    pub tenant: String,
    /// What the database keeps instead of the password.
    pub verifier: String,
}

/// How a role ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dropped {
    /// The tenant has no such role.
    Absent,
    Gone,
    /// It owns things elsewhere and cannot go; it reads nothing any more and cannot log in.
    Disabled,
}

/// Names that need no quoting, so that they can be typed anywhere.
///
/// # Errors
/// 422 naming the field.
pub fn check_name(name: &str) -> Result<()> {
    let legal = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_';
    let begins = name.starts_with(|it: char| it.is_ascii_lowercase());
    let reserved = name.starts_with("pg_") || ["public", "none"].contains(&name);
    if begins && !reserved && name.len() as u64 <= NAME_BYTES_MAX && name.chars().all(legal) {
        return Ok(());
    }
    let detail = "the name of a role must be 1 to 63 characters of a-z, 0-9 and _, begin with a letter and not \
                  with pg_";
    Err(Error::out_of_range("name", detail, NAME_BYTES_MAX))
}

/// The answer of an engine without roles.
pub fn unsupported() -> Error {
    Error::invalid("database-url", "direct SQL roles are for PostgreSQL")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_roles_need_no_quotes() {
        for legal in ["a", "threadkeep_sql_00ff", &"a".repeat(63)] {
            check_name(legal).unwrap();
        }
        for illegal in ["", "1a", "A", "a-b", "a b", "a\"b", "pg_x", "public", "ä", &"a".repeat(64)]
        {
            assert!(check_name(illegal).is_err(), "{illegal}");
        }
    }
}
