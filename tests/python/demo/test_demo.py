"""The example of two processes, run as a reader would run it."""

import os
import subprocess

from support import settings
from support.server import Server, clean_environment

RUN = settings.ROOT / "examples" / "deepagents_memory" / "run.py"
REMEMBERED = [
    "process A answers: ACKNOWLEDGED",
    "process A is gone, by SIGKILL",
    "process B answers: AURORA-42",
    "process B still has /notes.md: The deployment window is Tuesday.",
]


def run_demo(**environment: str) -> list[str]:
    """The lines that the example prints. It finds no server but the one it is told of."""
    done = subprocess.run(
        [settings.PYTHON, RUN, "--binary", settings.BINARY],
        capture_output=True,
        text=True,
        env={**clean_environment(), **environment},
        timeout=settings.PATIENCE_SECONDS * 2,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_an_agent_killed_after_its_last_step_is_remembered_by_the_next(
    server: Server, api_key: str
) -> None:
    lines = run_demo(THREADKEEP_URL=server.url, THREADKEEP_API_KEY=api_key)

    assert lines == REMEMBERED


def test_the_demo_starts_a_fresh_server_when_it_is_told_of_none() -> None:
    assert "THREADKEEP_URL" not in clean_environment(), os.environ

    assert run_demo() == REMEMBERED
