"""Tokens: what they may do, and what making one answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypedDict

Action = Literal["read", "append", "write"]
"""`append` adds; `write` changes and removes, and covers `append` but not `read`."""


class Grant(TypedDict, total=False):
    """Things by name: exactly one of `id`, `prefix` (ends in `:` or `/`) and `owned` (True)."""

    id: str
    prefix: str
    owned: bool
    actions: Sequence[Action]


class NamespaceGrant(TypedDict):
    """Namespaces whose first labels are these."""

    prefix: Sequence[str]
    actions: Sequence[Action]


class Grants(TypedDict, total=False):
    """What a token may do. What is left out is not granted."""

    threads: Sequence[Grant]
    namespaces: Sequence[NamespaceGrant]
    sessions: Sequence[Grant]
    snapshots: Sequence[Grant]
    tenant: Sequence[Action]
    """With everything of the tenant. Of a token without a subject."""


class Capabilities(TypedDict):
    """What a credential may do with some thing of each kind; `grants` say with which."""

    threads: Sequence[Action]
    namespaces: Sequence[Action]
    sessions: Sequence[Action]
    snapshots: Sequence[Action]
    tenant: Sequence[Action]


@dataclass(frozen=True)
class Token:
    """A new token. `token` is the secret to pass on as `api_key`; no `repr` shows it."""

    token: str = field(repr=False)
    token_id: str
    expires_at: str
    grants: Grants
    subject: str | None = None


@dataclass(frozen=True)
class LiveToken:
    """A minted token that is still valid. Its text is kept nowhere."""

    token_id: str
    minter: str
    """Id of the key that made it; `cli` or `local` without one."""
    minted_at: str
    expires_at: str
    read_only: bool | None = None
    """None of a token from before the server told."""


@dataclass(frozen=True)
class TokenPage:
    """A page of tokens, newest first. It may be short where the next one has more."""

    tokens: list[LiveToken]
    next_cursor: str | None
