//! Keys of tenants.

use threadkeep::domain::audit::{Act, ActKind};
use threadkeep::domain::key::Key;

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
    }
}

pub async fn keys_are_made_listed_and_revoked(h: Harness) {
    let keys = [key("a", "key_2", 1), key("a", "key_1", 2), key("b", "key_1", 3)];
    let act = Act::of_operator("a", ActKind::KeyCreated, "", 1);
    for key in &keys {
        h.storage.create_key(key, &act).await.unwrap();
    }
    assert_eq!(h.storage.list_keys("a").await.unwrap(), keys[..2]);
    assert!(h.storage.list_keys("c").await.unwrap().is_empty());
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
    let listed = h.storage.list_keys("a").await.unwrap();
    assert!(listed[1].revoked_at.is_some() && listed[0].revoked_at.is_none());
}
