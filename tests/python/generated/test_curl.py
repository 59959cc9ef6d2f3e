"""The document for curl: every block runs, in order, and answers what the document says."""

from pathlib import Path
from typing import Any

from support import executable, settings
from support.server import Server

DOCUMENT = settings.ROOT / "examples" / "curl.md"


def test_every_block_answers_what_the_document_says(
    server: Server, api_key: str, tmp_path: Path
) -> None:
    steps = executable.steps(DOCUMENT)
    environment = {"THREADKEEP_URL": server.url, "THREADKEEP_API_KEY": api_key}

    printed = executable.run([it.command for it in steps], tmp_path, environment)

    assert len(steps) > 20
    names: dict[str, Any] = {}
    for step, answer in zip(steps, printed, strict=True):
        executable.compare(step, answer, names)
    # What stood for anything at all would show nothing.
    assert len({names[it] for it in ("food", "monday", "plan", "edited plan", "fjord")}) == 5
    assert f"the version is {names['food']}," in names["conflict"]
