/** Ids are free text: what a path, a proxy, a URL parser or JavaScript itself would change comes back as it was sent. */

import { describe, expect, it } from "vitest";
import { checkpoint, config, list, put } from "../support/checkpoints.js";
import { newSaver } from "../support/savers.js";
import { ENGINES } from "../support/servers.js";

const ODD = [
  ".",
  "..",
  "a/b",
  "a//b",
  "/",
  "%2F",
  "%2e%2e",
  "%00",
  "a%2Fb",
  "a\\b",
  "?a=b&c#d",
  " ",
  " leading and trailing ",
  "line\nbreak\ttab\rreturn",
  "'; drop table checkpoints; --",
  '"quoted"',
  "{}",
  "null",
  "undefined",
  "0",
  "*",
  "_",
  "a|b:c|d",
  "ü",
  "u\u0308",
  "\u202e right to left",
  "\u{1f9f5}".repeat(10),
  "\x01\x7f",
  "x".repeat(256),
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "hasOwnProperty",
  "then",
];

describe.each(ENGINES)("on %s, odd", (engine) => {
  it("threads, channels and tasks each keep their own", async () => {
    const saver = await newSaver(engine);
    for (const text of ODD) {
      const values = Object.fromEntries([[text, `value of ${text}`]]);
      const where = await put(saver, text, checkpoint(text, values));
      await saver.putWrites(where, [[text, `write of ${text}`]], text);
    }
    for (const text of ODD) {
      const found = await saver.getTuple(config(text));
      expect(found?.config).toEqual(config(text, { checkpoint_id: text }));
      expect(Object.entries(found?.checkpoint.channel_values ?? {})).toEqual([
        [text, `value of ${text}`],
      ]);
      expect(found?.pendingWrites).toEqual([[text, text, `write of ${text}`]]);
      const channels = [text, `${text}!`];
      const histories = await saver.getDeltaChannelHistory({
        config: config(text, { checkpoint_id: text }),
        channels,
      });
      expect(Object.keys(histories).sort()).toEqual([...channels].sort());
    }
    expect(await list(saver)).toHaveLength(ODD.length);
    for (const [at, text] of ODD.entries()) {
      await saver.deleteThread(text);
      expect(await saver.getTuple(config(text))).toBeUndefined();
      const following = ODD[at + 1];
      if (following) expect(await saver.getTuple(config(following))).toBeDefined();
    }
  });

  it("namespaces and the empty one each keep their own", async () => {
    const saver = await newSaver(engine);
    const names = ["", ...ODD];
    for (const ns of names) await put(saver, "t", checkpoint("c1", { ns }), { checkpoint_ns: ns });
    for (const ns of names) {
      const found: unknown[] = [];
      for await (const one of saver.list(config("t", { checkpoint_ns: ns })))
        found.push(one.checkpoint.channel_values);
      expect(found).toEqual([{ ns }]);
    }
  });

  it("ids that the server refuses are typed errors that name the field", async () => {
    const saver = await newSaver(engine);
    for (const [field, thread, more] of [
      ["thread_id", "a\0b", {}],
      ["thread_id", "x".repeat(2_000), {}],
      ["checkpoint_ns", "t", { checkpoint_ns: "\0" }],
    ] as const) {
      const refused = put(saver, thread, checkpoint("c1"), more);
      await expect(refused).rejects.toMatchObject({ name: "InvalidError", status: 422 });
      await expect(put(saver, thread, checkpoint("c1"), more)).rejects.toMatchObject({
        field: expect.stringContaining(field),
      });
    }
    expect(await list(saver)).toEqual([]);
  });

  it("values come back as they were, absent, undefined and null apart", async () => {
    const saver = await newSaver(engine);
    const values = {
      nothing: null,
      notDefined: undefined,
      numbers: [0, -0.5, 1e308, Number.MAX_SAFE_INTEGER],
      text: "\0 \ud800 \u2028 ü \u{1f9f5}",
      bytes: new Uint8Array([0, 255, 128]),
      nested: { bytes: new Uint8Array([1]), set: new Set([1]), map: new Map([["a", { b: null }]]) },
      empty: "",
    };
    const made = { ...checkpoint("c1", values), extra: { kept: [1, null] } };
    made.channel_versions = { ...made.channel_versions, gone: 1 };
    const metadata = {
      source: "loop",
      step: 1,
      parents: {},
      score: 1.5,
      deep: { text: "\0\ud800", list: [] },
    } as const;
    await saver.put(config("t"), made, metadata, made.channel_versions);
    const found = await saver.getTuple(config("t"));
    expect(found?.checkpoint).toStrictEqual(made);
    expect(found?.metadata).toStrictEqual(metadata);
    expect(found && "parentConfig" in found).toBe(false);
    const filtered: unknown[] = [];
    for await (const one of saver.list(config("t"), { filter: { score: 1.5, deep: { list: [] } } }))
      filtered.push(one);
    expect(filtered).toHaveLength(1);
  });
});
