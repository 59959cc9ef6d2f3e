"""What outlives a sandbox: snapshots of its conversation, its user's memories and its work folder.

The manager alone knows the key of the server; a sandbox gets a
token for its own thread and its user's memories.
"""

import tarfile
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from threadkeep import Client, label
from threadkeep.snapshots import Snapshot

from sandbox import Purpose, Sandbox, new_folder

ALL = ["read", "append", "write"]
TOKEN_SECONDS = 24 * 60 * 60


class Memory:
    """The part of the manager that talks to threadkeep."""

    def __init__(self, url: str, api_key: str | None) -> None:
        self._url = url
        self._api_key = api_key
        self._client = Client(url, api_key=api_key)

    def environment(self, purpose: Purpose) -> dict[str, str]:
        """What a sandbox may know: the server, and a token for what is its own."""
        if self._api_key is None:
            return {"THREADKEEP_URL": self._url}
        token = self._client.tokens.mint(
            grants={
                "threads": [{"id": purpose.session_id, "actions": ALL}],
                "namespaces": [{"prefix": _memories(purpose), "actions": ALL}],
            },
            ttl_seconds=TOKEN_SECONDS,
        )
        return {"THREADKEEP_URL": self._url, "THREADKEEP_API_KEY": token.token}

    def save(self, sandbox: Sandbox, snapshot_id: str) -> Snapshot:
        """Take a snapshot. The folder is staged first; all of it is one moment between chats."""
        purpose = sandbox.purpose
        with tempfile.TemporaryFile() as file:
            with tarfile.open(fileobj=file, mode="w") as tar:
                tar.add(sandbox.folder, arcname=".")
            file.seek(0)
            # One name for all sandboxes of a session: of a folder that hardly changed, what is new is stored.
            archive = self._client.snapshots.put_archive(purpose.session_id, file)
        is_told = self._client.get_thread(purpose.session_id) is not None
        return self._client.snapshots.take(
            snapshot_id,
            threads=[purpose.session_id] if is_told else [],
            namespaces=[_memories(purpose)],
            archive=archive,
            document=asdict(purpose),
            labels={"sandbox": sandbox.sandbox_id},
        )

    def find(self, snapshot_id: str) -> Purpose | None:
        """What a snapshot was taken of; None when there is none of that id."""
        found = self._client.snapshots.get(snapshot_id)
        if found is None:
            return None
        named = {name: found.document[name] for name in ("harness", "user", "session_id")}
        return Purpose(**named)

    def restore(self, snapshot_id: str, conversation: Literal["snapshot", "latest"]) -> Path:
        """Bring back what was saved, and answer the work folder, unpacked.

        With `latest`, conversation and memories stay as they are now: only the folder is the
        snapshot's. Else whoever still writes to the thread is refused from now on.
        """
        if conversation == "snapshot":
            self._client.snapshots.restore(snapshot_id)
        folder = new_folder()
        with tempfile.TemporaryFile() as file:
            self._client.snapshots.get_archive(snapshot_id, file)
            file.seek(0)
            with tarfile.open(fileobj=file) as archive:
                archive.extractall(folder, filter="data")
        return folder


def _memories(purpose: Purpose) -> list[Any]:
    return [label(purpose.user), "filesystem"]
