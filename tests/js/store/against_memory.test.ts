/**
 * Random operations: after every batch the store answers as InMemoryStore of LangGraph.js does. What that one gets wrong
 * is left out: prefixes without boundaries (no label here is the beginning of another), namespaces joined by colons (no label
 * has one), namespaces that stay when their last item goes (dropped from the model), `maxDepth: 0`, results that are the
 * stored objects themselves (copied), order by locale (sorted), filters on absent fields and on other things than numbers
 * and texts (it casts, or compares objects by identity).
 */

import { InMemoryStore, type Item, type Operation } from "@langchain/langgraph-checkpoint";
import fc from "fast-check";
import type { ThreadkeepStore } from "threadkeep/langgraph";
import { describe, expect, it } from "vitest";
import { ENGINES } from "../support/servers.js";
import { bare, newStore } from "../support/stores.js";

const LABELS = ["a", "b", "B", "*", "%", "/c d", "ü ", "_", "x-y"];
const KEYS = ["", "k", "K", "/a b.md", "/ü%2F..", "nul\0", "lone\ud800", "a.b", "__proto__"];
const label = fc.constantFrom(...LABELS);
const key = fc.constantFrom(...KEYS);
const namespace = fc.array(label, { minLength: 1, maxLength: 3 });
const prefix = fc.array(label, { maxLength: 2 });
const small = fc.integer({ min: -3, max: 12 });
const number = fc.oneof(
  small,
  fc.constantFrom(0.5, -1e300, 2 ** 53, 2 ** 60, 1e21, 5e-324, -0, 123456789012345680000),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);
const text = fc.constantFrom(
  "",
  "2",
  "x",
  "é",
  "\0",
  "\ud800",
  "$threadkeep:bytes",
  "1".repeat(40),
);
const bytes = fc.uint8Array({ maxLength: 9 });
const leaf = fc.oneof(number, text, fc.boolean(), fc.constant(null), bytes);
const field = fc.constantFrom("x", "y", "\0", "$threadkeep:bytes", "$$threadkeep:bytes", "$x");
const inner = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    leaf,
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(field, tie("value"), { maxKeys: 2 }),
  ),
})).value;
/** "n" is always a number, and "t" is always there, so that the reference can compare them. */
const document = fc
  .tuple(fc.dictionary(fc.constantFrom("m", "list", "x.y"), inner, { maxKeys: 3 }), small, text)
  .map(([more, n, t]): Record<string, unknown> => ({ ...more, n, t }));
const operator = fc.constantFrom("$eq", "$ne", "$gt", "$gte", "$lt", "$lte");
const filter = fc.oneof(
  fc.constant(undefined),
  small.map((n) => ({ n })),
  text.map((t) => ({ t })),
  fc.tuple(operator, small).map(([name, n]) => ({ n: { [name]: n } })),
  fc.tuple(small, small).map(([from, to]) => ({ n: { $gte: from, $lt: to } })),
  fc.array(small, { maxLength: 3 }).map((all) => ({ n: { $in: all } })),
  fc.array(text, { maxLength: 3 }).map((all) => ({ t: { $nin: all } })),
);
const put = fc
  .tuple(namespace, key, fc.oneof({ weight: 4, arbitrary: document }, fc.constant(null)))
  .map(([namespace, key, value]): Operation => ({ namespace, key, value }));
const get = fc.tuple(namespace, key).map(([namespace, key]): Operation => ({ namespace, key }));
const search = fc.tuple(prefix, filter).map(
  ([namespacePrefix, filter]): Operation => ({
    namespacePrefix,
    limit: 1000,
    offset: 0,
    ...(filter ? { filter } : {}),
  }),
);
const condition = fc.record({
  matchType: fc.constantFrom("prefix" as const, "suffix" as const),
  path: fc.array(label, { minLength: 1, maxLength: 2 }),
});
const list = fc
  .tuple(fc.array(condition, { maxLength: 2 }), fc.constantFrom(undefined, 1, 2, 3))
  .map(
    ([matchConditions, maxDepth]): Operation => ({
      matchConditions,
      limit: 1000,
      offset: 0,
      ...(maxDepth === undefined ? {} : { maxDepth }),
    }),
  );
const batch = fc.array(fc.oneof({ weight: 2, arbitrary: put }, get, search, list), {
  minLength: 1,
  maxLength: 8,
});

/** What can be the same in both: no times, no order where it is another one, no identity. */
function comparable(operation: Operation, result: unknown): unknown {
  if ("value" in operation) return null;
  if ("namespacePrefix" in operation) {
    return sorted((result as Item[]).map((item) => bare(item)));
  }
  if ("key" in operation) return bare(result as Item | null);
  return sorted(result as string[][]);
}

function sorted<T>(all: T[]): T[] {
  return [...all].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}

async function answersOf(model: InMemoryStore, operations: Operation[]): Promise<unknown[]> {
  // Its items are the live ones: a later put would change what an earlier read answered.
  const answers = structuredClone(await model.batch(operations));
  const { data } = model as unknown as { data: Map<string, Map<string, unknown>> };
  for (const [name, items] of data) if (items.size === 0) data.delete(name);
  return answers;
}

async function empty(store: ThreadkeepStore): Promise<void> {
  const gone: Operation[] = [];
  for await (const { namespace, key } of store.scan([], { values: false })) {
    gone.push({ namespace, key, value: null });
  }
  await store.batch(gone);
}

describe.each(ENGINES)("on %s", (engine) => {
  it("every answer is that of the reference", async () => {
    const store = await newStore(engine);
    const sessions = fc.array(batch, { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(sessions, async (batches) => {
        await empty(store);
        const model = new InMemoryStore();
        for (const operations of batches) {
          const theirs = await answersOf(model, structuredClone(operations));
          const ours = await store.batch(operations);
          for (const [at, operation] of operations.entries()) {
            expect(comparable(operation, ours[at])).toEqual(comparable(operation, theirs[at]));
          }
        }
        const everything = (await model.search([], { limit: 1000 })).map(bare);
        const scanned: unknown[] = [];
        for await (const item of store.scan([], { pageItems: 4 })) scanned.push(bare(item));
        expect(sorted(scanned)).toEqual(sorted(everything));
        const pages: unknown[] = [];
        for (let offset = 0; offset < everything.length; offset += 3) {
          pages.push(...(await store.search([], { limit: 3, offset })).map(bare));
        }
        expect(sorted(pages)).toEqual(sorted(everything));
        expect(await store.count([])).toBe(everything.length);
      }),
      { numRuns: 100 },
    );
  });
});
