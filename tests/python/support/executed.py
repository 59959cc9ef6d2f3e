"""Tells which files of `src/` a call runs: the server runs under callgrind, whose counters name every function that was entered.

Needs no debug information. The symbol of a function names its module, or the type and the trait of its `impl`.
"""

import re
from collections.abc import Callable
from functools import cache, cached_property
from pathlib import Path

from support import settings
from support.callgrind import Counters

SOURCES = settings.ROOT / "src"
CRATE = "threadkeep::"
# So that every line of the counters has whole names.
OPTIONS = ("--compress-strings=no", "--compress-pos=no")
FUNCTION = re.compile(r"(?m)^fn=(.+)$")
# callgrind's mark of a function that is inside of itself.
RECURSION = re.compile(r"'\d+$")
IMPL = re.compile(r"(?m)^\s*impl(?:<[^{;]*?>)?\s+([\w:]+)(?:<[^{;]*?>)?\s+for\s+([&\w:\[\]']+)")
# A task of the server that runs now and then is in one round, hardly in all of them.
ROUNDS = 3


def executed(counters: Counters, call: Callable[[], object]) -> set[str]:
    """The files of `src/` of which `call` runs a function, each time. What only the first call needs was done before."""
    call()
    return set.intersection(*(_once(counters, call) for _ in range(ROUNDS)))


def _once(counters: Counters, call: Callable[[], object]) -> set[str]:
    names = set(FUNCTION.findall(counters.of(call)))
    return {found for name in names if (found := tree().file_of(RECURSION.sub("", name)))}


class Tree:
    """The modules of the crate and where they are."""

    def __init__(self, sources: Path):
        self.files = {str(path.relative_to(sources)): path for path in sources.rglob("*.rs")}

    def file_of(self, symbol: str) -> str | None:
        """The file of a function, as its symbol names it; none for one that is not of this crate."""
        if not symbol.startswith("<"):
            return self._module(symbol)
        kind, trait = parts_of_impl(symbol)
        if trait is None:
            return self._module(kind)
        if not trait.startswith(CRATE):
            # A trait of a library is derived, or implemented beside its type.
            return self._module(kind)
        found = self._impls.get((last_word(trait), last_word(kind)), set())
        module = self._module(kind)
        if len(found) <= 1:
            return next(iter(found), module)
        # Types of one name in several modules: the impl is near to its type.
        near = set((module or "").split("/"))
        return max(sorted(found), key=lambda each: len(near & set(each.split("/"))))

    def opener(self, file: str) -> str:
        """The first sentence of the file's opener."""
        lines = self.files[file].read_text().splitlines()
        words = " ".join(line[3:].strip() for line in lines if line.startswith("//!"))
        return re.split(r"(?<=[.!])(?: |$)", words, maxsplit=1)[0]

    def _module(self, path: str) -> str | None:
        if not path.startswith(CRATE):
            return None
        names = without_generics(path).split("::")[1:]
        for end in range(len(names), 0, -1):
            base = "/".join(names[:end])
            for file in (f"{base}.rs", f"{base}/mod.rs"):
                if file in self.files:
                    return file
        return None

    @cached_property
    def _impls(self) -> dict[tuple[str, str], set[str]]:
        found: dict[tuple[str, str], set[str]] = {}
        for file, path in self.files.items():
            for trait, kind in IMPL.findall(path.read_text()):
                found.setdefault((last_word(trait), last_word(kind)), set()).add(file)
        return found


@cache
def tree() -> Tree:
    return Tree(SOURCES)


def parts_of_impl(symbol: str) -> tuple[str, str | None]:
    """Of `<kind as trait>::name` kind and trait, of `<kind>::name` the kind."""
    depth = 0
    split = None
    for at, letter in enumerate(symbol):
        depth += {"<": 1, ">": -1}.get(letter, 0)
        if depth == 0:
            break
        if depth == 1 and symbol.startswith(" as ", at):
            split = at
    if split is None:
        return symbol[1:at], None
    return symbol[1:split], symbol[split + len(" as ") : at]


def without_generics(path: str) -> str:
    kept = ""
    depth = 0
    for letter in path:
        depth += {"<": 1, ">": -1}.get(letter, 0)
        if depth == 0 and letter != ">":
            kept += letter
    return kept


def last_word(path: str) -> str:
    return re.sub(r"\W", "", without_generics(path).split("::")[-1])
