"""Client of the threadkeep server.

`Client` and `AsyncClient` are for threads, leases, retention, tokens and limits; the LangGraph
checkpointer is `threadkeep.langgraph.ThreadkeepSaver`, and `threadkeep.errors` holds what all of
them raise. `label` makes a namespace label of a subject.
"""

from threadkeep.client import AsyncClient, Client
from threadkeep.errors import ThreadkeepError
from threadkeep.labels import label

__all__ = ["AsyncClient", "Client", "ThreadkeepError", "label"]
