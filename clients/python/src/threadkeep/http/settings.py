"""What a client is told when it is constructed, checked without any I/O."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from threadkeep.errors import InvalidError

URL_DEFAULT = "http://127.0.0.1:7070"
TransportName = Literal["auto", "pyreqwest", "stdlib"]

BUDGET_SECONDS_MAX = 30.0
"""The server refuses a write that it has not begun this long after its arrival."""

WRITE_SECONDS_MAX = 5.0
"""How long a write that was begun may still run on the server."""


@dataclass(frozen=True, repr=False)
class Settings:
    """Where the server is, who asks, and how long to wait."""

    url: str
    api_key: str | None
    connect_timeout_seconds: float = 5.0
    request_timeout_seconds: float = 60.0
    attempts: int = 4
    transport: TransportName = "auto"

    def __post_init__(self) -> None:
        """Refuse what could never work, naming the argument."""
        try:
            parts = urlsplit(self.url)
            valid = parts.scheme in ("http", "https") and bool(parts.hostname)
            valid = valid and not (parts.query or parts.fragment or parts.username)
            _ = parts.port
        except ValueError:
            valid = False
        if not valid:
            raise InvalidError("url must be http(s)://host[:port][/prefix]", field="url")
        if self.api_key is not None and not _is_visible_ascii(self.api_key):
            raise InvalidError("api_key must be visible ASCII characters", field="api_key")
        for name in ("connect_timeout_seconds", "request_timeout_seconds"):
            if not getattr(self, name) > 0:
                raise InvalidError(f"{name} must be greater than 0", field=name)
        if self.attempts < 1:
            raise InvalidError("attempts must be at least 1", field="attempts")
        if self.transport not in ("auto", "pyreqwest", "stdlib"):
            raise InvalidError("transport is auto, pyreqwest or stdlib", field="transport")

    def __repr__(self) -> str:
        """Never shows the key."""
        return f"Settings(url={self.url!r}, api_key={'***' if self.api_key else None})"

    @property
    def budget_seconds(self) -> float:
        """The time given to the server to begin a write: always less than we wait for it."""
        return max(0.001, min(BUDGET_SECONDS_MAX, self.request_timeout_seconds / 2))

    @property
    def is_loopback(self) -> bool:
        """Whether the server is on this machine, where a proxy of the environment must not be."""
        host = urlsplit(self.url).hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost" or host.endswith(".localhost")


def settings_of(url: str | None, api_key: str | None, **others: object) -> Settings:
    """Settings from arguments, else THREADKEEP_URL and THREADKEEP_API_KEY, else the default."""
    return Settings(
        url=(url or os.environ.get("THREADKEEP_URL") or URL_DEFAULT).rstrip("/"),
        api_key=api_key or os.environ.get("THREADKEEP_API_KEY") or None,
        **others,  # type: ignore[arg-type]
    )


def _is_visible_ascii(text: str) -> bool:
    return bool(text) and all("!" <= character <= "~" for character in text)
