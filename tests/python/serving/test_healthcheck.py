"""`threadkeep healthcheck`: a server that is ready, ones that are not, and what certificates it takes."""

import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support import settings
from support.certificates import Authority
from support.http import request
from support.server import Place, Server, clean_environment, free_port
from support.waiting import wait_until

SECONDS_MAX = 5
# Leads to this machine, and is no loopback address.
NOT_LOOPBACK = "0.0.0.0"

Done = subprocess.CompletedProcess[str]


def check(*arguments: str, cwd: Path, **variables: str) -> Done:
    return subprocess.run(
        [settings.BINARY, "healthcheck", *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=clean_environment() | variables,
        timeout=settings.PATIENCE_SECONDS,
    )


def test_a_ready_server_is_known_without_a_database_or_settings(
    start_server: Callable[..., Server], tmp_path: Path
) -> None:
    server = start_server()
    for done in (
        check("--url", server.url, cwd=tmp_path),
        check(cwd=tmp_path, THREADKEEP_HEALTHCHECK_URL=f"{server.url}/"),
        check("--url", server.url, cwd=tmp_path, THREADKEEP_CONFIG="no such file"),
    ):
        assert (done.returncode, done.stdout, done.stderr) == (0, "ready\n", "")
    assert list(tmp_path.iterdir()) == [], "it makes nothing"


def test_a_server_that_stops_is_not_ready_and_says_so(
    start_server: Callable[..., Server], tmp_path: Path
) -> None:
    server = start_server(options=["--drain-seconds", "600"])
    assert server.process
    server.process.send_signal(signal.SIGTERM)
    wait_until(lambda: request(server.url, "GET", "/readyz").status == 503, "it to be not ready")
    done = check("--url", server.url, cwd=tmp_path)
    said = f"threadkeep: the server at {server.url} is not ready: the server is stopping\n"
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == said


def test_where_nothing_listens_nobody_is_ready(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    done = check("--url", url.replace("127", "ann:secret@127"), cwd=tmp_path)
    said = f"threadkeep: the server at {url} is not ready: nothing listens there\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said)


def test_what_does_not_answer_is_not_waited_for(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        begun = time.monotonic()
        done = check("--url", f"http://127.0.0.1:{silent.getsockname()[1]}", cwd=tmp_path)
        assert time.monotonic() - begun < 2 * SECONDS_MAX
    assert done.returncode == 1
    assert f"it does not answer within {SECONDS_MAX} seconds" in done.stderr


def test_what_is_no_address_is_a_wrong_setting(tmp_path: Path) -> None:
    for url in ("ftp://127.0.0.1", "nothing", "http://127.0.0.1?a=b"):
        done = check("--url", url, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert "must be an address such as" in done.stderr


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path, "authority")


def test_any_certificate_of_a_loopback_address_is_taken_and_no_other_one(
    authority: Authority, tmp_path: Path
) -> None:
    issued = authority.issue("server", NOT_LOOPBACK)
    certificate = ["--tls-cert", str(issued.certificate), "--tls-key", str(issued.key)]
    place = Place()
    server = Server(place, options=certificate)
    # Without a key a server answers at addresses of its own machine alone.
    make = [settings.BINARY, "keys", "create", "--tenant", "acme", *place.arguments()]
    subprocess.run(make, check=True, capture_output=True, env=clean_environment())
    try:
        server.spawn()
        port = server.url.rsplit(":", 1)[1]
        own = ["--url", f"https://127.0.0.1:{port}"]
        wait_until(lambda: check(*own, cwd=tmp_path).returncode == 0, "the server to be ready")
        other = ["--url", f"https://{NOT_LOOPBACK}:{port}"]
        refused = check(*other, cwd=tmp_path)
        assert refused.returncode == 1
        assert "certificate" in refused.stderr
        trusted = check(*other, cwd=tmp_path, SSL_CERT_FILE=str(authority.certificate))
        assert (trusted.returncode, trusted.stdout, trusted.stderr) == (0, "ready\n", "")
    finally:
        server.kill()
        place.remove()


def test_a_file_with_settings_of_servers_has_no_address_to_check(tmp_path: Path) -> None:
    file = tmp_path / "threadkeep.toml"
    file.write_text('url = "http://127.0.0.1:7070"\n')
    done = subprocess.run(
        [settings.BINARY, "config", "check", "--config", file],
        capture_output=True,
        text=True,
        env=clean_environment(),
    )
    assert done.returncode == 2
    assert "`url` is no setting" in done.stderr
