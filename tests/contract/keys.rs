//! Tests keys of tenants.

use std::sync::Arc;

use threadkeep::auth::authenticator::Authenticator;
use threadkeep::auth::issuers::Issuers;
use threadkeep::domain::clock::Clock;
use threadkeep::domain::storage::Storage;
use threadkeep::domain::tenants::audit::{Act, ActKind};
use threadkeep::domain::tenants::erasure::Erasures;
use threadkeep::domain::tokens::key::{Key, KeyCursor, KeyQuery, ShownKey};
use threadkeep::domain::tokens::storage::CredentialStorage;

use crate::harness::Harness;

fn key(tenant: &str, key_id: &str, created_at: i64) -> Key {
    let subject = (created_at > 1).then(|| "subject".to_owned());
    let hash = [u8::try_from(created_at).unwrap(); 32];
    Key {
        key_id: key_id.into(),
        tenant: tenant.into(),
        subject,
        hash,
        created_at,
        revoked_at: None,
        shown: ShownKey::default(),
    }
}

pub async fn keys_are_made_listed_and_revoked(h: Harness) {
    let keys = [key("a", "key_2", 1), key("a", "key_1", 2), key("b", "key_1", 3)];
    let act = Act::of_operator("a", ActKind::KeyCreated, "", 1);
    for key in &keys {
        h.storage.create_key(key, &act).await.unwrap();
    }
    assert_eq!(h.storage.list_keys("a", &KeyQuery::ALL).await.unwrap(), keys[..2]);
    assert!(h.storage.list_keys("c", &KeyQuery::ALL).await.unwrap().is_empty());
    let mut active = h.storage.load_credentials().await.unwrap().keys;
    active.sort_by_key(|it| it.created_at);
    assert_eq!(active, keys);
    assert!(h.storage.revoke_key("a", "key_1", &act).await.unwrap());
    assert!(!h.storage.revoke_key("a", "key_1", &act).await.unwrap(), "only once");
    assert!(!h.storage.revoke_key("c", "key_1", &act).await.unwrap());
    let active = h.storage.load_credentials().await.unwrap().keys;
    assert_eq!(active.len(), 2);
    assert!(active.contains(&keys[0]) && active.contains(&keys[2]));
    for (key, is_active) in keys.iter().zip([true, false, true]) {
        assert_eq!(h.storage.has_key(&key.hash).await.unwrap(), is_active, "{}", key.key_id);
    }
    assert!(!h.storage.has_key(&[9; 32]).await.unwrap());
    let listed = h.storage.list_keys("a", &KeyQuery::ALL).await.unwrap();
    assert!(listed[1].revoked_at.is_some() && listed[0].revoked_at.is_none());
}

pub async fn keys_are_listed_in_pages_with_what_they_are_called(h: Harness) {
    let act = Act::of_operator("a", ActKind::KeyCreated, "", 1);
    let mut keys = Vec::new();
    // Two at a time.
    for at in 0..7 {
        let named = ShownKey { name: Some(format!("ü {at}")), prefix: Some("tkr_abcde".into()) };
        let shown = if at % 3 == 0 { ShownKey::default() } else { named };
        let made = key("a", &format!("key_{}", 9 - at), 2 + i64::from(at) / 2);
        keys.push(Key { shown, hash: [u8::try_from(at).unwrap(); 32], ..made });
    }
    for key in &keys {
        h.storage.create_key(key, &act).await.unwrap();
    }
    h.storage.create_key(&key("b", "key_5", 1), &act).await.unwrap();
    assert_eq!(h.storage.count_keys("a").await.unwrap(), 7);
    assert!(h.storage.revoke_key("a", "key_9", &act).await.unwrap());
    assert_eq!(h.storage.count_keys("a").await.unwrap(), 6, "it is revoked");
    assert_eq!(h.storage.count_keys("c").await.unwrap(), 0);
    let (mut listed, mut query) = (Vec::new(), KeyQuery { limit: 2, after: None });
    loop {
        let page = h.storage.list_keys("a", &query).await.unwrap();
        assert!(page.len() <= 2);
        let Some(last) = page.last() else { break };
        query.after = Some(KeyCursor { created_at: last.created_at, key_id: last.key_id.clone() });
        listed.extend(page);
    }
    keys.sort_by_key(|it| (it.created_at, it.key_id.clone()));
    for it in &mut listed {
        assert_eq!(it.revoked_at.take().is_some(), it.key_id == "key_9");
    }
    assert_eq!(listed, keys);
}

async fn is_keyless(h: &Harness) -> bool {
    let storage: Arc<dyn CredentialStorage> = Arc::<dyn Storage>::clone(&h.storage);
    let listen = "127.0.0.1:7070".parse().unwrap();
    let authenticator =
        Authenticator::load(storage, Arc::new(Clock::System), listen, Issuers::default());
    authenticator.await.unwrap().is_keyless()
}

pub async fn a_database_that_had_a_key_is_not_keyless_again(h: Harness) {
    assert!(is_keyless(&h).await, "a fresh database is open to local programs");
    let act = Act::of_operator("a", ActKind::KeyCreated, "", 1);
    h.storage.create_key(&key("a", "key_1", 1), &act).await.unwrap();
    assert!(!is_keyless(&h).await);
    assert!(h.storage.revoke_key("a", "key_1", &act).await.unwrap());
    assert!(!is_keyless(&h).await, "its only key was revoked");
}

pub async fn a_database_whose_only_key_was_erased_is_not_keyless_again(h: Harness) {
    let act = Act::of_operator(&h.caller.tenant, ActKind::KeyCreated, "", 1);
    h.storage.create_key(&key(&h.caller.tenant, "key_1", 2), &act).await.unwrap();
    let erasures = Erasures::new(h.storage.clone(), Arc::new(Clock::System));
    erasures.erase(&h.caller, "subject", |_| {}).await.unwrap();
    assert!(!is_keyless(&h).await);
    let listed = h.storage.list_keys(&h.caller.tenant, &KeyQuery::ALL).await.unwrap();
    assert!(listed.iter().all(|it| it.subject.is_none() && it.revoked_at.is_some()), "{listed:?}");
    assert!(!h.storage.has_key(&[2; 32]).await.unwrap());
}
