"""Runs parts of the benchmark at small sizes, as `make bench` runs them at full size."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from support import settings

BENCH = settings.ROOT / "clients" / "python" / "bench"


def rows_of(folder: Path, *parts: str) -> list[dict[str, Any]]:
    """What these parts report. They check every answer that they measure."""
    assert settings.PG_BIN, "THREADKEEP_TEST_PG_BIN names the folder of initdb"
    report = folder / "rows.json"
    command = [settings.PYTHON, BENCH / "run.py", "--quick", "--only", *parts, "--json", report]
    environment = {
        **os.environ,
        "THREADKEEP_BIN": str(settings.BINARY),
        "THREADKEEP_TEST_PG_BIN": str(settings.PG_BIN),
    }
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return json.loads(report.read_text())
