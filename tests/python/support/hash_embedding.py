"""An embedding without a model: a text is the sum of its words, each a direction of its own.

Texts that share words are near, everything is the same in every run, and ties are rare.
"""

import hashlib
import math
import struct
from collections.abc import Sequence

DIMS = 24


def embed(texts: Sequence[str], dims: int = DIMS) -> list[list[float]]:
    return [_text(text, dims) for text in texts]


def _text(text: str, dims: int) -> list[float]:
    total = [1e-3] * dims
    for word in text.lower().split():
        total = [a + b for a, b in zip(total, _word(word, dims), strict=True)]
    length = math.sqrt(sum(number * number for number in total))
    return [number / length for number in total]


def _word(word: str, dims: int) -> list[float]:
    digest = hashlib.shake_256(word.encode("utf-8", "surrogatepass")).digest(4 * dims)
    return [number / 2**31 - 1 for number in struct.unpack(f"<{dims}I", digest)]
