"""`threadkeep-sync`: what travels, what is removed, what is left alone."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("deepagents")

from fake_server import FakeServer, Fault
from threadkeep import Client, sync
from threadkeep.sync import main

NS = ("default", "workspace")
Run = Callable[..., int]


@pytest.fixture
def client(server: FakeServer) -> Client:
    return Client(server.url)


@pytest.fixture
def run(server: FakeServer, tmp_path: Path) -> Run:
    def made(*options: str) -> int:
        server.seen.clear()
        return main([str(tmp_path), "--url", server.url, *options])

    return made


def fill(folder: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def drive(client: Client) -> dict[str, bytes]:
    paths: list[str] = []
    cursor = None
    while True:
        page = client.files.ls(NS, recursive=True, cursor=cursor)
        paths += [entry.path for entry in page.entries]
        cursor = page.next_cursor
        if cursor is None:
            break
    return {one.path: one.data or b"" for one in client.files.download(NS, paths)}


FILES = {"a.md": b"text", "src/b.py": b"x = 1\n", "src/deep/c.bin": bytes(range(256)), "e": b""}


def test_a_folder_is_in_the_drive_afterwards(
    run: Run, client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(tmp_path, FILES)
    assert run() == 0
    assert drive(client) == {f"/{name}": data for name, data in FILES.items()}
    assert "4 uploaded (266 bytes), 0 unchanged" in capsys.readouterr().out


@pytest.mark.parametrize("server_knows", [True, False])
def test_only_what_differs_travels(
    run: Run,
    client: Client,
    server: FakeServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    server_knows: bool,
) -> None:
    fill(tmp_path, FILES)
    run()
    if not server_knows:
        hide_digests(server, monkeypatch)
    assert run() == 0
    assert not server.requests("/upload")
    fill(tmp_path, {"a.md": b"TEXT", "e": b"longer"})
    assert run() == 0
    (sent,) = server.requests("/upload")
    assert [one["path"] for one in sent.body["files"]] == ["/a.md", "/e"]
    assert drive(client)["/a.md"] == b"TEXT"


def hide_digests(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """In listings: a stat has them."""
    files = server.store.files
    told = files.ls

    def ls(*arguments: Any) -> Any:
        answer = told(*arguments)
        for entry in answer["entries"]:
            entry.pop("sha256", None)
        return answer

    monkeypatch.setattr(files, "ls", ls)


def test_nothing_is_removed_unless_it_is_asked_for(
    run: Run, client: Client, tmp_path: Path
) -> None:
    client.files.upload(NS, [("/other/x", b"x"), ("/y", b"y")])
    fill(tmp_path, {"a": b"a"})
    assert run() == 0
    assert set(drive(client)) == {"/a", "/other/x", "/y"}
    assert run("--delete") == 0
    assert set(drive(client)) == {"/a"}


def test_what_changed_meanwhile_is_kept(client: Client, server: FakeServer, tmp_path: Path) -> None:
    client.files.upload(NS, [("/mine", b"x"), ("/theirs", b"x")])
    server.fault_path = "/delete"
    server.faults = [Fault(status=409, code="version_conflict")]
    report = sync.sync(client, tmp_path, NS, delete=True)
    assert (report.kept, report.deleted) == (["/mine"], ["/theirs"])
    versions = [seen.body["if_version"] for seen in server.requests("/delete")]
    assert versions == [1, 1]


def test_a_file_that_is_a_folder_now_is_not_removed_with_it(
    run: Run, client: Client, tmp_path: Path
) -> None:
    client.files.upload(NS, [("/a", b"old"), ("/a/b", b"x")])
    fill(tmp_path, {"a/b": b"x"})
    assert run("--delete") == 0
    assert drive(client) == {"/a": b"old", "/a/b": b"x"}


def test_a_dry_run_says_the_same_and_does_nothing(
    run: Run,
    client: Client,
    server: FakeServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    client.files.upload(NS, [("/gone", b"x"), ("/same", b"s")])
    fill(tmp_path, {"new": b"n", "same": b"s"})
    before = drive(client)
    assert run("--delete", "--dry-run") == 0
    assert drive(client) == before
    told = capsys.readouterr().out.splitlines()
    assert run("--delete") == 0
    assert told == [
        *capsys.readouterr().out.splitlines()[:-1],
        "would be: 1 uploaded (1 bytes), 1 unchanged, 1 deleted, 0 kept, 0 skipped, 0 failed",
    ]


def test_what_is_excluded_is_neither_sent_nor_removed(
    run: Run, client: Client, tmp_path: Path
) -> None:
    client.files.upload(NS, [("/node_modules/theirs", b"x"), ("/x.tmp", b"x")])
    fill(tmp_path, {"node_modules/ours": b"x", "src/y.tmp": b"x", "docs/z": b"x", "a": b"a"})
    patterns = ["node_modules", "*.tmp", "docs/*"]
    options = [it for pattern in patterns for it in ("--exclude", pattern)]
    assert run("--delete", *options) == 0
    assert set(drive(client)) == {"/node_modules/theirs", "/x.tmp", "/a"}


def test_links_are_not_followed(
    run: Run, client: Client, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    fill(outside, {"secret": b"s"})
    fill(tmp_path, {"a": b"a"})
    (tmp_path / "link").symlink_to(outside)
    (tmp_path / "file").symlink_to(outside / "secret")
    assert run() == 1
    assert drive(client) == {"/a": b"a"}


def test_a_name_that_is_no_text_is_skipped(run: Run, client: Client, tmp_path: Path) -> None:
    fill(tmp_path, {"a": b"a"})
    try:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff")).write_bytes(b"x")
    except OSError:
        pytest.fail("the file system of this machine refuses such names")
    assert run() == 1
    assert drive(client) == {"/a": b"a"}


def test_another_folder_of_another_namespace(
    run: Run, client: Client, server: FakeServer, tmp_path: Path
) -> None:
    fill(tmp_path, {"a/b": b"x"})
    assert run("--user", "ann b", "--to", "/in/here/") == 0
    assert list(server.store.files.places["ann~20b", "workspace"]) == ["/in/here/a/b"]
    assert run("--namespace", "p", "--namespace", "q") == 0
    assert list(server.store.files.places["p", "q"]) == ["/a/b"]


def test_a_file_that_fails_fails_alone(run: Run, client: Client, tmp_path: Path) -> None:
    fill(tmp_path, {"a..b": b"x", "ok": b"x"})
    assert run() == 1
    assert set(drive(client)) == {"/ok"}


def test_nothing_runs_without_a_server_or_a_folder(
    tmp_path: Path,
    server: FakeServer,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("threadkeep.sync.Client", partial(Client, timeout=0.5))
    assert main([str(tmp_path), "--url", "http://127.0.0.1:9"]) == 2
    assert main([str(tmp_path / "none"), "--url", server.url, "--user", "u"]) == 2
    assert capsys.readouterr().err.count("threadkeep-sync: ") == 2


def test_a_key_of_the_tenant_must_say_whose_drive(
    run: Run, server: FakeServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(tmp_path, {"a": b"a"})
    whoami = b"\x82\xa6tenant\xa1t\xaacredential\xa1k"
    server.fault_path = "/v1/whoami"
    server.faults = [Fault(raw=whoami)]
    assert run() == 2
    assert "--user" in capsys.readouterr().err


def test_large_files_are_streamed(
    run: Run, client: Client, server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync, "BATCH_BYTES_MAX", 100)
    fill(tmp_path, {"large": b"x" * 101, **{f"s{n}": b"y" * 60 for n in range(3)}})
    assert run() == 0
    assert len(server.requests("/upload")) == 3
    assert len(server.requests("/content")) == 1
    assert drive(client)["/large"] == b"x" * 101
