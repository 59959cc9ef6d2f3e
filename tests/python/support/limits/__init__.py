"""Lists the limits of `GET /v1/limits`, each with a request that goes over it by one, or with the names of tests that show it."""

from support.limits.checkpoints import CHECKPOINTS
from support.limits.files import FILES
from support.limits.requests import REQUESTS
from support.limits.rows import STATUS, Asked, Elsewhere, Over, Rows, Unshown, World
from support.limits.sessions import SESSIONS, SNAPSHOTS
from support.limits.store import STORE

__all__ = ["ROWS", "STATUS", "Asked", "Elsewhere", "Over", "Unshown", "World"]

ROWS: Rows = CHECKPOINTS | STORE | FILES | SESSIONS | SNAPSHOTS | REQUESTS
