"""What a pooler in transaction mode does to a session: its settings do not reach the database."""

import contextlib
import shutil
import socket
import tempfile
import threading
from pathlib import Path
from urllib.parse import parse_qs, urlsplit, urlunsplit

from support import settings

SOCKET = ".s.PGSQL.5432"


class ForgetfulPooler:
    """Stands before a PostgreSQL, on a socket of its own, and changes one text of each first message.

    Both texts must have the same length: the message says how long it is.
    """

    def __init__(self, database_url: str, setting: bytes, changed: bytes):
        assert len(setting) == len(changed)
        self._change = (setting, changed)
        self._database = urlsplit(database_url)
        self._folder = Path(tempfile.mkdtemp(prefix="tk-pooler-"))
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self._folder / SOCKET))
        self._listener.listen()
        user = self._database.netloc.rpartition("@")[0]
        place = self._database._replace(netloc=f"{user}@localhost", query=f"host={self._folder}")
        self.url = urlunsplit(place)
        self.changed = 0
        """First messages that had the text."""

    def __enter__(self) -> "ForgetfulPooler":
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _connect(self) -> socket.socket:
        folder = parse_qs(self._database.query).get("host")
        if folder is None:
            place = (self._database.hostname or "localhost", self._database.port or 5432)
            return socket.create_connection(place, settings.PATIENCE_SECONDS)
        upstream = socket.socket(socket.AF_UNIX)
        upstream.settimeout(settings.PATIENCE_SECONDS)
        upstream.connect(f"{folder[0]}/{SOCKET}")
        return upstream

    def _serve(self, client: socket.socket) -> None:
        with client, self._connect() as upstream, contextlib.suppress(OSError):
            client.settimeout(settings.PATIENCE_SECONDS)
            first = client.recv(65_536)
            self.changed += self._change[0] in first
            upstream.sendall(first.replace(*self._change))
            threading.Thread(target=self._pump, args=(client, upstream), daemon=True).start()
            self._pump(upstream, client)

    @staticmethod
    def _pump(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                target.sendall(data)
            target.shutdown(socket.SHUT_RDWR)
