"""The first key of an operator, which a server makes from a variable, and what is then done over HTTP alone."""

import base64
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from threadkeep import Client, ThreadkeepError
from threadkeep.accounts import Quota
from threadkeep.errors import NotFoundError

from support import settings
from support.server import Place, Server, clean_environment

VARIABLE = "THREADKEEP_BOOTSTRAP_KEY"


def operator_key(end: str = "") -> str:
    return f"tko_{end}" + base64.urlsafe_b64encode(os.urandom(32)).decode().rstrip("=")


@pytest.fixture
def place() -> Iterator[Place]:
    place = Place()
    yield place
    place.remove()


def started(place: Place, **environment: str) -> Server:
    return Server(place, environment=environment).start()


def test_a_server_that_a_program_sets_up_is_administered_over_http(
    place: Place, tmp_path: Path
) -> None:
    key = operator_key()
    file = tmp_path / "operator"
    file.write_text(key + "\n")
    server = started(place, THREADKEEP_BOOTSTRAP_KEY_FILE=str(file))
    try:
        with Client(server.url, api_key=key) as operator:
            assert operator.whoami().operator
            assert operator.operator.tenants().tenants == []
            with pytest.raises(NotFoundError):
                operator.operator.quota("acme")
            made = operator.operator.create_key("acme", name="first")
            with Client(server.url, api_key=made.key) as tenant:
                tenant.files.write(("notes",), "/one.md", "text")
                assert not tenant.whoami().operator
                with pytest.raises(ThreadkeepError) as refused:
                    tenant.operator.tenants()
                assert refused.value.code == "not_granted"
            with pytest.raises(ThreadkeepError) as refused:
                operator.files.read(("notes",), "/one.md")
            assert refused.value.code == "not_granted"
            (only,) = operator.operator.tenants().tenants
            assert (only.tenant, only.items) == ("acme", 1)
            assert operator.operator.set_quota("acme", Quota(items_max=5)).quota.items_max == 5
            assert operator.operator.rotate_secrets("acme") == 0
            assert [it.name for it in operator.operator.list_keys("acme").keys] == ["first"]
            assert [it.name for it in operator.operator.list_keys().keys] == ["bootstrap"]
            assert operator.operator.revoke_key(made.key_id, "acme") == made.key_id
            # Another one takes the place of the one that lies in a file.
            second = operator.operator.create_key(name="second")
            with Client(server.url, api_key=second.key) as other:
                (bootstrap,) = [it for it in other.operator.list_keys().keys if not it.revoked_at][
                    :1
                ]
                other.operator.revoke_key(bootstrap.key_id)
        assert key not in server.all_output()
        # A restart does not bring back what was revoked.
        server.kill()
        server.start()
        with Client(server.url, api_key=key) as revoked, pytest.raises(ThreadkeepError) as refused:
            revoked.whoami()
        assert refused.value.status == 401
    finally:
        server.kill()


def test_a_server_with_an_operator_makes_no_other(place: Place) -> None:
    first, second = operator_key(), operator_key()
    server = started(place, THREADKEEP_BOOTSTRAP_KEY=first)
    server.kill()
    server = started(place, THREADKEEP_BOOTSTRAP_KEY=second)
    try:
        with Client(server.url, api_key=first) as operator:
            assert len(operator.operator.list_keys().keys) == 1
        with Client(server.url, api_key=second) as nobody, pytest.raises(ThreadkeepError):
            nobody.whoami()
        assert "makes no key: operators have one" in server.all_output()
    finally:
        server.kill()


@pytest.mark.parametrize(
    "text",
    ["a-word-that-is-no-key", "tk_" + "A" * 43, operator_key("1000000000_"), "tko_short"],
    ids=["a word", "a key of a tenant", "a key that has ended", "too short"],
)
def test_a_text_that_is_no_key_of_an_operator_ends_the_start(place: Place, text: str) -> None:
    done = subprocess.run(
        [settings.BINARY, "serve", "--listen", "127.0.0.1:0", *place.arguments()],
        capture_output=True,
        text=True,
        env=clean_environment() | {VARIABLE: text},
        timeout=settings.PATIENCE_SECONDS,
    )

    assert done.returncode == 2, done.stderr
    assert VARIABLE in done.stderr
    assert text not in done.stderr + done.stdout


def test_the_command_line_makes_lists_and_revokes_operators(place: Place) -> None:
    server = Server(place)

    def run(*words: str) -> str:
        done = server.command(*words)
        assert done.returncode == 0, done.stderr
        return str(done.stdout)

    key = run("keys", "create", "--operator", "--name", "platform").strip()
    assert key.startswith("tko_")
    (line,) = run("keys", "list", "--operator").splitlines()
    key_id = line.split("\t")[0]
    assert "platform" in line
    assert run("tenants") == ""
    run("keys", "revoke", "--operator", "--key-id", key_id)
    acts = [line.split("\t")[1] for line in run("audit", "--operators").splitlines()]
    assert sorted(acts) == ["key_created", "key_revoked"]
    neither = server.command("keys", "list")
    assert neither.returncode == 2
