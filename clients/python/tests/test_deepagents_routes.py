"""`threadkeep_routes` and `drive_backend`: which file is where, under which names."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("deepagents")

from deepagents.backends import CompositeBackend, StateBackend

from fake_server import FakeServer
from threadkeep.deepagents import ThreadkeepRoutes, drive_backend, threadkeep_routes

Call = Callable[..., Any]
MEMORY, WORK = ("ann~20b", "filesystem"), ("ann~20b", "workspace")
THREAD = ("ann~20b", "threads", "t~2f1", "artifacts")


@pytest.fixture
def routes(server: FakeServer) -> ThreadkeepRoutes:
    return threadkeep_routes("ann b", url=server.url, thread_id="t/1")


@pytest.fixture(params=["blocking", "async"])
def call(request: pytest.FixtureRequest, routes: ThreadkeepRoutes) -> Call:
    async def made(name: str, *args: Any, **more: Any) -> Any:
        name = f"a{name}" if request.param == "async" else name
        found = getattr(routes, name)(*args, **more)
        return await found if inspect.isawaitable(found) else found

    return made


def stored(server: FakeServer) -> dict[tuple[str, ...], list[str]]:
    places = server.store.files.places
    return {namespace: sorted(files) for namespace, files in places.items() if files}


async def test_each_path_has_its_place(call: Call, server: FakeServer) -> None:
    for path in (
        "/memories/a.md",
        "/memory/b.md",
        "/workspace/c.py",
        "/d/e.py",
        "/large_tool_results/call_1",
        "/conversation_history/session_1.md",
    ):
        done = await call("write", path, "text")
        assert (done.error, done.path) == (None, path)
    assert stored(server) == {
        MEMORY: ["/a.md", "/b.md"],
        WORK: ["/c.py", "/d/e.py"],
        THREAD: ["/conversation_history/session_1.md", "/large_tool_results/call_1"],
    }


async def test_a_second_name_is_kept_in_the_answers(call: Call) -> None:
    assert (await call("write", "/memory/a.md", "one two")).path == "/memory/a.md"
    assert (await call("edit", "/memory/a.md", "one", "1")).path == "/memory/a.md"
    assert (await call("read", "/memory/a.md")).file_data["content"] == "1 two"
    assert (await call("read", "/memories/a.md")).file_data["content"] == "1 two"
    await call("upload_files", [("/workspace/src/b.py", b"two"), ("/memory/c.md", b"two")])
    found = await call("download_files", ["/memory/c.md", "/src/b.py", "/workspace/none"])
    assert [(one.path, one.content) for one in found] == [
        ("/memory/c.md", b"two"),
        ("/src/b.py", b"two"),
        ("/workspace/none", None),
    ]
    assert names((await call("ls", "/memory")).entries) == ["/memory/a.md", "/memory/c.md"]
    assert names((await call("ls", "/memories/")).entries) == ["/memories/a.md", "/memories/c.md"]
    assert names((await call("ls", "/workspace/src")).entries) == ["/workspace/src/b.py"]
    assert names((await call("grep", "two", "/memory")).matches) == ["/memory/a.md", "/memory/c.md"]
    assert names((await call("glob", "*.py", "/workspace")).matches) == ["/workspace/src/b.py"]
    assert names((await call("glob", "/workspace/**/*.py")).matches) == ["/workspace/src/b.py"]
    assert sorted(names((await call("glob", "memory/*.md", "/")).matches)) == [
        "/memory/a.md",
        "/memory/c.md",
    ]
    assert (await call("delete", "/memory/a.md")).path == "/memory/a.md"
    assert (await call("read", "/memories/a.md")).error


async def test_a_search_of_everything_finds_each_file_once(call: Call) -> None:
    for path in ("/memories/a.md", "/workspace/b.md", "/large_tool_results/c.md"):
        await call("write", path, "needle")
    everything = ["/b.md", "/large_tool_results/c.md", "/memories/a.md"]
    for path in (None, "/"):
        assert sorted(names((await call("grep", "needle", path)).matches)) == everything
        assert names((await call("glob", "*.md", path)).matches) == everything
    capped = await call("grep", "needle", max_count=2)
    assert (len(capped.matches), capped.truncated) == (2, True)
    assert names((await call("ls", "/")).entries) == [
        "/b.md",
        "/conversation_history/",
        "/large_tool_results/",
        "/memories/",
    ]


async def test_the_workspace_is_nothing_but_itself(call: Call, server: FakeServer) -> None:
    """Also where something is mounted over a folder of it."""
    for path in ("/memories/a.md", "/workspace/memories/b.md", "/workspace/workspace/c.md"):
        await call("write", path, "needle")
    assert stored(server) == {MEMORY: ["/a.md"], WORK: ["/memories/b.md", "/workspace/c.md"]}
    assert names((await call("ls", "/workspace")).entries) == [
        "/workspace/memories/",
        "/workspace/workspace/",
    ]
    everything = ["/memories/a.md", "/workspace/memories/b.md", "/workspace/workspace/c.md"]
    assert sorted(names((await call("grep", "needle")).matches)) == everything
    assert sorted(names((await call("glob", "*.md", "/")).matches)) == everything
    for path in everything:
        assert (await call("read", path)).file_data["content"] == "needle"
    assert (await call("delete", "/workspace")).error is None
    assert stored(server) == {MEMORY: ["/a.md"]}


def test_a_name_is_a_whole_one(routes: ThreadkeepRoutes, server: FakeServer) -> None:
    routes.write("/memory_card.md", "x")
    routes.write("/workspaces/a", "x")
    assert stored(server) == {WORK: ["/memory_card.md", "/workspaces/a"]}


def test_everything_else_may_be_elsewhere(server: FakeServer) -> None:
    default = StateBackend()
    routes = threadkeep_routes(lambda _: "ann b", url=server.url, default=default)
    assert isinstance(routes, CompositeBackend)
    assert routes.default is default
    assert routes._place("/workspace/a").path == "/workspace/a"
    routes.write("/memory/a.md", "x")
    assert stored(server) == {MEMORY: ["/a.md"]}


def test_without_a_thread_the_artifacts_have_a_place(server: FakeServer) -> None:
    routes = threadkeep_routes("u", url=server.url)
    routes.write("/large_tool_results/a", "x")
    assert stored(server) == {("u", "threads", "default", "artifacts"): ["/large_tool_results/a"]}


def test_on_the_desktop_the_workspace_is_a_folder(server: FakeServer, tmp_path: Path) -> None:
    drive = drive_backend("ann b", "desktop", tmp_path, url=server.url)
    drive.write("/src/a.py", "x = 1")
    drive.write("/workspace/b.py", "x = 2")
    drive.write("/memories/c.md", "x = 3")
    assert (tmp_path / "src" / "a.py").read_text() == "x = 1"
    assert (tmp_path / "b.py").read_text() == "x = 2"
    assert stored(server) == {MEMORY: ["/c.md"]}
    # Permission to write elsewhere is nothing that a path can get.
    assert_refused(drive, "/../outside.txt", tmp_path.parent / "outside.txt")
    cloud = drive_backend("ann b", url=server.url)
    cloud.write("/src/a.py", "x = 1")
    assert stored(server) == {MEMORY: ["/c.md"], WORK: ["/src/a.py"]}
    assert cloud.routes.keys() == drive.routes.keys()


def assert_refused(drive: ThreadkeepRoutes, path: str, target: Path) -> None:
    try:
        done = drive.write(path, "x")
    except ValueError:
        pass
    else:
        assert done.error
    assert not target.exists()


@pytest.mark.parametrize(("device", "root"), [("desktop", None), ("tablet", "/tmp")])
def test_a_desktop_has_a_folder(device: Any, root: Any) -> None:
    with pytest.raises(ValueError, match=r"device|root_dir"):
        drive_backend("u", device, root)


def names(found: Any) -> list[str]:
    return [one["path"] for one in found]
