"""A bundle for support has what helps, and nothing of what is stored, of keys and of secrets."""

import json
import stat
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

from support import settings
from support.native import Native, checkpoint, writes
from support.server import Server, clean_environment, free_port

MARK = "mark-of-a-content"
PASSWORD = "mark-of-a-password"
TENANT = "mark-of-a-tenant"
SECRETS = {"THREADKEEP_EMBEDDINGS_KEY": PASSWORD}
EMBEDDINGS = f"http://ann:{PASSWORD}@127.0.0.1:1/v1"
OPTIONS = [
    *("--redis-url", f"redis://:{PASSWORD}@127.0.0.1:1/0"),
    *("--embeddings-url", EMBEDDINGS, "--embeddings-model", "m", "--embeddings-dims", "3"),
]


def fill(server: Server, key: str) -> None:
    native = Native(server.url, key)
    try:
        op = checkpoint("c1", {MARK: MARK.encode()})
        native.commit(MARK, op, writes("c1", "task", [MARK.encode()]))
    finally:
        native.close()
    item = {"namespace": [MARK], "key": MARK, "value": {"text": MARK}}
    assert server.post("/v1/store/put", item, key).status == 200


def support(
    server: Server, to: Path, *arguments: str, key: str = ""
) -> "subprocess.CompletedProcess[str]":
    given = {"THREADKEEP_API_KEY": key} if key else {}
    return subprocess.run(
        [settings.BINARY, "support", "--to", to, *arguments, *server.place.arguments(), *OPTIONS],
        capture_output=True,
        text=True,
        cwd=server.place.folder,
        env=clean_environment() | SECRETS | given,
        timeout=settings.PATIENCE_SECONDS,
    )


def files(bundle: Path) -> dict[str, str]:
    with tarfile.open(bundle) as archive:
        found = {}
        for member in archive:
            part = archive.extractfile(member)
            assert part is not None
            found[member.name.removeprefix("threadkeep-support/")] = part.read().decode()
        return found


def test_a_bundle_has_what_helps_and_nothing_of_what_is_stored(
    start_server: Callable[..., Server], tmp_path: Path, engine: str
) -> None:
    server = start_server()
    (key,) = server.make_keys([TENANT])
    fill(server, key)
    bundle = tmp_path / "bundle.tar.gz"
    done = support(server, bundle, "--url", server.url, key=key)
    assert (done.returncode, done.stderr) == (0, "")
    assert stat.S_IMODE(bundle.stat().st_mode) == 0o600

    found = files(bundle)
    assert sorted(found) == [
        *("about.json", "metrics.txt", "readiness.json", "settings.toml", "tables.json")
    ]
    about = json.loads(found["about.json"])
    assert about["missing"] == []
    assert about["database"]["engine"] == engine
    assert about["database"]["schema_version"] > 30
    assert about["database"]["main_bytes"] + (about["database"]["log_bytes"] or 0) > 10_000
    tables = json.loads(found["tables.json"])
    assert tables["checkpoints"]["rows"] == 1
    assert tables["items"]["rows"] == 1
    assert tables["items"]["bytes"] > 0
    assert "threadkeep_build_info{" in found["metrics.txt"]
    assert json.loads(found["readiness.json"])["ready"] is True
    assert 'embeddings-model = "m"  # the command line' in found["settings.toml"]
    assert "# embeddings-url = (hidden)" in found["settings.toml"]

    told = "".join(found.values()) + done.stdout
    for secret in (MARK, PASSWORD, TENANT, key, key.removeprefix("tk_")[:12]):
        assert secret not in told, secret


def test_what_cannot_be_read_is_named_and_the_rest_is_there(
    start_server: Callable[..., Server], tmp_path: Path
) -> None:
    server = start_server()
    bundle = tmp_path / "bundle.tar.gz"
    away = f"http://ann:{PASSWORD}@127.0.0.1:{free_port()}"
    done = support(server, bundle, "--url", away)
    assert done.returncode == 8
    found = files(bundle)
    assert sorted(found) == ["about.json", "settings.toml", "tables.json"]
    missing = json.loads(found["about.json"])["missing"]
    assert [it["what"] for it in missing] == ["metrics.txt", "readiness.json"]
    assert PASSWORD not in "".join(found.values()) + done.stderr
    assert "the bundle lacks metrics.txt" in done.stderr


def test_a_database_that_is_not_there_is_named(tmp_path: Path) -> None:
    bundle = tmp_path / "bundle.tar.gz"
    done = subprocess.run(
        [settings.BINARY, "support", "--to", bundle, "--data-dir", tmp_path / "none"],
        capture_output=True,
        text=True,
        env=clean_environment(),
    )
    assert done.returncode == 4
    assert sorted(files(bundle)) == ["about.json", "settings.toml"]
    assert not (tmp_path / "none").exists()


def test_a_database_with_an_older_schema_is_left_as_it_is(
    start_server: Callable[..., Server], tmp_path: Path
) -> None:
    server = start_server()
    assert server.stop() == 0
    newest = "select max(version) from schema_version"
    ((version,),) = server.place.query(newest)
    server.place.query(f"delete from schema_version where version = {version}")
    bundle = tmp_path / "bundle.tar.gz"
    done = support(server, bundle)
    assert done.returncode == 2
    assert (
        "run `threadkeep migrate`" in json.loads(files(bundle)["about.json"])["missing"][0]["why"]
    )
    assert server.place.query(newest) == [(version - 1,)]


def test_a_file_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    there = tmp_path / "none" / "bundle.tar.gz"
    done = subprocess.run(
        [settings.BINARY, "support", "--to", there, "--data-dir", tmp_path / "data"],
        capture_output=True,
        text=True,
        env=clean_environment(),
    )
    assert done.returncode == 4
    assert "the bundle cannot be made" in done.stderr
