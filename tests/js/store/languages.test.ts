/** One server, two languages: what one put the other reads, equal, and neither harms it. */

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { ThreadkeepStore } from "threadkeep/langgraph";
import { describe, expect, inject, it } from "vitest";
import { newKey } from "../support/server.js";
import { ENGINES } from "../support/servers.js";
import { cleanEnvironment, ROOT } from "../support/settings.js";

const PYTHON = `${ROOT}target/py/bin/python`;
const PRELUDE = `
import sys
from threadkeep.langgraph import ThreadkeepStore
store = ThreadkeepStore()
NS = ("both", "a:b", "*")
BIG, ODD = 2**53 + 1, "nul \\0 lone \\ud800 pair \\U0001f980"
VALUE = {
    "whole": 7, "negative": -3, "fraction": 0.1, "large": 1e300, "big": BIG, "huge": -(2**70),
    "list": [1, [2, {"three": 3}]], "true": True, "none": None, "empty": {}, ODD: ODD,
    "bytes": b"\\0\\xff\\x89PNG", "deep": [{"bytes": b""}],
    "like": {"$threadkeep:bytes": "AAAA"}, "likelier": {"$$threadkeep:bytes": b"x"},
    "date": "2026-01-31T12:00:00.000Z", "__proto__": {"a": 1},
}
`;
const ODD = "nul \0 lone \ud800 pair 🦀";
const VALUE = {
  whole: 7,
  negative: -3,
  fraction: 0.1,
  large: 1e300,
  big: 2n ** 53n + 1n,
  huge: -(2n ** 70n),
  list: [1, [2, { three: 3 }]],
  true: true,
  none: null,
  empty: {},
  [ODD]: ODD,
  bytes: new Uint8Array([0, 255, 0x89, 0x50, 0x4e, 0x47]),
  deep: [{ bytes: new Uint8Array() }],
  like: { "$threadkeep:bytes": "AAAA" },
  likelier: { "$$threadkeep:bytes": new TextEncoder().encode("x") },
  date: "2026-01-31T12:00:00.000Z",
  ["__proto__"]: { a: 1 },
};
const NS = ["both", "a:b", "*"];
const LENGTHS = {
  embedDocuments: async (texts: string[]) => texts.map((text) => [text.length, 1]),
  embedQuery: async (text: string) => [text.length, 1],
};
const LENGTHS_IN_PYTHON = `
index = {"dims": 2, "embed": lambda texts: [[len(text), 1] for text in texts], "fields": ["text"]}
store = ThreadkeepStore(index=index)
`;

describe.each(ENGINES)("on %s", (engine) => {
  async function both() {
    const place = inject("servers")[engine];
    const apiKey = await newKey(place);
    const env = {
      ...cleanEnvironment(),
      PYTHONPATH: `${ROOT}clients/python/src`,
      THREADKEEP_URL: place.url,
      THREADKEEP_API_KEY: apiKey,
    } as unknown as NodeJS.ProcessEnv;
    const python = async (program: string) => {
      const { stdout } = await promisify(execFile)(PYTHON, ["-c", PRELUDE + program], { env });
      return stdout.trim();
    };
    const index = { dims: 2, embeddings: LENGTHS, fields: ["text"] };
    const meaning = new ThreadkeepStore({ url: place.url, apiKey, index });
    return { python, meaning, store: new ThreadkeepStore({ url: place.url, apiKey }) };
  }

  it("JavaScript reads what Python put", async () => {
    const { python, store } = await both();
    const times = await python(`
store.put(NS, ODD, VALUE)
store.put(NS, "float", {"one": 1.0, "text": "\\u00fc", "whole": 2**60})
item = store.get(NS, ODD)
print(item.created_at.isoformat(), item.version)
`);
    const item = await store.get(NS, ODD);
    expect(item?.value).toStrictEqual(VALUE);
    expect(Object.keys(item?.value ?? {})).toEqual(Object.keys(VALUE));
    const [created, version] = times.split(" ");
    expect(item?.createdAt).toEqual(new Date(created ?? ""));
    expect(String(item?.version)).toBe(version);
    // There is one kind of number in JavaScript, as far as it holds them.
    const value = (await store.get(NS, "float"))?.value;
    expect(value).toStrictEqual({ one: 1, text: "ü", whole: 2n ** 60n });
    expect(await store.listNamespaces()).toEqual([NS]);
    const found = await store.search(NS, { filter: { bytes: VALUE.bytes, big: VALUE.big } });
    expect(found.map((it) => it.key)).toEqual([ODD]);
  });

  it("Python reads what JavaScript put", async () => {
    const { python, store } = await both();
    await store.put(NS, ODD, { ...VALUE, date: new Date("2026-01-31T12:00:00Z") });
    const said = await python(`
item = store.get(NS, ODD)
assert item is not None and item.key == ODD and item.namespace == NS
assert item.value == VALUE, item.value
assert list(item.value) == list(VALUE)
assert [type(item.value[name]) for name in ("whole", "fraction", "big", "true", "bytes")] == [int, float, int, bool, bytes]
assert [it.key for it in store.search(NS, filter={"bytes": VALUE["bytes"], "huge": {"$lt": 0}})] == [ODD]
print(item.updated_at.isoformat(), item.version)
`);
    const item = await store.get(NS, ODD);
    const [updated, version] = said.split(" ");
    expect(item?.updatedAt).toEqual(new Date(updated ?? ""));
    expect(String(item?.version)).toBe(version);
  });

  it("each finds the vectors of the other", async () => {
    const { python, meaning } = await both();
    await meaning.put(NS, "from JavaScript", { text: "four" });
    const said = await python(`${LENGTHS_IN_PYTHON}
store.put(NS, "from Python", {"text": "a text of twenty-one."})
print([(it.key, round(it.score, 5)) for it in store.search(NS, query="tree")])
`);
    expect(said).toBe("[('from JavaScript', 1.0), ('from Python', 0.98058)]");
    const found = await meaning.search(NS, { query: "twenty-one characters" });
    expect(found.map(({ key }) => key)).toEqual(["from Python", "from JavaScript"]);
    expect(found[0]?.score).toBeCloseTo(1, 5);
  });

  it("what JavaScript reads and puts back is what Python put", async () => {
    const { python, store } = await both();
    await python("store.put(NS, ODD, VALUE)");
    await store.edit(NS, ODD, (value) => ({ ...value, more: 1 }));
    await store.edit(NS, ODD, (value) => value);
    await python(`
value = store.get(NS, ODD).value
assert value.pop("more") == 1 and value == VALUE, value
assert repr(value) == repr(VALUE)
`);
  });
});
