//! Implements `threadkeep keys create | list | revoke`. Shows a key's text on standard output, with nothing else.

use crate::auth::authenticator::{Identity, KEYLESS_TENANT, POLL_EVERY};
use crate::auth::keys;
use crate::config::Keys;
use crate::domain::Result;
use crate::domain::clock::Clock;
use crate::domain::storage::Storage;
use crate::domain::tenants::journal::Journal;
use crate::domain::tenants::operators::Whose;
use crate::domain::time::{date, rfc3339};
use crate::domain::tokens::key::{CreateKey, Key, KeyQuery, RevokeKey};
use crate::http::{CreatedKeyOut, KeyOut, RevokedKeyOut};

use super::form::{Answer, Form};
use super::opening::{journal, open_existing, open_or_make};
use super::tenants;

pub(super) async fn run(command: Keys, form: Form) -> Result<()> {
    let (Keys::Create { database, whose, .. }
    | Keys::List { database, whose }
    | Keys::Revoke { database, whose, .. }) = &command;
    let whose = Whose::of(whose.tenant.clone(), whose.operator)?;
    let journal = journal(database)?;
    let storage = match &command {
        Keys::Create { .. } => open_or_make(database, None).await?,
        _ => open_existing(database, None).await?,
    };
    let done = carry_out(form, (storage.as_ref(), &journal), &whose, &command).await;
    storage.close().await;
    form.print(&done?)
}

async fn carry_out(
    form: Form,
    (storage, journal): (&dyn Storage, &Journal),
    whose: &Whose,
    command: &Keys,
) -> Result<Answer> {
    let tenant = whose.name();
    match command {
        Keys::Create { subject, name, read_only, ttl_seconds, .. } => {
            let (name, subject) = (name.clone(), subject.clone());
            let (read_only, ttl_seconds) = (*read_only, *ttl_seconds);
            let request = CreateKey { name, subject, read_only, ttl_seconds };
            let made = create(form, storage, tenant, request);
            match whose {
                Whose::Tenant(_) => tenants::telling_new(form, storage, tenant, made).await,
                Whose::Operators => made.await,
            }
        }
        Keys::List { .. } => {
            require(storage, whose).await?;
            list(storage, tenant).await
        }
        Keys::Revoke { key_id, .. } => {
            require(storage, whose).await?;
            revoke(storage, journal, tenant, key_id).await
        }
    }
}

/// There need not be an operator.
async fn require(storage: &dyn Storage, whose: &Whose) -> Result<()> {
    match whose {
        Whose::Tenant(tenant) => tenants::require(storage, tenant).await,
        Whose::Operators => Ok(()),
    }
}

async fn create(
    form: Form,
    storage: &dyn Storage,
    tenant: &str,
    request: CreateKey,
) -> Result<Answer> {
    let is_first = storage.load_credentials().await?.keys.is_empty();
    let subject = request.subject.clone();
    let operator = Identity::operator(tenant);
    let created = keys::create(storage, &operator, request, Clock::System.now()).await?;
    if is_first {
        for note in about_the_first(tenant, subject.as_deref()) {
            form.note(&note);
        }
    }
    Answer::new(format!("{}\n", created.secret.text()), &CreatedKeyOut::of(created))
}

/// What becomes of those who came without a key, and of what they kept.
fn about_the_first(tenant: &str, subject: Option<&str>) -> [String; 2] {
    let kept = match (tenant, subject) {
        (KEYLESS_TENANT, None) => "this key opens it".to_owned(),
        _ => format!(
            "this key does not open it, a key of that tenant does:\n  threadkeep keys create --tenant {KEYLESS_TENANT}"
        ),
    };
    let first = format!(
        "this is the first key of this database. From now on every request needs a key: servers answer 401 to clients without \
         one, within {} seconds at the latest.",
        POLL_EVERY.as_secs()
    );
    [first, format!("what was kept without a key is in tenant `{KEYLESS_TENANT}`; {kept}")]
}

async fn list(storage: &dyn Storage, tenant: &str) -> Result<Answer> {
    let keys = storage.list_keys(tenant, &KeyQuery::ALL).await?;
    let line = |key: &Key| {
        let told = |text: &Option<String>| text.as_deref().unwrap_or("-").to_owned();
        let (subject, revoked) = (told(&key.subject), key.revoked_at.map(rfc3339));
        let revoked = revoked.unwrap_or_else(|| "active".into());
        let (prefix, name) = (told(&key.shown.prefix), told(&key.shown.name));
        let created = rfc3339(key.created_at);
        let (expires, used) = (key.expires_at.map(rfc3339), key.shown.last_used_day.map(date));
        let (expires, used) = (told(&expires), told(&used));
        format!(
            "{}\t{subject}\t{created}\t{revoked}\t{prefix}\t{name}\t{expires}\t{used}\n",
            key.key_id
        )
    };
    let lines: String = keys.iter().map(line).collect();
    Answer::new(lines, &keys.into_iter().map(KeyOut::of).collect::<Vec<_>>())
}

async fn revoke(
    storage: &dyn Storage,
    journal: &Journal,
    tenant: &str,
    key_id: &str,
) -> Result<Answer> {
    let request = RevokeKey { key_id: key_id.to_owned(), own: false };
    let operator = Identity::operator(tenant);
    keys::revoke(storage, journal, &operator, &request, Clock::System.now()).await?;
    let key_id = request.key_id;
    Answer::new(format!("revoked {key_id}\n"), &RevokedKeyOut { key_id })
}

#[cfg(test)]
mod tests {
    use super::about_the_first;

    #[test]
    fn the_first_key_says_what_becomes_of_clients_and_data_without_one() {
        let said = about_the_first("acme", None).join("\n");
        for part in
            ["first key", "401", "tenant `default`", "threadkeep keys create --tenant default"]
        {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert!(about_the_first("default", None)[1].contains("this key opens it"));
        assert!(about_the_first("default", Some("ann"))[1].contains("does not open it"));
    }
}
