"""An endpoint for embeddings as OpenAI's answers, on this machine, with the hash embedding behind it."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from support.hash_embedding import DIMS, embed


class EmbeddingsEndpoint:
    """Answers until `status` is something else than 200. `texts` is what it was asked."""

    def __init__(self) -> None:
        self.status = 200
        self.texts: list[str] = []
        self.models: set[str] = set()
        self.keys: set[str | None] = set()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["content-length"])
                question = json.loads(self.rfile.read(length))
                status, answer = endpoint.answer(self.path, question, self.headers)
                body = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def answer(self, path: str, question: dict[str, Any], headers: Any) -> tuple[int, Any]:
        if path != "/v1/embeddings" or question["encoding_format"] != "float":
            return 404, {}
        if self.status != 200:
            return self.status, {"error": {"message": f"no: {question['input']}"}}
        self.models.add(question["model"])
        self.keys.add(headers["authorization"])
        self.texts += question["input"]
        vectors = enumerate(embed(question["input"]))
        data = [{"index": at, "object": "embedding", "embedding": it} for at, it in vectors]
        # The order is said by the numbers.
        return 200, {"object": "list", "model": question["model"], "data": data[::-1]}

    def options(self, model: str = "hash") -> list[str]:
        """Of a server that asks it."""
        return ["--embeddings-url", self.url, "--embeddings-model", model,
                "--embeddings-dims", str(DIMS)]  # fmt: skip

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
