/** What a store of the Claude Agent SDK's sessions promises beyond the contracts: no doubles, exact content, true summaries. */

import { type FoldSessionSummary, ThreadkeepSessionStore } from "threadkeep/claude";
import { describe, expect, inject, it } from "vitest";
import { CountingProxy } from "../support/proxy.js";
import { ENGINES } from "../support/servers.js";
import { newSessionStore, newTenant } from "../support/sessions.js";

const KEY = { projectKey: "-home-ann-work", sessionId: "s" };

describe.each(ENGINES)("on %s", (engine) => {
  describe("an entry", () => {
    it("with a uuid that the transcript has is left out, at its first place", async () => {
      const store = await newSessionStore(engine);
      await store.append(KEY, [
        { type: "a", uuid: "1" },
        { type: "b", uuid: "2" },
        { type: "again", uuid: "1" },
      ]);
      await store.append(KEY, [
        { type: "again", uuid: "2" },
        { type: "c", uuid: "b" },
        { type: "d" },
        { type: "d" },
      ]);
      await store.append(KEY, [{ type: "again", uuid: "b" }]);
      expect((await store.load(KEY))?.map((it) => it.type)).toEqual(["a", "b", "c", "d", "d"]);
    });

    it("with that uuid in another transcript is another entry", async () => {
      const store = await newSessionStore(engine);
      const places = [
        KEY,
        { ...KEY, subpath: "x" },
        { ...KEY, subpath: "x/y" },
        { ...KEY, sessionId: "fork" },
        { ...KEY, projectKey: "other" },
      ];
      for (const place of places) await store.append(place, [{ type: "a", uuid: "same" }]);
      for (const place of places) expect(await store.load(place)).toHaveLength(1);
    });

    it("comes back exactly, whatever is in it", async () => {
      const store = await newSessionStore(engine);
      const entries = [
        { type: "nul \0", uuid: "\0", text: "a\0b \ud800 lone 🦀 \u2028" },
        JSON.parse('{"type":"x","__proto__":{"a":1},"constructor":null,"":"empty"}'),
        { type: "numbers", n: [0.1, 1e300, -0.5, 2 ** 53, 1], deep: [[[[{ a: [] }]]]] },
        { type: "x", uuid: "sha256-0123", unknown: { later: true }, timestamp: "" },
      ];
      await store.append(KEY, entries);
      expect(await store.load(KEY)).toEqual(entries);
    });

    it("may be of 10 MB", async () => {
      const store = await newSessionStore(engine);
      const large = { type: "user", uuid: "large", data: "€\0x".repeat(2_000_000) };
      expect(JSON.stringify(large).length).toBeGreaterThan(10_000_000);
      await store.append(KEY, [{ type: "before" }, large, { type: "behind" }]);
      const found = await store.load(KEY);
      expect(found?.map((it) => it.type)).toEqual(["before", "user", "behind"]);
      expect(found?.[1]?.["data"] === large.data).toBe(true);
    });

    it("of more than a page holds are all found", async () => {
      const store = await newSessionStore(engine);
      const text = "x".repeat(5_000_000);
      const all = Array.from({ length: 5 }, (_, at) => ({ type: `${at}`, text: `${at}${text}` }));
      await store.append(KEY, all);
      const found = await store.load(KEY);
      expect(found?.map((it) => it.type)).toEqual(all.map((it) => it.type));
      expect(found?.every((it, at) => it["text"] === all[at]?.text)).toBe(true);
    });
  });

  it("keys may be any text", async () => {
    const store = await newSessionStore(engine);
    const odd = ["-home-x", "a/b/../c", "--", "%2F", "ü🦀", " ", "a:b", "['x']", ".", ".."];
    for (const text of odd) {
      const key = { projectKey: text, sessionId: text };
      await store.append(key, [{ type: text }]);
      await store.append({ ...key, subpath: `/${text}/` }, [{ type: "sub" }]);
      expect(await store.load(key)).toEqual([{ type: text }]);
      expect(await store.listSubkeys(key)).toEqual([`/${text}/`]);
      expect((await store.listSessions(text)).map((it) => it.sessionId)).toEqual([text]);
    }
  });

  it("lists more sessions than a page holds, once each", async () => {
    const store = await newSessionStore(engine);
    const ids = Array.from({ length: 620 }, (_, at) => `s${at}`);
    await Promise.all(ids.map((sessionId) => store.append({ ...KEY, sessionId }, [{ type: "x" }])));
    const found = await store.listSessions(KEY.projectKey);
    expect(found.map((it) => it.sessionId).sort()).toEqual(ids.sort());
  });

  it("a lost reply doubles nothing, also without a uuid", async () => {
    const proxy = await CountingProxy.before(inject("servers")[engine].url);
    const tenant = await newTenant(engine);
    const store = new ThreadkeepSessionStore({ ...tenant, url: proxy.url });
    proxy.lose(2);
    await store.append(KEY, [{ type: "a" }, { type: "b", uuid: "1" }]);
    expect(proxy.lost).toBe(2);
    // The SDK's own retry, with the list that it has.
    const given = [{ type: "c" }];
    const impatient = new ThreadkeepSessionStore({ ...tenant, url: proxy.url, timeoutMs: 3_000 });
    proxy.lose(1_000);
    await expect(impatient.append(KEY, given)).rejects.toMatchObject({ code: "transport" });
    proxy.lose(0);
    await impatient.append(KEY, given);
    expect((await store.load(KEY))?.map((it) => it.type)).toEqual(["a", "b", "c"]);
    await proxy.close();
  });

  it("summaries of several writers at once are those of the transcript", async () => {
    const tenant = await newTenant(engine);
    const foldSummary: FoldSessionSummary = (previous, { sessionId }, entries) => {
      const types = (previous?.data["types"] as string[] | undefined) ?? [];
      return { sessionId, mtime: 0, data: { types: [...types, ...entries.map((it) => it.type)] } };
    };
    const plain = new ThreadkeepSessionStore(tenant);
    await plain.append(KEY, [{ type: "before there were summaries" }]);
    const writers = Array.from({ length: 6 }, (_, writer) => async () => {
      const store = new ThreadkeepSessionStore({ ...tenant, foldSummary });
      for (let at = 0; at < 8; at += 1) await store.append(KEY, [{ type: `${writer}-${at}` }]);
    });
    await Promise.all(writers.map((write) => write()));
    const store = new ThreadkeepSessionStore({ ...tenant, foldSummary });
    const [summary] = (await store.listSessionSummaries?.(KEY.projectKey)) ?? [];
    const types = (await store.load(KEY))?.map((it) => it.type);
    expect(types).toHaveLength(49);
    expect(summary?.data).toEqual({ types });
    const [listed] = await store.listSessions(KEY.projectKey);
    expect(summary?.mtime).toBeGreaterThanOrEqual(listed?.mtime ?? Number.NaN);
    // A writer without summaries leaves one that is older than the transcript, which is how the SDK knows.
    await new Promise((resolve) => setTimeout(resolve, 5));
    await plain.append(KEY, [{ type: "behind" }]);
    const [later] = await store.listSessions(KEY.projectKey);
    expect(later?.mtime).toBeGreaterThan(summary?.mtime ?? Number.NaN);
  });
});
