/** Files over 16 MiB: as they are, in requests of their own. */

import { describe, expect, it } from "vitest";
import { ThreadkeepBackend } from "../src/deepagents/index.js";
import { Client, InvalidError, NotFoundError, ProtocolError } from "../src/index.js";
import { packed } from "../src/wire/packing.js";
import { ONE_ATTEMPT, stopTheClock } from "./one_attempt.js";

stopTheClock();

const NS = ["ann", "a:b"];
const LARGE = new Uint8Array(17 << 20).fill(7);
const STORED = { path: "/l", version: 3, size_bytes: 5, created: true, unchanged: false };

interface Sent {
  method: string;
  url: URL;
  type: string | null;
  length: number;
}

/** A `fetch` that answers in turn, and what it was asked. */
function answering(...answers: (() => Response)[]) {
  const sent: Sent[] = [];
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const { method = "", headers, body } = init ?? {};
    const { byteLength: length } = (body as Uint8Array | null) ?? new Uint8Array();
    const type = new Headers(headers).get("content-type");
    sent.push({ method, url: new URL(String(input)), type, length });
    return (answers.shift() ?? (() => new Response("", { status: 500 })))();
  };
  return { sent, options: { url: "http://server", fetch, ...ONE_ATTEMPT } };
}

const json = (body: unknown, status = 200, type = "application/json") => {
  return () => new Response(JSON.stringify(body), { status, headers: { "content-type": type } });
};
const msgpack = (body: unknown) => {
  return () => new Response(packed(body), { headers: { "content-type": "application/msgpack" } });
};

describe("the native client", () => {
  it("puts and gets bytes under an address in the query", async () => {
    const { sent, options } = answering(json(STORED), () => new Response(new Uint8Array([1, 2])));
    const { files } = new Client(options);
    const bytes = new Uint8Array([1, 2, 3]);
    expect(
      await files.putContent(NS, "/a b%2F", bytes, { ifVersion: 0, mediaType: "a/b" }),
    ).toEqual({
      path: "/l",
      version: 3,
      sizeBytes: 5,
      created: true,
      unchanged: false,
    });
    expect(await files.getContent(NS, "/a b%2F")).toEqual(new Uint8Array([1, 2]));
    expect(sent.map(({ method }) => method)).toEqual(["PUT", "GET"]);
    expect(sent[0]).toMatchObject({ type: "a/b", length: 3 });
    for (const { url } of sent) {
      expect(url.pathname).toBe("/v1/files/content");
      expect(url.searchParams.getAll("ns")).toEqual(NS);
      expect(url.searchParams.get("path")).toBe("/a b%2F");
    }
    expect(sent[0]?.url.searchParams.get("if_version")).toBe("0");
  });

  it("throws typed errors", async () => {
    const problem = { code: "not_found", detail: "no such file" };
    const { options } = answering(json(problem, 404, "application/problem+json"), json(5), () => {
      return new Response("{");
    });
    const { files } = new Client(options);
    await expect(files.getContent(NS, "/a")).rejects.toBeInstanceOf(NotFoundError);
    await expect(files.putContent(NS, "/a", LARGE)).rejects.toBeInstanceOf(ProtocolError);
    await expect(files.putContent(NS, "/a", LARGE)).rejects.toBeInstanceOf(ProtocolError);
    await expect(files.putContent(NS, "/a", "x" as never)).rejects.toBeInstanceOf(InvalidError);
  });
});

describe("the backend", () => {
  it("uploads a large file by itself, and the others together", async () => {
    const { sent, options } = answering(
      msgpack({ results: [{ path: "/r/a", version: 1 }] }),
      json(STORED),
      msgpack({ results: [{ path: "/r/b", version: 1 }] }),
    );
    const backend = new ThreadkeepBackend({ ...options, namespace: NS, root: "/r" });
    const small = new Uint8Array([1]);
    const done = await backend.uploadFiles([
      ["/a", small],
      ["/l", LARGE],
      ["/b", small],
    ]);
    expect(done).toEqual(["/a", "/l", "/b"].map((path) => ({ path, error: null })));
    expect(sent.map(({ method }) => method)).toEqual(["POST", "PUT", "POST"]);
    expect(sent[1]?.length).toBe(LARGE.length);
    expect(sent[1]?.url.searchParams.get("path")).toBe("/r/l");
  });

  it("downloads one where the answer says that it is", async () => {
    const results = [
      { path: "/a", bytes: new Uint8Array([1]) },
      { path: "/l", error: "value_too_large" },
      { path: "/m", error: "value_too_large" },
    ];
    const { sent, options } = answering(msgpack({ results }), () => new Response(LARGE));
    const backend = new ThreadkeepBackend({ ...options, namespace: NS });
    const found = await backend.downloadFiles(["/a", "/l", "/m"]);
    expect(found.map((it) => it.content?.length)).toEqual([1, LARGE.length, undefined]);
    expect(found[2]?.error).toMatch(/HTTP 500/);
    expect(sent.map(({ method }) => method)).toEqual(["POST", "GET", "GET"]);
  });
});
