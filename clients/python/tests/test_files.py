"""`client.files`: what is sent, what the answers become, what is sent again."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("deepagents")

from fake_server import FakeServer, Fault
from threadkeep import AsyncClient, Client, file_plans
from threadkeep.errors import (
    BaseMismatchError,
    InvalidError,
    NoSuchFileError,
    NotFoundError,
    PathTakenError,
    ProtocolError,
    VersionConflictError,
)
from threadkeep.file_plans import upload_batches
from threadkeep.files import FileMatch

NS = ("u1", "workspace")
Call = Callable[..., Any]


@pytest.fixture
def client(server: FakeServer, transport: str) -> Iterator[Client]:
    with Client(server.url, transport=transport) as made:
        yield made


@pytest.fixture(params=["blocking", "async"])
def call(request: pytest.FixtureRequest, server: FakeServer, client: Client) -> Call:
    """Calls a method of `client.files`, or its asynchronous twin."""
    is_async = request.param == "async"

    async def made(name: str, *args: Any, **more: Any) -> Any:
        files = (
            AsyncClient(server.url, transport=client.transport).files if is_async else client.files
        )
        found = getattr(files, name)(*args, **more)
        return await found if inspect.isawaitable(found) else found

    return made


async def test_a_file_is_written_read_edited_and_deleted(call: Call) -> None:
    assert await call("write", NS, "/a.md", "one\ntwo\nthree\n") == 1
    window = await call("read", NS, "/a.md", offset=1, limit=1)
    assert (window.content, window.total_lines, window.start_line, window.end_line) == (
        "two\n",
        3,
        2,
        2,
    )
    assert (window.next_offset, window.encoding, window.version) == (2, "utf-8", 1)
    edited = await call("edit", NS, "/a.md", "two", "2", if_version=1)
    assert (edited.occurrences, edited.version) == (1, 2)
    assert await call("append", NS, "/a.md", "four") == 3
    assert (await call("read", NS, "/a.md")).content == "one\n2\nthree\nfour"
    assert (await call("stat", NS, "/a.md")).version == 3
    assert await call("delete", NS, "/a.md") == 1
    assert await call("stat", NS, "/a.md") is None


async def test_searches_answer_records(call: Call) -> None:
    await call("write", NS, "/src/a.py", "x = 1\n")
    found = await call("grep", NS, "x =", glob="*.py", max_count=5)
    assert (found.matches, found.truncated) == ([FileMatch("/src/a.py", 1, "x = 1")], False)
    globbed = await call("glob", NS, "**/*.py")
    assert [entry.path for entry in globbed.matches] == ["/src/a.py"]
    with pytest.raises(InvalidError) as caught:
        await call("glob", NS, "../*")
    assert caught.value.code == "invalid_glob"


async def test_a_listing_comes_in_pages(call: Call) -> None:
    await call("upload", NS, [(f"/d/{n}", b"x") for n in range(5)])
    page = await call("ls", NS, "/d")
    assert [entry.path for entry in page.entries] == ["/d/0", "/d/1", "/d/2"]
    rest = await call("ls", NS, "/d", cursor=page.next_cursor)
    assert [entry.path for entry in rest.entries] == ["/d/3", "/d/4"]
    assert rest.next_cursor is None
    (folder,) = (await call("ls", NS)).entries
    assert (folder.path, folder.is_dir) == ("/d/", True)


async def test_bytes_travel_as_they_are_and_files_fail_alone(call: Call) -> None:
    data = bytes(range(256))
    done = await call("upload", NS, [("/b.bin", data), ("/../x", b""), ("/t", b"text")])
    assert [one.error for one in done] == [None, "invalid_path", None]
    found = await call("download", NS, ["/t", "/none", "/b.bin"])
    assert [one.data for one in found] == [b"text", None, data]
    assert found[1].error == "file_not_found"
    assert (await call("read", NS, "/b.bin")).data == data


async def test_files_are_moved_and_copied(call: Call) -> None:
    await call("write", NS, "/a", "x")
    assert (await call("copy", NS, "/a", "/b")).files == 1
    with pytest.raises(PathTakenError):
        await call("move", NS, "/a", "/b")
    await call("move", NS, "/a", "/b", to_namespace=("u2",), overwrite=True)
    assert await call("stat", NS, "/a") is None
    assert (await call("read", ("u2",), "/b")).content == "x"


async def test_conditions_raise_their_own_errors(call: Call) -> None:
    await call("write", NS, "/a", "x")
    with pytest.raises(VersionConflictError):
        await call("write", NS, "/a", "y", if_version=0)
    with pytest.raises(BaseMismatchError):
        await call("append", NS, "/a", "y", base_sha256="0" * 64)
    with pytest.raises(NoSuchFileError):
        await call("edit", NS, "/none", "a", "b")


async def test_a_lost_reply_changes_a_file_once(call: Call, server: FakeServer) -> None:
    server.faults = [Fault(drop=True, apply=True)]
    await call("append", NS, "/log", "once")
    server.faults = [Fault(drop=True, apply=True)]
    await call("edit", NS, "/log", "once", "twice")
    assert (await call("read", NS, "/log")).content == "twice"
    keys = [seen.headers.get("idempotency-key") for seen in server.requests("/v1/files/")]
    assert keys[0] == keys[1] != keys[2] == keys[3]
    assert keys[4] is None


async def test_another_absence_than_the_files_is_no_absence(call: Call, server: FakeServer) -> None:
    server.faults = [Fault(status=404, code="not_found")]
    with pytest.raises(NotFoundError):
        await call("stat", NS, "/a")


@pytest.mark.parametrize("namespace", ["u1", ("u1", 2)])
def test_a_namespace_is_a_sequence_of_labels(client: Client, namespace: Any) -> None:
    with pytest.raises(InvalidError) as caught:
        client.files.ls(namespace)
    assert caught.value.field == "namespace"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("ls", ("/",)),
        ("read", ("/a",)),
        ("write", ("/a", "")),
        ("edit", ("/a", "a", "b")),
        ("glob", ("*",)),
        ("grep", ("x",)),
        ("delete", ("/a",)),
        ("upload", ([("/a", b"")],)),
        ("download", (["/a"],)),
        ("stat", ("/a",)),
        ("move", ("/a", "/b")),
    ],
)
def test_half_an_answer_is_an_error(
    client: Client, server: FakeServer, name: str, arguments: Any
) -> None:
    server.faults = [Fault(raw=b"\x80")]
    with pytest.raises(ProtocolError):
        getattr(client.files, name)(NS, *arguments)


def test_uploads_are_cut_where_a_request_would_be_too_large() -> None:
    mib = b"x" * (1 << 20)
    files = [("/big", mib * 20), *((f"/{n}", mib) for n in range(10))]
    batches = list(upload_batches(files))
    assert [len(batch) for batch in batches] == [1, 8, 2]
    assert [file for batch in batches for file in batch] == files
    assert [len(batch) for batch in upload_batches([("/", b"")] * 2_001)] == [1_000, 1_000, 1]


async def test_a_large_file_travels_as_it_is(
    call: Call, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_plans, "BATCH_BYTES_MAX", 100)
    monkeypatch.setattr(file_plans, "FILE_BYTES_MAX", 100)
    data = bytes(range(256))
    done = await call("upload", NS, [("/a", b"a"), ("/ü.png", data), ("/b", b"b")])
    assert [one.error for one in done] == [None] * 3
    (put,) = server.requests("/content")
    assert (put.method, put.headers["content-type"]) == ("PUT", "image/png")
    told = server.store.files.download

    def refuse(files: Any, body: Any) -> Any:
        answer = told(files, body)
        for one in answer["results"]:
            if len(one.get("bytes", b"")) > 100:
                del one["bytes"]
                one["error"] = "value_too_large"
        return answer

    monkeypatch.setattr(server.store.files, "download", refuse)
    found = await call("download", NS, ["/ü.png", "/none", "/b"])
    assert [one.data for one in found] == [data, None, b"b"]
    # Removed between the two requests.
    server.fault_path = "/content"
    server.faults = [Fault(status=404, code="not_found")]
    (gone,) = await call("download", NS, ["/ü.png"])
    assert (gone.data, gone.error) == (None, "file_not_found")


async def test_what_an_answer_had_no_room_for_is_asked_again(
    call: Call, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [(f"/{n}", bytes([n])) for n in range(7)]
    await call("upload", NS, files)
    told = server.store.files.download

    def cut(stored: Any, body: Any) -> Any:
        answer = told(stored, body)
        for one in answer["results"][3:]:
            one.pop("bytes", None)
            one["error"] = "too_large_for_batch"
        return answer

    monkeypatch.setattr(server.store.files, "download", cut)
    found = await call("download", NS, [path for path, _ in files] + ["/none"])
    assert [(one.path, one.data) for one in found] == [*files, ("/none", None)]
    assert len(server.requests("/download")) == 3
