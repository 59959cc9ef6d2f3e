"""Reads the documents as a newcomer does: every block runs, in order, beginning in an empty folder."""
