"""The pages that the program and its documents say themselves are not stale, and no error lacks a remedy."""

import json
import subprocess
import sys

from support import settings

SCRIPT = settings.ROOT / "tests" / "setup" / "reference_pages.py"


def test_no_page_is_stale() -> None:
    command = [sys.executable, SCRIPT, "--check", "--binary", settings.BINARY]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_error_stands_in_troubleshooting() -> None:
    page = (settings.ROOT / "docs" / "troubleshooting.md").read_text()
    document = json.loads((settings.ROOT / "openapi" / "openapi.json").read_text())
    codes = document["components"]["schemas"]["ProblemCode"]["enum"]
    assert len(codes) > 50
    assert [it for it in codes if f"`{it}`" not in page] == []
