//! Fills subjects with data of every kind, and checks whether a trace of one is left.

use std::sync::Arc;

use threadkeep::domain::caller::Caller;
use threadkeep::domain::clock::Clock;
use threadkeep::domain::doctor::State;
use threadkeep::domain::names::LeaseHolder;
use threadkeep::domain::storage::Storage;
use threadkeep::domain::tenants::audit::{Act, ActKind};
use threadkeep::domain::tenants::erasure::{Erasures, Receipt};
use threadkeep::domain::threads::retention::{ReportQuery, Rule, Rules};
use threadkeep::domain::threads::storage::{CopyThread, DeleteThread};
use threadkeep::domain::threads::thread::{LeaseRequest, ThreadQuery};
use threadkeep::domain::tokens::key::{Key, KeyQuery, ShownKey};
use threadkeep::storage::tables::TABLES;

use crate::commands::{Put, Writes};
use crate::content::list;
use crate::doctor::examine;
use crate::harness::{Harness, NEVER, caller_of, commit, everything, pruning, thread_id, values};
use crate::store::Store;
use crate::thread_details::details;

pub const TENANT: &str = "tenant-a";
/// Long enough not to be in random bytes.
pub const ANN: &str = "ann-of-acme";
pub const BOB: &str = "bob-of-acme";

pub fn speaking_for(subject: Option<&str>) -> Caller {
    Caller { subject: subject.map(str::to_owned), ..Caller::of_tenant(TENANT) }
}

pub async fn commit_as(h: &Harness, subject: Option<&str>, thread: &str, put: Put) {
    let ops = vec![put.op()];
    let prepared = h.storage.prepare(&speaking_for(subject), commit(thread, ops), NEVER).await;
    h.queue.commit(prepared.unwrap()).await.unwrap();
}

pub async fn copy_as(h: &Harness, subject: Option<&str>, from: &str, to: &str) {
    let (source, target) = (thread_id(from), thread_id(to));
    let idempotency = Some((format!("copy to {to}"), [7; 32]));
    let request = CopyThread { source, target, idempotency, full: None };
    let copied = h.storage.copy_thread(&speaking_for(subject), &request).await.unwrap();
    assert!(copied > 0, "{from} to {to}");
}

pub fn small_value(subject: &str) -> String {
    format!("small value of {subject}")
}

/// A subject with a bit of everything: {s}-1 with large and small values, writes, a delta base, a policy, a report and a lease;
/// {s}-2, a copy of it; {s}-3; {s}-old, deleted before; a key; answers.
pub async fn fill(h: &Harness, s: &str) {
    let who = Some(s);
    let name = |part: &str| format!("{s}-{part}");
    let did =
        |actor: String| Act { actor, ..Act::of_operator(TENANT, ActKind::TokenMinted, "tok", 1) };
    h.storage.record_act(&did(format!("issuer:login:{s}"))).await.unwrap();
    let run = format!(r#"{{"run_id":"{s}-run","counters_since_delta_snapshot":{{"d":[1,1]}}}}"#);
    let first = Put::new("0").metadata(&run).sets("d", "1", "seed").sets("m", "1", &list(40));
    commit_as(h, who, &name("1"), first).await;
    details(h, &name("1"), &format!("Of {s}"), &format!(r#"{{"who":"{s}"}}"#)).await;
    let writes = Writes::new("0", "task").write(0, "d", "delta").write(1, "big", &list(50));
    h.commit(commit(&name("1"), vec![writes.op()])).await.unwrap();
    let metadata = r#"{"counters_since_delta_snapshot":{"d":[1,1]}}"#;
    let second = Put::new("1").parent("0").metadata(metadata).empties("d", "2");
    let second = second.sets("m", "2", &list(60)).sets("note", "1", &small_value(s));
    commit_as(h, who, &name("1"), second).await;
    h.storage.delete_for_runs(&h.caller, &[format!("{s}-run")]).await.unwrap();
    let writes = Writes::new("1", "task").write(0, "big", &list(50)).write(1, "w", &small_value(s));
    h.commit(commit(&name("1"), vec![writes.op()])).await.unwrap();
    copy_as(h, who, &name("1"), &name("2")).await;
    commit_as(h, who, &name("3"), Put::new("0").sets("m", "1", &list(30))).await;
    commit_as(h, who, &name("old"), Put::new("0").sets("m", "1", &list(20))).await;
    for part in ["1", "old"] {
        report_on(h, &name(part)).await;
    }
    let gone = DeleteThread { thread_id: thread_id(&name("old")), generation: None, fence: None };
    h.storage.delete_thread(&h.caller, &gone).await.unwrap();
    let holder = LeaseHolder::new(name("holder")).unwrap();
    let lease = LeaseRequest {
        thread_id: thread_id(&name("1")),
        holder,
        fence: None,
        ttl_seconds: 600,
        full: None,
    };
    h.storage.acquire_lease(&h.caller, &lease).await.unwrap();
    let act = Act::of_operator(TENANT, ActKind::KeyCreated, "", 1);
    h.storage.create_key(&key(s), &act).await.unwrap();
    let store = Store::on(h).await;
    let small = format!(r#"{{"text":"{}"}}"#, small_value(s));
    let large = format!(r#"{{"text":"{}"}}"#, list(2_000).replace(['"', '\\', '\n'], " "));
    store.put(&[s], "small", &small).await;
    store.put(&[s, "files"], "large", &large).await;
    store.put(&[s, "files"], "larger", &large).await;
}

pub fn key(subject: &str) -> Key {
    Key {
        key_id: format!("key_of_{subject}"),
        tenant: TENANT.into(),
        subject: Some(subject.to_owned()),
        hash: [1; 32],
        created_at: 1,
        revoked_at: None,
        expires_at: None,
        shown: ShownKey::default(),
    }
}

pub fn rules() -> Rules {
    Rules {
        expire_after_seconds: None,
        keep_last: Some(50),
        older_than_seconds: None,
        keep_interrupted: true,
        dry_run: false,
    }
}

/// A policy of the thread, and a finished round of it.
pub async fn report_on(h: &Harness, thread: &str) {
    let act = Act::of_operator(TENANT, ActKind::PolicyPut, "", 1);
    h.storage.put_policy(&h.caller, Some(&thread_id(thread)), &rules(), &act).await.unwrap();
    let claim = h.storage.claim_policy(2, i64::MAX / 2).await.unwrap().unwrap();
    assert_eq!(claim.thread_id.as_deref(), Some(thread));
    assert!(h.storage.finish_claim(&claim, 3).await.unwrap());
}

/// Every row of a tenant in every table, as lower-case text; bytes in hex.
pub async fn dump(h: &Harness, tenant: &str) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    for table in TABLES {
        let name = table.name;
        let statement = if h.is_sqlite() {
            let columns = format!(
                "select 'quote(' || group_concat(name, ') || '' '' || quote(') || ')'
                 from pragma_table_info('{name}')"
            );
            let there =
                format!("select name from pragma_table_info('{name}') where name = 'tenant'");
            if h.texts(&there).await.is_empty() {
                continue;
            }
            let columns = h.texts(&columns).await.remove(0);
            format!("select lower({columns}) from {name} where tenant = '{tenant}'")
        } else if name == "schema_version" {
            continue;
        } else {
            format!("select lower(x::text) from {name} x where x.tenant = '{tenant}'")
        };
        rows.extend(h.texts(&statement).await.into_iter().map(|row| (name, row)));
    }
    rows
}

/// Tables with a text in them, as text or as bytes.
pub async fn tables_with(h: &Harness, text: &str) -> Vec<&'static str> {
    let bytes = hex::encode(text);
    let rows = dump(h, TENANT).await.into_iter();
    let found = rows.filter(|(_, row)| row.contains(text) || row.contains(&bytes));
    let mut tables: Vec<&str> = found.map(|(table, _)| table).collect();
    tables.dedup();
    tables
}

pub async fn erase(storage: &Arc<dyn Storage>, subject: &str) -> Receipt {
    let erasures = Erasures::new(storage.clone(), Arc::new(Clock::System));
    erasures.erase(&caller_of(TENANT), subject, |_| {}).await.unwrap()
}

/// No row has a trace, and nothing that is asked shows one.
pub async fn check_gone(h: &Harness, s: &str) {
    assert_eq!(tables_with(h, s).await, Vec::<&str>::new(), "{s}");
    let query = ThreadQuery { limit: 1_000, ..ThreadQuery::default() };
    let threads = h.storage.list_threads(&h.caller, &query).await.unwrap().threads;
    assert!(threads.iter().all(|it| it.owner.as_deref() != Some(s)), "{threads:?}");
    let views = h.list(everything()).await.views;
    assert!(views.iter().all(|it| !it.thread_id.starts_with(s)));
    for part in ["1", "2", "3", "old"] {
        let id = thread_id(&format!("{s}-{part}"));
        assert_eq!(h.storage.get_thread(&h.caller, &id).await.unwrap(), None);
        assert_eq!(h.storage.get_storage_use(&h.caller, &id).await.unwrap(), None);
        assert_eq!(h.storage.get_policy(&h.caller, Some(&id)).await.unwrap(), None);
        let reports = ReportQuery { thread_id: Some(id.clone()), after: None, limit: 10 };
        assert!(h.storage.list_reports(&h.caller, &reports).await.unwrap().is_empty());
        let found = h.found(id.as_str(), "", None, &["d"]).await;
        assert!(
            found.generation.is_none()
                && found.view.is_none()
                && h.all(id.as_str()).await.is_empty()
        );
        let pruned =
            h.storage.prune_threads(&h.caller, &pruning(&[id.as_str()], Rule::DELETE)).await;
        assert_eq!(pruned.unwrap().iter().map(|it| it.removed.checkpoints).sum::<i64>(), 0);
    }
    let keys = h.storage.list_keys(TENANT, &KeyQuery::ALL).await.unwrap();
    assert!(keys.iter().all(|it| it.subject.as_deref() != Some(s)));
    let active = h.storage.load_credentials().await.unwrap().keys;
    assert!(active.iter().all(|it| it.tenant != TENANT || it.subject.as_deref() != Some(s)));
}

pub async fn check_sound(h: &Harness) {
    let report = examine(h, false).await;
    assert!(report.is_sound(), "{report:?}");
    assert!(report.counts().all(|(state, _, _)| state == State::Checked), "{report:?}");
}

/// What others have, and how it reads.
pub async fn fill_others(h: &Harness) {
    fill(h, BOB).await;
    copy_as(h, Some(BOB), "ann-of-acme-3", "bob-copy").await;
    copy_as(h, None, "ann-of-acme-3", "nobodys-copy").await;
    commit_as(h, None, "nobodys", Put::new("0").sets("m", "1", &list(10))).await;
}

pub async fn check_others(h: &Harness) {
    for (thread, count) in
        [("bob-copy", 30), ("nobodys-copy", 30), ("nobodys", 10), ("bob-of-acme-3", 30)]
    {
        assert_eq!(values(&h.latest(thread).await.unwrap())["m"], list(count), "{thread}");
    }
    for thread in ["bob-of-acme-1", "bob-of-acme-2"] {
        let view = h.latest(thread).await.unwrap();
        assert_eq!(values(&view)["m"], list(60));
        assert_eq!(values(&view)["note"], small_value(BOB));
        let found = h.found(thread, "", None, &["d"]).await;
        assert!(found.history_channels.contains(&"d".to_owned()));
    }
}
