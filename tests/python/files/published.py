"""The published sandbox suite on the backend; test_published_suite.py runs it in a process of its own."""

import asyncio
import re
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from deepagents.backends.protocol import ExecuteResponse, SandboxBackendProtocol
from langchain_tests.integration_tests import SandboxIntegrationTests
from threadkeep import Client
from threadkeep.deepagents import ThreadkeepBackend

ROOT = "/suite"
NAMESPACE = (f"u-{uuid.uuid4().hex[:12]}", "filesystem")


class Shell(ThreadkeepBackend, SandboxBackendProtocol):
    """Runs a command on a copy of the files that it names, and brings back what it changed."""

    @property
    def id(self) -> str:
        return "threadkeep"

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        folder = Path(tempfile.mkdtemp(prefix="tk-shell-"))
        try:
            before = self._files(command)
            for path, data in before.items():
                (folder / path[1:]).parent.mkdir(parents=True, exist_ok=True)
                (folder / path[1:]).write_bytes(data)
            done = subprocess.run(
                ["sh", "-c", command.replace(ROOT, f"{folder}{ROOT}")],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=timeout or 60,
            )
            after = {
                f"/{file.relative_to(folder)}": file.read_bytes()
                for file in folder.rglob("*")
                if file.is_file()
            }
            self.upload_files([it for it in after.items() if before.get(it[0]) != it[1]])
            for gone in before.keys() - after.keys():
                self.delete(gone)
            output = done.stdout.decode(errors="replace").replace(str(folder), "")
            return ExecuteResponse(output=output, exit_code=done.returncode)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    async def aexecute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        return await asyncio.to_thread(self.execute, command, timeout=timeout)

    def _files(self, command: str) -> dict[str, bytes]:
        """Those of the test: each has a folder of its own."""
        named = re.search(rf"{ROOT}/\w+", command)
        if named is None:
            return {}
        with Client() as client:
            entries = client.files.ls(NAMESPACE, named[0], recursive=True).entries
        found = self.download_files([entry.path for entry in entries])
        return {one.path: one.content or b"" for one in found}


class TestThreadkeep(SandboxIntegrationTests):
    @property
    def sandbox_root_dir(self) -> str:
        return ROOT

    @pytest.fixture(scope="class")
    def sandbox(self) -> Iterator[SandboxBackendProtocol]:
        backend = Shell(namespace=NAMESPACE)
        yield backend
        backend.close()
