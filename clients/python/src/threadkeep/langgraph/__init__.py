"""The LangGraph checkpointer and the LangGraph store over HTTP."""

from threadkeep.langgraph.changes import AsyncChanges, Changes, ItemChange, Resync
from threadkeep.langgraph.saver import ThreadkeepSaver
from threadkeep.langgraph.store import ThreadkeepStore

__all__ = [
    "AsyncChanges",
    "Changes",
    "ItemChange",
    "Resync",
    "ThreadkeepSaver",
    "ThreadkeepStore",
]
