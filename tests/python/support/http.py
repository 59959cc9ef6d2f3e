"""Raw HTTP requests, byte for byte as a test says, without a client library's good manners."""

import http.client
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from support import settings

JSON = "application/json"
MSGPACK = "application/msgpack"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str | None:
        """The stable code of a problem answer; None when it is not one."""
        if self.headers.get("content-type") != "application/problem+json":
            return None
        return str(self.json()["code"])


def connect(url: str) -> http.client.HTTPConnection:
    parts = urlsplit(url)
    assert parts.hostname is not None
    return http.client.HTTPConnection(parts.hostname, parts.port, timeout=settings.PATIENCE_SECONDS)


def send(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    body: bytes | None,
    headers: dict[str, str],
) -> Answer:
    """One request on an open connection. A `Host` in the headers replaces the true one."""
    has_host = any(name.lower() == "host" for name in headers)
    connection.putrequest(method, path, skip_host=has_host, skip_accept_encoding=True)
    for name, value in headers.items():
        connection.putheader(name, value)
    if body is not None:
        connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body)
    response = connection.getresponse()
    named = {name.lower(): value for name, value in response.getheaders()}
    return Answer(response.status, named, response.read())


def request(
    url: str,
    method: str,
    path: str,
    body: bytes | None = None,
    *,
    key: str | None = None,
    content_type: str | None = None,
    headers: dict[str, str] | None = None,
) -> Answer:
    """One request on a connection of its own."""
    all_headers = dict(headers or {})
    if key is not None:
        all_headers["Authorization"] = f"Bearer {key}"
    if content_type is not None:
        all_headers["Content-Type"] = content_type
    connection = connect(url)
    try:
        return send(connection, method, path, body, all_headers)
    finally:
        connection.close()


def post_json(url: str, path: str, value: Any, **more: Any) -> Answer:
    return request(url, "POST", path, json.dumps(value).encode(), content_type=JSON, **more)
