"""How requests reach the server: settings, transports, retries. Knows no noun of the protocol."""
