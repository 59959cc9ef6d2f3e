/** The console's own tests: no browser, no server. The browser's are in tests/js/console. */

import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const CLIENT = fileURLToPath(new URL("../js/src/index.ts", import.meta.url));

export default defineConfig({
  resolve: { alias: [{ find: /^threadkeep$/, replacement: CLIENT }] },
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
