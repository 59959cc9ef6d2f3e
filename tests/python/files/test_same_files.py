"""One namespace through both doors: deepagents' StoreBackend over ThreadkeepStore, and ThreadkeepBackend."""

from collections.abc import Callable
from typing import Any

import pytest
from deepagents.backends import StoreBackend
from threadkeep import Client
from threadkeep.deepagents import ThreadkeepBackend
from threadkeep.langgraph import ThreadkeepStore

from files.conftest import Namespace
from support.server import Server

DATA = bytes(range(256)) * 5
VALUE = {"content", "encoding", "created_at", "modified_at"}
OLD_FORM = {
    "content": ["first", "second"],
    "created_at": "2025-01-01T00:00:00+00:00",
    "modified_at": "2025-01-02T00:00:00+00:00",
}


def test_each_reads_what_the_other_wrote(
    backend: ThreadkeepBackend,
    over_store: StoreBackend,
    store: ThreadkeepStore,
    namespace: Namespace,
) -> None:
    files = [("/t.md", "naïve\ntext\n".encode()), ("/b.png", DATA), ("/c.bin", DATA[::-1])]
    for writer, reader in ((backend, over_store), (over_store, backend)):
        assert [one.error for one in writer.upload_files(files)] == [None] * 3
        found = reader.download_files([path for path, _ in files])
        assert [(one.path, one.content) for one in found] == files
        assert reader.read("/b.png") == writer.read("/b.png")
        writer.write("/w.md", "one\n")
        assert reader.edit("/w.md", "one", "two").error is None
        assert writer.read("/w.md").file_data["content"] == "two\n"
        assert reader.ls("/") == writer.ls("/")
        for path in ("/t.md", "/b.png", "/w.md"):
            assert set(store.get(namespace, path).value) == VALUE, path
        assert reader.delete("/w.md").error is None
        assert writer.read("/w.md").error == "File '/w.md' not found"


def test_texts_may_hold_what_utf_8_cannot(
    backend: ThreadkeepBackend, over_store: StoreBackend
) -> None:
    """StoreBackend itself cannot list them: it counts their bytes of UTF-8."""
    text = "nul \0, lone \ud800 and\n more \udfff 🎈"
    assert backend.write("/ours.md", text).error is None
    assert over_store.read("/ours.md").file_data["content"] == text
    over_store.write("/theirs.md", text)
    assert backend.read("/theirs.md").file_data["content"] == text
    assert backend.edit("/theirs.md", "lone \ud800", "one \udbff ").occurrences == 1
    assert over_store.read("/theirs.md", 0, 1).file_data["content"] == "nul \0, one \udbff  and\n"
    assert [it["path"] for it in backend.ls("/").entries] == ["/ours.md", "/theirs.md"]
    (match,) = backend.grep("\ud800").matches
    assert (match["path"], match["text"]) == ("/ours.md", text.split("\n")[0])
    assert backend.write("/lone \ud800.md", "x").error.startswith("Error: Path is not text")


def test_a_write_keeps_the_time_of_creation_and_an_upload_does_not(
    backend: ThreadkeepBackend, store: ThreadkeepStore, namespace: Namespace
) -> None:
    backend.write("/a", "1")
    first = store.get(namespace, "/a").value
    backend.write("/a", "2")
    backend.edit("/a", "2", "3")
    later = store.get(namespace, "/a").value
    assert later["created_at"] == first["created_at"] < later["modified_at"]
    backend.upload_files([("/a", b"4")])
    assert store.get(namespace, "/a").value["created_at"] > first["created_at"]


def test_files_of_the_first_form_are_read_and_rewritten(
    backend: ThreadkeepBackend, store: ThreadkeepStore, namespace: Namespace
) -> None:
    store.put(namespace, "/v1.md", OLD_FORM)
    assert backend.read("/v1.md").file_data["content"] == "first\nsecond"
    (entry,) = backend.ls("/").entries
    assert (entry["size"], entry["modified_at"]) == (12, OLD_FORM["modified_at"])
    assert [it["line"] for it in backend.grep("second").matches] == [2]
    assert backend.download_files(["/v1.md"])[0].content == b"first\nsecond"
    assert backend.edit("/v1.md", "first", "1st").occurrences == 1
    value = store.get(namespace, "/v1.md").value
    assert (value["content"], value["created_at"]) == ("1st\nsecond", OLD_FORM["created_at"])


@pytest.mark.parametrize(
    "value",
    [{"other": 1}, {"content": 1}, {"content": [1]}, {"content": None}, {"content": {"a": "b"}}],
)
def test_an_item_that_is_no_file_breaks_nothing(
    backend: ThreadkeepBackend, store: ThreadkeepStore, namespace: Namespace, value: Any
) -> None:
    """StoreBackend raises TypeError out of every listing when a content is of another type."""
    store.put(namespace, "/foreign", value)
    backend.write("/a.md", "needle")
    assert [it["path"] for it in backend.ls("/").entries] == ["/a.md"]
    assert [it["path"] for it in backend.glob("*").matches] == ["/a.md"]
    assert [it["path"] for it in backend.grep("needle").matches] == ["/a.md"]
    assert backend.read("/foreign").error
    assert backend.edit("/foreign", "a", "b").error.startswith("Error: ")
    assert backend.download_files(["/foreign"])[0].error
    if value.get("content") is None:
        text = f"Store item does not contain valid content field. Got: {value.keys()}"
        assert backend.read("/foreign").error == text
        assert backend.edit("/foreign", "a", "b").error == f"Error: {text}"


def test_keys_that_no_new_file_may_have_are_still_there(
    backend: ThreadkeepBackend, over_store: StoreBackend
) -> None:
    for path in ("relative.md", "//twice.md", "/a/../b.md", "/folder/", "/dot/./x"):
        assert over_store.write(path, "needle").error is None
        assert backend.read(path).file_data["content"] == "needle"
        assert backend.download_files([path])[0].content == b"needle"
        assert backend.edit(path, "needle", "thread").error is None
        assert over_store.read(path).file_data["content"] == "thread"
        if not path.endswith("/"):
            assert backend.delete(path).error is None
            assert over_store.read(path).error


@pytest.mark.parametrize("path", ["", "relative.md", "/a/../b", "/..", "/nul\0", "/a/./b", "//a"])
def test_new_files_have_canonical_paths(
    backend: ThreadkeepBackend, over_store: StoreBackend, path: str
) -> None:
    assert backend.write(path, "x").error.startswith("Error: ")
    assert backend.upload_files([(path, b"x"), ("/fine", b"x")])[0].error == "invalid_path"
    assert [it["path"] for it in over_store.ls("/").entries] == ["/fine"]


def test_a_namespace_is_exactly_itself(
    make_backend: Callable[..., ThreadkeepBackend], namespace: Namespace
) -> None:
    """StoreBackend at a prefix lists and greps what is below it."""
    backends = [
        make_backend(namespace[:1]),
        make_backend(namespace),
        make_backend((*namespace, "x")),
    ]
    for at, backend in enumerate(backends):
        backend.write(f"/{at}.md", "needle")
    for at, backend in enumerate(backends):
        assert [it["path"] for it in backend.ls("/").entries] == [f"/{at}.md"]
        assert [it["path"] for it in backend.grep("needle").matches] == [f"/{at}.md"]
        assert [it["path"] for it in backend.glob("*").matches] == [f"/{at}.md"]
    assert backends[0].delete("/1.md").error == "Error: File '/1.md' not found"
    assert backends[0].delete("/").error is None
    assert [len(backend.ls("/").entries) for backend in backends] == [0, 1, 1]


def test_a_tenant_sees_nothing_of_another(
    backend: ThreadkeepBackend, server: Server, namespace: Namespace
) -> None:
    backend.write("/a.md", "needle")
    other = ThreadkeepBackend(server.url, api_key=server.new_key(), namespace=namespace)
    assert other.ls("/").entries == [] == other.grep("needle").matches
    assert other.read("/a.md").error == "File '/a.md' not found"
    assert other.delete("/a.md").error
    assert backend.read("/a.md").error is None


def test_a_token_reaches_the_namespaces_that_it_was_given(
    server: Server, api_key: str, namespace: Namespace
) -> None:
    with Client(server.url, api_key=api_key) as client:
        grants: Any = {"namespaces": [{"prefix": namespace, "actions": ["read"]}]}
        token = client.tokens.mint(grants=grants, ttl_seconds=60)
        client.files.write(namespace, "/a.md", "text")
    reader = ThreadkeepBackend(server.url, api_key=token.token, namespace=namespace)
    assert reader.read("/a.md").file_data["content"] == "text"
    for done in (
        reader.write("/a.md", "x"),
        reader.edit("/a.md", "text", "x"),
        reader.delete("/a.md"),
    ):
        assert done.error.startswith("Error: ")
    assert reader.upload_files([("/b", b"")])[0].error == "permission_denied"
    elsewhere = ThreadkeepBackend(server.url, api_key=token.token, namespace=("other",))
    assert elsewhere.write("/a.md", "x").error.startswith("Error: ")
    assert reader.read("/a.md").file_data["content"] == "text"
