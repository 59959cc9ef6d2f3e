//! Tests that with a master key a thread, a session and a namespace root belong to the owner that a server wrote. A writer to the database
//! cannot give one to another subject, and no content of a changed row is opened.

use std::fmt::Debug;
use std::sync::Arc;

use threadkeep::domain::caller::{Caller, Grants};
use threadkeep::domain::checkpoints::checkpoint::ListQuery;
use threadkeep::domain::export::records::Existing;
use threadkeep::domain::names::{CheckpointId, CheckpointNs};
use threadkeep::domain::sessions::loading::Load;
use threadkeep::domain::sessions::storage::ListSessions;
use threadkeep::domain::snapshots::History;
use threadkeep::domain::snapshots::restore::{Chosen, Restore};
use threadkeep::domain::snapshots::storage::ForkThread;
use threadkeep::domain::snapshots::take::TakeSnapshot;
use threadkeep::domain::threads::retention::Rule;
use threadkeep::domain::threads::storage::DeleteThread;
use threadkeep::domain::threads::thread::ThreadQuery;
use threadkeep::domain::tokens::grants::Scoped;
use threadkeep::domain::{Error, Result};
use threadkeep::export::{Selection, export};

use crate::commands::Put;
use crate::conditions::{expire_leases, lease};
use crate::doctor::examine;
use crate::encryption::{secret, tell, told};
use crate::export_files::{Memory, NOW, exported, options, other_engine, read_in};
use crate::granted_callers::{self, tenant};
use crate::harness::{Harness, NEVER, commit, everything, master_keys, pruning, target, thread_id};
use crate::session_calls::{self, append, entry, name, put};
use crate::snapshot_calls::{self, in_place, into, of};
use crate::store::{Store, change, namespace};

#[track_caller]
pub fn is_refused<T: Debug>(result: Result<T>, what: &str) {
    let error = result.expect_err(what);
    assert!(matches!(error, Error::Integrity(_)), "{what}: {error:?}");
}

/// Reaches threads, sessions and snapshots that it owns, and nothing else.
fn subject(name: &str) -> Caller {
    let grants = Grants::Scoped(Arc::new(Scoped::of_subject(name)));
    Caller { subject: Some(name.into()), grants, credential: format!("of {name}"), ..tenant() }
}

/// A literal with the MAC of another row of the table.
fn mac_of(table: &str, row: &str) -> String {
    format!("mac = (select o.mac from {table} o where {row})")
}

/// Changes a row, and puts the table back once it was looked at.
async fn with_forged(h: &Harness, table: &str, statements: &[String], look: impl AsyncFn()) {
    h.sql(&format!("create table saved as select * from {table}")).await;
    for statement in statements {
        h.sql(statement).await;
    }
    look().await;
    let back =
        format!("delete from {table}; insert into {table} select * from saved; drop table saved");
    h.sql(&back).await;
}

/// The statements that give two rows of a table each other's numbers. No two rows ever have the same.
async fn swap(h: &Harness, table: &str, columns: &[&str], rows: [&str; 2]) -> Vec<String> {
    let mut statements = Vec::new();
    for column in columns {
        let number =
            async |row: &str| h.count(&format!("select {column} from {table} where {row}")).await;
        let (one, other) = (number(rows[0]).await, number(rows[1]).await);
        for (row, to) in [(rows[1], 5), (rows[0], other), (rows[1], one)] {
            statements.push(format!("update {table} set {column} = {to} where {row}"));
        }
    }
    statements
}

fn forking(source: &str, into: &str) -> ForkThread {
    ForkThread {
        source: thread_id(source),
        target: thread_id(into),
        ns: CheckpointNs::new("").unwrap(),
        checkpoint_id: CheckpointId::new("1").unwrap(),
        idempotency: None,
    }
}

/// Everything that opens something of a thread, or makes another thread of it.
async fn every_use_is_refused(
    h: &Harness,
    desk: &granted_callers::Desk,
    (caller, thread): (&Caller, &str),
    what: &str,
) {
    let refused = |name: &str| format!("{what}: {name} by {:?}", caller.subject);
    let (id, place) = (thread_id(thread), target(thread, "", None));
    is_refused(h.storage.get_checkpoint(caller, &place, &[]).await, &refused("get"));
    is_refused(h.storage.get_history(caller, &place, &["m".into()]).await, &refused("history"));
    let query = ListQuery { thread_id: Some(id.clone()), ..everything() };
    is_refused(h.storage.list_checkpoints(caller, &query).await, &refused("list"));
    let query = crate::timelines::all(thread);
    is_refused(h.storage.list_timeline(caller, &query).await, &refused("timeline"));
    let root = [CheckpointNs::root()];
    is_refused(
        h.storage.list_checkpoint_namespaces(caller, &id, &root).await,
        &refused("namespaces"),
    );
    is_refused(h.storage.list_checkpoints(caller, &everything()).await, &refused("list of all"));
    is_refused(h.storage.get_thread(caller, &id).await, &refused("thread"));
    is_refused(
        desk.listed(caller, &ThreadQuery { limit: 9, ..ThreadQuery::default() }).await,
        &refused("threads"),
    );
    is_refused(h.storage.get_storage_use(caller, &id).await, &refused("storage use"));
    is_refused(desk.copy(caller, thread, "copy").await, &refused("copy"));
    let request = pruning(&[thread], Rule::keep(1, None));
    is_refused(h.storage.prune_threads(caller, &request).await, &refused("prune"));
    let snapshots = snapshot_calls::Desk::on(h).await;
    let fork = snapshots.snapshots.fork(caller, &forking(thread, "fork"), NEVER).await;
    is_refused(fork, &refused("fork"));
    let taken = snapshots.take(caller, of("s", &[thread], History::All)).await;
    is_refused(taken, &refused("snapshot"));
    // A server that has checked the row before writes to it as long as it says the same.
    if !what.contains("mac = null") {
        is_refused(desk.put(caller, thread, "9").await, &refused("put"));
    }
    let (file, all) = (&mut Memory::default(), Selection::Tenant);
    let exported = export(&*h.storage, &h.caller, &all, (file, None), NOW).await;
    is_refused(exported.map(drop), &refused("export"));
}

pub async fn a_thread_that_was_given_to_another_is_refused(h: Harness) {
    let h = h.encrypting(None).await;
    let desk = granted_callers::Desk::on(&h.storage).await;
    let (ann, mallory) = (subject("ann"), subject("mallory"));
    for (caller, thread) in [(&ann, "ann's"), (&mallory, "mallory's"), (&tenant(), "free")] {
        for id in ["1", "2"] {
            desk.put(caller, thread, id).await.unwrap();
        }
    }
    let [anns, mallorys] = ["thread_id = 'ann''s'", "thread_id = 'mallory''s'"];
    let set = |what: &str| vec![format!("update threads set {what} where {anns}")];
    let swapped = swap(&h, "threads", &["scope_id", "thread_key"], [anns, mallorys]).await;
    let half = swap(&h, "threads", &["thread_key"], [anns, mallorys]).await;
    let moved = vec![
        format!("delete from threads where {mallorys}"),
        format!("update threads set thread_id = 'mallory''s', owner = 'mallory' where {anns}"),
    ];
    let copied = mac_of("threads", mallorys);
    for (callers, thread, statements) in [
        (&[&mallory, &tenant()][..], "ann's", set("owner = 'mallory'")),
        (&[&tenant()], "ann's", set("owner = null")),
        (&[&tenant()], "ann's", set("owner = ''")),
        (&[&mallory, &tenant()], "mallory's", swapped),
        (&[&mallory, &tenant()], "mallory's", half),
        (&[&mallory, &tenant()], "mallory's", moved),
        (&[&ann, &tenant()], "ann's", set("mac = null")),
        (&[&mallory, &tenant()], "ann's", set(&format!("owner = 'mallory', {copied}"))),
    ] {
        let what = statements.join("; ");
        with_forged(&h, "threads", &statements, async || {
            for caller in callers {
                every_use_is_refused(&h, &desk, (caller, thread), &what).await;
            }
            assert_eq!(
                desk.latest(&tenant(), "free").await.unwrap().as_deref(),
                Some("2"),
                "{what}"
            );
        })
        .await;
        // Nothing was written meanwhile, and it goes on.
        for (caller, thread) in [(&ann, "ann's"), (&mallory, "mallory's")] {
            assert_eq!(desk.latest(caller, thread).await.unwrap().as_deref(), Some("2"), "{what}");
            desk.put(caller, thread, "2").await.unwrap();
        }
    }
    assert!(examine(&h, false).await.is_sound());
}

/// Loads, reads and lists a session, and appends to it.
async fn every_session_use_is_refused(desk: &session_calls::Desk, key: &[&str], what: &str) {
    let (session, caller) = (name(key), &desk.caller);
    let refused = |name: &str| format!("{what}: {name} by {:?}", caller.subject);
    is_refused(desk.sessions.load(caller, &session, &Load::default()).await, &refused("load"));
    is_refused(desk.sessions.get_document(caller, &session, "notes").await, &refused("document"));
    is_refused(desk.sessions.list_streams(caller, &session).await, &refused("streams"));
    let query = ListSessions {
        kind: "kind".into(),
        key_prefix: Vec::new(),
        user: None,
        stream: None,
        limit: 9,
        after: None,
    };
    is_refused(desk.sessions.list(caller, query).await, &refused("list"));
    is_refused(desk.append(&session, &["more"]).await, &refused("append"));
}

pub async fn a_session_that_was_given_to_another_is_refused(h: Harness) {
    let h = h.encrypting(None).await;
    let all = session_calls::Desk::on(&h).await;
    let desks = ["ann", "mallory"].map(|it| all.for_caller(subject(it)));
    let [ann, mallory] = &desks;
    for (desk, key) in [(ann, "a"), (mallory, "m"), (&all, "free")] {
        let line = format!("\"of {key}\"");
        let steps = vec![append("", vec![entry(None, &line)]), put("notes", &line, None)];
        desk.change(&name(&[key]), steps).await.unwrap();
    }
    let row = |key: &str| {
        let owner = match key {
            "a" => "owner = 'ann'",
            _ => "owner = 'mallory'",
        };
        owner.to_owned()
    };
    let (anns, mallorys) = (row("a"), row("m"));
    let set = |what: &str| vec![format!("update sessions set {what} where {anns}")];
    let swapped = swap(&h, "sessions", &["scope_id", "session_no"], [&anns, &mallorys]).await;
    for (desk, key, statements) in [
        (mallory, "a", set("owner = 'mallory'")),
        (&all, "a", set("owner = 'mallory'")),
        (&all, "a", set("owner = null")),
        (mallory, "m", swapped),
        (ann, "a", set("mac = null")),
        (mallory, "a", set(&format!("{}, owner = 'mallory'", mac_of("sessions", &mallorys)))),
    ] {
        let what = statements.join("; ");
        with_forged(&h, "sessions", &statements, async || {
            every_session_use_is_refused(desk, &[key], &what).await;
            assert_eq!(all.texts(&name(&["free"]), "").await, ["\"of free\""], "{what}");
        })
        .await;
        assert_eq!(ann.texts(&name(&["a"]), "").await, ["\"of a\""], "{what}");
        assert_eq!(mallory.texts(&name(&["m"]), "").await, ["\"of m\""], "{what}");
    }
    let moved = ["update sessions set kind = 'other' where owner = 'ann'".to_owned()];
    with_forged(&h, "sessions", &moved, async || {
        let (found, caller) = (name(&["a"]), &all.caller);
        let other =
            threadkeep::domain::sessions::name::SessionName::new("other", found.key().to_vec());
        is_refused(all.sessions.load(caller, &other.unwrap(), &Load::default()).await, "moved");
    })
    .await;
    // A snapshot and an export of it neither.
    let given = set("owner = 'mallory'");
    with_forged(&h, "sessions", &given, async || {
        let snapshots = snapshot_calls::Desk::on(&h).await;
        let request = TakeSnapshot { sessions: vec![name(&["a"])], ..of("s", &[], History::All) };
        is_refused(snapshots.take(&subject("mallory"), request).await, "snapshot");
        let (file, all) = (&mut Memory::default(), Selection::Tenant);
        is_refused(
            export(&*h.storage, &h.caller, &all, (file, None), NOW).await.map(drop),
            "export",
        );
    })
    .await;
}

pub async fn a_root_with_another_scope_takes_nothing_in(h: Harness) {
    let h = h.encrypting(None).await;
    let large = |seed: &str| format!("{{\"x\":\"{}\"}}", seed.repeat(100_000));
    let store = Store::on(&h).await;
    for root in ["ann", "mallory", "free"] {
        store.put(&[root], "large", &large(root)).await;
    }
    let [anns, mallorys] = ["root = 'ann'", "root = 'mallory'"];
    let set = |what: &str| vec![format!("update namespace_roots set {what} where {anns}")];
    for statements in [
        swap(&h, "namespace_roots", &["scope_id"], [anns, mallorys]).await,
        set("mac = null"),
        set(&mac_of("namespace_roots", mallorys)),
    ] {
        let what = statements.join("; ");
        with_forged(&h, "namespace_roots", &statements, async || {
            // A server that has not seen it before.
            let other = h.open_with(Some(master_keys(7)), None).await.unwrap();
            let store = Store::of(&other, &h.caller).await;
            let put = store.try_put(change(&["ann"], "more", Some(&large("more")))).await;
            is_refused(put, &what);
            let snapshots = snapshot_calls::Desk::on(&h).await;
            let namespaces = vec![namespace(&["ann"])];
            let request = TakeSnapshot { namespaces, ..of("s", &[], History::All) };
            is_refused(snapshots.take(&h.caller, request).await, &what);
            store.put(&["free"], "more", &large("more")).await;
            // An item has its scope in its own row, which is sealed for it.
            assert!(store.get(&["ann"], "large").await.is_some(), "{what}");
        })
        .await;
    }
    assert!(examine(&h, false).await.is_sound());
}

pub async fn a_snapshot_is_restored_as_whose_it_was_taken(h: Harness) {
    let h = h.encrypting(None).await;
    let desk = granted_callers::Desk::on(&h.storage).await;
    desk.put(&subject("ann"), "t", "1").await.unwrap();
    let sessions = session_calls::Desk::on(&h).await.for_caller(subject("ann"));
    sessions.append(&name(&["s"]), &["\"said\""]).await.unwrap();
    let snapshots = snapshot_calls::Desk::on(&h).await;
    let request = TakeSnapshot { sessions: vec![name(&["s"])], ..of("s", &["t"], History::All) };
    snapshots.take(&subject("ann"), request).await.unwrap();
    h.sql("update snapshots set owner = 'mallory'").await;
    h.sql("update snapshot_parts set owner = 'mallory'").await;
    let thread = into("s", &[("t", "stolen")]);
    let thread = Restore { sessions: Chosen::These(Vec::new()), ..thread };
    let session = Restore { threads: Chosen::These(Vec::new()), ..in_place("s") };
    for caller in [subject("mallory"), tenant()] {
        is_refused(snapshots.restore(&caller, &thread).await, "the thread");
    }
    is_refused(snapshots.restore(&tenant(), &session).await, "the session");
    h.sql("update snapshots set owner = 'ann'").await;
    h.sql("update snapshot_parts set owner = 'ann'").await;
    snapshots.restore(&subject("ann"), &in_place("s")).await.unwrap();
}

/// Nothing that was made or renamed lacks the MAC that belongs to it.
pub async fn all_is_signed(h: &Harness, what: &str) {
    let unsigned = h.storage.list_unsigned_owners().await.unwrap();
    assert!(unsigned.is_empty(), "{what}: {unsigned:?}");
}

pub async fn what_servers_do_to_threads_and_sessions_leaves_them_signed(h: Harness) {
    let h = h.encrypting(None).await;
    // Copies for the same owner and another, a prune, items.
    tell(&h, 70_000).await;
    told(&h, 70_000).await;
    all_is_signed(&h, "the story").await;
    let sessions = session_calls::Desk::on(&h).await;
    sessions.change(&name(&["s"]), vec![put("notes", "\"one\"", None)]).await.unwrap();
    sessions.append(&name(&["s"]), &["\"one\""]).await.unwrap();
    lease(&h, "holder").await;
    expire_leases(&h).await;
    let leased = granted_callers::Desk::on(&h.storage).await;
    leased.acquire(&subject("ann"), "leased").await.unwrap();
    expire_leases(&h).await;
    leased.put(&subject("ann"), "leased", "1").await.unwrap();
    let delete = DeleteThread { thread_id: thread_id("owned"), generation: None, fence: None };
    h.storage.delete_thread(&h.caller, &delete).await.unwrap();
    let again = commit("owned", vec![Put::new("1").sets_value("a", "1", secret(1)).op()]);
    h.commit(again).await.unwrap();
    all_is_signed(&h, "leased, deleted and made again").await;
    let snapshots = snapshot_calls::Desk::on(&h).await;
    let fork =
        ForkThread { checkpoint_id: CheckpointId::new("2").unwrap(), ..forking("t", "fork") };
    snapshots.snapshots.fork(&h.caller, &fork, NEVER).await.unwrap();
    let request = TakeSnapshot {
        sessions: vec![name(&["s"])],
        namespaces: vec![namespace(&["remembered"])],
        ..of("snap", &["t", "leased"], History::All)
    };
    snapshots.take(&h.caller, request).await.unwrap();
    snapshots.take(&h.caller, of("head", &["t"], History::Head)).await.unwrap();
    all_is_signed(&h, "forked and taken").await;
    sessions.append(&name(&["s"]), &["\"two\""]).await.unwrap();
    let later = Put::new("4").parent("3").sets_value("late", "2", secret(2));
    h.commit(commit("t", vec![later.op()])).await.unwrap();
    snapshots.restore(&h.caller, &in_place("snap")).await.unwrap();
    snapshots.restore(&h.caller, &into("head", &[("t", "elsewhere")])).await.unwrap();
    all_is_signed(&h, "restored").await;
    assert_eq!(sessions.texts(&name(&["s"]), "").await, ["\"one\""]);
    for thread in ["t", "shared", "owned", "leased", "fork", "elsewhere"] {
        assert!(h.latest(thread).await.is_some(), "{thread}");
        let next = commit(thread, vec![Put::new("9").sets_value("a", "9", secret(9)).op()]);
        h.commit(next).await.unwrap();
        assert_eq!(h.latest(thread).await.unwrap().id, "9", "{thread}");
    }
    sessions.append(&name(&["s"]), &["\"three\""]).await.unwrap();
    assert!(examine(&h, false).await.is_sound());
    let file = exported(&h).await;
    let other = other_engine(&h).await.encrypting(None).await;
    read_in(&other, &other.caller, &file, &options(Existing::Refuse)).await.unwrap();
    read_in(&other, &other.caller, &file, &options(Existing::Replace)).await.unwrap();
    all_is_signed(&other, "imported twice").await;
    assert_eq!(other.latest("leased").await.unwrap().id, "9");
    let imported = session_calls::Desk::on(&other).await;
    assert_eq!(imported.texts(&name(&["s"]), "").await, ["\"one\"", "\"three\""]);
    assert!(examine(&other, false).await.is_sound());
}
