"""The LangGraph checkpointer and the LangGraph store over HTTP."""

from threadkeep.langgraph.saver import ThreadkeepSaver
from threadkeep.langgraph.store import ThreadkeepStore

__all__ = ["ThreadkeepSaver", "ThreadkeepStore"]
