//! Tests keys of tenants.

use std::sync::Arc;

use threadkeep::auth::authenticator::Authenticator;
use threadkeep::auth::issuers::Issuers;
use threadkeep::auth::operators::{Bootstrap, bootstrap, bootstrap_secret};
use threadkeep::auth::secret::{Secret, Terms};
use threadkeep::domain::clock::{Clock, SECOND};
use threadkeep::domain::storage::Storage;
use threadkeep::domain::tenants::audit::{Act, ActKind};
use threadkeep::domain::tenants::erasure::Erasures;
use threadkeep::domain::tenants::operators::OPERATORS;
use threadkeep::domain::tenants::tenant::Time;
use threadkeep::domain::tokens::key::{Key, KeyCursor, KeyQuery, ShownKey};
use threadkeep::domain::tokens::key_uses::KeyUse;
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
        expires_at: None,
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
        let named = ShownKey {
            name: Some(format!("ü {at}")),
            prefix: Some("tkr_abcde".into()),
            ..ShownKey::default()
        };
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

pub async fn a_key_keeps_its_end_and_the_day_of_its_last_use(h: Harness) {
    let act = Act::of_operator("a", ActKind::KeyCreated, "", 1);
    let ends = Key { expires_at: Some(7_000_000), ..key("a", "key_1", 1) };
    let keys = [ends, key("a", "key_2", 2), key("b", "key_1", 3)];
    for key in &keys {
        h.storage.create_key(key, &act).await.unwrap();
    }
    let mut active = h.storage.load_credentials().await.unwrap().keys;
    active.sort_by_key(|it| it.created_at);
    assert_eq!(active, keys);
    let on = |tenant: &str, key_id: &str, day| KeyUse {
        tenant: tenant.into(),
        key_id: key_id.into(),
        day,
    };
    h.storage.put_key_uses(&[]).await.unwrap();
    for uses in [
        vec![on("a", "key_1", 20_000), on("a", "key_none", 20_000), on("c", "key_1", 20_000)],
        vec![on("a", "key_1", 19_999), on("a", "key_2", 20_001)],
        vec![on("a", "key_2", 20_002)],
    ] {
        h.storage.put_key_uses(&uses).await.unwrap();
    }
    let listed = h.storage.list_keys("a", &KeyQuery::ALL).await.unwrap();
    let shown = |it: &Key| (it.expires_at, it.shown.last_used_day);
    let of_a: Vec<_> = listed.iter().map(shown).collect();
    assert_eq!(of_a, [(Some(7_000_000), Some(20_000)), (None, Some(20_002))]);
    let of_b = h.storage.list_keys("b", &KeyQuery::ALL).await.unwrap();
    assert_eq!(shown(&of_b[0]), (None, None), "of another tenant, with the same id");
    // What decides is as it was.
    let mut active = h.storage.load_credentials().await.unwrap().keys;
    active.sort_by_key(|it| it.created_at);
    assert_eq!(active, keys);
}

pub async fn a_key_that_ended_long_ago_is_revoked_by_the_sweep(h: Harness) {
    let act = Act::of_operator("a", ActKind::KeyCreated, "", 1);
    let end = 7_000_000;
    let ends = Key { expires_at: Some(end), ..key("a", "key_1", 1) };
    let later = Key { expires_at: Some(end + 10), ..key("a", "key_2", 2) };
    let keys = [ends, later, key("a", "key_3", 3), key("b", "key_1", 4)];
    for key in &keys {
        h.storage.create_key(key, &act).await.unwrap();
    }
    let active = async || {
        let mut active = h.storage.load_credentials().await.unwrap().keys;
        active.sort_by_key(|it| it.created_at);
        active
    };
    h.storage.sweep(end + Key::TOLD_FOR).await.unwrap();
    assert_eq!(active().await, keys);
    h.storage.sweep(end + Key::TOLD_FOR + 1).await.unwrap();
    assert_eq!(active().await, keys[1..]);
    let listed = h.storage.list_keys("a", &KeyQuery::ALL).await.unwrap();
    assert_eq!((listed[0].revoked_at, listed[1].revoked_at), (Some(end), None));
    assert_eq!(h.storage.count_keys("a").await.unwrap(), 2);
    assert!(!h.storage.revoke_key("a", "key_1", &act).await.unwrap(), "it is already");
}

pub async fn an_expired_key_keeps_the_database_from_being_keyless(h: Harness) {
    let act = Act::of_operator("a", ActKind::KeyCreated, "", 1);
    let ends = Key { expires_at: Some(1), ..key("a", "key_1", 1) };
    h.storage.create_key(&ends, &act).await.unwrap();
    let opened = async |reopens| {
        let storage: Arc<dyn CredentialStorage> = Arc::<dyn Storage>::clone(&h.storage);
        let listen = "127.0.0.1:7070".parse().unwrap();
        let authenticator =
            Authenticator::load(storage, Arc::new(Clock::System), listen, Issuers::default());
        let authenticator = authenticator.await.unwrap().reopening(reopens);
        (authenticator.is_keyless(), authenticator.is_closed())
    };
    assert_eq!(opened(false).await, (false, true));
    // Nobody revoked it: the time without keys does not come back at a moment that nobody chose.
    assert_eq!(opened(true).await, (false, true));
    assert!(h.storage.revoke_key("a", "key_1", &act).await.unwrap());
    assert_eq!(opened(true).await, (true, false));
}

fn operator() -> Secret {
    Secret::with(Terms { is_operator: true, ..Terms::default() })
}

pub async fn the_first_key_of_an_operator_is_made_once(h: Harness) {
    let storage = h.storage.as_ref();
    let (first, second) = (operator(), operator());
    assert_eq!(bootstrap(storage, &first, 1).await.unwrap(), Bootstrap::Made);
    assert!(storage.has_key(&first.hash()).await.unwrap());
    assert!(!is_keyless(&h).await, "an operator's key is a key");
    assert_eq!(bootstrap(storage, &first, 2).await.unwrap(), Bootstrap::Known);
    assert_eq!(bootstrap(storage, &second, 2).await.unwrap(), Bootstrap::Unneeded);
    let listed = storage.list_keys(OPERATORS, &KeyQuery::ALL).await.unwrap();
    assert_eq!(listed.len(), 1);
    assert!(storage.list_tenants("", 9, Time::Unlimited).await.unwrap().is_empty());
    let act = Act::of_operator(OPERATORS, ActKind::KeyRevoked, "", 3);
    assert!(storage.revoke_key(OPERATORS, &listed[0].key_id, &act).await.unwrap());
    // A start with the key that was revoked does not bring it back; another key takes its place.
    assert_eq!(bootstrap(storage, &first, 4).await.unwrap(), Bootstrap::Known);
    assert!(!storage.has_key(&first.hash()).await.unwrap());
    assert_eq!(bootstrap(storage, &second, 4).await.unwrap(), Bootstrap::Made);
    let ended =
        Secret::with(Terms { is_operator: true, expires_at: Some(SECOND), read_only: false });
    assert!(bootstrap_secret("KEY", ended.text(), SECOND - 1).is_ok());
    for text in ["", "tko_short", ended.text(), Secret::random().text()] {
        let refused = bootstrap_secret("KEY", text, SECOND).unwrap_err().to_string();
        assert!(
            refused.contains("KEY") && (text.is_empty() || !refused.contains(text)),
            "{refused}"
        );
    }
}

pub async fn of_servers_that_start_together_one_makes_the_first_key_of_an_operator(h: Harness) {
    let (secret, storage) = (operator(), h.storage.as_ref());
    let starts = (0..8).map(|_| bootstrap(storage, &secret, 1));
    let done = futures::future::join_all(starts).await;
    let made = done.iter().filter(|it| matches!(it, Ok(Bootstrap::Made))).count();
    assert!(made == 1 && done.iter().all(Result::is_ok), "{done:?}");
    let listed = storage.list_keys(OPERATORS, &KeyQuery::ALL).await.unwrap();
    assert_eq!(listed.len(), 1);
}
