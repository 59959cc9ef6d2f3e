"""The programs that read the OpenAPI document, in an environment of their own (tests/setup/openapi.sh)."""

import os
import subprocess
from pathlib import Path

from support import settings
from support.server import clean_environment


def run_tool(
    name: str, *arguments: str | Path, cwd: Path, **environment: str
) -> "subprocess.CompletedProcess[str]":
    """Run one of them to its end, with the others in reach."""
    path = f"{settings.OPENAPI_BIN}{os.pathsep}{os.environ.get('PATH', '')}"
    return subprocess.run(
        [settings.OPENAPI_BIN / name, *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=clean_environment() | {"PATH": path} | environment,
        timeout=settings.PATIENCE_SECONDS * 20,
        check=False,
    )
