"""A change whose reply was lost is sent again, and has happened once; no failure reaches a tool."""

import io
from collections.abc import Callable, Iterator

import pytest
from threadkeep import Client
from threadkeep.deepagents import ThreadkeepBackend, operations
from threadkeep.errors import VersionConflictError

from files.conftest import Namespace
from support.proxy import Proxy
from support.server import Server


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    with Proxy(server.url) as proxy:
        yield proxy


@pytest.fixture
def far(proxy: Proxy, api_key: str, namespace: Namespace) -> ThreadkeepBackend:
    """Behind the proxy."""
    return ThreadkeepBackend(proxy.url, api_key=api_key, namespace=namespace)


def test_a_retried_edit_is_no_failure_and_happens_once(
    far: ThreadkeepBackend, proxy: Proxy
) -> None:
    far.write("/a.md", "one")
    proxy.lose(1)
    done = far.edit("/a.md", "one", "one one")
    assert (done.error, done.occurrences, proxy.lost) == (None, 1, 1)
    assert far.read("/a.md").file_data["content"] == "one one"


def test_a_retried_append_does_not_double(
    far: ThreadkeepBackend, proxy: Proxy, api_key: str, namespace: Namespace
) -> None:
    with Client(proxy.url, api_key=api_key) as client:
        proxy.lose(1)
        client.files.append(namespace, "/log", "once\n")
    held = "line\n" * operations.APPEND_BYTES_MIN
    far.write("/h.md", held)
    proxy.lose(1)
    assert far.edit("/h.md", held, held + "more").error is None
    assert proxy.lost == 2
    found = far.download_files(["/log", "/h.md"])
    assert [one.content for one in found] == [b"once\n", f"{held}more".encode()]


def test_retried_bytes_under_a_condition_are_put_once(
    proxy: Proxy, api_key: str, namespace: Namespace
) -> None:
    with Client(proxy.url, api_key=api_key) as client:
        proxy.lose(2)
        first = client.files.put_content(namespace, "/a", io.BytesIO(b"one"), if_version=0)
        proxy.lose(1)
        # Too large for an item: kept another way.
        large = io.BytesIO(b"two" * (6 << 20))
        second = client.files.put_content(namespace, "/a", large, if_version=first)
        entry = client.files.stat(namespace, "/a")
        assert entry is not None and entry.version == second
        with pytest.raises(VersionConflictError):
            client.files.put_content(namespace, "/a", io.BytesIO(b"three"), if_version=first)
    assert proxy.lost == 3


def test_a_retried_delete_and_move_find_what_they_did(
    far: ThreadkeepBackend, proxy: Proxy, api_key: str, namespace: Namespace
) -> None:
    far.upload_files([("/d/a", b"x"), ("/d/b", b"x"), ("/c", b"x")])
    proxy.lose(1)
    assert far.delete("/d").error is None
    with Client(proxy.url, api_key=api_key) as client:
        proxy.lose(1)
        assert client.files.move(namespace, "/c", "/moved").files == 1
    assert proxy.lost == 2
    assert [it["path"] for it in far.ls("/").entries] == ["/moved"]


def test_only_what_is_new_of_a_growing_file_travels(far: ThreadkeepBackend, proxy: Proxy) -> None:
    held = "".join(f"line {at}\n" for at in range(20_000))
    far.write("/h.md", held)
    before = proxy.sent
    assert far.edit("/h.md", held, f"{held}more\n").error is None
    assert proxy.sent - before < 2_000
    assert far.read("/h.md", 20_000).file_data["content"] == "more\n"


def test_a_server_that_is_gone_is_an_error_and_one_that_is_back_is_none(
    start_server: Callable[..., Server], namespace: Namespace
) -> None:
    server = start_server()
    key = server.new_key()
    backend = ThreadkeepBackend(server.url, api_key=key, namespace=namespace)
    backend.write("/a.md", "text")
    server.kill()
    hasty = backend.with_options(timeout=0.5)
    assert "cannot be reached now" in hasty.read("/a.md").error
    assert hasty.write("/a.md", "x").error.startswith("Error: ")
    assert hasty.ls("/").error and hasty.grep("t").error and hasty.glob("*").error
    assert hasty.download_files(["/a.md"])[0].error
    server.start()
    assert backend.read("/a.md").file_data["content"] == "text"
