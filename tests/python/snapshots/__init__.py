"""Snapshots and their return, with the native client and with real graphs."""
