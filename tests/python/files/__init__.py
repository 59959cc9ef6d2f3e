"""Files of deepagents agents, through every door."""
