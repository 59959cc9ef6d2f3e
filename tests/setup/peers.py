"""The packages that threadkeep is used with, and their versions: the pinned ones, and the newest at the last `make matrix`."""

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SETUP = ROOT / "tests" / "setup"
NEWEST = SETUP / "newest"

PYTHON_PEERS = (
    "langgraph",
    "langgraph-checkpoint",
    "langchain-core",
    "langchain",
    "deepagents",
    "claude-agent-sdk",
)
JAVASCRIPT_PEERS = (
    "@langchain/langgraph",
    "@langchain/langgraph-checkpoint",
    "@langchain/core",
    "langchain",
    "deepagents",
    "@anthropic-ai/claude-agent-sdk",
)
# What is published beside the peers: suites, and savers that ours is compared with.
PYTHON_COMPANIONS = (
    "langchain-tests",
    "langgraph-checkpoint-conformance",
    "langgraph-checkpoint-postgres",
    "langgraph-checkpoint-sqlite",
)
JAVASCRIPT_COMPANIONS = (
    "@langchain/langgraph-checkpoint-postgres",
    "@langchain/langgraph-checkpoint-validation",
)

REQUIREMENT = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", re.MULTILINE)


def pinned(language: str) -> dict[str, str]:
    """Name and version of each pinned peer of `python` or `javascript`."""
    if language == "python":
        return required(SETUP / "requirements.txt", PYTHON_PEERS)
    return locked(ROOT / "package-lock.json", JAVASCRIPT_PEERS)


def newest(language: str) -> dict[str, str]:
    """Name and version of each peer that the suites of the newest run with."""
    if language == "python":
        return required(NEWEST / "requirements.txt", PYTHON_PEERS)
    return locked(NEWEST / "package-lock.json", JAVASCRIPT_PEERS)


def published() -> dict[str, Any]:
    """What the indexes had at the last `make matrix`: `python` and `javascript`, and `asked`, the day."""
    found: dict[str, Any] = json.loads((NEWEST / "published.json").read_text())
    return found


def required(requirements: Path, names: tuple[str, ...]) -> dict[str, str]:
    """The pins of these names; a name that a file does not pin is left out."""
    pins = dict(REQUIREMENT.findall(requirements.read_text()))
    return {name: pins[name] for name in names if name in pins}


def locked(lock: Path, names: tuple[str, ...]) -> dict[str, str]:
    """The versions of these names in a lock file of npm."""
    packages = json.loads(lock.read_text())["packages"]
    return {name: packages[f"node_modules/{name}"]["version"] for name in names}
