"""Runs the two processes of agent.py one after the other: against the server that THREADKEEP_URL
names, else against a fresh one with its own temporary folder.
"""

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent


@contextlib.contextmanager
def fresh_server(binary: Path) -> Iterator[str]:
    """The address of a new server on a free port; its data goes away with it."""
    with tempfile.TemporaryDirectory(prefix="threadkeep-demo-") as folder:
        server = subprocess.Popen(
            [binary, "serve", "--listen", "127.0.0.1:0", "--data-dir", str(Path(folder) / "data")],
            stdout=subprocess.PIPE,
            stderr=(Path(folder) / "log").open("wb"),
            text=True,
        )
        try:
            assert server.stdout is not None
            first_line = server.stdout.readline()
            if not first_line.startswith("listening on "):
                sys.exit(f"the server did not start: {(Path(folder) / 'log').read_text()}")
            yield first_line.split()[-1]
        finally:
            server.terminate()
            server.wait()


def run_agent(part: str, thread_id: str, url: str) -> int:
    """Exit status of one process of the example."""
    env = {**os.environ, "THREADKEEP_URL": url}
    return subprocess.run([sys.executable, HERE / "agent.py", part, thread_id], env=env).returncode


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--binary", type=Path, default=Path("target/release/threadkeep"))
    binary = arguments.parse_args().binary.resolve()

    with contextlib.ExitStack() as stack:
        url = os.environ.get("THREADKEEP_URL") or stack.enter_context(fresh_server(binary))
        thread_id = str(uuid.uuid4())
        status = run_agent("tell", thread_id, url)
        if status != -signal.SIGKILL:
            sys.exit(f"process A should have been killed, but ended with {status}")
        print("process A is gone, by SIGKILL", flush=True)
        sys.exit(run_agent("ask", thread_id, url))


if __name__ == "__main__":
    main()
