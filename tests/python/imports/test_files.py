"""Folders laid out as `users/NAME/workspace|memory/…`, on this machine and in a bucket, become the files of these subjects."""

import hashlib
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from imports.importing import Tenant, counted
from imports.sources import objects_of, tree_of
from support.http import request
from support.object_store import BUCKET, SIGNED, ObjectStore

CONTENTS = {
    "users/ann/workspace/report.md": b"# Report\n",
    "users/ann/workspace/data/odd \u00e4 #1 100%.bin": bytes(range(256)) * 40,
    "users/ann/workspace/large.bin": os.urandom(17 << 20),
    "users/ann/workspace/empty.txt": b"",
    "users/ann/memory/AGENTS.md": b"Likes tea.\n",
    "users/bob@x.y/memory/users/ann/workspace/x.txt": b"not ann's",
}
OTHERS = {"readme.txt": b"?", "users/ann/workspace/sub/.emptyFolderPlaceholder": b""}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "bucket"
    for path, content in (CONTENTS | OTHERS).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    return root


def stored(tenant: Tenant) -> dict[str, bytes]:
    """Every file of the tenant, by its place in the layout."""
    found = {}
    for path in CONTENTS:
        _, user, area, rest = path.split("/", 3)
        label = user.replace(".", "~2e")
        namespace = [label, {"workspace": "workspace", "memory": "filesystem"}[area]]
        asked = urlencode([*(("ns", it) for it in namespace), ("path", f"/{rest}")])
        answer = request(tenant.server.url, "GET", f"/v1/files/content?{asked}", key=tenant.key)
        assert answer.status in (200, 404), answer.body
        if answer.status == 200:
            found[path] = answer.body
    return found


def test_a_folder_becomes_the_files_of_its_subjects(folder: Path, tenant: Tenant) -> None:
    before = tree_of(folder)
    report = tenant.imported(f"dir:{folder}")
    assert tree_of(folder) == before
    assert stored(tenant) == CONTENTS
    assert counted(report, "imported") == {"files": len(CONTENTS)}
    assert counted(report, "skipped") == {"files": len(OTHERS)}
    assert report["bytes"] == sum(map(len, CONTENTS.values()))
    again = tenant.imported(str(folder))
    assert counted(again, "imported") == {}
    assert counted(again, "unchanged") == {"files": len(CONTENTS)}


def test_the_newer_of_two_files_stays(folder: Path, tenant: Tenant) -> None:
    tenant.imported(f"dir:{folder}")
    changed = folder / "users/ann/workspace/report.md"
    changed.write_bytes(b"# Newer\n")
    os.utime(changed, (4_000_000_000, 4_000_000_000))
    older = folder / "users/ann/memory/AGENTS.md"
    older.write_bytes(b"Likes coffee.\n")
    os.utime(older, (1_000_000_000, 1_000_000_000))
    report = tenant.imported(f"dir:{folder}")
    assert counted(report, "imported") == {"files": 1}
    assert report["files"]["skipped"] == len(OTHERS) + 1
    found = stored(tenant)
    assert found["users/ann/workspace/report.md"] == b"# Newer\n"
    assert found["users/ann/memory/AGENTS.md"] == b"Likes tea.\n"


def test_a_dry_run_writes_no_file(folder: Path, tenant: Tenant) -> None:
    report = tenant.imported(f"dir:{folder}", "--dry-run")
    assert counted(report, "imported") == {"files": len(CONTENTS)}
    assert stored(tenant) == {}


def test_a_bucket_becomes_the_same(folder: Path, tenant: Tenant, tmp_path: Path) -> None:
    store = ObjectStore(tmp_path).start()
    try:
        for path, content in (CONTENTS | OTHERS).items():
            put(store, f"some/prefix/{path}", content)
        before = objects_of(store)
        report = tenant.imported(f"s3://{BUCKET}/some/prefix", **store.environment())
        assert objects_of(store) == before
        assert stored(tenant) == CONTENTS
        assert counted(report, "imported") == {"files": len(CONTENTS)}
        again = tenant.imported(f"s3://{BUCKET}/some/prefix/", **store.environment())
        assert counted(again, "unchanged") == {"files": len(CONTENTS)}
    finally:
        store.kill()


def put(store: ObjectStore, key: str, content: bytes) -> None:
    digest = hashlib.sha256(content).hexdigest()
    headers: dict[str, Any] = {**SIGNED, "x-amz-content-sha256": digest}
    answer = request(store.url, "PUT", f"/{BUCKET}/{quote(key)}", content, headers=headers)
    assert answer.status == 200, answer.body
