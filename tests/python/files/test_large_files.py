"""Files that are too large to be items of the store: streamed, through the backend and by `threadkeep-sync`."""

import hashlib
import io
import random
from pathlib import Path

from threadkeep import Client, label
from threadkeep.deepagents import ThreadkeepBackend

from files.conftest import Namespace
from files.test_sync import USER, run
from support.server import Server

DATA = random.Random(7).randbytes(1 << 20) * 20


def test_a_large_file_is_streamed_in_and_out(
    server: Server, api_key: str, namespace: Namespace, tmp_path: Path
) -> None:
    with Client(server.url, api_key=api_key) as client:
        version = client.files.put_content(namespace, "/large ü.bin", io.BytesIO(DATA))
        entry = client.files.stat(namespace, "/large ü.bin")
        assert entry is not None and entry.version == version
        assert entry.sha256 in (None, hashlib.sha256(DATA).hexdigest())
        with (tmp_path / "there").open("w+b") as target:
            assert client.files.get_content(namespace, "/large ü.bin", target) == len(DATA)
        assert (tmp_path / "there").read_bytes() == DATA
        (found,) = client.files.download(namespace, ["/large ü.bin"])
        assert found.data == DATA


def test_the_backend_has_them_among_others(backend: ThreadkeepBackend) -> None:
    done = backend.upload_files([("/a.md", b"needle"), ("/large.bin", DATA), ("/b.md", b"needle")])
    assert [one.error for one in done] == [None] * 3
    found = backend.download_files(["/b.md", "/large.bin", "/none"])
    assert [one.content for one in found] == [b"needle", DATA, None]
    assert [it["path"] for it in backend.ls("/").entries] == ["/a.md", "/b.md", "/large.bin"]
    assert sorted(it["path"] for it in backend.grep("needle").matches) == ["/a.md", "/b.md"]
    assert backend.read("/large.bin").error
    assert backend.edit("/large.bin", "a", "b").error
    assert backend.delete("/large.bin").error is None
    assert [it["path"] for it in backend.ls("/").entries] == ["/a.md", "/b.md"]


def test_several_downloads_are_cut_where_an_answer_is_full(backend: ThreadkeepBackend) -> None:
    files = [(f"/{at}.bin", bytes([0x80 + at]) * (11 << 20)) for at in range(3)]
    assert [one.error for one in backend.upload_files(files)] == [None] * 3
    found = backend.download_files([path for path, _ in files])
    assert [(one.path, one.content) for one in found] == files


def test_a_folder_with_large_files_is_synced_once(
    server: Server, api_key: str, tmp_path: Path
) -> None:
    (tmp_path / "large.bin").write_bytes(DATA)
    (tmp_path / "a.md").write_bytes(b"text")
    first = run(server, api_key, tmp_path)
    again = run(server, api_key, tmp_path)
    assert (first.returncode, again.returncode) == (0, 0), first.stderr
    assert "2 uploaded" in first.stdout
    assert "0 uploaded (0 bytes), 2 unchanged" in again.stdout
    with Client(server.url, api_key=api_key) as client:
        (found,) = client.files.download((label(USER), "workspace"), ["/large.bin"])
    assert found.data == DATA
