/** Trees show little of large values, and differences lead from one value to the other. */

import { isDeepStrictEqual } from "node:util";
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

/** Any UTF-16 units, with halves of pairs. */
const text = fc.string({
  unit: fc.integer({ min: 0, max: 0xffff }).map((it) => String.fromCharCode(it)),
});
const PLAIN = { noNullPrototype: true };
const name = fc.oneof(fc.constantFrom("id", "", "a", "b", "__proto__", "constructor"), text);
const id = fc.constantFrom(..."abcdefgh");

/** Makes values of a state. Some have few different leaves, so that lists repeat themselves. */
const { stored, message } = fc.letrec<{ stored: unknown; message: unknown }>((tie) => ({
  stored: fc.oneof(
    { maxDepth: 4, depthSize: "small" },
    fc.constantFrom(null, true, 0, -0, 1, 1n, "", "1"),
    fc.oneof(text, fc.double(), fc.bigInt(), fc.uint8Array({ maxLength: 4 })),
    fc.array(fc.constantFrom(0, 0n, "0", null), { maxLength: 8 }),
    fc.array(tie("stored"), { maxLength: 5 }),
    fc.dictionary(name, tie("stored"), { maxKeys: 5, noNullPrototype: true }),
    fc.array(tie("message"), { maxLength: 6 }),
  ),
  message: fc.record({ id, type: fc.constantFrom("human", "ai"), content: tie("stored") }, PLAIN),
}));

/** A list, and what became of it: entries in another order, twice, changed, away and new. */
const changed = fc
  .tuple(fc.array(fc.oneof(message, stored), { maxLength: 10 }), fc.infiniteStream(fc.nat(9)))
  .chain(([before, picks]) => {
    const kept = [...picks.take(12)].flatMap((at) => (at < before.length ? [before[at]] : []));
    const one = fc.oneof(fc.constantFrom(...kept, null), message, stored);
    return fc.tuple(fc.constant(before), fc.array(one, { maxLength: 12 }));
  });
const RUNS = 500;

/** As the worker of the page does it: both values are copied on the way there, the difference on the way back. */
function expectLeads(before: unknown, after: unknown): void {
  const [a, b] = structuredClone([before, after]);
  const patch = structuredClone(diffOf(a, b));
  // Matchers of the runner ask values for their constructor, which is a name of the stored ones here.
  expect(isDeepStrictEqual(applyPatch(patch, before), after)).toBe(true);
  expect(isDeepStrictEqual([a, b], [before, after])).toBe(true);
  expect(diffOf(b, structuredClone(after))).toEqual({ kind: "same" });
}

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
    fc.assert(fc.property(stored, stored, expectLeads), { numRuns: RUNS });
  });

  it("leads from a list to what became of it", () => {
    fc.assert(
      fc.property(changed, ([before, after]) => expectLeads(before, after)),
      { numRuns: RUNS },
    );
  });

  it("leads from one list of messages to another, and keeps those that stayed", () => {
    const messages = fc.uniqueArray(fc.record({ id, content: stored }, PLAIN), {
      selector: (it) => it.id,
    });
    const moved = messages.chain((before) =>
      fc.tuple(
        fc.constant(before),
        fc.uniqueArray(
          fc.oneof(
            fc.constantFrom(...before, { id: "new", content: 0 }),
            fc.record({ id, content: stored }, PLAIN),
          ),
          {
            selector: (it) => it.id,
          },
        ),
      ),
    );
    fc.assert(
      fc.property(moved, ([before, after]) => {
        expectLeads(before, after);
        // A list that only grew keeps all that it had.
        const added = after.filter((one) => !before.some((old) => old.id === one.id));
        const grown = diffOf(before, [...before, ...added]);
        if (added.length > 0) {
          const keep = before.length === 0 ? [] : [{ kind: "keep", count: before.length }];
          const steps = [...keep, ...added.map((one) => ({ kind: "added", after: one }))];
          expect(isDeepStrictEqual(grown, { kind: "list", steps })).toBe(true);
        }
      }),
      { numRuns: RUNS },
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
