/** The console's own tests: no browser, no server. The browser's are in tests/js/console. */

import { fileURLToPath } from "node:url";
import { defineConfig, mergeConfig } from "vitest/config";
import ofClient from "../js/vitest.config.js";

const CLIENT = fileURLToPath(new URL("../js/src/index.ts", import.meta.url));
const AGENTRAIL = fileURLToPath(new URL("../js/src/agentrail/index.ts", import.meta.url));
const own = defineConfig({
  resolve: {
    alias: [
      { find: /^threadkeep$/, replacement: CLIENT },
      { find: /^threadkeep\/agentrail$/, replacement: AGENTRAIL },
    ],
  },
});

export default mergeConfig(ofClient, own);
