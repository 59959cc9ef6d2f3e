"""Tokens by the real program: from the command line and by the clients, and issuers from a file."""

import base64
import dataclasses
import hashlib
import hmac
import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint
from threadkeep import AsyncClient, Client, label
from threadkeep.errors import (
    InvalidError,
    NotFoundError,
    NotGrantedError,
    TokenExpiredError,
    TokenRevokedError,
    UnauthorizedError,
)
from threadkeep.langgraph import ThreadkeepSaver

from support import settings
from support.server import Place, Server, clean_environment
from support.waiting import wait_until

SECRET = "0123456789abcdef0123456789abcdef"


def client_of(server: Server, key: str) -> Client:
    return Client(server.url, api_key=key)


def config(thread: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}


def put(server: Server, token: str, thread: str) -> None:
    saver = ThreadkeepSaver(server.url, api_key=token)
    saver.put(config(thread), empty_checkpoint(), {"source": "loop", "step": 1}, {})


def test_a_token_for_a_sandbox_reaches_its_thread_and_ends(own_server: Server) -> None:
    owner = client_of(own_server, own_server.new_key())
    made = owner.tokens.mint(
        grants={"threads": [{"id": "ann-1", "actions": ["read", "append"]}]}, ttl_seconds=10
    )
    made_at = time.monotonic()
    put(own_server, made.token, "ann-1")
    with pytest.raises(NotGrantedError):
        put(own_server, made.token, "bob-1")
    sandbox = client_of(own_server, made.token)
    with pytest.raises(NotGrantedError):
        sandbox.tokens.mint("bob")
    with pytest.raises(NotGrantedError):
        sandbox.tokens.narrow(grants={"threads": [{"prefix": "ann:", "actions": ["read"]}]})
    who = sandbox.whoami()
    assert (who.credential, who.expires_at) == (made.token_id, made.expires_at)
    assert who.grants == made.grants
    time.sleep(max(0.0, 10.1 - (time.monotonic() - made_at)))
    with pytest.raises(TokenExpiredError) as caught:
        put(own_server, made.token, "ann-1")
    shown = "the token expired at " + made.expires_at + "; ask whoever made it for a new one"
    assert caught.value.detail == shown


async def test_a_narrowed_token_dies_with_its_parent(own_server: Server) -> None:
    owner = AsyncClient(own_server.url, api_key=own_server.new_key())
    parent = await owner.tokens.mint("ann@acme.test")
    holder = AsyncClient(own_server.url, api_key=parent.token)
    assert (await holder.whoami()).label == label("ann@acme.test")
    child = await holder.tokens.narrow(ttl_seconds=60)
    below = AsyncClient(own_server.url, api_key=child.token)
    assert (await below.whoami()).subject == "ann@acme.test"
    with pytest.raises(NotFoundError):
        await below.tokens.revoke(token=parent.token)
    assert await holder.tokens.revoke() == parent.token_id
    for dead in (holder, below):
        with pytest.raises(TokenRevokedError):
            await dead.whoami()


def test_the_command_line_makes_and_revokes_tokens(own_server: Server) -> None:
    made = own_server.command("quotas", "set", "--tenant", "acme", "--threads-max", "9")
    assert made.returncode == 0, made.stderr
    grants = '{"threads":[{"prefix":"acme:","actions":["read","write"]}]}'
    minted = own_server.command("token", "mint", "--tenant", "acme", "--grants", grants)
    token = minted.stdout.removesuffix("\n")
    assert token.startswith("tks_") and "\n" not in token
    token_id = minted.stderr.split(",")[0]
    # At once, although the running server never met this tenant.
    who = client_of(own_server, token).whoami()
    assert (who.tenant, who.credential, who.grants) == ("acme", token_id, json.loads(grants))
    described = own_server.command(
        "token",
        "mint",
        "--tenant",
        "acme",
        "--subject",
        "ann",
        "--ttl-seconds",
        "60",
        "--format",
        "json",
    )
    other = json.loads(described.stdout)
    assert (other["subject"], described.stderr) == ("ann", "")
    revoked = own_server.command("token", "revoke", "--tenant", "acme", "--token-id", token_id)
    assert (revoked.returncode, revoked.stdout) == (0, f"revoked {token_id}\n")
    wait_until(lambda: own_server.get("/v1/whoami", token).status == 401, "the revocation")
    with pytest.raises(TokenRevokedError):
        client_of(own_server, token).whoami()
    client_of(own_server, other["token"]).whoami()
    assert own_server.command("token", "rotate-secrets", "--tenant", "acme").returncode == 0
    wait_until(lambda: own_server.get("/v1/whoami", other["token"]).status == 401, "new secrets")
    with pytest.raises(UnauthorizedError) as caught:
        client_of(own_server, other["token"]).whoami()
    assert caught.value.code == "unauthorized"
    assert token not in own_server.all_output() and other["token"] not in own_server.all_output()


async def test_who_has_a_key_or_token_learns_more_of_the_server(own_server: Server) -> None:
    local = Client(own_server.url).info()
    assert local.keyless and local.engine in ("postgres", "sqlite") and local.features is not None
    key = own_server.new_key()
    wait_until(lambda: not Client(own_server.url).info().keyless, "the key")
    nobody = Client(own_server.url).info()
    assert (nobody.name, nobody.version) == ("threadkeep", local.version)
    assert nobody.engine is nobody.started_at is nobody.features is None
    token = client_of(own_server, key).tokens.mint("ann").token
    for caller in (key, token):
        told = await AsyncClient(own_server.url, api_key=caller).info()
        assert told == dataclasses.replace(local, keyless=False)
    with pytest.raises(UnauthorizedError):
        client_of(own_server, "tk_nobody").info()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--tenant", "Acme", "--subject", "a"], "tenant"),
        (["--tenant", "acme"], "grants"),
        (["--tenant", "acme", "--subject", ""], "subject"),
        (["--tenant", "acme", "--subject", "a", "--ttl-seconds", "86401"], "ttl_seconds"),
        (["--tenant", "acme", "--grants", "{"], "--grants"),
        (
            ["--tenant", "acme", "--grants", '{"threads":[{"prefix":"acme","actions":["read"]}]}'],
            "[0]",
        ),
    ],
)
def test_the_command_line_names_what_is_wrong(
    own_server: Server, arguments: list[str], named: str
) -> None:
    done = own_server.command("token", "mint", *arguments)
    assert done.returncode != 0 and named in done.stderr and done.stdout == ""


def test_a_key_that_is_revoked_takes_its_tokens_along(own_server: Server) -> None:
    key = own_server.new_key()
    client = client_of(own_server, key)
    who = client.whoami()
    token = client.tokens.mint("ann").token
    done = own_server.command(
        "keys", "revoke", "--tenant", who.tenant, "--key-id", str(who.credential)
    )
    assert done.returncode == 0
    wait_until(lambda: own_server.get("/v1/whoami", token).status == 401, "the revocation")
    with pytest.raises(TokenRevokedError):
        client_of(own_server, token).whoami()


def encoded(part: Any) -> str:
    text = json.dumps(part).encode()
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def jwt(**claims: Any) -> str:
    all_claims = {"iss": "https://login.test", "aud": "threadkeep", "sub": "ann", **claims}
    message = f"{encoded({'alg': 'HS256', 'typ': 'JWT'})}.{encoded(all_claims)}"
    mac = hmac.new(SECRET.encode(), message.encode(), hashlib.sha256).digest()
    return f"{message}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"


def issuers_file(folder: Path, **changes: Any) -> Path:
    entry = {
        "name": "login",
        "tenant": "acme",
        "issuer": "https://login.test",
        "audience": "threadkeep",
        "algorithm": "HS256",
        "secret_env": "LOGIN_SECRET",
        **changes,
    }
    path = folder / "issuers.json"
    path.write_text(json.dumps({"issuers": [entry]}))
    return path


def test_an_issuer_from_a_file_opens_its_tenant(
    start_server: Callable[..., Server], tmp_path: Path
) -> None:
    options = ["--issuers", str(issuers_file(tmp_path))]
    server = start_server(options=options, environment={"LOGIN_SECRET": SECRET})
    now = int(time.time())
    client = client_of(server, jwt(exp=now + 60))
    who = client.whoami()
    assert (who.tenant, who.subject, who.credential) == ("acme", "ann", "issuer:login:ann")
    assert client_of(server, client.tokens.narrow().token).whoami().subject == "ann"
    with pytest.raises(TokenExpiredError):
        client_of(server, jwt(exp=now - 1)).whoami()
    for token in (jwt(), jwt(exp=now + 60, aud="other"), jwt(exp=now + 60, nbf=now + 600)):
        with pytest.raises(UnauthorizedError) as caught:
            client_of(server, token).whoami()
        assert caught.value.code == "unauthorized"
    assert server.get("/v1/whoami").status == 401
    assert SECRET not in server.all_output()


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"algorithm": "none"}, "issuers[0].algorithm"),
        ({"secret_env": "MISSING"}, "issuers[0].secret_env"),
        ({"tenant": "A"}, "issuers[0].tenant"),
        ({"extra": 1}, "issuers[0].extra"),
    ],
)
def test_a_bad_configuration_refuses_to_start(
    tmp_path: Path, changes: dict[str, Any], named: str
) -> None:
    place = Place()
    path = issuers_file(tmp_path, **changes)
    done = subprocess.run(
        [
            settings.BINARY,
            "serve",
            "--listen",
            "127.0.0.1:0",
            *place.arguments(),
            "--issuers",
            path,
        ],
        capture_output=True,
        text=True,
        env=clean_environment() | {"LOGIN_SECRET": SECRET},
        timeout=settings.PATIENCE_SECONDS,
    )
    place.remove()
    assert done.returncode != 0 and named in done.stderr and SECRET not in done.stderr


def test_a_client_that_is_wrong_learns_the_field(own_server: Server) -> None:
    client = client_of(own_server, own_server.new_key())
    with pytest.raises(InvalidError) as caught:
        client.tokens.mint("ann", ttl_seconds=90_000)
    assert (caught.value.field, caught.value.limit) == ("ttl_seconds", 86_400)
