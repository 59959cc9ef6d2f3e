/** The files calls of the native client against the real server. */

import { createHash } from "node:crypto";
import {
  BaseMismatchError,
  Client,
  InvalidError,
  NoSuchFileError,
  NotGrantedError,
  PathTakenError,
  VersionConflictError,
} from "threadkeep";
import { ThreadkeepStore } from "threadkeep/langgraph";
import { beforeEach, describe, expect, it } from "vitest";
import { type Access, NAMESPACE as NS, newAccess } from "../support/files.js";
import { ENGINES } from "../support/servers.js";

const utf8 = (text: string) => new TextEncoder().encode(text);
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

describe.each(ENGINES)("on %s", (engine) => {
  let access: Access;
  let files: Client["files"];

  beforeEach(async () => {
    access = await newAccess(engine);
    files = new Client(access).files;
  });

  it("a file is written, read, edited and known without its content", async () => {
    const first = await files.write(NS, "/a.md", "one\ntwo\nthree\n");
    expect(first).toMatchObject({ path: "/a.md", created: true });
    const second = await files.write(NS, "/a.md", "1\n2\n3\n");
    expect(second.created).toBe(false);
    expect(second.version).toBeGreaterThan(first.version);
    expect(await files.read(NS, "/a.md", { offset: 1, limit: 1 })).toMatchObject({
      ...{ content: "2", totalLines: 3, startLine: 2, endLine: 2, nextOffset: 2 },
      ...{ encoding: "utf-8", mediaType: "text/markdown", version: second.version },
    });
    const replacement = { oldString: "2", newString: "two" };
    const edited = await files.edit(NS, "/a.md", replacement, { ifVersion: second.version });
    expect(edited.occurrences).toBe(1);
    expect(await files.stat(NS, "/a.md")).toMatchObject({
      ...{ path: "/a.md", isDir: false, size: 8, mediaType: "text/markdown" },
      version: edited.version,
    });
    expect(await files.stat(NS, "/absent")).toBeUndefined();
    const stale = files.edit(NS, "/a.md", replacement, { ifVersion: second.version });
    await expect(stale).rejects.toBeInstanceOf(VersionConflictError);
    await expect(stale).rejects.toMatchObject({ currentVersion: edited.version });
    await expect(files.write(NS, "/a.md", "", { ifVersion: 0 })).rejects.toBeInstanceOf(
      VersionConflictError,
    );
    const items = new ThreadkeepStore(access);
    expect((await items.get(NS, "/a.md"))?.value).toMatchObject({ content: "1\ntwo\n3\n" });
  });

  it("an append adds to what it was made for", async () => {
    await files.append(NS, "/log", "one\n");
    await files.append(NS, "/log", "two\n", { baseSha256: sha256("one\n") });
    await expect(
      files.append(NS, "/log", "three\n", { baseSha256: sha256("one\n") }),
    ).rejects.toBeInstanceOf(BaseMismatchError);
    expect((await files.read(NS, "/log")).content).toBe("one\ntwo\n");
  });

  it("a folder is listed page by page, searched and deleted whole", async () => {
    const uploaded = await files.upload(NS, [
      { path: "/d/a.md", bytes: utf8("tea\n") },
      { path: "/d/e/b.md", bytes: utf8("more tea\n") },
      { path: "/d/c.png", bytes: new Uint8Array([0, 255]) },
      { path: "/../x", bytes: utf8("") },
      { path: "/z.txt", bytes: utf8("x"), mediaType: "text/x-own" },
    ]);
    expect(uploaded.map((it) => it.error)).toEqual([
      ...[undefined, undefined, undefined, "invalid_path", undefined],
    ]);
    const pathsOf = (all: { path: string }[]) => all.map(({ path }) => path);
    expect(pathsOf((await files.ls(NS)).entries).sort()).toEqual(["/d/", "/z.txt"]);
    const paths: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await files.ls(NS, "/", { recursive: true, limit: 2, cursor });
      expect(page.entries.length).toBeLessThanOrEqual(2);
      paths.push(...pathsOf(page.entries.filter((it) => !it.isDir)));
      cursor = page.nextCursor;
    } while (cursor);
    expect(paths.sort()).toEqual(["/d/a.md", "/d/c.png", "/d/e/b.md", "/z.txt"]);
    const some = await files.glob(NS, "**/*.md", { limit: 1 });
    expect([some.matches.length, some.truncated]).toEqual([1, true]);
    expect(pathsOf((await files.glob(NS, "*.md", { dialect: "python" })).matches).sort()).toEqual([
      "/d/a.md",
      "/d/e/b.md",
    ]);
    expect((await files.glob(NS, "*.md")).matches).toEqual([]);
    const lines = await files.grep(NS, "tea", { path: "/d", glob: "b*" });
    expect(lines).toMatchObject({
      matches: [{ path: "/d/e/b.md", line: 1, text: "more tea" }],
      truncated: false,
    });
    const found = await files.download(NS, ["/d/c.png", "/absent"]);
    expect(found[0]).toMatchObject({ bytes: new Uint8Array([0, 255]), mediaType: "image/png" });
    expect(found[1]).toEqual({ path: "/absent", error: "file_not_found" });
    expect(await files.delete(NS, "/d")).toBe(3);
    await expect(files.delete(NS, "/d")).rejects.toBeInstanceOf(NoSuchFileError);
    expect(pathsOf((await files.ls(NS)).entries)).toEqual(["/z.txt"]);
  });

  it("files and folders move and are copied, into other namespaces too", async () => {
    await files.upload(NS, [
      { path: "/d/a", bytes: utf8("a") },
      { path: "/d/e/b", bytes: utf8("b") },
      { path: "/f", bytes: utf8("f") },
    ]);
    const other = ["bob", "filesystem"];
    expect(await files.copy(NS, "/d", "/g")).toMatchObject({ path: "/g", files: 2 });
    expect(await files.move(NS, "/d", "/d", { toNamespace: other })).toMatchObject({ files: 2 });
    const pathsIn = async (namespace: string[]) =>
      (await files.glob(namespace, "**/*")).matches.map((it) => it.path).sort();
    expect(await pathsIn(NS)).toEqual(["/f", "/g/a", "/g/e/b"]);
    expect(await pathsIn(other)).toEqual(["/d/a", "/d/e/b"]);
    await expect(files.move(NS, "/f", "/g/a")).rejects.toBeInstanceOf(PathTakenError);
    await files.move(NS, "/f", "/g/a", { overwrite: true });
    expect((await files.read(NS, "/g/a")).content).toBe("f");
    await expect(files.move(NS, "/f", "/h")).rejects.toBeInstanceOf(NoSuchFileError);
  });

  it("what cannot be is a typed error", async () => {
    await files.write(NS, "/a.md", "tea tea");
    const edit = (oldString: string) => files.edit(NS, "/a.md", { oldString, newString: "x" });
    const attempts: [() => Promise<unknown>, string, new (detail: string) => Error][] = [
      [() => files.read(NS, "/absent"), "file_not_found", NoSuchFileError],
      [() => edit("coffee"), "string_not_found", InvalidError],
      [() => edit("tea"), "string_not_unique", InvalidError],
      [() => edit(""), "old_string_empty", InvalidError],
      [() => files.write(NS, "/../b", ""), "invalid_path", InvalidError],
      [() => files.write([], "/b", ""), "invalid", InvalidError],
      [() => files.ls(NS, "/", { cursor: "none" }), "invalid", InvalidError],
    ];
    for (const [attempt, code, kind] of attempts) {
      const failed = attempt();
      await expect(failed, code).rejects.toBeInstanceOf(kind);
      await expect(failed).rejects.toMatchObject({ code });
    }
  });

  it("a token reaches what it was granted and nothing else", async () => {
    await files.write(["ann", "filesystem"], "/a.md", "x");
    await files.write(["bob", "filesystem"], "/a.md", "secret");
    const client = new Client(access);
    const { token } = await client.tokens.mint({ subject: "ann", ttlSeconds: 60 });
    const mine = new Client({ ...access, apiKey: token }).files;
    expect((await mine.read(["ann", "filesystem"], "/a.md")).content).toBe("x");
    expect((await mine.ls(["bob", "filesystem"])).entries).toEqual([]);
    await expect(mine.read(["bob", "filesystem"], "/a.md")).rejects.toBeInstanceOf(NoSuchFileError);
    await expect(mine.write(["bob", "filesystem"], "/a.md", "y")).rejects.toBeInstanceOf(
      NotGrantedError,
    );
  });
});
