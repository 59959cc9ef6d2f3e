"""The example of a sandbox that is killed and restored, run as a reader would run it."""

import subprocess

from support import settings
from support.server import Server, clean_environment

RUN = settings.ROOT / "examples" / "warm_sandbox" / "run.py"
HEAD = "                    Python      JavaScript"
ROWS = ["conversation", "/memories/ file", "state file", "OS work directory"]


def run_demo(*arguments: str, **environment: str) -> tuple[int, list[str]]:
    """Exit status and the lines that it prints. It finds no server but the one it is told of."""
    done = subprocess.run(
        [settings.PYTHON, RUN, "--binary", settings.BINARY, *arguments],
        capture_output=True,
        text=True,
        env={**clean_environment(), **environment},
        timeout=settings.PATIENCE_SECONDS * 4,
        check=False,
    )
    lines = done.stdout.splitlines()
    assert lines and lines[0] == HEAD, done.stdout + done.stderr
    return done.returncode, lines[1:]


def table(word: str, *, but: str = "") -> list[str]:
    words = [("PASS" if row == but else word) for row in ROWS]
    return [f"{row:20}{one:12}{one}" for row, one in zip(ROWS, words, strict=True)]


def test_a_sandbox_that_is_killed_comes_back_as_it_was_saved(server: Server, api_key: str) -> None:
    told = run_demo(THREADKEEP_URL=server.url, THREADKEEP_API_KEY=api_key)

    assert told == (0, table("PASS"))


def test_without_the_restore_it_does_not(server: Server, api_key: str) -> None:
    told = run_demo(
        "--restore", "nothing", "--times", "1",
        THREADKEEP_URL=server.url, THREADKEEP_API_KEY=api_key,
    )  # fmt: skip

    assert told == (1, table("FAIL"))


def test_the_latest_conversation_is_kept_where_it_is_asked_for() -> None:
    """And with a fresh server, which has no keys."""
    assert run_demo("--restore", "latest", "--times", "1") == (
        1,
        table("FAIL", but="OS work directory"),
    )
