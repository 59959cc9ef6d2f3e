"""Makes instances from stored fields without running code of their classes.

No constructor, validator, `__post_init__`, `__setattr__`, descriptor or metaclass has a part in it,
and no default factory but those of the built-in containers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from enum import Enum, Flag
from typing import Any

from threadkeep.langgraph.classes import (
    ORIGINS,
    UnfitError,
    attribute,
    bare_instance,
    find_class,
    inherits,
    instance_dict,
    own_attribute,
    refuse_finalizer,
    set_fields,
)

ATOMS = (type(None), bool, int, float, complex, str, bytes)
"""Types that hash, compare and copy without code of anybody's."""
_ATOM_IDS = frozenset(id(cls) for cls in ATOMS)
FACTORIES: dict[Any, Callable[[], Any]] = {list: list, dict: dict, set: set, frozenset: frozenset}
"""The default factories that are called."""
FLAG_VALUES_MAX = 4096
"""Combinations of one Flag class that are made; the class keeps each for good."""
_SECRETS = (
    ("pydantic.types", "SecretStr"),
    ("pydantic.types", "SecretBytes"),
    ("pydantic.v1.types", "SecretStr"),
    ("pydantic.v1.types", "SecretBytes"),
)


def enum_member(cls: type, value: Any) -> Any:
    """The member that has this value, or the combination of a Flag. Raises UnfitError."""
    ORIGINS.note_read(cls)
    if type(value) is list:
        value = tuple(value)
    members = own_attribute(cls, "_value2member_map_")
    if type(members) is dict and _is_plain(value):
        for known, member in members.copy().items():
            if type(known) is type(value) and _is_plain(known) and known == value:
                return member
        if inherits(cls, Flag) and type(value) is int:
            return _combination(cls, value, members)
    raise UnfitError("its Enum has no such value")


def secret(cls: type, value: Any) -> Any:
    """Pydantic's SecretStr or SecretBytes around a value. Raises UnfitError for other classes."""
    if not any(find_class(module, name) is cls for module, name in _SECRETS):
        raise UnfitError("its class is no Pydantic model, dataclass, NamedTuple or Enum")
    instance = bare_instance(cls)
    set_fields(cls, instance, {"_secret_value": value})
    return instance


def named_tuple(cls: type, values: Any) -> Any:
    """A NamedTuple from values by field. Raises UnfitError."""
    names = attribute(cls, "_fields")
    defaults = attribute(cls, "_field_defaults")
    if type(names) is not tuple or any(type(name) is not str for name in names):
        raise UnfitError("its class is no Pydantic model, dataclass, NamedTuple or Enum")
    if type(values) is not dict or not set(values) <= set(names):
        raise UnfitError("its fields are others than the NamedTuple has now")
    if type(defaults) is dict:
        values = {**defaults, **values}
    if len(values) < len(names):
        raise UnfitError("its NamedTuple has more fields now")
    refuse_finalizer(cls)
    ORIGINS.note_read(cls)
    try:
        return tuple.__new__(cls, [values[name] for name in names])
    except TypeError:
        raise UnfitError("its class extends another built-in type") from None


def dataclass_instance(cls: type, values: Any) -> Any:
    """An instance of a dataclass from values by field. Raises UnfitError."""
    known = attribute(cls, "__dataclass_fields__")
    if type(known) is not dict or type(values) is not dict:
        raise UnfitError("its class is no Pydantic model, dataclass, NamedTuple or Enum")
    fields = {name: field for name, field in known.items() if _is_field(field)}
    if not set(values) <= set(fields):
        raise UnfitError("its fields are others than the dataclass has now")
    missing = {name: _default(fields[name]) for name in fields if name not in values}
    instance = bare_instance(cls)
    set_fields(cls, instance, {**missing, **values})
    return instance


def copied_default(value: Any) -> Any:
    """A default for one more instance: containers are copied. Raises UnfitError."""
    if type(value) is list:
        return [copied_default(item) for item in value]
    if type(value) is dict:
        return {key: copied_default(item) for key, item in value.items()}
    if type(value) is set:
        return value.copy()
    if type(value) is tuple:
        return tuple(copied_default(item) for item in value)
    if is_atom(value) or type(value) is frozenset or inherits(type(value), Enum):
        return value
    raise UnfitError("a field that is missing has a default that cannot be copied")


def made_default(factory: Any) -> Any:
    """What a default factory gives, if it is one of a built-in container. Raises UnfitError."""
    for known, make in FACTORIES.items():
        if factory is known:
            return make()
    raise UnfitError("a field that is missing has a default factory of its own")


def is_atom(value: Any) -> bool:
    """Whether it is of one of the `ATOMS`. Not `in`: a metaclass can have a hash of its own."""
    return id(type(value)) in _ATOM_IDS


def _is_plain(value: Any) -> bool:
    if type(value) is tuple:
        return all(_is_plain(item) for item in value)
    return is_atom(value)


def _combination(cls: type, value: int, members: dict[Any, Any]) -> Any:
    """A combination of members, as `A | B` makes it, kept in the class so that it stays the one."""
    named = own_attribute(cls, "_member_map_")
    base = attribute(cls, "_member_type_")
    if type(named) is not dict or not (base is object or base is int):
        raise UnfitError("its Flag is of an unusual kind")
    values = [(name, _value_of(cls, member)) for name, member in named.items()]
    mask = 0
    for _, bits in values:
        mask |= bits
    if value < 0 or value & ~mask or len(members) >= FLAG_VALUES_MAX:
        raise UnfitError("its Flag has no such value")
    refuse_finalizer(cls)
    made: Any = int.__new__(cls, value) if base is int else object.__new__(cls)
    single = [name for name, bits in values if bits & value and not bits & (bits - 1)]
    names = {"_name_": "|".join(single) or None, "_value_": value}
    instance_dict(cls, made).update(names)
    return members.setdefault(value, made)


def _value_of(cls: type, member: Any) -> int:
    value = instance_dict(cls, member).get("_value_")
    if type(value) is not int or value < 0:
        raise UnfitError("its Flag is of an unusual kind")
    return value


def _is_field(field: Any) -> bool:
    """Whether it is one that instances have: no ClassVar, no InitVar."""
    if type(field) is not dataclasses.Field:
        raise UnfitError("its dataclass is of an unusual kind")
    return field._field_type is dataclasses._FIELD  # type: ignore[attr-defined]


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default is not dataclasses.MISSING:
        return field.default
    if field.default_factory is not dataclasses.MISSING:
        return made_default(field.default_factory)
    raise UnfitError(f"the dataclass has a field {field.name!r} now that is not stored")
