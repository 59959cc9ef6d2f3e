"""Bad input over the wire: each kind has its typed answer, and nothing of it is stored."""

import msgpack
import pytest
import zstandard

from support.bad_bodies import COMMIT, COMMITS, DEPTH, THREAD, Refusal, deep_object, good_commit
from support.http import JSON, MSGPACK, Answer, request
from support.native import Native
from support.server import Server

PROBLEM_FIELDS = {"type", "title", "status", "detail", "code", "request_id"}


def assert_refused(answer: Answer, expected: Refusal) -> None:
    assert (answer.status, answer.code) == (expected.status, expected.code), answer.body
    problem = answer.json()
    assert problem.keys() >= PROBLEM_FIELDS
    assert problem["status"] == answer.status
    assert isinstance(problem["detail"], str)
    if expected.field is not None:
        assert problem["field"].split(".")[-1] == expected.field
    if expected.limit is not None:
        assert problem["limit"] == expected.limit


def assert_nothing_stored(native: Native) -> None:
    assert native.thread(THREAD) is None
    assert native.list() == []


def test_the_request_that_all_cases_are_made_from_is_accepted(native: Native) -> None:
    native.call(COMMIT, good_commit())

    assert native.thread(THREAD)["checkpoint_count"] == 1


@pytest.mark.parametrize("name", COMMITS)
def test_a_bad_commit_is_refused_with_its_code(server: Server, native: Native, name: str) -> None:
    media_type, body, expected = COMMITS[name]

    answer = request(server.url, "POST", COMMIT, body, key=native.key, content_type=media_type)

    assert_refused(answer, expected)
    assert_nothing_stored(native)


def test_one_bad_op_refuses_the_whole_commit(server: Server, native: Native) -> None:
    body = good_commit()
    body["ops"][1]["writes"]["task_id"] = "x" * 257

    answer = request(
        server.url, "POST", COMMIT, msgpack.packb(body), key=native.key, content_type=MSGPACK
    )

    assert_refused(answer, Refusal(422, "invalid", "task_id", 256))
    assert_nothing_stored(native)


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/v1/checkpoints/prune", {"thread_ids": [THREAD], "strategy": "all"}, "strategy"),
        ("/v1/checkpoints/prune", {"thread_ids": THREAD, "strategy": "delete"}, "thread_ids"),
        ("/v1/checkpoints/list", {"limit": -1}, "limit"),
        ("/v1/checkpoints/list", {"limit": "ten"}, "limit"),
        ("/v1/checkpoints/list", {"cursor": "made up"}, "cursor"),
        ("/v1/checkpoints/list", {"filter": b"[]"}, "filter"),
        ("/v1/checkpoints/list", {"filter": deep_object(DEPTH)}, "filter"),
        ("/v1/checkpoints/get", {"checkpoint_ns": ""}, None),
        ("/v1/checkpoints/history", {"thread_id": THREAD, "channels": [1]}, None),
        ("/v1/checkpoints/delete-for-runs", {"run_ids": "one"}, None),
        ("/v1/threads/copy", {"source_thread_id": THREAD}, None),
        ("/v1/threads/copy", {"source_thread_id": THREAD, "target_thread_id": ""}, None),
        ("/v1/threads/delete", {"thread_id": None}, None),
        ("/v1/threads/lease/acquire", {"thread_id": "t", "holder": "h", "ttl_seconds": -1}, None),
        ("/v1/threads/lease/acquire", {"thread_id": "t", "holder": "h", "ttl_seconds": 9999}, None),
    ],
)
def test_a_bad_argument_of_another_call_is_invalid(
    native: Native, path: str, body: dict, field: str | None
) -> None:
    native.call(COMMIT, good_commit())

    answer = request(
        native.url, "POST", path, msgpack.packb(body), key=native.key, content_type=MSGPACK
    )

    # Which field it was is only promised where the value was read and found wrong.
    named = field if field in ("limit", "strategy", "cursor", "filter") else None
    typed = isinstance(body.get("limit"), str)
    assert_refused(answer, Refusal(422, "invalid", None if typed else named))
    assert native.thread(THREAD)["checkpoint_count"] == 1


@pytest.mark.parametrize(
    "media_type", [None, "text/plain", "application/x-www-form-urlencoded", "application/xml", "x"]
)
def test_an_unknown_media_type_is_refused(native: Native, media_type: str | None) -> None:
    body = msgpack.packb(good_commit())

    answer = request(native.url, "POST", COMMIT, body, key=native.key, content_type=media_type)

    assert_refused(answer, Refusal(415, "unsupported_media_type"))
    assert_nothing_stored(native)


def test_an_answer_form_that_cannot_be_given_is_refused(native: Native) -> None:
    answer = request(
        native.url,
        "POST",
        COMMIT,
        msgpack.packb(good_commit()),
        key=native.key,
        content_type=MSGPACK,
        headers={"Accept": "image/png"},
    )

    assert_refused(answer, Refusal(406, "not_acceptable"))
    assert_nothing_stored(native)


@pytest.mark.parametrize("budget", ["0", "-5", "30001", "soon", ""])
def test_a_time_budget_out_of_range_is_refused(native: Native, budget: str) -> None:
    answer = request(
        native.url,
        "POST",
        COMMIT,
        msgpack.packb(good_commit()),
        key=native.key,
        content_type=MSGPACK,
        headers={"Threadkeep-Budget-Ms": budget},
    )

    assert_refused(answer, Refusal(422, "invalid"))
    assert_nothing_stored(native)


def test_a_body_that_does_not_decompress_is_malformed(native: Native) -> None:
    answer = request(
        native.url,
        "POST",
        COMMIT,
        b"this is not zstd",
        key=native.key,
        content_type=MSGPACK,
        headers={"Content-Encoding": "zstd"},
    )

    assert_refused(answer, Refusal(400, "malformed_body"))
    assert_nothing_stored(native)


def test_a_small_body_that_decompresses_beyond_the_limit_is_too_large(
    server: Server, native: Native
) -> None:
    limit = server.get("/v1/limits", native.key).json()["body_bytes_max"]
    bomb = zstandard.compress(bytes(limit + (1 << 20)))

    answer = request(
        native.url,
        "POST",
        COMMIT,
        bomb,
        key=native.key,
        content_type=MSGPACK,
        headers={"Content-Encoding": "zstd"},
    )

    assert len(bomb) < 100_000
    assert_refused(answer, Refusal(413, "too_large", limit=limit))
    assert_nothing_stored(native)


def test_a_declared_length_over_the_limit_is_refused_before_the_body_is_sent(
    server: Server, native: Native
) -> None:
    limit = server.get("/v1/limits", native.key).json()["body_bytes_max"]

    answer = request(
        native.url,
        "POST",
        COMMIT,
        key=native.key,
        content_type=MSGPACK,
        headers={"Content-Length": str(limit + 1), "Expect": "100-continue"},
    )

    assert_refused(answer, Refusal(413, "too_large", limit=limit))
    assert_nothing_stored(native)


def test_a_value_over_its_limit_is_too_large(server: Server, native: Native) -> None:
    limit = server.get("/v1/limits", native.key).json()["value_inline_bytes_max"]
    body = good_commit()
    body["ops"][0]["checkpoint"]["values"][0]["data"] = bytes(limit + 1)

    answer = request(
        native.url, "POST", COMMIT, msgpack.packb(body), key=native.key, content_type=MSGPACK
    )

    assert_refused(answer, Refusal(413, "too_large", limit=limit))
    assert_nothing_stored(native)


def test_an_unknown_route_is_not_found(native: Native) -> None:
    answer = request(native.url, "POST", "/v1/nothing", b"{}", key=native.key, content_type=JSON)

    assert_refused(answer, Refusal(404, "not_found"))


def test_a_wrong_method_is_named(native: Native) -> None:
    answer = request(native.url, "GET", COMMIT, key=native.key)

    assert_refused(answer, Refusal(405, "method_not_allowed"))


@pytest.mark.parametrize("key", [None, "tk_unknown", "nonsense", "tk_" + "0" * 64])
def test_a_missing_or_unknown_key_is_unauthorized(native: Native, key: str | None) -> None:
    native.call(COMMIT, good_commit())  # the server has a key, so it asks for one

    answer = request(
        native.url,
        "POST",
        "/v1/threads/delete",
        msgpack.packb({"thread_id": THREAD}),
        key=key,
        content_type=MSGPACK,
    )

    assert_refused(answer, Refusal(401, "unauthorized"))
    assert native.thread(THREAD)["checkpoint_count"] == 1


def test_another_tenant_sees_and_deletes_nothing(server: Server, native: Native) -> None:
    native.call(COMMIT, good_commit())
    stranger = Native(server.url, server.new_key())

    assert stranger.thread(THREAD) is None
    assert stranger.list() == []
    assert "checkpoint" not in stranger.get(THREAD)
    stranger.call("/v1/threads/delete", {"thread_id": THREAD})

    assert native.thread(THREAD)["checkpoint_count"] == 1
