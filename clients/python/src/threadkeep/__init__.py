"""Client of the threadkeep server.

`Client` and `AsyncClient` are for threads, leases, retention, tokens and limits; the LangGraph
checkpointer is `threadkeep.langgraph.ThreadkeepSaver`, and `threadkeep.errors` holds what all of
them raise. `label` makes a namespace label of a subject, `label_with_colons` its former one.
"""

from threadkeep.client import AsyncClient, Client
from threadkeep.errors import ThreadkeepError
from threadkeep.labels import label, label_with_colons

__all__ = ["AsyncClient", "Client", "ThreadkeepError", "label", "label_with_colons"]
