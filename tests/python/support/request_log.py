"""An HTTP proxy before a server that lists every request, so that a test can count them."""

import contextlib
import threading
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

# The proxy closes each connection after its answer.
OF_CONNECTION = {"connection", "transfer-encoding", "content-length"}


class RequestLog:
    """Forwards to one server while it is entered."""

    def __init__(self, server_url: str):
        # Method and path without the query, in the order of arrival.
        self.requests: list[str] = []
        target, log = urlsplit(server_url).netloc, self

        class Handler(BaseHTTPRequestHandler):
            def forward(self) -> None:
                log.requests.append(f"{self.command} {self.path.split('?')[0]}")
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                upstream = HTTPConnection(target)
                with contextlib.closing(upstream), contextlib.suppress(OSError):
                    upstream.request(self.command, self.path, body, dict(self.headers))
                    self.answer(upstream)

            def answer(self, upstream: HTTPConnection) -> None:
                answer = upstream.getresponse()
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in OF_CONNECTION:
                        self.send_header(name, value)
                self.end_headers()
                while part := answer.read1(65_536):
                    self.wfile.write(part)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = forward

            def log_message(self, format: str, *args: object) -> None:
                """Says nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        # A stream that is held open is not waited for.
        self._server.block_on_close = False
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> "RequestLog":
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
