"""Lists the differences between the answers of threadkeep and of the development server, each with its reason.

A pattern is held against `name of the call: place in the answer`; `*` stands for any text, `[[]` for a bracket. Where it matches many
places, it also says what stands there on both sides, so that another difference in such a place is found.
"""

from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from agent_server.official.comparing import ABSENT


class Sides(NamedTuple):
    """What each server says there, and why."""

    ours: Any
    official: Any
    reason: str


def explained(where: str, ours: Any, official: Any) -> list[str]:
    """The patterns that name this difference."""
    found = [it for it in KNOWN if fnmatchcase(where, it)]
    return [it for it in found if is_meant(KNOWN[it], ours, official)]


def is_meant(known: str | Sides, ours: Any, official: Any) -> bool:
    return isinstance(known, str) or (known.ours, known.official) == (ours, official)


NO_RUN_YET = "always there; officially only after the first run"

KNOWN: dict[str, str | Sides] = {
    "GET /ok: .body.services": "there are none",
    "GET /info: .body.flags.crons": "threadkeep starts no runs",
    "GET /info: .body.flags.langsmith*": "nothing is sent to LangSmith",
    "GET /info: .body.langgraph_py_version": "no LangGraph runs here",
    "GET /info: .body.metadata": "its deployed servers have it",
    "GET /info: .body.threadkeep": "tells clients with whom they speak",
    "*.error": Sides(None, ABSENT, NO_RUN_YET),
    "*.interrupts": Sides({}, ABSENT, NO_RUN_YET),
    "POST /threads {'thread_id': 'no-uuid'}: .status": "any text is an id of a thread",
    "POST /threads/search {'ids': [[]'no-uuid']}: .status": "any text is an id of a thread",
    "POST /threads/search {'status': None*: .status": "null is as good as absent",
    "POST /threads {'ttl': {'ttl': -1}}: .status": "what cannot be is refused",
    "POST /threads {'ttl': {'strategy': 'delete'}}: .status": "it lacks the minutes",
    "its * ttl: .body.ttl": "its development server keeps none",
    "its ttl*: .body.ttl": "its development server keeps none",
    "GET *include=all: .status": "what cannot be included is refused",
    "history *.values.messages": Sides(
        ABSENT, [], "a reducer channel that nothing was written to is not stored"
    ),
    "state at a checkpoint: .body.checkpoint.checkpoint_ns": "always there; officially as the caller named it",
    "the same with subgraphs: .body.checkpoint.checkpoint_ns": "always there; officially as the caller named it",
    "state at an absent checkpoint: .body.checkpoint*": "nothing is there; officially what was asked for",
    "state at no checkpoint: .body.checkpoint*": "nothing is there; officially what was asked for",
    "history before: .status": "an id alone is understood",
    "history before a map: .status": "officially a fault of the server",
    "PATCH of a state: .allow": "POST is allowed there, too",
    "POST /store/items/search {}: .status": "officially a fault of the server",
    "POST /store/items/search {'namespace_prefix': [[]*: .body.items*": "newest change first, as PostgresStore has it",
    "POST /store/items/search *'limit': 0}: .status": "a page has at least one row",
    "POST /assistants/search {'graph_id': 'none'}: .status": "graphs are known by threads alone: a new one has none yet",
    "POST /threads/prune *'keep_latest'}: .status": "its development server does not have it",
    "history after a prune: *": "its development server does not prune so",
    "copy: .body.config.configurable": "a copy shows at once what is in it",
    "copy: .body.values": "a copy shows at once what is in it",
    "copy: .body.status": "the copy stands as what is in it says",
    "update as a node: .status": "what follows from a node is known to the graph alone",
}
