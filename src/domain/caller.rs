//! Who asks. Every domain call takes a `&Caller`, built by one extractor; the tenant comes from nowhere else.

use super::error::{Error, Result};
use super::names::ThreadId;

/// An authenticated caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub tenant: String,
    /// None for a key of the whole tenant.
    pub subject: Option<String>,
    pub grants: Grants,
}

/// What a caller may touch. Scoped grants join this enum with scoped tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grants {
    /// Everything of the tenant.
    Tenant,
}

/// What a route needs; declared once per route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    ThreadsRead,
    ThreadsWrite,
    /// Any valid key.
    Any,
}

impl Caller {
    /// A caller with every right in `tenant`.
    pub fn of_tenant(tenant: impl Into<String>) -> Self {
        Self { tenant: tenant.into(), subject: None, grants: Grants::Tenant }
    }

    /// # Errors
    /// `NotGranted` when the grants do not cover `permission` at all, whatever the thing.
    pub fn require(&self, permission: Permission) -> Result<()> {
        match (&self.grants, permission) {
            (
                Grants::Tenant,
                Permission::ThreadsRead | Permission::ThreadsWrite | Permission::Any,
            ) => Ok(()),
        }
    }

    /// # Errors
    /// `NotGranted` when the grants do not cover writing to this thread.
    pub fn require_thread_write(&self, _thread: &ThreadId) -> Result<()> {
        match self.grants {
            Grants::Tenant => Ok(()),
        }
    }

    /// # Errors
    /// `NotGranted` when the grants do not cover all of the tenant.
    pub fn require_whole_tenant(&self) -> Result<()> {
        match self.grants {
            Grants::Tenant => Ok(()),
        }
    }

    /// Whether reads of this thread see it; where false it looks absent.
    pub fn may_read_thread(&self, _thread: &ThreadId) -> bool {
        match self.grants {
            Grants::Tenant => true,
        }
    }
}

/// Tenant names: 1-63 characters of `[a-z0-9_-]`, so that they are legal in logs, labels and role names.
///
/// # Errors
/// 422 naming the field.
pub fn check_tenant(tenant: &str) -> Result<()> {
    let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    if tenant.is_empty() || tenant.len() > 63 || !tenant.chars().all(legal) {
        let detail = "tenant must be 1 to 63 characters of a-z, 0-9, _ and -";
        return Err(Error::out_of_range("tenant", detail, 63));
    }
    Ok(())
}
