"""Tells whether hashing or comparing a value runs code of its class, as adding it to a set does."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from types import FunctionType, MemberDescriptorType, WrapperDescriptorType
from typing import Any
from uuid import UUID

from threadkeep.langgraph.bare import ATOMS
from threadkeep.langgraph.classes import (
    UnfitError,
    attribute,
    inherits,
    instance_dict,
    own_attribute,
)

_LEAVES = (*ATOMS, UUID, Decimal, datetime, date, time, timedelta, timezone)
_LEAF_IDS = frozenset(id(cls) for cls in _LEAVES)
_METHODS = ("__hash__", "__eq__", "__getattribute__")


def hashes_inertly(value: Any) -> bool:
    """True if only code of Python and Pydantic runs; False also where that cannot be told."""
    cls = type(value)
    if id(cls) in _LEAF_IDS:
        return True
    if cls is not tuple and not all(_is_inert(attribute(cls, name)) for name in _METHODS):
        return False
    if inherits(cls, Enum):
        return True
    if inherits(cls, tuple):
        return all(hashes_inertly(item) for item in tuple.__iter__(value))
    try:
        return all(hashes_inertly(item) for item in _fields(cls, value))
    except UnfitError:
        return False


def _is_inert(method: Any) -> bool:
    """Whether it is written in C, or made by dataclasses or Pydantic, or Enum's own."""
    if type(method) is WrapperDescriptorType:
        return True
    if type(method) is not FunctionType:
        return False
    module = method.__globals__.get("__name__")
    is_of_library = type(module) is str and module.partition(".")[0] in ("enum", "pydantic")
    # Those that dataclasses generates come from no file. One that a class writes itself does.
    return is_of_library or method.__code__.co_filename == "<string>"


def _fields(cls: type, value: Any) -> Iterator[Any]:
    fields = attribute(cls, "__dataclass_fields__")
    if own_attribute(cls, "__pydantic_fields__") is None and type(fields) is dict:
        for name in fields:
            slot = attribute(cls, name, dataclasses.MISSING)
            if type(slot) is MemberDescriptorType:
                yield slot.__get__(value)
            elif name in (names := instance_dict(cls, value)):
                yield names[name]
        return
    yield from instance_dict(cls, value).values()
