//! Implements `threadkeep token mint | revoke | rotate-secrets`, for operators with access to the database. Works with or without a server.

use crate::auth::authenticator::Identity;
use crate::auth::tokens::{Minted, mint_with, remember};
use crate::config::{MintToken, Token};
use crate::domain::Result;
use crate::domain::caller::{Caller, check_tenant};
use crate::domain::clock::Clock;
use crate::domain::storage::Storage;
use crate::domain::tenants::audit::{Act, ActKind};
use crate::domain::time::rfc3339;
use crate::domain::tokens::token::{self, Doomed, MintRequest, Pass, TokenId};
use crate::http::tokens::grants;
use crate::http::{MintedToken, RevokedToken, RotatedSecrets};

use super::form::{Answer, Form};
use super::opening::open_existing;
use super::tenants;

pub(super) async fn run(command: Token, form: Form) -> Result<()> {
    let (Token::Mint(MintToken { database, tenant, .. })
    | Token::Revoke { database, tenant, .. }
    | Token::RotateSecrets { database, tenant }) = &command;
    check_tenant(tenant)?;
    let storage = open_existing(database, None).await?;
    let form = match &command {
        Token::Mint(mint) => form.or(mint.format),
        _ => form,
    };
    let done = carry_out(form, storage.as_ref(), tenant, &command).await;
    storage.close().await;
    form.print(&done?)
}

async fn carry_out(
    form: Form,
    storage: &dyn Storage,
    tenant: &str,
    command: &Token,
) -> Result<Answer> {
    match command {
        Token::Mint(command) => mint(form, storage, command).await,
        Token::Revoke { token_id, .. } => revoke(storage, tenant, token_id).await,
        Token::RotateSecrets { .. } => rotate(storage, tenant).await,
    }
}

async fn mint(form: Form, storage: &dyn Storage, command: &MintToken) -> Result<Answer> {
    let grants = command.grants.as_deref().map(|json| grants::parse("--grants", json));
    let request = MintRequest {
        subject: command.subject.clone(),
        grants: grants.transpose()?,
        read_only: command.read_only,
        ttl_seconds: command.ttl_seconds,
    };
    let minted = mint_by_operator(storage, &command.tenant, request).await?;
    if form == Form::Text {
        eprintln!("{}, valid until {}", minted.token.token_id, rfc3339(minted.token.expires_at));
    }
    Answer::new(format!("{}\n", minted.text), &MintedToken::from(minted))
}

/// A token that no key made: nothing ends it with a key.
///
/// # Errors
/// As [`token::mint`]; `TenantMissing`; `TooLarge`; a database that cannot be written.
pub(super) async fn mint_by_operator(
    storage: &dyn Storage,
    tenant: &str,
    request: MintRequest,
) -> Result<Minted> {
    let now = Clock::System.now();
    let Identity { caller, pass } = Identity::operator(tenant);
    let token = token::mint(&caller, &pass, request, now)?;
    tenants::require(storage, tenant).await?;
    let minted = mint_with(storage, token, now).await?;
    storage.record_act(&minted.token.minted_by(&caller)).await?;
    Ok(minted)
}

async fn revoke(storage: &dyn Storage, tenant: &str, token_id: &str) -> Result<Answer> {
    let now = Clock::System.now();
    let doomed = Doomed::ById(TokenId::parse("--token-id", token_id)?);
    let revoked = token::revoke(&Caller::of_tenant(tenant), &Pass::Operator, doomed, now)?;
    tenants::require(storage, tenant).await?;
    let act = Act::of_operator(tenant, ActKind::TokenRevoked, token_id, now);
    remember(storage, revoked, u64::MAX, &act).await?;
    let value = RevokedToken { token_id: token_id.to_owned() };
    Answer::new(format!("revoked {token_id}\n"), &value)
}

async fn rotate(storage: &dyn Storage, tenant: &str) -> Result<Answer> {
    tenants::require(storage, tenant).await?;
    let act = Act::of_operator(tenant, ActKind::SecretsRotated, "", Clock::System.now());
    let removed = storage.delete_signing_secrets(tenant, &act).await?;
    let text = format!("removed {removed} signing secrets of {tenant}; its tokens are void\n");
    Answer::new(text, &RotatedSecrets { removed })
}
