"""The store: LangGraph's contract over HTTP, on both engines."""
