/** What our backend does in another way than StoreBackend, on purpose, and what it promises beyond. */

import { InMemoryStore } from "@langchain/langgraph-checkpoint";
import { StoreBackend } from "deepagents";
import { ThreadkeepBackend } from "threadkeep/deepagents";
import { ThreadkeepStore } from "threadkeep/langgraph";
import { beforeEach, describe, expect, it } from "vitest";
import { type Access, backendOf, NAMESPACE, newAccess } from "../support/files.js";
import { ENGINES } from "../support/servers.js";

const utf8 = (text: string) => new TextEncoder().encode(text);

describe.each(ENGINES)("on %s", (engine) => {
  let access: Access;
  let backend: ThreadkeepBackend;
  let store: ThreadkeepStore;
  let reference: StoreBackend;

  beforeEach(async () => {
    access = await newAccess(engine);
    backend = backendOf(access);
    store = new ThreadkeepStore(access);
    reference = new StoreBackend({ store: new InMemoryStore(), namespace: NAMESPACE });
  });

  it("what the reference throws is an error in the result", async () => {
    await expect(reference.write("/a.png", "no base64!")).rejects.toThrow();
    expect((await backend.write("/a.png", "no base64!")).error).toMatch(/^Error: .*base64/);
    const broken = new ThreadkeepBackend({ ...access, namespace: () => [] });
    expect((await broken.ls("/")).error).toMatch(/cannot be empty/);
    const foreign = backendOf({ ...access, apiKey: "tk_no" });
    expect((await foreign.read("/a.md")).error).toBeTruthy();
    expect(await foreign.downloadFiles(["/a.md"])).toEqual([
      { path: "/a.md", content: null, error: "permission_denied" },
    ]);
  });

  it.each(["/a/../b.md", "/..", "a.md", "/a//b.md", "/a/./b.md", "/nul\0", "/a/"])(
    "a new path %j is refused",
    async (path) => {
      expect((await backend.write(path, "x")).error).toBeTruthy();
      expect((await backend.uploadFiles([[path, utf8("x")]]))[0]?.error).toBe("invalid_path");
      expect((await backend.ls("/")).files).toEqual([]);
    },
  );

  it("a path that is too long is refused, with what is allowed", async () => {
    expect((await backend.write(`/${"x".repeat(2_000)}`, "x")).error).toMatch(/\d/);
  });

  it("odd keys of StoreBackend are listed, read and deleted as they are", async () => {
    const over = new StoreBackend({ store, namespace: NAMESPACE });
    for (const key of ["foo", "/a//b.md", "/a/../c.md"]) await over.write(key, `in ${key}`);
    for (const key of ["foo", "/a//b.md", "/a/../c.md"]) {
      expect((await backend.read(key)).content).toBe(`in ${key}`);
      expect((await backend.delete(key)).error).toBeUndefined();
      expect((await over.read(key)).error).toBe(`File '${key}' not found`);
    }
  });

  it("a file of another kind in the namespace breaks no listing", async () => {
    await backend.write("/a.md", "tea");
    for (const [key, value] of Object.entries({
      "/number": { content: 5, created_at: "c", modified_at: "m" },
      "/none": { likes: "tea" },
      "/null": { content: null },
      "/list": { content: [1, 2], created_at: "c", modified_at: "m" },
    })) {
      await store.put(NAMESPACE, key, value);
    }
    expect((await backend.ls("/")).files?.map((it) => it.path)).toContain("/a.md");
    expect((await backend.grep("tea")).matches?.map((it) => it.path)).toEqual(["/a.md"]);
    expect((await backend.glob("a*")).files?.map((it) => it.path)).toEqual(["/a.md"]);
    expect((await backend.read("/none")).error).toMatch(/valid FileData fields. Got keys: likes$/);
  });

  it("files of namespaces below are not in it, as they are in the reference", async () => {
    const above = backendOf(access, { namespace: ["ann"] });
    await backend.write("/below.md", "tea");
    await above.write("/above.md", "tea");
    expect((await above.ls("/")).files?.map((it) => it.path)).toEqual(["/above.md"]);
    expect((await above.grep("tea")).matches).toHaveLength(1);
    const over = new StoreBackend({ store, namespace: ["ann"] });
    expect((await over.ls("/")).files?.map((it) => it.path)).toEqual(["/above.md", "/below.md"]);
  });

  it("bytes that are no text stay, under any name", async () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, at) => at);
    await backend.uploadFiles([["/data.bin", bytes]]);
    const [found] = await backend.downloadFiles(["/data.bin"]);
    expect(Buffer.from(found?.content ?? []).toString("hex")).toBe(
      Buffer.from(bytes).toString("hex"),
    );
    expect(await backend.read("/data.bin")).toEqual({
      content: bytes,
      mimeType: "application/octet-stream",
    });
    await reference.uploadFiles([["/data.bin", bytes]]);
    const [theirs] = await reference.downloadFiles(["/data.bin"]);
    expect(theirs?.content).not.toHaveLength(256);
  });

  it("160 edits by 8 editors all survive", async () => {
    await backend.write("/log.md", "");
    const seen = Array.from({ length: 8 }, (_, editor) => `editor ${editor}:`);
    await backend.edit("/log.md", "", `${seen.join("\n")}\n`);
    const editors = seen.map(async (mine) => {
      const own = backendOf(access);
      for (let at = 0; at < 20; at++) {
        expect((await own.edit("/log.md", mine, `${mine}+`)).occurrences).toBe(1);
      }
    });
    await Promise.all(editors);
    const { content } = await backend.read("/log.md");
    expect(String(content).match(/\+/g)).toHaveLength(160);
  });

  it("a listing while another writes is whole, without doubles", async () => {
    const files = Array.from({ length: 200 }, (_, at): [string, Uint8Array] => {
      return [`/f${at}.md`, utf8(`file ${at}`)];
    });
    await backend.uploadFiles(files);
    let stopped = false;
    const writer = (async () => {
      for (let at = 0; !stopped; at++) await backend.write(`/f${(at * 7) % 200}.md`, `again ${at}`);
    })();
    for (let round = 0; round < 10; round++) {
      const paths = (await backend.ls("/")).files?.map((it) => it.path) ?? [];
      expect([paths.length, new Set(paths).size]).toEqual([200, 200]);
    }
    stopped = true;
    await writer;
  });

  it("every call is one request", async () => {
    let requests = 0;
    const counted: typeof fetch = (input, init) => {
      requests += 1;
      return fetch(input, init);
    };
    const counting = backendOf(access, { fetch: counted });
    const files = Array.from({ length: 150 }, (_, at): [string, Uint8Array] => {
      return [`/f${at}.md`, utf8("tea")];
    });
    const calls: (() => Promise<unknown>)[] = [
      () => counting.uploadFiles(files),
      () => counting.ls("/"),
      () => counting.glob("*.md"),
      () => counting.grep("tea"),
      () => counting.read("/f1.md"),
      () => counting.write("/f1.md", "x"),
      () => counting.edit("/f1.md", "x", "y"),
      () => counting.downloadFiles(files.map(([path]) => path)),
      () => counting.delete("/"),
    ];
    for (const [at, call] of calls.entries()) {
      expect(JSON.stringify(await call())).not.toMatch(/"error":"/);
      expect(requests).toBe(at + 1);
    }
  });
});
