/** Files of exports: whole or a typed error, in pieces of any size; what is sent for an import. */

import { afterEach, describe, expect, it, vi } from "vitest";
import { Frames } from "../src/client/export_frames.js";
import {
  Client,
  type ExportOptions,
  ImportConflictError,
  InvalidError,
  ProtocolError,
  SessionNotFoundError,
  TransportError,
} from "../src/index.js";
import { packed } from "../src/wire/packing.js";

const BEGIN = [bytesOf("THREADKEEP EXPORT\nmind it\n\n"), frame({ begin: { format: 1 } })];
const MIDDLE = [frame({ slice: new Uint8Array(100) }), frame({ end: { signature: null } })];
const FINISH = frame({ finish: { counts: {}, signature: null } });
const FILE = joined([...BEGIN, ...MIDDLE, ...MIDDLE, FINISH]);
const NOTHING = { created: 0, unchanged: 0, replaced: 0, conflicts: 0 };
const KINDS = ["threads", "sessions", "items", "settings", "policies", "snapshots"];
const IMPORTED = {
  dry_run: true,
  is_signed: false,
  ...Object.fromEntries(KINDS.map((kind) => [kind, NOTHING])),
};

afterEach(() => void vi.useRealTimers());

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function joined(parts: Uint8Array[]): Uint8Array {
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}

function frame(payload: object): Uint8Array {
  const body = packed(payload);
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, body.length, true);
  return joined([length, body, new Uint8Array(32).fill(99)]);
}

/** A body in pieces, which then ends or breaks. */
function inPieces(bytes: Uint8Array, size: number, breaks = false): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at < bytes.length) controller.enqueue(bytes.slice(at, at + size));
      else if (breaks) controller.error(new TypeError("terminated"));
      else controller.close();
      at += size;
    },
  });
}

function problem(status: number, code: string): Response {
  const headers = { "content-type": "application/problem+json" };
  return new Response(JSON.stringify({ code, detail: "no", title: "no" }), { status, headers });
}

/** A client of answers that are used up, and what it asked. */
function answered(...answers: (Response | Error)[]) {
  const asked: { url: string; init: RequestInit; body: string }[] = [];
  const fetch: typeof globalThis.fetch = async (input, init = {}) => {
    const body = await new Response(init.body ?? null).text();
    asked.push({ url: String(input), init, body });
    const answer = answers.shift();
    if (answer === undefined || answer instanceof Error) throw answer ?? new Error("no more");
    return answer;
  };
  return { client: new Client({ url: "http://server.test", fetch }), asked };
}

async function received(stream: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

describe("an export", () => {
  it.each([1, 2, 11, 12, 13, 100, FILE.length])("arrives whole in pieces of %i", async (size) => {
    const { client, asked } = answered(new Response(inPieces(FILE, size)));
    expect(await received(await client.export())).toEqual(FILE);
    expect(asked.map(({ url, init }) => [init.method, url])).toEqual([
      ["POST", "http://server.test/v1/export"],
    ]);
  });

  it("names its parts", async () => {
    const { client, asked } = answered(new Response(inPieces(FILE, 50)));
    const session = { kind: "test", key: ["a", "b"] };
    const parts = { threads: ["t"], sessions: [session], namespaces: [["ann"]], snapshots: ["s"] };
    await received(await client.export(parts));
    expect(asked[0]?.body).toBe(new TextDecoder().decode(packed(parts)));
  });

  it.each([
    ["between frames", joined([...BEGIN, ...MIDDLE])],
    ["in the last frame", FILE.subarray(0, -1)],
    ["behind the last frame", joined([FILE, ...MIDDLE])],
    ["with bytes behind the last frame", joined([FILE, new Uint8Array(1)])],
    ["in the preamble", FILE.subarray(0, 10)],
    ["before it begins", new Uint8Array()],
  ])("that ends %s fails", async (_, bytes) => {
    const { client } = answered(new Response(inPieces(bytes, 64)));
    await expect(received(await client.export())).rejects.toThrow(TransportError);
  });

  it("that breaks fails, and is asked for again only before its first byte", async () => {
    const empty = new Response(inPieces(new Uint8Array(), 1, true));
    const cut = new Response(inPieces(FILE.subarray(0, 100), 64, true));
    const { client, asked } = answered(empty, cut);
    await expect(received(await client.export())).rejects.toThrow(TransportError);
    expect(asked.length).toBe(2);
  });

  it("is refused with what the server says", async () => {
    const { client, asked } = answered(
      problem(503, "overloaded"),
      problem(404, "session_not_found"),
    );
    const sessions = [{ kind: "test", key: ["absent"] }];
    await expect(client.export({ sessions })).rejects.toThrow(SessionNotFoundError);
    expect(asked.length).toBe(2);
  });

  it.each([
    ["a page", "<html>a page</html>"],
    ["no end of the preamble", `THREADKEEP EXPORT\n${"a".repeat(5_000)}`],
  ])("of another server is heard: %s", async (_, text) => {
    const { client } = answered(new Response(text));
    await expect(received(await client.export())).rejects.toThrow(ProtocolError);
  });

  it.each<[string, ExportOptions]>([
    ["threads", { threads: [] }],
    ["sessions", { sessions: [], namespaces: [] }],
    ["threads", { threads: "t" as never }],
    ["namespaces", { namespaces: ["ann" as never] }],
  ])("without a part of those that are asked for is refused: %s", async (field, options) => {
    const { client, asked } = answered();
    const refused = client.export(options);
    await expect(refused).rejects.toThrow(InvalidError);
    await expect(refused).rejects.toMatchObject({ field });
    expect(asked).toEqual([]);
  });
});

it("frames are whole at their end and nowhere else", () => {
  const frames = new Frames();
  const told = [...FILE].map((byte) => {
    frames.take(Uint8Array.of(byte));
    return frames.isWhole;
  });
  expect(told.indexOf(true)).toBe(FILE.length - 1);
});

describe("an import", () => {
  const answer = (changed = {}) => Response.json({ ...IMPORTED, ...changed });

  it("sends the file as it is, and what is asked for", async () => {
    const { client, asked } = answered(answer(), answer(), answer());
    const text = "of the file";
    const done = await client.import(bytesOf(text), { dryRun: true });
    expect(done).toMatchObject({ dryRun: true, isSigned: false, threads: NOTHING });
    await client.import(new Blob([text]), { overwrite: true, dryRun: false, checkFirst: false });
    await client.import(inPieces(bytesOf(text), 3), { overwrite: true, dryRun: true });
    const base = "http://server.test/v1/import";
    expect(asked.map(({ url }) => url)).toEqual([
      `${base}?dry_run=true`,
      `${base}?overwrite=true`,
      `${base}?overwrite=true&dry_run=true`,
    ]);
    for (const { body, init } of asked) {
      expect([body, init.method]).toEqual([text, "POST"]);
      const type = new Headers(init.headers).get("content-type");
      expect(type).toBe("application/vnd.threadkeep.export");
    }
  });

  it("is sent again after a lost connection, but for a stream", async () => {
    const { client, asked } = answered(new TypeError("fetch failed"), answer());
    await client.import(bytesOf("file"), { checkFirst: false });
    expect(asked.map(({ body }) => body)).toEqual(["file", "file"]);
    const once = answered(new TypeError("fetch failed"), answer());
    const stream = inPieces(bytesOf("file"), 1);
    await expect(once.client.import(stream)).rejects.toThrow(TransportError);
    expect(once.asked.length).toBe(1);
  });

  it("is sent again where the server was too busy, but for a stream", async () => {
    const busy = () => problem(503, "overloaded");
    const { client, asked } = answered(busy(), answer());
    await client.import(new Blob(["file"]), { checkFirst: false });
    expect(asked.map(({ body }) => body)).toEqual(["file", "file"]);
    const once = answered(busy(), answer());
    const stream = inPieces(bytesOf("file"), 1);
    await expect(once.client.import(stream)).rejects.toMatchObject({ code: "overloaded" });
    expect(once.asked.length).toBe(1);
  });

  it("is sent twice, first to be looked at, and not again where something is in conflict", async () => {
    const conflicts = { ...NOTHING, conflicts: 2 };
    const { client, asked } = answered(
      answer(),
      answer(),
      answer({ items: conflicts }),
      answer({ items: { ...NOTHING, replaced: 2 } }),
      answer(),
    );
    const url = "http://server.test/v1/import";
    await client.import(bytesOf("file"));
    await expect(client.import(new Blob(["file"]))).rejects.toThrow(
      /items 2; nothing was imported/,
    );
    await client.import(bytesOf("file"), { overwrite: true });
    expect(asked.map((it) => [it.url, it.body])).toEqual([
      [`${url}?dry_run=true`, "file"],
      [url, "file"],
      [`${url}?dry_run=true`, "file"],
      [`${url}?overwrite=true&dry_run=true`, "file"],
      [`${url}?overwrite=true`, "file"],
    ]);
    const stream = inPieces(bytesOf("file"), 1);
    await expect(client.import(stream, { checkFirst: true })).rejects.toThrow(InvalidError);
    expect(asked.length).toBe(5);
  });

  it("is refused with what the server says, and of what is no file at once", async () => {
    const { client, asked } = answered(problem(409, "import_conflict"));
    await expect(client.import(bytesOf("file"))).rejects.toThrow(ImportConflictError);
    await expect(client.import("file" as never)).rejects.toThrow(InvalidError);
    const stream = inPieces(bytesOf("file"), 1);
    stream.getReader();
    await expect(client.import(stream)).rejects.toThrow(InvalidError);
    expect(asked.length).toBe(1);
  });

  it("of a stream may take as long as it moves, and no longer stand still than a request", async () => {
    vi.useFakeTimers();
    const pieces = 6;
    let sent = 0;
    const slow = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          await new Promise((resolve) => setTimeout(resolve, 300));
          sent += 1;
          if (sent <= pieces) controller.enqueue(Uint8Array.of(sent));
          else controller.close();
        },
      },
      { highWaterMark: 0 },
    );
    const still = new ReadableStream<Uint8Array>({ pull: () => new Promise(() => {}) });
    const fetch: typeof globalThis.fetch = async (_, init) => {
      const gone = new Promise<never>((_, reject) => {
        init?.signal?.addEventListener("abort", () => reject(init.signal?.reason));
      });
      await Promise.race([new Response(init?.body).arrayBuffer(), gone]);
      return answer();
    };
    const client = new Client({ url: "http://server.test", fetch, timeoutMs: 400 });
    const done = client.import(slow);
    await vi.advanceTimersByTimeAsync(300 * (pieces + 1));
    expect((await done).dryRun).toBe(true);
    const refused = expect(client.import(still)).rejects.toThrow(TransportError);
    await vi.advanceTimersByTimeAsync(400);
    await refused;
  });
});
