"""Namespaces with all below them, and sessions, in snapshots: what comes back, and what is left alone."""

import pytest
from threadkeep.errors import (
    InvalidError,
    NamespaceExistsError,
    NotFoundError,
    SessionExistsError,
)
from threadkeep.snapshots import SessionName

from snapshots.world import FILES, NOTES, ROOT, SESSION, World


def test_a_snapshot_says_how_much_it_has(world: World) -> None:
    world.move("one")
    world.move("two")
    taken = world.take("s")
    (namespace,), (session,) = taken.namespaces, taken.sessions
    assert (namespace.namespace, namespace.items) == (["ann"], 6)
    assert namespace.size_bytes > 1_000
    # Two entries and a document.
    assert (session.kind, tuple(session.key), session.entries) == (*SESSION, 3)


def test_items_are_written_only_where_they_differ(world: World) -> None:
    world.move("one")
    world.take("s")
    then = world.shown()
    world.move("two")
    world.client.files.delete(FILES, "/one.md")
    now = world.shown()
    asked = world.client.snapshots.restore("s", dry_run=True)
    assert world.shown() == now
    done = world.client.snapshots.restore("s")
    assert world.shown() == then
    assert asked.namespaces == done.namespaces
    assert asked.sessions == done.sessions
    (namespace,) = done.namespaces
    # Changed: both `same`; gone: two.md and `two`; back: one.md; as it was: `one`.
    counts = (namespace.written, namespace.unchanged, namespace.removed)
    assert counts == (3, 1, 2)


def test_chosen_parts_leave_the_rest_alone(world: World) -> None:
    world.store.put(("bob",), "k", {"of": "bob"})
    world.move("one")
    world.take("s")
    then = world.shown()
    world.move("two")
    world.store.put(("bob",), "k", {"of": "bob", "later": True})
    now = world.shown()
    world.client.snapshots.restore("s", threads=["t"])
    assert world.shown() == now | {"threads": now["threads"] | {"t": then["threads"]["t"]}}
    world.client.snapshots.restore("s", namespaces=[ROOT], safety=False)
    assert world.shown()["namespaces"] == then["namespaces"]
    assert world.shown()["threads"][".."] == now["threads"][".."]
    assert world.shown()["sessions"] == now["sessions"]
    world.client.snapshots.restore("s", sessions=[SESSION])
    assert world.shown()["sessions"] == then["sessions"]
    found = world.store.get(("bob",), "k")
    assert found is not None and found.value == {"of": "bob", "later": True}


def test_a_namespace_that_is_not_in_the_snapshot_cannot_come_back(world: World) -> None:
    world.move("one")
    world.take("s")
    now = world.shown()
    with pytest.raises(InvalidError):
        world.client.snapshots.restore("s", namespaces=[("bob",)])
    with pytest.raises(InvalidError):
        world.client.snapshots.restore("s", threads=["t"], namespaces=[NOTES])
    assert world.shown() == now


def test_sessions_that_are_not_there_cannot_be_taken(world: World) -> None:
    world.move("one")
    with pytest.raises(NotFoundError) as caught:
        world.client.snapshots.take("s", threads=["t"], sessions=[SessionName("test", ("no",))])
    assert caught.value.code == "session_not_found"
    assert world.client.snapshots.get("s") is None


def test_namespaces_and_sessions_go_where_there_is_nothing(world: World) -> None:
    world.move("one")
    world.take("s")
    then = world.shown()
    world.move("two")
    now = world.shown()
    snapshots, target = world.client.snapshots, ("bob", "copies")
    elsewhere = {
        "namespaces": {ROOT: target},
        "sessions": {SESSION: ("bob", "copy")},
        "subjects": {"ann": "bob"},
    }
    asked = snapshots.restore("s", dry_run=True, **elsewhere)
    assert world.items(target) == []
    done = snapshots.restore("s", **elsewhere)
    assert world.shown() == now
    assert (asked.namespaces, asked.sessions) == (done.namespaces, done.sessions)
    assert done.safety_snapshot_id is None
    (namespace,), (session,) = done.namespaces, done.sessions
    assert (namespace.namespace, namespace.into) == (["ann"], list(target))
    assert (session.key, session.into) == (list(SESSION.key), ["bob", "copy"])
    moved = [((*target, *place[1:]), key, value) for place, key, value in then["namespaces"]]
    assert world.items(target) == moved
    assert world.session(SessionName("test", ("bob", "copy"))) == then["sessions"]
    with pytest.raises(NamespaceExistsError):
        snapshots.restore("s", namespaces={ROOT: ("bob",)})
    with pytest.raises(SessionExistsError):
        snapshots.restore("s", sessions={SESSION: ("bob", "copy")})
    with pytest.raises(InvalidError):
        snapshots.restore("s", namespaces={ROOT: ("x", "")})
    assert world.shown() == now
