"""An S3-compatible server as a child process, and a look at what is in it."""

import os
import re
import subprocess
from pathlib import Path

from support import settings
from support.child import Child
from support.http import Answer, request
from support.server import free_port
from support.waiting import wait_until

BUCKET = "bucket"
# The server asks for a signature and does not check it.
SIGNED = {
    "Authorization": "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, "
    "SignedHeaders=host, Signature=0"
}
SECRET = "the-secret-of-the-object-store"


class ObjectStore(Child):
    """Holds its objects in memory: they are gone when it is stopped."""

    def __init__(self, folder: Path):
        self.url = f"http://127.0.0.1:{free_port()}"
        self.log = folder / "object-store.log"

    def start(self) -> "ObjectStore":
        port = self.url.rsplit(":", 1)[1]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [settings.S3_BIN, "-p", port],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={"PATH": os.environ["PATH"]},
            )
        wait_until(self._listens, "the S3-compatible server")
        assert self.ask("PUT", f"/{BUCKET}").status == 200
        return self

    def _listens(self) -> bool:
        """Itself, and not another program that has taken the port."""
        self.check_alive()
        return f"Running on {self.url}\n" in self.log.read_text()

    def ask(self, method: str, path: str) -> Answer:
        return request(self.url, method, path, headers=SIGNED)

    def environment(self) -> dict[str, str]:
        """What a server needs to reach it."""
        return {
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT": self.url,
            "AWS_ALLOW_HTTP": "true",
        }

    def stored(self) -> set[str]:
        """The keys of all objects."""
        answer = self.ask("GET", f"/{BUCKET}?list-type=2&max-keys=1000")
        assert answer.status == 200, answer
        return set(re.findall(r"<Key>(.*?)</Key>", answer.body.decode()))
