"""What the Python suites stand on: real servers, real databases, raw requests. No tests."""
