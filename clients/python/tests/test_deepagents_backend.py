"""`ThreadkeepBackend`: deepagents' results, error texts instead of exceptions, what travels."""

from __future__ import annotations

import asyncio
import base64
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("deepagents")

from deepagents.backends import StoreBackend
from langgraph.store.memory import InMemoryStore

from fake_server import FakeServer, Fault
from threadkeep.deepagents import ThreadkeepBackend
from threadkeep.deepagents.operations import APPEND_BYTES_MIN

NS = ("u1", "filesystem")
Call = Callable[..., Any]
OPERATIONS: dict[str, tuple[Any, ...]] = {
    "ls": ("/",),
    "read": ("/a.md",),
    "grep": ("one",),
    "glob": ("*.md",),
    "write": ("/a.md", "x"),
    "edit": ("/a.md", "one", "two"),
    "delete": ("/a.md",),
    "upload_files": ([("/a.md", b"x"), ("/b.md", b"y")],),
    "download_files": (["/a.md", "/b.md"],),
}
TWINS = {name: f"a{name}" for name in OPERATIONS}


@pytest.fixture
def backend(server: FakeServer, transport: str) -> Iterator[ThreadkeepBackend]:
    made = ThreadkeepBackend(server.url, namespace=NS, transport=transport)
    yield made
    made.close()


@pytest.fixture(params=["blocking", "async"])
def call(request: pytest.FixtureRequest, backend: ThreadkeepBackend) -> Call:
    """Calls a method of the backend, or its asynchronous twin."""

    async def made(name: str, *args: Any, **more: Any) -> Any:
        found = getattr(backend, TWINS[name] if request.param == "async" else name)(*args, **more)
        return await found if inspect.isawaitable(found) else found

    return made


def errors_of(result: Any) -> list[Any]:
    return [one.error for one in result] if isinstance(result, list) else [result.error]


async def test_each_method_answers_as_the_store_backend_does(call: Call) -> None:
    theirs = StoreBackend(namespace=lambda _: NS, store=InMemoryStore())
    steps: list[tuple[str, tuple[Any, ...]]] = [
        ("read", ("/a.md",)),
        ("edit", ("/a.md", "a", "b")),
        ("delete", ("/a.md",)),
        ("write", ("/a.md", "one\r\ntwo\r\n")),
        ("read", ("/a.md",)),
        ("read", ("/a.md", 1, 1)),
        ("read", ("/a.md", -3, 0)),
        ("read", ("/a.md", 7)),
        ("edit", ("/a.md", "", "b")),
        ("edit", ("/a.md", "o", "b")),
        ("edit", ("/a.md", "o", "b", True)),
        ("edit", ("/a.md", "three\n", "b")),
        ("upload_files", ([("/d/b.bin", b"\xff\x00"), ("/c.md", b"text")],)),
        ("download_files", (["/d/b.bin", "/none", "/c.md"],)),
        ("grep", ("tw", "/", "*.md")),
        ("grep", ("x", None, "../*")),
        ("glob", ("../*",)),
        ("delete", ("/d",)),
        ("write", ("/blank", " \n")),
        ("read", ("/blank", 0, 0)),
    ]
    for name, arguments in steps:
        ours = await call(name, *arguments)
        assert without_times(ours) == without_times(getattr(theirs, name)(*arguments)), name
    assert paths(await call("ls", "/")) == paths(theirs.ls("/")) == ["/a.md", "/blank", "/c.md"]
    found = (await call("glob", "*")).matches
    assert sorted(one["path"] for one in found) == ["/a.md", "/blank", "/c.md"]


def without_times(result: Any) -> Any:
    file_data = getattr(result, "file_data", None)
    for name in ("created_at", "modified_at"):
        if file_data is not None:
            assert file_data.pop(name)
    return result


def paths(result: Any) -> list[str]:
    return [one["path"] for one in result.entries]


async def test_a_listing_has_all_its_pages(call: Call) -> None:
    await call("upload_files", [(f"/d/{n}", b"x") for n in range(8)])
    assert paths(await call("ls", "/d")) == [f"/d/{n}" for n in range(8)]


async def test_a_binary_file_comes_whole_as_base64(call: Call) -> None:
    data = bytes(range(256))
    await call("upload_files", [("/p.png", data)])
    found = await call("read", "/p.png", 5, 1)
    assert found.file_data["encoding"] == "base64"
    assert base64.b64decode(found.file_data["content"]) == data


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=500, code="internal"),
        Fault(status=503),
        Fault(status=401, code="unauthorized"),
        Fault(status=403, code="not_granted"),
        Fault(status=413, code="value_too_large"),
        Fault(drop=True),
        Fault(raw=b"<html>", content_type="text/html"),
        Fault(raw=b"\x80"),
        Fault(raw=b"\xc1"),
    ],
    ids=["500", "503", "401", "403", "413", "dropped", "html", "empty", "rubbish"],
)
async def test_no_failure_is_raised(
    call: Call, backend: ThreadkeepBackend, server: FakeServer, name: str, fault: Fault
) -> None:
    backend.connection = backend.connection.with_timeout(0.3)
    server.faults = [fault] * 999
    found = errors_of(await call(name, *OPERATIONS[name]))
    assert all(isinstance(error, str) and error for error in found), found
    assert len(found) == (2 if name.endswith("_files") else 1)


@pytest.mark.parametrize("name", OPERATIONS)
async def test_a_server_that_is_not_there_is_an_error_text(name: str) -> None:
    backend = ThreadkeepBackend("http://127.0.0.1:9", namespace=NS, timeout=0.5)
    blocking = errors_of(getattr(backend, name)(*OPERATIONS[name]))
    found = errors_of(await getattr(backend, TWINS[name])(*OPERATIONS[name]))
    for error in (*blocking, *found):
        assert "cannot be reached now" in error


async def test_a_server_that_is_silent_is_an_error_text(server: FakeServer, transport: str) -> None:
    backend = ThreadkeepBackend(server.url, namespace=NS, transport=transport, timeout=0.2)
    server.faults = [Fault(seconds=1)] * 4
    assert "cannot be reached now" in str(backend.read("/a").error)
    assert "cannot be reached now" in str((await backend.als("/")).error)


@pytest.mark.parametrize("name", ["write", "edit", "delete"])
async def test_what_is_shown_as_it_is_says_error(call: Call, server: FakeServer, name: str) -> None:
    server.faults = [Fault(status=500, code="internal")]
    (error,) = errors_of(await call(name, *OPERATIONS[name]))
    assert error.startswith("Error: ")
    assert "r-1" in error


async def test_files_of_a_refused_request_are_not_permitted(call: Call, server: FakeServer) -> None:
    server.faults = [Fault(status=403, code="not_granted")] * 2
    for name in ("upload_files", "download_files"):
        assert errors_of(await call(name, *OPERATIONS[name])) == ["permission_denied"] * 2


async def test_text_may_hold_what_utf_8_cannot(call: Call, server: FakeServer) -> None:
    path, text = "/lone \ud800.md", "x" * APPEND_BYTES_MIN + "\ud800"
    assert (await call("write", path, text)).error is None
    done = await call("edit", path, text, text + " \udfff end")
    assert (done.error, done.occurrences) == (None, 1)
    assert not server.requests("/append")
    found = await call("read", path)
    assert found.file_data["content"] == text + " \udfff end"
    assert paths(await call("ls", "/")) == [path]
    (match,) = (await call("grep", "\ud800", path)).matches
    assert (match["path"], match["text"]) == (path, text + " \udfff end")
    assert (await call("delete", path)).path == path


async def test_a_file_that_grows_sends_what_is_new(call: Call, server: FakeServer) -> None:
    history = "line\n" * 1_000
    await call("write", "/h.md", history)
    done = await call("edit", "/h.md", history, history + "more")
    assert (done.error, done.path, done.occurrences) == (None, "/h.md", 1)
    (seen,) = server.requests("/append") + server.requests("/edit")
    assert seen.body["content"] == "more"
    assert (await call("download_files", ["/h.md"]))[0].content == (history + "more").encode()


@pytest.mark.parametrize("there", [True, False])
async def test_an_edit_that_only_looks_like_growth_is_an_edit(
    call: Call, server: FakeServer, there: bool
) -> None:
    old = "line\n" * 1_000
    if there:
        await call("write", "/h.md", "before\n" + old)
    done = await call("edit", "/h.md", old, old + "more")
    if there:
        assert (done.error, done.occurrences) == (None, 1)
        assert (await call("download_files", ["/h.md"]))[0].content.endswith(b"line\nmore")
    else:
        assert done.error == "Error: File '/h.md' not found"
        assert await call("download_files", ["/h.md"]) != []
    assert [seen.path.rsplit("/")[-1] for seen in server.seen][-3:-1] == ["append", "edit"]


async def test_a_failing_server_is_not_asked_for_the_edit_again(
    call: Call, server: FakeServer
) -> None:
    old = "line\n" * 1_000
    server.faults = [Fault(status=500, code="internal")]
    assert (await call("edit", "/h.md", old, old + "more")).error
    assert len(server.seen) == 1


def test_paths_begin_in_the_root(server: FakeServer) -> None:
    whole = ThreadkeepBackend(server.url, namespace=NS)
    below = ThreadkeepBackend(namespace=NS, root="/deep/er/", connection=whole.connection)
    assert below.write("/x/a.md", "one").path == "/x/a.md"
    assert below.edit("/x/a.md", "one", "two").path == "/x/a.md"
    whole.write("/outside.md", "two")
    assert whole.read("/deep/er/x/a.md").file_data["content"] == "two"
    assert paths(below.ls("/")) == ["/x/"]
    assert paths(below.ls("/x")) == ["/x/a.md"]
    assert [one["path"] for one in below.glob("**/*.md").matches] == ["/x/a.md"]
    assert [one["path"] for one in below.grep("two").matches] == ["/x/a.md"]
    assert [one["path"] for one in below.grep("two", "/x").matches] == ["/x/a.md"]
    assert [one.path for one in below.upload_files([("/up", b"")])] == ["/up"]
    assert [(one.path, one.content) for one in below.download_files(["/up"])] == [("/up", b"")]
    assert below.delete("/").error is None
    assert paths(whole.ls("/")) == ["/outside.md"]


def test_a_namespace_is_checked_when_it_is_known() -> None:
    for wrong in ((), ("a", ""), ("*",), ("a/b",)):
        with pytest.raises(ValueError, match="namespace"):
            ThreadkeepBackend(namespace=wrong)
    for kind in ("u1", ("a", 1)):
        with pytest.raises(TypeError):
            ThreadkeepBackend(namespace=kind)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="root"):
        ThreadkeepBackend(namespace=NS, root="deep")
    with pytest.raises(ValueError, match="namespace"):
        ThreadkeepBackend(namespace=lambda _: ("*",)).ls("/")


def test_a_namespace_may_be_a_function_of_the_runtime(server: FakeServer) -> None:
    seen: list[Any] = []
    backend = ThreadkeepBackend(server.url, namespace=lambda rt: seen.append(rt) or NS)
    backend.write("/a", "x")
    assert seen == [None]
    assert ThreadkeepBackend(server.url, namespace=NS).read("/a").error is None
    with pytest.raises(RuntimeError, match="no graph is running"):
        ThreadkeepBackend(namespace=lambda rt: (rt.context.user,)).ls("/")


async def test_the_twins_do_not_block_the_loop(backend: ThreadkeepBackend) -> None:
    for name, twin in TWINS.items():
        assert inspect.iscoroutinefunction(getattr(backend, twin))
        assert twin in vars(ThreadkeepBackend), f"{name} has no twin of its own"
    await asyncio.gather(*(backend.awrite(f"/{n}", "x") for n in range(32)))
    assert len(paths(await backend.als("/"))) == 32
