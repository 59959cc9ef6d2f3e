"""Archives of workspaces: a second one of a workspace that did not change costs next to nothing."""

import asyncio
import hashlib
import io
import random
import tarfile
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from threadkeep import AsyncClient, Client
from threadkeep.errors import (
    ArchiveNotFoundError,
    InvalidError,
    SnapshotNotFoundError,
    ThreadkeepError,
)
from threadkeep.langgraph import ThreadkeepSaver

from equivalence import graphs
from support import settings
from support.proxy import Proxy
from support.raw import MIB, Watched, pieces
from support.server import Server

# What the server may take above what it took before, whatever the size of the workspace.
GROWTH_BYTES_MAX = 100 * MIB
FILE_BYTES = 96 * 1024


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Folders of files that do not repeat, with a link; as a sandbox has them."""
    folder = tmp_path / "workspace"
    for number in range(settings.WORKSPACE_MIB * MIB // FILE_BYTES):
        path = folder / f"d{number % 7}" / f"{number}.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(random.Random(number).randbytes(FILE_BYTES))
    (folder / "latest").symlink_to("d0/0.bin")
    return folder


def packed(folder: Path, to: Path) -> Path:
    with tarfile.open(to, "w") as tar:
        tar.add(folder, arcname=".")
    return to


def stored_bytes(server: Server) -> int:
    """What the database keeps of contents: chunks, and everything about archives."""
    tables = {
        "chunks": "length(name) + length(body)",
        "content_slices": "length(parts) + 64",
        "contents": "128",
        "archives": "length(head) + 96",
        "snapshots": "256",
    }
    sums = [f"(select coalesce(sum({size}), 0) from {table})" for table, size in tables.items()]
    return int(server.place.query(f"select {' + '.join(sums)}")[0][0])


def test_a_second_archive_of_an_unchanged_workspace_stores_next_to_nothing(
    own_server: Server, workspace: Path, tmp_path: Path
) -> None:
    client = Client(own_server.url, api_key=own_server.new_key())
    tar = packed(workspace, tmp_path / "one.tar")
    empty = stored_bytes(own_server)
    first = client.snapshots.put_archive("w", tar)
    client.snapshots.take("first", archive=first)
    before = stored_bytes(own_server)
    assert before - empty > settings.WORKSPACE_MIB * MIB * 9 // 10
    # Packed once more, with the times that files have now.
    again = packed(workspace, tmp_path / "two.tar")
    second = client.snapshots.put_archive("w", again)
    taken = client.snapshots.take("second", archive=second.archive_id)
    grown = stored_bytes(own_server) - before
    print(f"\nfirst {before - empty:,} bytes, second {grown:,}")
    assert grown < (before - empty) / 100
    assert taken.archive is not None and taken.archive.sha256 == digest(again)
    # A file in the middle grew, and one is new: what lies behind them has moved.
    with (workspace / "d3" / "3.bin").open("ab") as file:
        file.write(b"one more line\n")
    (workspace / "d1" / "new.txt").write_text("new")
    third = client.snapshots.put_archive("w", packed(workspace, tmp_path / "three.tar"))
    grown_more = stored_bytes(own_server) - before - grown
    assert grown_more < 2 * MIB, grown_more
    client.snapshots.take("third", archive=third)
    back = tmp_path / "back.tar"
    for name, packed_as in [("first", tar), ("third", tmp_path / "three.tar")]:
        assert client.snapshots.get_archive(name, back) == packed_as.stat().st_size
        assert digest(back) == digest(packed_as)
    unpacked = tmp_path / "unpacked"
    with tarfile.open(back) as opened:
        opened.extractall(unpacked, filter="data")
    assert str((unpacked / "latest").readlink()) == "d0/0.bin"
    assert (unpacked / "d1" / "new.txt").read_text() == "new"


def test_a_large_archive_goes_up_and_down_in_bounded_memory(
    own_server: Server, tmp_path: Path
) -> None:
    client = Client(own_server.url, api_key=own_server.new_key())
    large, back = tmp_path / "large.tar", tmp_path / "back.tar"
    with tarfile.open(large, "w") as tar:
        for number, piece in enumerate(pieces(settings.CONTENT_MIB)):
            header = tarfile.TarInfo(f"{number}.bin")
            header.size = MIB
            tar.addfile(header, io.BytesIO(piece))
    assert large.stat().st_size > GROWTH_BYTES_MAX * 3 // 2
    with Watched(own_server) as memory:
        client.snapshots.take("s", archive=client.snapshots.put_archive("w", large))
        client.snapshots.get_archive("s", back)
    assert digest(back) == digest(large)
    assert memory.grown < GROWTH_BYTES_MAX, f"{memory.grown / MIB:.0f} MiB"


class Waits(io.FileIO):
    """A file of which the second half is not read before a turn has ended beside the first."""

    def __init__(self, path: Path, turn: threading.Event) -> None:
        super().__init__(path)
        self._turn = turn
        self._half = path.stat().st_size // 2
        self.waited = False

    def read(self, size: int | None = -1, /) -> bytes:
        if self.tell() >= self._half and not self.waited:
            self._turn.clear()
            self.waited = self._turn.wait(settings.PATIENCE_SECONDS)
            assert self.waited, "no turn ended while the archive was staged"
        return super().read(size if size is not None else -1) or b""


def test_commits_go_on_while_an_archive_is_staged(
    own_server: Server, workspace: Path, tmp_path: Path
) -> None:
    key = own_server.new_key()
    client = Client(own_server.url, api_key=key)
    tar = packed(workspace, tmp_path / "one.tar")
    ended, turn = threading.Event(), threading.Event()

    def commit() -> None:
        graph = graphs.chain("delta", ThreadkeepSaver(own_server.url, api_key=key))
        try:
            while not ended.is_set():
                graph.invoke({"log": ["a turn"]}, {"configurable": {"thread_id": "beside"}})
                turn.set()
        finally:
            # Who waits for a turn sees at once that there will be none.
            ended.set()
            turn.set()

    with ThreadPoolExecutor(1) as pool:
        committing = pool.submit(commit)
        try:
            for name in ["first", "second"]:
                with Waits(tar, turn) as file:
                    archive = client.snapshots.put_archive("w", file)  # type: ignore[arg-type]
                    assert file.waited and not ended.is_set()
                client.snapshots.take(name, threads=["beside"], archive=archive)
        finally:
            ended.set()
            # What went wrong there says more.
            committing.result(settings.PATIENCE_SECONDS)
    taken = client.snapshots.get("second")
    assert taken is not None and taken.archive is not None
    assert taken.archive.staged_at < taken.taken_at


def test_what_breaks_off_or_dies_leaves_nothing_to_find(
    start_server: Callable[..., Server], workspace: Path, tmp_path: Path
) -> None:
    server = start_server()
    client = Client(server.url, api_key=server.new_key(), timeout=2)
    tar = packed(workspace, tmp_path / "one.tar")

    class Dies(io.FileIO):
        """A file that kills the server when most of it was read."""

        def read(self, size: int | None = -1, /) -> bytes:
            if self.tell() > settings.WORKSPACE_MIB * MIB * 2 // 3 and server.running():
                server.kill()
            return super().read(size if size is not None else -1) or b""

    with Dies(tar) as file, pytest.raises(ThreadkeepError):
        client.snapshots.put_archive("w", file)  # type: ignore[arg-type]
    server.start()
    [(unseen,)] = server.place.query("select count(*) from archives where staged_at > 0")
    assert unseen == 0
    # The same again, as if nothing had been; what was left goes with the sweep of a day.
    archive = client.snapshots.put_archive("w", tar)
    assert client.snapshots.take(archive=archive).archive is not None
    report = server.command("doctor")
    assert report.returncode == 0, report.stdout


def test_wrong_archives_are_refused_by_name(server: Server, api_key: str) -> None:
    snapshots = Client(server.url, api_key=api_key).snapshots
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as tar:
        header = tarfile.TarInfo("a.txt")
        header.size = 3
        tar.addfile(header, io.BytesIO(b"abc"))
    data = whole.getvalue()
    for wrong in [data[:600], data[:512], b"", b"nothing like a tar"]:
        with pytest.raises(InvalidError) as caught:
            snapshots.put_archive("w", io.BytesIO(wrong))
        assert caught.value.field == "archive"
    with pytest.raises(InvalidError) as caught:
        snapshots.put_archive("w", io.BytesIO(data), sha256="0" * 64)
    assert caught.value.field == "sha256"
    linked = io.BytesIO()
    with tarfile.open(fileobj=linked, mode="w") as tar:
        link = tarfile.TarInfo("escape")
        link.type, link.linkname = tarfile.SYMTYPE, "../../etc/passwd"
        tar.addfile(link)
    with pytest.raises(InvalidError, match="escape"):
        snapshots.put_archive("w", io.BytesIO(linked.getvalue()))
    kept = snapshots.put_archive("w", io.BytesIO(linked.getvalue()), links="any")
    assert kept.file_count == 1
    with pytest.raises(ArchiveNotFoundError):
        snapshots.take("s", archive="arc_" + "0" * 32)
    with pytest.raises(SnapshotNotFoundError):
        snapshots.get_archive("absent", io.BytesIO())
    snapshots.take("s")
    with pytest.raises(ArchiveNotFoundError):
        snapshots.get_archive("s", io.BytesIO())


def test_a_lost_answer_is_one_snapshot_and_coroutines_do_the_same(
    server: Server, api_key: str
) -> None:
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w:gz") as tar:
        header = tarfile.TarInfo("a.txt")
        header.size = 3
        tar.addfile(header, io.BytesIO(b"abc"))
    whole.seek(0)
    snapshot_id = f"s-{uuid.uuid4().hex}"

    async def main() -> None:
        with Proxy(server.url) as proxy:
            async with AsyncClient(proxy.url, api_key=api_key) as client:
                proxy.lose(1)
                archive = await client.snapshots.put_archive("w", whole)
                proxy.lose(1)
                taken = await client.snapshots.take(snapshot_id, archive=archive)
                assert taken.archive is not None and taken.archive.file_count == 1
                back = io.BytesIO()
                proxy.lose(1)
                size = await client.snapshots.get_archive(snapshot_id, back)
                assert size == taken.archive.size_bytes == len(back.getvalue())
                assert hashlib.sha256(back.getvalue()).hexdigest() == taken.archive.sha256

    asyncio.run(main())


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
