"""The `index` and `ttl` settings, as PostgresStore takes them, checked when a store is made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langgraph.store.base import IndexConfig, TTLConfig

from threadkeep.errors import InvalidError
from threadkeep.langgraph.embedding import EMBED_ON_SERVER, METRICS, model_of

TTL_FIELDS = frozenset({"refresh_on_read", "omit_expired", "default_ttl", "sweep_interval_minutes"})


def checked_index(index: IndexConfig | None) -> IndexConfig | None:
    """Needs `dims` and `embed`; `fields` are paths, by default the whole value."""
    if index is None:
        return None
    settings = _mapping(index, "index")
    dims, fields = settings.get("dims"), settings.get("fields") or ["$"]
    metric, model = settings.get("distance_type", "cosine"), settings.get("model")
    if settings.get("embed") == EMBED_ON_SERVER:
        dims = 1
    if isinstance(dims, bool) or not isinstance(dims, int) or dims < 1:
        raise InvalidError("index.dims must be a whole number, 1 or more", field="index.dims")
    if settings.get("embed") is None:
        raise InvalidError("index.embed must be a function, embeddings or a name", field="index")
    fields = [fields] if isinstance(fields, str) else fields
    if not isinstance(fields, list) or not all(isinstance(path, str) for path in fields):
        raise InvalidError("index.fields must be a list of paths", field="index.fields")
    if metric not in METRICS:
        choices = ", ".join(METRICS)
        raise InvalidError(
            f"index.distance_type must be one of {choices}", field="index.distance_type"
        )
    if model is not None and (not isinstance(model, str) or model != model_of(model, 0)):
        raise InvalidError(
            "index.model must be a name of visible ASCII characters", field="index.model"
        )
    return index


def checked_ttl(ttl: TTLConfig | None) -> TTLConfig | None:
    """`default_ttl` is in minutes. What has expired is always omitted, and the server sweeps.

    So `omit_expired` must be True where it is given, and `sweep_interval_minutes` has no effect.
    """
    if ttl is None:
        return None
    settings = _mapping(ttl, "ttl")
    if unknown := set(settings) - TTL_FIELDS:
        raise InvalidError(f"ttl has no setting {sorted(unknown)[0]!r}", field="ttl")
    if settings.get("omit_expired", True) is not True:
        raise InvalidError(
            "ttl.omit_expired must be True or left out: the server never shows what has expired",
            field="ttl.omit_expired",
        )
    default = settings.get("default_ttl")
    if default is not None and (
        isinstance(default, bool) or not isinstance(default, (int, float)) or not default >= 0
    ):
        raise InvalidError("ttl.default_ttl must be minutes, 0 or more", field="ttl.default_ttl")
    return ttl


def _mapping(settings: object, field: str) -> Mapping[str, Any]:
    if not isinstance(settings, Mapping):
        raise InvalidError(f"{field} must be a mapping", field=field)
    return settings
