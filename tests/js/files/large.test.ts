/** Files over 16 MiB, which no item of the store holds: uploaded, listed, downloaded, and an error where a text is wanted. */

import { Client } from "threadkeep";
import { describe, expect, it } from "vitest";
import { backendOf, NAMESPACE, newAccess } from "../support/files.js";
import { ENGINES } from "../support/servers.js";

const LARGE = Uint8Array.from({ length: (17 << 20) + 5 }, (_, at) => (at * 31 + (at >> 12)) % 256);

describe.each(ENGINES)("on %s", (engine) => {
  it("a large file is one among the others", async () => {
    const access = await newAccess(engine);
    const backend = backendOf(access);
    const small = new TextEncoder().encode("tea\n");
    const done = await backend.uploadFiles([
      ["/a.md", small],
      ["/large.bin", LARGE],
      ["/b.md", small],
    ]);
    expect(done.map(({ error }) => error)).toEqual([null, null, null]);
    const { files } = await backend.ls("/");
    expect(files?.map(({ path, size }) => [path, size])).toEqual([
      ["/a.md", 4],
      ["/b.md", 4],
      ["/large.bin", LARGE.length],
    ]);
    const found = await backend.downloadFiles(["/a.md", "/large.bin", "/absent"]);
    expect(found.map(({ error }) => error)).toEqual([null, null, "file_not_found"]);
    expect(Buffer.compare(found[1]?.content ?? small, LARGE)).toBe(0);
    expect((await backend.grep("tea")).matches?.map(({ path }) => path)).toEqual([
      "/a.md",
      "/b.md",
    ]);
    expect((await backend.read("/large.bin")).error).toBeTruthy();
    expect((await backend.edit("/large.bin", "a", "b")).error).toMatch(/^Error: /);
    expect(await backend.delete("/large.bin")).toEqual({ path: "/large.bin", filesUpdate: null });
    expect((await backend.downloadFiles(["/large.bin"]))[0]?.error).toBe("file_not_found");
  });

  it("content is put once, and under a condition", async () => {
    const { files } = new Client(await newAccess(engine));
    const first = await files.putContent(NAMESPACE, "/a b%2F.txt", LARGE, { ifVersion: 0 });
    expect(first).toMatchObject({ created: true, sizeBytes: LARGE.length });
    const again = await files.putContent(NAMESPACE, "/a b%2F.txt", LARGE);
    expect(again).toMatchObject({ created: false, unchanged: true, version: first.version });
    expect(Buffer.compare(await files.getContent(NAMESPACE, "/a b%2F.txt"), LARGE)).toBe(0);
    const conflict = files.putContent(NAMESPACE, "/a b%2F.txt", LARGE.subarray(1), {
      ifVersion: 0,
    });
    await expect(conflict).rejects.toMatchObject({ code: "version_conflict" });
    await expect(files.getContent(NAMESPACE, "/absent")).rejects.toMatchObject({ status: 404 });
  });

  it("a large file is copied and moved like any other", async () => {
    const { files } = new Client(await newAccess(engine));
    await files.putContent(NAMESPACE, "/a.bin", LARGE);
    const elsewhere = ["bob", "filesystem"];
    await files.copy(NAMESPACE, "/a.bin", "/copy.bin");
    await files.copy(NAMESPACE, "/a.bin", "/b.bin", { toNamespace: elsewhere });
    expect(await files.move(NAMESPACE, "/a.bin", "/moved.bin")).toMatchObject({ files: 1 });
    for (const [namespace, path] of [
      [NAMESPACE, "/copy.bin"],
      [NAMESPACE, "/moved.bin"],
      [elsewhere, "/b.bin"],
    ] as const) {
      expect(Buffer.compare(await files.getContent(namespace, path), LARGE)).toBe(0);
    }
    await expect(files.getContent(NAMESPACE, "/a.bin")).rejects.toMatchObject({ status: 404 });
  });
});
