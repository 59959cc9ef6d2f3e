//! `threadkeep keys create | list | revoke`. The only place where a key's text is ever shown.

use crate::auth::secret::Secret;
use crate::config::Keys;
use crate::domain::audit::{Act, ActKind};
use crate::domain::caller::{check_subject, check_tenant};
use crate::domain::clock::{Clock, random_hex};
use crate::domain::key::Key;
use crate::domain::storage::Storage;
use crate::domain::time::rfc3339;
use crate::domain::{Error, Result};

use super::{open_beside, print};

pub(super) async fn run(command: Keys) -> Result<()> {
    let (Keys::Create { database, tenant, .. }
    | Keys::List { database, tenant }
    | Keys::Revoke { database, tenant, .. }) = &command;
    check_tenant(tenant)?;
    let storage = open_beside(database).await?;
    let done = match &command {
        Keys::Create { tenant, subject, .. } => {
            create(storage.as_ref(), tenant, subject.as_deref()).await
        }
        Keys::List { tenant, .. } => list(storage.as_ref(), tenant).await,
        Keys::Revoke { tenant, key_id, .. } => revoke(storage.as_ref(), tenant, key_id).await,
    };
    storage.close().await;
    print(&done?)
}

async fn create(storage: &dyn Storage, tenant: &str, subject: Option<&str>) -> Result<String> {
    check_subject("--subject", subject)?;
    let secret = Secret::random();
    let key = Key {
        key_id: format!("key_{}", random_hex()),
        tenant: tenant.to_owned(),
        subject: subject.map(str::to_owned),
        hash: secret.hash(),
        created_at: Clock::System.now(),
        revoked_at: None,
    };
    let act = Act::of_operator(tenant, ActKind::KeyCreated, &key.key_id, key.created_at);
    storage.create_key(&key, &act).await?;
    Ok(format!("{}\n", secret.text()))
}

async fn list(storage: &dyn Storage, tenant: &str) -> Result<String> {
    let keys = storage.list_keys(tenant).await?;
    let line = |key: &Key| {
        let subject = key.subject.as_deref().unwrap_or("-");
        let revoked = key.revoked_at.map_or_else(|| "active".into(), rfc3339);
        format!("{}\t{subject}\t{}\t{revoked}\n", key.key_id, rfc3339(key.created_at))
    };
    Ok(keys.iter().map(line).collect())
}

async fn revoke(storage: &dyn Storage, tenant: &str, key_id: &str) -> Result<String> {
    let act = Act::of_operator(tenant, ActKind::KeyRevoked, key_id, Clock::System.now());
    if storage.revoke_key(tenant, key_id, &act).await? {
        return Ok(format!("revoked {key_id}\n"));
    }
    Err(Error::NotFound("an active key of this tenant with this id was"))
}
