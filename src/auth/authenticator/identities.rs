//! Turns a key or a token that was found genuine into a caller with its grants.

use std::sync::Arc;

use super::{Authenticator, Identity, UNKNOWN};
use crate::auth::Refusal;
use crate::auth::credentials::CredentialSet;
use crate::auth::secret::Secret;
use crate::domain::caller::{Caller, Grants};
use crate::domain::scheduling::read_memory::ReadMemory;
use crate::domain::tenants::audit::COMMAND_LINE;
use crate::domain::tenants::operators::OPERATORS;
use crate::domain::tokens::grants::{Actions, Scoped};
use crate::domain::tokens::key::Key;
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

    /// Tenant and id of a credential that is genuine, whatever became of it since.
    pub fn name(&self, text: &str) -> Option<(String, String)> {
        let set = self.known().0;
        if let Some(token) = set.open(text) {
            return Some((token.tenant, token.token_id.to_string()));
        }
        let key = set.key(&Secret::parse(text)?.hash())?;
        Some((key.tenant.clone(), key.key_id.clone()))
    }

    /// The caller with this key. Its text says whether it only reads and when it ends.
    pub(super) fn by_key(&self, secret: &Secret, set: &CredentialSet) -> Result<Identity, Refusal> {
        // A row that somebody moved to another tenant opens nothing there.
        let is_its_kind = |it: &&Key| (it.tenant == OPERATORS) == secret.is_operator();
        let key = set.key(&secret.hash()).filter(is_its_kind).ok_or(UNKNOWN)?;
        let now = self.clock.now();
        // Who changes the row may make it end sooner, not later.
        let expires_at = [secret.expires_at(), key.expires_at].into_iter().flatten().min();
        if let Some(at) = expires_at.filter(|it| now >= *it) {
            return Err(Refusal::KeyExpired { at });
        }
        if let Some(uses) = &self.uses {
            uses.note(key, now);
        }
        let pass = Pass::Key { key_id: key.key_id.clone(), expires_at };
        Ok(Identity { caller: caller_of(key, secret), pass })
    }

    /// Whether what a token or an address was made with would still make one.
    pub(super) fn minter_lives(&self, minter: &str, tenant: &str, set: &CredentialSet) -> bool {
        match minter {
            Pass::OPERATOR => true,
            Pass::LOCAL => self.is_keyless(),
            minter => match minter.strip_prefix(Pass::ISSUER) {
                Some(name) => self.issuers.has(name, tenant),
                None => set.has_key_id(tenant, minter, self.clock.now()),
            },
        }
    }

    pub(super) async fn by_issuer(&self, text: &str) -> Result<Identity, Refusal> {
        let known = self.issuers.identify(text, self.clock.now()).await?;
        let caller = Caller {
            tenant: known.tenant,
            grants: Grants::Scoped(Arc::new(Scoped::of_subject(&known.subject))),
            credential: format!("{}{}:{}", Pass::ISSUER, known.issuer, known.subject),
            subject: Some(known.subject),
            memory: ReadMemory::default(),
        };
        let pass = Pass::External { issuer: known.issuer, expires_at: known.expires_at };
        Ok(Identity { caller, pass })
    }
}

fn caller_of(key: &Key, secret: &Secret) -> Caller {
    let scoped = match (key.subject.as_deref().map(Scoped::of_subject), secret.is_read_only()) {
        (Some(scoped), true) => Some(scoped.only_reading()),
        (None, true) => Some(Scoped::reads_tenant()),
        (scoped, false) => scoped,
    };
    let grants = match scoped {
        _ if secret.is_operator() => Grants::Operator,
        None => Grants::Tenant,
        Some(scoped) => Grants::Scoped(Arc::new(scoped)),
    };
    let (tenant, subject) = (key.tenant.clone(), key.subject.clone());
    let memory = ReadMemory::default();
    Caller { tenant, subject, grants, credential: key.key_id.clone(), memory }
}

/// A token with every action on the tenant may what a key of the whole tenant may, but make tokens and keys.
pub(super) fn of_token(token: &Token) -> Grants {
    if token.subject.is_none() && token.grants.tenant == Actions::ALL {
        return Grants::Tenant;
    }
    Grants::Scoped(Arc::clone(&token.grants).under_every_label(token.subject.as_deref()))
}
