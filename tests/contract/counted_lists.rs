//! Tests lists that count what each of their entries has: namespaces, kinds of sessions, and subjects.

use std::sync::Arc;

use threadkeep::domain::caller::{Caller, Grants};
use threadkeep::domain::clock::Clock;
use threadkeep::domain::pages::COUNTED_MAX;
use threadkeep::domain::sessions::name::SessionName;
use threadkeep::domain::sessions::storage::{ListKinds, SessionKind};
use threadkeep::domain::snapshots::History;
use threadkeep::domain::snapshots::take::TakeSnapshot;
use threadkeep::domain::store::item::ListNamespaces;
use threadkeep::domain::store::namespace::Namespace;
use threadkeep::domain::tenants::subjects::{Subject, SubjectQuery, Subjects};
use threadkeep::domain::tokens::grants::{Actions, Grant, Scoped, Selector};

use crate::commands::Put;
use crate::harness::{Harness, caller_of};
use crate::session_calls::{Desk, name};
use crate::snapshot_calls::{self, of};
use crate::store::{SECOND, Store, all_namespaces, change, granted};
use crate::subjects::{ANN, BOB, TENANT, commit_as, fill, fill_others, speaking_for};

fn asks(limit: usize) -> ListNamespaces {
    ListNamespaces { counts: true, limit, ..all_namespaces() }
}

pub async fn counts_of_namespaces_are_of_what_lives_and_may_be_read(h: Harness) {
    let store = Store::on(&h).await;
    for (labels, keys) in [(&["a"][..], 2), (&["a", "x"], 3), (&["a", "x", "y"], 1), (&["b"], 4)] {
        for key in 0..keys {
            store.put(labels, &format!("k{key}"), "{}").await;
        }
    }
    let mut dying = change(&["b"], "dies", Some("{}"));
    dying.value.as_mut().unwrap().ttl_micros = Some(SECOND);
    store.try_put(dying).await.unwrap();
    let counts = async |caller: &Caller, depth: Option<usize>| {
        let query = ListNamespaces { max_depth: depth, ..asks(10) };
        let page = store.namespace_page(caller, query).await;
        let shown = page.namespaces.iter().map(|it| it.labels().join("/"));
        shown.zip(page.counts.unwrap()).collect::<Vec<_>>()
    };
    let shown = |pairs: &[(&str, u64)]| -> Vec<(String, u64)> {
        pairs.iter().map(|(labels, count)| ((*labels).to_owned(), *count)).collect()
    };
    let all = [("a", 6), ("a/x", 4), ("a/x/y", 1), ("b", 5)];
    assert_eq!(counts(&h.caller, None).await, shown(&all));
    store.clock.advance(2 * SECOND);
    assert_eq!(counts(&h.caller, Some(1)).await, shown(&[("a", 6), ("b", 4)]));
    assert_eq!(counts(&h.caller, Some(0)).await, shown(&[("", 10)]));
    let reader = granted(TENANT, &[(&["a", "x", "y"], Actions::READ), (&["b"], Actions::READ)]);
    assert_eq!(counts(&reader, Some(1)).await, shown(&[("a", 1), ("b", 4)]));
    assert_eq!(counts(&reader, Some(0)).await, shown(&[("", 5)]));
    assert_eq!(counts(&granted(TENANT, &[(&["c"], Actions::ALL)]), None).await, shown(&[]));
    assert_eq!(counts(&caller_of("tenant-b"), None).await, shown(&[]));
    let silent = store.namespace_page(&h.caller, all_namespaces()).await;
    assert_eq!(silent.counts, None);
}

pub async fn the_largest_namespaces_come_first(h: Harness) {
    let store = Store::on(&h).await;
    let text = |bytes: usize| format!(r#"{{"t": "{}"}}"#, "x".repeat(bytes));
    for (labels, key, bytes) in [
        (&["a"][..], "1", 10),
        (&["a", "x"], "1", 2_000),
        (&["a", "x"], "2", 9_000),
        (&["a", "y"], "1", 10),
        (&["b"], "1", 5_000),
        (&["b", "c"], "1", 100),
        (&["c"], "1", 10),
    ] {
        store.put(labels, key, &text(bytes)).await;
    }
    // A value in chunks counts whole.
    store.put(&["b", "large"], "1", &text(200_000)).await;
    let mut dying = change(&["dead"], "dies", Some(&text(300_000)));
    dying.value.as_mut().unwrap().ttl_micros = Some(SECOND);
    store.try_put(dying).await.unwrap();
    store.clock.advance(2 * SECOND);
    let largest = async |caller: &Caller, prefix: &[&str], limit: usize| {
        let prefix = Namespace::new(prefix.iter().map(|it| (*it).to_owned()).collect()).unwrap();
        let found = store.items.largest_namespaces(caller, &prefix, limit).await.unwrap();
        let shown = found.into_iter().map(|(namespace, it)| {
            assert!(it.updated_at.is_some());
            (namespace.labels().join("/"), it.items, it.size_bytes)
        });
        shown.collect::<Vec<_>>()
    };
    let shown = |rows: &[(&str, u64, u64)]| -> Vec<(String, u64, u64)> {
        rows.iter().map(|(labels, items, bytes)| ((*labels).to_owned(), *items, *bytes)).collect()
    };
    let all = [
        ("b/large", 1, 200_009),
        ("a/x", 2, 11_018),
        ("b", 1, 5_009),
        ("b/c", 1, 109),
        ("a", 1, 19),
        ("a/y", 1, 19),
        ("c", 1, 19),
    ];
    assert_eq!(largest(&h.caller, &[], 100).await, shown(&all));
    assert_eq!(largest(&h.caller, &[], usize::MAX).await, shown(&all));
    assert_eq!(largest(&h.caller, &[], 2).await, shown(&all[..2]));
    assert_eq!(largest(&h.caller, &["b"], 2).await, shown(&[all[0], all[2]]));
    assert_eq!(largest(&h.caller, &[], 0).await, shown(&[]));
    let grants =
        [(&["a"][..], Actions::READ), (&["b", "c"], Actions::READ), (&["c"], Actions::WRITE)];
    let reader = granted(TENANT, &grants);
    assert_eq!(largest(&reader, &[], 100).await, shown(&[all[1], all[3], all[4], all[5]]));
    assert_eq!(largest(&reader, &[], 2).await, shown(&[all[1], all[3]]));
    assert_eq!(largest(&reader, &["b", "large"], 9).await, shown(&[]));
    assert_eq!(largest(&caller_of("tenant-b"), &[], 9).await, shown(&[]));
}

pub async fn kinds_of_sessions_are_listed_with_what_the_caller_may_read(h: Harness) {
    let desk = Desk::on(&h).await;
    let named = |kind: &str, key: &str| SessionName::new(kind, vec![key.to_owned()]).unwrap();
    let ann = desk.for_caller(speaking_for(Some(ANN)));
    for (kind, key) in [("claude", "1"), ("claude", "2"), ("0", "1"), ("z_-", "1")] {
        desk.append(&named(kind, key), &["1"]).await.unwrap();
    }
    ann.append(&named("claude", "of ann"), &["1"]).await.unwrap();
    ann.append(&named("agentrail", "of ann"), &["1"]).await.unwrap();
    // A snapshot keeps a session under a kind of its own.
    desk.append(&name(&["s"]), &["1"]).await.unwrap();
    let kept = TakeSnapshot { sessions: vec![name(&["s"])], ..of("kept", &[], History::All) };
    snapshot_calls::Desk::on(&h).await.take(&h.caller, kept).await.unwrap();
    let list = async |caller: &Caller, limit: usize, after: Option<&str>| {
        let query = ListKinds { limit, after: after.map(str::to_owned) };
        let page = desk.sessions.list_kinds(caller, query).await.unwrap();
        let shown = |it: SessionKind| (it.kind, it.sessions, it.updated_at.is_some());
        (page.kinds.into_iter().map(shown).collect::<Vec<_>>(), page.next)
    };
    let shown = |kinds: &[(&str, u64)]| -> Vec<(String, u64, bool)> {
        kinds.iter().map(|(kind, count)| ((*kind).to_owned(), *count, true)).collect()
    };
    let all = shown(&[("0", 1), ("agentrail", 1), ("claude", 3), ("kind", 1), ("z_-", 1)]);
    assert_eq!(list(&h.caller, 10, None).await, (all.clone(), None));
    assert_eq!(list(&h.caller, 5, None).await, (all.clone(), None));
    let (first, next) = list(&h.caller, 2, None).await;
    assert_eq!((first.as_slice(), next.as_deref()), (&all[..2], Some("agentrail")));
    let (second, next) = list(&h.caller, 2, next.as_deref()).await;
    assert_eq!((second.as_slice(), next.as_deref()), (&all[2..4], Some("kind")));
    assert_eq!(list(&h.caller, 2, next.as_deref()).await, (all[4..].to_vec(), None));
    assert_eq!(list(&h.caller, 0, None).await, (Vec::new(), None));
    assert_eq!(list(&caller_of("tenant-b"), 10, None).await, (Vec::new(), None));
    let scoped = |selector: Selector| {
        let sessions = vec![Grant { selector, actions: Actions::READ }];
        let scoped = Scoped { sessions, ..Scoped::default() };
        Caller { grants: Grants::Scoped(Arc::new(scoped)), ..speaking_for(Some(ANN)) }
    };
    let own = list(&scoped(Selector::Owned), 10, None).await;
    assert_eq!(own, (shown(&[("agentrail", 1), ("claude", 1)]), None));
    // A short page leads on.
    let (page, next) = list(&scoped(Selector::Owned), 1, None).await;
    assert_eq!((page, next.as_deref()), (Vec::new(), Some("0")));
    let below = list(&scoped(Selector::Prefix("claude:".into())), 10, None).await;
    assert_eq!(below, (shown(&[("claude", 3)]), None));
    let exact = scoped(Selector::Exact("claude:1".into()));
    let refused = desk.sessions.list_kinds(&exact, ListKinds::default()).await;
    assert!(refused.is_err(), "{refused:?}");
}

pub async fn subjects_are_listed_with_what_each_has(h: Harness) {
    fill(&h, ANN).await;
    fill_others(&h).await;
    let desk = Desk::on(&h).await;
    for subject in [ANN, "ü only sessions"] {
        let own = desk.for_caller(speaking_for(Some(subject)));
        own.append(&name(&[subject]), &["1"]).await.unwrap();
    }
    // What a snapshot keeps of a subject is not the subject's own.
    let taker = speaking_for(Some("taker"));
    let kept = of("kept", &["ann-of-acme-1"], History::All);
    snapshot_calls::Desk::on(&h).await.take(&taker, kept).await.unwrap();
    let elsewhere = Caller { subject: Some("stranger".into()), ..caller_of("tenant-b") };
    desk.for_caller(elsewhere).append(&name(&["s"]), &["1"]).await.unwrap();
    let clock = Arc::new(Clock::System);
    let subjects = Subjects::new(h.storage.clone(), clock);
    let page = async |limit: usize, after: Option<&str>| {
        let query = SubjectQuery { limit, after: after.map(str::to_owned) };
        subjects.list(&h.caller, query).await.unwrap()
    };
    let all = page(100, None).await;
    assert_eq!(all.next, None);
    let counts = |it: &Subject| {
        let Subject { subject, keys, threads, sessions, snapshots, items, .. } = it.clone();
        (subject, [keys, threads, sessions, snapshots, items])
    };
    let counted: Vec<_> = all.subjects.iter().map(counts).collect();
    let expected = [
        (ANN, [1, 3, 1, 0, 3]),
        (BOB, [1, 4, 0, 0, 3]),
        ("taker", [0, 0, 0, 1, 0]),
        ("ü only sessions", [0, 0, 1, 0, 0]),
    ];
    assert_eq!(counted, expected.map(|(subject, counts)| (subject.to_owned(), counts)));
    let sizes = h
        .count("select cast(coalesce((select sum(size_bytes) from threads where owner = 'ann-of-acme' and octet_length(thread_id) <= 512), 0)
            + (select sum(size_bytes) from sessions where owner = 'ann-of-acme')
            + (select sum(size_bytes) from items where key is not null) as bigint)")
        .await;
    let both = all.subjects[0].size_bytes + all.subjects[1].size_bytes;
    let of_bob = h
        .count("select cast(sum(size_bytes) as bigint) from threads where owner = 'bob-of-acme'")
        .await;
    assert_eq!(both, (sizes + of_bob).unsigned_abs());
    assert!(all.subjects[0].updated_at.is_some() && all.subjects[2].updated_at.is_none());
    assert!(all.subjects.iter().all(|it| !it.is_partial()));
    let (mut paged, mut after) = (Vec::new(), None);
    loop {
        let next = page(1, after.as_deref()).await;
        assert!(next.subjects.len() == 1);
        paged.extend(next.subjects);
        after = next.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(paged, all.subjects);
    let query = SubjectQuery { limit: 10, after: None };
    let refused = subjects.list(&granted(TENANT, &[(&[], Actions::ALL)]), query).await;
    assert!(refused.is_err(), "{refused:?}");
    // A subject whose last key was revoked and that has nothing is in no list.
    h.sql("update keys set revoked_at = 5 where key_id = 'key_of_bob-of-acme'").await;
    assert_eq!(page(100, None).await.subjects[1].keys, 0);
}

pub async fn counts_of_a_list_end(h: Harness) {
    commit_as(&h, Some(ANN), "t", Put::new("0")).await;
    let mac = if h.is_sqlite() { "x''" } else { "''" };
    let more = COUNTED_MAX + 5;
    h.sql(&format!(
        "with recursive n (n) as (select 1 union all select n + 1 from n where n < {more})
         insert into snapshots (tenant, snapshot_id, snapshot_no, owner, digest, labels, document, created_at, taken_at, expires_at)
         select '{TENANT}', 's' || n, n, '{ANN}', {mac}, '{{}}', {mac}, n, n, 0 from n"
    ))
    .await;
    h.sql(&format!(
        "with recursive n (n) as (select 1 union all select n + 1 from n where n < {more})
         insert into sessions (tenant, kind, key, session_no, scope_id, owner, created_at, updated_at, archives, next_log, size_bytes)
         select '{TENANT}', 'many', cast('s' || n as {}), n, n, '{ANN}', n, n, 0, 1, 1 from n",
        if h.is_sqlite() { "blob" } else { "bytea" }
    ))
    .await;
    let clock = Arc::new(Clock::System);
    let subjects = Subjects::new(h.storage.clone(), clock);
    let query = SubjectQuery { limit: 10, after: None };
    let page = subjects.list(&h.caller, query).await.unwrap();
    let subject = &page.subjects[0];
    let most = COUNTED_MAX.unsigned_abs();
    assert_eq!((subject.threads, subject.sessions, subject.snapshots), (1, most, most));
    assert!(subject.is_partial());
    let desk = Desk::on(&h).await;
    let kinds = desk.sessions.list_kinds(&h.caller, ListKinds { limit: 1, after: None }).await;
    assert_eq!(kinds.unwrap().kinds[0].sessions, most);
}
