/** Trees show little of large values, and differences lead from one value to the other. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { applyPatch, diffOf } from "../src/content/json_diff.js";
import {
  cutText,
  ENTRIES_SHOWN,
  entriesOf,
  hasEntries,
  jsonText,
  summaryOf,
} from "../src/content/json_tree.js";
import { opaqueOf } from "../src/content/shapes.js";

const json = fc.jsonValue({ maxDepth: 4 });

describe("a tree", () => {
  it("shows a hundred entries of a list of a million", () => {
    const { entries, more } = entriesOf(
      Array.from({ length: 1_000_000 }, (_, at) => at),
      ENTRIES_SHOWN,
    );
    expect([entries.length, more]).toEqual([ENTRIES_SHOWN, 1_000_000 - ENTRIES_SHOWN]);
  });

  it("says in one short line what a value is, however large", () => {
    const large = {
      ["n".repeat(10_000)]: "x".repeat(1e6),
      list: Array(1e5).fill(0),
      b: 1,
      c: 2,
      d: 3,
      e: 4,
    };
    expect(summaryOf(large).length).toBeLessThan(250);
    expect(summaryOf("x".repeat(1e6)).length).toBeLessThan(50);
    expect(summaryOf([1])).toBe("[1 entry]");
  });

  it("never cuts a character", () => {
    expect(cutText("ab😀", 3)).toEqual({ text: "ab", more: 2 });
    expect(cutText("ab", 2)).toEqual({ text: "ab", more: 0 });
  });

  it("takes what cannot be shown for one value", () => {
    const opaque = { $opaque: { codec: "pickle", size_bytes: 3, reason: "no" } };
    expect(opaqueOf(opaque)).toEqual({ codec: "pickle", sizeBytes: 3, reason: "no" });
    expect([hasEntries(opaque), hasEntries({ a: 1 }), hasEntries({}), hasEntries([])]).toEqual([
      false,
      true,
      false,
      false,
    ]);
  });

  it("copies the whole value", () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(JSON.parse(jsonText(value))).toEqual(value);
      }),
    );
    expect(jsonText({ big: 2n ** 70n, zero: -0, lone: "\ud800" })).toBe(
      '{\n  "big": 1180591620717411303424,\n  "zero": -0,\n  "lone": "\\ud800"\n}',
    );
  });
});

describe("a difference", () => {
  it("leads from the one value to the other", () => {
    fc.assert(
      fc.property(json, json, (a, b) => {
        expect(applyPatch(diffOf(a, b), a)).toEqual(b);
      }),
    );
  });

  it("leads from one list of messages to another", () => {
    const message = fc.record({
      id: fc.constantFrom(..."abcdefgh"),
      content: fc.constantFrom("x", "y"),
    });
    const messages = fc.uniqueArray(message, { selector: ({ id }) => id });
    fc.assert(
      fc.property(messages, messages, (a, b) => {
        expect(applyPatch(diffOf(a, b), a)).toEqual(b);
      }),
    );
  });

  it("knows messages by their ids", () => {
    const [a, b, c] = ["a", "b", "c"].map((id) => ({ id, content: id }));
    expect(diffOf([a, b], [{ ...a, content: "new" }, c, b])).toEqual({
      kind: "list",
      steps: [
        {
          kind: "edit",
          patch: {
            kind: "object",
            fields: [
              ["content", { kind: "edit", patch: { kind: "set", before: "a", after: "new" } }],
            ],
          },
        },
        { kind: "added", after: c },
        { kind: "keep", count: 1 },
      ],
    });
  });
});
