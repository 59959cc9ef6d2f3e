"""Every class can be made on Python 3.10, whichever version runs the tests.

Python 3.10 compares the instance layouts of several bases, and refuses more than later versions do:
bases that each add a `__dict__` behind a `__weakref__` cannot be combined. `layout_of` follows its
rules. Syntax, typing and the standard library of 3.10 are checked by ruff and mypy (pyproject).
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterator
from typing import NamedTuple

import pytest

import threadkeep

POINTER = 8
HEAP_TYPE = 1 << 9


class Layout(NamedTuple):
    """Bytes of an instance, where its dict and list of weak references are (0: it has none)."""

    size: int
    dict_at: int
    weak_at: int
    solid: type
    """The class that decides which others it can be combined with."""


class LayoutConflictError(Exception):
    """Python 3.10 says "multiple bases have instance lay-out conflict"."""


def layout_of(cls: type) -> Layout:
    """The layout that Python 3.10 gives the class (its `type_new` and `extra_ivars`)."""
    if not cls.__flags__ & HEAP_TYPE:
        size, base_class = cls.__basicsize__, cls.__base__
        adds = base_class is None or size > base_class.__basicsize__
        solid = cls if adds or base_class is None else layout_of(base_class).solid
        return Layout(size, cls.__dictoffset__, cls.__weakrefoffset__, solid)
    best = best_base(cls.__bases__)
    base = layout_of(best)
    slots = cls.__dict__.get("__slots__")
    slots = [slots] if isinstance(slots, str) else slots
    others = [layout_of(other) for other in cls.__bases__ if other is not best]
    wants_dict = slots is None or "__dict__" in slots or any(it.dict_at for it in others)
    wants_weak = slots is None or "__weakref__" in slots or any(it.weak_at for it in others)
    own = [name for name in slots or () if name not in ("__dict__", "__weakref__")]
    size, dict_at, weak_at = base.size + POINTER * len(own), base.dict_at, base.weak_at
    if wants_dict and not base.dict_at:
        dict_at, size = size, size + POINTER
    if wants_weak and not base.weak_at:
        weak_at, size = size, size + POINTER
    # A list of weak references at the end, and a dict before it, do not count.
    compared = layout_of(base.solid)
    rest = size
    if weak_at and not compared.weak_at and weak_at + POINTER == rest:
        rest -= POINTER
    if dict_at and not compared.dict_at and dict_at + POINTER == rest:
        rest -= POINTER
    return Layout(size, dict_at, weak_at, cls if rest != compared.size else base.solid)


def best_base(bases: tuple[type, ...]) -> type:
    """The base that the others have to fit. Raises LayoutConflictError."""
    best = bases[0]
    winner = layout_of(best).solid
    for base in bases[1:]:
        candidate = layout_of(base).solid
        if issubclass(winner, candidate):
            continue
        if not issubclass(candidate, winner):
            raise LayoutConflictError(f"{bases}: {winner} and {candidate}")
        best, winner = base, candidate
    return best


def classes_of_the_package() -> Iterator[type]:
    """Every class that the package defines."""
    for found in pkgutil.walk_packages(threadkeep.__path__, "threadkeep."):
        try:
            module = importlib.import_module(found.name)
        except ImportError:
            assert sys.version_info < (3, 11), "an optional package is missing"
            continue
        for _, cls in inspect.getmembers(module, inspect.isclass):
            if cls.__module__ == module.__name__:
                yield cls


def test_every_class_has_bases_that_python_3_10_combines() -> None:
    classes = list(classes_of_the_package())
    assert len(classes) > 100
    for cls in classes:
        layout_of(cls)


def test_bases_that_python_3_10_refuses_are_found() -> None:
    class Weak:
        __slots__ = ("__weakref__",)

    class WithDict(Weak):
        pass

    class WithDictToo(Weak):
        pass

    if sys.version_info < (3, 11):
        with pytest.raises(TypeError, match="lay-out conflict"):
            type("Both", (WithDict, WithDictToo, Weak), {})
    with pytest.raises(LayoutConflictError):
        best_base((WithDict, WithDictToo, Weak))
    Without = type("Without", (Weak,), {"__slots__": ()})
    layout_of(type("Fitting", (WithDict, Without, Weak), {}))
