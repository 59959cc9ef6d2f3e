"""Holds the settings of a client and checks them without any I/O."""

from __future__ import annotations

import ipaddress
import math
import os
from dataclasses import dataclass
from typing import Literal, get_args
from urllib.parse import urlsplit

from threadkeep.errors import InvalidError

URL_DEFAULT = "http://127.0.0.1:7070"
TransportName = Literal["auto", "asyncio", "pyreqwest", "stdlib"]
_DATABASE_SCHEMES = ("postgres", "postgresql", "sqlite", "redis", "mysql", "mongodb")
TIMEOUT_SECONDS_MAX = 86_400

TIMEOUT_SECONDS = 30.0
"""A call ends after so many seconds, unless `timeout` says otherwise."""

CONNECT_SECONDS_MAX = 5.0
"""An attempt to connect ends after so many seconds."""

BUDGET_SECONDS_MAX = 30.0
"""The server refuses a write that it has not begun this long after its arrival."""

WRITE_SECONDS_MAX = 5.0
"""The server ends a write within so many seconds after it began it."""

BYTES_PER_SECOND_MIN = 1_000_000
"""A body that is sent adds a second to its call for so many bytes."""


@dataclass(frozen=True, repr=False)
class Settings:
    """Where the server is, who asks, and how long a call may take.

    `timeout` is in seconds; None waits without end. `is_key_given`: the key is an argument, and not
    that of the environment.
    """

    url: str
    api_key: str | None
    timeout: float | None = TIMEOUT_SECONDS
    transport: TransportName = "auto"
    is_key_given: bool = False

    def __post_init__(self) -> None:
        """Refuse what could never work, naming the argument."""
        if (fault := _url_fault(self.url)) is not None:
            raise InvalidError(fault, field="url")
        if self.api_key == "":
            raise InvalidError(
                "api_key is empty: leave it out to use the variable THREADKEEP_API_KEY",
                field="api_key",
            )
        if self.api_key is not None and not _is_visible_ascii(self.api_key):
            raise InvalidError("api_key must be visible ASCII characters", field="api_key")
        if self.timeout is not None and not 0 < self.timeout <= TIMEOUT_SECONDS_MAX:
            raise InvalidError(
                f"timeout must be greater than 0, at most {TIMEOUT_SECONDS_MAX} seconds, or None",
                field="timeout",
                limit=TIMEOUT_SECONDS_MAX,
            )
        if self.transport not in get_args(TransportName):
            raise InvalidError("transport is auto, asyncio, pyreqwest or stdlib", field="transport")
        if self.transport == "asyncio" and urlsplit(self.url).scheme != "http":
            raise InvalidError("transport asyncio speaks http:// alone", field="transport")

    def __repr__(self) -> str:
        """Never shows the key."""
        return f"Settings(url={self.url!r}, api_key={'***' if self.api_key else None})"

    @property
    def seconds(self) -> float:
        """The time of a call; infinite where there is no `timeout`."""
        return math.inf if self.timeout is None else self.timeout

    @property
    def is_loopback(self) -> bool:
        """Whether the server is on this machine, where a proxy of the environment must not be."""
        host = urlsplit(self.url).hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost" or host.endswith(".localhost")


def budget_of(seconds: float) -> float:
    """The time given to the server to begin a write: always less than what we wait for it."""
    return max(0.001, min(BUDGET_SECONDS_MAX, seconds / 2))


def settings_of(
    url: str | None,
    api_key: str | None,
    timeout: float | None = TIMEOUT_SECONDS,
    transport: TransportName = "auto",
) -> Settings:
    """Settings from arguments, else THREADKEEP_URL and THREADKEEP_API_KEY, else the default."""
    where = (os.environ.get("THREADKEEP_URL") or URL_DEFAULT) if url is None else url
    key = (os.environ.get("THREADKEEP_API_KEY") or None) if api_key is None else api_key
    return Settings(where.rstrip("/"), key, timeout, transport, is_key_given=api_key is not None)


def _url_fault(url: str) -> str | None:
    """What is wrong with an address, and what to write instead. Shows no part with a password."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        parts = urlsplit("")
    scheme = parts.scheme.split("+")[0]
    if scheme in _DATABASE_SCHEMES:
        option = " --database-url postgres://…" if scheme.startswith("postgres") else ""
        return (
            f"url is the address of a threadkeep server, not of a database ({scheme}://): start "
            f"`threadkeep serve{option}` and give the address that it prints, such as {URL_DEFAULT}"
        )
    # A name with a port, without http://, has the name as its scheme.
    if url and "://" not in url and "@" not in url:
        return f"url must begin with http:// or https://: try http://{url}"
    valid = parts.scheme in ("http", "https") and bool(parts.hostname)
    if not valid or parts.query or parts.fragment or parts.username or parts.password:
        return "url must be http(s)://host[:port][/prefix]"
    if parts.path.rstrip("/").endswith("/v1"):
        return "url must end before /v1, which every call adds: leave /v1 out"
    return None


def _is_visible_ascii(text: str) -> bool:
    return bool(text) and all("!" <= character <= "~" for character in text)
