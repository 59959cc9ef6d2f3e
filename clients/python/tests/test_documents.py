"""Values of items as text: the shared examples of all languages, and what hypothesis makes up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkeep.errors import ProtocolError, UnserializableError
from threadkeep.langgraph.documents import document_of, document_text, filter_text

VECTORS = json.loads(
    (Path(__file__).parents[3] / "tests" / "vectors" / "documents.json").read_text()
)
NAMES = ["a", "b", "\0", "\ud800", "$threadkeep:bytes", "$$threadkeep:bytes", "$threadkeep:", "é"]
VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        st.sampled_from(["", "AQID", "$threadkeep:bytes", "\ud800", "é", "threadkeep:"]),
        st.binary(max_size=9),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
    ),
    max_leaves=9,
)


def shown(value: Any) -> Any:
    """A value as the vectors describe it."""
    if isinstance(value, bytes):
        return ["bytes", value.hex()]
    if isinstance(value, str):
        return ["text", value]
    if isinstance(value, list):
        return ["list", [shown(entry) for entry in value]]
    if isinstance(value, dict):
        return ["object", [[name, shown(entry)] for name, entry in value.items()]]
    return ["number", json.dumps(value)]


def made(description: Any) -> Any:
    """The other way round."""
    kind, content = description
    if kind == "object":
        return {name: made(entry) for name, entry in content}
    if kind == "list":
        return [made(entry) for entry in content]
    if kind == "bytes":
        return bytes.fromhex(content)
    return json.loads(content) if kind == "number" else content


@pytest.mark.parametrize("vector", VECTORS, ids=lambda it: it["why"])
def test_the_shared_examples_hold(vector: dict[str, Any]) -> None:
    text = vector["text"].encode()
    assert shown(document_of(text)) == vector["shown"]
    written = document_text(made(vector["shown"]), "value")
    assert shown(document_of(written)) == vector["shown"]
    assert (written == text) is not vector.get("only_read", False) or b"\\ud800" in text


@given(st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=3))
def test_what_was_written_is_read(value: dict[str, Any]) -> None:
    found = document_of(document_text(value, "value"))
    assert repr(found) == repr(value)


def test_any_form_of_bytes_is_written_and_nothing_else() -> None:
    whole = document_text({"a": b"\0\xff"}, "value")
    assert document_text({"a": bytearray(b"\0\xff")}, "value") == whole
    assert document_text({"a": memoryview(b"\0\xff")}, "value") == whole
    deep: Any = {"$threadkeep:bytes": 1}
    for _ in range(100_000):
        deep = [deep]
    for bad in ({"a": {1, 2}}, {"a": object()}, {"a": float("nan")}, {"a": deep}):
        with pytest.raises(UnserializableError):
            document_text(bad, "value")
    with pytest.raises(UnserializableError):
        filter_text({"a": deep})
    for answer in (b"[]", b"5", b"{", b"\xff"):
        with pytest.raises(ProtocolError):
            document_of(answer)


@pytest.mark.parametrize(
    ("conditions", "text"),
    [
        (None, None),
        ({}, None),
        ({"a": b"\1\2\3"}, b'{"a":{"$eq":{"$threadkeep:bytes":"AQID"}}}'),
        ({"a": {"$ne": b""}}, b'{"a":{"$ne":{"$threadkeep:bytes":""}}}'),
        ({"a": {"b": b""}}, b'{"a":{"b":{"$eq":{"$threadkeep:bytes":""}}}}'),
        ({"a": [b""]}, b'{"a":[{"$threadkeep:bytes":""}]}'),
        (
            {"a": {"$in": [{"$threadkeep:bytes": ""}]}},
            b'{"a":{"$in":[{"$$threadkeep:bytes":""}]}}',
        ),
        (
            {"$or": [{"a": b""}, {"$not": {"a": {"$not": {"$eq": b""}}}}]},
            b'{"$or":[{"a":{"$eq":{"$threadkeep:bytes":""}}},'
            b'{"$not":{"a":{"$not":{"$eq":{"$threadkeep:bytes":""}}}}}]}',
        ),
        ({"$or": "no list"}, b'{"$or":"no list"}'),
    ],
)
def test_filters_hold_bytes_where_a_value_can_stand(conditions: Any, text: bytes | None) -> None:
    assert filter_text(conditions) == text
