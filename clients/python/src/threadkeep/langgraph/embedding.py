"""Vectors for operations of the store: texts by field paths, embedded here, once for a batch.

Paths, texts and wrappers are those of `langgraph.store.base`, so that an `index` setting means what
it means to PostgresStore.
"""

from __future__ import annotations

import asyncio
import sys
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, cast

from langgraph.store.base import (
    IndexConfig,
    Op,
    PutOp,
    SearchOp,
    ensure_embeddings,
    get_text_at_path,
    tokenize_path,
)

from threadkeep.errors import InvalidError
from threadkeep.langgraph.items import FinderOp, Wire

Metric = Literal["cosine", "l2", "inner_product"]
Path = tuple[str, str | list[str]]
Extra = Wire | Exception
"""What an operation takes along on the wire, or why it cannot be sent."""

EMBED_ON_SERVER = "threadkeep:server"
"""As `embed`: the server makes the vectors, in the background. `dims` is not needed then."""
METRICS = ("cosine", "l2", "inner_product")
MODEL_CHARACTERS_MAX = 128


class StoreIndexConfig(IndexConfig, total=False):
    """What PostgresStore takes, and `model`."""

    distance_type: Metric
    """What `score` is: the cosine (the default), the negated distance, or the inner product."""
    ann_index_config: Mapping[str, Any]
    """Accepted and not used: the server chooses its index."""
    model: str
    """Name of what makes the vectors. Only vectors of one name are compared. By default the name
    of the embeddings where they have one, else `default-` and the dimensions."""


class Embedder:
    """Embeds what the operations of a batch need: all texts of puts in one call."""

    def __init__(self, index: IndexConfig) -> None:
        settings = cast(StoreIndexConfig, index)
        self.embeddings = ensure_embeddings(settings.get("embed"))
        self._dims = settings["dims"]
        self._paths = [path_of(field) for field in fields_of(settings)]
        self._metric = settings.get("distance_type", "cosine")
        self._model = settings.get("model") or model_of(settings.get("embed"), self._dims)

    def extras(self, ops: Sequence[Op]) -> list[Extra]:
        """One per operation."""
        needs = [self._needs(op) for op in ops]
        try:
            return self._extras(ops, needs, self._embed(needs))
        except Exception:
            return [self._alone(op, need) for op, need in zip(ops, needs, strict=True)]

    async def aextras(self, ops: Sequence[Op]) -> list[Extra]:
        """The same without blocking."""
        needs = [self._needs(op) for op in ops]
        try:
            return self._extras(ops, needs, await self._aembed(needs))
        except Exception:
            pairs = zip(ops, needs, strict=True)
            return [await self._alone_async(op, need) for op, need in pairs]

    def _needs(self, op: Op) -> Needs:
        """Fields with texts, or a query."""
        if isinstance(op, SearchOp):
            return [], (op.query or None) if wants_vectors(op) else None
        if not isinstance(op, PutOp) or not isinstance(op.value, Mapping) or op.index is False:
            return [], None
        paths = self._paths if op.index is None else [path_of(field) for field in op.index]
        value = dict(op.value)
        texts: list[tuple[str, str]] = []
        for name, tokens in paths:
            try:
                found = get_text_at_path(value, tokens)
            except (TypeError, ValueError, RecursionError):
                # No JSON: refused, with its own error, where the value is written out.
                continue
            texts += (
                [(name, found[0])]
                if len(found) == 1
                else [(f"{name}.{at}", text) for at, text in enumerate(found)]
            )
        return texts, None

    def _embed(self, needs: Sequence[Needs]) -> Vectors:
        texts, queries = distinct(needs)
        of_texts = self.embeddings.embed_documents(texts) if texts else []
        of_queries = [self.embeddings.embed_query(query) for query in queries]
        return self._checked(texts, of_texts), self._checked(queries, of_queries)

    async def _aembed(self, needs: Sequence[Needs]) -> Vectors:
        texts, queries = distinct(needs)
        of_texts = await self.embeddings.aembed_documents(texts) if texts else []
        asked = (self.embeddings.aembed_query(query) for query in queries)
        return self._checked(texts, of_texts), self._checked(queries, await asyncio.gather(*asked))

    def _checked(
        self, texts: Sequence[str], vectors: Sequence[Sequence[float]]
    ) -> dict[str, bytes]:
        if len(vectors) != len(texts):
            raise InvalidError(
                f"embed returned {len(vectors)} vectors for {len(texts)} texts", field="index.embed"
            )
        return {text: self._bytes(vector) for text, vector in zip(texts, vectors, strict=True)}

    def _bytes(self, vector: Sequence[float]) -> bytes:
        if len(vector) != self._dims:
            raise InvalidError(
                f"embed returned a vector of {len(vector)} numbers, index.dims is {self._dims}",
                field="index.dims",
            )
        try:
            numbers = array("f", vector)
        except (TypeError, OverflowError) as error:
            raise InvalidError(f"embed returned no vector: {error}", field="index.embed") from error
        if sys.byteorder == "big":
            numbers.byteswap()
        return numbers.tobytes()

    def _extras(self, ops: Sequence[Op], needs: Sequence[Needs], vectors: Vectors) -> list[Extra]:
        return [self._extra(op, need, vectors) for op, need in zip(ops, needs, strict=True)]

    def _extra(self, op: Op, need: Needs, vectors: Vectors) -> Wire:
        (texts, query), (of_texts, of_queries) = need, vectors
        if query is not None and wants_vectors(op):
            found = of_queries[query]
            return {"query_vector": found, "model": self._model, "metric": self._metric}
        if texts:
            named = [{"field": name, "vector": of_texts[text]} for name, text in texts]
            return {"vectors": named, "model": self._model}
        return {}

    def _alone(self, op: Op, need: Needs) -> Extra:
        """Where embedding for all failed, each operation has its own error."""
        try:
            return self._extra(op, need, self._embed([need]))
        except Exception as error:
            return error

    async def _alone_async(self, op: Op, need: Needs) -> Extra:
        try:
            return self._extra(op, need, await self._aembed([need]))
        except Exception as error:
            return error


class OnServer:
    """The same where the server makes the vectors: it is told the paths and the query."""

    embeddings = None

    def __init__(self, index: IndexConfig) -> None:
        self._fields = fields_of(index)
        self._metric = cast(StoreIndexConfig, index).get("distance_type", "cosine")

    def extras(self, ops: Sequence[Op]) -> list[Extra]:
        """One per operation."""
        return [self._extra(op) for op in ops]

    async def aextras(self, ops: Sequence[Op]) -> list[Extra]:
        """The same."""
        return self.extras(ops)

    def _extra(self, op: Op) -> Wire:
        if isinstance(op, SearchOp):
            asks = op.query and wants_vectors(op)
            return {"query": op.query, "metric": self._metric} if asks else {}
        if not isinstance(op, PutOp) or op.value is None or op.index is False:
            return {}
        return {"index": self._fields if op.index is None else list(op.index)}


def embedder_of(index: IndexConfig | None) -> Embedder | OnServer | None:
    """Of a store's setting."""
    if index is None:
        return None
    return OnServer(index) if index.get("embed") == EMBED_ON_SERVER else Embedder(index)


Needs = tuple[list[tuple[str, str]], str | None]
Vectors = tuple[dict[str, bytes], dict[str, bytes]]


def wants_vectors(op: Op) -> bool:
    """Whether a search with a query goes by vectors: unless it says otherwise."""
    mode = op.more.get("mode") if isinstance(op, FinderOp) else None
    return mode in (None, "vector", "hybrid")


def distinct(needs: Iterable[Needs]) -> tuple[list[str], list[str]]:
    """Texts and queries, each once, in their order."""
    texts: dict[str, None] = {}
    queries: dict[str, None] = {}
    for of_put, query in needs:
        texts.update((text, None) for _, text in of_put)
        if query is not None:
            queries[query] = None
    return list(texts), list(queries)


def path_of(field: str) -> Path:
    """A path with its tokens."""
    return field, "$" if field == "$" else tokenize_path(field)


def fields_of(index: Mapping[str, Any]) -> list[str]:
    """The paths that are embedded; the whole value by default."""
    fields = index.get("fields") or ["$"]
    return [fields] if isinstance(fields, str) else list(fields)


def model_of(embed: object, dims: int) -> str:
    """A name for what has none of its own, or has one with other characters than names have."""
    named = (embed, getattr(embed, "model", None), getattr(embed, "model_name", None))
    name = next((it for it in named if isinstance(it, str) and it), f"default-{dims}")
    plain = "".join(it if "!" <= it <= "~" and it not in "'\"\\" else "-" for it in name)
    return plain[:MODEL_CHARACTERS_MAX]
