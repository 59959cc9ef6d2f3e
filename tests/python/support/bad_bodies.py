"""Request bodies that are wrong in one way each, beside the right one that they are made from."""

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgpack  # type: ignore[import-untyped]

from support.http import JSON, MSGPACK
from support.native import checkpoint, writes

THREAD = "thread"
COMMIT = "/v1/checkpoints/commit"
DEPTH = 10_000
Body = dict[str, Any]


@dataclass(frozen=True)
class Refusal:
    """What a case expects: the status, the code, and the field and limit where the answer names them."""

    status: int
    code: str
    field: str | None = None
    limit: int | None = None


MALFORMED = Refusal(400, "malformed_body")
INVALID = Refusal(422, "invalid")


def good_commit() -> Body:
    """A commit that the server accepts: every case below is one step away from it."""
    return {
        "thread_id": THREAD,
        "ops": [checkpoint("c1", {"a": b"\x01"}), writes("c1", "task", [b"\x02"])],
    }


def changed(change: Callable[[Body], None]) -> bytes:
    body = copy.deepcopy(good_commit())
    change(body)
    packed: bytes = msgpack.packb(body)
    return packed


def with_field(name: str, value: Any) -> bytes:
    return changed(lambda body: body.update({name: value}))


def without_field(name: str) -> bytes:
    return changed(lambda body: body.pop(name))


def with_checkpoint_field(name: str, value: Any) -> bytes:
    return changed(lambda body: body["ops"][0]["checkpoint"].update({name: value}))


def without_checkpoint_field(name: str) -> bytes:
    return changed(lambda body: body["ops"][0]["checkpoint"].pop(name))


def with_write_field(name: str, value: Any) -> bytes:
    return changed(lambda body: body["ops"][1]["writes"]["writes"][0].update({name: value}))


def invalid_utf8_in_thread_id() -> bytes:
    return with_field("thread_id", "XXXX").replace(b"XXXX", b"\xff\xfe\xff\xfe")


def deep_json(depth: int = DEPTH) -> bytes:
    return b"[" * depth + b"]" * depth


def deep_object(depth: int = DEPTH) -> bytes:
    return b'{"a":' * depth + b"1" + b"}" * depth


def json_commit_with_skeleton(skeleton: bytes) -> bytes:
    """A commit in JSON whose skeleton stands in place."""
    op = {"checkpoint_id": "c1", "skeleton": "HERE", "metadata": {}, "values": []}
    text = json.dumps({"thread_id": THREAD, "ops": [{"checkpoint": op}]}).encode()
    return text.replace(b'"HERE"', skeleton)


# name: (media type, body, what must be answered)
COMMITS: dict[str, tuple[str, bytes, Refusal]] = {
    "empty body": (MSGPACK, b"", MALFORMED),
    "truncated msgpack": (MSGPACK, msgpack.packb(good_commit())[:-3], MALFORMED),
    "truncated json": (JSON, json_commit_with_skeleton(b"{}")[:-2], MALFORMED),
    "bytes after the end": (MSGPACK, msgpack.packb(good_commit()) + b"\x00", MALFORMED),
    "msgpack sent as json": (JSON, msgpack.packb(good_commit()), MALFORMED),
    "reserved msgpack byte": (MSGPACK, b"\xc1", MALFORMED),
    "length that lies": (MSGPACK, b"\xdf\xff\xff\xff\xff", MALFORMED),
    "wrong utf-8 in msgpack": (MSGPACK, invalid_utf8_in_thread_id(), MALFORMED),
    "wrong utf-8 in json": (JSON, b'{"thread_id": "\xff\xfe", "ops": []}', MALFORMED),
    "lone surrogate in an id": (
        JSON,
        json_commit_with_skeleton(b"{}").replace(b'"thread"', b'"\\ud800"'),
        MALFORMED,
    ),
    "a list instead of a map": (MSGPACK, msgpack.packb([1, 2]), INVALID),
    "a number as thread id": (MSGPACK, with_field("thread_id", 7), INVALID),
    "null as thread id": (MSGPACK, with_field("thread_id", None), INVALID),
    "text as ops": (MSGPACK, with_field("ops", "text"), INVALID),
    "text as fence": (MSGPACK, with_field("fence", "1"), INVALID),
    "text as data": (MSGPACK, with_write_field("data", 5), INVALID),
    "text as idx": (MSGPACK, with_write_field("idx", "0"), INVALID),
    "idx beyond 64 bits": (MSGPACK, with_write_field("idx", 2**64 - 1), INVALID),
    "missing thread id": (MSGPACK, without_field("thread_id"), INVALID),
    "missing ops": (MSGPACK, without_field("ops"), INVALID),
    "missing skeleton": (MSGPACK, without_checkpoint_field("skeleton"), INVALID),
    "missing checkpoint id": (MSGPACK, without_checkpoint_field("checkpoint_id"), INVALID),
    "unknown field": (MSGPACK, with_field("surprise", 1), INVALID),
    "unknown field of a checkpoint": (MSGPACK, with_checkpoint_field("surprise", 1), INVALID),
    "no ops": (MSGPACK, with_field("ops", []), INVALID),
    "too many ops": (
        MSGPACK,
        with_field("ops", good_commit()["ops"][:1] * 257),
        Refusal(422, "invalid", "ops", 256),
    ),
    "an op that is two": (
        MSGPACK,
        changed(lambda body: body["ops"][0].update(body["ops"][1])),
        INVALID,
    ),
    "an op that is none": (MSGPACK, with_field("ops", [{}]), INVALID),
    "empty thread id": (MSGPACK, with_field("thread_id", ""), Refusal(422, "invalid", "thread_id")),
    "thread id too long": (
        MSGPACK,
        with_field("thread_id", "x" * 513),
        Refusal(422, "invalid", "thread_id", 512),
    ),
    "thread id too long in bytes": (
        MSGPACK,
        with_field("thread_id", "ü" * 257),
        Refusal(422, "invalid", "thread_id", 512),
    ),
    "checkpoint id too long": (
        MSGPACK,
        with_checkpoint_field("checkpoint_id", "x" * 257),
        Refusal(422, "invalid", "checkpoint_id", 256),
    ),
    "namespace too long": (
        MSGPACK,
        with_checkpoint_field("checkpoint_ns", "x" * 513),
        Refusal(422, "invalid", "checkpoint_ns", 512),
    ),
    "channel too long": (
        MSGPACK,
        with_write_field("channel", "x" * 513),
        Refusal(422, "invalid", "channel", 512),
    ),
    "writer too long": (
        MSGPACK,
        with_field("writer", "x" * 65),
        Refusal(422, "invalid", "writer", 64),
    ),
    "NUL in an id": (
        MSGPACK,
        with_field("thread_id", "a\0b"),
        Refusal(422, "invalid", "thread_id"),
    ),
    "skeleton that is no json": (MSGPACK, with_checkpoint_field("skeleton", b"{nope"), INVALID),
    "skeleton that is a list": (MSGPACK, with_checkpoint_field("skeleton", b"[]"), INVALID),
    "skeleton with wrong utf-8": (
        MSGPACK,
        with_checkpoint_field("skeleton", b'{"a": "\xff"}'),
        MALFORMED,
    ),
    "metadata that is a number": (MSGPACK, with_checkpoint_field("metadata", b"1"), INVALID),
    "skeleton nested too deep": (
        MSGPACK,
        with_checkpoint_field("skeleton", deep_object()),
        INVALID,
    ),
    "metadata nested too deep": (
        MSGPACK,
        with_checkpoint_field("metadata", deep_object()),
        INVALID,
    ),
    "json skeleton nested too deep": (JSON, json_commit_with_skeleton(deep_object()), INVALID),
    "msgpack nested too deep": (MSGPACK, b"\x91" * DEPTH + b"\xc0", INVALID),
    "json nested too deep": (JSON, deep_json(), INVALID),
    "data that is no base64": (
        JSON,
        json_commit_with_skeleton(b"{}").replace(
            b'"values": []', b'"values": [{"channel": "a", "version": 1, "tag": "t", "data": "*"}]'
        ),
        INVALID,
    ),
}
