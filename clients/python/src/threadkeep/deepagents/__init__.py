"""Files of deepagents agents on a threadkeep server. Needs the package `deepagents`."""

from threadkeep.deepagents.backend import ThreadkeepBackend
from threadkeep.deepagents.routes import ThreadkeepRoutes, drive_backend, threadkeep_routes

__all__ = ["ThreadkeepBackend", "ThreadkeepRoutes", "drive_backend", "threadkeep_routes"]
