/** What a reader does not see is marked, and nothing else is. */

import fc from "fast-check";
import { expect, it } from "vitest";
import { escapeHidden, visibleParts } from "../src/content/hidden_characters.js";

it.each([
  ["gpj.\u202eexe", ["gpj.", "U+202E", "exe"]],
  ["a\u200bb", ["a", "U+200B", "b"]],
  ["\ufeff", ["U+FEFF"]],
  ["\u0000x", ["U+0000", "x"]],
  ["\ud800", ["U+D800"]],
  ["x\udc00", ["x", "U+DC00"]],
  ["\u{e0041}", ["U+E0041"]],
  ["a\tb\nc", ["a\tb\nc"]],
  ["日本 ünï 😀 עברית", ["日本 ünï 😀 עברית"]],
])("%j", (text, shown) => {
  const parts = visibleParts(text);
  expect(parts.map((part) => (typeof part === "string" ? part : part.code))).toEqual(shown);
});

it("nothing of a text is lost", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const joined = visibleParts(text).map((part) =>
        typeof part === "string"
          ? part
          : String.fromCodePoint(Number.parseInt(part.code.slice(2), 16)),
      );
      expect(joined.join("")).toBe(text);
    }),
  );
});

it("an escaped text reads as the same one", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(JSON.parse(escapeHidden(JSON.stringify(text)))).toBe(text);
    }),
  );
});
