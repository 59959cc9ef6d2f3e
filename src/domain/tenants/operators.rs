//! Defines what a call of an operator is about. Operators look after all tenants of a server and read the contents of none.

use super::tenant::{TenantStorage, TenantUse, Time};
use crate::domain::caller::{Caller, Permission, check_tenant};
use crate::domain::error::{Error, Result};
use crate::domain::pages::{COUNTED_ROWS_MAX, cut};

/// Where the keys of operators and their acts are kept. [`check_tenant`] lets no tenant have this name.
pub const OPERATORS: &str = "~operators";

/// Names the owner of the keys that a call is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whose {
    Tenant(String),
    Operators,
}

/// A page of tenants.
#[derive(Debug, Default)]
pub struct TenantPage {
    pub tenants: Vec<TenantUse>,
    /// The name of the last one; set when there are more.
    pub next: Option<String>,
}

impl Whose {
    /// # Errors
    /// 422 where neither or both are named; as [`check_tenant`].
    pub fn of(tenant: Option<String>, operators: bool) -> Result<Self> {
        match (tenant, operators) {
            (Some(tenant), false) => {
                check_tenant(&tenant)?;
                Ok(Self::Tenant(tenant))
            }
            (None, true) => Ok(Self::Operators),
            _ => Err(Error::invalid("tenant", "send one of the two: tenant, or operators: true")),
        }
    }

    /// The tenant under which the keys are kept.
    pub fn name(&self) -> &str {
        match self {
            Self::Tenant(tenant) => tenant,
            Self::Operators => OPERATORS,
        }
    }
}

/// Tenants with what each has stored, in the order of their names.
///
/// # Errors
/// `NotGranted` but for operators; a storage that cannot be read in time.
pub async fn list_tenants(
    storage: &dyn TenantStorage,
    caller: &Caller,
    after: Option<&str>,
    limit: usize,
) -> Result<TenantPage> {
    caller.require(Permission::Operator)?;
    let limit = limit.min(COUNTED_ROWS_MAX);
    if limit == 0 {
        return Ok(TenantPage::default());
    }
    // One more than asked for tells whether there is a next page.
    let after = after.unwrap_or_default();
    let mut tenants = storage.list_tenants(after, limit + 1, Time::OfSearches).await?;
    let next = cut(&mut tenants, limit, |it| it.tenant.clone());
    Ok(TenantPage { tenants, next })
}

/// For calls that make no tenant: a name that is mistyped is an error, not an empty answer.
///
/// # Errors
/// `NotFound`; a storage that cannot be read.
pub async fn require_known(storage: &dyn TenantStorage, whose: &Whose) -> Result<()> {
    if storage.has_tenant(whose.name()).await? {
        return Ok(());
    }
    Err(Error::NotFound("a tenant with this name was"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_tenant_has_the_name_under_which_operators_are_kept() {
        assert!(check_tenant(OPERATORS).is_err());
        assert!(Whose::of(Some(OPERATORS.into()), false).is_err());
        assert_eq!(Whose::of(None, true).unwrap().name(), OPERATORS);
    }

    #[test]
    fn a_call_names_a_tenant_or_the_operators() {
        assert_eq!(Whose::of(Some("acme".into()), false).unwrap().name(), "acme");
        for (tenant, operators) in [(None, false), (Some("acme"), true), (Some("Acme"), false)] {
            assert!(Whose::of(tenant.map(Into::into), operators).is_err());
        }
    }
}
