"""How many random examples to try, and how long each is: small for every run, large for a soak."""

import os

# Sequences of calls per test, and calls per sequence.
EXAMPLES = int(os.environ.get("THREADKEEP_TEST_DIFFERENTIAL_EXAMPLES", "15"))
STEPS = int(os.environ.get("THREADKEEP_TEST_DIFFERENTIAL_STEPS", "25"))
# Values tried per round-trip property.
ROUND_TRIPS = int(os.environ.get("THREADKEEP_TEST_ROUND_TRIPS", "60"))
# The same examples in every run, so that a change alone can turn a test red. At 0, which the soak sets, hypothesis
# picks other examples each time.
DERANDOMIZED = os.environ.get("THREADKEEP_TEST_DERANDOMIZED", "1") == "1"
