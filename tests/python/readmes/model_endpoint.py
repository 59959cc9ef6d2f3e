"""Stands in for the models: Anthropic's messages and OpenAI's embeddings, on this machine, by a script."""

import base64
import json
import re
import struct
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from support.hash_embedding import embed

DIMS = 1536
PASSWORD = re.compile(r"password: ([A-Z]+-\d+)")
USAGE = {"input_tokens": 1, "output_tokens": 1}


class ModelEndpoint:
    """Answers what a model would that knows only the conversation it is sent."""

    def __init__(self) -> None:
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["content-length"])
                question = json.loads(self.rfile.read(length))
                kind, body = endpoint.answer(self.path, question)
                self.send_response(200 if body else 404)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, path: str, question: dict[str, Any]) -> tuple[str, bytes]:
        route = path.split("?")[0]
        if route == "/v1/embeddings":
            return "application/json", json.dumps(_vectors(question)).encode()
        if route == "/v1/messages/count_tokens":
            return "application/json", json.dumps({"input_tokens": 1}).encode()
        if route != "/v1/messages":
            return "text/plain", b""
        message = {
            "id": "msg_1", "type": "message", "role": "assistant", "model": question["model"],
            "content": [{"type": "text", "text": _reply(question["messages"])}],
            "stop_reason": "end_turn", "stop_sequence": None, "usage": USAGE,
        }  # fmt: skip
        if question.get("stream"):
            return "text/event-stream", _streamed(message)
        return "application/json", json.dumps(message).encode()


def _reply(messages: list[dict[str, Any]]) -> str:
    """The password that the human told before, if the last message asks for it."""
    if PASSWORD.search(json.dumps(messages[-1])):
        return "ACKNOWLEDGED"
    told = PASSWORD.search(json.dumps(messages))
    return told[1] if told else "This appears to be the start of our conversation."


def _streamed(message: dict[str, Any]) -> bytes:
    (block,) = message["content"]
    begun = {**message, "content": [], "stop_reason": None}
    events = [
        {"type": "message_start", "message": begun},
        {"type": "content_block_start", "index": 0, "content_block": {**block, "text": ""}},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": block["text"]},
        },
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": USAGE,
        },
        {"type": "message_stop"},
    ]
    return "".join(f"event: {it['type']}\ndata: {json.dumps(it)}\n\n" for it in events).encode()


def _vectors(question: dict[str, Any]) -> dict[str, Any]:
    texts = question["input"] if isinstance(question["input"], list) else [question["input"]]
    vectors: list[Any] = [vector + [0.0] * (DIMS - len(vector)) for vector in embed(texts)]
    if question.get("encoding_format") == "base64":
        vectors = [base64.b64encode(struct.pack(f"<{DIMS}f", *it)).decode() for it in vectors]
    data = [{"index": at, "object": "embedding", "embedding": it} for at, it in enumerate(vectors)]
    return {
        "object": "list",
        "model": question["model"],
        "data": data,
        "usage": {"prompt_tokens": 1, "total_tokens": 1},
    }
