"""Values as bytes, made by hand, and a process that has met no class yet."""

from __future__ import annotations

import sys
from typing import Any

import ormsgpack
import pytest

from threadkeep.langgraph import serializer
from threadkeep.langgraph.classes import ClassOrigins


@pytest.fixture
def origins(monkeypatch: pytest.MonkeyPatch) -> ClassOrigins:
    """Those of a process that has met no class yet."""
    fresh = ClassOrigins()
    for name, module in list(sys.modules.items()):
        if name.startswith("threadkeep.langgraph.") and hasattr(module, "ORIGINS"):
            monkeypatch.setattr(module, "ORIGINS", fresh)
    monkeypatch.setattr(serializer, "_warned", set())
    return fresh


def extension(code: int, *parts: Any) -> bytes:
    """An extension of LangGraph's. Bytes among the parts are packed already."""
    keys = ormsgpack.OPT_NON_STR_KEYS
    packed = [part if type(part) is bytes else ormsgpack.packb(part, option=keys) for part in parts]
    data = bytes([0x90 | len(packed)]) + b"".join(packed)
    return b"\xc9" + len(data).to_bytes(4, "big") + bytes([code]) + data


def mapping(**values: bytes) -> bytes:
    """A dictionary of values that are packed already."""
    pairs = b"".join(ormsgpack.packb(name) + value for name, value in values.items())
    return bytes([0x80 | len(values)]) + pairs
