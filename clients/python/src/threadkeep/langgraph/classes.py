"""Finds the classes that stored names mean, and reads classes, without running any code of theirs.

Nothing is imported. A lookup reads the dictionaries of modules and classes through C-level
descriptors, so that no `__getattr__`, property or metaclass has a part in it.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Iterable
from types import GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any, TypeGuard

CLASSES_MAX = 4096
"""Classes that `ClassOrigins` remembers. Beyond them, classes count as read, never as put."""

_module_dict: Any = vars(ModuleType)["__dict__"].__get__
_class_dict: Any = type.__dict__["__dict__"].__get__
_class_mro: Any = type.__dict__["__mro__"].__get__
_class_name: Any = type.__dict__["__name__"].__get__
_class_flags: Any = type.__dict__["__flags__"].__get__
_IS_ABSTRACT = 1 << 20
_ABSENT: Any = object()


class UnfitError(Exception):
    """No instance can be made without running code of the class; the text says why."""


def find_class(module: str, name: str) -> type | None:
    """The class of this name in a module that is imported already, else None.

    `Box[int]` is the parametrization of a generic Pydantic model, or the model itself where no
    such parametrization exists in this process.
    """
    try:
        names = _module_dict(sys.modules.get(module))
    except TypeError:
        return None
    if type(names) is not dict:
        return None
    found = names.get(name)
    if found is None and "[" in name:
        found = _parametrized(names.get(name.partition("[")[0]), name)
    return found if is_class(found) else None


def is_class(thing: object) -> TypeGuard[type]:
    """Whether it is a class, whatever its `__class__` says."""
    return any(base is type for base in _class_mro(type(thing)))


def inherits(cls: type, base: object) -> bool:
    """Whether `base` is among the bases of a class, whatever its metaclass says."""
    return any(one is base for one in _class_mro(cls))


def own_attribute(cls: type, name: str) -> Any:
    """What the class itself defines under a name, as it stands there, else None."""
    return _class_dict(cls).get(name)


def attribute(cls: type, name: str, default: Any = None) -> Any:
    """What the class or the first of its bases defines under a name, as it stands there."""
    for base in _class_mro(cls):
        found = _class_dict(base).get(name, _ABSENT)
        if found is not _ABSENT:
            return found
    return default


def bare_instance(cls: type) -> Any:
    """An instance that no constructor has seen. Raises UnfitError."""
    refuse_finalizer(cls)
    if _class_flags(cls) & _IS_ABSTRACT:
        raise UnfitError("its class is abstract")
    try:
        instance: Any = object.__new__(cls)
    except TypeError:
        raise UnfitError("its class extends a built-in type") from None
    ORIGINS.note_read(cls)
    return instance


def refuse_finalizer(cls: type) -> None:
    """Raises UnfitError for a class with `__del__`: it would run on stored fields."""
    if attribute(cls, "__del__") is not None:
        raise UnfitError("its class has a __del__ method")


def set_fields(cls: type, instance: Any, fields: dict[str, Any]) -> None:
    """Set attributes in the slots and the dictionary of an instance. Raises UnfitError."""
    plain: dict[str, Any] = {}
    for name, value in fields.items():
        found = attribute(cls, name, _ABSENT)
        if type(found) is MemberDescriptorType:
            _set_slot(found, instance, value)
        elif found is not _ABSENT and _is_data_descriptor(found):
            raise UnfitError(f"its field {name!r} is a property or another descriptor")
        else:
            plain[name] = value
    if plain:
        instance_dict(cls, instance).update(plain)


def instance_dict(cls: type, instance: Any) -> dict[str, Any]:
    """The dictionary of an instance. Raises UnfitError where it has none, or one of its own."""
    found = attribute(cls, "__dict__")
    if type(found) is not GetSetDescriptorType:
        raise UnfitError("its instances have no ordinary dictionary")
    names = found.__get__(instance)
    if type(names) is not dict:
        raise UnfitError("its instances have no ordinary dictionary")
    return names


def _set_slot(slot: MemberDescriptorType, instance: Any, value: Any) -> None:
    try:
        slot.__set__(instance, value)
    except (TypeError, AttributeError):
        raise UnfitError(f"its slot {slot.__name__!r} cannot be set") from None


def _is_data_descriptor(thing: object) -> bool:
    cls = type(thing)
    return any(attribute(cls, name) is not None for name in ("__set__", "__delete__"))


def _parametrized(origin: object, name: str) -> Any:
    if not is_class(origin):
        return None
    if type(own_attribute(origin, "__pydantic_generic_metadata__")) is not dict:
        return None
    subclasses: list[type] = type.__subclasses__(origin)
    for one in subclasses:
        if _class_name(one) == name:
            return one
    return origin


class _Origin:
    __slots__ = ("cls", "is_put")

    def __init__(self, cls: type, *, is_put: bool) -> None:
        self.cls = weakref.ref(cls)
        self.is_put = is_put


class ClassOrigins:
    """How a class was first met in this process: in a value that was put, or in one that was read.

    The first meeting decides for good. An instance that a stored name has made and that the graph
    puts again must not turn its class into one that the process has put.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._origins: dict[int, _Origin] = {}
        self._is_full = False

    def note_put(self, names: Iterable[tuple[str, str]]) -> None:
        """The classes of these names were encoded."""
        for module, name in names:
            cls = find_class(module, name)
            if cls is not None:
                self._note(cls, is_put=True)

    def note_read(self, cls: type) -> None:
        """An instance was made because stored bytes name the class."""
        self._note(cls, is_put=False)

    def is_put(self, cls: type) -> bool:
        """Whether this process put the class before it read it."""
        origin = self._origins.get(id(cls))
        return origin is not None and origin.is_put and origin.cls() is cls

    def renew_lock(self) -> None:
        """For a forked child, where another thread may hold the lock."""
        self._lock = threading.Lock()

    def _note(self, cls: type, *, is_put: bool) -> None:
        known = self._origins.get(id(cls))
        if self._is_full or (known is not None and known.cls() is cls):
            return
        with self._lock:
            known = self._origins.get(id(cls))
            if known is not None and known.cls() is cls:
                return
            if len(self._origins) >= CLASSES_MAX:
                self._drop_collected()
            # A class that was read and is not remembered could be put later and count as put, so
            # from here on none is remembered.
            self._is_full = len(self._origins) >= CLASSES_MAX
            if not self._is_full:
                self._origins[id(cls)] = _Origin(cls, is_put=is_put)

    def _drop_collected(self) -> None:
        alive = {key: origin for key, origin in self._origins.items() if origin.cls() is not None}
        self._origins = alive


ORIGINS = ClassOrigins()
"""Those of this process: all savers and threads share them, and a forked child inherits them."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=ORIGINS.renew_lock)
