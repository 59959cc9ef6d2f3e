"""Vectors that look like those of texts: mixtures of topics, not spread evenly."""

from __future__ import annotations

import random
from array import array
from operator import mul

DIMS = 384
TOPICS = 64
NOISE = 0.8


class Clusters:
    """The same vectors in every run."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._noise = array("f", (self._random.gauss(0, 1) for _ in range(100_000)))
        self._topics = [self._slice() for _ in range(TOPICS)]

    def vector(self) -> array[float]:
        """One about some of the topics, each to its own degree."""
        first, second, third = self._random.sample(self._topics, 3)
        a, b, c = (self._random.random() for _ in range(3))
        parts = zip(first, second, third, self._slice(), strict=True)
        return array("f", (a * w + b * x + c * y + NOISE * z for w, x, y, z in parts))

    def near(self, vector: array[float]) -> array[float]:
        """One beside it."""
        pairs = zip(vector, self._slice(), strict=True)
        return array("f", (a + NOISE * b / 20 for a, b in pairs))

    def _slice(self) -> array[float]:
        start = self._random.randrange(len(self._noise) - DIMS)
        return self._noise[start : start + DIMS]


def unit(vector: array[float]) -> array[float]:
    length = sum(map(mul, vector, vector)) ** 0.5
    return array("f", (number / length for number in vector))


def cosine(a: array[float], b: array[float]) -> float:
    """Of vectors of length one."""
    return float(sum(map(mul, a, b)))
