"""The LangGraph checkpointer and the LangGraph store over HTTP."""

from threadkeep.langgraph.changes import AsyncChanges, Changes, ItemChange, Resync
from threadkeep.langgraph.embedding import EMBED_ON_SERVER, StoreIndexConfig
from threadkeep.langgraph.saver import ThreadkeepSaver
from threadkeep.langgraph.serializer import ThreadkeepSerializer
from threadkeep.langgraph.store import ThreadkeepStore
from threadkeep.langgraph.store_history import ItemVersion, NamespaceSetting

__all__ = [
    "EMBED_ON_SERVER",
    "AsyncChanges",
    "Changes",
    "ItemChange",
    "ItemVersion",
    "NamespaceSetting",
    "Resync",
    "StoreIndexConfig",
    "ThreadkeepSaver",
    "ThreadkeepSerializer",
    "ThreadkeepStore",
]
