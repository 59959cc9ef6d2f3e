"""Backups: whole while writers go on, refused where they are damaged, kept as long as was asked, in folders and in object stores."""

import base64
import json
import os
import subprocess
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from threadkeep import Client

from backups.places import Backups, Machines
from support import settings
from support.http import request
from support.native import Native, checkpoint
from support.object_store import BUCKET, ObjectStore
from support.server import Server, clean_environment
from support.waiting import wait_until

WRITES_BEFORE = 20


def refused(done: "subprocess.CompletedProcess[str]", code: int, *parts: str) -> None:
    assert done.returncode == code, done
    for part in parts:
        assert part in done.stderr, done.stderr


def commit(server: Server, key: str, thread: str, number: int) -> None:
    native = Native(server.url, key)
    native.commit(thread, checkpoint(f"{number:08d}", {"m": str(number).encode()}))
    native.close()


def test_a_backup_under_writes_has_all_that_was_acknowledged_before_it(
    backups: Backups, machines: Machines
) -> None:
    place = machines.place()
    server = machines.serve(place, backups.environment)
    (key,) = server.make_keys(["acme"])
    acknowledged = 0
    ends = threading.Event()

    def write() -> None:
        nonlocal acknowledged
        native = Native(server.url, key)
        while not ends.is_set():
            native.commit("t", checkpoint(f"{acknowledged:08d}", {"m": b"x" * 2000}))
            acknowledged += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        wait_until(lambda: acknowledged >= WRITES_BEFORE, "some writes")
        before = acknowledged
        backups.take(place)
        during = acknowledged
        wait_until(lambda: acknowledged > during, "a write after the backup")
    finally:
        ends.set()
        writer.join()
    server.kill()
    restored = machines.place()
    backups.restore(restored)
    examined = backups.run(restored, "doctor")
    assert examined.returncode == 0, examined.stdout
    server = machines.serve(restored, backups.environment)
    with Client(server.url, api_key=key) as client:
        thread = client.get_thread("t")
    assert thread is not None
    assert before <= thread.checkpoint_count <= during + 1


def test_what_is_damaged_missing_or_in_the_way_is_refused_and_nothing_is_made(
    backups: Backups, machines: Machines, engine: str
) -> None:
    place = machines.place()
    server = machines.serve(place, backups.environment)
    (key,) = server.make_keys(["acme"])
    commit(server, key, "t", 1)
    name = backups.take(place)["name"]
    # Not into a database that is there.
    done = backups.run(place, "restore", "--from", f"{backups.folder}/{name}")
    refused(done, 2, "restore into an empty")
    content = backups.folder / f"{name}.backup"
    assert content.stat().st_mode & 0o077 == 0
    whole = content.read_bytes()
    for damaged in (whole[:-1], whole[:100] + bytes([whole[100] ^ 1]) + whole[101:]):
        content.write_bytes(damaged)
        target = machines.place()
        done = backups.run(target, "restore", "--from", f"{backups.folder}/{name}")
        refused(done, 1, "is not what its manifest says")
        refused(backups.run(target, "tenants"), 4)
    content.write_bytes(whole)
    target = machines.place()
    manifest = backups.folder / f"{name}.json"
    text = manifest.read_text()
    manifest.write_text(text.replace(f'"engine": "{engine}"', '"engine": "another"'))
    done = backups.run(target, "restore", "--from", f"{backups.folder}/{name}")
    refused(done, 2, "is of the engine another")
    manifest.unlink()
    for missing in (name, "threadkeep-19700101T000000.000000Z", "latest"):
        done = backups.run(target, "restore", "--from", f"{backups.folder}/{missing}")
        refused(done, 4, "there is no backup")
    refused(backups.run(target, "restore", "--from", "nothing"), 2, "joined by a slash")
    refused(backups.run(target, "restore"), 2, "--from")
    refused(backups.run(target, "backup", "--to", str(backups.folder)), 4)
    manifest.write_text(text)
    # What cannot be read of the journal is never passed over.
    journal = backups.journal / "journal"
    journal.mkdir(parents=True, exist_ok=True)
    (journal / "x.json").write_text("{")
    done = backups.run(target, "restore", "--from", f"{backups.folder}/{name}")
    refused(done, 1, "the entry x.json of the journal")
    (journal / "x.json").unlink()
    # The same place, once nothing is in the way.
    assert backups.restore(target, name)["threads"] == 1


def test_a_restore_that_was_cut_off_leaves_nothing_that_a_server_takes(
    backups: Backups, machines: Machines, engine: str
) -> None:
    place = machines.place()
    server = machines.serve(place, backups.environment)
    (key,) = server.make_keys(["acme"])
    commit(server, key, "t", 1)
    backups.take(place)
    target = machines.place()
    backups.restore(target)
    if engine == "sqlite":
        # As a kill before the last step leaves it.
        data = target.folder / "data"
        restoring = data / "threadkeep.db.restoring"
        restoring.mkdir()
        (data / "threadkeep.db").rename(restoring / "threadkeep.db")
        refused(backups.run(target, "tenants"), 4, "there is no database")
        assert backups.restore(target)["threads"] == 1
        assert not restoring.exists()
    else:
        target.query("create table threadkeep_unfinished_restore ()")
        for command in (["tenants"], ["serve", "--listen", "127.0.0.1:0", "--allow-unsafe"]):
            refused(backups.run(target, *command), 2, "a restore of this database was not finished")


def test_a_database_that_came_back_by_other_means_is_renewed_in_place(
    backups: Backups, machines: Machines
) -> None:
    place = machines.place()
    server = machines.serve(place, backups.environment)
    (key,) = server.make_keys(["acme"])
    commit(server, key, "ann:t", 1)
    with Client(server.url, api_key=key) as client:
        made = client.keys.create(subject="ann")
        commit(server, made.key, "t", 1)
        token = client.tokens.mint(subject="ann").token
    before = datetime.now(UTC) - timedelta(minutes=10)
    refused(backups.run(place, "restore", "--in-place"), 2, "--as-of")
    refused(backups.run(place, "restore", "--in-place", "--as-of", "yesterday"), 2, "as-of")
    in_place = ("restore", "--in-place", "--as-of", before.isoformat())
    busy = backups.run(place, *in_place)
    assert busy.returncode in (2, 11), busy
    server.stop()
    (backups.journal / "journal").mkdir(parents=True, exist_ok=True)
    for number, (at, entry) in enumerate(
        (
            (before + timedelta(minutes=5), {"act": "key_revoked", "key_id": made.key_id}),
            (before + timedelta(minutes=6), {"act": "subject_erased", "subject": "ann"}),
        )
    ):
        text = json.dumps({"at": at.isoformat(), "tenant": "acme", **entry})
        (backups.journal / "journal" / f"{number}.json").write_text(text)
    done = backups.run(place, *in_place)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["journal"] == {
        "keys_revoked": 1,
        "subjects_erased": 1,
        "tenant_keys_destroyed": 0,
    }
    assert report["threads"] == 2
    server = machines.serve(place, backups.environment)
    assert server.get("/v1/whoami", made.key).status == 401
    assert server.get("/v1/whoami", token).status == 401
    with Client(server.url, api_key=key) as client:
        assert [it.thread_id for it in client.list_threads().threads] == ["ann:t"]


def test_old_backups_and_the_erasures_that_they_needed_go(
    backups: Backups, machines: Machines
) -> None:
    place = machines.place()
    server = machines.serve(place, backups.environment)
    (key,) = server.make_keys(["acme"])
    with Client(server.url, api_key=key) as client:
        revoked = client.keys.create().key_id
        client.keys.revoke(revoked)
        client.subjects.delete("ann")
    assert [it["act"] for it in backups.entries()] == [
        "key_revoked",
        "subject_erased",
        "subject_erased",
    ]
    names = [backups.take(place)["name"] for _ in range(2)]
    made_old(backups, names[0], days=8)
    for entry in (backups.journal / "journal").glob("*.json"):
        text = json.loads(entry.read_text())
        text["at"] = (datetime.now(UTC) - timedelta(days=9)).isoformat()
        entry.write_text(json.dumps(text))
    report = backups.take(place, "--keep-days", "7")
    assert (report["backups_removed"], report["erasures_forgotten"]) == ([names[0]], 2)
    assert sorted(it.stem for it in backups.folder.glob("*.backup")) == [names[1], report["name"]]
    # Nothing proves that no backup elsewhere has the key.
    assert [it["act"] for it in backups.entries()] == ["key_revoked"]


def made_old(backups: Backups, name: str, *, days: int) -> None:
    file = backups.folder / f"{name}.json"
    manifest: dict[str, Any] = json.loads(file.read_text())
    manifest["began_at"] = (datetime.now(UTC) - timedelta(days=days)).isoformat()
    file.write_text(json.dumps(manifest))


def test_a_journal_that_cannot_be_written_is_told_and_the_key_is_revoked_all_the_same(
    backups: Backups, machines: Machines
) -> None:
    place = machines.place()
    backups.journal.mkdir(parents=True)
    server = machines.serve(place, backups.environment)
    (key,) = server.make_keys(["acme"])
    # A file where the folder of entries would be.
    (backups.journal / "journal").write_text("")
    with Client(server.url, api_key=key) as client:
        made = client.keys.create()
    answer = server.post("/v1/keys/revoke", {"key_id": made.key_id}, key)
    assert (answer.status, answer.code) == (503, "unavailable")
    assert server.get("/v1/whoami", made.key).status == 401
    erased = request(server.url, "DELETE", "/v1/subjects?subject=ann", key=key)
    assert erased.status == 503
    (backups.journal / "journal").unlink()
    answer = server.post("/v1/keys/revoke", {"key_id": made.key_id}, key)
    assert answer.status == 200
    assert [it["act"] for it in backups.entries()] == ["key_revoked"]


@pytest.fixture
def object_store(tmp_path: Path) -> Iterator[ObjectStore]:
    store = ObjectStore(tmp_path).start()
    yield store
    store.kill()


def test_a_bucket_keeps_backups_and_journal(
    backups: Backups, machines: Machines, object_store: ObjectStore
) -> None:
    reach = object_store.environment()
    backups.environment |= {**reach, "THREADKEEP_JOURNAL_URL": f"s3://{BUCKET}/beside"}
    place = machines.place()
    server = machines.serve(place, backups.environment)
    (key,) = server.make_keys(["acme"])
    commit(server, key, "t", 1)
    # More than one part of an upload.
    with Client(server.url, api_key=key) as client:
        client.files.write(("notes",), "/large", base64.b64encode(os.urandom(8_000_000)).decode())
        made = client.keys.create()
    to = f"s3://{BUCKET}/nightly"
    done = backups.run(place, "backup", "--to", to)
    assert done.returncode == 0, done.stderr
    manifest = json.loads(done.stdout)
    with Client(server.url, api_key=key) as client:
        client.keys.revoke(made.key_id)
    server.kill()
    target = machines.place()
    done = backups.run(target, "restore", "--from", f"{to}/{manifest['name']}")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["journal"]["keys_revoked"] == 1
    server = machines.serve(target, backups.environment)
    assert server.get("/v1/whoami", made.key).status == 401
    with Client(server.url, api_key=key) as client:
        assert client.get_thread("t") is not None
    assert not list(backups.folder.glob("*"))


def test_a_restored_database_names_no_object_that_is_not_there(
    backups: Backups, machines: Machines, tmp_path: Path
) -> None:
    packs = tmp_path / "packs"
    url = f"file://{packs}"
    environment = backups.environment | {"THREADKEEP_OBJECT_STORE_URL": url}
    options = [
        *("--object-store-after-seconds", "1", "--object-store-every-seconds", "1"),
        *("--object-store-pack-bytes-min", "1"),
    ]
    place = machines.place()
    server = machines.serve(place, environment, options)
    (key,) = server.make_keys(["acme"])
    native = Native(server.url, key)
    native.commit("t", checkpoint("1", {"m": os.urandom(20_000)}))
    wait_until(lambda: place.query("select count(*) from packs")[0][0], "a pack")
    server.stop()
    backups.take(place, environment={"THREADKEEP_OBJECT_STORE_URL": url})
    (pack,) = packs.glob("*.pack")
    away = pack.rename(tmp_path / "away")
    target = machines.place()
    store = {"THREADKEEP_OBJECT_STORE_URL": url}
    done = backups.run(target, "restore", "--from", f"{backups.folder}/latest", environment=store)
    assert done.returncode != 0, done.stdout
    assert "object store" in done.stderr, done.stderr
    away.rename(pack)
    if target.databases:
        target = machines.place()
    assert backups.restore(target, environment=store)["threads"] == 1
    server = machines.serve(target, environment, options)
    assert Native(server.url, key).get("t")["checkpoint"]["checkpoint_id"]


def test_a_destroyed_tenant_stays_destroyed_and_an_encrypted_backup_needs_its_master_key(
    backups: Backups, machines: Machines, tmp_path: Path
) -> None:
    master = tmp_path / "master.key"
    made = subprocess.run(
        [settings.BINARY, "master-key", "create", "--to", master],
        env=clean_environment(),
        check=True,
        capture_output=True,
    )
    assert made.returncode == 0
    sealed = {"THREADKEEP_MASTER_KEY_FILE": str(master)}
    place = machines.place()
    server = machines.serve(place, backups.environment | sealed)
    gone, kept = server.make_keys(["gone", "kept"])
    for key in (gone, kept):
        commit(server, key, "t", 1)
    backups.take(place, environment=sealed)
    server.stop()
    destroyed = backups.run(
        place, "master-key", "destroy", "--tenant", "gone", "--yes", environment=sealed
    )
    assert destroyed.returncode == 0, destroyed.stderr
    target = machines.place()
    without = backups.run(target, "restore", "--from", f"{backups.folder}/latest")
    assert without.returncode != 0
    assert "master key" in without.stderr
    if target.databases:
        target = machines.place()
    report = backups.restore(target, environment=sealed)
    assert report["journal"]["tenant_keys_destroyed"] == 1
    by_command = {"THREADKEEP_MASTER_KEY_COMMAND": f"cat {master}"}
    server = machines.serve(target, backups.environment | by_command)
    assert server.get("/v1/info", kept).json()["features"]["encryption"] is True
    body = {"thread_id": "t", "checkpoint_ns": ""}
    assert server.post("/v1/checkpoints/get", body, gone).status == 410
    assert server.post("/v1/checkpoints/get", body, kept).status == 200
