"""The same for models of Pydantic's version 1: `dict()` turns nested models into dictionaries."""

from __future__ import annotations

from typing import Any

from threadkeep.langgraph.bare import copied_default, made_default
from threadkeep.langgraph.classes import (
    UnfitError,
    attribute,
    bare_instance,
    find_class,
    inherits,
    is_class,
    own_attribute,
    set_fields,
)

# Pydantic's numbers for what a field is around its type.
_SINGLETON, _TUPLE, _TUPLE_ELLIPSIS = 1, 5, 6
_LISTS = frozenset({2, 7, 9})
_MAPPINGS = frozenset({4, 12})


def is_model(cls: type) -> bool:
    """Whether it is a model of version 1."""
    base = find_class("pydantic.v1.main", "BaseModel")
    return base is not None and cls is not base and inherits(cls, base)


def model_instance(cls: type, dump: Any) -> Any:
    """An instance of a model from its dump. Raises UnfitError."""
    fields = own_attribute(cls, "__fields__")
    if type(fields) is not dict or type(dump) is not dict:
        raise UnfitError("its Pydantic model is of an unusual kind")
    instance = bare_instance(cls)
    done = {}
    for name, field in fields.items():
        if name in dump:
            done[name] = _filled(field, dump[name])
        elif field.default_factory is not None:
            done[name] = made_default(field.default_factory)
        elif not field.required:
            done[name] = copied_default(field.default)
    extra = {name: value for name, value in dump.items() if name not in fields}
    if extra and _takes_extra(cls):
        done |= extra
    base: Any = find_class("pydantic.v1.main", "BaseModel")
    own_attribute(base, "__dict__").__get__(instance).update(done)
    own_attribute(base, "__fields_set__").__set__(instance, set(dump) & set(done))
    set_fields(cls, instance, _private_defaults(cls))
    return instance


def _filled(field: Any, value: Any) -> Any:
    inner = field.sub_fields
    if type(value) is dict:
        if field.shape in _MAPPINGS and inner:
            return {key: _filled(inner[0], item) for key, item in value.items()}
        if field.shape == _SINGLETON:
            return _filled_model(field, value)
    if type(value) is list and inner:
        if field.shape in _LISTS:
            return [_filled(inner[0], item) for item in value]
        if field.shape == _TUPLE_ELLIPSIS:
            return tuple(_filled(inner[0], item) for item in value)
        if field.shape == _TUPLE and len(inner) == len(value):
            return tuple(_filled(one, item) for one, item in zip(inner, value, strict=True))
    return value


def _filled_model(field: Any, value: dict[str, Any]) -> Any:
    """Of a union, the first model that has exactly the fields of the dump."""
    if is_class(field.type_) and is_model(field.type_):
        return model_instance(field.type_, value)
    for one in field.sub_fields or ():
        names = own_attribute(one.type_, "__fields__") if is_class(one.type_) else None
        if type(names) is dict and names.keys() == value.keys() and is_model(one.type_):
            return model_instance(one.type_, value)
    return value


def _takes_extra(cls: type) -> bool:
    config = attribute(cls, "__config__")
    extra = attribute(config, "extra") if is_class(config) else None
    return extra == "allow"


def _private_defaults(cls: type) -> dict[str, Any]:
    done = {}
    for name, one in (own_attribute(cls, "__private_attributes__") or {}).items():
        try:
            if one.default_factory is not None:
                done[name] = made_default(one.default_factory)
            elif type(one.default).__name__ != "UndefinedType":
                done[name] = copied_default(one.default)
        except UnfitError:
            continue
    return done
