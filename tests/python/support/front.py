"""A front before a PostgreSQL of the tests: speaks TLS as PostgreSQL does, and makes the network bad on command.

The PostgreSQL of the tests may be built without TLS. What a client sees is the same: it asks with an SSLRequest, is told `S`, and
speaks TLS by OpenSSL from there.
"""

import contextlib
import enum
import select
import socket
import ssl
import threading
import time
from pathlib import Path
from typing import NamedTuple

from support.certificates import Issued
from support.messages import Messages
from support.postgres import Postgres
from support.server import Place

SSL_REQUEST = bytes.fromhex("0000000804d2162f")


class Network(enum.Enum):
    """What becomes of bytes."""

    GOOD = enum.auto()
    # Nothing arrives any more, in either direction; connections stay open, new ones are accepted and never answered.
    SWALLOWS = enum.auto()
    # The connections that there are swallow; new ones work.
    SWALLOWS_OLD = enum.auto()
    # Statements arrive, their answers do not; new connections work.
    LOSES_ANSWERS = enum.auto()
    # All arrives, late.
    SLOW = enum.auto()
    # New connections are closed at once.
    REFUSES = enum.auto()


DELAY_SECONDS = 0.05


class Kind(NamedTuple):
    """Of a message: who sends it, and the letter of its type (empty: the first one of a client)."""

    is_answer: bool
    letter: str


class Direction:
    """One direction of a connection, and where it is to be cut."""

    def __init__(self, *, is_answer: bool) -> None:
        self.is_answer = is_answer
        self._messages = Messages(of_client=not is_answer)
        # Bytes that still pass before the cut.
        self._passing: int | None = None

    def kinds(self, data: bytes, wanted: Kind | None) -> set[Kind]:
        """Of the messages that begin in these bytes. In the first one of the wanted kind the connection is to be cut."""
        found = set()
        for message in self._messages.feed(data):
            kind = Kind(self.is_answer, message.letter)
            found.add(kind)
            if kind == wanted and self._passing is None:
                self._passing = message.middle
        return found

    def take(self, data: bytes) -> tuple[bytes, bool]:
        """What of these bytes passes, and whether that was the last."""
        if self._passing is None:
            return data, False
        passed = data[: self._passing]
        self._passing -= len(passed)
        return passed, self._passing == 0


class Front:
    """Listens at `host` and `port`. Without a certificate it speaks plain, and says `N` to an SSLRequest."""

    def __init__(
        self, postgres: Postgres, served: Issued | None = None, clients: Path | None = None
    ) -> None:
        """`clients` is the authority whose certificates clients must show."""
        self.postgres = postgres
        self._context = _context(served, clients) if served else None
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._network = Network.GOOD
        self._epoch = 0
        self._sockets: set[socket.socket] = set()
        # In a message of this kind the next connection is cut that has one.
        self._wanted: Kind | None = None
        self.seen: set[Kind] = set()
        # Connections: all, those that spoke TLS, those that spoke plain.
        self.connections = 0
        self.encrypted = 0
        self.plain = 0

    def __enter__(self) -> "Front":
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def url(self, name: str, *parameters: str, host: str = "localhost") -> str:
        query = f"?{'&'.join(parameters)}" if parameters else ""
        return f"postgres://postgres@{host}:{self.port}/{name}{query}"

    def become(self, network: Network) -> None:
        with self._lock:
            self._network = network
            self._epoch += 1

    def serve(self, postgres: Postgres) -> None:
        """New connections lead to another server, as a name or an address that moved."""
        with self._lock:
            self.postgres = postgres

    def cut(self) -> None:
        """Resets every connection."""
        with self._lock:
            sockets, self._sockets = self._sockets, set()
        for it in sockets:
            with contextlib.suppress(OSError):
                it.shutdown(socket.SHUT_RDWR)

    def cut_within(self, kind: Kind) -> None:
        """Cuts one connection in the middle of the next message of this kind."""
        with self._lock:
            self._wanted = kind

    @property
    def is_cut_within(self) -> bool:
        """Whether that has happened."""
        with self._lock:
            return self._wanted is None

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _passes(self, epoch: int, *, is_answer: bool) -> bool:
        """Whether bytes of a connection that was made in this epoch arrive now."""
        with self._lock:
            is_old = epoch < self._epoch
            match self._network:
                case Network.GOOD | Network.SLOW | Network.REFUSES:
                    return True
                case Network.SWALLOWS:
                    return False
                case Network.SWALLOWS_OLD:
                    return not is_old
                case Network.LOSES_ANSWERS:
                    return not (is_old and is_answer)

    def _serve(self, client: socket.socket) -> None:
        with self._lock:
            self.connections += 1
            epoch = self._epoch
            is_refused = self._network is Network.REFUSES
            path = self.postgres.folder / ".s.PGSQL.5432"
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            stack.enter_context(client)
            if is_refused:
                return
            if not self._passes(epoch, is_answer=False):
                self._hold(client)
                return
            client = self._greet(client)
            stack.enter_context(client)
            upstream = stack.enter_context(socket.socket(socket.AF_UNIX))
            upstream.connect(str(path))
            with self._lock:
                self._sockets |= {client, upstream}
            self._pump(client, upstream, epoch)

    def _hold(self, client: socket.socket) -> None:
        with self._lock:
            self._sockets.add(client)
        while client.recv(65536):
            pass

    def _greet(self, client: socket.socket) -> socket.socket:
        # A client that asks for nothing speaks plain.
        if client.recv(8, socket.MSG_PEEK | socket.MSG_WAITALL) == SSL_REQUEST:
            client.recv(8, socket.MSG_WAITALL)
            if self._context is not None:
                client.sendall(b"S")
                client = self._context.wrap_socket(client, server_side=True)
                with self._lock:
                    self.encrypted += 1
                return client
            client.sendall(b"N")
        with self._lock:
            self.plain += 1
        return client

    def _pump(self, client: socket.socket, upstream: socket.socket, epoch: int) -> None:
        """Both directions in one thread: OpenSSL's connections are not for two."""
        asked, answered = Direction(is_answer=False), Direction(is_answer=True)
        while True:
            waits = isinstance(client, ssl.SSLSocket) and client.pending()
            ready = [client] if waits else select.select([client, upstream], [], [])[0]
            for source in ready:
                data = source.recv(65536)
                if not data:
                    return
                is_answer = source is upstream
                passed, is_last = self._look(answered if is_answer else asked, data)
                if self._passes(epoch, is_answer=is_answer):
                    (client if is_answer else upstream).sendall(passed)
                if is_last:
                    return

    def _look(self, direction: Direction, data: bytes) -> tuple[bytes, bool]:
        """What of the bytes passes, and whether the connection is cut behind it."""
        with self._lock:
            is_slow = self._network is Network.SLOW
            kinds = direction.kinds(data, self._wanted)
            self.seen |= kinds
            if self._wanted in kinds:
                self._wanted = None
        if is_slow:
            time.sleep(DELAY_SECONDS)
        return direction.take(data)


def _context(served: Issued, clients: Path | None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(served.certificate, served.key)
    if clients is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(clients)
    return context


class PlaceBehind(Place):
    """A place on PostgreSQL whose servers reach it through a front."""

    def __init__(self, front: Front, *parameters: str) -> None:
        super().__init__(front.postgres)
        self._front = front
        self._parameters = parameters
        self._url: str | None = None

    def arguments(self) -> list[str]:
        assert self.name is not None
        return ["--database-url", self._url or self._front.url(self.name, *self._parameters)]

    def use(self, url: str) -> None:
        """Servers use this URL from now on."""
        self._url = url

    def forget(self) -> None:
        """Its database ended with its server: nothing of it is to be dropped."""
        self.name = None
