/**
 * What fast-check makes comes from one seed, so that a change alone can turn a test red. THREADKEEP_TEST_DERANDOMIZED=0 makes other
 * examples in each run.
 */

import fc from "fast-check";

const isDerandomized = (process.env["THREADKEEP_TEST_DERANDOMIZED"] ?? "1") === "1";
if (isDerandomized) fc.configureGlobal({ seed: 1 });
