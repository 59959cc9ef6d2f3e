/** What the native calls about sessions send, and what they make of answers. */

import { beforeEach, describe, expect, it } from "vitest";
import {
  Client,
  HeadMovedError,
  InvalidError,
  NotFoundError,
  ProtocolError,
} from "../src/index.js";
import { FakeServer } from "./fake_server.js";

const AT = { kind: "claude", key: ["-a/b", "s"] };
let server: FakeServer;
let client: Client;

beforeEach(() => {
  server = new FakeServer();
  client = new Client({ url: "http://server", fetch: server.fetch });
});

function json(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}

describe("an append", () => {
  beforeEach(() => {
    const answer = { first_seq: 4, last_seq: 5, head: 5, appended: 2, document_version: null };
    server.answers.set("/v1/sessions/append", () => answer);
  });

  it("sends exact data and everything that is to happen with it", async () => {
    const entries = [{ id: "b", data: { n: 1, nul: "\0" } }, { data: [1.5, "\ud800"] }];
    const found = await client.sessions.append(AT, entries, {
      stream: "subagents/agent-1",
      ifHead: 3,
      document: { name: "summary", content: "x\0", ifVersion: 2 },
      create: { user: "ann" },
    });
    expect(found).toEqual({ firstSeq: 4, lastSeq: 5, head: 5, appended: 2 });
    expect(server.seen[0]).toMatchObject({
      path: "/v1/sessions/append",
      body: {
        ...AT,
        stream: "subagents/agent-1",
        if_head: 3,
        entries: [{ id: "b" }, {}],
        document: { name: "summary", content: "x\0", if_version: 2 },
        create: { user: "ann" },
      },
    });
    const sent = server.seen[0]?.body["entries"] as { data: Uint8Array }[];
    expect(sent.map(({ data }) => new TextDecoder().decode(data))).toEqual([
      '{"n":1,"nul":"\\u0000"}',
      '[1.5,"\\ud800"]',
    ]);
  });

  it("has a key of its own, or the one that it is given, in every attempt", async () => {
    server.faults = [{ lost: "after" }];
    await client.sessions.append(AT, [{ data: 1 }]);
    await client.sessions.append(AT, [{ data: 1 }], { idempotencyKey: "mine" });
    const keys = server.seen.map((it) => it.headers.get("idempotency-key"));
    expect(keys[0]).toBe(keys[1]);
    expect(keys[0]).toBeTruthy();
    expect(keys[2]).toBe("mine");
  });

  it("of what is no text or no JSON is refused before it is sent", async () => {
    const { sessions } = client;
    const odd = { ...AT, key: ["\ud800"] };
    await expect(sessions.append(odd, [{ data: 1 }])).rejects.toMatchObject({ field: "key" });
    await expect(sessions.append({ ...AT, key: "s" as never }, [])).rejects.toThrow(InvalidError);
    await expect(sessions.append(AT, [{ data: undefined }])).rejects.toMatchObject({
      field: "data",
    });
    await expect(sessions.append(AT, [{ data: 1n }])).rejects.toThrow(InvalidError);
    expect(server.seen).toEqual([]);
  });

  it("on a log that moved says where it is now", async () => {
    server.faults = [{ status: 409, code: "head_moved", problem: { current_head: 12 } }];
    const error = await client.sessions.append(AT, [{ data: 1 }], { ifHead: 1 }).catch((it) => it);
    expect(error).toBeInstanceOf(HeadMovedError);
    expect(error.currentHead).toBe(12);
  });
});

describe("a load", () => {
  const entry = (seq: number) => ({
    seq,
    data: json({ seq }),
    at_ms: 1,
    id: seq === 2 ? "b" : null,
  });

  it("of everything reads page after page", async () => {
    server.answers.set("/v1/sessions/load", ({ after_seq }) => {
      const from = (after_seq as number | undefined) ?? 0;
      const entries = [entry(from + 1), entry(from + 2)];
      return { entries, head: 6, more: from < 4 };
    });
    const found = await client.sessions.loadAll(AT, "x");
    expect(found?.map((it) => it.seq)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(found?.[1]).toEqual({ seq: 2, id: "b", data: { seq: 2 }, atMs: 1 });
    expect(server.seen.map((it) => it.body["after_seq"])).toEqual([undefined, 2, 4]);
  });

  it("of what was never written is undefined, and of nothing else", async () => {
    server.faults = [{ status: 404, code: "session_not_found" }];
    expect(await client.sessions.load(AT)).toBeUndefined();
    server.faults = [{ status: 404, code: "document_not_found" }];
    expect(await client.sessions.getDocument(AT, "n")).toBeUndefined();
    server.faults = [{ status: 404, code: "not_found" }];
    await expect(client.sessions.load(AT)).rejects.toBeInstanceOf(NotFoundError);
    server.faults = [{ status: 404 }];
    await expect(client.sessions.getDocument(AT, "n")).rejects.toThrow();
  });

  it.each([
    ["nothing", {}],
    ["no entries", { head: 1, more: false }],
    ["entries without data", { entries: [{ seq: 1, at_ms: 1, data: "x" }], head: 1, more: false }],
    [
      "data that is no JSON",
      { entries: [{ seq: 1, at_ms: 1, data: new Uint8Array([123]) }], head: 1, more: false },
    ],
  ])("that is answered with %s is an error", async (_, answer) => {
    server.answers.set("/v1/sessions/load", () => answer);
    await expect(client.sessions.load(AT)).rejects.toBeInstanceOf(ProtocolError);
  });
});

describe("a deletion", () => {
  it("tells the main stream from the whole session", async () => {
    await client.sessions.delete(AT);
    await client.sessions.delete(AT, "");
    await client.sessions.delete(AT, "x");
    const sent = server.seen.map(({ body }) => ("stream" in body ? body["stream"] : "all"));
    expect(sent).toEqual(["all", "", "x"]);
  });
});

describe("lists and finds", () => {
  it("pass prefixes and cursors on", async () => {
    const session = { key: ["p", "s"], user: null, created_at_ms: 1, updated_at_ms: 2 };
    server.answers.set("/v1/sessions/list", () => ({ sessions: [session], next_cursor: "c" }));
    const options = { keyPrefix: ["p"], stream: "", user: "ann", limit: 9, cursor: "b" };
    expect(await client.sessions.list("claude", options)).toEqual({
      sessions: [{ key: ["p", "s"], createdAtMs: 1, updatedAtMs: 2 }],
      nextCursor: "c",
    });
    const sent = { kind: "claude", key_prefix: ["p"], stream: "", user: "ann", limit: 9 };
    expect(server.seen[0]?.body).toEqual({ ...sent, cursor: "b" });
    const found = { key: ["p", "s"], content: "x", version: 1, updated_at_ms: 3 };
    server.answers.set("/v1/sessions/documents/find", () => ({ documents: [found] }));
    const within = { keyPrefix: ["p"] };
    const [document] = await client.sessions.findDocuments("claude", "summary", within);
    expect(document).toEqual({ key: ["p", "s"], content: "x", version: 1, updatedAtMs: 3 });
    const asked = { kind: "claude", key_prefix: ["p"], name: "summary" };
    expect(server.seen[1]?.body).toEqual(asked);
  });
});
