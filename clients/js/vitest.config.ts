/** The package's own tests: no server, no network. */

import { defineConfig } from "vitest/config";

export default defineConfig({
  test: { include: ["tests/*.test.ts"], maxWorkers: 2, allowOnly: false },
});
