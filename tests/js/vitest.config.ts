/** Configures vitest: three workers run the JavaScript suites against the built package and the real program. */

import { defineConfig } from "vitest/config";
import { PATIENCE_MS, UI_SOURCES } from "./support/settings.js";

/** A test waits for several things, each with the whole patience. */
const TIMEOUT_MS = 5 * PATIENCE_MS;

export default defineConfig({
  test: {
    // The published suite expects describe, it and expect to be there.
    globals: true,
    include: ["*/*.test.ts"],
    // They are not made, rather than skipped, where their sources are not.
    exclude: UI_SOURCES === undefined ? ["front_ends/*"] : [],
    globalSetup: ["support/servers.ts"],
    setupFiles: ["support/seed.ts"],
    // Tests wait for each other and for deadlines: one more than cores keeps those busy.
    maxWorkers: 3,
    testTimeout: TIMEOUT_MS,
    hookTimeout: TIMEOUT_MS,
    expect: { poll: { timeout: PATIENCE_MS } },
    allowOnly: false,
    // LangGraph awaits a write at the end of its step. One that is refused before that is for a moment a rejection that nobody has
    // asked for; then the run fails by it, which the tests of restored threads expect.
    onUnhandledError: ({ name, type }) =>
      !(type === "Unhandled Rejection" && name === "ThreadRestoredError"),
  },
});
