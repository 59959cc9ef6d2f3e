//! Tests that `threadkeep encrypt` signs the owners of threads, sessions and namespace roots. It signs unsigned rows once, and changed rows
//! only after it showed them.

use threadkeep::domain::doctor::{FindingPlace, Noun, State};
use threadkeep::storage::{self, Encryption, StorageConfig};

use crate::doctor::examine;
use crate::granted_callers::{self, subject, tenant};
use crate::harness::{Harness, config, master_keys, thread_id};
use crate::owner_macs::{all_is_signed, is_refused};
use crate::session_calls::{self, name};
use crate::store::Store;

fn beginning(h: &Harness) -> StorageConfig {
    StorageConfig {
        exclusive: false,
        encryption: Encryption::Begins(master_keys(7)),
        ..config(h.url())
    }
}

/// A thread of ann's, a session and a namespace root.
async fn furnish(h: &Harness) {
    let desk = granted_callers::Desk::on(&h.storage).await;
    desk.put(&subject("ann"), "t", "1").await.unwrap();
    let sessions = session_calls::Desk::on(h).await;
    sessions.append(&name(&["s"]), &["\"said\""]).await.unwrap();
    let large = format!("{{\"x\":\"{}\"}}", "large".repeat(50_000));
    Store::on(h).await.put(&["root"], "large", &large).await;
}

pub async fn a_database_of_an_earlier_version_is_signed_once(h: Harness) {
    let h = h.encrypting(None).await;
    furnish(&h).await;
    for table in ["threads", "sessions", "namespace_roots"] {
        h.sql(&format!("update {table} set mac = null")).await;
    }
    h.sql("update tenant_keys set owner_macs = 0").await;
    let refused = h.open_with(Some(master_keys(7)), None).await.err().unwrap().to_string();
    assert!(
        refused.contains("have no MACs yet") && refused.contains("threadkeep encrypt"),
        "{refused}"
    );
    let encrypting = storage::open(&beginning(&h)).await.unwrap();
    let unsigned = encrypting.list_unsigned_owners().await.unwrap();
    assert_eq!((unsigned.len(), unsigned[0].missing, unsigned[0].changed.len()), (1, 3, 0));
    assert_eq!(encrypting.encrypt_stored().await.unwrap(), 1);
    assert_eq!(encrypting.encrypt_stored().await.unwrap(), 0);
    let h = h.encrypting(None).await;
    all_is_signed(&h, "signed").await;
    assert_eq!(h.latest("t").await.unwrap().id, "1");
    assert!(examine(&h, false).await.is_sound());
    // What a server of the earlier version adds beside is signed when it is shown.
    h.sql("update threads set mac = null").await;
    is_refused(h.storage.get_thread(&h.caller, &thread_id("t")).await, "never signed");
    let unsigned = encrypting.list_unsigned_owners().await.unwrap();
    encrypting.sign_owners(&unsigned).await.unwrap();
    assert_eq!(h.latest("t").await.unwrap().id, "1");
}

pub async fn a_plain_database_is_signed_when_it_is_encrypted(h: Harness) {
    if crate::harness::masters().is_some() {
        return;
    }
    furnish(&h).await;
    assert_eq!(h.count("select count(*) from threads where mac is not null").await, 0);
    let encrypting = storage::open(&beginning(&h)).await.unwrap();
    assert!(encrypting.list_unsigned_owners().await.unwrap().is_empty(), "there is no key yet");
    assert_eq!(encrypting.encrypt_stored().await.unwrap(), 1);
    let unsigned = encrypting.list_unsigned().await.unwrap();
    encrypting.sign(&unsigned).await.unwrap();
    let h = h.encrypting(None).await;
    all_is_signed(&h, "encrypted").await;
    assert_eq!(h.latest("t").await.unwrap().id, "1");
    let sessions = session_calls::Desk::on(&h).await;
    assert_eq!(sessions.texts(&name(&["s"]), "").await, ["\"said\""]);
}

pub async fn a_changed_owner_is_found_and_signed_only_after_it_was_shown(h: Harness) {
    let h = h.encrypting(None).await;
    furnish(&h).await;
    let desk = granted_callers::Desk::on(&h.storage).await;
    desk.put(&subject("ann"), "u", "1").await.unwrap();
    h.sql("update threads set owner = 'mallory' where thread_id = 't'").await;
    h.sql("update sessions set owner = 'mallory'").await;
    h.sql("update namespace_roots set mac = null").await;
    let report = examine(&h, false).await;
    assert!(!report.is_sound());
    for noun in [Noun::Threads, Noun::Sessions, Noun::Namespaces] {
        assert_eq!(report.tally(State::Damaged, noun).count, 1, "{noun:?}: {report:?}");
    }
    let place = FindingPlace {
        tenant: "tenant-a".into(),
        thread_id: Some("t".into()),
        ..FindingPlace::default()
    };
    assert!(report.places.iter().any(|it| it.place == place && it.what == Noun::Threads));
    let encrypting = storage::open(&beginning(&h)).await.unwrap();
    let shown = encrypting.list_unsigned_owners().await.unwrap();
    assert_eq!((shown.len(), shown[0].missing, shown[0].changed.len()), (1, 1, 2));
    assert!(shown[0].changed[0].contains("thread \"t\" of \"mallory\""), "{shown:?}");
    // Neither another look at everything nor what was not shown signs it.
    encrypting.request_encryption().await.unwrap();
    assert_eq!(encrypting.encrypt_stored().await.unwrap(), 1);
    h.sql("update threads set owner = 'mallory' where thread_id = 'u'").await;
    is_refused(desk.latest(&tenant(), "t").await, "not shown yet");
    encrypting.sign_owners(&shown).await.unwrap();
    assert_eq!(desk.latest(&subject("mallory"), "t").await.unwrap().as_deref(), Some("1"));
    is_refused(desk.latest(&tenant(), "u").await, "changed after it was shown");
    // Whose it was is gone; what is left can be deleted.
    assert!(desk.delete(&tenant(), "u").await.unwrap());
    all_is_signed(&h, "the rest").await;
}
