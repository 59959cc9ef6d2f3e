"""The agent in a sandbox: a message per line of standard input as JSON, an answer per line of output.

What it remembers is on the threadkeep server, under the session's id; `/notes/` is a folder of the
sandbox, which is gone with it unless somebody saves it.
"""

import json
import os
import sys

from deepagents import create_deep_agent
from deepagents.backends import CompositeBackend, FilesystemBackend, StateBackend
from threadkeep import label
from threadkeep.deepagents import ThreadkeepBackend
from threadkeep.langgraph import ThreadkeepSaver

from scripted_model import ScriptedModel

memories = ThreadkeepBackend(namespace=(label(os.environ["SANDBOX_USER"]), "filesystem"))
work = FilesystemBackend(root_dir=os.environ["SANDBOX_WORKDIR"], virtual_mode=True)
agent = create_deep_agent(
    model=ScriptedModel(),
    checkpointer=ThreadkeepSaver(),
    backend=CompositeBackend(
        default=StateBackend(), routes={"/memories/": memories, "/notes/": work}
    ),
)
config = {"configurable": {"thread_id": os.environ["SANDBOX_SESSION"]}}

for line in sys.stdin:
    state = agent.invoke({"messages": [("user", json.loads(line)["message"])]}, config)
    print(json.dumps({"answer": state["messages"][-1].text}), flush=True)
