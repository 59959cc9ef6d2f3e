"""The example of the drive runs."""

import subprocess

from support import settings
from support.server import clean_environment


def test_the_cloud_drive_runs() -> None:
    command = [settings.PYTHON, "examples/cloud_drive/run.py", "--binary", str(settings.BINARY)]
    done = subprocess.run(
        command,
        cwd=settings.ROOT,
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=settings.PATIENCE_SECONDS,
    )
    assert done.returncode == 0 and done.stdout.endswith("done\n"), done.stdout + done.stderr
    assert "the agent answers: Both are in your drive." in done.stdout
