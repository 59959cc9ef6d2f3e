"""The recommended places of an agent's files: nothing large stays in checkpoints.

The paths are those of the drive that people see: memories and workspace belong to the user, what
deepagents puts aside (large results, histories) to the thread.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from deepagents.backends import FilesystemBackend
from deepagents.backends.protocol import BackendProtocol
from langgraph.config import get_config

from threadkeep.deepagents.backend import ThreadkeepBackend
from threadkeep.deepagents.mounts import WORKSPACE, ThreadkeepRoutes
from threadkeep.deepagents.scope import Scope
from threadkeep.http.connection import Connection
from threadkeep.http.settings import TIMEOUT_SECONDS, TransportName, settings_of
from threadkeep.labels import label

UserOf = Callable[[Any], str]
"""Takes the Runtime of the graph that is running, None outside of one."""

MEMORIES = "/memories/"
ARTIFACTS = ("/large_tool_results/", "/conversation_history/")
ROUTES = (MEMORIES, *ARTIFACTS)
THREAD_UNKNOWN = "default"
"""Whose artifacts they are where no thread id is known."""


ALIASES = {"/memory": "/memories"}


def threadkeep_routes(
    user_id: str | UserOf,
    *,
    url: str | None = None,
    api_key: str | None = None,
    thread_id: str | None = None,
    default: BackendProtocol | None = None,
    timeout: float | None = TIMEOUT_SECONDS,
    transport: TransportName = "auto",
) -> ThreadkeepRoutes:
    """The backend to give to `create_deep_agent`.

    `/memories/` is the user's memory, `/large_tool_results/` and `/conversation_history/` are the
    thread's, everything else is the user's workspace (`/workspace/x` is `/x`). `user_id` is a text,
    or a function of the Runtime; `thread_id` is the running graph's when it is left out. With
    `default`, such as a sandbox, everything else is there instead, `/workspace/` too. `timeout` is
    how many seconds a call may take (None: as long as it takes).
    """
    connection = Connection(settings_of(url, api_key, timeout, transport))
    routes = _routes(connection, user_id, thread_id)
    if default is not None:
        return ThreadkeepRoutes(default, routes, aliases=ALIASES)
    workspace = _of_user(connection, user_id, "workspace")
    shown = _Shown(connection=connection, namespace=workspace.namespace)
    return ThreadkeepRoutes(shown, routes, workspace=workspace, aliases=ALIASES)


def drive_backend(
    user_id: str | UserOf,
    device: Literal["cloud", "desktop"] = "cloud",
    root_dir: str | Path | None = None,
    *,
    url: str | None = None,
    api_key: str | None = None,
    thread_id: str | None = None,
    timeout: float | None = TIMEOUT_SECONDS,
) -> ThreadkeepRoutes:
    """The same routes on every device: in the cloud, or with the workspace in a local folder.

    On the desktop the workspace is `root_dir`, which `threadkeep-sync` brings into the drive, and
    nothing outside of that folder can be reached; memories and artifacts stay on the server.
    """
    if device == "cloud":
        return threadkeep_routes(
            user_id, url=url, api_key=api_key, thread_id=thread_id, timeout=timeout
        )
    if device != "desktop":
        raise ValueError(f"device is 'cloud' or 'desktop', not {device!r}")
    if root_dir is None:
        raise ValueError("on the desktop, root_dir names the folder of the workspace")
    local = FilesystemBackend(root_dir=root_dir, virtual_mode=True)
    connection = Connection(settings_of(url, api_key, timeout))
    routes = _routes(connection, user_id, thread_id)
    return ThreadkeepRoutes(local, routes, workspace=local, aliases=ALIASES)


class _Shown(ThreadkeepBackend):
    """The workspace below everything that is mounted over it."""

    def _scope(self) -> Scope:
        hidden = (*(route.rstrip("/") for route in ROUTES), *ALIASES, WORKSPACE)
        return super()._scope()._replace(hidden=hidden, instead=WORKSPACE)


def _routes(
    connection: Connection, user_id: str | UserOf, thread_id: str | None
) -> dict[str, BackendProtocol]:
    routes: dict[str, BackendProtocol] = {MEMORIES: _of_user(connection, user_id, "filesystem")}
    for route in ARTIFACTS:
        routes[route] = ThreadkeepBackend(
            connection=connection,
            namespace=lambda runtime: _artifacts(runtime, user_id, thread_id),
            root=route,
        )
    return routes


def _of_user(connection: Connection, user_id: str | UserOf, place: str) -> ThreadkeepBackend:
    return ThreadkeepBackend(
        connection=connection,
        namespace=lambda runtime: (_user_label(runtime, user_id), place),
    )


def _artifacts(runtime: Any, user_id: str | UserOf, thread_id: str | None) -> tuple[str, ...]:
    thread = thread_id or _running_thread() or THREAD_UNKNOWN
    return (_user_label(runtime, user_id), "threads", label(thread), "artifacts")


def _user_label(runtime: Any, user_id: str | UserOf) -> str:
    return label(user_id(runtime) if callable(user_id) else user_id)


def _running_thread() -> str | None:
    try:
        found = get_config().get("configurable", {}).get("thread_id")
    except RuntimeError:
        return None
    return None if found is None else str(found)
