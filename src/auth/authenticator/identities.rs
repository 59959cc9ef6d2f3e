//! Turns a key or a token that was found genuine into a caller with its grants.

use std::sync::Arc;

use super::{Authenticator, Identity, UNKNOWN};
use crate::auth::Refusal;
use crate::auth::credentials::CredentialSet;
use crate::auth::secret::Secret;
use crate::domain::caller::{Caller, Grants};
use crate::domain::scheduling::read_memory::ReadMemory;
use crate::domain::tenants::audit::COMMAND_LINE;
use crate::domain::tokens::grants::{Actions, Scoped};
use crate::domain::tokens::token::{Pass, Token, TokenId};

impl Identity {
    /// The person at the command line, who has access to the database.
    pub fn operator(tenant: &str) -> Self {
        let credential = COMMAND_LINE.to_owned();
        let caller = Caller { credential, ..Caller::of_tenant(tenant) };
        Self { caller, pass: Pass::Operator }
    }
}

impl Authenticator {
    /// Whether a token of the tenant that has not expired would be let in, as far as this server knows.
    pub fn lets_in(&self, tenant: &str, minter: &str, token_id: TokenId) -> bool {
        let set = self.known().0;
        !set.has_revoked(tenant, [token_id].iter()) && self.minter_lives(minter, tenant, &set)
    }
}

/// The caller with this key. What its text begins with says whether it only reads.
pub(super) fn by_key(secret: &Secret, set: &CredentialSet) -> Result<Identity, Refusal> {
    let key = set.key(&secret.hash()).ok_or(UNKNOWN)?;
    let scoped = match (key.subject.as_deref().map(Scoped::of_subject), secret.is_read_only()) {
        (Some(scoped), true) => Some(scoped.only_reading()),
        (None, true) => Some(Scoped::reads_tenant()),
        (scoped, false) => scoped,
    };
    let grants = scoped.map_or(Grants::Tenant, |it| Grants::Scoped(Arc::new(it)));
    let (tenant, subject) = (key.tenant.clone(), key.subject.clone());
    let memory = ReadMemory::default();
    let caller = Caller { tenant, subject, grants, credential: key.key_id.clone(), memory };
    Ok(Identity { caller, pass: Pass::Key(key.key_id.clone()) })
}

/// A token with every action on the tenant may what a key of the whole tenant may, but make tokens and keys.
pub(super) fn of_token(token: &Token) -> Grants {
    if token.subject.is_none() && token.grants.tenant == Actions::ALL {
        return Grants::Tenant;
    }
    Grants::Scoped(Arc::clone(&token.grants).under_every_label(token.subject.as_deref()))
}
