//! Makes and revokes tokens: signs tokens and stores revocations, as [`crate::domain::tokens::token`] decides.

use std::sync::Arc;

use super::authenticator::{Authenticator, Identity};
use super::signed_url::{self, SignedUrl};
use super::token_text;
use crate::domain::caller::Caller;
use crate::domain::clock::{Clock, Micros};
use crate::domain::limits::LIMITS;
use crate::domain::tenants::audit::{self, Act, ActKind, AuditStorage, EventCursor, EventQuery};
use crate::domain::tokens::credential::{Revocation, SigningSecret};
use crate::domain::tokens::storage::CredentialStorage;
use crate::domain::tokens::token::{
    self, Doomed, LiveToken, MintRequest, NarrowRequest, RevokedToken, Token, TokenId,
};
use crate::domain::{Error, Result};

/// A token and its text, which exists nowhere else.
pub struct Minted {
    pub text: String,
    pub token: Token,
}

/// A token to revoke, as callers name it.
#[derive(Debug, Clone)]
pub enum Named {
    /// The one that was presented.
    Own,
    ById(TokenId),
    ByText(String),
}

/// The token calls of a server.
pub struct Tokens {
    storage: Arc<dyn CredentialStorage>,
    audit: Arc<dyn AuditStorage>,
    authenticator: Arc<Authenticator>,
    clock: Arc<Clock>,
}

impl Tokens {
    pub fn new(
        storage: Arc<dyn CredentialStorage>,
        audit: Arc<dyn AuditStorage>,
        authenticator: Arc<Authenticator>,
        clock: Arc<Clock>,
    ) -> Self {
        Self { storage, audit, authenticator, clock }
    }

    /// One transaction, for the audit log, before the token is handed out; another one for the first token of a tenant in
    /// thirty days.
    ///
    /// # Errors
    /// As [`token::mint`]; `TooLarge`; `Unavailable`.
    pub async fn mint(&self, identity: &Identity, request: MintRequest) -> Result<Minted> {
        let now = self.clock.now();
        let Identity { caller, pass } = identity;
        let minted = self.sign(token::mint(caller, pass, request, now)?, now).await?;
        self.audit.record_act(&minted.token.minted_by(caller)).await?;
        Ok(minted)
    }

    /// The tokens of the tenant that keys, the command line and local programs made lately and that are still valid, newest first. Those
    /// that were narrowed from them are in no table. A page may be short where the next one has more.
    ///
    /// # Errors
    /// `NotGranted` without the whole tenant; a storage that cannot be read.
    pub async fn list(
        &self,
        caller: &Caller,
        limit: usize,
        after: Option<EventCursor>,
    ) -> Result<(Vec<LiveToken>, Option<EventCursor>)> {
        caller.require_tenant_read()?;
        let now = self.clock.now();
        // Older ones have expired.
        let since = Some(token::oldest_alive(now));
        let act = Some(ActKind::TokenMinted);
        let query = EventQuery { since, until: None, act, limit, after };
        let page = audit::list(self.audit.as_ref(), &caller.tenant, query).await?;
        let rotated_at = self.rotated_at(&caller.tenant, since).await?;
        let mut tokens: Vec<LiveToken> = page.events.iter().filter_map(LiveToken::of).collect();
        let is_let_in =
            |it: &LiveToken| self.authenticator.lets_in(&caller.tenant, &it.minter, it.token_id);
        tokens.retain(|it| now < it.expires_at && Some(it.minted_at) > rotated_at && is_let_in(it));
        Ok((tokens, page.next))
    }

    /// When the tenant's tokens were all made void the last time.
    async fn rotated_at(&self, tenant: &str, since: Option<Micros>) -> Result<Option<Micros>> {
        let act = Some(ActKind::SecretsRotated);
        let query = EventQuery { since, until: None, act, limit: 1, after: None };
        let page = audit::list(self.audit.as_ref(), tenant, query).await?;
        Ok(page.events.first().map(|it| it.at))
    }

    /// No round trip to the database, but one for the first token of a tenant in thirty days: what a token may do at most was
    /// written when it was minted.
    ///
    /// # Errors
    /// As [`token::narrow`]; `TooLarge`; `Unavailable`.
    pub async fn narrow(&self, identity: &Identity, request: NarrowRequest) -> Result<Minted> {
        let now = self.clock.now();
        self.sign(token::narrow(&identity.caller, &identity.pass, request, now)?, now).await
    }

    /// One transaction. This server refuses the token and all that come from it at once, others within two seconds.
    ///
    /// # Errors
    /// As [`token::revoke`]; 422 when tokens have revoked too many; `Unavailable`.
    pub async fn revoke(&self, identity: &Identity, named: Named) -> Result<RevokedToken> {
        let now = self.clock.now();
        let Identity { caller, pass } = identity;
        let doomed = match &named {
            Named::Own => token::revoke(caller, pass, Doomed::Own, now)?,
            Named::ById(id) => token::revoke(caller, pass, Doomed::ById(*id), now)?,
            Named::ByText(text) => {
                // A text that is no token and a token of somebody else look the same.
                let unknown = Error::NotFound("such a token of yours was");
                let shown = self.authenticator.open_token(text).ok_or(unknown)?;
                token::revoke(caller, pass, Doomed::Shown(&shown), now)?
            }
        };
        let rows_max = match caller.require_tenant_write() {
            Ok(()) => u64::MAX,
            Err(_) => LIMITS.token_revocations_max,
        };
        let act = Act::of(caller, ActKind::TokenRevoked, doomed.token_id.to_string(), now);
        remember(self.storage.as_ref(), doomed, rows_max, &act).await?;
        self.authenticator.refresh_or_poll().await;
        Ok(doomed)
    }

    /// The text of an address. As for tokens: no round trip but for the first in thirty days.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn sign_url(&self, url: &SignedUrl) -> Result<String> {
        let now = self.clock.now();
        let made_after = now - SigningSecret::SIGNS_FOR;
        if let Some(secret) = self.authenticator.signing_secret(&url.tenant, made_after) {
            return Ok(signed_url::seal(url, &secret));
        }
        let fresh = SigningSecret::random(&url.tenant, now);
        let secret = self.storage.put_signing_secret(&fresh, made_after).await?;
        self.authenticator.refresh().await?;
        Ok(signed_url::seal(url, &secret))
    }

    async fn sign(&self, token: Token, now: Micros) -> Result<Minted> {
        let made_after = now - SigningSecret::SIGNS_FOR;
        if let Some(secret) = self.authenticator.signing_secret(&token.tenant, made_after) {
            return Ok(Minted { text: token_text::seal(&token, &secret)?, token });
        }
        let minted = mint_with(self.storage.as_ref(), token, now).await?;
        self.authenticator.refresh().await?;
        Ok(minted)
    }
}

/// Signs a token with what the database has.
///
/// # Errors
/// `TooLarge`; `Unavailable`.
pub async fn mint_with(
    storage: &dyn CredentialStorage,
    token: Token,
    now: Micros,
) -> Result<Minted> {
    let fresh = SigningSecret::random(&token.tenant, now);
    let secret = storage.put_signing_secret(&fresh, now - SigningSecret::SIGNS_FOR).await?;
    Ok(Minted { text: token_text::seal(&token, &secret)?, token })
}

/// Writes a revocation, with the act that it is.
///
/// # Errors
/// 422 when the tenant has `rows_max` already, or the token's chain its share; `Unavailable`.
pub async fn remember(
    storage: &dyn CredentialStorage,
    doomed: RevokedToken,
    rows_max: u64,
    act: &Act,
) -> Result<()> {
    let RevokedToken { token_id, expires_at, chain } = doomed;
    let tenant = act.tenant.clone();
    let revocation = Revocation { tenant, token_id, chain, expires_at, revoked_at: act.at };
    if storage.revoke_token(&revocation, rows_max, act).await? {
        return Ok(());
    }
    let of_chain = LIMITS.token_revocations_per_chain_max;
    let detail = format!(
        "the tenant has {rows_max} revoked tokens that have not expired, or {of_chain} of them were narrowed from the same token: \
         revoke that one, or use a key of the whole tenant"
    );
    Err(Error::out_of_range("token_id", detail, rows_max))
}
