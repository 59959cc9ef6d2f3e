"""How many random examples to try, and how long each is: small for every run, large for a soak."""

import os

# Sequences of calls per test, and calls per sequence.
EXAMPLES = int(os.environ.get("THREADKEEP_TEST_DIFFERENTIAL_EXAMPLES", "15"))
STEPS = int(os.environ.get("THREADKEEP_TEST_DIFFERENTIAL_STEPS", "25"))
# Values tried per round-trip property.
ROUND_TRIPS = int(os.environ.get("THREADKEEP_TEST_ROUND_TRIPS", "60"))
# Hypothesis picks other examples in each run unless this is set to 1.
DERANDOMIZED = os.environ.get("THREADKEEP_TEST_DERANDOMIZED", "0") == "1"
