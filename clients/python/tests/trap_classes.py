"""Classes whose every hook raises an alarm, of each kind that stored bytes can name.

`arm()` after the import: making the classes runs some of the hooks.
"""

from __future__ import annotations

import dataclasses
import enum
import threading
import types
from typing import Any, NamedTuple

import pydantic
import pydantic.v1

alarms: list[str] = []
_armed = threading.Event()


def arm() -> None:
    _armed.set()
    alarms.clear()


def disarm() -> None:
    _armed.clear()


def alarm(name: str) -> None:
    if _armed.is_set():
        alarms.append(name)


def _trap(name: str, inner: Any) -> Any:
    def hook(self: Any, *args: Any, **keywords: Any) -> Any:
        alarm(f"{type.__getattribute__(type(self), '__name__')}.{name}")
        return inner(self, *args, **keywords)

    return hook


HOOKS: dict[str, Any] = {
    "__init__": lambda self, *args, **keywords: None,
    "__setattr__": object.__setattr__,
    "__getattribute__": object.__getattribute__,
    "__eq__": lambda self, other: self is other,
    "__ne__": lambda self, other: self is not other,
    "__hash__": object.__hash__,
    "__str__": lambda self: "text",
    "__repr__": lambda self: "text",
    "__format__": lambda self, spec: "text",
    "__bool__": lambda self: True,
    "__len__": lambda self: 1,
    "__iter__": lambda self: iter(()),
    "__fspath__": lambda self: "/",
    "__index__": lambda self: 1,
    "__int__": lambda self: 1,
    "__float__": lambda self: 1.0,
    "__call__": lambda self, *args: None,
    "__contains__": lambda self, item: False,
    "__getitem__": lambda self, item: "item",
    "__reduce_ex__": lambda self, protocol: (str, ("x",)),
    "__setstate__": lambda self, state: None,
    "__copy__": lambda self: self,
    "__deepcopy__": lambda self, memo: self,
    "__post_init__": lambda self, *args: None,
    "replace": lambda self, *args: "text",
    "strip": lambda self, *args: "text",
    "model_post_init": lambda self, context: None,
}


def _hooks(*without: str) -> dict[str, Any]:
    return {name: _trap(name, inner) for name, inner in HOOKS.items() if name not in without}


class Meta(type):
    def __call__(cls, *args: Any, **keywords: Any) -> Any:
        alarm("metaclass call")
        return super().__call__(*args, **keywords)

    def __getattribute__(cls, name: str) -> Any:
        alarm(f"metaclass getattribute {name}")
        return super().__getattribute__(name)

    def __instancecheck__(cls, instance: object) -> bool:
        alarm("metaclass instancecheck")
        return True

    def __subclasscheck__(cls, other: type) -> bool:
        alarm("metaclass subclasscheck")
        return True

    def __eq__(cls, other: object) -> bool:
        alarm("metaclass eq")
        return cls is other

    def __hash__(cls) -> int:
        alarm("metaclass hash")
        return 1


def _new(cls: type, *args: Any, **keywords: Any) -> Any:
    alarm("new")
    return object.__new__(cls)


def _factory() -> list[int]:
    alarm("default factory")
    return []


@dataclasses.dataclass(eq=False, repr=False, init=False)
class Data(metaclass=Meta):
    x: Any = None
    y: Any = 1
    __new__ = _new

    def __init_subclass__(cls) -> None:
        alarm("init_subclass")

    def __getattr__(self, name: str) -> Any:
        alarm(f"getattr {name}")

    @property
    def __class__(self) -> Any:
        alarm("class property")
        return str


for _name, _hook in _hooks().items():
    type.__setattr__(Data, _name, _hook)


@dataclasses.dataclass
class WithFactory:
    x: int
    y: list[int] = dataclasses.field(default_factory=_factory)


@dataclasses.dataclass
class WithFinalizer:
    path: str = ""

    def __del__(self) -> None:
        alarm("del")


class Descriptor:
    def __get__(self, instance: Any, owner: Any) -> Any:
        alarm("descriptor get")
        return 1

    def __set__(self, instance: Any, value: Any) -> None:
        alarm("descriptor set")


@dataclasses.dataclass
class WithDescriptor:
    x: Any = 0
    y: int = 0


WithDescriptor.x = Descriptor()


@dataclasses.dataclass
class WithOddDict:
    x: int = 0

    @property
    def __dict__(self) -> Any:
        alarm("dict property")
        return {}


@dataclasses.dataclass(frozen=True)
class OwnHash:
    x: int = 0

    def __hash__(self) -> int:
        alarm("hash")
        return 1


@dataclasses.dataclass(frozen=True)
class HoldsOwnHash:
    x: Any = None


class Tuple(NamedTuple):
    x: Any
    y: Any = 1


class TrapTuple(Tuple):
    def __new__(cls, *args: Any, **keywords: Any) -> Any:
        alarm("tuple new")
        return tuple.__new__(cls, args)

    @classmethod
    def _make(cls, items: Any) -> Any:
        alarm("make")
        return tuple.__new__(cls, items)


for _name, _hook in _hooks("__post_init__", "__getattribute__", "__setattr__").items():
    setattr(TrapTuple, _name, _hook)


class TrapEnum(enum.Enum):
    A = 1
    B = "b"

    @classmethod
    def _missing_(cls, value: object) -> Any:
        alarm("missing")
        return cls.A

    def __hash__(self) -> int:
        alarm("enum hash")
        return 1

    def __eq__(self, other: object) -> bool:
        alarm("enum eq")
        return self is other

    def __str__(self) -> str:
        alarm("enum str")
        return "x"


class TrapFlag(enum.Flag):
    A = 1
    B = 2

    @classmethod
    def _missing_(cls, value: object) -> Any:
        alarm("flag missing")
        return super()._missing_(value)


class Color(enum.Enum):
    RED = 1


class Model(pydantic.BaseModel):
    x: Any = None
    y: list[int] = pydantic.Field(default_factory=_factory)
    _private: Any = pydantic.PrivateAttr(default_factory=_factory)

    def __init__(self, **data: Any) -> None:
        alarm("model init")
        super().__init__(**data)

    def __new__(cls, *args: Any, **keywords: Any) -> Any:
        alarm("model new")
        return super().__new__(cls)

    def __setattr__(self, name: str, value: Any) -> None:
        alarm("model setattr")
        super().__setattr__(name, value)

    def __str__(self) -> str:
        alarm("model str")
        return "x"

    def __eq__(self, other: object) -> bool:
        alarm("model eq")
        return False

    def __hash__(self) -> int:
        alarm("model hash")
        return 1

    def model_post_init(self, context: Any) -> None:
        alarm("model post init")

    @pydantic.field_validator("x", mode="before")
    @classmethod
    def _before(cls, value: Any) -> Any:
        alarm("model validator")
        return value

    @pydantic.model_validator(mode="before")
    @classmethod
    def _whole(cls, value: Any) -> Any:
        alarm("model validator of the whole")
        return value

    @pydantic.model_validator(mode="after")
    def _after(self) -> Any:
        alarm("model validator after")
        return self

    @classmethod
    def model_construct(cls, *args: Any, **keywords: Any) -> Any:
        alarm("model construct")
        return super().model_construct(*args, **keywords)


class Outer(pydantic.BaseModel):
    inner: Model | None = None
    by_color: dict[Color, int] = {}

    @pydantic.model_validator(mode="before")
    @classmethod
    def _whole(cls, value: Any) -> Any:
        alarm("outer validator")
        return value


class TrapKeys(pydantic.BaseModel):
    by_trap: dict[TrapEnum, int] = {}


class OwnSerializer(pydantic.BaseModel):
    x: int = 0

    @pydantic.field_serializer("x")
    def _x(self, value: int) -> str:
        alarm("serializer")
        return str(value)


class V1Model(pydantic.v1.BaseModel):
    x: Any = None
    _private: Any = pydantic.v1.PrivateAttr(default_factory=_factory)

    def __init__(self, **data: Any) -> None:
        alarm("v1 init")
        super().__init__(**data)

    def __setattr__(self, name: str, value: Any) -> None:
        alarm("v1 setattr")
        super().__setattr__(name, value)

    @pydantic.v1.validator("x", pre=True)
    def _before(cls, value: Any) -> Any:
        alarm("v1 validator")
        return value

    @pydantic.v1.root_validator(pre=True)
    def _whole(cls, value: Any) -> Any:
        alarm("v1 root validator")
        return value

    @classmethod
    def construct(cls, *args: Any, **keywords: Any) -> Any:
        alarm("v1 construct")
        return super().construct(*args, **keywords)


class Plain:
    """A class of none of the kinds."""

    def __init__(self, *args: Any, **keywords: Any) -> None:
        alarm("plain init")

    @classmethod
    def make(cls, *args: Any) -> None:
        alarm("plain make")


class DuckModel(Plain):
    def model_dump(self) -> Any:
        alarm("duck dump")

    def dict(self) -> Any:
        alarm("duck dict")


def function(*args: Any, **keywords: Any) -> None:
    alarm("function")


class Proxy:
    """Says that it is a class."""

    @property
    def __class__(self) -> Any:
        alarm("proxy class")
        return type

    def __call__(self, *args: Any, **keywords: Any) -> None:
        alarm("proxy call")

    def __getattr__(self, name: str) -> Any:
        alarm(f"proxy getattr {name}")


proxy: Any = Proxy()


class LazyModule(types.ModuleType):
    def __getattribute__(self, name: str) -> Any:
        alarm(f"lazy module {name}")
        return super().__getattribute__(name)

    def __getattr__(self, name: str) -> Any:
        alarm(f"lazy module getattr {name}")
        return Plain
