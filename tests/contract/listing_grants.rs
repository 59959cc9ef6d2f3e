//! Tests that listings show what a caller may read, by every kind of grant, page by page. Ids are compared by bytes and are no patterns.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use threadkeep::domain::caller::{Caller, Grants};
use threadkeep::domain::checkpoints::checkpoint::ListQuery;
use threadkeep::domain::threads::thread::{ThreadQuery, ThreadSort};
use threadkeep::domain::tokens::grants::{Access, Action, Actions, Grant, Reach, Selector};

use crate::commands::Put;
use crate::granted_callers::{
    Desk, assert_not_granted, exact, owned, prefix, put, subject, tenant, with,
};
use crate::harness::{Harness, commit, everything, thread_id};

fn by(sort: ThreadSort, ascending: bool, limit: usize) -> ThreadQuery {
    ThreadQuery { limit, sort, ascending, ..ThreadQuery::default() }
}

/// Listings in every order, of threads and of checkpoints; all must show the same threads.
async fn listed(desk: &Desk, caller: &Caller, limit: usize) -> BTreeSet<String> {
    let mut found: Option<BTreeSet<String>> = None;
    for sort in [ThreadSort::Created, ThreadSort::Updated, ThreadSort::Size, ThreadSort::ThreadId] {
        let up = desk.listed(caller, &by(sort, true, limit)).await.unwrap();
        let mut down = desk.listed(caller, &by(sort, false, limit)).await.unwrap();
        down.reverse();
        assert_eq!(up, down, "{sort:?}");
        let all: BTreeSet<String> = up.iter().cloned().collect();
        assert_eq!(all.len(), up.len(), "each once: {up:?}");
        if sort == ThreadSort::ThreadId {
            assert!(up.iter().eq(all.iter()), "in the order of bytes: {up:?}");
        }
        assert_eq!(*found.get_or_insert(all.clone()), all, "{sort:?}");
    }
    let checkpoints = desk.all(caller, limit).await.unwrap();
    let threads: BTreeSet<String> = checkpoints.iter().map(|it| it.1.clone()).collect();
    assert_eq!(threads.len(), checkpoints.len(), "{checkpoints:?}");
    let found = found.unwrap();
    assert_eq!(threads, found);
    found
}

pub async fn every_kind_of_grant_lists_what_it_reaches(h: Harness) {
    let desk = Desk::on(&h.storage).await;
    let (ann, bob) = (subject("ann"), subject("bob"));
    for (maker, thread) in [
        (&ann, "acme:1"),
        (&ann, "b"),
        (&bob, "acme:2"),
        (&bob, "acme/3"),
        (&bob, "acme-corp:1"),
        (&bob, "acme"),
        (&bob, "acme;"),
        (&bob, "acme0"),
        (&tenant(), "acme:4/x"),
        (&tenant(), "c"),
    ] {
        desk.put(maker, thread, "1").await.unwrap();
    }
    let of_ann = |threads| Caller { subject: Some("ann".into()), ..with("token", threads) };
    let all = Actions::ALL;
    let cases: [(Caller, &[&str]); 9] = [
        (
            tenant(),
            &[
                "acme",
                "acme-corp:1",
                "acme/3",
                "acme0",
                "acme:1",
                "acme:2",
                "acme:4/x",
                "acme;",
                "b",
                "c",
            ],
        ),
        (ann.clone(), &["acme:1", "b"]),
        (of_ann(vec![owned(Actions::READ)]), &["acme:1", "b"]),
        (with("t", vec![prefix("acme:", all)]), &["acme:1", "acme:2", "acme:4/x"]),
        (
            with("t", vec![prefix("acme:4/", all), prefix("acme:", all)]),
            &["acme:1", "acme:2", "acme:4/x"],
        ),
        (
            with("t", vec![prefix("acme/", all), exact("c", all), exact("absent", all)]),
            &["acme/3", "c"],
        ),
        (of_ann(vec![owned(all), exact("acme", all), exact("b", all)]), &["acme", "acme:1", "b"]),
        (
            of_ann(vec![owned(all), prefix("acme:", all), exact("c", all)]),
            &["acme:1", "acme:2", "acme:4/x", "b", "c"],
        ),
        (of_ann(vec![owned(all), prefix("acme:", Actions::WRITE)]), &["acme:1", "b"]),
    ];
    for (at, (caller, expected)) in cases.iter().enumerate() {
        for limit in [1, 2, 1_000] {
            let found = listed(&desk, caller, limit).await;
            assert!(found.iter().eq(expected.iter()), "{at}: {found:?}");
        }
    }
    // A cursor of a caller who sees more opens nothing.
    let whole = by(ThreadSort::ThreadId, true, 3);
    let position = desk.threads.list(&tenant(), whole.clone()).await.unwrap().next;
    let rest = ThreadQuery { after: position, ..whole };
    assert_eq!(desk.listed(&ann, &rest).await.unwrap(), ["acme:1", "b"]);
    // Filters hold beside the grants.
    let below = ThreadQuery { prefix: Some("acme".into()), ..by(ThreadSort::Created, true, 9) };
    assert_eq!(desk.listed(&ann, &below).await.unwrap(), ["acme:1"]);
    assert_eq!(desk.listed(&cases[7].0, &below).await.unwrap(), ["acme:1", "acme:2", "acme:4/x"]);
}

/// A token for one sandbox.
pub async fn threads_granted_by_name_alone_are_no_list(h: Harness) {
    let desk = Desk::on(&h.storage).await;
    desk.put(&subject("ann"), "t", "1").await.unwrap();
    let writes =
        vec![exact("t", Actions::ALL), prefix("a:", Actions::WRITE), owned(Actions::APPEND)];
    for threads in [vec![exact("t", Actions::ALL)], writes, Vec::new()] {
        let token = with("token", threads);
        assert_not_granted(desk.threads.list(&token, by(ThreadSort::Created, true, 9)).await);
        assert_not_granted(desk.threads.list(&token, by(ThreadSort::Created, true, 0)).await);
        assert_not_granted(desk.checkpoints.list(&token, everything()).await);
    }
    let token = with("token", vec![exact("t", Actions::ALL)]);
    let own = ListQuery { thread_id: Some(thread_id("t")), ..everything() };
    assert_eq!(desk.checkpoints.list(&token, own).await.unwrap().views.len(), 1);
}

/// What was deleted, by threads.
pub async fn runs_are_deleted_where_the_caller_may_write(h: Harness) {
    let desk = Desk::on(&h.storage).await;
    let run = |id: &str| Put::new(id).metadata(r#"{"run_id":"run"}"#);
    let callers = [
        with("by name", vec![exact("b", Actions::WRITE), exact("a:1", Actions::READ)]),
        with("below", vec![prefix("a:", Actions::WRITE)]),
        subject("ann"),
        tenant(),
    ];
    let expected: [&[&str]; 4] =
        [&["b"], &["a:1", "a:2"], &["a:1", "c"], &["a-1", "a:1", "a:2", "b", "c"]];
    for (caller, expected) in callers.iter().zip(expected) {
        for thread in ["a:1", "a:2", "b", "c", "a-1"] {
            let maker = if ["a:1", "c"].contains(&thread) { subject("ann") } else { tenant() };
            for id in ["1", "2"] {
                desk.commit(&maker, commit(thread, vec![run(id).op()])).await.unwrap();
            }
            desk.put(&maker, thread, "3").await.unwrap();
        }
        desk.delete_runs(caller, "run").await.unwrap();
        let left = desk.all(&tenant(), 100).await.unwrap();
        let touched: BTreeSet<&str> = ["a:1", "a:2", "b", "c", "a-1"]
            .into_iter()
            .filter(|thread| left.iter().filter(|it| it.1 == *thread).count() == 1)
            .collect();
        assert!(touched.iter().eq(expected.iter()), "{}: {touched:?}", caller.credential);
        assert_eq!(left.len(), 15 - 2 * expected.len());
    }
}

const ALPHABET: [&str; 14] =
    [":", "%", "_", "*", "/", " ", "a", "A", "b", "-", "\\", "ü", "\u{10ffff}", "'"];

fn id() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&ALPHABET[..]), 1..6).prop_map(|it| it.concat())
}

/// Grants made of the ids, so that they hit.
fn grants(ids: Vec<String>) -> impl Strategy<Value = Vec<Grant>> {
    let one = (prop::sample::select(ids), 0..4_u8, any::<u8>()).prop_map(|(id, kind, cut)| {
        let ends: Vec<usize> = id.match_indices([':', '/']).map(|(at, _)| at + 1).collect();
        let selector = match kind {
            0 => Selector::Exact(id),
            1 => Selector::Owned,
            _ if ends.is_empty() => Selector::Prefix(format!("{id}:")),
            _ => Selector::Prefix(id[..ends[usize::from(cut) % ends.len()]].to_owned()),
        };
        Grant { selector, actions: if cut % 5 == 0 { Actions::WRITE } else { Actions::ALL } }
    });
    prop::collection::vec(one, 1..4)
}

/// Two tenants with the same kind of ids; each caller sees what its own grants say of its own tenant.
pub async fn odd_ids_are_compared_by_bytes(h: Harness) {
    let desk = Desk::on(&h.storage).await;
    let seed = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), seed);
    let mut draw_ids = |count: usize| -> BTreeSet<String> {
        let ids = prop::collection::btree_set(id(), count);
        ids.new_tree(&mut runner).unwrap().current()
    };
    let tenants = ["tenant-a", "tenant-b"].map(|name| (name, draw_ids(40)));
    let of = |caller: Caller, tenant: &str| Caller { tenant: tenant.to_owned(), ..caller };
    let makers = [subject("ann"), subject("bob"), tenant()];
    for (name, ids) in &tenants {
        for (at, id) in ids.iter().enumerate() {
            let maker = of(makers[at % 3].clone(), name);
            desk.put(&maker, id, &format!("{at:02} of {name}")).await.unwrap();
        }
    }
    let mut runner = TestRunner::new_with_rng(
        Config::default(),
        TestRng::deterministic_rng(RngAlgorithm::ChaCha),
    );
    for round in 0..60 {
        let (name, ids) = &tenants[round % 2];
        let pool: Vec<String> = ids.iter().cloned().collect();
        let threads = grants(pool).new_tree(&mut runner).unwrap().current();
        let token = with("token", threads.clone());
        let caller = of(Caller { subject: Some("ann".into()), ..token }, name);
        let sees = |(at, id): (usize, &String)| {
            let access = caller.thread_access(id, Action::Read);
            let is_in = match access {
                Access::Granted => true,
                Access::IfOwnedBy(subject) => makers[at % 3].subject.as_deref() == Some(subject),
                Access::Denied => false,
            };
            is_in.then(|| id.clone())
        };
        let expected: BTreeSet<String> = ids.iter().enumerate().filter_map(sees).collect();
        let may_list = caller.require_listing(Action::Read).is_ok();
        if may_list {
            assert_eq!(listed(&desk, &caller, 7).await, expected, "{threads:?}");
        }
        if caller.reach_threads(Action::Read) == Reach::default() {
            continue;
        }
        for (at, id) in tenants[0].1.iter().chain(&tenants[1].1).enumerate() {
            let latest = desk.latest(&caller, id).await.unwrap();
            assert_eq!(latest.is_some(), expected.contains(id), "{id:?} by {threads:?}");
            let foreign = latest.is_some_and(|it| !it.ends_with(name));
            assert!(!foreign, "{at}: of the other tenant");
        }
    }
    let Grants::Tenant = tenant().grants else { panic!() };
    for (name, ids) in &tenants {
        assert_eq!(listed(&desk, &of(tenant(), name), 9).await, *ids);
    }
    let taken = put(&of(subject("ann"), "tenant-b"), tenants[0].1.first().unwrap(), "x");
    assert!(
        desk.commit(&of(subject("ann"), "tenant-c"), taken).await.is_ok(),
        "tenants never meet"
    );
}
