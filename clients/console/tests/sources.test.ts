/** No source of the console makes HTML or code of texts, or calls a server past the package; and files stay small. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const SOURCES = fileURLToPath(new URL("../src", import.meta.url));
const LINES_MAX = 400;
const FORBIDDEN = [
  ...[
    "dangerouslySetInnerHTML",
    "innerHTML",
    "outerHTML",
    "insertAdjacentHTML",
    "setHTMLUnsafe",
    "srcDoc",
    "srcdoc",
  ],
  ...[
    "document.write",
    "DOMParser",
    "createContextualFragment",
    "rehype-raw",
    "new Function",
    "eval\\(",
    'import\\([^"]',
  ],
  ...["\\bfetch\\(", "EventSource", "XMLHttpRequest", "WebSocket", "sendBeacon", "document.cookie"],
];

const files = readdirSync(SOURCES, { recursive: true, encoding: "utf8" })
  .filter((name) => /\.(ts|tsx|css)$/.test(name))
  .map((name) => ({ name, text: readFileSync(join(SOURCES, name), "utf8") }));

it.each(FORBIDDEN)("no source has %s", (pattern) => {
  const found = files.filter(({ text }) => new RegExp(pattern).test(text)).map(({ name }) => name);
  expect(found).toEqual([]);
});

it("credentials are kept in the storage of the tab only", () => {
  const keeps = (word: string) =>
    files.filter(({ text }) => text.includes(word)).map(({ name }) => name);
  expect(keeps("sessionStorage.")).toEqual(["api/session.ts"]);
  expect(keeps("localStorage.")).toEqual(["app/preferences.ts"]);
});

it.each(files)("$name is short", ({ text }) => {
  expect(text.split("\n").length).toBeLessThanOrEqual(LINES_MAX);
});
