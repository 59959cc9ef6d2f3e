"""Equality that sees what Python's own does not: 1, 1.0 and True differ, -0.0 and 0.0 differ, bytes are not text."""

from typing import Any


def exact(value: Any) -> Any:
    """A form of a value that compares equal only to the very same value."""
    if isinstance(value, dict):
        return {
            "dict": sorted(((exact(key), exact(item)) for key, item in value.items()), key=repr)
        }
    if isinstance(value, list | tuple):
        return [type(value).__name__, *map(exact, value)]
    if hasattr(value, "value"):
        return [type(value).__name__, exact(value.value)]
    return (type(value).__name__, repr(value))


def shown(found: Any) -> Any:
    """A checkpoint tuple in full, but only the three keys of its configs; None stays None."""
    if found is None:
        return None
    return {
        "config": address(found.config),
        "checkpoint": exact(found.checkpoint),
        "metadata": exact(found.metadata),
        "parent": address(found.parent_config),
        "writes": [exact(tuple(write)) for write in found.pending_writes],
    }


def address(config: Any) -> tuple[str, str, str] | None:
    if config is None:
        return None
    named = config["configurable"]
    return named["thread_id"], named["checkpoint_ns"], named["checkpoint_id"]
