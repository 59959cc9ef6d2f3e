/** How the JavaScript suites run: against the built package and the real program, one worker per core. */

import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    // The published suite expects describe, it and expect to be there.
    globals: true,
    include: ["*/*.test.ts"],
    globalSetup: ["support/servers.ts"],
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    allowOnly: false,
    // LangGraph awaits a write at the end of its step. One that is refused before that is for a moment a rejection that nobody has
    // asked for; then the run fails by it, which the tests of restored threads expect.
    onUnhandledError: ({ name, type }) =>
      !(type === "Unhandled Rejection" && name === "ThreadRestoredError"),
  },
});
