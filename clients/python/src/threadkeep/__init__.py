"""Client of the threadkeep server.

`Client` and `AsyncClient` are for threads, leases, retention and limits; the LangGraph
checkpointer is `threadkeep.langgraph.ThreadkeepSaver`, and `threadkeep.errors` holds what all of
them raise.
"""

from threadkeep.client import AsyncClient, Client
from threadkeep.errors import ThreadkeepError

__all__ = ["AsyncClient", "Client", "ThreadkeepError"]
