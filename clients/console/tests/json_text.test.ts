/** JSON text is laid out without a change of what it says, and differences of texts give both texts back. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compactJson, indentJson, problemOfObject } from "../src/content/json_text.js";
import { lineDiff } from "../src/content/line_diff.js";

describe("JSON text", () => {
  it("says the same with and without space", () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(JSON.parse(indentJson(text))).toEqual(JSON.parse(text));
        expect(compactJson(indentJson(text))).toBe(compactJson(text));
        expect(indentJson(text)).toBe(JSON.stringify(JSON.parse(text), null, 2));
      }),
      { numRuns: 300 },
    );
  });

  it("keeps numbers, escapes and names as they are written", () => {
    const text = String.raw`{"a":1.0,"b":[1e-7,1180591620717411303424,-0],"\u0041":"\ud800\"{}[],:","":{},"c":[]}`;
    expect(compactJson(indentJson(text))).toBe(text);
    expect(indentJson('{"a":[{}],"b":[]}')).toBe('{\n  "a": [\n    {}\n  ],\n  "b": []\n}');
  });

  it("an object is told from all else", () => {
    expect(problemOfObject('{"a": 1}')).toBeUndefined();
    for (const other of ["[]", "null", "1", '"{}"'])
      expect(problemOfObject(other)).toMatch(/object/);
    for (const broken of ["", "{", '{"a": 01}', "{'a': 1}"]) {
      expect(problemOfObject(broken)).toBeTruthy();
    }
  });
});

describe("lines", () => {
  const lines = fc.array(fc.constantFrom("a", "b", "c", ""), { maxLength: 12 });
  const sides = (steps: ReturnType<typeof lineDiff>, left: "removed" | "added") =>
    steps.flatMap((step) => (step.kind === left ? [] : step.lines)).join("\n");

  it("a difference has both texts", () => {
    fc.assert(
      fc.property(lines, lines, (old, fresh) => {
        const [before, after] = [old.join("\n"), fresh.join("\n")];
        const steps = lineDiff(before, after);
        expect(sides(steps, "added")).toBe(before);
        expect(sides(steps, "removed")).toBe(after);
      }),
      { numRuns: 500 },
    );
  });

  it("only what differs is removed and added", () => {
    expect(lineDiff("a\nb\nc", "a\nx\nc")).toEqual([
      { kind: "same", lines: ["a"] },
      { kind: "removed", lines: ["b"] },
      { kind: "added", lines: ["x"] },
      { kind: "same", lines: ["c"] },
    ]);
    expect(lineDiff("a", "a")).toEqual([{ kind: "same", lines: ["a"] }]);
  });

  it("texts with too many lines to compare are replaced in their middle", () => {
    const of = (name: string) => Array.from({ length: 3_000 }, (_, at) => `${name}${at}`);
    const steps = lineDiff(["same", ...of("a")].join("\n"), ["same", ...of("b")].join("\n"));
    expect(steps.map(({ kind, lines: { length } }) => [kind, length])).toEqual([
      ["same", 1],
      ["removed", 3_000],
      ["added", 3_000],
    ]);
  });
});
