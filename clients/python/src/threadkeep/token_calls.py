"""The token calls of `Client` and `AsyncClient`, in pairs: `client.tokens.mint(…)`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from threadkeep import calls
from threadkeep.errors import ProtocolError
from threadkeep.http.transport import Request
from threadkeep.records import listed, record
from threadkeep.tokens import Grants, LiveToken, Token, TokenPage

_MINT = "/v1/tokens"
_NARROW = "/v1/tokens/narrow"
_REVOKE = "/v1/tokens/revoke"

Body = dict[str, Any]


class TokenCalls:
    """Part of `Client`."""

    def __init__(self, write: Callable[[str, Body], Body], read: Callable[[Request], Body]) -> None:
        self._write = write
        self._read = read

    def mint(
        self,
        subject: str | None = None,
        *,
        grants: Grants | None = None,
        read_only: bool = False,
        ttl_seconds: int | None = None,
    ) -> Token:
        """Make a token with this client's key, for a subject, or with grants, or both.

        Without `grants` it has what is the subject's own; without `ttl_seconds` it lasts an hour.
        With `read_only` it reads this and changes nothing; without a subject it reads everything of
        the tenant.
        """
        body = _mint_body(subject, grants, read_only=read_only, ttl_seconds=ttl_seconds)
        return record(Token, self._write(_MINT, body))

    def list(self, *, limit: int | None = None, cursor: str | None = None) -> TokenPage:
        """One page of the minted tokens that are still valid, newest first.

        Tokens that were narrowed are in no list. For credentials of the whole tenant.
        """
        return _page(self._read(calls.get(_MINT, {"limit": limit, "cursor": cursor})))

    def narrow(self, *, grants: Grants | None = None, ttl_seconds: int | None = None) -> Token:
        """Make a token that may do no more than this client's key or token, and dies with it.

        Raises NotGrantedError for more.
        """
        body = {"grants": grants, "ttl_seconds": ttl_seconds}
        return record(Token, self._write(_NARROW, body))

    def revoke(self, token_id: str | None = None, *, token: str | None = None) -> str:
        """Revoke a token, and all that were narrowed from it, by its id or by its text.

        Without either, the one in use. Answers the id. Raises NotFoundError for a text that is not
        a token of yours.
        """
        return _token_id(self._write(_REVOKE, {"token_id": token_id, "token": token}))


class AsyncTokenCalls:
    """Part of `AsyncClient`."""

    def __init__(
        self,
        write: Callable[[str, Body], Awaitable[Body]],
        read: Callable[[Request], Awaitable[Body]],
    ) -> None:
        self._write = write
        self._read = read

    async def mint(
        self,
        subject: str | None = None,
        *,
        grants: Grants | None = None,
        read_only: bool = False,
        ttl_seconds: int | None = None,
    ) -> Token:
        """See `TokenCalls.mint`."""
        body = _mint_body(subject, grants, read_only=read_only, ttl_seconds=ttl_seconds)
        return record(Token, await self._write(_MINT, body))

    async def list(self, *, limit: int | None = None, cursor: str | None = None) -> TokenPage:
        """See `TokenCalls.list`."""
        return _page(await self._read(calls.get(_MINT, {"limit": limit, "cursor": cursor})))

    async def narrow(
        self, *, grants: Grants | None = None, ttl_seconds: int | None = None
    ) -> Token:
        """See `TokenCalls.narrow`."""
        body = {"grants": grants, "ttl_seconds": ttl_seconds}
        return record(Token, await self._write(_NARROW, body))

    async def revoke(self, token_id: str | None = None, *, token: str | None = None) -> str:
        """See `TokenCalls.revoke`."""
        return _token_id(await self._write(_REVOKE, {"token_id": token_id, "token": token}))


def _mint_body(
    subject: str | None, grants: Grants | None, *, read_only: bool, ttl_seconds: int | None
) -> Body:
    wanted = read_only or None
    return {
        "subject": subject,
        "grants": grants,
        "read_only": wanted,
        "ttl_seconds": ttl_seconds,
    }


def _page(answer: Body) -> TokenPage:
    return TokenPage(listed(LiveToken, answer, "tokens"), answer.get("next_cursor"))


def _token_id(answer: Body) -> str:
    revoked = answer.get("token_id")
    if not isinstance(revoked, str):
        raise ProtocolError("the answer does not name the revoked token")
    return revoked
