/** The package's own tests: no threadkeep server, and no network but the loopback. */

import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["tests/*.test.ts"],
    // The console takes these settings, too, from its own folder.
    setupFiles: [fileURLToPath(new URL("tests/seed.ts", import.meta.url))],
    maxWorkers: 2,
    // Never a measure of speed: the machine may be busy.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    allowOnly: false,
  },
});
