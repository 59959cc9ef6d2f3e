"""Classes that states hold, of each kind that comes back; and a subject for each rule of it."""

from __future__ import annotations

import dataclasses
import enum
import uuid
from collections import namedtuple
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

import pydantic
import pydantic.v1
from langchain_core.messages import AnyMessage
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, RootModel, SecretStr
from typing_extensions import TypedDict

Item = TypeVar("Item")


class Color(enum.Enum):
    RED = 1
    BLUE = "blue"
    PAIR = (1, "x")


class Level(str, enum.Enum):
    LOW = "low"


class Size(enum.IntEnum):
    SMALL = 1


class Access(enum.Flag):
    READ = 1
    WRITE = 2
    ALL = 3


class Mode(enum.IntFlag):
    READ = 4
    WRITE = 8


class Pair(NamedTuple):
    x: int
    y: Any = "why"


Old = namedtuple("Old", ["a", "b"])


@dataclasses.dataclass
class Point:
    x: int
    tags: list[str] = dataclasses.field(default_factory=list)
    inner: Any = None
    total: int = dataclasses.field(init=False, default=7)


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: int
    y: Any = None


@dataclasses.dataclass(frozen=True, slots=True)
class Slotted:
    x: int
    y: Any = None


@dataclasses.dataclass(kw_only=True)
class Child(Point):
    name: str


@pydantic.dataclasses.dataclass
class Checked:
    x: int
    at: datetime | None = None


class Leaf(BaseModel):
    kind: Literal["leaf"] = "leaf"
    value: int = 0


class Branch(BaseModel):
    kind: Literal["branch"] = "branch"
    left: Node | None = None
    right: Node | None = None


Node = Annotated[Leaf | Branch, Field(discriminator="kind")]
Branch.model_rebuild()


class Box(BaseModel, Generic[Item]):
    item: Item
    more: list[Item] = []


LeafBox = Box[Leaf]


class Leaves(RootModel[list[Leaf]]):
    pass


class Extra(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)
    x: int = Field(alias="theX")


class Form(TypedDict):
    leaf: Leaf
    count: int


class Everything(BaseModel):
    name: str
    color: Color = Color.RED
    pair: Pair = Pair(1)
    point: Point | None = None
    checked: Checked | None = None
    numbers: tuple[int, ...] = ()
    two: tuple[Leaf, int] | None = None
    leaves: list[Leaf] = []
    by_name: dict[str, Leaf] = {}
    by_color: dict[Color, list[Pair]] = {}
    by_id: Mapping[uuid.UUID, int] = {}
    either: Leaf | Point | Pair | int | str = 0
    any_of: list[Leaf | Point] = []
    form: Form | None = None
    box: Box[Leaf] | None = None
    root: Leaves | None = None
    secret: SecretStr = SecretStr("")
    at: datetime | None = None
    path: Path = Path()
    names: set[str] = set()
    frozen: frozenset[int] = frozenset()
    sequence: Sequence[Leaf] = ()
    messages: list[AnyMessage] = []
    tree: Branch | None = None
    me: Everything | None = None
    anything: Any = None
    _count: int = PrivateAttr(default=3)
    _seen: list[str] = PrivateAttr(default_factory=list)

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def shout(self) -> str:
        return self.name.upper()

    @pydantic.field_validator("name")
    @classmethod
    def _name(cls, value: str) -> str:
        return value


class V1Leaf(pydantic.v1.BaseModel):
    value: int = 0


class V1(pydantic.v1.BaseModel):
    name: str
    leaf: V1Leaf | None = None
    leaves: list[V1Leaf] = []
    by_name: dict[str, V1Leaf] = {}
    two: tuple[int, V1Leaf] | None = None
    _count: int = pydantic.v1.PrivateAttr(default=3)


class Counted(BaseModel):
    """Counts how often its validator ran in this process."""

    runs: ClassVar[int] = 0
    x: int = 0

    @pydantic.model_validator(mode="after")
    def _count(self) -> Counted:
        type(self).runs += 1
        return self


@dataclasses.dataclass
class Holder:
    """Puts other objects into its value."""

    inner: Any = None


class Aliased(BaseModel):
    model_config = ConfigDict(serialize_by_alias=True, populate_by_name=True)
    x: int = Field(alias="theX")
    hidden: int = Field(default=5, exclude=True)
    later: list[int] = Field(default_factory=list, exclude=True)
