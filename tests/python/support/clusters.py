"""Vectors that look like those of texts: groups around directions, not spread evenly."""

from __future__ import annotations

import random
from array import array
from operator import mul

DIMS = 384
GROUPS = 100
NOISE = 0.6


class Clusters:
    """The same vectors in every run."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._noise = array("f", (self._random.gauss(0, 1) for _ in range(100_000)))
        self._centres = [self._slice() for _ in range(GROUPS)]

    def vector(self) -> array[float]:
        """One in any of the groups."""
        centre = self._random.choice(self._centres)
        return array("f", (a + NOISE * b for a, b in zip(centre, self._slice(), strict=True)))

    def near(self, vector: array[float]) -> array[float]:
        """One beside it."""
        return array("f", (a + NOISE * b / 2 for a, b in zip(vector, self._slice(), strict=True)))

    def _slice(self) -> array[float]:
        start = self._random.randrange(len(self._noise) - DIMS)
        return self._noise[start : start + DIMS]


def unit(vector: array[float]) -> array[float]:
    length = sum(map(mul, vector, vector)) ** 0.5
    return array("f", (number / length for number in vector))


def cosine(a: array[float], b: array[float]) -> float:
    """Of vectors of length one."""
    return float(sum(map(mul, a, b)))
