/** The groups of the native client on a fake server: requests, lost replies, and answers of another form. */

import { beforeEach, describe, expect, it, vi } from "vitest";
import { Client, NotFoundError, ProtocolError } from "../src/index.js";
import { hexOfName, nameOf } from "../src/wire/digest.js";
import { FakeServer } from "./fake_server.js";

const TIME = "2026-01-31T13:00:00.5Z";
const ITEM = { namespace: ["n"], key: "k", version: 5, size_bytes: 2 };
const STORED = { ...ITEM, created_at: TIME, updated_at: TIME };
const text = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

let server: FakeServer;
let client: Client;

beforeEach(() => {
  server = new FakeServer();
  client = new Client({ url: "http://server/base", apiKey: "tk_secret", fetch: server.fetch });
});

const answer = (path: string, value: unknown) => server.answers.set(`/base${path}`, () => value);
const bodies = () => server.seen.map(({ body }) => body);
const queries = () => server.seen.map(({ url }) => url.slice("http://server/base".length));

describe("store", () => {
  it("a search sends the options that are given, and nothing else", async () => {
    answer("/v1/store/search", { items: [STORED], next_cursor: "c", omitted: 2 });
    const page = await client.store.search(["n"], {
      ...{
        filter: { a: { $gt: 1 } },
        exact: true,
        limit: 3,
        offset: 4,
        sort: "key",
        values: false,
      },
      ...{ select: ["a"], query: "tea", mode: "hybrid", queryVector: [1, 0.5], model: "m" },
      ...{ metric: "l2", refreshTtl: false },
    });
    expect(page).toMatchObject({ items: [{ key: "k", version: 5 }], nextCursor: "c", omitted: 2 });
    expect(page.items[0]?.createdAt).toEqual(new Date(TIME));
    await client.store.search([]);
    expect(bodies()).toEqual([
      {
        ...{ prefix: ["n"], exact: true, limit: 3, offset: 4, sort: "key", values: false },
        ...{ select: ["a"], query: "tea", mode: "hybrid", query_vector: [1, 0.5], model: "m" },
        ...{ metric: "l2", refresh_ttl: false, filter: text({ a: { $gt: 1 } }) },
      },
      { prefix: [] },
    ]);
  });

  it("a put that is sent again has the same key, and its value is exact", async () => {
    vi.useFakeTimers();
    answer("/v1/store/put", { version: 9 });
    server.faults = [{ lost: "after" }];
    const vectors = [{ field: "$", vector: [1, 2] }];
    const put = client.store.put(["n"], "\ud800", { n: 2n ** 60n }, { ifVersion: 5, vectors });
    await vi.advanceTimersByTimeAsync(5_000);
    vi.useRealTimers();
    expect(await put).toBe(9);
    const keys = server.seen.map(({ headers }) => headers.get("idempotency-key"));
    expect(keys[0]).toBeTruthy();
    expect(keys[1]).toBe(keys[0]);
    expect(bodies()[1]).toEqual({
      ...{ namespace: ["n"], key: text("\ud800"), if_version: 5, vectors },
      value: new TextEncoder().encode(`{"n":${2n ** 60n}}`),
    });
  });

  it("a value as text travels as it is, and is an object of JSON", async () => {
    const kept = `{"n": 1.0, "big": ${2n ** 70n}, "$threadkeep:bytes": "AA=="}`;
    answer("/v1/store/get", { item: { ...STORED, value: new TextEncoder().encode(kept) } });
    answer("/v1/store/put", { version: 9 });
    expect(await client.store.getText(["n"], "k")).toMatchObject({ version: 5, text: kept });
    expect(await client.store.putText(["n"], "k", kept, { ifVersion: 5 })).toBe(9);
    expect(bodies()[1]).toEqual({
      ...{ namespace: ["n"], key: "k", if_version: 5 },
      value: new TextEncoder().encode(kept),
    });
    for (const wrong of ["{", "[]", "null", '{"a": "\ud800"}']) {
      await expect(client.store.putText(["n"], "k", wrong)).rejects.toMatchObject({
        code: "invalid",
        field: "text",
      });
    }
    expect(server.seen.length).toBe(2);
  });

  it("a scan asks for each page with the cursor of the one before", async () => {
    server.answers.set("/base/v1/store/search", ({ cursor }) => {
      const item = { ...STORED, key: cursor ?? "first" };
      return cursor === "b"
        ? { items: [item] }
        : { items: [item], next_cursor: cursor ? "b" : "a" };
    });
    const keys: string[] = [];
    for await (const { key } of client.store.scan(["n"], { pageItems: 1 })) keys.push(key);
    expect(keys).toEqual(["first", "a", "b"]);
    expect(bodies().map((it) => [it["cursor"], it["limit"], it["sort"]])).toEqual([
      [undefined, 1, "key"],
      ["a", 1, "key"],
      ["b", 1, "key"],
    ]);
  });

  it.each([
    ["a time that is none", { ...STORED, created_at: "soon" }],
    ["a version that is text", { ...STORED, version: "5" }],
    ["a namespace that is text", { ...STORED, namespace: "n" }],
    ["a value that is no JSON", { ...STORED, value: new Uint8Array([123]) }],
  ])("%s is an error of the protocol", async (_, item) => {
    answer("/v1/store/get", { item });
    await expect(client.store.get(["n"], "k")).rejects.toBeInstanceOf(ProtocolError);
  });

  it("arguments that cannot travel are refused before anything is sent", async () => {
    const { store } = client;
    for (const [call, field] of [
      [store.put(["n"], "k", { a: Number.NaN }), "value"],
      [store.put(["n"], "k", {}, { index: "a" as never }), "index"],
      [store.get(["\ud800"], "k"), "namespace"],
      [store.search([], { query: "\ud800" }), "query"],
      [store.search([], { limit: 0.5 }), "limit"],
    ] as const) {
      await expect(call).rejects.toMatchObject({ code: "invalid", field });
    }
    expect(server.seen).toEqual([]);
  });
});

describe("checkpoints", () => {
  it("values and states are asked for by query, a channel as often as it is named", async () => {
    answer("/v1/checkpoints/values", {});
    answer("/v1/state", { state: null });
    const place = { checkpointNs: "a|b", checkpointId: "c 1", raw: true };
    await client.checkpoints.values("t/ü", { ...place, channels: ["x", "y&z"] });
    expect(await client.checkpoints.state("t")).toBeUndefined();
    expect(queries()).toEqual([
      "/v1/checkpoints/values?thread_id=t%2F%C3%BC&checkpoint_ns=a%7Cb&checkpoint_id=c+1&raw=true&channel=x&channel=y%26z",
      "/v1/state?thread_id=t",
    ]);
  });

  it("parts of values are asked for by query, and numbers are checked first", async () => {
    answer("/v1/checkpoints/values", {});
    answer("/v1/state", {});
    const window = { from: -50, itemsMax: 50, stringBytesMax: 0 };
    await client.checkpoints.values("t", { ...window, channels: ["messages"] });
    await client.checkpoints.state("t", { pointer: "/messages/3/content" });
    expect(queries()).toEqual([
      "/v1/checkpoints/values?thread_id=t&string_bytes_max=0&items_max=50&from=-50&channel=messages",
      "/v1/state?thread_id=t&pointer=%2Fmessages%2F3%2Fcontent",
    ]);
    for (const [options, field] of [
      [{ from: 0.5 }, "from"],
      [{ itemsMax: -1 }, "itemsMax"],
      [{ stringBytesMax: Number.NaN }, "stringBytesMax"],
    ] as const) {
      const call = client.checkpoints.state("t", options);
      await expect(call).rejects.toMatchObject({ code: "invalid", field });
    }
  });

  it("a timeline tells steps, and fields that are absent stay absent", async () => {
    const place = { checkpoint_ns: "", checkpoint_id: "c" };
    const node = { ...place, size_bytes: 9, writes: 0, interrupts: 0, error: false };
    const namespace = { checkpoint_ns: "", checkpoints: 1, newest: "c" };
    answer("/v1/checkpoints/timeline", { generation: "g", nodes: [node], namespaces: [namespace] });
    const options = { checkpointNs: "*", before: "x", after: "a", limit: 9, cursor: "k" };
    const page = await client.checkpoints.timeline("t", options);
    expect(page).toEqual({
      generation: "g",
      nodes: [
        {
          checkpointNs: "",
          checkpointId: "c",
          sizeBytes: 9,
          writes: 0,
          interrupts: 0,
          error: false,
        },
      ],
      namespaces: [{ checkpointNs: "", checkpoints: 1, newest: "c" }],
    });
    expect(bodies()).toEqual([
      { thread_id: "t", checkpoint_ns: "*", before: "x", after: "a", limit: 9, cursor: "k" },
    ]);
    const call = client.checkpoints.timeline("t", { limit: 0 });
    await expect(call).rejects.toMatchObject({ code: "invalid", field: "limit" });
  });

  it("a value of null is a value, and one that is false too", async () => {
    const channel = { channel: "a", size_bytes: 0, is_delta: false, value: null };
    const channels = [channel, { ...channel, channel: "b", value: false, version: 0 }];
    const found = { thread_id: "t", checkpoint_ns: "", checkpoint_id: "c", channels };
    answer("/v1/checkpoints/values", { checkpoint: found });
    const values = await client.checkpoints.values("t");
    expect(values?.channels).toEqual([
      { channel: "a", sizeBytes: 0, isDelta: false, value: null },
      { channel: "b", sizeBytes: 0, isDelta: false, value: false, version: 0 },
    ]);
    answer("/v1/checkpoints/values", { checkpoint: { ...found, channels: [{ channel: "a" }] } });
    await expect(client.checkpoints.values("t")).rejects.toBeInstanceOf(ProtocolError);
  });

  it("a list is without values unless they are asked for", async () => {
    answer("/v1/checkpoints/list", { checkpoints: [], chain: [], history_channels: [] });
    await client.checkpoints.list({ filter: { a: 1 }, before: "c" });
    await client.checkpoints.list({ values: true });
    expect(bodies()).toEqual([
      { values: false, filter: text({ a: 1 }), before: "c" },
      { values: true },
    ]);
  });
});

describe("uploads and the drive", () => {
  it("a part that has arrived with other bytes is an error, and the file is not completed", async () => {
    const bytes = new Uint8Array((16 << 20) + 1);
    const paths: string[] = [];
    const fetch: typeof globalThis.fetch = async (input, init) => {
      const { pathname } = new URL(String(input));
      paths.push(`${init?.method} ${pathname}`);
      if (!pathname.includes("/parts/")) return await server.fetch(input, init);
      const part = { part: 1, size_bytes: 4 << 20, sha256: "0".repeat(64) };
      return Response.json(part);
    };
    answer("/v1/files/uploads", { upload_id: "upl/1" });
    const { uploads } = new Client({ url: "http://server/base", fetch });
    await expect(uploads.send(["n"], "/a", bytes)).rejects.toBeInstanceOf(ProtocolError);
    expect(paths).toEqual([
      "POST /base/v1/files/uploads",
      "PUT /base/v1/files/uploads/upl%2F1/parts/1",
    ]);
  });

  it("hashes are written as the server writes them", async () => {
    const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    expect(hexOfName(await nameOf(new Uint8Array()))).toBe(empty);
  });

  it("an address is one below the client's, unless the files have a host of their own", async () => {
    answer("/api/storage/url", { url: "/api/storage/open?u=1", expires_at: TIME });
    const options = { subject: "ann", ttlSeconds: 5, version: 7, download: true };
    const address = await client.drive.getUrl("/a b", options);
    expect(address).toEqual({
      url: "http://server/base/api/storage/open?u=1",
      expiresAt: new Date(TIME),
    });
    expect(queries()).toEqual([
      "/api/storage/url?path=%2Fa+b&subject=ann&seconds=5&version=7&download=true",
    ]);
    answer("/api/storage/url", {
      url: "https://files.test/api/storage/open?u=1",
      expires_at: TIME,
    });
    expect((await client.drive.getUrl("/a")).url).toBe("https://files.test/api/storage/open?u=1");
  });

  it("an address of a file names the labels of its namespace one by one", async () => {
    answer("/v1/files/url", { url: "/api/storage/open?u=1", expires_at: TIME });
    const options = { ttlSeconds: 5, show: "isolated" } as const;
    expect(await client.files.getUrl(["a", "b/c"], "/d e", options)).toEqual({
      url: "http://server/base/api/storage/open?u=1",
      expiresAt: new Date(TIME),
    });
    await client.files.getUrl(["a"], "/f", { version: 7, download: true });
    expect(queries()).toEqual([
      "/v1/files/url?ns=a&ns=b%2Fc&path=%2Fd+e&seconds=5&show=isolated",
      "/v1/files/url?ns=a&path=%2Ff&version=7&download=true",
    ]);
  });
});

describe("threads and the server", () => {
  it("the older names call the same operations", async () => {
    answer("/v1/threads/fork", { checkpoints: 2, generation: "g" });
    expect(await client.forkThread("a", "b", { checkpointId: "c" })).toBe(2);
    expect(await client.threads.fork("a", "b", { checkpointId: "c" })).toBe(2);
    expect(bodies()[0]).toEqual(bodies()[1]);
    answer("/v1/threads/copy", { checkpoints: 3 });
    expect(await client.threads.copy("a", "b")).toBe(3);
    expect(bodies()[2]).toEqual({ source_thread_id: "a", target_thread_id: "b" });
  });

  it("metadata as text travels as it is", async () => {
    const kept = '{"score": 1.0}';
    const times = { created_at: TIME, updated_at: TIME };
    const thread = {
      ...{ thread_id: "a", checkpoint_count: 0, size_bytes: 0, generation: "g", version: 3 },
      ...{ ...times, metadata: new TextEncoder().encode(kept) },
    };
    answer("/v1/threads/get", { thread });
    answer("/v1/threads/update", { thread });
    expect(await client.threads.getMetadataText("a")).toEqual({ text: kept, version: 3 });
    await client.threads.update("a", { metadataText: kept, replaceMetadata: true, ifVersion: 3 });
    expect(bodies()[1]).toEqual({
      ...{ thread_id: "a", replace_metadata: true, if_version: 3 },
      metadata: new TextEncoder().encode(kept),
    });
    answer("/v1/threads/get", {});
    expect(await client.threads.getMetadataText("a")).toBeUndefined();
    await expect(client.threads.update("a", { metadataText: "[1]" })).rejects.toMatchObject({
      field: "metadataText",
    });
  });

  it("metrics are the text of the server, and their absence has a type", async () => {
    const body = "# TYPE threadkeep_stale_threads gauge\nthreadkeep_stale_threads 0\n";
    server.faults = [{ raw: { type: "text/plain; version=0.0.4", body } }];
    expect(await client.metrics()).toBe(body);
    expect(queries()).toEqual(["/metrics"]);
    expect(server.seen[0]?.headers.get("accept")).toBe("*/*");
    server.faults = [{ status: 404, code: "not_found" }];
    await expect(client.metrics()).rejects.toBeInstanceOf(NotFoundError);
  });

  it("a server that is not ready yet is asked again", async () => {
    vi.useFakeTimers();
    server.faults = [{ status: 503, code: "unavailable" }, { refused: true }];
    const ready = client.ready();
    await vi.advanceTimersByTimeAsync(5_000);
    vi.useRealTimers();
    await ready;
    expect(queries()).toEqual(["/readyz", "/readyz", "/readyz"]);
    server.faults = [{ status: 503, code: "unavailable" }];
    await expect(client.ready({ timeoutMs: 1 })).rejects.toMatchObject({ code: "unavailable" });
  });
});

describe("keys and tokens", () => {
  const KEY = { key_id: "key_1", prefix: "tkr_abcde", read_only: true, created_at: TIME };

  it("keys are listed, made and revoked, and the text of one is not shown", async () => {
    answer("/v1/keys", { keys: [{ ...KEY, name: "deploy" }], next_cursor: "c" });
    const page = await client.keys.list({ limit: 1, cursor: "a" });
    expect(page).toMatchObject({ keys: [{ keyId: "key_1", readOnly: true }], nextCursor: "c" });
    expect(page.keys[0]?.createdAt).toEqual(new Date(TIME));
    answer("/v1/keys", { ...KEY, key: "tkr_secret" });
    const options = { name: "deploy", subject: "ann", readOnly: true };
    const made = await client.keys.create(options);
    expect([made.key, made.keyId]).toEqual(["tkr_secret", "key_1"]);
    expect(JSON.stringify(made)).not.toContain("secret");
    await client.keys.create();
    answer("/v1/keys/revoke", { key_id: "key_1" });
    expect(await client.keys.revoke("key_1")).toBe("key_1");
    await client.keys.revoke("key_1", { own: true });
    expect(queries()[0]).toBe("/v1/keys?limit=1&cursor=a");
    expect(bodies().slice(1)).toEqual([
      { name: "deploy", subject: "ann", read_only: true },
      {},
      { key_id: "key_1" },
      { key_id: "key_1", own: true },
    ]);
  });

  it("tokens that live are listed, and one that only reads needs no subject", async () => {
    const live = { token_id: "tok_1", minter: "key_1", minted_at: TIME, expires_at: TIME };
    answer("/v1/tokens", { tokens: [live] });
    const page = await client.tokens.list({ limit: 2 });
    expect(page.tokens).toEqual([
      { tokenId: "tok_1", minter: "key_1", mintedAt: new Date(TIME), expiresAt: new Date(TIME) },
    ]);
    answer("/v1/tokens", { token: "tks_1", token_id: "tok_1", expires_at: TIME, grants: {} });
    await client.tokens.mint({ readOnly: true, ttlSeconds: 5 });
    expect(bodies()[1]).toEqual({ read_only: true, ttl_seconds: 5 });
  });

  it("the receipt of an erasure tells sessions and files, where the server does", async () => {
    const counts = {
      ...{ keys: 1, threads: 2, items: 3, checkpoints: 4, writes: 5, values: 6, delta_bases: 7 },
      ...{ chunks: 8, packs: 9, size_bytes: 10, retention_policies: 11, retention_reports: 12 },
      ...{ tombstones: 13, answers: 14 },
    };
    answer("/v1/subjects", { ...counts, snapshots: 15, sessions: 16, contents: 17, entries: 18 });
    const receipt = await client.subjects.delete("ann");
    expect(receipt).toMatchObject({ snapshots: 15, sessions: 16, contents: 17, entries: 18 });
    answer("/v1/subjects", counts);
    expect((await client.subjects.delete("ann")).sessions).toBeUndefined();
  });

  it("half an answer is an error", async () => {
    answer("/v1/keys", { keys: [{ key_id: "key_1" }] });
    await expect(client.keys.list()).rejects.toBeInstanceOf(ProtocolError);
  });
});
