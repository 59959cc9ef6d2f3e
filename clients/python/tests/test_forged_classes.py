"""Stored bytes that somebody forged: no code of a class runs, and nothing is imported."""

from __future__ import annotations

import json
import logging
import pickle
import sys
from collections.abc import Iterator
from typing import Any

import ormsgpack
import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

import state_classes as classes
import trap_classes
from forged import extension, mapping, origins
from threadkeep.errors import CodecError
from threadkeep.langgraph import ThreadkeepSerializer, serializer
from threadkeep.langgraph.classes import ClassOrigins

__all__ = ["origins"]

# Encodes as every LangGraph saver does, and notes no class as put by this process.
LANGGRAPH = JsonPlusSerializer()


@pytest.fixture
def traps(origins: ClassOrigins, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    lazy = trap_classes.LazyModule("lazy_trap")
    monkeypatch.setitem(sys.modules, "lazy_trap", lazy)
    monkeypatch.setitem(sys.modules, "proxy_trap", trap_classes.proxy)
    trap_classes.arm()
    yield trap_classes
    trap_classes.disarm()


TRAP = "trap_classes"
NAMES = [
    *((TRAP, name) for name in vars(trap_classes) if not name.startswith("__")),
    (TRAP, "Plain.make"),
    (TRAP, "Model.model_construct"),
    (TRAP, "__builtins__"),
    (TRAP, "__loader__"),
    (TRAP, "Outer[int]"),
    ("lazy_trap", "Plain"),
    ("lazy_trap", "__class__"),
    ("proxy_trap", "Plain"),
    ("os", "system"),
    ("os", "PathLike"),
    ("os.path", "join"),
    ("subprocess", "Popen"),
    ("builtins", "eval"),
    ("builtins", "type"),
    ("builtins", "object"),
    ("builtins", "dict"),
    ("builtins", "BaseException"),
    ("functools", "partial"),
    ("types", "FunctionType"),
    ("types", "ModuleType"),
    ("pydantic", "ImportString"),
    ("pydantic", "BaseModel"),
    ("pydantic.main", "BaseModel"),
    ("enum", "Enum"),
    ("", ""),
    ("trap_classes\n", "x" * 5000),
]
PAYLOADS: list[Any] = [
    {},
    {"x": 1},
    {"x": 1, "y": [2]},
    {"inner": {"x": {"y": 2}}, "by_color": {1: 2}},
    {"path": "/etc"},
    {"__class__": "x", "__dict__": {}, "__init__": 1},
    {1: 2},
    [],
    ["echo"],
    [1, 2],
    1,
    3,
    99,
    "b",
    None,
    ormsgpack.packb(b"bytes"),
]


@pytest.mark.parametrize("code", range(6))
def test_no_hook_runs_for_forged_bytes(traps: Any, code: int) -> None:
    serde = ThreadkeepSerializer()
    read = []
    for module, name in NAMES:
        for payload in PAYLOADS:
            stored = extension(code, module, name, payload, "make")
            read.append(serde.loads_typed(("msgpack", stored)))
            legacy = {"lc": 1, "type": "constructor", "id": [*module.split("."), name]}
            stored = json.dumps({**legacy, "kwargs": str(payload), "args": [1]}).encode()
            read.append(serde.loads_typed(("json", stored)))
            stored = json.dumps({**legacy, "lc": 2, "kwargs": {"x": 1}}).encode()
            read.append(serde.loads_typed(("json", stored)))
    assert traps.alarms == []
    assert any(type(one) is not type(PAYLOADS[0]) for one in read)
    traps.disarm()


def bare_traps() -> dict[str, bytes]:
    """An instance of each kind of trap, as bytes."""
    return {
        "data": extension(2, TRAP, "Data", {"x": 1}),
        "model": extension(5, TRAP, "Model", {"x": 1, "y": []}),
        "outer": extension(5, TRAP, "Outer", {"inner": {"x": 1, "y": []}, "by_color": {1: 2}}),
        "v1": extension(4, TRAP, "V1Model", {"x": 1}),
        "tuple": extension(2, TRAP, "TrapTuple", {"x": 1}),
        "enum": extension(0, TRAP, "TrapEnum", 1),
        "flag": extension(0, TRAP, "TrapFlag", 3),
        "hash": extension(2, TRAP, "OwnHash", {"x": 1}),
        "in frozen": extension(
            2, TRAP, "HoldsOwnHash", mapping(x=extension(2, TRAP, "OwnHash", {}))
        ),
        "in tuple": extension(
            2, TRAP, "Tuple", mapping(x=extension(2, TRAP, "Data", {}), y=b"\xc0")
        ),
    }


@pytest.mark.parametrize("trap", bare_traps())
def test_no_hook_of_an_instance_runs_while_it_is_put_into_others(traps: Any, trap: str) -> None:
    serde, made = ThreadkeepSerializer(), bare_traps()[trap]
    alone = serde.loads_typed(("msgpack", made))
    assert type.__getattribute__(type(alone), "__module__") == TRAP
    items = b"\x92" + made + made
    message = mapping(content=made, tool_call_id=made, type=made, id=made, artifact=made)
    item = mapping(value=made, key=made, namespace=made, created_at=made, updated_at=made)
    safe = sorted(serializer.SAFE_MSGPACK_TYPES)
    inside = [
        extension(code, module, name, payload, "fromisoformat")
        for module, name in safe
        for code in range(6)
        for payload in (made, items, mapping(value=made), message, item)
    ]
    inside += [
        extension(0, made, made, made),
        extension(5, TRAP, made, made),
        extension(0, TRAP, "TrapEnum", made),
        extension(0, TRAP, "TrapFlag", made),
        extension(0, TRAP, "Color", items),
        extension(3, "datetime", "datetime", made, made),
        extension(6, made, made, made, made),
        extension(6, "u1", b"\x91" + made, "C", b"\xc4\x01x"),
        extension(7, made),
        extension(2, TRAP, "Data", mapping(x=made)),
        extension(5, TRAP, "Model", mapping(x=made, y=made)),
        extension(5, TRAP, "Outer", mapping(inner=made, by_color=made)),
        extension(5, TRAP, "Outer", mapping(inner=mapping(x=made))),
    ]
    for stored in inside:
        serde.loads_typed(("msgpack", stored))
    assert traps.alarms == []
    traps.disarm()


def test_what_is_made_without_hooks_has_its_fields(traps: Any) -> None:
    serde = ThreadkeepSerializer()
    made = {name: serde.loads_typed(("msgpack", data)) for name, data in bare_traps().items()}
    assert traps.alarms == []
    traps.disarm()
    assert (made["data"].x, made["data"].y) == (1, 1)
    assert (made["model"].x, made["model"].y) == (1, [])
    assert made["model"].__pydantic_private__ == {}
    assert type(made["outer"].inner) is traps.Model
    assert made["outer"].by_color == {traps.Color.RED: 2}
    assert made["v1"].x == 1
    assert (made["tuple"].x, made["tuple"].y) == (1, 1)
    assert made["enum"] is traps.TrapEnum.A
    assert made["flag"] is traps.TrapFlag.A | traps.TrapFlag.B


@pytest.mark.parametrize(
    ("code", "name", "payload", "reason"),
    [
        (2, "WithFinalizer", {"path": "/"}, "__del__"),
        (2, "WithDescriptor", {"x": 1, "y": 1}, "descriptor"),
        (2, "WithOddDict", {"x": 1}, "dictionary"),
        (2, "WithFactory", {"x": 1}, "default factory"),
        (2, "Plain", {"x": 1}, "is no Pydantic model"),
        (5, "DuckModel", {"x": 1}, "is no Pydantic model"),
        (5, "OwnSerializer", {"x": "1"}, "serializer of its own"),
        (5, "TrapKeys", {"by_trap": {"b": 1}}, "unusual keys"),
        (0, "TrapEnum", 9, "no such value"),
        (0, "function", 9, "no module that is imported"),
    ],
)
def test_what_cannot_be_made_stays_plain_and_one_log_line_names_our_setting(
    traps: Any, caplog: Any, code: int, name: str, payload: Any, reason: str
) -> None:
    stored = ("msgpack", extension(code, TRAP, name, payload))
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert ThreadkeepSerializer().loads_typed(stored) == payload
    assert traps.alarms == []
    (line,) = [record.getMessage() for record in caplog.records]
    assert reason in line
    assert f"allowed_types=[('trap_classes', '{name}')]" in line
    assert "msgpack_modules" not in line


def test_log_lines_are_bounded(origins: ClassOrigins, caplog: Any) -> None:
    with caplog.at_level(logging.WARNING):
        for number in range(serializer.WARNED_MAX + 50):
            stored = extension(2, "no\nsuch", f"x{number}" + "y" * 300, {})
            ThreadkeepSerializer().loads_typed(("msgpack", stored))
    assert len(caplog.records) == serializer.WARNED_MAX
    assert max(len(record.getMessage()) for record in caplog.records) < 900
    assert not any("\n" in record.getMessage() for record in caplog.records)


def test_nothing_is_imported_for_a_stored_name(origins: ClassOrigins) -> None:
    serde = ThreadkeepSerializer()
    names = [
        "antigravity",
        "this",
        "xml.dom.minidom",
        "turtle",
        "threadkeep.claude",
        "wsgiref.util",
    ]
    for name in names:
        sys.modules.pop(name, None)
    before = set(sys.modules)
    for module in names:
        for code in range(6):
            stored = extension(code, module, "Thing", {"x": 1}, "make")
            assert serde.loads_typed(("msgpack", stored)) == {"x": 1}
        for version in (1, 2):
            legacy = {"lc": version, "type": "constructor", "id": [*module.split("."), "Thing"]}
            assert serde.loads_typed(("json", json.dumps(legacy).encode())) == legacy
    assert set(sys.modules) == before


def test_pickles_are_refused() -> None:
    with pytest.raises(NotImplementedError):
        ThreadkeepSerializer().loads_typed(("pickle", pickle.dumps(1)))


def test_values_that_would_take_the_stack_are_a_typed_error() -> None:
    stored = b"\xc0"
    for _ in range(30):
        stored = extension(0, TRAP, "Plain", b"\x91" * 1000 + stored)
    with pytest.raises(CodecError, match="levels deep"):
        ThreadkeepSerializer().loads_typed(("msgpack", stored))


def test_chains_of_four_hundred_objects_come_back(origins: ClassOrigins) -> None:
    chain = None
    for number in range(400):
        chain = classes.Frozen(number, chain)
    read = ThreadkeepSerializer().loads_typed(LANGGRAPH.dumps_typed(chain))
    assert [read.x, read.y.x] == [399, 398]
