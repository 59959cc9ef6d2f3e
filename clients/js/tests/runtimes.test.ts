/** Tests runtimes without `crypto.subtle` (pages of plain http) and with a `setImmediate` that throws (Next.js' edge runtime). */

import { createHash, randomUUID } from "node:crypto";
import { afterEach, expect, it, vi } from "vitest";
import { uuid5 } from "../src/computeragent/uuid5.js";
import { Client } from "../src/index.js";
import { ThreadkeepSaver, ThreadkeepStore } from "../src/langgraph/index.js";
import { nameByWebCrypto, nameOfBytes } from "../src/wire/digest.js";
import { randomId } from "../src/wire/random_id.js";
import { FakeServer } from "./fake_server.js";

afterEach(() => vi.unstubAllGlobals());

/** `crypto` as it is on a page of plain http. */
function insecure(): void {
  const { crypto } = globalThis;
  const getRandomValues = (bytes: Uint8Array<ArrayBuffer>) => crypto.getRandomValues(bytes);
  vi.stubGlobal("crypto", { getRandomValues });
}

it("without crypto.randomUUID, ids are made of random bytes", () => {
  insecure();
  const made = Array.from({ length: 1_000 }, randomId);
  expect(new Set(made).size).toBe(1_000);
  for (const id of made) {
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  }
  vi.unstubAllGlobals();
  expect(randomId()).toHaveLength(randomUUID().length);
});

it("without crypto.subtle, names of values and ids of names are the same", async () => {
  const values = [0, 1, 63, 64, 65, 100_000].map((length) => new Uint8Array(length).fill(7));
  const names = await Promise.all(values.map(nameByWebCrypto));
  const id = await uuid5("a name", "f8d9cb1a-3e7e-4d8d-9aa4-1d3f8d7b6c2e");
  insecure();
  expect(await Promise.all(values.map(nameByWebCrypto))).toEqual(names);
  expect(await uuid5("a name", "f8d9cb1a-3e7e-4d8d-9aa4-1d3f8d7b6c2e")).toBe(id);
  const expected = values.map((value) => nameOfBytes(createHash("sha256").update(value).digest()));
  expect(names).toEqual(expected);
});

it("on a page of plain http, savers, stores and clients write", async () => {
  insecure();
  const server = new FakeServer();
  const options = { url: "http://server", fetch: server.fetch };
  const saver = new ThreadkeepSaver(options);
  const config = { configurable: { thread_id: "t", checkpoint_id: "c" } };
  await saver.putWrites(config, [["a", "x".repeat(1_000)]], "task");
  await saver.copyThread("t", "u");
  server.answers.set("/v1/store/batch", () => ({ results: [{ version: 1 }] }));
  await new ThreadkeepStore(options).put(["n"], "k", { a: 1 });
  server.answers.set("/v1/files/delete", () => ({ deleted: 1 }));
  const client = new Client(options);
  expect(await client.files.delete(["n"], "/a")).toBe(1);
  server.answers.set("/v1/store/put", () => ({ version: 1 }));
  await client.store.put(["n"], "k", { a: 1 });
  await client.store.delete(["n"], "k");
  server.answers.set("/v1/store/history/restore", () => ({ version: 2 }));
  await client.store.restore(["n"], "k", 1);
  server.answers.set("/v1/threads/copy", () => ({ checkpoints: 1 }));
  await client.threads.copy("t", "v");
  const keys = server.seen.map(({ headers }) => headers.get("idempotency-key"));
  expect(new Set(keys.filter((key) => key !== null)).size).toBe(7);
});

it("where setImmediate throws, calls of the store are answered all the same", async () => {
  const server = new FakeServer();
  server.answers.set("/v1/store/batch", (body) => ({
    results: (body["ops"] as unknown[]).map(() => ({ count: 3 })),
  }));
  const store = new ThreadkeepStore({ url: "http://server", fetch: server.fetch });
  vi.stubGlobal("setImmediate", () => {
    throw new Error("setImmediate is not supported here");
  });
  const counts = Promise.all([store.count([]), store.count(["a"])]);
  await expect(counts).resolves.toEqual([3, 3]);
  await expect(store.count([])).resolves.toBe(3);
  expect(server.seen).toHaveLength(2);
});
