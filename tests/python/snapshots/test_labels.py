"""The way from labels with colons to labels without: the example, run on the real server."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from threadkeep import Client, label, label_with_colons
from threadkeep.errors import NotGrantedError
from threadkeep.langgraph import ThreadkeepStore

from support import settings
from support.server import Server

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "labels_without_colons.py"
SUBJECT, OTHER = "google:123", "github:7"


def run(server: Server, api_key: str, *subjects: str) -> "subprocess.CompletedProcess[str]":
    environment = os.environ | {"THREADKEEP_URL": server.url, "THREADKEEP_API_KEY": api_key}
    return subprocess.run(
        [sys.executable, EXAMPLE, *subjects],
        env=environment,
        capture_output=True,
        text=True,
        timeout=settings.PATIENCE_SECONDS,
    )


def fill(client: Client, store: ThreadkeepStore, subject: str) -> None:
    u = label_with_colons(subject)
    for number in range(3):
        store.put((u, "notes"), f"{number}", {"of": subject, "number": number})
    store.put((u, "notes"), "0", {"of": subject, "number": "changed"})
    client.files.write((u, "filesystem"), "/a.md", f"file of {subject}\n")
    client.files.write((u, "workspace"), "/deep/b.md", "line\n" * 50_000)


def shown(client: Client, store: ThreadkeepStore, root: str) -> dict[tuple[str, ...], object]:
    """What is below a label: values and times by what follows it, and contents of files."""
    items = store.search((root,), limit=1_000)
    return {
        (*item.namespace[1:], item.key): (item.value, item.created_at, item.updated_at)
        for item in items
    }


def test_what_is_under_the_former_label_comes_to_the_new_one(server: Server, api_key: str) -> None:
    client, store = (
        Client(server.url, api_key=api_key),
        ThreadkeepStore(server.url, api_key=api_key),
    )
    for subject in (SUBJECT, OTHER):
        fill(client, store, subject)
    before = shown(client, store, SUBJECT)
    assert len(before) == 5
    done = run(server, api_key, SUBJECT)
    assert done.returncode == 0, done.stderr
    assert "5 items" in done.stdout
    assert shown(client, store, label(SUBJECT)) == before
    assert shown(client, store, SUBJECT) == before
    assert client.files.read((label(SUBJECT), "filesystem"), "/a.md").content == (
        f"file of {SUBJECT}\n"
    )
    assert shown(client, store, label(OTHER)) == {}
    # What is there is never overwritten.
    store.put((label(SUBJECT), "notes"), "1", {"newer": True})
    again = run(server, api_key, SUBJECT)
    assert again.returncode != 0 and "already" in again.stderr
    item = store.get((label(SUBJECT), "notes"), "1")
    assert item is not None and item.value == {"newer": True}


def test_labels_of_threads_with_colons_come_along(server: Server, api_key: str) -> None:
    client, store = (
        Client(server.url, api_key=api_key),
        ThreadkeepStore(server.url, api_key=api_key),
    )
    for thread in ("run:1", "plain"):
        namespace = ("ann", "threads", label_with_colons(thread), "artifacts")
        client.files.write(namespace, "/large_tool_results/1", thread)
        namespace = (SUBJECT, "threads", label_with_colons(thread), "artifacts")
        client.files.write(namespace, "/large_tool_results/1", thread)
    store.put((SUBJECT, "notes"), "a", {"a": 1})
    done = run(server, api_key, SUBJECT, "ann")
    assert done.returncode == 0, done.stderr
    for u in (label(SUBJECT), "ann"):
        for thread in ("run:1", "plain"):
            namespace = (u, "threads", label(thread), "artifacts")
            assert client.files.read(namespace, "/large_tool_results/1").content == thread
    assert store.get((label(SUBJECT), "notes"), "a") is not None


def test_a_token_of_the_subject_reaches_both_labels(server: Server, api_key: str) -> None:
    client = Client(server.url, api_key=api_key)
    token = client.tokens.mint(SUBJECT).token
    own = ThreadkeepStore(server.url, api_key=token)
    for u in (label(SUBJECT), label_with_colons(SUBJECT)):
        own.put((u, "notes"), "k", {"u": u})
        item = own.get((u, "notes"), "k")
        assert item is not None and item.value == {"u": u}
    with pytest.raises(NotGrantedError):
        own.put((label(OTHER), "notes"), "k", {})
    identity = Client(server.url, api_key=token).whoami()
    assert (identity.label, identity.label_with_colons) == ("google~3a123", "google:123")
    # Erasing the subject takes what lies under either.
    client.subjects.delete(SUBJECT)
    store = ThreadkeepStore(server.url, api_key=api_key)
    for u in (label(SUBJECT), label_with_colons(SUBJECT)):
        assert store.search((u,)) == []
