"""A TCP proxy that counts bytes and can lose answers: the request arrives, its answer never does."""

import contextlib
import socket
import threading

from support import settings


class Proxy:
    """Stands before a server at `url`. After `lose(n)` the next n answers are lost.

    `sent` and `received` are what the clients sent and got, in bytes.
    """

    def __init__(self, server_url: str):
        host, port = server_url.removeprefix("http://").split(":")
        self._upstream = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._lock = threading.Lock()
        self._to_lose = 0
        self.lost = 0
        self.sent = 0
        self.received = 0

    def __enter__(self) -> "Proxy":
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        # shutdown, unlike close, wakes the thread that waits in accept.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def lose(self, answers: int) -> None:
        with self._lock:
            self._to_lose = answers

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, socket.create_connection(self._upstream) as upstream:
            client.settimeout(settings.PATIENCE_SECONDS)
            upstream.settimeout(settings.PATIENCE_SECONDS)
            requests = threading.Thread(target=self._pump, args=(client, upstream), daemon=True)
            requests.start()
            with contextlib.suppress(OSError):
                while data := upstream.recv(65536):
                    # The answer begins, so the server has done its work.
                    if self._is_lost():
                        break
                    with self._lock:
                        self.received += len(data)
                    client.sendall(data)
            for side in (client, upstream):
                with contextlib.suppress(OSError):
                    side.shutdown(socket.SHUT_RDWR)
            requests.join()

    def _is_lost(self) -> bool:
        with self._lock:
            if self._to_lose == 0:
                return False
            self._to_lose -= 1
            self.lost += 1
            return True

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                with self._lock:
                    self.sent += len(data)
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
