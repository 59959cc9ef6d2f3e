"""The example of the drive runs."""

import subprocess

from support import settings


def test_the_cloud_drive_runs() -> None:
    command = [settings.PYTHON, "examples/cloud_drive/run.py", "--binary", str(settings.BINARY)]
    done = subprocess.run(
        command,
        cwd=settings.ROOT,
        capture_output=True,
        text=True,
        timeout=settings.PATIENCE_SECONDS,
    )
    assert done.returncode == 0 and done.stdout.endswith("done\n"), done.stdout + done.stderr
