"""The LangGraph checkpointer over HTTP."""

from threadkeep.langgraph.saver import ThreadkeepSaver

__all__ = ["ThreadkeepSaver"]
