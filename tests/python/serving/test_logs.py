"""The log of a whole run names requests, and holds no value, no key, no token and nothing of a thread's content."""

import json
from collections.abc import Callable

import msgpack
import pytest

from support.http import JSON, MSGPACK, request
from support.native import Native, Refused, checkpoint, writes
from support.server import Server

# The most talkative setting is the hardest one to keep silent about content.
EVERYTHING = ["--log-filter", "trace"]
MARKS = {
    "value": "mark-of-a-value",
    "write": "mark-of-a-write",
    "channel": "mark-of-a-channel",
    "metadata": "mark-of-metadata",
    "skeleton": "mark-of-a-skeleton",
    "malformed": "mark-of-a-malformed-body",
    "unknown field": "mark-of-an-unknown-field",
    "unknown key": "tk_mark_of_an_unknown_key",
    "query": "mark-of-a-query",
}


def use_everything(native: Native) -> None:
    """Calls that succeed and calls that fail, with the marks in all that a caller may send."""
    op = checkpoint("c1", {MARKS["channel"]: MARKS["value"].encode()})
    op["checkpoint"]["metadata"] = json.dumps({"text": MARKS["metadata"]}).encode()
    skeleton = {"v": 4, "id": "c1", "note": MARKS["skeleton"], "channel_versions": {}}
    skeleton["channel_versions"] = {MARKS["channel"]: 1}
    op["checkpoint"]["skeleton"] = json.dumps(skeleton).encode()
    native.commit("thread", op, writes("c1", "task", [MARKS["write"].encode()]))
    native.get("thread")
    native.list(filter=json.dumps({"text": MARKS["metadata"]}).encode())
    native.call("/v1/threads/copy", {"source_thread_id": "thread", "target_thread_id": "copy"})
    with pytest.raises(Refused):
        native.call("/v1/threads/get", {MARKS["unknown field"]: MARKS["unknown field"]})
    with pytest.raises(Refused):
        native.commit("thread", {"checkpoint": {"skeleton": MARKS["skeleton"].encode()}})
    for body, media_type in (
        (MARKS["malformed"].encode(), JSON),
        (msgpack.packb(MARKS["malformed"]), MSGPACK),
    ):
        path = "/v1/checkpoints/commit"
        answer = request(native.url, "POST", path, body, key=native.key, content_type=media_type)
        assert answer.status in (400, 422)
    assert request(native.url, "GET", "/v1/whoami", key=MARKS["unknown key"]).status == 401
    request(native.url, "GET", f"/v1/threads?prefix={MARKS['query']}", key=native.key)
    native.call("/v1/threads/delete", {"thread_id": "thread"})


def use_tokens(server: Server, key: str) -> dict[str, str]:
    """A token, one that is revoked, one in an address where it does not belong, and a signed address."""
    minted = [server.post("/v1/tokens", {"subject": "ann"}, key).json()["token"] for _ in range(3)]
    token, revoked, misplaced = minted
    assert server.get("/v1/whoami", token).status == 200
    assert server.post("/v1/tokens/revoke", {"token": revoked}, key).status == 200
    assert server.get("/v1/whoami", revoked).status == 401
    assert server.get(f"/v1/whoami?token={misplaced}").status == 401
    file = "/v1/files/content?ns=ann&ns=workspace&path=/a"
    assert request(server.url, "PUT", file, b"a", key=token).status == 200
    address = server.get("/api/storage/url?path=/a", token).json()["url"]
    assert server.get(address).status == 200
    signed = address.partition("u=")[2]
    return {
        "token": token,
        "revoked token": revoked,
        "token in an address": misplaced,
        "signed address": signed,
    }


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_the_log_of_a_run_holds_no_content_and_no_credential(
    start_server: Callable[..., Server], log_format: str
) -> None:
    server = start_server(options=["--log-format", log_format, *EVERYTHING])
    native = Native(server.url, server.new_key())
    assert native.key is not None

    use_everything(native)
    credentials = {"key": native.key} | use_tokens(server, native.key)
    assert server.stop() == 0

    output = server.all_output()
    assert [what for what, mark in MARKS.items() if mark in output] == []
    assert [what for what, text in credentials.items() if text in output] == []


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_the_log_lets_a_request_be_found_by_its_id(
    start_server: Callable[..., Server], log_format: str
) -> None:
    server = start_server(options=["--log-format", log_format, *EVERYTHING])

    answer = request(server.url, "POST", "/v1/threads/get", b"{nonsense", content_type=JSON)
    assert server.stop() == 0

    assert answer.status == 400
    lines = [
        line for line in server.all_output().splitlines() if answer.json()["request_id"] in line
    ]
    assert lines
    if log_format == "json":
        assert all(isinstance(json.loads(line), dict) for line in lines)
