//! Tests the keys of an encrypted database: which server may open it, how its master key is changed, and the effect of a destroyed key. It
//! also tests how a database with content becomes an encrypted one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use threadkeep::domain::Error;
use threadkeep::domain::checkpoints::checkpoint::Commit;
use threadkeep::domain::checkpoints::group_commit::{Ended, GroupCommit};
use threadkeep::domain::checkpoints::service::write;
use threadkeep::domain::clock::Clock;
use threadkeep::domain::doctor::{Examine, Noun, State};
use threadkeep::domain::names::LeaseHolder;
use threadkeep::domain::threads::storage::{CopyThread, DeleteThread};
use threadkeep::domain::threads::thread::LeaseRequest;
use threadkeep::domain::tokens::credential::SigningSecret;
use threadkeep::storage::{self, Encryption, MasterKey, MasterKeys, StorageConfig};

use crate::commands::Put;
use crate::encryption::{count_in, large, marker, markers, read, secret, tell, told};
use crate::faulty_store::FaultyStore;
use crate::harness::{
    Harness, NEVER, caller_of, commit, config, master_keys, small_packs, target, thread_id,
};
use crate::packs::PLACED;

async fn refusal(h: &Harness, masters: Option<Arc<MasterKeys>>) -> String {
    match h.open_with(masters, None).await {
        Err(Error::Invalid { field, detail, .. }) => {
            assert_eq!(field, "master-key-file");
            detail
        }
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it was opened"),
    }
}

pub async fn a_server_with_a_wrong_key_or_none_is_refused(h: Harness) {
    let h = h.encrypting(None).await;
    // It belongs to its master key before anything is stored.
    assert!(refusal(&h, None).await.contains("this database is encrypted"));
    h.put(Put::new("1").sets_value("a", "1", secret(1))).await;
    assert!(refusal(&h, None).await.contains("this database is encrypted"));
    let detail = refusal(&h, Some(master_keys(8))).await;
    let wanted = hex::encode(MasterKey::new(&[7; 32]).fingerprint());
    assert!(detail.contains(&wanted), "{detail}");
    h.open_with(Some(master_keys(7)), None).await.unwrap().close().await;
    assert!(h.storage.destroy_tenant_key("tenant-a").await.unwrap());
    assert!(refusal(&h, None).await.contains("this database is encrypted"));
}

pub async fn a_database_with_plain_content_is_refused_until_it_is_encrypted(h: Harness) {
    if crate::harness::masters().is_some() {
        return;
    }
    let store = FaultyStore::in_memory();
    let h = h.with_objects(store.clone()).await;
    tell(&h, 5_000).await;
    let signing = SigningSecret::random("tenant-a", 1);
    h.storage.put_signing_secret(&signing, 0).await.unwrap();
    let before = told(&h, 5_000).await;
    let detail = refusal(&h, Some(master_keys(7))).await;
    assert!(detail.contains("threadkeep encrypt"), "{detail}");
    let command = StorageConfig {
        exclusive: false,
        encryption: Encryption::Begins(master_keys(7)),
        objects: Some(small_packs(store.clone())),
        ..config(h.url())
    };
    // It died in the middle, and is begun again.
    for (expected, unfinished) in [(1, true), (1, false), (0, false)] {
        let encrypting = storage::open(&command).await.unwrap();
        let unsigned = encrypting.list_unsigned().await.unwrap();
        assert_eq!(encrypting.encrypt_stored().await.unwrap(), expected);
        encrypting.sign(&unsigned).await.unwrap();
        encrypting.close().await;
        if unfinished {
            h.sql("update tenant_keys set plain_rows = 1").await;
            assert!(refusal(&h, Some(master_keys(7))).await.contains("threadkeep encrypt"));
        }
    }
    assert!(refusal(&h, None).await.contains("this database is encrypted"));
    let h = h.encrypting(Some(store)).await;
    assert!(h.count(PLACED).await > 10);
    assert_eq!(told(&h, 5_000).await, before);
    assert!(h.storage.load_credentials().await.unwrap().signing_secrets[0] == signing);
    let shown = h.dump("signing_secrets").await.to_lowercase();
    assert!(!shown.contains(&hex::encode(signing.secret)));
    let report = h.storage.examine(&Examine { tenant: None, fix: false, now: 0 }).await.unwrap();
    assert!(report.is_sound(), "{report:?}");
    for table in h.tables().await {
        let dump = h.dump(&table).await.into_bytes();
        assert_eq!(count_in(&dump, &markers(5_000)), 0, "{table}");
    }
    // What is known to be there is left out of a commit, and is there.
    let more = Put::new("4").parent("3").sets_value("large", "3", large(5_100..5_165));
    h.put(more).await;
    assert_eq!(h.latest("t").await.unwrap().values[0].1, large(5_100..5_165));
}

pub async fn a_changed_master_key_takes_the_place_of_the_old_one(h: Harness) {
    let h = h.encrypting(None).await;
    h.put(Put::new("1").sets_value("a", "1", secret(1))).await;
    let other = caller_of("tenant-b");
    let ops = commit("t", vec![Put::new("1").sets_value("a", "1", secret(2)).op()]);
    write(&*h.storage, &h.queue, &other, &ops, NEVER).await.unwrap();
    let both = |current, previous| {
        let key = |byte| MasterKey::new(&[byte; 32]);
        Some(Arc::new(MasterKeys { current: key(current), previous: Some(key(previous)) }))
    };
    let signing = SigningSecret::random("tenant-a", 1);
    h.storage.put_signing_secret(&signing, 0).await.unwrap();
    let shown = h.dump("signing_secrets").await;
    assert!(
        shown.contains(&signing.kid)
            && !shown.to_lowercase().contains(&hex::encode(signing.secret))
    );
    let rotating = h.open_with(both(9, 7), None).await.unwrap();
    // Two tenants, their rights, a signing secret, and what marks the database.
    assert_eq!(rotating.rotate_master_key().await.unwrap(), 6);
    assert_eq!(rotating.rotate_master_key().await.unwrap(), 0);
    assert!(refusal(&h, Some(master_keys(7))).await.contains("--previous-master-key-file"));
    for masters in [Some(master_keys(9)), both(7, 9)] {
        let server = h.open_with(masters, None).await.unwrap();
        let found = server.get_checkpoint(&h.caller, &target("t", "", None), &[]).await.unwrap();
        assert_eq!(found.view.unwrap().values[0].1.data, marker(1));
        let known = server.load_credentials().await.unwrap().signing_secrets;
        assert!(known[0] == signing);
        server.close().await;
    }
    // The server that knows only the old one goes on with what it has.
    tokio::time::sleep(Duration::from_millis(2_100)).await;
    assert!(read(&h, &h.caller, "t").await.iter().all(Result::is_ok));
}

pub async fn a_destroyed_key_is_said_and_hurts_nobody_else(h: Harness) {
    let h = h.encrypting(None).await;
    let other = caller_of("tenant-b");
    for caller in [&h.caller, &other] {
        let ops = commit("t", vec![Put::new("1").sets_value("a", "1", secret(1)).op()]);
        write(&*h.storage, &h.queue, caller, &ops, NEVER).await.unwrap();
    }
    let elsewhere = h.open_with(Some(master_keys(7)), None).await.unwrap();
    assert!(elsewhere.destroy_tenant_key("tenant-a").await.unwrap());
    assert!(!elsewhere.destroy_tenant_key("tenant-a").await.unwrap());
    let destroyed = Instant::now();
    loop {
        let begun = destroyed.elapsed();
        if read(&h, &h.caller, "t").await.iter().all(Result::is_err) {
            break;
        }
        assert!(begun < Duration::from_secs(5), "a server goes on with a destroyed key");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    for result in read(&h, &h.caller, "t").await {
        assert!(matches!(result, Err(Error::KeyDestroyed)), "{result:?}");
    }
    let put = commit("t", vec![Put::new("2").sets_value("a", "2", secret(2)).op()]);
    assert!(matches!(h.commit(put).await, Err(Error::KeyDestroyed)));
    assert!(read(&h, &other, "t").await.iter().all(Result::is_ok));
    let report = h.storage.examine(&Examine { tenant: None, fix: true, now: 0 }).await.unwrap();
    assert!(report.is_sound(), "{report:?}");
    assert_eq!(report.tally(State::Destroyed, Noun::Tenants).count, 1);
    let request = DeleteThread { thread_id: thread_id("t"), generation: None, fence: None };
    h.storage.delete_thread(&h.caller, &request).await.unwrap();
    assert_eq!(h.count("select count(*) from threads").await, 1);
}

/// Every way in which a thread comes to a scope that a server does not expect.
pub async fn a_commit_is_sealed_again_for_the_scope_that_the_thread_has(h: Harness) {
    let h = h.encrypting(None).await;
    let beside = h.open_with(Some(master_keys(7)), None).await.unwrap();
    let queue = GroupCommit::start(beside.clone(), &Arc::new(Clock::System));
    let put = |id: &str, seed| Put::new(id).sets_value("a", id, secret(seed)).op();
    // Both create the same threads at the same moment.
    for round in 0..20 {
        let thread = format!("race-{round}");
        let (one, two) = (commit(&thread, vec![put("1", 1)]), commit(&thread, vec![put("2", 2)]));
        let (a, b) = tokio::join!(
            write(&*h.storage, &h.queue, &h.caller, &one, NEVER),
            write(&*beside, &queue, &h.caller, &two, NEVER)
        );
        a.and(b).unwrap();
        assert_eq!(h.all(&thread).await.len(), 2);
    }
    // What was sealed for a new thread waited while that thread was made and deleted: its scope does not come back.
    let early = h.prepare(commit("early", vec![put("1", 1)])).await;
    let late = h.prepare(commit("early", vec![put("2", 2)])).await;
    assert_eq!(early.condition.scope, late.condition.scope);
    h.queue.commit(early).await.unwrap();
    let scopes = "select count(distinct scope_id) from scope_holders";
    let before = h.count(scopes).await;
    let request = DeleteThread { thread_id: thread_id("early"), generation: None, fence: None };
    beside.delete_thread(&h.caller, &request).await.unwrap();
    assert_eq!(h.queue.commit(late).await.unwrap(), Ended::EpochStale);
    assert_eq!(h.count(scopes).await, before - 1);
    // Made by a lease, deleted and made again by the other one, copied onto.
    let lease = LeaseRequest {
        thread_id: thread_id("leased"),
        holder: LeaseHolder::new("h").unwrap(),
        fence: None,
        ttl_seconds: 60,
        full: None,
    };
    let fence = beside.acquire_lease(&h.caller, &lease).await.unwrap().fence;
    let held = Commit { fence: Some(fence), ..commit("leased", vec![put("1", 3)]) };
    h.commit(held).await.unwrap();
    let delete =
        |it: &str| DeleteThread { thread_id: thread_id(it), generation: None, fence: None };
    h.put(Put::new("1").sets_value("a", "1", secret(4))).await;
    beside.delete_thread(&h.caller, &delete("t")).await.unwrap();
    h.put(Put::new("2").sets_value("a", "2", secret(5))).await;
    assert_eq!(h.all("t").await.len(), 1);
    beside.delete_thread(&h.caller, &delete("t")).await.unwrap();
    write(&*beside, &queue, &h.caller, &commit("t", vec![put("3", 6)]), NEVER).await.unwrap();
    h.put(Put::new("4").sets_value("a", "4", secret(7))).await;
    assert_eq!(h.all("t").await.len(), 2);
    beside.delete_thread(&h.caller, &delete("t")).await.unwrap();
    let copy = CopyThread {
        source: thread_id("race-0"),
        target: thread_id("t"),
        idempotency: None,
        full: None,
    };
    beside.copy_thread(&h.caller, &copy).await.unwrap();
    h.put(Put::new("5").sets_value("a", "5", secret(8))).await;
    let views = h.all("t").await;
    assert_eq!(views.len(), 3);
    assert_eq!(views[0].values[0].1.data, marker(8));
    let report = h.storage.examine(&Examine { tenant: None, fix: false, now: 0 }).await.unwrap();
    assert!(report.is_sound(), "{report:?}");
}
