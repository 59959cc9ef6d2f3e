"""A client that openapi-python-client makes from the served document: no warning, sound types, and a
whole story on it.
"""

import shutil
from pathlib import Path

import pytest

from support import settings
from support.openapi import run_tool
from support.server import Server

STORY = settings.ROOT / "examples" / "generated_python" / "story.py"
TOLD = [
    "thread: 2 checkpoints, the last one says Norway",
    "store: 2 items, found by filter; a stale put is refused",
    "files: 264 bytes up and down, one edit",
    "snapshots: taken, listed, restored beside and in place; the thread says Norway again",
    "refusals: not granted, invalid, unauthorized",
    "done",
]


@pytest.fixture(scope="module")
def workshop(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the story and the client that it imports, made from this server's document."""
    folder = tmp_path_factory.mktemp("generated")
    document = f"{server.url}/openapi.json"
    options = ["--url", document, "--meta", "none", "--output-path", folder / "client"]
    made = run_tool("openapi-python-client", "generate", "--fail-on-warning", *options, cwd=folder)
    said = made.stdout + made.stderr
    assert made.returncode == 0, said
    assert not [word for word in ("arning", "rror", "kipping") if word in said], said
    shutil.copy(STORY, folder)
    return folder


def test_a_story_is_told_with_the_generated_client(
    workshop: Path, server: Server, api_key: str
) -> None:
    told = run_tool(
        "python",
        "story.py",
        cwd=workshop,
        THREADKEEP_URL=server.url,
        THREADKEEP_API_KEY=api_key,
    )

    assert told.returncode == 0, told.stdout + told.stderr
    assert told.stdout.splitlines() == TOLD


def test_the_story_is_typed_by_the_generated_client(workshop: Path) -> None:
    options = ["--strict", "--follow-imports=silent", "--cache-dir", settings.ROOT / "target/mypy"]
    checked = run_tool("mypy", *options, "story.py", cwd=workshop)

    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_no_operation_and_no_body_is_left_out_or_numbered(workshop: Path, server: Server) -> None:
    document = server.get("/openapi.json").json()
    wanted = {it["operationId"] for path in document["paths"].values() for it in path.values()}
    made = {path.stem for path in (workshop / "client/api").glob("*/*.py")} - {"__init__"}
    assert made == wanted
    models = {path.stem for path in (workshop / "client/models").glob("*.py")}
    # What has no name of its own is called after where it stands.
    nameless = {name for name in models if "_type_" in name or "_response_" in name}
    assert nameless == set()
