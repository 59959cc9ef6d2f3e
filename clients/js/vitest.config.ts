/** The package's own tests: no threadkeep server, and no network but the loopback. */

import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["tests/*.test.ts"],
    setupFiles: ["tests/seed.ts"],
    maxWorkers: 2,
    // Never a measure of speed: the machine may be busy.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    allowOnly: false,
  },
});
