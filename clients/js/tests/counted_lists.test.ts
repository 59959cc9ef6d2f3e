/** Lists with counts, page by page: subjects, kinds of sessions, and namespaces. */

import { beforeEach, describe, expect, it } from "vitest";
import { Client, ProtocolError } from "../src/index.js";
import { FakeServer } from "./fake_server.js";

const TIME = "2026-01-31T13:00:00.5Z";
const SUBJECT = {
  ...{ subject: "ann:<b>", keys: 1, threads: 10_000, sessions: 2, snapshots: 3, items: 4 },
  ...{ size_bytes: 5, updated_at: TIME, partial: true },
};

let server: FakeServer;
let client: Client;

beforeEach(() => {
  server = new FakeServer();
  client = new Client({ url: "http://server", apiKey: "tk_secret", fetch: server.fetch });
});

const answer = (path: string, value: unknown) => server.answers.set(path, () => value);
const bodies = () => server.seen.map(({ body }) => body);

describe("subjects", () => {
  it("come in pages, and one with nothing but keys has no time", async () => {
    const { updated_at: _, ...bare } = { ...SUBJECT, partial: false };
    answer("/v1/subjects", { subjects: [SUBJECT, bare], next_cursor: "c" });
    const { subjects, nextCursor } = await client.subjects.list({ limit: 2, cursor: "a" });
    const { size_bytes, updated_at, ...counts } = SUBJECT;
    const read = { ...counts, sizeBytes: size_bytes };
    expect(subjects).toEqual([
      { ...read, updatedAt: new Date(updated_at) },
      { ...read, partial: false },
    ]);
    expect(nextCursor).toBe("c");
    await client.subjects.list();
    expect(server.seen.map(({ url }) => url)).toEqual([
      "http://server/v1/subjects?limit=2&cursor=a",
      "http://server/v1/subjects",
    ]);
  });

  it.each([{ partial: "yes" }, { items: "4" }, { updated_at: "soon" }, { subject: null }])(
    "with %j are an error of the protocol",
    async (wrong) => {
      answer("/v1/subjects", { subjects: [{ ...SUBJECT, ...wrong }] });
      await expect(client.subjects.list()).rejects.toBeInstanceOf(ProtocolError);
    },
  );
});

describe("kinds of sessions", () => {
  it("come in pages, which may be empty before the last one", async () => {
    const kind = { kind: "claude", sessions: 7, updated_at_ms: 9, partial: false };
    server.answers.set("/v1/sessions/kinds", ({ cursor }) =>
      cursor === undefined ? { kinds: [], next_cursor: "c" } : { kinds: [kind] },
    );
    const first = await client.sessions.kinds({ limit: 1 });
    expect(first).toEqual({ kinds: [], nextCursor: "c" });
    expect(await client.sessions.kinds({ cursor: "c" })).toEqual({
      kinds: [{ kind: "claude", sessions: 7, updatedAtMs: 9, partial: false }],
    });
    expect(bodies()).toEqual([{ limit: 1 }, { cursor: "c" }]);
  });
});

describe("namespaces", () => {
  it("have counts where they are asked for, and the bare list is as before", async () => {
    const namespaces = [["ann"], ["ann", "notes"]];
    answer("/v1/store/namespaces", { namespaces, counts: [10_000, 3], next_cursor: "c" });
    const options = { counts: true, cursor: "b", prefix: ["ann"], limit: 2 };
    expect(await client.store.listNamespaces(options)).toEqual({
      namespaces,
      counts: [10_000, 3],
      nextCursor: "c",
    });
    expect(await client.store.namespaces({ prefix: ["ann"] })).toEqual(namespaces);
    answer("/v1/store/namespaces", { namespaces });
    expect(await client.store.listNamespaces()).toEqual({ namespaces });
    const conditions = [{ match: "prefix", path: ["ann"] }];
    expect(bodies()).toEqual([
      { conditions, limit: 2, counts: true, cursor: "b" },
      { conditions },
      {},
    ]);
  });

  it.each([[[1]], [[1, 2, 3]], [[1, "2"]], [7]])(
    "with the counts %j are an error of the protocol",
    async (counts) => {
      answer("/v1/store/namespaces", { namespaces: [["a"], ["b"]], counts });
      const asked = client.store.listNamespaces({ counts: true });
      await expect(asked).rejects.toBeInstanceOf(ProtocolError);
    },
  );
});

describe("the largest namespaces", () => {
  const LARGE = { namespace: ["ann", "a/b"], items: 3, size_bytes: 210, updated_at: TIME };

  it("come with what is in each", async () => {
    answer("/v1/store/namespaces/largest", { namespaces: [LARGE] });
    const found = await client.store.largestNamespaces(["ann"], { limit: 1 });
    const { namespace, items } = LARGE;
    expect(found).toEqual([{ namespace, items, sizeBytes: 210, updatedAt: new Date(TIME) }]);
    await client.store.largestNamespaces();
    expect(bodies()).toEqual([{ prefix: ["ann"], limit: 1 }, { prefix: [] }]);
  });

  it.each([{ items: "3" }, { namespace: "ann" }, { size_bytes: null }])(
    "with %j are an error of the protocol",
    async (wrong) => {
      answer("/v1/store/namespaces/largest", { namespaces: [{ ...LARGE, ...wrong }] });
      await expect(client.store.largestNamespaces()).rejects.toBeInstanceOf(ProtocolError);
    },
  );
});
