"""Sessions of agents that are not LangGraph."""
