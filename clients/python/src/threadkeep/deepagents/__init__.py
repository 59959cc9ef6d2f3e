"""Files of deepagents agents on a threadkeep server. Needs the package `deepagents`."""

from threadkeep.deepagents.backend import ThreadkeepBackend
from threadkeep.deepagents.mounts import ThreadkeepRoutes
from threadkeep.deepagents.routes import drive_backend, threadkeep_routes

__all__ = ["ThreadkeepBackend", "ThreadkeepRoutes", "drive_backend", "threadkeep_routes"]
