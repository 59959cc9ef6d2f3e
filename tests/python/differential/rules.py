"""Single rules of the contract that the model needs and that are worth reading alone."""

from typing import Any

Key = tuple[str, str, str]


def contains(found: Any, wanted: Any) -> bool:
    """Containment of JSON: objects by key, arrays as sets, scalars by value; true is not 1."""
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(
            key in found and contains(found[key], item) for key, item in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(found, list) and all(
            any(contains(one, item) for one in found) for item in wanted
        )
    if isinstance(found, dict | list):
        return False
    return isinstance(found, bool) == isinstance(wanted, bool) and found == wanted


def pending_sends_added(checkpoint: dict[str, Any], sends: list[Any]) -> None:
    """Give a checkpoint of before version 4 its pending sends, as the channel that newer ones have."""
    versions = checkpoint["channel_versions"]
    checkpoint["channel_values"]["__pregel_tasks"] = sends
    if versions:
        versions["__pregel_tasks"] = max(versions.values())


def doomed_by_prune(metadata: dict[Key, dict[str, Any]]) -> tuple[set[Key], set[tuple[str, str]]]:
    """Which checkpoints of one thread keep_latest removes, and which namespaces end with all their writes.

    The greatest id of each namespace stays. A call of a subgraph (its namespace has a task after ":") goes with the
    root checkpoint it was made from, once that one is saved.
    """
    heads: dict[tuple[str, str], Key] = {}
    for key in sorted(metadata):
        heads[key[:2]] = key
    kept, ended = set(heads.values()), set()
    for (thread, ns), head in heads.items():
        root = (thread, "", metadata[head].get("parents", {}).get(""))
        if ":" in ns and root in metadata and root != heads.get((thread, "")):
            kept.discard(head)
            ended.add((thread, ns))
    return set(metadata) - kept, ended
