//! Implements `threadkeep keys create | list | revoke`. Only this file ever shows a key's text: on standard output, with nothing else.

use crate::auth::authenticator::{KEYLESS_TENANT, POLL_EVERY};
use crate::auth::secret::Secret;
use crate::config::Keys;
use crate::domain::caller::{check_subject, check_tenant};
use crate::domain::clock::{Clock, random_hex};
use crate::domain::storage::Storage;
use crate::domain::tenants::audit::{Act, ActKind};
use crate::domain::time::rfc3339;
use crate::domain::tokens::key::Key;
use crate::domain::{Error, Result};

use super::opening::{open_existing, open_or_make};
use super::{print, tenants};

pub(super) async fn run(command: Keys) -> Result<()> {
    let (Keys::Create { database, tenant, .. }
    | Keys::List { database, tenant }
    | Keys::Revoke { database, tenant, .. }) = &command;
    check_tenant(tenant)?;
    let storage = match &command {
        Keys::Create { .. } => open_or_make(database, None).await?,
        _ => open_existing(database, None).await?,
    };
    let done = carry_out(storage.as_ref(), &command).await;
    storage.close().await;
    print(&done?)
}

async fn carry_out(storage: &dyn Storage, command: &Keys) -> Result<String> {
    match command {
        Keys::Create { tenant, subject, .. } => {
            let made = create(storage, tenant, subject.as_deref());
            tenants::telling_new(storage, tenant, made).await
        }
        Keys::List { tenant, .. } => {
            tenants::require(storage, tenant).await?;
            list(storage, tenant).await
        }
        Keys::Revoke { tenant, key_id, .. } => {
            tenants::require(storage, tenant).await?;
            revoke(storage, tenant, key_id).await
        }
    }
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
    let is_first = storage.load_credentials().await?.keys.is_empty();
    let act = Act::of_operator(tenant, ActKind::KeyCreated, &key.key_id, key.created_at);
    storage.create_key(&key, &act).await?;
    if is_first {
        eprint!("{}", about_the_first(tenant, subject));
    }
    Ok(format!("{}\n", secret.text()))
}

/// What becomes of those who came without a key, and of what they kept.
fn about_the_first(tenant: &str, subject: Option<&str>) -> String {
    let kept = match (tenant, subject) {
        (KEYLESS_TENANT, None) => "this key opens it".to_owned(),
        _ => format!(
            "this key does not open it, a key of that tenant does:\n  threadkeep keys create --tenant {KEYLESS_TENANT}"
        ),
    };
    format!(
        "threadkeep: this is the first key of this database. From now on every request needs a key: servers answer 401 to \
         clients without one, within {} seconds at the latest.\n\
         threadkeep: what was kept without a key is in tenant `{KEYLESS_TENANT}`; {kept}\n",
        POLL_EVERY.as_secs()
    )
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

#[cfg(test)]
mod tests {
    use super::about_the_first;

    #[test]
    fn the_first_key_says_what_becomes_of_clients_and_data_without_one() {
        let said = about_the_first("acme", None);
        for part in
            ["first key", "401", "tenant `default`", "threadkeep keys create --tenant default"]
        {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert!(about_the_first("default", None).contains("this key opens it"));
        assert!(about_the_first("default", Some("ann")).contains("does not open it"));
    }
}
