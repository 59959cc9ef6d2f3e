"""The fenced blocks of a document, with the section that each stands in."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r"^(\s*)```(\w*)$")
RUNS = {"sh", "python", "ts", "js"}
# Output, a change of another repository, and what a test of its own starts by hand.
SHOWN = {"text", "diff", "console", "toml"}


@dataclass(frozen=True)
class Block:
    document: str
    section: str
    language: str
    text: str
    line: int

    @property
    def place(self) -> str:
        return f"{self.document}:{self.line}"


class UnmarkedError(ValueError):
    """A block of which nobody can tell whether it should run."""


def blocks(document: Path, name: str) -> list[Block]:
    """All blocks, in order.

    Raises `UnmarkedError` for a fence without a known language, and for code that is only indented.
    """
    found = list(_fenced(document.read_text().splitlines(), name))
    for block in found:
        if block.language not in RUNS | SHOWN | {"json"}:
            raise UnmarkedError(f"{block.place}: the language {block.language!r} is not known")
    return found


def _fenced(lines: list[str], name: str) -> Iterator[Block]:
    section = ""
    before = ""
    numbered = iter(enumerate(lines, 1))
    for number, line in numbered:
        if opening := FENCE.match(line):
            indent = opening[1]
            inside = []
            for _, within in numbered:
                if within.strip() == "```":
                    break
                inside.append(within.removeprefix(indent))
            else:
                raise UnmarkedError(f"{name}:{number}: the block has no end")
            yield Block(name, section, opening[2], "\n".join(inside), number)
        elif line.startswith("## "):
            section = line.removeprefix("## ")
        elif line.startswith("    ") and not before:
            raise UnmarkedError(f"{name}:{number}: indented code, which is no block of a language")
        before = line.strip()
