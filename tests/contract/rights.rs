//! Tests that with a master key the rows that decide rights count only as they were sealed. A writer to the database makes no key, moves
//! none and undoes no revocation.

use std::sync::Arc;

use threadkeep::auth::Refusal;
use threadkeep::auth::authenticator::{Authenticator, Identity};
use threadkeep::auth::issuers::Issuers;
use threadkeep::auth::keys;
use threadkeep::auth::loopback::Visit;
use threadkeep::domain::Error;
use threadkeep::domain::clock::Clock;
use threadkeep::domain::storage::Storage;
use threadkeep::domain::tenants::audit::{Act, ActKind};
use threadkeep::domain::tenants::erasure::Erasures;
use threadkeep::domain::tenants::quotas::Quota;
use threadkeep::domain::tokens::credential::{Revocation, SigningSecret};
use threadkeep::domain::tokens::key::{CreateKey, Key, ShownKey};
use threadkeep::domain::tokens::storage::CredentialStorage;
use threadkeep::domain::tokens::token::TokenId;
use threadkeep::storage::{self, Encryption, MasterKey, MasterKeys, StorageConfig};

use crate::commands::Put;
use crate::harness::{Harness, caller_of, config, master_keys, masters};

const DAY: i64 = 24 * 3_600 * 1_000_000;

fn act(tenant: &str) -> Act {
    Act::of_operator(tenant, ActKind::KeyCreated, "", 1)
}

async fn make_key(storage: &dyn Storage, tenant: &str, key_id: &str, subject: Option<&str>) {
    let key = Key {
        key_id: key_id.into(),
        tenant: tenant.into(),
        subject: subject.map(str::to_owned),
        hash: *blake3_of(tenant, key_id).first_chunk().unwrap(),
        created_at: 5,
        revoked_at: None,
        expires_at: None,
        shown: ShownKey::default(),
    };
    storage.create_key(&key, &act(tenant)).await.unwrap();
}

/// Bytes that only this key has.
fn blake3_of(tenant: &str, key_id: &str) -> Vec<u8> {
    let text = format!("{tenant}/{key_id}");
    text.bytes().cycle().take(32).collect()
}

async fn revoke(storage: &dyn Storage, tenant: &str, token_id: &TokenId, expires_at: i64) {
    let revocation = Revocation {
        tenant: tenant.into(),
        token_id: *token_id,
        chain: None,
        expires_at,
        revoked_at: 3,
    };
    assert!(storage.revoke_token(&revocation, 10, &act(tenant)).await.unwrap());
}

/// A tenant with two keys, a signing secret, a revoked token and a quota.
async fn furnish(h: &Harness, tenant: &str) {
    make_key(&*h.storage, tenant, "key_ann", Some("ann")).await;
    make_key(&*h.storage, tenant, "key_all", None).await;
    h.storage.put_signing_secret(&SigningSecret::random(tenant, 1), 0).await.unwrap();
    revoke(&*h.storage, tenant, &TokenId::random(), 9 * DAY).await;
    let quota = Quota { bytes_max: Some(1_000), ..Quota::default() };
    h.storage.put_quota(tenant, &quota, &act(tenant)).await.unwrap();
}

/// Keys of a tenant that open something, in order, and how many secrets its tokens may be signed with.
async fn opening(storage: &dyn Storage, tenant: &str) -> (Vec<String>, usize) {
    let all = storage.load_credentials().await.unwrap();
    let keys = all.keys.into_iter().filter(|it| it.tenant == tenant);
    let mut keys: Vec<String> = keys.map(|it| it.key_id).collect();
    keys.sort();
    (keys, all.signing_secrets.iter().filter(|it| it.tenant == tenant).count())
}

fn both() -> (Vec<String>, usize) {
    (vec!["key_all".into(), "key_ann".into()], 1)
}

fn nothing() -> (Vec<String>, usize) {
    (Vec::new(), 0)
}

pub async fn a_row_that_was_forged_moved_or_changed_opens_nothing(h: Harness) {
    let h = h.encrypting(None).await;
    let tenants = [
        "innocent",
        "forged",
        "moved",
        "target",
        "subject",
        "hash",
        "undone",
        "unrevoked",
        "planted",
        "rotated",
        "gone",
    ];
    for tenant in tenants {
        furnish(&h, tenant).await;
        assert_eq!(opening(&*h.storage, tenant).await, both(), "{tenant}");
    }
    assert!(h.storage.revoke_key("undone", "key_ann", &act("undone")).await.unwrap());
    for statement in [
        "insert into keys (tenant, key_id, subject, hash, created_at, mac)
            select 'forged', 'key_evil', null, hash, created_at, mac from keys
            where tenant = 'innocent' and key_id = 'key_all'",
        "insert into keys (tenant, key_id, subject, hash, created_at)
            select 'forged', 'key_plain', null, hash, created_at from keys
            where tenant = 'innocent' and key_id = 'key_ann'",
        "update keys set tenant = 'target', key_id = 'key_moved'
            where tenant = 'moved' and key_id = 'key_all'",
        "update keys set subject = null where tenant = 'subject' and key_id = 'key_ann'",
        "update keys set hash = (select hash from keys where tenant = 'innocent' and key_id = 'key_all')
            where tenant = 'hash' and key_id = 'key_all'",
        "update keys set revoked_at = null where tenant = 'undone'",
        "delete from token_revocations where tenant = 'unrevoked'",
        "update signing_secrets set tenant = 'planted', kid = 'other' where tenant = 'rotated'",
        "delete from tenant_rights where tenant = 'gone'",
    ] {
        h.sql(statement).await;
    }
    for (tenant, expected) in [
        ("innocent", both()),
        // What was put there does nothing, and the tenant goes on.
        ("forged", both()),
        ("target", both()),
        ("planted", both()),
        // What was there is not any more, or is again: nobody can say what else is wrong.
        ("moved", nothing()),
        ("subject", nothing()),
        ("hash", nothing()),
        ("undone", nothing()),
        ("unrevoked", nothing()),
        ("rotated", nothing()),
        ("gone", nothing()),
    ] {
        assert_eq!(opening(&*h.storage, tenant).await, expected, "{tenant}");
    }
    let all = h.storage.load_credentials().await.unwrap();
    assert!(all.had_keys && !all.needs_master_key);
    // A server that starts later sees the same, and `encrypt` shows what it would sign.
    let refused = h.open_with(Some(master_keys(7)), None).await.err().unwrap();
    assert!(refused.to_string().contains("threadkeep encrypt"), "{refused}");
    let signing = storage::open(&beginning(&h)).await.unwrap();
    let unsigned = signing.list_unsigned().await.unwrap();
    let named: Vec<&str> = unsigned.iter().map(|it| it.tenant.as_str()).collect();
    assert_eq!(
        named,
        [
            "forged",
            "gone",
            "hash",
            "moved",
            "planted",
            "rotated",
            "subject",
            "target",
            "undone",
            "unrevoked"
        ]
    );
    assert_eq!(unsigned[0].keys.len(), 4, "the forged ones are shown");
    // Signing trusts what was shown, and nothing that came after.
    h.sql(
        "insert into keys (tenant, key_id, subject, hash, created_at)
            select 'gone', 'key_late', null, hash, created_at from keys where tenant = 'innocent' and key_id = 'key_ann'",
    )
    .await;
    signing.sign(&unsigned[1..2]).await.unwrap();
    assert_eq!(opening(&*signing, "gone").await, both());
    assert_eq!(opening(&*signing, "moved").await, nothing());
}

fn beginning(h: &Harness) -> StorageConfig {
    StorageConfig {
        exclusive: false,
        encryption: Encryption::Begins(master_keys(7)),
        ..config(h.url())
    }
}

/// When a key ends is in its text, which its hash is of, and the hash is signed.
pub async fn an_end_that_was_changed_in_the_database_lengthens_nothing(h: Harness) {
    let h = h.encrypting(None).await;
    let mut made = Vec::new();
    for (tenant, ttl_seconds) in [("none", Some(10)), ("later", Some(10)), ("sooner", None)] {
        let request = CreateKey { ttl_seconds, ..CreateKey::default() };
        let operator = Identity::operator(tenant);
        let created = keys::create(&*h.storage, &operator, request, 1_000_000).await.unwrap();
        made.push(created.secret);
    }
    let end = 11_000_000;
    h.sql("update keys set expires_at = null where tenant = 'none'").await;
    h.sql("update keys set expires_at = 9000000000000000 where tenant = 'later'").await;
    h.sql(&format!("update keys set expires_at = {end} where tenant = 'sooner'")).await;
    let credentials: Arc<dyn CredentialStorage> = Arc::<dyn Storage>::clone(&h.storage);
    let clock = Arc::new(Clock::Fixed((end - 1).into()));
    let listen = "127.0.0.1:7070".parse().unwrap();
    let authenticator =
        Authenticator::load(credentials, Arc::clone(&clock), listen, Issuers::default());
    let authenticator = authenticator.await.unwrap();
    for secret in &made {
        let identity = authenticator.identify(Some(secret.text())).await.unwrap();
        assert_eq!(identity.pass.expires_at(), Some(end));
    }
    clock.advance(1);
    for secret in &made {
        let refused = authenticator.identify(Some(secret.text())).await;
        assert_eq!(refused, Err(Refusal::KeyExpired { at: end }));
    }
    assert!(h.storage.list_unsigned().await.unwrap().is_empty(), "the rows are right otherwise");
}

pub async fn an_earlier_state_of_the_rows_is_refused_by_who_saw_a_later_one(h: Harness) {
    let h = h.encrypting(None).await;
    furnish(&h, "a").await;
    for table in ["keys", "tenant_rights"] {
        h.sql(&format!("create table saved_{table} as select * from {table}")).await;
    }
    assert!(h.storage.revoke_key("a", "key_ann", &act("a")).await.unwrap());
    let only = (vec!["key_all".to_owned()], 1);
    assert_eq!(opening(&*h.storage, "a").await, only);
    for table in ["keys", "tenant_rights"] {
        h.sql(&format!("delete from {table}")).await;
        h.sql(&format!("insert into {table} select * from saved_{table}")).await;
    }
    assert_eq!(opening(&*h.storage, "a").await, nothing());
    // Nothing is added to it either, which would make it look new.
    let again = h.storage.revoke_key("a", "key_all", &act("a")).await;
    assert!(matches!(again, Err(Error::Integrity(_))), "{again:?}");
    // Who has not seen the later state cannot tell.
    let later = h.open_with(Some(master_keys(7)), None).await.unwrap();
    assert_eq!(opening(&*later, "a").await, both());
}

pub async fn a_quota_that_was_changed_or_removed_lets_nothing_more_in(h: Harness) {
    let h = h.encrypting(None).await;
    for tenant in ["innocent", "changed", "removed", "planted"] {
        furnish(&h, tenant).await;
    }
    let none = Quota::default();
    h.storage.put_quota("planted", &none, &act("planted")).await.unwrap();
    h.sql("update quotas set bytes_max = 1000000 where tenant = 'changed'").await;
    h.sql("delete from quotas where tenant = 'removed'").await;
    h.sql("insert into quotas (tenant, bytes_max, updated_at) values ('planted', 5, 1)").await;
    let quota = async |tenant: &str| {
        let all = h.storage.list_quotas().await.unwrap();
        all.into_iter().find(|it| it.0 == tenant).and_then(|it| it.1.bytes_max)
    };
    assert_eq!(quota("innocent").await, Some(1_000));
    for tenant in ["changed", "removed", "planted"] {
        assert_eq!(quota(tenant).await, Some(0), "{tenant}");
        assert_eq!(opening(&*h.storage, tenant).await, both(), "its keys are right: {tenant}");
    }
    let set = Quota { bytes_max: Some(7), ..none };
    h.storage.put_quota("removed", &set, &act("removed")).await.unwrap();
    assert_eq!(quota("removed").await, Some(7), "set again, it holds again");
}

pub async fn what_changes_through_the_server_stays_right(h: Harness) {
    let h = h.encrypting(None).await;
    let right = async |what: &str, keys: &[&str], secrets: usize| {
        let (found, signing) = opening(&*h.storage, "tenant-a").await;
        assert_eq!(
            (found.iter().map(String::as_str).collect::<Vec<_>>(), signing),
            (keys.to_vec(), secrets),
            "{what}"
        );
    };
    furnish(&h, "tenant-a").await;
    make_key(&*h.storage, "tenant-a", "key_witness", None).await;
    right("made", &["key_all", "key_ann", "key_witness"], 1).await;
    assert!(h.storage.revoke_key("tenant-a", "key_all", &act("tenant-a")).await.unwrap());
    right("revoked", &["key_ann", "key_witness"], 1).await;
    let token = TokenId::random();
    for expires_at in [9 * DAY, 12 * DAY, 3 * DAY] {
        revoke(&*h.storage, "tenant-a", &token, expires_at).await;
        right("token revoked", &["key_ann", "key_witness"], 1).await;
    }
    h.storage.put_signing_secret(&SigningSecret::random("tenant-a", 30 * DAY), 2).await.unwrap();
    right("signs", &["key_ann", "key_witness"], 2).await;
    h.storage.sweep(40 * DAY).await.unwrap();
    assert_eq!(h.count("select count(*) from token_revocations").await, 0);
    right("swept", &["key_ann", "key_witness"], 1).await;
    let erasures = Erasures::new(h.storage.clone(), Arc::new(Clock::System));
    erasures.erase(&caller_of("tenant-a"), "ann", |_| {}).await.unwrap();
    right("erased", &["key_witness"], 1).await;
    h.storage.delete_signing_secrets("tenant-a", &act("tenant-a")).await.unwrap();
    right("secrets gone", &["key_witness"], 0).await;
    let key = |byte| MasterKey::new(&[byte; 32]);
    let masters = MasterKeys { current: key(9), previous: Some(key(7)) };
    let rotating = h.open_with(Some(Arc::new(masters)), None).await.unwrap();
    assert!(rotating.rotate_master_key().await.unwrap() > 0);
    let later = h.open_with(Some(master_keys(9)), None).await.unwrap();
    assert_eq!(opening(&*later, "tenant-a").await, (vec!["key_witness".to_owned()], 0));
    assert!(later.list_unsigned().await.unwrap().is_empty());
    // A key without the master key is not even made.
    assert!(h.open_with(None, None).await.is_err());
}

/// What a plain server does once its database is encrypted, and how what it wrote meanwhile is sealed.
pub async fn a_plain_server_stops_once_its_database_is_encrypted(h: Harness) {
    if masters().is_some() {
        return;
    }
    let said = "said-by-a-forgotten-server";
    h.put(Put::new("1").sets("a", "1", "before")).await;
    make_key(&*h.storage, "tenant-a", "key_all", None).await;
    let credentials: Arc<dyn CredentialStorage> = Arc::<dyn Storage>::clone(&h.storage);
    let listen = "127.0.0.1:7070".parse().unwrap();
    let authenticator =
        Authenticator::load(credentials, Arc::new(Clock::System), listen, Issuers::default());
    let authenticator = authenticator.await.unwrap();
    let admitted = || authenticator.admit(|| -> Visit<'_> { unreachable!("there is a key") });
    admitted().unwrap();
    let encrypting = storage::open(&beginning(&h)).await.unwrap();
    let others = encrypting.count_other_servers().await.unwrap();
    assert_eq!(others > 0, !h.is_sqlite(), "on SQLite there is a lock instead");
    let unsigned = encrypting.list_unsigned().await.unwrap();
    assert_eq!(unsigned.len(), 1);
    encrypting.encrypt_stored().await.unwrap();
    encrypting.sign(&unsigned).await.unwrap();
    h.put(
        Put::new("2").parent("1").sets("a", "2", said).metadata(&format!("{{\"m\":\"{said}\"}}")),
    )
    .await;
    assert!(!authenticator.is_outdated());
    authenticator.refresh().await.unwrap();
    authenticator.outdated().await;
    assert!(matches!(admitted(), Err(Refusal::Stale)));
    // What it wrote is an error to a server with the key, until it is sealed.
    let server = h.open_with(Some(master_keys(7)), None).await.unwrap();
    let target = crate::harness::target("t", "", None);
    assert!(server.get_checkpoint(&h.caller, &target, &[]).await.is_err());
    assert_eq!(encrypting.encrypt_stored().await.unwrap(), 0, "every tenant is done");
    encrypting.request_encryption().await.unwrap();
    assert_eq!(encrypting.encrypt_stored().await.unwrap(), 1);
    let found = server.get_checkpoint(&h.caller, &target, &[]).await.unwrap();
    assert_eq!(found.view.unwrap().values[0].1.data, said.as_bytes());
    for table in h.tables().await {
        assert!(!h.dump(&table).await.contains(said), "{table}");
    }
}
