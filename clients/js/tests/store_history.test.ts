/** Earlier versions of items: pages, lost replies, and answers that are none. */

import { beforeEach, expect, it, vi } from "vitest";
import { ProtocolError } from "../src/index.js";
import { ThreadkeepStore } from "../src/langgraph/index.js";
import { FakeServer } from "./fake_server.js";

const VERSION = { version: 5, current: true, updated_at: "2026-01-31T13:00:00.5Z", size_bytes: 2 };

let server: FakeServer;
let store: ThreadkeepStore;

beforeEach(() => {
  server = new FakeServer();
  store = new ThreadkeepStore({ url: "http://server", apiKey: "tk_secret", fetch: server.fetch });
});

it("a history is read to its end, or to its limit", async () => {
  server.answers.set("/v1/store/history", ({ cursor, limit }) => {
    const versions = [VERSION, { ...VERSION, current: false, ttl_minutes: 3 }];
    const page = limit === 1 ? versions.slice(1) : versions;
    return cursor === "c" ? { versions: page } : { versions: page, next_cursor: "c" };
  });
  expect(await store.history(["n"], "k")).toHaveLength(4);
  const [first, second] = await store.history(["n"], "k", { limit: 3, values: true });
  const time = { updatedAt: new Date("2026-01-31T13:00:00.500Z"), sizeBytes: 2, version: 5 };
  expect(first).toEqual({ ...time, current: true });
  expect(second).toEqual({ ...time, current: false, ttl: 3 });
  const place = { namespace: ["n"], key: "k" };
  expect(server.seen.map(({ body }) => body)).toEqual([
    { ...place, values: false },
    { ...place, values: false, cursor: "c" },
    { ...place, values: true, limit: 3 },
    { ...place, values: true, limit: 1, cursor: "c" },
  ]);
});

it("a restoration that is sent again has the same key", async () => {
  vi.useFakeTimers();
  server.answers.set("/v1/store/history/restore", () => ({ version: 9 }));
  server.faults = [{ lost: "after" }];
  const restored = store.restore(["n"], "k", 4, { ifVersion: 5 });
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await restored).toBe(9);
  vi.useRealTimers();
  const [first, second] = server.seen.map(({ headers }) => headers.get("idempotency-key"));
  expect(first).toBeTruthy();
  expect(second).toBe(first);
  expect(server.seen[1]?.body).toEqual({
    ...{ namespace: ["n"], key: "k" },
    ...{ version: 4, if_version: 5 },
  });
});

it.each([
  { ...VERSION, current: 1 },
  { ...VERSION, updated_at: "soon" },
  { ...VERSION, version: "5" },
])("%j is an error of the protocol", async (version) => {
  server.answers.set("/v1/store/history/get", () => ({ version }));
  await expect(store.getVersion(["n"], "k", 5)).rejects.toBeInstanceOf(ProtocolError);
});
