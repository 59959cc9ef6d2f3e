//! Tests that chosen parts are restored to the named places and owners.

use super::*;
use crate::domain::snapshots::History;

fn id(text: &str) -> ThreadId {
    ThreadId::new(text).unwrap()
}

fn part(text: &str) -> ThreadPart {
    ThreadPart {
        part_no: 0,
        thread_id: text.into(),
        generation: String::new(),
        history: History::All,
        checkpoints: 1,
        size_bytes: 1,
        owner: None,
    }
}

fn restore(threads: Chosen<RestoreThread>) -> Restore {
    Restore {
        id: SnapshotId::new("s").unwrap(),
        dry_run: false,
        threads,
        namespaces: Chosen::All,
        sessions: Chosen::All,
        subjects: BTreeMap::new(),
        safety: true,
        leases: vec![(id("b"), 7)],
        idempotency: None,
    }
}

fn these(of: &[(&str, Option<&str>)]) -> Chosen<RestoreThread> {
    let one = |(thread, into): &(&str, Option<&str>)| RestoreThread {
        thread_id: id(thread),
        into: into.map(id),
    };
    Chosen::These(of.iter().map(one).collect())
}

#[test]
fn what_is_chosen_goes_where_it_is_said() {
    let parts = [part("a"), part("b")];
    let all = restore(Chosen::All).moves(&anybody(), &parts).unwrap();
    let places: Vec<_> = all.iter().map(|it| (it.into.as_str(), it.in_place(), it.fence)).collect();
    assert_eq!(places, [("a", true, None), ("b", true, Some(7))]);
    let one = restore(these(&[("b", Some("c"))])).moves(&anybody(), &parts).unwrap();
    assert_eq!((one.len(), one[0].into.as_str(), one[0].in_place()), (1, "c", false));
}

#[test]
fn unknown_threads_and_two_for_one_place_are_refused() {
    let parts = [part("a"), part("b")];
    for bad in [
        &[("c", None)][..],
        &[("a", None), ("a", Some("x"))],
        &[("a", Some("x")), ("b", Some("x"))],
        &[("a", Some("b")), ("b", None)],
    ] {
        let error = restore(these(bad)).moves(&anybody(), &parts).unwrap_err();
        assert!(matches!(error, Error::Invalid { field, .. } if field == "threads"), "{bad:?}");
    }
}

fn anybody() -> Caller {
    Caller::of_tenant("tenant")
}

fn below(labels: &[&str]) -> Namespace {
    Namespace::stored(labels.iter().map(|it| (*it).into()).collect())
}

#[test]
fn namespaces_go_where_they_meet_no_other() {
    let part = |labels: &[&str]| NamespacePart {
        part_no: 0,
        namespace: below(labels),
        items: 1,
        size_bytes: 1,
    };
    let parts = [part(&["a"]), part(&["b", "c"])];
    // Labels with slashes between them.
    let moves = |of: &[(&str, Option<&str>)]| {
        let split = |it: &str| below(&it.split_terminator('/').collect::<Vec<_>>());
        let one = |(from, to): &(&str, Option<&str>)| RestoreNamespace {
            namespace: split(from),
            into: to.map(split),
        };
        let namespaces = Chosen::These(of.iter().map(one).collect());
        Restore { namespaces, ..restore(Chosen::All) }.namespace_moves(&parts)
    };
    let done = moves(&[("a", Some("x/y")), ("b/c", None)]).unwrap();
    assert_eq!(done[0].into, below(&["x", "y"]));
    assert!(!done[0].in_place() && done[1].in_place());
    for bad in [
        &[("z", None)][..],
        &[("a", None), ("a", Some("x"))],
        &[("a", Some("x")), ("b/c", Some("x"))],
        &[("a", Some("x/y")), ("b/c", Some("x"))],
        &[("a", Some("b")), ("b/c", None)],
        &[("a", Some(""))],
        &[("a", Some("langgraph/x"))],
    ] {
        let error = moves(bad).unwrap_err();
        assert!(matches!(error, Error::Invalid { field, .. } if field == "namespaces"), "{bad:?}");
    }
}

#[test]
fn only_a_key_of_the_tenant_gives_things_to_others() {
    let owned = ThreadPart { owner: Some("ann".into()), ..part("a") };
    let subjects = |into: &str| Restore {
        subjects: BTreeMap::from([("ann".to_owned(), into.to_owned())]),
        ..restore(Chosen::All)
    };
    let owner = |caller: &Caller, request: Restore| {
        Ok::<_, Error>(request.moves(caller, std::slice::from_ref(&owned))?.pop().unwrap().owner)
    };
    let bob = Caller { subject: Some("bob".into()), ..anybody() };
    assert_eq!(owner(&anybody(), subjects("cid")).unwrap().as_deref(), Some("cid"));
    assert_eq!(owner(&anybody(), restore(Chosen::All)).unwrap().as_deref(), Some("ann"));
    assert_eq!(owner(&bob, subjects("bob")).unwrap().as_deref(), Some("bob"));
    assert_eq!(owner(&bob, restore(Chosen::All)).unwrap().as_deref(), Some("bob"));
    assert!(matches!(owner(&bob, subjects("cid")), Err(Error::NotGranted(_))));
}
