"""A deepagents agent whose memory is threadkeep. Run it as two processes with one thread id:

    python agent.py tell THREAD    is told a password, writes a file, and is killed with SIGKILL
    python agent.py ask THREAD     is asked for the password and reads the file

The server is found through THREADKEEP_URL and THREADKEEP_API_KEY.
"""

import os
import re
import signal
import sys

from deepagents import create_deep_agent
from langchain_core.messages import AIMessage, BaseMessage
from threadkeep.langgraph import ThreadkeepSaver

from scripted_model import ScriptedModel, call_tool

FILE = "/notes.md"
NOTE = "The deployment window is Tuesday."


def recall(messages: list[BaseMessage]) -> AIMessage:
    """Answers from the conversation alone, as a model would: it knows only what a human said."""
    for message in messages:
        told = re.search(r"password: ([A-Z]+-\d+)", str(message.content))
        if message.type == "human" and told:
            return AIMessage(told[1])
    return AIMessage("This appears to be the start of our conversation.")


def say(text: str, script: list[object], thread_id: str) -> tuple[str, dict[str, dict[str, str]]]:
    """One turn of the agent: what it answers, and its files afterwards."""
    agent = create_deep_agent(model=ScriptedModel(script=script), checkpointer=ThreadkeepSaver())
    config = {"configurable": {"thread_id": thread_id}}
    state = agent.invoke({"messages": [("user", text)]}, config)
    return state["messages"][-1].content, state.get("files", {})


def tell(thread_id: str) -> None:
    write = call_tool("write_file", file_path=FILE, content=NOTE)
    answer, _ = say(
        "Remember the password: AURORA-42. Reply: ACKNOWLEDGED.",
        [write, AIMessage("ACKNOWLEDGED")],
        thread_id,
    )
    print(f"process A answers: {answer}", flush=True)
    # The last step was acknowledged. No cleaning up, no closing, no chance to save anything more.
    os.kill(os.getpid(), signal.SIGKILL)


def ask(thread_id: str) -> None:
    answer, files = say("What was the password I told you earlier?", [recall], thread_id)
    print(f"process B answers: {answer}")
    print(f"process B still has {FILE}: {files.get(FILE, {}).get('content', 'no, it is gone')}")


if __name__ == "__main__":
    {"tell": tell, "ask": ask}[sys.argv[1]](sys.argv[2])
