"""A deepagents agent whose files are a user's drive on threadkeep."""

from deepagents import create_deep_agent
from langchain_core.messages import AIMessage
from threadkeep.deepagents import threadkeep_routes

from scripted_model import ScriptedModel, call_tool


def write_files(url: str, user: str, files: dict[str, str]) -> None:
    """One turn, in which the model asks for a `write_file` of each."""
    script = [call_tool("write_file", file_path=path, content=files[path]) for path in files]
    agent = create_deep_agent(
        model=ScriptedModel(script=[*script, AIMessage("Both are in your drive.")]),
        backend=threadkeep_routes(user, url=url),
    )
    state = agent.invoke({"messages": [("user", "Write down what you have found.")]})
    print("  the agent answers:", state["messages"][-1].content)
