"""Prose as people and tools write it: the docstrings of installed packages, each used once.

Three sets of packages that share nothing: what the dictionary is trained with, what shows how
well it does on text it has not seen, and what the benchmarks write.
"""

from __future__ import annotations

import ast
import functools
import random
import re
import sysconfig
from collections.abc import Sequence
from pathlib import Path

TRAINING = ("google", "mypy", "pip", "setuptools")
HELD_OUT = ("psycopg", "pygments", "websockets")
MEASURED = ("hypothesis", "langchain_core")
PARAGRAPH_CHARACTERS_MIN = 40


class Prose:
    """Paragraphs of these packages in an order that the seed decides, none twice. ASCII only."""

    def __init__(self, packages: Sequence[str], seed: int = 0):
        found = list(dict.fromkeys(part for name in packages for part in _paragraphs(name)))
        random.Random(seed).shuffle(found)
        self._text = "\n\n".join(found).encode("ascii", "ignore").decode()
        self._at = 0

    def take(self, length: int) -> str:
        """The next `length` characters."""
        end = self._at + length
        if end > len(self._text):
            raise ValueError(f"the packages have {len(self._text)} characters of prose, no more")
        taken, self._at = self._text[self._at : end], end
        return taken

    def rest(self) -> str:
        return self.take(len(self._text) - self._at)


class Words:
    """Words of these packages, each drawn by itself as often as it occurs: no sentence of theirs.

    What is trained with it knows how English and its punctuation look and no one's text.
    """

    def __init__(self, packages: Sequence[str], seed: int = 0):
        text = Prose(packages).rest()
        # A word with the space or the end of line behind it.
        self._words = re.findall(r"\S+\s*", text)
        self._chosen = random.Random(seed)

    def take(self, length: int) -> str:
        """`length` characters."""
        text = ""
        while len(text) < length:
            text += "".join(self._chosen.choices(self._words, k=1 + length // 8))
        return text[:length]


@functools.cache
def _paragraphs(package: str) -> tuple[str, ...]:
    folder = Path(sysconfig.get_paths()["purelib"]) / package
    texts: list[str] = []
    for file in sorted(folder.rglob("*.py")):
        try:
            tree = ast.parse(file.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                texts.append(ast.get_docstring(node) or "")
    parts = (part.strip() for text in texts for part in text.split("\n\n"))
    return tuple(part for part in parts if len(part) >= PARAGRAPH_CHARACTERS_MIN)
