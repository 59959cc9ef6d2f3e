/** Builds the console: one page with relative addresses, so that it works behind any prefix. */

import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** The server that `npm run dev` shows. */
const SERVER = process.env["THREADKEEP_URL"] ?? "http://127.0.0.1:7070";
/** Its form for browsers decodes entities of markdown by `innerHTML`, which the policy of the page refuses. */
const ENTITIES = fileURLToPath(
  new URL("../../node_modules/decode-named-character-reference/index.js", import.meta.url),
);
/** The forms of all pages share these: one file of the build instead of many small ones. */
const ACTIONS =
  /useMutation\.js|mutationObserver\.js|src\/(parts\/action_form|content\/(json_edit|json_text|line_diff|versioned_edit)|nouns\/(snapshots\/(safety|snapshot_things|take_snapshot|named_things)|store\/kept_item))/;
const CLIENT = fileURLToPath(new URL("../js/src/index.ts", import.meta.url));
const AGENTRAIL = fileURLToPath(new URL("../js/src/agentrail/index.ts", import.meta.url));

export default defineConfig({
  base: "./",
  plugins: [react()],
  // The sources of the workspace, not the built package: a build needs no other build before it.
  resolve: {
    alias: [
      { find: /^threadkeep$/, replacement: CLIENT },
      { find: /^threadkeep\/agentrail$/, replacement: AGENTRAIL },
      { find: "decode-named-character-reference", replacement: ENTITIES },
    ],
  },
  build: {
    target: "es2023",
    sourcemap: false,
    cssCodeSplit: false,
    // Images as `data:` addresses would need an exception of the policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: "licenses.md" },
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        codeSplitting: {
          includeDependenciesRecursively: false,
          groups: [
            { name: "page", tags: ["$initial"] },
            { name: "actions", test: ACTIONS },
          ],
        },
      },
    },
  },
  server: {
    proxy: { "/v1": SERVER, "/api": SERVER, "/readyz": SERVER, "/healthz": SERVER },
  },
});
