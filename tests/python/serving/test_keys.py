"""Keys and links to the console by the real program: from the command line and over HTTP, with one outcome."""

import re

import pytest
from threadkeep import AsyncClient, Client
from threadkeep.errors import (
    InvalidError,
    KeyExpiredError,
    NotGrantedError,
    TokenExpiredError,
    UnauthorizedError,
)

from support.server import Server
from support.waiting import wait_until


def client_of(server: Server, key: str) -> Client:
    return Client(server.url, api_key=key)


def run(server: Server, *arguments: str) -> str:
    done = server.command(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_command_line_and_a_key_manage_the_same_keys(own_server: Server) -> None:
    (key,) = own_server.make_keys(["acme"])
    owner = client_of(own_server, key)
    tenant = ["--tenant", "acme"]
    by_command = run(own_server, "keys", "create", *tenant, "--name", "dashboard", "--read-only")
    reads = by_command.strip()
    assert reads.startswith("tkr_")
    made = owner.keys.create("deploy", subject="ann")
    listed = {it.key_id: it for it in owner.keys.list().keys}
    dashboard = next(it for it in listed.values() if it.name == "dashboard")
    assert (dashboard.read_only, dashboard.prefix) == (True, reads[:9])
    assert (listed[made.key_id].subject, listed[made.key_id].read_only) == ("ann", False)
    rows = [line.split("\t") for line in run(own_server, "keys", "list", *tenant).splitlines()]
    assert [row[0] for row in rows] == list(listed)
    assert [row[3:] for row in rows if row[0] == dashboard.key_id] == [
        ["active", reads[:9], "dashboard", "-", "-"]
    ]
    assert owner.keys.revoke(made.key_id) == made.key_id
    for _ in range(2):
        run(own_server, "keys", "revoke", *tenant, "--key-id", dashboard.key_id)
    for text in (reads, made.key):
        wait_until(lambda it=text: own_server.get("/v1/whoami", it).status == 401, "the revocation")
    assert all(it.revoked_at for it in owner.keys.list().keys if it.name)
    acts = [(it.act, it.actor) for it in owner.audit().events if it.object == made.key_id]
    own_id = owner.whoami().credential
    assert acts == [("key_revoked", own_id), ("key_created", own_id)]
    said = own_server.all_output()
    assert reads not in said and made.key not in said


def test_a_key_ends_and_its_last_use_is_listed(own_server: Server) -> None:
    (key,) = own_server.make_keys(["acme"])
    owner = client_of(own_server, key)
    tenant = ["--tenant", "acme"]
    lasting = run(own_server, "keys", "create", *tenant, "--name", "ci", "--ttl-seconds", "600")
    made = owner.keys.create("short", ttl_seconds=3)
    token = client_of(own_server, made.key).tokens.mint("ann")
    assert (
        token.expires_at == made.expires_at == client_of(own_server, made.key).whoami().expires_at
    )
    assert client_of(own_server, lasting.strip()).whoami().tenant == "acme"

    def rows() -> dict[str, list[str]]:
        lines = run(own_server, "keys", "list", *tenant).splitlines()
        return {row[5]: row[6:] for row in (line.split("\t") for line in lines)}

    listed = {it.name: it for it in owner.keys.list().keys}
    assert (listed["ci"].expires_at, listed["short"].expires_at) == (
        rows()["ci"][0],
        made.expires_at,
    )
    wait_until(
        lambda: own_server.get("/v1/whoami", made.key).code == "key_expired", "the end of the key"
    )
    with pytest.raises(KeyExpiredError):
        client_of(own_server, made.key).whoami()
    with pytest.raises(TokenExpiredError):
        client_of(own_server, token.token).whoami()
    # A server that stops writes what it has noted.
    own_server.stop()
    days = {name: row[1] for name, row in rows().items()}
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", days["ci"]) and days["ci"] == days["short"]
    for ttl in ("0", "-1", "315360001"):
        done = own_server.command("keys", "create", *tenant, "--ttl-seconds", ttl)
        assert done.returncode == 2 and "ttl_seconds must be from 1 to 315360000" in done.stderr


async def test_who_only_reads_a_tenant_changes_nothing(own_server: Server) -> None:
    (key,) = own_server.make_keys(["acme"])
    owner = client_of(own_server, key)
    owner.threads.create("t", title="Trip")
    key_reads = owner.keys.create(read_only=True)
    token = owner.tokens.mint(read_only=True, ttl_seconds=60)
    minted = {it.token_id: it for it in owner.tokens.list().tokens}
    assert (
        minted[token.token_id].read_only
        and minted[token.token_id].minter == owner.whoami().credential
    )
    for text in (key_reads.key, token.token):
        reader = client_of(own_server, text)
        found = reader.whoami()
        assert found.capabilities is not None and found.grants == {"tenant": ["read"]}
        assert set(map(tuple, found.capabilities.values())) == {("read",)}
        assert [it.title for it in reader.list_threads().threads] == ["Trip"]
        assert reader.audit().events and reader.usage().threads == 1
        assert len(reader.keys.list().keys) == 2
        with pytest.raises(NotGrantedError):
            reader.threads.update("t", title="other")
        with pytest.raises(NotGrantedError):
            reader.keys.create()
        with pytest.raises(NotGrantedError):
            await AsyncClient(own_server.url, api_key=text).threads.create("u")
    with pytest.raises(InvalidError) as caught:
        owner.keys.create("x" * 101)
    assert caught.value.field == "name"


@pytest.mark.parametrize("read_only", [True, False])
def test_a_link_to_the_console_has_a_token_of_the_tenant(
    own_server: Server, read_only: bool
) -> None:
    own_server.make_keys(["acme"])
    options = ["--read-only"] if read_only else []
    done = own_server.command(
        "console", "--tenant", "acme", "--ttl", "90m", "--url", "https://m.test/a/", *options
    )
    assert done.returncode == 0, done.stderr
    address, token = done.stdout.strip().split("#/login?token=")
    assert address == "https://m.test/a/console/" and done.stdout.count("\n") == 1
    assert token not in done.stderr and "tenant acme" in done.stderr
    client = client_of(own_server, token)
    who = client.whoami()
    assert who.credential is not None and who.credential in done.stderr
    assert who.expires_at is not None and who.expires_at in done.stderr
    if read_only:
        with pytest.raises(NotGrantedError):
            client.threads.create("t")
    else:
        client.threads.create("t")
    with pytest.raises(NotGrantedError):
        client.keys.create()
    run(own_server, "token", "revoke", "--tenant", "acme", "--token-id", who.credential)
    wait_until(lambda: own_server.get("/v1/whoami", token).status == 401, "the revocation")
    with pytest.raises(UnauthorizedError):
        client.whoami()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--tenant", "acme", "--ttl", "25h"], "ttl_seconds"),
        (["--tenant", "acme", "--ttl", "8"], "--ttl"),
        (["--tenant", "acme", "--url", "memory.test"], "--url"),
        (["--tenant", "Acme"], "tenant"),
        (["--tenant", "nobodys"], "nobodys"),
    ],
)
def test_the_command_names_what_is_wrong(
    own_server: Server, arguments: list[str], named: str
) -> None:
    own_server.make_keys(["acme"])
    done = own_server.command("console", *arguments)
    assert done.returncode != 0 and named in done.stderr and done.stdout == ""
