/** A reply gets lost after the server did the work: the client's own retry must not be a second change. */

import { Client } from "threadkeep";
import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { type Access, backendOf, NAMESPACE, newAccess } from "../support/files.js";
import { CountingProxy } from "../support/proxy.js";
import { ENGINES } from "../support/servers.js";

describe.each(ENGINES)("on %s, a lost reply", (engine) => {
  let proxy: CountingProxy;
  let access: Access;

  beforeEach(async () => {
    proxy = await CountingProxy.before(inject("servers")[engine].url);
    access = { ...(await newAccess(engine)), url: proxy.url };
  });
  afterEach(() => proxy.close());

  it("of an edit does not fail it, and of a deletion neither", async () => {
    const backend = backendOf(access);
    await backend.write("/a.md", "one");
    proxy.lose(2);
    expect(await backend.edit("/a.md", "one", "two")).toMatchObject({ occurrences: 1 });
    expect((await backend.read("/a.md")).content).toBe("two");
    proxy.lose(1);
    expect(await backend.delete("/a.md")).toEqual({ path: "/a.md", filesUpdate: null });
    expect(proxy.lost).toBe(3);
  });

  it("of an append does not double it", async () => {
    const { files } = new Client(access);
    await files.append(NAMESPACE, "/log", "one\n");
    proxy.lose(2);
    await files.append(NAMESPACE, "/log", "two\n");
    expect((await files.read(NAMESPACE, "/log")).content).toBe("one\ntwo\n");
  });

  it("of a move, a copy, an upload and a conditional write is answered like the first", async () => {
    const { files } = new Client(access);
    const bytes = new TextEncoder().encode("x");
    proxy.lose(1);
    const [uploaded] = await files.upload(NAMESPACE, [{ path: "/a", bytes }]);
    expect(uploaded?.error).toBeUndefined();
    const ifVersion = uploaded?.version;
    proxy.lose(1);
    const written = await files.write(NAMESPACE, "/a", "y", { ifVersion });
    expect((await files.stat(NAMESPACE, "/a"))?.version).toBe(written.version);
    proxy.lose(1);
    expect(await files.move(NAMESPACE, "/a", "/b")).toMatchObject({ path: "/b", files: 1 });
    proxy.lose(1);
    expect(await files.copy(NAMESPACE, "/b", "/c")).toMatchObject({ path: "/c", files: 1 });
    expect((await files.ls(NAMESPACE)).entries.map((it) => it.path)).toEqual(["/b", "/c"]);
    expect(proxy.lost).toBe(4);
  });

  it("of bytes under a condition is answered like the first", async () => {
    const { files } = new Client(access);
    const bytes = new TextEncoder().encode("one");
    proxy.lose(2);
    const first = await files.putContent(NAMESPACE, "/a", bytes, { ifVersion: 0 });
    expect(first).toMatchObject({ created: true, unchanged: false });
    proxy.lose(1);
    const second = await files.putContent(NAMESPACE, "/a", new Uint8Array(9), {
      ifVersion: first.version,
    });
    expect((await files.stat(NAMESPACE, "/a"))?.version).toBe(second.version);
    expect(proxy.lost).toBe(3);
  });

  it("of every attempt is an error that says so", async () => {
    const backend = backendOf(access, { timeoutMs: 1_000 });
    proxy.lose(1_000);
    expect((await backend.ls("/")).error).toBeTruthy();
    expect((await backend.write("/a.md", "x")).error).toMatch(/^Error: /);
    const [found] = await backend.downloadFiles(["/a.md"]);
    expect(found?.error).not.toBe("file_not_found");
  });
});
