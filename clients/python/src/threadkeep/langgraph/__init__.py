"""The LangGraph checkpointer and the LangGraph store over HTTP."""

from threadkeep.langgraph.saver import ThreadkeepSaver
from threadkeep.langgraph.store import ThreadkeepStore
from threadkeep.langgraph.store_history import ItemVersion, NamespaceSetting

__all__ = ["ItemVersion", "NamespaceSetting", "ThreadkeepSaver", "ThreadkeepStore"]
