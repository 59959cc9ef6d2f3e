"""An agent writes files, a person sees them: list, download, and an address for a browser.

Starts a server of its own on an empty folder. Every request that a front end would make is shown as
the curl line that makes it.

    python examples/cloud_drive/run.py --binary target/release/threadkeep
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from agent import write_files

USER = "default"
NOTE = "# Findings\n\nThe bridge was built in 1931.\n"
PAGE = "<script>document.title = 'this must not run'</script>"


def curl(*arguments: str) -> bytes:
    print("  $ curl", " ".join(arguments))
    done = subprocess.run(
        ["curl", "-sS", "--fail-with-body", *arguments],
        check=False,
        capture_output=True,
    )
    if done.returncode != 0:
        raise SystemExit(done.stdout.decode() + done.stderr.decode())
    return done.stdout


def asked(*arguments: str) -> Any:
    return json.loads(curl(*arguments))


def person_looks(url: str) -> None:
    listing = asked(f"{url}/api/storage/list?path=/")
    names = [entry["name"] for entry in listing["entries"]]
    print("  the drive has:", ", ".join(names))
    assert names == ["findings.md", "report"], names
    assert curl(f"{url}/api/storage/download?path=/findings.md").decode() == NOTE
    with tempfile.NamedTemporaryFile(suffix=".txt") as upload:
        upload.write(b"from the person")
        upload.flush()
        file = f"file=@{upload.name};type=text/plain"
        asked("-F", "path=/inbox/hello.txt", "-F", file, f"{url}/api/storage/upload")
    address = asked(f"{url}/api/storage/url?path=/report/page.html&seconds=600")
    shown = curl("-D", "-", f"{url}{address['url']}").decode()
    assert "content-security-policy: sandbox" in shown and "attachment" in shown, shown
    print("  the page is an attachment in a sandbox: nothing in it runs")
    curl("-X", "DELETE", f"{url}/api/storage/delete?path=/inbox")
    assert len(asked(f"{url}/api/storage/list?recursive=true")["entries"]) == 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path, required=True, help="the program threadkeep")
    binary = parser.parse_args().binary.resolve()
    with tempfile.TemporaryDirectory() as folder:
        command = [
            binary,
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--data-dir",
            f"{folder}/data",
        ]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout is not None
                url = server.stdout.readline().split()[-1]
                write_files(url, USER, {"/findings.md": NOTE, "/report/page.html": PAGE})
                person_looks(url)
            finally:
                server.terminate()
    print("done")


if __name__ == "__main__":
    main()
