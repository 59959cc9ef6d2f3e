"""What an operator does about credentials is in the audit log of the tenant, whoever reads it."""

from threadkeep import Client

from support.server import Server


def run(server: Server, *arguments: str) -> str:
    done = server.command(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_log_has_what_the_command_line_did(own_server: Server, engine: str) -> None:
    (key,) = own_server.make_keys(["acme"])
    tenant = ["--tenant", "acme"]
    minted = own_server.command("token", "mint", *tenant, "--subject", "ann-of-acme")
    token_id = minted.stderr.split(",")[0]
    run(own_server, "token", "revoke", *tenant, "--token-id", token_id)
    run(own_server, "token", "rotate-secrets", *tenant)
    run(own_server, "erase", *tenant, "--subject", "ann-of-acme")
    expected = [
        ("key_created", Client(own_server.url, api_key=key).whoami().credential),
        ("token_minted", token_id),
        ("token_revoked", token_id),
        ("secrets_rotated", ""),
        ("subject_erased", ""),
    ]
    if engine == "postgres":
        name = f"reader_{key[-12:].lower().replace('-', '_')}"
        run(own_server, "sql-role", "create", *tenant, "--name", name)
        # What did not happen is not in the log.
        for failing in (["create", "--name", name], ["drop", "--name", name + "x"]):
            assert own_server.command("sql-role", *failing, *tenant).returncode != 0
        run(own_server, "sql-role", "drop", *tenant, "--name", name)
        expected += [("role_created", name), ("role_dropped", name)]
    events = Client(own_server.url, api_key=key).audit().events
    acts = [(it.act, it.object or "") for it in reversed(events) if it.act != "refused"]
    assert acts == expected
    assert {it.actor for it in events if it.act != "refused"} == {"cli"}
    # An erasure leaves counts, and not the name.
    erased = next(it for it in events if it.act == "subject_erased")
    assert erased.details["threads"] == 0
    assert "ann-of-acme" not in run(own_server, "audit", *tenant) + repr(events)
