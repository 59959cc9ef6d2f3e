"""Tests which classes come back out of stored bytes, and their instances."""

from __future__ import annotations

import copy
import dataclasses
import gc
import json
import multiprocessing
import sys
import threading
import uuid
from collections import deque
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from langchain_core.agents import AgentAction, AgentFinish
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Command, Interrupt, Overwrite, Send
from pydantic import BaseModel, SecretStr

import state_classes as classes
from fake_server import FakeServer
from forged import extension, mapping, origins
from support import checkpoint, config, metadata
from threadkeep.errors import CodecError
from threadkeep.langgraph import ThreadkeepSaver, ThreadkeepSerializer, serializer
from threadkeep.langgraph import classes as class_module
from threadkeep.langgraph.classes import ClassOrigins

__all__ = ["origins"]

# Encodes as every LangGraph saver does, and notes no class as put by this process.
LANGGRAPH = JsonPlusSerializer()
LEAF = classes.Leaf(value=8)
EVERYTHING = classes.Everything(
    name="n",
    color=classes.Color.BLUE,
    pair=classes.Pair(1, "2"),
    point=classes.Point(1),
    checked=classes.Checked(2, datetime.now()),
    numbers=(1, 2),
    two=(LEAF, 2),
    leaves=[LEAF],
    by_name={"a": LEAF},
    by_color={classes.Color.RED: [classes.Pair(1)]},
    by_id={uuid.uuid4(): 1},
    either=classes.Point(4),
    any_of=[LEAF, classes.Point(2)],
    form={"leaf": LEAF, "count": 1},
    box=classes.Box[classes.Leaf](item=LEAF),
    root=classes.Leaves([LEAF]),
    secret=SecretStr("s3"),
    at=datetime.now(timezone.utc),
    path=Path("/x"),
    names={"a"},
    frozen=frozenset({1}),
    sequence=[LEAF],
    messages=[HumanMessage("x", id="1"), ToolMessage("y", tool_call_id="1", artifact={"a": 1})],
    tree=classes.Branch(left=LEAF, right=classes.Branch(right=LEAF)),
    me=classes.Everything(name="inner", either=classes.Pair(1, 2), sequence=[]),
    anything=[classes.Color.RED, {"a": 1}],
)
VALUES = [
    classes.Color.RED,
    classes.Color.PAIR,
    classes.Level.LOW,
    classes.Size.SMALL,
    classes.Access.READ,
    classes.Access.ALL,
    classes.Access(0),
    classes.Mode.READ | classes.Mode.WRITE,
    classes.Pair(1),
    classes.Pair(1, classes.Color.RED),
    classes.Old(1, 2),
    classes.Point(1, ["a"], classes.Frozen(2, classes.Slotted(3))),
    classes.Slotted(1, classes.Pair(2)),
    classes.Child(x=1, name="n"),
    classes.Checked(1, datetime.now()),
    classes.Branch(left=LEAF, right=classes.Branch(left=LEAF)),
    classes.Box[int](item=3),
    classes.Box[list[classes.Leaf]](item=[LEAF]),
    classes.Box(item=3),
    classes.LeafBox(item=LEAF, more=[LEAF]),
    classes.Leaves([LEAF]),
    classes.Extra(theX=1, other=[1]),
    EVERYTHING,
    classes.V1Leaf(value=2),
    classes.V1(
        name="x",
        leaf=classes.V1Leaf(),
        leaves=[classes.V1Leaf(value=2)],
        by_name={"a": classes.V1Leaf()},
        two=(1, classes.V1Leaf()),
    ),
    AgentAction(tool="t", tool_input={"a": 1}, log="l"),
    AgentFinish({"a": 1}, "log"),
    SecretStr("x"),
    {classes.Frozen(1), classes.Frozen(2, classes.Color.RED), classes.Pair(1), classes.Slotted(1)},
    frozenset([classes.Extra(theX=1)]),
    deque([classes.Point(1)]),
    Send("n", classes.Point(1)),
    Command(update={"a": classes.Point(1)}, goto="x"),
    Interrupt(classes.Point(1), id="x"),
    Overwrite(classes.Point(1)),
    HumanMessage("x", additional_kwargs={"c": classes.Color.RED}),
    [datetime.now(), uuid.uuid4(), timedelta(1), {1, 2}, Path("/x"), Decimal("1.5")],
]


def name_of(value: object) -> str:
    return type(value).__name__


@pytest.mark.parametrize("value", VALUES, ids=name_of)
def test_values_of_another_process_come_back(value: Any, origins: ClassOrigins) -> None:
    stored = LANGGRAPH.dumps_typed(value)
    read = ThreadkeepSerializer().loads_typed(stored)
    assert not origins.is_put(type(value))
    assert type(read) is type(value)
    assert read == value
    if not isinstance(value, (set, frozenset)):  # which have no order
        assert repr(read) == repr(value)
        assert LANGGRAPH.dumps_typed(read) == stored
    assert copy.deepcopy(read) == value
    if isinstance(value, BaseModel):
        assert read.model_extra == value.model_extra
        assert read.__pydantic_private__ == value.__pydantic_private__
        assert read.model_fields_set == set(type(value).model_fields)
        assert read.model_copy() == value
        assert type(value).model_validate(read.model_dump(by_alias=True)) == value


@pytest.mark.parametrize("value", VALUES, ids=name_of)
def test_values_of_this_process_come_back(value: Any, origins: ClassOrigins) -> None:
    serde = ThreadkeepSerializer()
    stored = serde.dumps_typed(value)
    assert stored == LANGGRAPH.dumps_typed(value)
    read = serde.loads_typed(stored)
    assert type(read) in (type(value), list)
    assert read == LANGGRAPH.loads_typed(stored) or read == value


def test_a_flag_that_was_combined_is_the_one_that_operators_make() -> None:
    stored = ("msgpack", extension(0, __name__, "Fresh", 5))
    read = ThreadkeepSerializer().loads_typed(stored)
    assert read is Fresh.A | Fresh.C
    assert read.name == "A|C"
    assert Fresh.A in read
    assert ThreadkeepSerializer().loads_typed(("msgpack", extension(0, __name__, "Fresh", 8))) == 8


class Fresh(classes.enum.Flag):
    A = 1
    B = 2
    C = 4


def runs_of(stored: tuple[str, bytes]) -> int:
    """How often the constructor ran while the value was read."""
    before = classes.Counted.runs
    read = ThreadkeepSerializer().loads_typed(stored)
    found = read.inner if isinstance(read, classes.Holder) else read
    assert type(found) is classes.Counted
    return classes.Counted.runs - before


def test_constructors_run_for_classes_that_this_process_put_first(origins: ClassOrigins) -> None:
    stored = LANGGRAPH.dumps_typed(classes.Counted(x=1))
    ThreadkeepSerializer().dumps_typed({"a": [classes.Counted(x=1)]})
    assert runs_of(stored) == 1


def test_a_class_inside_others_counts_as_put(origins: ClassOrigins) -> None:
    value = classes.Holder(classes.Counted(x=1))
    ThreadkeepSerializer().dumps_typed(value)
    assert origins.is_put(classes.Counted)
    assert runs_of(LANGGRAPH.dumps_typed(value)) == 1


def test_a_class_that_was_read_first_is_never_trusted_for_being_put_again(
    origins: ClassOrigins,
) -> None:
    stored = LANGGRAPH.dumps_typed(classes.Counted(x=1))
    read = ThreadkeepSerializer().loads_typed(stored)
    ThreadkeepSerializer().dumps_typed([read])
    assert runs_of(stored) == 0


def test_neither_is_one_that_was_inside_of_what_was_read(origins: ClassOrigins) -> None:
    read = ThreadkeepSerializer().loads_typed(LANGGRAPH.dumps_typed(EVERYTHING))
    ThreadkeepSerializer().dumps_typed([read.leaves[0], read.point, read.pair, read.color])
    assert not any(
        origins.is_put(cls) for cls in (classes.Leaf, classes.Point, classes.Pair, classes.Color)
    )


def test_a_constructor_gets_no_instance_that_was_made_without_one(origins: ClassOrigins) -> None:
    serde = ThreadkeepSerializer()
    serde.dumps_typed(classes.Counted())
    inside = extension(2, "state_classes", "Frozen", {"x": 1})
    before = classes.Counted.runs
    read = serde.loads_typed(
        ("msgpack", extension(5, "state_classes", "Counted", mapping(x=inside)))
    )
    assert (type(read), read.x, classes.Counted.runs) == (
        classes.Counted,
        classes.Frozen(1),
        before,
    )


def test_threads_and_savers_share_what_was_put(origins: ClassOrigins, server: FakeServer) -> None:
    value = classes.Counted(x=1)
    with ThreadkeepSaver(server.url) as one, ThreadkeepSaver(server.url) as other:
        put = threading.Thread(
            target=one.put,
            args=(config(), checkpoint("c1", {"a": value}), metadata(), {"a": 1}),
        )
        put.start()
        put.join()
        before = classes.Counted.runs
        found = other.get_tuple(config())
        assert found is not None
        assert found.checkpoint["channel_values"] == {"a": value}
        assert classes.Counted.runs == before + 1


def test_a_forked_child_inherits_it_and_its_own_stays_its_own(origins: ClassOrigins) -> None:
    ThreadkeepSerializer().dumps_typed(classes.Counted())
    answers: Any = multiprocessing.get_context("fork").SimpleQueue()

    def child() -> None:
        ThreadkeepSerializer().dumps_typed(classes.Frozen(1))
        answers.put([origins.is_put(cls) for cls in (classes.Counted, classes.Frozen)])

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join(30)
    assert answers.get() == [True, True]
    assert not origins.is_put(classes.Frozen)


def test_a_fork_while_the_lock_is_held_does_not_hang_the_child() -> None:
    def child() -> None:
        ThreadkeepSerializer().dumps_typed(OnlyHere())

    process = multiprocessing.get_context("fork").Process(target=child)
    with class_module.ORIGINS._lock:
        process.start()
    process.join(30)
    assert process.exitcode == 0


@dataclasses.dataclass
class OnlyHere:
    x: int = 0


def test_what_is_remembered_of_classes_is_bounded(
    origins: ClassOrigins, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(class_module, "CLASSES_MAX", 3)
    for number in range(10):
        origins.note_read(type(f"Passing{number}", (), {}))
    gc.collect()
    kept = [type(f"Kept{number}", (), {}) for number in range(5)]
    for one in kept:
        origins.note_read(one)
    assert len(origins._origins) <= 3
    ThreadkeepSerializer().dumps_typed(classes.Counted())
    assert not origins.is_put(classes.Counted)


def test_types_of_the_schema_and_allowed_types_are_built_by_their_constructors(
    origins: ClassOrigins, server: FakeServer
) -> None:
    stored = LANGGRAPH.dumps_typed(classes.Counted(x=1))
    by_class = ThreadkeepSerializer(allowed_types=[classes.Counted])
    by_schema = ThreadkeepSaver(server.url).with_allowlist([("state_classes", "Counted")])
    for serde in (by_class, by_schema.serde, copy.copy(by_schema).serde, copy.copy(by_class)):
        before = classes.Counted.runs
        assert serde.loads_typed(stored).x == 1
        assert classes.Counted.runs == before + 1
    assert not origins.is_put(classes.Counted)
    assert by_class.with_msgpack_allowlist([classes.Counted]) is by_class
    both = by_class.with_msgpack_allowlist([("a", "B")])
    assert both.allowed == {("a", "B"), ("state_classes", "Counted")}


def test_allowed_types_may_name_what_is_not_imported(origins: ClassOrigins) -> None:
    sys.modules.pop("wsgiref.headers", None)
    stored = ("msgpack", extension(0, "wsgiref.headers", "Headers", None))
    serde = ThreadkeepSerializer(allowed_types=[("wsgiref.headers", "Headers")])
    assert type(serde.loads_typed(stored)) is sys.modules["wsgiref.headers"].Headers


def test_a_serializer_of_the_user_is_used_as_it_is(server: FakeServer) -> None:
    own = JsonPlusSerializer(allowed_msgpack_modules=None)
    assert ThreadkeepSaver(server.url, serde=own).serde is own
    assert own.loads_typed(LANGGRAPH.dumps_typed(classes.Frozen(1))) == {"x": 1, "y": None}


def test_the_rule_holds_inside_an_encrypting_serializer(
    origins: ClassOrigins, server: FakeServer
) -> None:
    serde = EncryptedSerializer(Reversing(), ThreadkeepSerializer())
    with ThreadkeepSaver(server.url, serde=serde) as saver:
        value = classes.Frozen(1, classes.Color.RED)
        saver.put(config(), checkpoint("c1", {"a": value}), metadata(), {"a": 1})
        found = saver.with_allowlist([("a", "B")]).get_tuple(config())
    assert found is not None
    assert found.checkpoint["channel_values"] == {"a": value}


class Reversing:
    """Stands for a cipher."""

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        return "reversed", plaintext[::-1]

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        return ciphertext[::-1]


def test_aliases_and_excluded_fields(origins: ClassOrigins) -> None:
    value = classes.Aliased(theX=1)
    read = ThreadkeepSerializer().loads_typed(LANGGRAPH.dumps_typed(value))
    assert read == value
    read.later.append(1)
    assert ThreadkeepSerializer().loads_typed(LANGGRAPH.dumps_typed(value)).later == []


def test_the_former_json_format(origins: ClassOrigins) -> None:
    serde = ThreadkeepSerializer()

    def read(version: int, path: list[str], **values: Any) -> Any:
        body = {"lc": version, "type": "constructor", "id": path, "kwargs": values}
        return serde.loads_typed(("json", json.dumps({"a": body}).encode()))["a"]

    message = read(1, ["langchain", "schema", "messages", "AIMessage"], content="x", type="ai")
    assert message == AIMessage("x")
    assert read(2, ["langchain_core", "messages", "ai", "AIMessage"], content="x") == message
    path = ["langchain", "schema", "agent", "AgentAction"]
    action = read(1, path, tool="t", tool_input="x", log="l")
    assert action == AgentAction(tool="t", tool_input="x", log="l")
    template = ["langchain", "prompts", "prompt", "PromptTemplate"]
    assert type(read(1, template, template="{x}", input_variables=["x"])) is not str
    assert read(2, ["os", "system"], command="x")["lc"] == 2


def test_extensions_of_later_versions_go_to_langgraph() -> None:
    serde = ThreadkeepSerializer()
    seen = []
    serde._unpack_ext_hook = lambda code, data: seen.append((code, data)) or "later"
    stored = b"\xc7\x01" + bytes([40]) + b"x"
    assert serde.loads_typed(("msgpack", b"\x91" + stored)) == ["later"]
    assert seen == [(40, b"x")]


def test_without_the_private_parts_of_langgraph_no_class_counts_as_put(
    origins: ClassOrigins, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serializer, "_encode_option", None)
    stored = ThreadkeepSerializer().dumps_typed(classes.Counted(x=1))
    assert runs_of(stored) == 0


def test_damaged_values_name_their_channel(server: FakeServer) -> None:
    class Damaged(JsonPlusSerializer):
        def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
            return "msgpack", b"\x92\x01"

    written = ThreadkeepSaver(server.url, serde=Damaged())
    written.put(config(), checkpoint("c1", {"notes": 1}), metadata(), {"notes": 1})
    with pytest.raises(CodecError, match="'notes'"):
        ThreadkeepSaver(server.url).get_tuple(config())
