"""Keys of the own tenant: what a list tells of one, and what making one answers."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Key:
    """A key of the tenant. Its text is kept nowhere."""

    key_id: str
    created_at: str
    read_only: bool
    name: str | None = None
    prefix: str | None = None
    """How its text begins; None of a key from before this was kept."""
    subject: str | None = None
    """None for a key of the whole tenant."""
    revoked_at: str | None = None
    expires_at: str | None = None
    """None of a key that does not end by itself."""
    last_used_on: str | None = None
    """The day in UTC of its last use; None of a key that was not used since this is kept."""


@dataclass(frozen=True)
class CreatedKey:
    """A new key. `key` is the secret to pass on as `api_key`; no `repr` shows it."""

    key: str = field(repr=False)
    key_id: str
    created_at: str
    read_only: bool
    name: str | None = None
    prefix: str | None = None
    subject: str | None = None
    expires_at: str | None = None


@dataclass(frozen=True)
class KeyPage:
    """A page of keys in the order in which they were made. `next_cursor` is None on the last."""

    keys: list[Key]
    next_cursor: str | None
