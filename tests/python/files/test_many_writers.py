"""Many writers of one file, and listings while others write; and that the reference does lose there."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from deepagents.backends import StoreBackend
from deepagents.backends.protocol import BackendProtocol
from langgraph.store.base import PutOp
from langgraph.store.postgres import PostgresStore
from threadkeep.deepagents import ThreadkeepBackend
from threadkeep.langgraph import ThreadkeepStore

from files.conftest import Namespace

WRITERS, EDITS, FILES = 8, 20, 250
Make = Callable[[], BackendProtocol]


def every_edit_survives(make: Make) -> None:
    """Each writer with a backend of its own; an edit adds a line before the last one."""
    make().write("/log.md", "END\n")
    errors: list[Any] = []

    def edit(writer: int) -> None:
        backend = make()
        for at in range(EDITS):
            errors.append(backend.edit("/log.md", "END\n", f"{writer}-{at}\nEND\n").error)

    threads = [threading.Thread(target=edit, args=(writer,)) for writer in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == [None] * (WRITERS * EDITS)
    lines = make().read("/log.md").file_data["content"].split("\n")
    assert sorted(lines[:-2]) == sorted(f"{w}-{at}" for w in range(WRITERS) for at in range(EDITS))


def listings_are_whole(make: Make) -> None:
    """While another one writes the same files again and again."""
    paths = [f"/f{at:03}.md" for at in range(FILES)]
    backend = make()
    for path in paths:
        backend.write(path, "before")
    with writing(make(), paths):
        for _ in range(10):
            assert [entry["path"] for entry in backend.ls("/").entries] == paths
            assert sorted(entry["path"] for entry in backend.glob("*").matches) == paths
            assert sorted(it["path"] for it in backend.grep("e").matches) == paths


@contextmanager
def writing(backend: BackendProtocol, paths: list[str]) -> Iterator[None]:
    stop = threading.Event()

    def write() -> None:
        at = 0
        while not stop.is_set():
            backend.write(paths[at % len(paths)], f"change {at}")
            at += 7

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize("check", [every_edit_survives, listings_are_whole])
def test_nothing_is_lost(
    make_backend: Callable[..., ThreadkeepBackend], namespace: Namespace, check: Any
) -> None:
    check(lambda: make_backend(namespace))


@pytest.mark.parametrize("check", [every_edit_survives, listings_are_whole])
def test_the_reference_does_lose(
    make_reference: Callable[[], PostgresStore], namespace: Namespace, check: Any
) -> None:
    with pytest.raises(AssertionError):
        check(lambda: StoreBackend(namespace=lambda _: namespace, store=make_reference()))


def test_files_that_come_and_go_are_never_listed_twice(
    backend: ThreadkeepBackend, store: ThreadkeepStore, namespace: Namespace
) -> None:
    steady = [f"/{at:03}.md" for at in range(0, FILES, 2)]
    passing = [f"/{at:03}.md" for at in range(1, FILES, 2)]
    backend.upload_files([(path, b"x") for path in steady])
    stop = threading.Event()

    def come_and_go() -> None:
        while not stop.is_set():
            backend.upload_files([(path, b"x") for path in passing])
            store.batch([PutOp(namespace, path, None) for path in passing])

    thread = threading.Thread(target=come_and_go)
    thread.start()
    try:
        for _ in range(10):
            found = [entry["path"] for entry in backend.ls("/").entries]
            assert found == sorted(set(found))
            assert set(steady) <= set(found) <= {*steady, *passing}
    finally:
        stop.set()
        thread.join()
