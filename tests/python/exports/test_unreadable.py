"""An export of a tenant of which nothing can be read is refused before anything of a file is sent."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from support import settings
from support.http import request
from support.native import Native, checkpoint
from support.server import Server, clean_environment
from support.waiting import wait_until


@pytest.fixture
def master_key(tmp_path: Path) -> Path:
    path = tmp_path / "master.key"
    made = subprocess.run(
        [settings.BINARY, "master-key", "create"], capture_output=True, check=True
    )
    path.write_bytes(made.stdout)
    path.chmod(0o600)
    return path


def fill_threads(server: Server, key: str) -> None:
    native = Native(server.url, key)
    native.commit("t", checkpoint("1", {"m": b"hello"}))
    native.close()


def fill_items(server: Server, key: str) -> None:
    body = {"namespace": ["a"], "key": "k", "value": {"v": 1}}
    assert server.post("/v1/store/put", body, key).status == 200


def fill_sessions(server: Server, key: str) -> None:
    body = {"kind": "claude", "key": ["p"], "entries": [{"data": {"n": 1}}]}
    answer = server.post("/v1/sessions/append", body, key)
    assert answer.status == 200, answer


@pytest.mark.parametrize("fill", [fill_threads, fill_items, fill_sessions])
def test_an_export_of_a_destroyed_tenant_is_gone_and_no_file(
    start_server: Callable[..., Server], master_key: Path, fill: Callable[[Server, str], None]
) -> None:
    server = start_server(options=[f"--master-key-file={master_key}"])
    environment = clean_environment() | {"THREADKEEP_MASTER_KEY_FILE": str(master_key)}

    def command(*arguments: str) -> str:
        done = subprocess.run(
            [settings.BINARY, *arguments, *server.place.arguments()],
            capture_output=True,
            text=True,
            env=environment,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    key = command("keys", "create", "--tenant", "acme")
    wait_until(lambda: request(server.url, "GET", "/v1/whoami", key=key).status == 200, "the key")
    fill(server, key)
    whole = server.post("/v1/export", {}, key)
    assert (whole.status, whole.headers["content-type"]) == (
        200,
        "application/vnd.threadkeep.export",
    )
    command("master-key", "destroy", "--tenant", "acme", "--yes")

    def read() -> int:
        body = {"thread_id": "t", "checkpoint_ns": ""}
        return server.post("/v1/checkpoints/get", body, key).status

    wait_until(lambda: read() == 410, "the server to see that the key is destroyed")
    for body in [{}, {"namespaces": [["a"]]}] if fill is fill_items else [{}]:
        answer = server.post("/v1/export", body, key)
        assert (answer.status, answer.code) == (410, "key_destroyed"), answer
