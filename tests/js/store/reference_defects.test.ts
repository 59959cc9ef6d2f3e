/**
 * What a store must not do, as cases that fail on the stores of LangGraph.js and hold here. On the in-memory store only
 * where the defect is its own.
 */

import { type BaseStore, InMemoryStore } from "@langchain/langgraph-checkpoint";
import { PostgresStore } from "@langchain/langgraph-checkpoint-postgres/store";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isAtLeast } from "../support/peers.js";
import { Postgres } from "../support/postgres.js";
import { ENGINES } from "../support/servers.js";
import { keysOf, newStore } from "../support/stores.js";

type Case = (store: BaseStore) => Promise<void>;

/** A label that only begins like another one is another one. */
const prefixes_end_with_their_labels: Case = async (store) => {
  await store.put(["f"], "mine", { a: 1 });
  await store.put(["f", "x"], "mine below", { a: 1 });
  await store.put(["foo"], "of somebody else", { a: 1 });
  expect(keysOf(await store.search(["f"])).sort()).toEqual(["mine", "mine below"]);
};

/** Labels are not joined into one text. */
const namespaces_are_arrays: Case = async (store) => {
  await store.put(["c", "a:b"], "k", { by: "two labels" });
  await store.put(["c", "a", "b"], "k", { by: "three labels" });
  expect((await store.get(["c", "a:b"], "k"))?.value).toEqual({ by: "two labels" });
  expect((await store.get(["c", "a", "b"], "k"))?.value).toEqual({ by: "three labels" });
  const namespaces = await store.listNamespaces();
  expect(namespaces.sort((a, b) => a.length - b.length)).toEqual([
    ["c", "a:b"],
    ["c", "a", "b"],
  ]);
};

/** The empty prefix is everything. */
const everything_can_be_searched: Case = async (store) => {
  await store.put(["a"], "k", { a: 1 });
  expect(keysOf(await store.search([]))).toEqual(["k"]);
};

/** No character of a label means anything. */
const any_label_is_a_label: Case = async (store) => {
  for (const label of ["user_1", "100%", "a*b"]) {
    await store.put([label], label, { a: 1 });
    expect(keysOf(await store.search([label]))).toEqual([label]);
  }
};

/** A filter that is not understood never matches everything. */
const unknown_operators_are_refused: Case = async (store) => {
  await store.put(["n"], "k", { score: 1 });
  await expect(store.search(["n"], { filter: { score: { $bogus: 2 } } })).rejects.toThrow(
    "Unsupported operator: $bogus",
  );
};

const depth_cuts_namespaces: Case = async (store) => {
  await store.put(["a", "b", "c"], "k", { a: 1 });
  await store.put(["a", "b", "d"], "k", { a: 1 });
  expect(await store.listNamespaces({ maxDepth: 2 })).toEqual([["a", "b"]]);
};

const a_star_is_any_label: Case = async (store) => {
  await store.put(["a", "b", "c"], "k", { a: 1 });
  await store.put(["a", "x", "d"], "k", { a: 1 });
  expect(await store.listNamespaces({ prefix: ["a", "*", "c"] })).toEqual([["a", "b", "c"]]);
  expect(await store.listNamespaces({ suffix: ["x", "*"] })).toEqual([["a", "x", "d"]]);
};

/** A search inside of a graph goes through `batch`: the same order there. */
const every_way_to_search_has_one_order: Case = async (store) => {
  for (const key of ["first", "second", "third"]) {
    await store.put(["n"], key, { a: 1 });
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await store.put(["n"], "first", { a: 2 });
  const [found] = await store.batch([{ namespacePrefix: ["n"], limit: 10, offset: 0 }]);
  expect(keysOf(await store.search(["n"]))).toEqual(keysOf(found ?? []));
};

const bytes_stay_bytes: Case = async (store) => {
  const content = new Uint8Array([0x89, 0x50, 0, 0xff]);
  await store.put(["n"], "/a.png", { content, more: [{ content }] });
  expect((await store.get(["n"], "/a.png"))?.value).toEqual({ content, more: [{ content }] });
};

const any_string_is_kept: Case = async (store) => {
  const odd = "nul \0 and lone \ud800";
  await store.put(["n"], odd, { text: odd, [odd]: [odd] });
  const item = await store.get(["n"], odd);
  expect([item?.key, item?.value]).toEqual([odd, { text: odd, [odd]: [odd] }]);
};

/** An item that was read is not the stored one. */
const what_was_read_can_be_changed: Case = async (store) => {
  await store.put(["n"], "k", { list: [1] });
  const [item] = await store.search(["n"]);
  item?.value["list"].push(2);
  expect((await store.get(["n"], "k"))?.value).toEqual({ list: [1] });
};

const a_batch_is_whole: Case = async (store) => {
  const circle: Record<string, unknown> = {};
  circle["again"] = circle;
  const good = { namespace: ["n"], key: "good", value: { a: 1 } };
  await expect(
    store.batch([good, { namespace: ["n"], key: "bad", value: circle }]),
  ).rejects.toThrow();
  expect(await store.get(["n"], "good")).toBeNull();
};

/** LangGraph's in-memory store keeps prefixes apart since then, and refuses labels with a colon. */
const IS_MENDED = isAtLeast("@langchain/langgraph-checkpoint", "1.2");

/** Each case, and what the references say to it where the defect is theirs. */
const CASES: [string, Case, { memory?: RegExp; postgres?: RegExp }][] = [
  [
    "prefixes end with their labels",
    prefixes_end_with_their_labels,
    {
      ...(IS_MENDED ? {} : { memory: /…\(1\)|of somebody/ }),
      postgres: /…\(1\)|of somebody/,
    },
  ],
  [
    "namespaces are arrays",
    namespaces_are_arrays,
    {
      memory: IS_MENDED ? /labels cannot contain colons/ : /three labels.*deeply equal/,
      postgres: /three labels.*deeply equal/,
    },
  ],
  ["everything can be searched", everything_can_be_searched, { postgres: /cannot be empty/ }],
  ["any label is a label", any_label_is_a_label, { postgres: /wildcards/ }],
  [
    "unknown operators are refused",
    unknown_operators_are_refused,
    { memory: /instead of rejecting/, postgres: /instead of rejecting/ },
  ],
  ["depth cuts namespaces", depth_cuts_namespaces, { postgres: /expected \[\] to deeply/ }],
  ["a star is any label", a_star_is_any_label, { postgres: /expected \[\] to deeply/ }],
  [
    "every way to search has one order",
    every_way_to_search_has_one_order,
    { postgres: /'first', 'third', 'second'/ },
  ],
  ["bytes stay bytes", bytes_stay_bytes, { postgres: /deeply equal/ }],
  ["any string is kept", any_string_is_kept, { postgres: /invalid byte sequence/ }],
  ["what was read can be changed", what_was_read_can_be_changed, { memory: /\[ 1, 2 \]/ }],
  ["a batch is whole", a_batch_is_whole, { postgres: /to be null/ }],
];

describe.each(ENGINES)("on %s", (engine) => {
  it.each(CASES)("%s", async (_, holds) => holds(await newStore(engine)));
});

if (IS_MENDED)
  it("prefixes end with their labels in memory, too", () =>
    prefixes_end_with_their_labels(new InMemoryStore()));

describe("on the references this does not hold:", () => {
  const postgres = new Postgres();
  const opened: PostgresStore[] = [];

  beforeAll(() => postgres.start());
  afterAll(async () => {
    for (const store of opened) await store.stop();
    await postgres.remove();
  });

  const claims = CASES.flatMap(([name, holds, reasons]) =>
    Object.entries(reasons).map(([reference, why]) => [name, reference, holds, why] as const),
  );
  it.each(claims)("%s, in %s", async (_, reference, holds, why) => {
    let store: BaseStore = new InMemoryStore();
    if (reference === "postgres") {
      const database = await postgres.create();
      const made = new PostgresStore({ connectionOptions: postgres.connection(database) });
      await made.setup();
      // It works at all, so what fails next is the case.
      await made.put(["works"], "k", { a: 1 });
      expect((await made.get(["works"], "k"))?.value).toEqual({ a: 1 });
      await made.delete(["works"], "k");
      opened.push(made);
      store = made;
    }
    await expect(holds(store)).rejects.toThrow(why);
  });
});
