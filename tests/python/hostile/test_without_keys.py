"""A server without keys serves this machine only: what a browser or a proxy would send is refused."""

import json
import subprocess

import pytest

from support import settings
from support.http import JSON, Answer, request
from support.server import Place, Server, clean_environment, free_port
from support.waiting import wait_until

LIST = "/v1/checkpoints/list"
COMMIT = "/v1/checkpoints/commit"
OP = {"checkpoint_id": "c1", "skeleton": {"v": 4}, "metadata": {}, "values": []}
BODY = json.dumps({"thread_id": "t", "ops": [{"checkpoint": OP}]}).encode()


def port_of(server: Server) -> str:
    return server.url.rsplit(":", 1)[1]


def commit(server: Server, content_type: str = JSON, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return request(server.url, "POST", COMMIT, BODY, content_type=content_type, headers=named)


def assert_refused_and_nothing_stored(
    server: Server, answer: Answer, status: int, code: str
) -> None:
    assert (answer.status, answer.code) == (status, code), answer.body
    stored = request(server.url, "POST", LIST, b"{}", content_type=JSON)
    assert stored.status == 200
    assert stored.json()["checkpoints"] == []


def test_a_plain_request_is_served_as_the_default_tenant(own_server: Server) -> None:
    assert commit(own_server).status == 200
    assert own_server.get("/v1/whoami").json()["tenant"] == "default"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "LOCALHOST"])
def test_every_name_of_this_machine_is_a_good_host(own_server: Server, host: str) -> None:
    assert commit(own_server, Host=f"{host}:{port_of(own_server)}").status == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example:{port}", "localhost", "127.0.0.1:1", "", "@"]
)
def test_a_foreign_host_is_refused(own_server: Server, host: str) -> None:
    answer = commit(own_server, Host=host.format(port=port_of(own_server)))

    assert_refused_and_nothing_stored(own_server, answer, 403, "forbidden_host")


def test_a_request_of_the_servers_own_origin_is_served(own_server: Server) -> None:
    assert commit(own_server, Origin=own_server.url, Sec_Fetch_Site="same-origin").status == 200


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1:1", "https://localhost:{port}"]
)
def test_a_cross_site_origin_is_refused(own_server: Server, origin: str) -> None:
    answer = commit(own_server, Origin=origin.format(port=port_of(own_server)))

    assert_refused_and_nothing_stored(own_server, answer, 403, "forbidden_origin")


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_fetch_from_another_site_is_refused(own_server: Server, site: str) -> None:
    answer = commit(own_server, Sec_Fetch_Site=site)

    assert_refused_and_nothing_stored(own_server, answer, 403, "forbidden_origin")


@pytest.mark.parametrize(
    "media_type",
    ["text/plain", "text/plain; charset=utf-8", "application/x-www-form-urlencoded"],
)
def test_what_a_form_can_send_is_refused(own_server: Server, media_type: str) -> None:
    answer = commit(own_server, content_type=media_type)

    assert_refused_and_nothing_stored(own_server, answer, 415, "unsupported_media_type")


@pytest.mark.parametrize(
    "header", ["X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded"]
)
def test_a_forwarded_request_is_refused(own_server: Server, header: str) -> None:
    answer = commit(own_server, **{header: "for=1.2.3.4"})

    assert_refused_and_nothing_stored(own_server, answer, 403, "forbidden_forwarding")


def test_no_answer_opens_the_server_to_other_origins(own_server: Server) -> None:
    asked = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    answers = [
        commit(own_server),
        commit(own_server, Origin=own_server.url),
        request(own_server.url, "OPTIONS", COMMIT, headers=asked),
    ]

    names = {name for answer in answers for name in answer.headers}
    assert not [name for name in names if name.startswith("access-control-")]
    assert answers[-1].status in (403, 405)


def test_the_first_key_ends_the_keyless_mode_of_a_running_server(own_server: Server) -> None:
    assert commit(own_server).status == 200

    key = own_server.new_key()

    wait_until(lambda: own_server.get("/v1/whoami").status == 401, "the keyless mode to end")
    assert own_server.get("/v1/whoami", key).status == 200


def try_to_listen(place: Place, listen: str) -> "subprocess.CompletedProcess[str]":
    """Start a server that is expected to end by itself."""
    return subprocess.run(
        [settings.BINARY, "serve", "--listen", listen, *place.arguments(), "--allow-unsafe"],
        capture_output=True,
        text=True,
        cwd=place.folder,
        env=clean_environment(),
        timeout=settings.PATIENCE_SECONDS,
    )


@pytest.mark.parametrize("address", ["0.0.0.0", "[::]"])
def test_without_keys_no_other_address_is_listened_on(own_place: Place, address: str) -> None:
    ended = try_to_listen(own_place, f"{address}:{free_port()}")

    assert ended.returncode != 0
    assert "keys create" in ended.stderr, "the refusal says what to do"
    assert "listening" not in ended.stdout


def test_with_a_key_the_server_listens_on_every_address(own_place: Place) -> None:
    made = subprocess.run(
        [settings.BINARY, "keys", "create", "--tenant", "t", *own_place.arguments()],
        capture_output=True,
        text=True,
        env=clean_environment(),
        cwd=own_place.folder,
    )
    key = made.stdout.strip()
    server = Server(own_place, listen=f"0.0.0.0:{free_port()}")
    try:
        server.start()
        assert server.get("/v1/whoami", key).json()["tenant"] == "t"
        assert server.get("/v1/whoami").status == 401
    finally:
        server.kill()
