/** What the adapters of Agentrail send, how often, and what they make of answers. */

import { beforeEach, describe, expect, it } from "vitest";
import {
  createOrchestrationPersistence,
  createTraceStoreFactory,
  type Message,
  ThreadkeepAgentrailStore,
} from "../src/agentrail/index.js";
import { InvalidError, NotFoundError, ProtocolError } from "../src/errors.js";
import { headMoved, JsonServer } from "./json_server.js";

const S = "/agentrail/v1/t/t/s/s";
let server: JsonServer;
let options: { url: string; fetch: typeof globalThis.fetch };
let store: ThreadkeepAgentrailStore;

beforeEach(() => {
  server = new JsonServer();
  options = { url: "http://server", fetch: server.fetch };
  store = new ThreadkeepAgentrailStore(options);
});

function said(text: string): Message {
  return { role: "user", content: text, timestamp: 1 };
}
const eight = Array.from({ length: 8 }, (_, at) => said(`message ${at}`));

describe("a path", () => {
  it("has one segment for each id, whatever it holds", async () => {
    const ids = ["a/b", "-x", "%2F", "a:b?c#d", "ü🦀", "a b", "...", "\0"];
    for (const id of ids) await store.loadAllMessages("t/1", id);
    const segments = ids.map((id) => encodeURIComponent(id));
    expect(server.calls()).toEqual(
      segments.map((it) => `GET /agentrail/v1/t/t%2F1/s/${it}/messages`),
    );
    await store.readToolResultArtifact("t:s", "toolu_/..%");
    expect(server.calls().at(-1)).toBe(`GET ${S}/artifacts/toolu_%2F..%25`);
  });

  it.each(["", ".", "..", "\ud800"])("cannot hold %j, which is refused", async (id) => {
    await expect(store.loadAllMessages("t", id)).rejects.toBeInstanceOf(InvalidError);
    await expect(store.loadAllMessages(id, "s")).rejects.toBeInstanceOf(InvalidError);
    expect(server.seen).toEqual([]);
  });
});

describe("an absence", () => {
  it("is an empty list, or null", async () => {
    expect(await store.loadAllMessages("t", "s")).toEqual([]);
    expect(await store.loadMessagesWithBudget("t", "s")).toEqual([]);
    expect(await store.readMemoryDocument("t", "s", "session", "NOTES.md")).toBeNull();
    expect(await store.readToolResultArtifact("t:s", "c")).toBeNull();
    expect(await store.listToolResultArtifactIds("t:s")).toEqual([]);
  });

  it("of the route, or an answer of something else, is an error", async () => {
    const problem = { code: "not_found", detail: "no such route" };
    server.answers.set(`GET ${S}/messages`, { status: 404, problem });
    await expect(store.loadAllMessages("t", "s")).rejects.toBeInstanceOf(NotFoundError);
    server.answers.set(`GET ${S}/messages`, { messages: [] });
    await expect(store.loadAllMessages("t", "s")).rejects.toBeInstanceOf(ProtocolError);
    server.answers.set(`GET ${S}/messages`, { messages: {}, headSeq: 1, count: 1 });
    await expect(store.loadAllMessages("t", "s")).rejects.toBeInstanceOf(ProtocolError);
  });
});

describe("a write", () => {
  it.each([
    ["appendMessages", () => store.appendMessages("t", "s", eight), "POST", "messages"],
    ["recordTurn", () => store.recordTurn("t", "s", {} as never), "POST", "turns"],
    [
      "appendMemoryDocument",
      () => store.appendMemoryDocument("t", "s", "session", "NOTES.md", "x"),
      "POST",
      undefined,
    ],
  ])("%s has a key of its own, the same when a reply was lost", async (_, work, method, what) => {
    const path = what ? `${S}/${what}` : "/agentrail/v1/t/t/memo/session/s/NOTES.md/append";
    server.answers.set(`${method} ${path}`, ["lost", {}, {}]);
    await work();
    await work();
    const [lost, again, second] = server.seen.map((it) => it.headers.get("idempotency-key"));
    expect(again).toBe(lost);
    expect(second).not.toBe(lost);
    expect(server.seen[0]?.body).toEqual(server.seen[1]?.body);
  });

  it("of no messages is none", async () => {
    await store.appendMessages("t", "s", []);
    expect(server.seen).toEqual([]);
  });
});

describe("a budget", () => {
  it("is not looked for in the whole of a long log", async () => {
    const long = Array.from({ length: 400 }, (_, at) => said(`${at} `.repeat(400)));
    for (const limit of [100, 400]) {
      const messages = long.slice(-limit);
      const answer = { messages, headSeq: 400, count: 400 };
      server.answers.set(`GET ${S}/messages?limit=${limit}`, answer);
    }
    const found = await store.loadMessagesWithBudget("t", "s", 2_000);
    expect(server.calls()).toEqual([`GET ${S}/messages?limit=100`]);
    expect(found).toEqual(long.slice(-found.length));
    await store.loadMessagesWithBudget("t", "s", 100_000);
    expect(server.calls().slice(1)).toEqual([
      `GET ${S}/messages?limit=100`,
      `GET ${S}/messages?limit=400`,
    ]);
  });
});

describe("a compaction", () => {
  const compact = `POST ${S}/compact`;
  const trigger = { triggerTokens: 1, compactFraction: 0.5 };

  beforeEach(() => {
    const whole = { messages: eight, headSeq: 20, count: 8 };
    server.answers.set(`GET ${S}/messages`, () => structuredClone(whole));
    server.answers.set(`GET ${S}/messages?limit=1`, () => ({ ...whole, headSeq: 23, count: 11 }));
    server.answers.set(`GET ${S}/archives`, { archives: [{ archiveId: "0003" }] });
    server.answers.set(compact, { archiveId: "0004" });
  });

  it("archives the beginning, under the next number", async () => {
    const seen: Message[][] = [];
    const summarize = async (messages: Message[]) => {
      seen.push(messages);
      return "sum";
    };
    expect(await store.compactIfNeeded("t", "s", summarize, trigger)).toBe(true);
    expect(seen).toEqual([eight.slice(0, 4)]);
    const { body } = server.seen.at(-1) ?? {};
    expect(body).toMatchObject({
      throughSeq: 16,
      expectedHead: 20,
      compressedCount: 4,
      archiveId: "0004",
    });
    expect(body.placeholder.content).toContain("Archive ID: 0004\n4 messages (");
    expect(body.notesAppend).toContain("messages.compactions/0004.jsonl");
  });

  it("does not load what the host has, if it is what this store answered", async () => {
    const all = await store.loadAllMessages("t", "s");
    const asked = server.seen.length;
    const options = { ...trigger, preloadedMessages: all };
    await store.compactIfNeeded("t", "s", async () => "sum", options);
    expect(server.calls().slice(asked)).toEqual([`GET ${S}/archives`, compact]);
    // Anything else may be another log.
    const copy = [...all];
    all.pop();
    for (const other of [copy, all]) {
      const before = server.seen.length;
      const changed = { ...trigger, preloadedMessages: other };
      await store.compactIfNeeded("t", "s", async () => "sum", changed);
      expect(server.calls().slice(before)).toContain(`GET ${S}/messages`);
    }
  });

  it("goes on where messages were appended meanwhile", async () => {
    server.answers.set(compact, [headMoved(), { archiveId: "0004" }]);
    expect(await store.compactIfNeeded("t", "s", async () => "sum", trigger)).toBe(true);
    const bodies = server.seen.filter(({ call }) => call === compact).map(({ body }) => body);
    expect(bodies.map((it) => it.expectedHead)).toEqual([20, 23]);
    expect(bodies.map((it) => it.throughSeq)).toEqual([16, 16]);
    const keys = server.seen.filter(({ call }) => call === compact);
    expect(new Set(keys.map((it) => it.headers.get("idempotency-key"))).size).toBe(2);
  });

  it("gives way where another was faster", async () => {
    server.answers.set(compact, [headMoved(), headMoved()]);
    server.answers.set(`GET ${S}/archives`, [
      { archives: [{ archiveId: "0003" }] },
      { archives: [{ archiveId: "0003" }, { archiveId: "0004" }] },
    ]);
    expect(await store.compactIfNeeded("t", "s", async () => "sum", trigger)).toBe(false);
    server.answers.set(`GET ${S}/archives`, { archives: [] });
    server.answers.set(`GET ${S}/messages?limit=1`, { messages: [], headSeq: 20, count: 5 });
    expect(await store.compactIfNeeded("t", "s", async () => "sum", trigger)).toBe(false);
  });

  it("that is not needed asks for no summary", async () => {
    const never = async () => {
      throw new Error("asked");
    };
    expect(await store.compactIfNeeded("t", "s", never)).toBe(false);
    expect(await store.compactIfNeeded("t", "unknown", never)).toBe(false);
    await expect(store.compactIfNeeded("t", "s", never, trigger)).rejects.toThrow("asked");
    expect(server.calls()).not.toContain(compact);
  });
});

describe("defaults", () => {
  /** Each of 6,504 tokens. */
  const long = (count: number) => Array.from({ length: count }, () => said("x".repeat(26_000)));
  const serve = (messages: Message[]) => {
    const answer = { messages, headSeq: messages.length, count: messages.length };
    server.answers.set(`GET ${S}/messages`, answer);
    server.answers.set(`GET ${S}/messages?limit=100`, answer);
    server.answers.set(`POST ${S}/compact`, { archiveId: "0001" });
  };

  it("are those of the code: a budget of 40,000 tokens", async () => {
    serve(long(9));
    expect(await store.loadMessagesWithBudget("t", "s")).toHaveLength(6);
  });

  it("are those of the code: compacted above 60,000 tokens, a third", async () => {
    serve(long(9));
    expect(await store.compactIfNeeded("t", "s", async () => "sum")).toBe(false);
    serve(long(10));
    expect(await store.compactIfNeeded("t", "s", async () => "sum")).toBe(true);
    const { body } = server.seen.at(-1) ?? {};
    expect(body).toMatchObject({ throughSeq: 3, compressedCount: 3, archiveId: "0001" });
    expect(body.placeholder.content).toContain("3 messages (21680 tokens estimated) were");
  });
});

describe("a trace", () => {
  const trace = `POST ${S}/trace`;
  const envelope = (id: string, more: object = {}) => ({
    id,
    timestamp: "2026-01-01T00:00:00Z",
    sequence: 0,
    source: "runtime" as const,
    event: { type: "turn.start" },
    ...more,
  });

  it("travels in the order of the calls, what waits together", async () => {
    server.answers.set(trace, () => ({}));
    const traced = createTraceStoreFactory(options)("t:s");
    let open = () => {};
    server.gate = new Promise((resolve) => {
      open = resolve;
    });
    const first = traced.appendEnvelope(envelope("0"));
    await new Promise((resolve) => setTimeout(resolve, 5));
    const rest = Array.from({ length: 40 }, (_, at) =>
      traced.appendEnvelope(envelope(`${at + 1}`)),
    );
    open();
    await Promise.all([first, ...rest]);
    const sent = server.seen.map(({ body }) => body.envelopes.map((it: { id: string }) => it.id));
    expect(sent.map((it) => it.length)).toEqual([1, 40]);
    expect(sent.flat()).toEqual(Array.from({ length: 41 }, (_, at) => `${at}`));
  });

  it("is what it was when it was called, in parts of 1 MiB", async () => {
    server.answers.set(trace, () => ({}));
    const traced = createTraceStoreFactory(options)('["t","s"]');
    const event = { type: "tool.after", output: "x".repeat(400_000) };
    const waits = [0, 1, 2, 3].map((at) => traced.appendEnvelope(envelope(`${at}`, { event })));
    event.type = "changed";
    await Promise.all(waits);
    expect(server.seen.map(({ body }) => body.envelopes.length)).toEqual([2, 2]);
    expect(server.seen[0]?.body.envelopes[0].event.type).toBe("tool.after");
  });

  it("that fails tells whoever waits, and ends nobody who does not", async () => {
    const problem = { code: "too_large", detail: "too large" };
    server.answers.set(trace, [{ status: 413, problem }, {}]);
    const traced = createTraceStoreFactory(options)("t:s");
    const dropped = traced.appendEnvelope(envelope("1"));
    await new Promise((resolve) => setTimeout(resolve, 20));
    await expect(dropped).rejects.toMatchObject({ code: "too_large" });
    await traced.appendEnvelope(envelope("2"));
    const circle: Record<string, unknown> = {};
    circle["self"] = circle;
    await expect(traced.appendEnvelope(envelope("3", circle))).rejects.toThrow(/not JSON/);
  });
});

describe("an orchestration", () => {
  it("lets failures reach whoever writes", async () => {
    const problem = { code: "not_granted", detail: "not granted" };
    server.answers.set(`POST ${S}/orch/events`, { status: 403, problem });
    server.answers.set(`PUT ${S}/orch/snapshot`, { status: 403, problem });
    const orchestration = createOrchestrationPersistence("t:s", options);
    await expect(orchestration.appendEvent({} as never)).rejects.toMatchObject(problem);
    await expect(orchestration.writeCheckpoint({} as never)).rejects.toMatchObject(problem);
  });
});
