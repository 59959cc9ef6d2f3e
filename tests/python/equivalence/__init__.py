"""Real graphs on the in-memory saver and on ThreadkeepSaver must tell the same story, in every detail but random ids."""
