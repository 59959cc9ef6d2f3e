//! `threadkeep token mint | revoke | rotate-secrets`: for whoever has the database, beside a running server or without one.

use crate::auth::tokens::{mint_with, remember};
use crate::config::{MintToken, ReportFormat, Token};
use crate::domain::caller::{Caller, check_tenant};
use crate::domain::clock::Clock;
use crate::domain::storage::Storage;
use crate::domain::time::rfc3339;
use crate::domain::token::{self, Doomed, MintRequest, Pass, TokenId};
use crate::domain::{Error, Result};
use crate::http::{MintedToken, grants};

use super::{open_beside, print};

pub(super) async fn run(command: Token) -> Result<()> {
    let (Token::Mint(MintToken { database, tenant, .. })
    | Token::Revoke { database, tenant, .. }
    | Token::RotateSecrets { database, tenant }) = &command;
    check_tenant(tenant)?;
    let storage = open_beside(database).await?;
    let done = match &command {
        Token::Mint(command) => mint(storage.as_ref(), command).await,
        Token::Revoke { tenant, token_id, .. } => revoke(storage.as_ref(), tenant, token_id).await,
        Token::RotateSecrets { tenant, .. } => rotate(storage.as_ref(), tenant).await,
    };
    storage.close().await;
    print(&done?)
}

async fn mint(storage: &dyn Storage, command: &MintToken) -> Result<String> {
    let grants = command.grants.as_deref().map(|json| grants::parse("--grants", json));
    let request = MintRequest {
        subject: command.subject.clone(),
        grants: grants.transpose()?,
        ttl_seconds: command.ttl_seconds,
    };
    let now = Clock::System.now();
    let token = token::mint(&Caller::of_tenant(&command.tenant), &Pass::Operator, request, now)?;
    let minted = mint_with(storage, token, now).await?;
    if command.format == ReportFormat::Json {
        let json = serde_json::to_string_pretty(&MintedToken::from(minted));
        return json.map(|it| it + "\n").map_err(|error| Error::Internal(error.to_string()));
    }
    eprintln!("{}, valid until {}", minted.token.token_id, rfc3339(minted.token.expires_at));
    Ok(format!("{}\n", minted.text))
}

async fn revoke(storage: &dyn Storage, tenant: &str, token_id: &str) -> Result<String> {
    let now = Clock::System.now();
    let doomed = Doomed::ById(TokenId::parse("--token-id", token_id)?);
    let revoked = token::revoke(&Caller::of_tenant(tenant), &Pass::Operator, doomed, now)?;
    remember(storage, tenant, revoked, now, u64::MAX).await?;
    Ok(format!("revoked {token_id}\n"))
}

async fn rotate(storage: &dyn Storage, tenant: &str) -> Result<String> {
    let count = storage.delete_signing_secrets(tenant).await?;
    Ok(format!("removed {count} signing secrets of {tenant}; its tokens are void\n"))
}
