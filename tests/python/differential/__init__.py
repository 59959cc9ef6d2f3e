"""Random calls on ThreadkeepSaver, on a small correct model and, where it is right, on the in-memory saver."""
