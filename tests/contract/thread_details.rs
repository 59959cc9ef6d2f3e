//! Tests titles and metadata of threads: changes, searches, counts, and what copies, restores and removals do with them.

use threadkeep::domain::caller::Caller;
use threadkeep::domain::doctor::{Noun, State};
use threadkeep::domain::error::Full;
use threadkeep::domain::snapshots::History;
use threadkeep::domain::tenants::quotas::THREADS;
use threadkeep::domain::threads::details::{Change, CreateThread, Details, UpdateThread};
use threadkeep::domain::threads::retention::Rule;
use threadkeep::domain::threads::storage::DeleteThread;
use threadkeep::domain::threads::thread::Thread;
use threadkeep::domain::tokens::grants::Actions;
use threadkeep::domain::{Conflict, Error};

use crate::commands::Put;
use crate::doctor::{examine, flip};
use crate::forks::forking;
use crate::granted_callers::{copying, exact, prefix, subject, tenant, with};
use crate::harness::{Harness, NEVER, conflict, masters, pruning, thread_id};
use crate::rewinds;
use crate::snapshot_calls::{Desk, check_sound, in_place, into, of};
use crate::thread_searches::{having, ids, ids_for, saying};

pub fn update(thread: &str) -> UpdateThread {
    UpdateThread {
        thread_id: thread_id(thread),
        title: Change::Keep,
        metadata: None,
        replace_metadata: false,
        ttl: Change::Keep,
        if_version: None,
        idempotency: None,
    }
}

pub fn create(thread: &str, title: Option<&str>, metadata: Option<&str>) -> CreateThread {
    CreateThread {
        thread_id: thread_id(thread),
        title: title.map(str::to_owned),
        metadata: metadata.map(str::to_owned),
        ttl: None,
        idempotency: None,
        full: None,
    }
}

/// Sets title and metadata of a thread, which is made where there is none.
pub async fn details(h: &Harness, thread: &str, title: &str, metadata: &str) {
    h.storage.create_thread(&h.caller, &create(thread, None, None)).await.unwrap();
    let change = UpdateThread {
        title: Change::Set(title.to_owned()),
        metadata: Some(metadata.to_owned()),
        ..update(thread)
    };
    h.storage.update_thread(&h.caller, &change).await.unwrap();
}

pub async fn thread(h: &Harness, id: &str) -> Option<Thread> {
    h.storage.get_thread(&h.caller, &thread_id(id)).await.unwrap()
}

async fn is_new(h: &Harness, request: &CreateThread) -> bool {
    h.storage.create_thread(&h.caller, request).await.unwrap().is_new
}

async fn shown(h: &Harness, id: &str) -> (Option<String>, String) {
    let Details { title, metadata, .. } = thread(h, id).await.unwrap().details;
    (title, metadata)
}

pub async fn a_created_thread_has_what_was_set_and_keeps_it(h: Harness) {
    let metadata = r#"{"n": 1.0,"big":1180591620717411303424,"odd":"\ud800\u0000"}"#;
    let asked = create("t", Some("Über alles"), Some(metadata));
    assert!(is_new(&h, &asked).await);
    let made = thread(&h, "t").await.unwrap();
    assert!(made.checkpoint_count == 0 && made.details.version > 0);
    assert_eq!(made.details.title.as_deref(), Some("Über alles"));
    assert_eq!(
        made.details.metadata,
        r#"{"n":1.0,"big":1180591620717411303424,"odd":"\ud800\u0000"}"#
    );
    let other = create("t", Some("another"), None);
    assert!(!is_new(&h, &other).await, "it is there");
    assert_eq!(thread(&h, "t").await.unwrap(), made);
    h.put(Put::new("1").metadata(r#"{"graph_id":"agent"}"#)).await;
    let after = thread(&h, "t").await.unwrap();
    assert_eq!((&after.details, &after.generation), (&made.details, &made.generation));
    assert_eq!((after.created_at, after.checkpoint_count), (made.created_at, 1));
    assert_eq!(after.graph_id.as_deref(), Some("agent"));
    assert!(is_new(&h, &create("bare", None, None)).await);
    assert_eq!(thread(&h, "bare").await.unwrap().details, Details::default());
    let full = Some(Full { resource: THREADS, limit: 1, used: 1 });
    let refused = CreateThread { full, ..create("more", None, None) };
    let error = h.storage.create_thread(&h.caller, &refused).await.unwrap_err();
    assert!(matches!(error, Error::QuotaExceeded(_)), "{error}");
    assert!(thread(&h, "more").await.is_none());
    let there = CreateThread { full, ..create("t", None, None) };
    assert!(!is_new(&h, &there).await);
    check_sound(&h).await;
}

pub async fn an_update_merges_metadata_and_counts_versions(h: Harness) {
    h.put(Put::new("1")).await;
    let before = thread(&h, "t").await.unwrap();
    let set = |title: Option<&str>, metadata: &str| UpdateThread {
        title: title.map_or(Change::Keep, |it| Change::Set(it.to_owned())),
        metadata: Some(metadata.to_owned()),
        ..update("t")
    };
    h.storage.update_thread(&h.caller, &set(Some("One"), r#"{"a":1.0,"b":null}"#)).await.unwrap();
    h.storage.update_thread(&h.caller, &set(None, r#"{"b":[1],"c":{}}"#)).await.unwrap();
    let both = (Some("One".to_owned()), r#"{"a":1.0,"b":[1],"c":{}}"#.to_owned());
    assert_eq!(shown(&h, "t").await, both);
    let current = thread(&h, "t").await.unwrap().details.version;
    let stale = UpdateThread { if_version: Some(current - 1), ..set(None, "{}") };
    let error = h.storage.update_thread(&h.caller, &stale).await;
    assert_eq!(conflict(error), Conflict::VersionConflict { current });
    let whole =
        UpdateThread { if_version: Some(current), replace_metadata: true, ..set(None, "{}") };
    h.storage.update_thread(&h.caller, &whole).await.unwrap();
    assert_eq!(shown(&h, "t").await, (Some("One".to_owned()), "{}".to_owned()));
    let no_title = UpdateThread { title: Change::Remove, ..update("t") };
    h.storage.update_thread(&h.caller, &no_title).await.unwrap();
    let last = thread(&h, "t").await.unwrap();
    assert!(last.details.version > current && last.details.title.is_none());
    assert!(last.updated_at > before.updated_at && last.created_at == before.created_at);
    h.storage.update_thread(&h.caller, &update("t")).await.unwrap();
    let touched = thread(&h, "t").await.unwrap();
    assert!(
        touched.updated_at > last.updated_at && touched.details.version == last.details.version
    );
    let half = |name: &str| format!(r#"{{"{name}":"{}"}}"#, "x".repeat(40_000));
    h.storage.update_thread(&h.caller, &set(None, &half("a"))).await.unwrap();
    let error = h.storage.update_thread(&h.caller, &set(None, &half("b"))).await.unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    assert_eq!(shown(&h, "t").await.1, half("a"), "nothing half");
    check_sound(&h).await;
}

pub async fn a_repeated_request_is_answered_as_the_first_and_changes_nothing(h: Harness) {
    let key = |digest: u8| Some(("key".to_owned(), [digest; 32]));
    let asked = CreateThread { idempotency: key(1), ..create("t", Some("One"), None) };
    assert!(is_new(&h, &asked).await);
    // Without a name each attempt has another one.
    let again = CreateThread { thread_id: thread_id("other"), ..asked.clone() };
    let created = h.storage.create_thread(&h.caller, &again).await.unwrap();
    assert_eq!((created.thread_id.as_str(), created.is_new), ("t", true));
    assert!(thread(&h, "other").await.is_none());
    let change = UpdateThread {
        metadata: Some(r#"{"a":1}"#.into()),
        if_version: Some(thread(&h, "t").await.unwrap().details.version),
        idempotency: Some(("change".to_owned(), [2; 32])),
        ..update("t")
    };
    h.storage.update_thread(&h.caller, &change).await.unwrap();
    let changed = thread(&h, "t").await.unwrap();
    h.storage.update_thread(&h.caller, &change).await.unwrap();
    assert_eq!(thread(&h, "t").await.unwrap(), changed);
    let other = UpdateThread { idempotency: key(3), ..change };
    let error = h.storage.update_thread(&h.caller, &other).await.unwrap_err();
    assert!(matches!(error, Error::IdempotencyMismatch), "{error}");
}

pub async fn only_who_may_write_changes_details(h: Harness) {
    let ann = subject("ann");
    h.storage.create_thread(&ann, &create("anns", Some("Ann's"), None)).await.unwrap();
    assert_eq!(thread(&h, "anns").await.unwrap().owner.as_deref(), Some("ann"));
    let bob = subject("bob");
    let taken = h.storage.create_thread(&bob, &create("anns", None, None)).await;
    assert_eq!(conflict(taken), Conflict::ThreadTaken);
    for (caller, name) in [(&bob, "anns"), (&ann, "none"), (&h.caller, "none")] {
        let error = h.storage.update_thread(caller, &update(name)).await.unwrap_err();
        assert!(matches!(error, Error::NotFound(_)), "{name}: {error}");
    }
    assert!(h.storage.get_thread(&bob, &thread_id("anns")).await.unwrap().is_none());
    for caller in [&ann, &tenant(), &with("token", vec![exact("anns", Actions::ALL)])] {
        h.storage.update_thread(caller, &update("anns")).await.unwrap();
    }
    details(&h, "team:1", "Ann's too", "{}").await;
    for (caller, seen) in [
        (&ann, vec!["anns"]),
        (&bob, vec![]),
        (&with("team", vec![prefix("team:", Actions::ALL)]), vec!["team:1"]),
        (&tenant(), vec!["anns", "team:1"]),
    ] {
        assert_eq!(ids_for(&h, caller, &saying("ANN'S")).await, seen);
    }
}

pub async fn details_follow_copies_forks_snapshots_and_restores(h: Harness) {
    h.put(Put::new("1").sets("a", "1", "x")).await;
    details(&h, "t", "First", r#"{"n":1.0}"#).await;
    let first = shown(&h, "t").await;
    // A copy that shares content, and one of its own.
    h.storage.copy_thread(&h.caller, &copying("t", "shared")).await.unwrap();
    let ann = Caller { subject: Some("ann".into()), ..h.caller.clone() };
    h.storage.copy_thread(&ann, &copying("t", "anns")).await.unwrap();
    let desk = Desk::on(&h).await;
    desk.take(&h.caller, of("s", &["t"], History::All)).await.unwrap();
    desk.take(&h.caller, of("head", &["t"], History::Head)).await.unwrap();
    details(&h, "t", "Second", r#"{"n":2}"#).await;
    for copy in ["shared", "anns"] {
        assert_eq!(shown(&h, copy).await, first, "{copy}");
    }
    for snapshot in ["s", "head"] {
        let name = format!("from-{snapshot}");
        desk.restore(&h.caller, &into(snapshot, &[("t", &name)])).await.unwrap();
        assert_eq!(shown(&h, &name).await, first, "{name}");
    }
    desk.restore(&h.caller, &in_place("s")).await.unwrap();
    assert_eq!(shown(&h, "t").await, first);
    desk.snapshots.fork(&h.caller, &forking("t", "forked", "1"), NEVER).await.unwrap();
    assert_eq!(shown(&h, "forked").await, first);
    h.put(Put::new("2").parent("1").sets("a", "2", "y")).await;
    desk.snapshots.rewind(&h.caller, &rewinds::to("1"), NEVER).await.unwrap();
    assert_eq!(shown(&h, "t").await, first, "a rewind keeps what was set");
    let found = ids(&h, &having(r#"{"n":1}"#)).await;
    assert_eq!(found, ["anns", "forked", "from-head", "from-s", "shared", "t"]);
    // What a prune keeps may get another key.
    for id in ["2", "3", "4"] {
        h.put(Put::new(id).sets("a", id, "y")).await;
    }
    h.storage.prune_threads(&h.caller, &pruning(&["t"], Rule::KEEP_LATEST)).await.unwrap();
    assert_eq!(shown(&h, "t").await, first);
    // A target without checkpoints gives way, with what was set of it.
    details(&h, "empty", "Gone", "{}").await;
    h.storage.copy_thread(&h.caller, &copying("t", "empty")).await.unwrap();
    assert_eq!(shown(&h, "empty").await, first);
    assert!(ids(&h, &saying("gone")).await.is_empty());
    check_sound(&h).await;
}

pub async fn deletions_take_details_along(h: Harness) {
    details(&h, "t", "A title", r#"{"n":1}"#).await;
    let before = thread(&h, "t").await.unwrap();
    let request = DeleteThread { thread_id: thread_id("t"), generation: None, fence: None };
    assert!(h.storage.delete_thread(&h.caller, &request).await.unwrap());
    assert_eq!(h.count("select count(*) from thread_details").await, 0);
    let error = h.storage.update_thread(&h.caller, &update("t")).await.unwrap_err();
    assert!(matches!(error, Error::NotFound(_)), "{error}");
    assert!(ids(&h, &having(r#"{"n":1}"#)).await.is_empty());
    assert!(is_new(&h, &create("t", None, None)).await);
    let after = thread(&h, "t").await.unwrap();
    assert_eq!((after.details, after.generation), (Details::default(), before.generation));
    assert_eq!(h.count("select count(*) from thread_tombstones").await, 0);
    check_sound(&h).await;
}

pub async fn the_doctor_finds_and_mends_what_searches_look_at(h: Harness) {
    details(&h, "t", "A title", r#"{"n":1e2,"b":"\ud800"}"#).await;
    let report = examine(&h, false).await;
    assert!(report.is_sound(), "{report:?}");
    assert_eq!(report.tally(State::Checked, Noun::ThreadDetails).count, 1);
    let statement = flip(&h, "thread_details", "document", "true");
    h.sql(&statement).await;
    let report = examine(&h, true).await;
    assert_eq!(report.tally(State::Damaged, Noun::ThreadDetails).count, 1, "{report:?}");
    assert_eq!(report.places[0].place.thread_id.as_deref(), Some("t"));
    h.sql(&statement).await;
    h.sql("update thread_details set title_folded = 'another'").await;
    let report = examine(&h, false).await;
    assert_eq!(report.tally(State::Damaged, Noun::ThreadDetails).count, 1, "{report:?}");
    let report = examine(&h, true).await;
    assert_eq!(report.tally(State::Repaired, Noun::ThreadDetails).count, 1, "{report:?}");
    assert_eq!(ids(&h, &saying("a title")).await, ["t"]);
    if !h.is_sqlite() && masters().is_none() {
        h.sql("update thread_details set projection = '{\"tenant-a\":{\"n\":101}}'").await;
        assert!(ids(&h, &having(r#"{"n":100}"#)).await.is_empty());
        assert_eq!(examine(&h, true).await.tally(State::Repaired, Noun::ThreadDetails).count, 1);
    }
    assert_eq!(ids(&h, &having(r#"{"n":100}"#)).await, ["t"]);
    // Rows of a key that no thread has.
    h.sql("delete from scope_holders; delete from threads").await;
    let report = examine(&h, false).await;
    assert_eq!(report.tally(State::Orphan, Noun::Rows).count, 1, "{report:?}");
}
