"""Where a backend's files are: the namespace of a call, and the folder that its paths begin in."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from langgraph.runtime import get_runtime

NamespaceOf = Callable[[Any], tuple[str, ...]]
"""Takes the Runtime of the graph that is running, None outside of one."""

# What deepagents' own StoreBackend accepts, so that both see the same files.
_LABEL = re.compile(r"[A-Za-z0-9\-_.@+:~]+")


class Scope(NamedTuple):
    """Files of one namespace below a folder.

    `root` is "" for all of it, else without a slash at its end. Paths below `hidden`, folders that
    other files are mounted over, are shown below `instead`, where they can be reached.
    """

    namespace: tuple[str, ...]
    root: str = ""
    hidden: tuple[str, ...] = ()
    instead: str = ""

    def inner(self, path: str) -> str:
        """The path in the namespace."""
        if not self.root:
            return path
        below = path if path.startswith("/") else f"/{path}"
        return f"{self.root}{below}" if below != "/" else self.root

    def inner_or_none(self, path: str | None) -> str | None:
        """The same where no path means all of it."""
        return (self.root or None) if path is None else self.inner(path)

    def outer(self, path: str) -> str:
        """The path as the caller knows it."""
        if self.root:
            return path.removeprefix(self.root)
        if any(path == folder or path.startswith(f"{folder}/") for folder in self.hidden):
            return f"{self.instead}{path}"
        return path


def root_of(root: str) -> str:
    """A folder as `Scope` has it. Raises ValueError."""
    if not root.startswith("/"):
        raise ValueError("root must begin with /")
    return root.rstrip("/")


def namespace_source(namespace: Sequence[str] | NamespaceOf) -> NamespaceOf:
    """A function of the Runtime, whatever was given. Raises what `checked` raises."""
    if callable(namespace):
        return namespace
    if isinstance(namespace, str):
        raise TypeError("namespace must be a tuple of labels, or a function that answers one")
    return _Fixed(checked(tuple(namespace)))


@dataclass(frozen=True)
class _Fixed:
    """Answers one namespace to every Runtime; unlike a lambda, it can be pickled."""

    namespace: tuple[str, ...]

    def __call__(self, _: Any) -> tuple[str, ...]:
        return self.namespace


def namespace_now(source: NamespaceOf) -> tuple[str, ...]:
    """The namespace of this call."""
    runtime = runtime_or_none()
    try:
        return checked(source(runtime))
    except AttributeError as error:
        if runtime is not None:
            raise
        raise RuntimeError(
            "the function `namespace` reads the Runtime, and no graph is running: use the backend "
            "in a graph, or a function that works without one"
        ) from error


def runtime_or_none() -> Any:
    """The Runtime of the graph that is running; None outside of one."""
    try:
        return get_runtime()
    except (RuntimeError, KeyError):
        return None


def checked(namespace: tuple[str, ...]) -> tuple[str, ...]:
    """The namespace itself. Raises ValueError or TypeError for what deepagents refuses."""
    if not namespace:
        raise ValueError("the namespace must not be empty")
    for at, label in enumerate(namespace):
        if not isinstance(label, str):
            raise TypeError(f"label {at} of the namespace is {type(label).__name__}, not text")
        if not _LABEL.fullmatch(label):
            raise ValueError(
                f"label {at} of the namespace is {label!r}: letters, digits and -_.@+:~ are "
                "allowed (threadkeep.label makes a label of any text)"
            )
    return namespace
