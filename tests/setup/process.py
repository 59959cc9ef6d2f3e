"""Runs a command: shows and keeps its output, says how long it took, and lets it clean up on Ctrl-C."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

CLEAN_UP_SECONDS = 60


def run(
    title: str, command: Sequence[str | Path], *, cwd: Path, env: Mapping[str, str]
) -> tuple[int, str]:
    """Exit status and all output. An interruption is passed on, the child's end awaited."""
    print(f"\n== {title}", flush=True)
    begun = time.monotonic()
    child = subprocess.Popen(
        list(command),
        cwd=cwd,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        # A group of its own: an interruption reaches it once, through us.
        start_new_session=True,
    )
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    assert child.stdout is not None
    lines = []
    try:
        for line in child.stdout:
            print(line, end="", flush=True)
            lines.append(line)
        code = child.wait()
        print(f"== {title}: {time.monotonic() - begun:.0f} s", flush=True)
        return code, "".join(lines)
    except KeyboardInterrupt:
        print(f"interrupted: waiting for {title} to clean up", flush=True)
        os.killpg(child.pid, signal.SIGTERM)
        for line in child.stdout:
            print(line, end="", flush=True)
        child.wait(CLEAN_UP_SECONDS)
        sys.exit(130)
    finally:
        signal.signal(signal.SIGTERM, previous)
